//! Failures that look alike.
//!
//! Two failures are of one cluster when they have the same verdict, the same promise (or the same
//! reason but for its numbers) and are about the same kind of thing. A run counts once, by the
//! first of its findings: what broke first tends to break the rest.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use super::Failure;
use crate::{
    outcome::{Outcome, Verdict},
    seed::Seed,
};

/// Failures that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// Their verdict.
    pub verdict: Verdict,
    /// The promise, or the first line of the reason, its numbers replaced by `#`.
    pub what: String,
    /// What the first finding is about, if there is one.
    pub kind: Option<Kind>,
    /// The seeds, in order.
    pub seeds: Vec<Seed>,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A broker.
    Broker,
    /// A file on the volume.
    File,
    /// A group, or another key.
    Group,
}

impl Kind {
    fn of(subject: &str) -> Self {
        let ordinal = subject.strip_prefix("kaas-");
        if ordinal.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return Self::Broker;
        }
        let is_file = subject.starts_with("__") || subject.ends_with(".json");
        if is_file { Self::File } else { Self::Group }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Broker => "a broker",
            Self::File => "a file",
            Self::Group => "a group",
        })
    }
}

/// How bad a verdict is, the worst first. A crash comes before all: what else was seen may follow
/// from it.
pub(super) fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Crashed => 0,
        Verdict::Broke => 1,
        Verdict::Stuck => 2,
        Verdict::Diverged => 3,
        Verdict::Kept => 4,
    }
}

pub(super) fn clusters(failures: &[Failure]) -> Vec<Cluster> {
    let mut by_key: BTreeMap<_, Vec<Seed>> = BTreeMap::new();
    for Failure { seed, outcome } in failures {
        let kind = outcome.findings.first().map(|it| Kind::of(&it.subject));
        by_key.entry((outcome.verdict, what(outcome), kind)).or_default().push(*seed);
    }
    let mut clusters: Vec<_> = by_key
        .into_iter()
        .map(|((verdict, what, kind), seeds)| Cluster { verdict, what, kind, seeds })
        .collect();
    // Seeds may wrap around, so the first of them says nothing; the sort is stable.
    clusters.sort_by_key(|it| (rank(it.verdict), Reverse(it.seeds.len())));
    clusters
}

fn what(outcome: &Outcome) -> String {
    let promise = outcome.findings.first().map(|it| it.promise.clone());
    let reason = outcome.reason.as_deref().and_then(|it| it.lines().next()).map(without_numbers);
    let what = match outcome.verdict {
        Verdict::Broke => promise.or(reason),
        Verdict::Kept | Verdict::Stuck | Verdict::Crashed | Verdict::Diverged => reason.or(promise),
    };
    what.unwrap_or_else(|| "without a reason".to_owned())
}

/// `group g3 after 45s` becomes `group g# after #s`.
fn without_numbers(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for it in line.chars() {
        match it {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            _ => out.push(it),
        }
    }
    out
}
