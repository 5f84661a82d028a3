//! What many runs come to together.
//!
//! Always: every promise and every milestone is there by name, those with zero too; what a suite
//! has not checked is a finding about the suite.

use std::collections::{BTreeMap, BTreeSet};

use model::{Promise, Reason};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::cluster::{self, Cluster};
use crate::{
    milestone::Milestone,
    outcome::{FaultCount, Outcome, Verdict},
    seed::Seed,
};

/// From how many seeds on a suite must have reached every milestone that is not rare.
const REACHES_ALL: u64 = 2_000;

/// Of how many runs one may have excused groups, in a suite of so many: more, and it is the faults
/// that are tested.
const EXCUSED_ONE_IN: u64 = 100;

/// What many runs come to.
#[derive(Clone, Debug)]
pub struct Suite {
    /// How many runs there were.
    pub ran: u64,
    /// Simulated time, in microseconds.
    pub micros: u64,
    /// Events.
    pub events: u64,
    /// How often each promise was checked.
    pub checked: BTreeMap<String, u64>,
    /// In how many runs each promise broke; only those that did.
    pub broken: BTreeMap<String, u64>,
    /// In how many runs groups were excused.
    pub excused: u64,
    /// The same by reason; all are there.
    pub excused_for: BTreeMap<String, u64>,
    /// How often each milestone was reached.
    pub milestones: BTreeMap<String, u64>,
    /// The faults, by verb.
    pub faults: BTreeMap<String, FaultCount>,
    /// Registers whose history was too tangled to decide.
    pub undecided: u64,
    /// The runs that failed, in the order of their seeds.
    pub failures: Vec<Failure>,
    digests: Vec<u8>,
}

/// A run that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: Seed,
    /// What it came to.
    pub outcome: Outcome,
}

/// What a suite has not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vacuum {
    /// The promises that were never checked.
    pub unchecked: Vec<Promise>,
    /// The milestones that were not reached, rare ones too.
    pub unreached: Vec<Milestone>,
    /// Whether so many runs should have reached them.
    is_due: bool,
    /// Whether more runs than may be had excused groups, of so many.
    pub is_excused_too_often: bool,
}

impl Default for Suite {
    fn default() -> Self {
        let zero = |name: &str| (name.to_owned(), 0);
        Self {
            ran: 0,
            micros: 0,
            events: 0,
            checked: Promise::ALL.iter().map(|it| zero(it.name())).collect(),
            broken: BTreeMap::new(),
            excused: 0,
            excused_for: Reason::ALL.iter().map(|it| zero(it.name())).collect(),
            milestones: Milestone::ALL.iter().map(|it| zero(it.name())).collect(),
            faults: BTreeMap::new(),
            undecided: 0,
            failures: Vec::new(),
            digests: Vec::new(),
        }
    }
}

impl Suite {
    /// Adds a run; runs come in the order of their seeds.
    pub fn add(&mut self, seed: Seed, outcome: Outcome) {
        self.ran += 1;
        self.micros += outcome.micros;
        self.events += outcome.events;
        self.undecided += outcome.undecided;
        add_all(&mut self.checked, &outcome.checked);
        add_all(&mut self.milestones, &outcome.milestones);
        for (verb, count) in &outcome.faults {
            let sum = self.faults.entry(verb.clone()).or_default();
            sum.planned += count.planned;
            sum.effective += count.effective;
        }
        let broken: BTreeSet<_> = outcome.findings.iter().map(|it| &it.promise).collect();
        for promise in broken {
            *self.broken.entry(promise.clone()).or_default() += 1;
        }
        let reasons: BTreeSet<_> = outcome.excused.iter().map(|it| &it.reason).collect();
        self.excused += u64::from(!reasons.is_empty());
        for reason in reasons {
            *self.excused_for.entry(reason.clone()).or_default() += 1;
        }
        self.fold(&outcome.digest);
        match outcome.verdict {
            Verdict::Kept => {}
            Verdict::Broke | Verdict::Stuck | Verdict::Crashed | Verdict::Diverged => {
                self.failures.push(Failure { seed, outcome });
            }
        }
    }

    /// The worst verdict of all.
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.failures.iter().map(|it| it.outcome.verdict);
        verdicts.min_by_key(|it| cluster::rank(*it)).unwrap_or(Verdict::Kept)
    }

    /// The failures that look alike, the worst and then the most frequent first.
    pub fn clusters(&self) -> Vec<Cluster> {
        cluster::clusters(&self.failures)
    }

    /// What was not checked and not reached.
    pub fn vacuum(&self) -> Vacuum {
        let is_zero = |counts: &BTreeMap<String, u64>, name| counts.get(name) == Some(&0);
        let promises = Promise::ALL.iter().copied();
        let milestones = Milestone::ALL.iter().copied();
        Vacuum {
            unchecked: promises.filter(|it| is_zero(&self.checked, it.name())).collect(),
            unreached: milestones.filter(|it| is_zero(&self.milestones, it.name())).collect(),
            is_due: self.ran >= REACHES_ALL,
            is_excused_too_often: self.ran >= REACHES_ALL
                && self.excused * EXCUSED_ONE_IN > self.ran,
        }
    }

    /// The digests of all runs, folded into one: 32 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut hasher = SipHasher13::new();
        std::hash::Hasher::write(&mut hasher, &self.digests);
        format!("{:032x}", hasher.finish128().as_u128())
    }

    /// Keeps one digest for both this run and all before it.
    fn fold(&mut self, digest: &str) {
        self.digests.extend_from_slice(digest.as_bytes());
        self.digests = self.digest().into_bytes();
    }
}

impl Vacuum {
    /// The milestones that so many runs should have reached.
    pub fn missed(&self) -> impl Iterator<Item = Milestone> {
        self.unreached.iter().copied().filter(|it| self.is_due && !it.is_rare())
    }

    /// Whether the suite has tested too little to say anything.
    pub fn is_failure(&self) -> bool {
        !self.unchecked.is_empty() || self.missed().next().is_some() || self.is_excused_too_often
    }
}

fn add_all(sums: &mut BTreeMap<String, u64>, counts: &BTreeMap<String, u64>) {
    for (name, count) in counts {
        match sums.get_mut(name) {
            Some(sum) => *sum += count,
            None => drop(sums.insert(name.clone(), *count)),
        }
    }
}
