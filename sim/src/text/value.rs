//! Kinds of values: how each is written, and what to say when one is not.

use std::time::Duration;

use crate::{
    plan::{Damage, Exit, Failure, Goodbye, Manner, Moment, Operation, Span, Way},
    release::Release,
    seed::micros,
};

/// A kind of value. What is written reads back the same.
pub(super) trait Value: Sized {
    /// What it is called, with its article.
    const KIND: &'static str;

    /// Reads one; nothing else may stand in the text.
    fn read(text: &str) -> Option<Self>;

    /// The one way in which it is written.
    fn write(&self) -> String;

    /// How to write one, for somebody who wrote `text`.
    fn cure(text: &str) -> String;
}

/// Units of durations in microseconds, the largest first.
const UNITS: [(&str, u64); 4] = [("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

impl Value for Duration {
    const KIND: &'static str = "a duration";

    fn read(text: &str) -> Option<Self> {
        let digits = text.find(|it: char| !it.is_ascii_digit())?;
        let (number, unit) = text.split_at(digits);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        number.parse::<u64>().ok()?.checked_mul(*unit).map(Self::from_micros)
    }

    /// In the largest unit that leaves a whole number; parts of a microsecond are not written.
    fn write(&self) -> String {
        let micros = micros(*self);
        let is_whole = |(_, unit): &&(&str, u64)| micros.is_multiple_of(*unit);
        match UNITS.iter().find(is_whole) {
            Some((name, unit)) if micros > 0 => format!("{}{name}", micros / unit),
            _ => "0ms".to_owned(),
        }
    }

    fn cure(text: &str) -> String {
        match decimal(text) {
            Some(exact) => format!("write `{}`", exact.write()),
            None => "write a whole number and a unit, as in `500ms`, `3s` or `2m`".to_owned(),
        }
    }
}

/// What a duration with a decimal point means, for people who are used to writing one.
fn decimal(text: &str) -> Option<Duration> {
    let digits = text.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    let (number, unit) = text.split_at(digits);
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let (whole, parts) = number.split_once('.')?;
    let scale = 10_u64.checked_pow(u32::try_from(parts.len()).ok()?)?;
    let number = whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(parts.parse().ok()?)?;
    let micros = number.checked_mul(*unit)?;
    micros.is_multiple_of(scale).then(|| Duration::from_micros(micros / scale))
}

/// How long something lasts that may last for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasts {
    /// So long.
    For(Duration),
    /// The end of the faults does not end it.
    Good,
}

impl Value for Lasts {
    const KIND: &'static str = "a duration or `good`";

    fn read(text: &str) -> Option<Self> {
        match text {
            "good" => Some(Self::Good),
            text => Duration::read(text).map(Self::For),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::For(duration) => duration.write(),
            Self::Good => "good".to_owned(),
        }
    }

    fn cure(text: &str) -> String {
        format!("{}, or `good`", Duration::cure(text))
    }
}

/// A duration above zero: what is repeated without a pause leaves no time for anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period(pub(super) Duration);

impl Value for Period {
    const KIND: &'static str = "a duration above zero";

    fn read(text: &str) -> Option<Self> {
        Duration::read(text).filter(|it| !it.is_zero()).map(Self)
    }

    fn write(&self) -> String {
        self.0.write()
    }

    fn cure(text: &str) -> String {
        match Duration::read(text) {
            Some(_) => "write `1ms` or more".to_owned(),
            None => Duration::cure(text),
        }
    }
}

impl Value for Span {
    const KIND: &'static str = "a duration or a range of durations";

    fn read(text: &str) -> Option<Self> {
        let (min, max) = text.split_once("..").unwrap_or((text, text));
        let (min, max) = (Duration::read(min)?, Duration::read(max)?);
        (min <= max).then_some(Self { min, max })
    }

    fn write(&self) -> String {
        if self.min == self.max {
            return self.min.write();
        }
        format!("{}..{}", self.min.write(), self.max.write())
    }

    fn cure(text: &str) -> String {
        match text.split_once("..") {
            Some((min, max)) if Self::read(&format!("{max}..{min}")).is_some() => {
                format!("write the shorter first: `{max}..{min}`")
            }
            Some(_) => "write two durations, as in `1ms..10ms`".to_owned(),
            None => Duration::cure(text),
        }
    }
}

/// So many of something; none makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub(super) u32);

impl Value for Count {
    const KIND: &'static str = "a count";

    fn read(text: &str) -> Option<Self> {
        number(text).filter(|it| *it > 0).map(Self)
    }

    fn write(&self) -> String {
        self.0.to_string()
    }

    fn cure(_: &str) -> String {
        format!("write a whole number from 1 to {}", u32::MAX)
    }
}

/// A number that a seed is.
impl Value for u64 {
    const KIND: &'static str = "a number";

    fn read(text: &str) -> Option<Self> {
        number(text)
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn cure(_: &str) -> String {
        format!("write a whole number from 0 to {}", Self::MAX)
    }
}

/// The how many-th moment of a kind, `staged:3`; the next if it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nth {
    pub(super) moment: Moment,
    pub(super) nth: u32,
}

impl Value for Nth {
    const KIND: &'static str = "a moment";

    fn read(text: &str) -> Option<Self> {
        let (moment, nth) = match text.split_once(':') {
            Some((moment, nth)) => (moment, Count::read(nth).filter(|it| it.0 > 1)?.0),
            None => (text, 1),
        };
        Some(Self { moment: Moment::read(moment)?, nth })
    }

    fn write(&self) -> String {
        match self.nth {
            1 => self.moment.write(),
            nth => format!("{}:{nth}", self.moment.write()),
        }
    }

    fn cure(text: &str) -> String {
        match text.split_once(':') {
            Some((moment, _)) if Moment::read(moment).is_some() => {
                format!("write `{moment}` for the next, `{moment}:2` for the one after it")
            }
            Some((moment, _)) => Moment::cure(moment),
            None => Moment::cure(text),
        }
    }
}

/// So many of a hundred, one at least: what never happens is no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Percent(pub(super) u32);

impl Value for Percent {
    const KIND: &'static str = "a share";

    fn read(text: &str) -> Option<Self> {
        number(text.strip_suffix('%')?).filter(|it| (1..=100).contains(it)).map(Self)
    }

    fn write(&self) -> String {
        format!("{}%", self.0)
    }

    fn cure(_: &str) -> String {
        "write a share from `1%` to `100%`".to_owned()
    }
}

/// So many of a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ppm(pub(super) u32);

impl Value for Ppm {
    const KIND: &'static str = "a drift";

    fn read(text: &str) -> Option<Self> {
        number(text.strip_suffix("ppm")?).filter(|it| *it < 1_000_000).map(Self)
    }

    fn write(&self) -> String {
        format!("{}ppm", self.0)
    }

    fn cure(_: &str) -> String {
        "write parts per million, as in `200ppm`".to_owned()
    }
}

/// Digits and nothing else: `+5` has another way to be written.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes().all(|it| it.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A kind of value that is one of a few words.
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// The words and what they mean.
    const ALL: &'static [(&'static str, Self)];
}

impl<T: Choice> Value for T {
    const KIND: &'static str = "a choice here";

    fn read(text: &str) -> Option<Self> {
        T::ALL.iter().find(|(word, _)| *word == text).map(|(_, choice)| *choice)
    }

    fn write(&self) -> String {
        let (word, _) = T::ALL.iter().find(|(_, it)| it == self).expect("every choice has a word");
        (*word).to_owned()
    }

    fn cure(_: &str) -> String {
        let words: Vec<_> = T::ALL.iter().map(|(word, _)| format!("`{word}`")).collect();
        let (last, others) = words.split_last().expect("a choice has words");
        format!("write {} or {last}", others.join(", "))
    }
}

impl Choice for bool {
    const ALL: &'static [(&'static str, Self)] = &[("yes", true), ("no", false)];
}

impl Choice for Release {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Choice for Exit {
    const ALL: &'static [(&'static str, Self)] =
        &[("graceful", Self::Graceful), ("abrupt", Self::Abrupt)];
}

impl Choice for Goodbye {
    const ALL: &'static [(&'static str, Self)] =
        &[("reset", Self::Reset), ("silent", Self::Silent)];
}

impl Choice for Damage {
    const ALL: &'static [(&'static str, Self)] = &[
        ("torn", Self::Torn),
        ("missing", Self::Missing),
        ("foreign", Self::Foreign),
        ("unreadable", Self::Unreadable),
    ];
}

impl Choice for Way {
    const ALL: &'static [(&'static str, Self)] =
        &[("both", Self::Both), ("requests", Self::Requests), ("answers", Self::Answers)];
}

impl Choice for Failure {
    const ALL: &'static [(&'static str, Self)] =
        &[("io", Self::Io), ("full", Self::Full), ("stale", Self::Stale)];
}

impl Choice for Moment {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Choice for Manner {
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Choice for Operation {
    const ALL: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("read", Self::Read),
        ("write", Self::Write),
        ("sync", Self::Sync),
        ("sync-dir", Self::SyncDir),
        ("rename", Self::Rename),
        ("create-dir", Self::CreateDir),
        ("remove", Self::Remove),
        ("list", Self::List),
        ("exists", Self::Exists),
    ];
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Count, Lasts, Percent, Period, Ppm, Value};
    use crate::plan::{Exit, Operation, Span};

    fn check<T: Value + PartialEq + std::fmt::Debug>(text: &str, value: T) {
        assert_eq!(T::read(text).as_ref(), Some(&value), "{text}");
        assert_eq!(value.write(), text);
    }

    #[test]
    fn each_value_is_written_in_one_way() {
        check("0ms", Duration::ZERO);
        check("1500us", Duration::from_micros(1500));
        check("500ms", Duration::from_millis(500));
        check("12500ms", Duration::from_millis(12_500));
        check("3s", Duration::from_secs(3));
        check("90s", Duration::from_secs(90));
        check("2m", Duration::from_mins(2));
        check("18446744073709551615us", Duration::from_micros(u64::MAX));
        check("1ms..10ms", Span { min: Duration::from_millis(1), max: Duration::from_millis(10) });
        check("2ms", Span::fixed(Duration::from_millis(2)));
        check("5s", Lasts::For(Duration::from_secs(5)));
        check("good", Lasts::Good);
        check("30%", Percent(30));
        check("200ppm", Ppm(200));
        check("7", 7_u64);
        check("abrupt", Exit::Abrupt);
        check("sync-dir", Operation::SyncDir);
        check("yes", true);
    }

    fn reject<T: Value>(text: &str, cure: &str) {
        assert!(T::read(text).is_none(), "{text} was read");
        assert_eq!(T::cure(text), cure, "{text}");
    }

    #[test]
    fn what_is_no_value_has_a_cure() {
        let unit = "write a whole number and a unit, as in `500ms`, `3s` or `2m`";
        for text in ["", "3", "s", "3h", "-3s", "+3s", "3 s", "18446744073709551616us"] {
            reject::<Duration>(text, unit);
        }
        reject::<Duration>("12.5s", "write `12500ms`");
        reject::<Duration>("1.50m", "write `90s`");
        reject::<Duration>("0.0000001s", unit);
        reject::<Lasts>("1.5s", "write `1500ms`, or `good`");
        reject::<Period>("0s", "write `1ms` or more");
        reject::<Period>("0", unit);
        reject::<Span>("10ms..1ms", "write the shorter first: `1ms..10ms`");
        reject::<Span>("1ms..", "write two durations, as in `1ms..10ms`");
        reject::<Count>("0", "write a whole number from 1 to 4294967295");
        reject::<Count>("4294967296", "write a whole number from 1 to 4294967295");
        reject::<Percent>("0%", "write a share from `1%` to `100%`");
        reject::<Percent>("101%", "write a share from `1%` to `100%`");
        reject::<Ppm>("200", "write parts per million, as in `200ppm`");
        reject::<Exit>("sudden", "write `graceful` or `abrupt`");
    }
}
