//! What transactions made of their input: each record counts once, and what counts is what was
//! committed.
//!
//! Always: the ranges kept of one input partition do not overlap.

use crate::{
    event::{Micros, Name},
    ledger::Ledger,
    promise::Promise,
};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct Effects {
    /// By group and partition.
    inputs: BTreeMap<Name, BTreeMap<Name, Input>>,
}

/// The records of one partition that count, by the first of each range.
#[derive(Debug, Default)]
struct Input {
    ranges: BTreeMap<i64, Range>,
}

#[derive(Debug, Clone, Copy)]
struct Range {
    to: i64,
    txn: u64,
    at: Micros,
}

impl Effects {
    /// Records `from..to` count from now on.
    pub(super) fn counted(
        &mut self,
        (group, partition): (&Name, &Name),
        txn: u64,
        (from, to): (i64, i64),
        ledger: &mut Ledger,
    ) {
        if from >= to {
            return;
        }
        let at = ledger.now();
        ledger.check(Promise::TxnIsolation);
        let input = self.input(group, partition);
        let (mut rest, mut twice) = (from, None);
        for (begin, range) in input.overlapping(from, to) {
            twice = twice.or(Some((begin, range)));
            if rest < begin {
                input.ranges.insert(rest, Range { to: begin, txn, at });
            }
            rest = range.to;
        }
        if rest < to {
            input.ranges.insert(rest, Range { to, txn, at });
        }
        let Some((begin, first)) = twice else { return };
        ledger.broke(Promise::TxnIsolation, group, || {
            let (from, to) = (from.max(begin), to.min(first.to));
            vec![
                format!("records {from} to {to} of {partition} count twice for {group}:"),
                format!("by transaction {} since {}", first.txn, first.at),
                format!("by transaction {txn} since {at}"),
            ]
        });
    }

    /// What the group has committed at the end is what counts.
    pub(super) fn at_end(
        &self,
        (group, partition): (&Name, &Name),
        upto: Option<i64>,
        ledger: &mut Ledger,
    ) {
        let nothing = Input::default();
        let input = self.inputs.get(group).and_then(|of| of.get(partition)).unwrap_or(&nothing);
        let end = upto.unwrap_or(0);
        if end <= 0 && input.ranges.is_empty() {
            return;
        }
        ledger.check(Promise::TxnIsolation);
        let mut wrong = Vec::new();
        let mut rest = 0;
        for (&from, range) in &input.ranges {
            if rest < from.min(end) {
                wrong.push(lost(rest, from.min(end)));
            }
            if range.to > end {
                let (from, Range { to, txn, at }) = (from.max(end), range);
                wrong.push(format!(
                    "records {from} to {to} count by transaction {txn} since {at}, but the offset \
                     that was committed with them is lost"
                ));
            }
            rest = range.to;
        }
        if rest < end {
            wrong.push(lost(rest, end));
        }
        if !wrong.is_empty() {
            ledger.broke(Promise::TxnIsolation, group, || {
                let stands = upto.map_or("nothing".to_owned(), |upto| upto.to_string());
                let mut told = vec![format!("{group} has committed {stands} in {partition}")];
                told.extend(wrong);
                told
            });
        }
    }

    fn input(&mut self, group: &Name, partition: &Name) -> &mut Input {
        let of = self.inputs.entry(group.clone()).or_default();
        of.entry(partition.clone()).or_default()
    }
}

impl Input {
    /// The ranges that have records of `from..to`, in order.
    fn overlapping(&self, from: i64, to: i64) -> Vec<(i64, Range)> {
        let before = self.ranges.range(..from).next_back().filter(|(_, range)| range.to > from);
        let within = self.ranges.range(from..to);
        before.into_iter().chain(within).map(|(&begin, &range)| (begin, range)).collect()
    }
}

fn lost(from: i64, to: i64) -> String {
    format!("records {from} to {to} are passed over: no transaction counts that took them in")
}
