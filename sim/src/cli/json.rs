//! `run --json`: everything the summary says and the outcome of each failure, for machines.

use std::{collections::BTreeMap, path::PathBuf};

use serde::Serialize;

use super::summary::{Summary, describe};
use crate::{
    outcome::{FaultCount, Outcome, Verdict},
    runner::Shared,
};

#[derive(Serialize)]
struct Report<'a> {
    verdict: Verdict,
    exit: u8,
    profile: &'a str,
    from: u64,
    seeds: u64,
    simulated_micros: u64,
    real_millis: u64,
    events: u64,
    undecided: u64,
    digest: String,
    promises: BTreeMap<&'a str, PromiseCount>,
    excused: Excused<'a>,
    milestones: &'a BTreeMap<String, u64>,
    faults: &'a BTreeMap<String, FaultCount>,
    vacuous: Vacuous,
    clusters: Vec<ClusterRow>,
    shared: Vec<SharedRow>,
    failures: Vec<FailureRow<'a>>,
}

#[derive(Serialize)]
struct PromiseCount {
    checked: u64,
    broken_in: u64,
}

#[derive(Serialize)]
struct Excused<'a> {
    seeds: u64,
    share_ppm: u64,
    reasons: &'a BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Vacuous {
    unchecked: Vec<&'static str>,
    unreached: Vec<&'static str>,
    is_excused_too_often: bool,
    is_failure: bool,
}

#[derive(Serialize)]
struct ClusterRow {
    what: String,
    seeds: Vec<u64>,
}

/// A feature that failures have more often than plans have.
#[derive(Debug, Serialize)]
pub(super) struct SharedRow {
    feature: &'static str,
    failures: u64,
    of_failures: u64,
    plans: u64,
    of_plans: u64,
}

impl From<&Shared> for SharedRow {
    fn from(it: &Shared) -> Self {
        let Shared { feature, failures, of_failures, plans, of_plans } = *it;
        Self { feature, failures, of_failures, plans, of_plans }
    }
}

#[derive(Serialize)]
struct FailureRow<'a> {
    seed: u64,
    scenario: Option<PathBuf>,
    outcome: &'a Outcome,
}

pub(super) fn report(summary: &Summary<'_>) -> String {
    let suite = summary.suite;
    let vacuum = suite.vacuum();
    let promise = |(name, checked): (&'_ String, &u64)| {
        let broken_in = suite.broken.get(name).copied().unwrap_or_default();
        PromiseCount { checked: *checked, broken_in }
    };
    let report = Report {
        verdict: suite.verdict(),
        exit: summary.exit() as u8,
        profile: summary.profile,
        from: summary.first.0,
        seeds: suite.ran,
        simulated_micros: suite.micros,
        real_millis: u64::try_from(summary.real.as_millis()).unwrap_or(u64::MAX),
        events: suite.events,
        undecided: suite.undecided,
        digest: suite.digest(),
        promises: suite.checked.iter().map(|it| (it.0.as_str(), promise(it))).collect(),
        excused: Excused {
            seeds: suite.excused,
            share_ppm: suite.excused * 1_000_000 / suite.ran.max(1),
            reasons: &suite.excused_for,
        },
        milestones: &suite.milestones,
        faults: &suite.faults,
        vacuous: Vacuous {
            unchecked: vacuum.unchecked.iter().map(|it| it.name()).collect(),
            unreached: vacuum.unreached.iter().map(|it| it.name()).collect(),
            is_excused_too_often: vacuum.is_excused_too_often,
            is_failure: vacuum.is_failure(),
        },
        clusters: suite
            .clusters()
            .iter()
            .map(|it| ClusterRow {
                what: describe(it),
                seeds: it.seeds.iter().map(|seed| seed.0).collect(),
            })
            .collect(),
        shared: summary.shared.iter().map(Into::into).collect(),
        failures: suite
            .failures
            .iter()
            .map(|it| FailureRow {
                seed: it.seed.0,
                scenario: summary.file(it.seed).map(Into::into),
                outcome: &it.outcome,
            })
            .collect(),
    };
    let text = serde_json::to_string_pretty(&report);
    text.expect("strings and numbers, with names as keys, are JSON") + "\n"
}
