//! Linearizability of a register whose every value has one known writer, by zones (Gibbons and
//! Korach, 1997).
//!
//! A write and the fetches that gave its value form a cluster; "nothing committed" belongs to the
//! beginning. Let `f` be the first end and `s` the last beginning of a cluster's operations. If `f`
//! comes first, the value must hold all the way from `f` to `s`: a forward zone. Otherwise there is
//! an instant common to all of them, anywhere between `s` and `f`: a backward zone. The history is
//! linearizable exactly if no two forward zones overlap and no forward zone contains a backward
//! one.
//!
//! Not for histories in which a fetch gave "nothing" and a delete might be why: there the writer is
//! not known.

use super::{Action, Contradiction, Op, Register, Verdict};
use std::collections::BTreeMap;

/// A write and its fetches.
#[derive(Debug, Default)]
struct Cluster<'a> {
    /// The operation that ends first; `None`: the beginning of time.
    first_end: Option<&'a Op>,
    /// The operation that begins last.
    last_begin: Option<&'a Op>,
    /// Whether any fetch gave this value.
    fetched: bool,
}

pub(super) fn judge(register: &Register, history: &[&Op]) -> Verdict {
    let clusters = clusters(history);
    let zones = clusters.iter().filter_map(|cluster| Some((cluster.zone()?, cluster)));
    let (mut forward, mut backward): (Vec<_>, Vec<_>) =
        zones.partition(|((end, begin), _)| end < begin);
    forward.sort_by_key(|(zone, _)| *zone);
    backward.sort_by_key(|((_, begin), _)| *begin);
    let overlaps = forward.windows(2).filter_map(|pair| {
        let [(one, first), (other, second)] = pair else { return None };
        (other.0 < one.1).then(|| overlap(register, first, second))
    });
    let contained = backward.iter().filter_map(|((end, begin), inner)| {
        let place = forward.partition_point(|((forward_end, _), _)| forward_end < begin);
        let ((_, forward_begin), outer) = forward[..place].last()?;
        (end < forward_begin).then(|| inside(register, outer, inner))
    });
    match overlaps.chain(contained).min_by_key(|found| found.at) {
        Some(found) => Verdict::Contradiction(found),
        None => Verdict::Linearizable,
    }
}

fn clusters<'a>(history: &[&'a Op]) -> Vec<Cluster<'a>> {
    let mut by_write: BTreeMap<Option<u64>, Cluster<'a>> = BTreeMap::new();
    let mut deletes = Vec::new();
    for &op in history {
        match op.action {
            Action::Delete => {
                let mut alone = Cluster::default();
                alone.add(op);
                deletes.push(alone);
            }
            Action::Commit { write, .. } => by_write.entry(Some(write)).or_default().add(op),
            Action::Fetch(value) => {
                let cluster = by_write.entry(value.map(|(_, write)| write)).or_default();
                cluster.add(op);
                cluster.fetched = true;
            }
        }
    }
    if let Some(beginning) = by_write.get_mut(&None) {
        beginning.first_end = None;
    }
    by_write.into_values().chain(deletes).collect()
}

impl<'a> Cluster<'a> {
    fn add(&mut self, op: &'a Op) {
        let ends_first = |first: &Op| op.returned < first.returned;
        if op.returned.is_some() && self.first_end.is_none_or(ends_first) {
            self.first_end = Some(op);
        }
        if self.last_begin.is_none_or(|last| op.invoked > last.invoked) {
            self.last_begin = Some(op);
        }
    }

    /// First end and last beginning, as positions. `None`: nothing of it ever showed, so it may
    /// never have happened.
    fn zone(&self) -> Option<(u64, u64)> {
        let begin = self.last_begin?.invoked;
        match self.first_end {
            Some(op) => Some((op.returned?, begin)),
            None if self.fetched => Some((0, begin)),
            None => None,
        }
    }
}

/// Both values would have to hold at once.
fn overlap(register: &Register, one: &Cluster<'_>, other: &Cluster<'_>) -> Contradiction {
    let ends = [one.first_end, other.first_end];
    let begins = [one.last_begin, other.last_begin];
    let mut ops: Vec<&Op> = ends.into_iter().chain(begins).flatten().collect();
    ops.sort_by_key(|op| (op.returned.unwrap_or(u64::MAX), op.invoked));
    told(register, ops)
}

/// A value that must hold throughout is interrupted by another one.
fn inside(register: &Register, outer: &Cluster<'_>, inner: &Cluster<'_>) -> Contradiction {
    let ops = [outer.first_end, inner.first_end, inner.last_begin, outer.last_begin];
    told(register, ops.into_iter().flatten().collect())
}

fn told(register: &Register, mut ops: Vec<&Op>) -> Contradiction {
    ops.dedup_by_key(|op| op.invoked);
    let (last, others) = ops.split_last().expect("a zone has operations");
    let why = if others.iter().all(|op| op.returned.is_some_and(|end| end < last.invoked)) {
        "the last of these began after the others had ended, and gives what was overwritten"
    } else {
        "no order of the writes explains these: each value would have to hold while the other does"
    };
    register.contradiction(&ops, vec![why.to_owned()])
}
