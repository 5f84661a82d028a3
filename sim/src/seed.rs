//! Seeds, and the named streams that every draw of a run comes from.
//!
//! `stream(seed, label, instance)` is a generator of its own: `topology`, `workload` of client 3,
//! `net` of one link. A draw more or less in one moves no other, so a plan with a step removed is the
//! same run but for that step. The numbers are the same on every machine and in every build.

use std::{fmt, time::Duration};

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::plan::Span;

/// The author of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seed(pub u64);

impl Seed {
    /// Reads a number, or a commit hash of 7 to 40 hexadecimal digits, of which the first 16 count.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Self(number));
        }
        let is_hash =
            (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let head = text.get(..16.min(text.len())).filter(|_| is_hash)?;
        u64::from_str_radix(head, 16).ok().map(Self)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The generator of one purpose.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream named `label`, number `instance`, of a seed.
    pub fn new(seed: u64, label: &str, instance: u64) -> Self {
        // FNV-1a of the name, then two rounds of SplitMix64, which spread it over 128 bits.
        let name = label.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mixed = mix(seed ^ mix(name ^ mix(instance)));
        let state = u128::from(mixed) << 64 | u128::from(mix(mixed));
        Self(Pcg64Mcg::new(state))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below zero");
        let wide = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(wide >> 64).expect("the upper half of 128 bits")
    }

    /// A number from `min` to `max`, both included.
    pub fn between(&mut self, min: u64, max: u64) -> u64 {
        min + self.below(max - min + 1)
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let at = self.below(items.len() as u64);
        &items[usize::try_from(at).expect("an index into a slice")]
    }

    /// Microseconds within a span; draws nothing if the span has one length only.
    pub fn micros(&mut self, span: Span) -> u64 {
        let (min, max) = (micros(span.min), micros(span.max));
        if min == max { min } else { self.between(min, max) }
    }
}

/// A duration in whole microseconds.
pub fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Seed, Stream};

    #[test]
    fn streams_are_independent_and_never_change() {
        let draw = |label, instance| Stream::new(7, label, instance).bits();
        assert_eq!(draw("net", 1), 15_891_273_133_574_514_366);
        assert_ne!(draw("net", 1), draw("net", 2));
        assert_ne!(draw("net", 1), draw("volume", 1));
        let mut stream = Stream::new(7, "net", 1);
        let drawn: Vec<_> = (0..8).map(|_| stream.below(10)).collect();
        assert!(drawn.iter().all(|it| *it < 10) && drawn.iter().any(|it| *it != drawn[0]));
    }

    #[test]
    fn a_seed_is_a_number_or_a_commit() {
        assert_eq!(Seed::parse("42"), Some(Seed(42)));
        assert_eq!(Seed::parse("06556a0f"), Some(Seed(0x0655_6a0f)));
        assert_eq!(
            Seed::parse("06556a0f2c3d4e5f60718293a4b5c6d7e8f90a1b"),
            Some(Seed(0x0655_6a0f_2c3d_4e5f))
        );
        for bad in ["", "abc", "xyz1234", "-1", "1.5"] {
            assert_eq!(Seed::parse(bad), None, "{bad}");
        }
    }
}
