//! Whether what was seen of one register could have happened one after the other (linearizability).
//!
//! Every value is written once. Then the question is simple (Gibbons and Korach, 1997): a value's
//! operations span a zone, from the first end among them to the last beginning. If the end comes
//! first, the register had that value for the whole zone, which no other value's may overlap; else
//! there is a moment at which all of them may have happened, and it must not lie inside of another
//! value's zone.

use std::collections::BTreeMap;

/// All that happened to one register.
#[derive(Default)]
pub(crate) struct History {
    values: BTreeMap<i64, Value>,
}

/// What happened with one value, in microseconds.
struct Value {
    written_from: u64,
    /// The first end of a write or read of it.
    first_end: u64,
    /// The last beginning of a write or read of it.
    last_start: u64,
    /// Whether it was acknowledged or read; else it may never have been there.
    is_certain: bool,
}

impl History {
    /// A write begins. Until it is heard of again, it may happen at any time or not at all.
    pub(crate) fn write(&mut self, value: i64, start: u64) {
        let written = Value {
            written_from: start,
            first_end: u64::MAX,
            last_start: start,
            is_certain: false,
        };
        assert!(self.values.insert(value, written).is_none(), "{value} is written twice");
    }

    /// The write was acknowledged.
    pub(crate) fn acknowledged(&mut self, value: i64, end: u64) {
        let it = self.values.get_mut(&value).expect("it was begun");
        it.first_end = it.first_end.min(end);
        it.is_certain = true;
    }

    /// A read that began at `start` gave `value` at `end`.
    pub(crate) fn read(&mut self, value: i64, start: u64, end: u64) -> Result<(), String> {
        let it = self.values.get_mut(&value).ok_or(format!("{value} was never written"))?;
        if end < it.written_from {
            return Err(format!("{value} was read at {end}, written from {}", it.written_from));
        }
        it.first_end = it.first_end.min(end);
        it.last_start = it.last_start.max(start);
        it.is_certain = true;
        Ok(())
    }

    /// Whether all of that could have happened one after the other.
    pub(crate) fn check(&self) -> Result<(), String> {
        let certain = || self.values.iter().filter(|(_, it)| it.is_certain);
        let mut kept: Vec<_> = certain().filter(|(_, it)| it.first_end < it.last_start).collect();
        kept.sort_by_key(|(_, it)| it.first_end);
        for pair in kept.windows(2) {
            if pair[1].1.first_end < pair[0].1.last_start {
                return Err(contradiction(pair[0], pair[1]));
            }
        }
        // The zones do not overlap: only the last that begins before a moment can contain it.
        for moment in certain().filter(|(_, it)| it.first_end >= it.last_start) {
            let after = kept.partition_point(|(_, it)| it.first_end < moment.1.last_start);
            let zone = after.checked_sub(1).map(|before| kept[before]);
            if let Some(zone) = zone.filter(|(_, it)| moment.1.first_end < it.last_start) {
                return Err(contradiction(zone, moment));
            }
        }
        Ok(())
    }
}

fn contradiction((kept, zone): (&i64, &Value), (other, it): (&i64, &Value)) -> String {
    let (from, to) = (zone.first_end, zone.last_start);
    let (end, start) = (it.first_end, it.last_start);
    format!(
        "{kept} was there at {from} and again at {to}, and {other}, which is written once, in \
         between: an operation with it ended at {end}, and one began at {start}"
    )
}
