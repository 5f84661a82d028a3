//! The book that all checkers write to: how often each promise was checked, and the evidence
//! against it.
//!
//! It decides nothing. Evidence is built only if it will be kept, so a cluster that goes wrong ten
//! thousand times costs no more than one that does so a few times.

use crate::{
    event::{Micros, Name},
    promise::{Excuse, Promise, Report, Violation},
};
use std::collections::BTreeMap;

/// How many violations of one promise about one subject are kept.
const KEPT_PER_SUBJECT: u32 = 4;
/// How many violations of one promise are kept.
const KEPT_PER_PROMISE: u32 = 100;

#[derive(Debug)]
pub(crate) struct Ledger {
    now: Micros,
    checked: [u64; Promise::ALL.len()],
    kept: [u32; Promise::ALL.len()],
    by_subject: BTreeMap<(Promise, Name), u32>,
    violations: Vec<Violation>,
    excused: Vec<Excuse>,
    suppressed: u64,
    undecided: u64,
}

impl Ledger {
    pub(crate) fn new() -> Ledger {
        Ledger {
            now: Micros(0),
            checked: [0; Promise::ALL.len()],
            kept: [0; Promise::ALL.len()],
            by_subject: BTreeMap::new(),
            violations: Vec::new(),
            excused: Vec::new(),
            suppressed: 0,
            undecided: 0,
        }
    }

    /// The world's time of the event being observed.
    pub(crate) fn now(&self) -> Micros {
        self.now
    }

    pub(crate) fn set_now(&mut self, now: Micros) {
        self.now = now;
    }

    /// One more comparison was made for this promise.
    pub(crate) fn check(&mut self, promise: Promise) {
        self.checked[promise as usize] += 1;
    }

    /// The promise broke just now.
    pub(crate) fn broke(
        &mut self,
        promise: Promise,
        subject: &Name,
        evidence: impl FnOnce() -> Vec<String>,
    ) {
        self.broke_at(self.now, promise, subject, evidence);
    }

    /// The promise broke at another time than now.
    pub(crate) fn broke_at(
        &mut self,
        at: Micros,
        promise: Promise,
        subject: &Name,
        evidence: impl FnOnce() -> Vec<String>,
    ) {
        let kept = &mut self.kept[promise as usize];
        let about = self.by_subject.entry((promise, subject.clone())).or_insert(0);
        if *kept >= KEPT_PER_PROMISE || *about >= KEPT_PER_SUBJECT {
            self.suppressed += 1;
            return;
        }
        *kept += 1;
        *about += 1;
        self.violations.push(Violation {
            promise,
            at,
            subject: subject.clone(),
            evidence: evidence(),
        });
    }

    /// What would have broken a promise has a reason that lies outside of the cluster.
    pub(crate) fn excuse(&mut self, excuse: Excuse) {
        self.excused.push(excuse);
    }

    pub(crate) fn undecided(&mut self) {
        self.undecided += 1;
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(crate) fn into_report(self) -> Report {
        let checked =
            Promise::ALL.iter().map(|&promise| (promise, self.checked[promise as usize])).collect();
        Report {
            violations: self.violations,
            excused: self.excused,
            checked,
            undecided: self.undecided,
            suppressed: self.suppressed,
        }
    }
}
