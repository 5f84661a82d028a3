//! What `run` says at its end: the figures, what was checked and reached, and if something failed,
//! what and for whom. Figures first, news last, because the end is what a terminal shows.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

use model::Promise;

use super::{
    args::profile_flag,
    evidence::{self, Detail, labelled},
    exit::Exit,
    layout::{clock, columns, compact, count, ratio, thousands},
};
use crate::{
    milestone::Milestone,
    outcome::Verdict,
    runner::{Cluster, Shared, Suite},
    seed::Seed,
};

/// How many seeds of a cluster are named.
const SEEDS_NAMED: usize = 5;

/// How many lines of evidence the first failure gets.
const EVIDENCE: Detail = Detail::Lines(16);

/// A suite and what there is to say of it.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    pub(super) suite: &'a Suite,
    /// The plans that were written.
    pub(super) files: &'a BTreeMap<Seed, PathBuf>,
    /// What the plans of the failures have in common.
    pub(super) shared: &'a [Shared],
    pub(super) first: Seed,
    pub(super) profile: &'a str,
    /// The budget, if it has ended the suite.
    pub(super) budget: Option<Duration>,
    pub(super) jobs: NonZeroUsize,
    /// How long it took.
    pub(super) real: Duration,
}

impl Summary<'_> {
    /// What the process ends with: the worst of what was seen.
    pub(super) fn exit(&self) -> Exit {
        let verdict = self.suite.verdict();
        if verdict == Verdict::Kept && self.suite.vacuum().is_failure() {
            return Exit::Vacuous;
        }
        verdict.into()
    }

    /// All of it.
    pub(super) fn text(&self) -> String {
        let sections =
            [self.figures(), self.promises(), self.milestones(), self.faults(), self.news()];
        sections.join("\n")
    }

    /// The plan of a failure, if it was written.
    pub(super) fn file(&self, seed: Seed) -> Option<&Path> {
        self.files.get(&seed).map(PathBuf::as_path)
    }

    /// How to see a failure again.
    pub(super) fn ending(&self, seed: Seed) -> String {
        let replay = format!("cargo sim replay {seed}{}", profile_flag(self.profile));
        evidence::ending(self.file(seed), &[replay])
    }

    fn figures(&self) -> String {
        let suite = self.suite;
        let last = self.first.0.wrapping_add(suite.ran.saturating_sub(1));
        let range =
            if suite.ran > 0 { format!(", {} to {last}", self.first) } else { String::new() };
        let cut = self.budget.map(|it| format!("; then the budget of {it:?} was used up"));
        let seeds = format!("{}{range}{}", thousands(suite.ran), cut.unwrap_or_default());

        let real = self.real.as_micros().max(1);
        let speed = format!(
            "{} seeds a second, {} times real time, {} at a time",
            ratio(u128::from(suite.ran) * 1_000_000, real),
            ratio(u128::from(suite.micros), real),
            self.jobs,
        );
        let mut out = labelled("seeds", [seeds])
            + &labelled("simulated", [clock(Duration::from_micros(suite.micros))])
            + &labelled("events", [thousands(suite.events)])
            + &labelled("speed", [speed]);
        if suite.undecided > 0 {
            let partitions = count(suite.undecided, "partition");
            let line = format!("{partitions} with a history too tangled to judge");
            out += &labelled("undecided", [line]);
        }
        if suite.excused > 0 {
            out += &labelled("excused", [format!("groups in {}", self.excused())]);
        }
        out
    }

    /// In how many runs groups were not at rest for good reason, and for which.
    fn excused(&self) -> String {
        let Suite { excused, excused_for, ran, .. } = self.suite;
        let reasons = excused_for.iter().filter(|it| *it.1 > 0);
        let reasons: Vec<_> = reasons.map(|(name, runs)| format!("{name} {runs}")).collect();
        let hundredths = 10_000 * excused / (*ran).max(1);
        let (percent, rest) = (hundredths / 100, hundredths % 100);
        let seeds = count(*excused, "seed");
        format!("{seeds}, {percent}.{rest:02}%: {}", reasons.join(", "))
    }

    fn promises(&self) -> String {
        let mut out = format!("{:21}{:>12}   broken\n", "promise", "checked");
        for promise in Promise::ALL {
            let name = promise.name();
            let checked = thousands(self.suite.checked.get(name).copied().unwrap_or_default());
            let broken =
                self.suite.broken.get(name).map(|it| format!("   in {}", count(*it, "seed")));
            out += &format!("{name:21}{checked:>12}{}\n", broken.unwrap_or_default());
        }
        out
    }

    fn milestones(&self) -> String {
        let reached: Vec<_> = Milestone::ALL
            .iter()
            .filter_map(|it| self.suite.milestones.get_key_value(it.name()))
            .filter(|(_, reached)| **reached > 0)
            .map(|(name, reached)| (name.as_str(), compact(*reached)))
            .collect();
        let all = Milestone::ALL.len();
        let mut out = format!("milestones, {} of {all} reached\n", reached.len());
        out += &columns(&reached);
        let unreached = self.suite.vacuum().unreached;
        if !unreached.is_empty() {
            out += &labelled("not yet", [names(unreached.iter().copied())]);
        }
        out
    }

    fn faults(&self) -> String {
        let faults: Vec<_> = self
            .suite
            .faults
            .iter()
            .map(|(verb, it)| {
                (verb.as_str(), format!("{}/{}", compact(it.effective), compact(it.planned)))
            })
            .collect();
        let idle: Vec<_> = self
            .suite
            .faults
            .iter()
            .filter(|(_, it)| it.planned > 0 && it.effective == 0)
            .map(|(verb, _)| verb.as_str())
            .collect();
        let mut out = "faults, effective/planned\n".to_owned() + &columns(&faults);
        if !idle.is_empty() {
            out += &labelled("no effect", [idle.join(", ")]);
        }
        out
    }

    fn news(&self) -> String {
        let vacuous = self.vacuous();
        let clusters = self.suite.clusters();
        match clusters.first() {
            None if vacuous.is_empty() => {
                labelled("kept", [format!("every promise, in {}", count(self.suite.ran, "seed"))])
            }
            None => vacuous + &labelled("again", [self.command()]),
            Some(first) => {
                let failed = self.failed(&clusters);
                [vacuous, failed, self.failure(first)]
                    .into_iter()
                    .filter(|it| !it.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n")
            }
        }
    }

    fn vacuous(&self) -> String {
        let vacuum = self.suite.vacuum();
        if !vacuum.is_failure() {
            return String::new();
        }
        let unchecked: Vec<_> = vacuum.unchecked.iter().map(|it| it.name()).collect();
        let unchecked =
            (!unchecked.is_empty()).then(|| format!("never checked: {}", unchecked.join(", ")));
        let missed = names(vacuum.missed());
        let missed = (!missed.is_empty()).then(|| {
            format!("{} must reach every milestone: {missed}", count(self.suite.ran, "seed"))
        });
        let excused = vacuum
            .is_excused_too_often
            .then(|| format!("1% of seeds may have excused groups, and here {}", self.excused()));
        labelled("vacuous", unchecked.into_iter().chain(missed).chain(excused))
    }

    fn failed(&self, clusters: &[Cluster]) -> String {
        let failed = u64::try_from(self.suite.failures.len()).expect("a count fits");
        let ways = u64::try_from(clusters.len()).expect("a count fits");
        let head = format!(
            "{} of {}, in {}",
            thousands(failed),
            count(self.suite.ran, "seed"),
            count(ways, "way")
        );
        let failed = labelled("failed", [head].into_iter().chain(clusters.iter().map(line)));
        failed + &labelled("shared", sharing(self.shared))
    }

    fn failure(&self, cluster: &Cluster) -> String {
        let seed = cluster.seeds[0];
        let failure = self.suite.failures.iter().find(|it| it.seed == seed);
        let outcome = &failure.expect("a cluster has the seeds of failures").outcome;
        evidence::failure(outcome, EVIDENCE) + "\n" + &self.ending(seed)
    }

    fn command(&self) -> String {
        let (ran, first, profile) = (self.suite.ran.max(1), self.first, profile_flag(self.profile));
        format!("cargo sim run --seeds {ran} --from {first}{profile}")
    }
}

/// A cluster in a line: how often, what, and where to see it.
fn line(cluster: &Cluster) -> String {
    let what = describe(cluster);
    let seeds: Vec<_> = cluster.seeds.iter().take(SEEDS_NAMED).map(ToString::to_string).collect();
    let more = if cluster.seeds.len() > SEEDS_NAMED { ", …" } else { "" };
    let times = cluster.seeds.len();
    format!("{times} × {what}: {}{more}", seeds.join(", "))
}

/// Shared features, a line each: how often in the failures, how often in plans.
pub(super) fn sharing(shared: &[Shared]) -> impl Iterator<Item = String> {
    shared.iter().enumerate().map(|(at, it)| {
        let (failures, of) = (it.failures, count(it.of_failures, "failure"));
        let (lift, usual) = (ratio(it.lift_tenths().into(), 10), it.usual_percent());
        let among = if at == 0 { "" } else { "among these, " };
        format!("{among}{} in {failures} of {of}: {lift} times its {usual}% of plans", it.feature)
    })
}

/// What the failures of a cluster have in common.
pub(super) fn describe(cluster: &Cluster) -> String {
    let what = &cluster.what;
    let kind = cluster.kind.map(|it| format!(" for {it}")).unwrap_or_default();
    match cluster.verdict {
        Verdict::Kept => format!("kept {what}"),
        Verdict::Broke => format!("{what} broke{kind}"),
        Verdict::Stuck => format!("did not settle{kind}, {what}"),
        Verdict::Crashed => format!("crashed, {what}"),
        Verdict::Diverged => format!("diverged, {what}"),
    }
}

fn names(milestones: impl Iterator<Item = Milestone>) -> String {
    let name = |it: Milestone| match it.is_rare() {
        true => format!("{} (rare)", it.name()),
        false => it.name().to_owned(),
    };
    milestones.map(name).collect::<Vec<_>>().join(", ")
}
