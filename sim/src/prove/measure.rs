//! How many seeds it takes to find something.
//!
//! All seeds are run, or as many as give failures enough. From each of several starting points among them, evenly spread, the seeds to the
//! first failure are counted; the first seed follows the last, so every start has a number as soon as
//! any seed fails. A run that crashes or does not end is a find, too.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::{
    draw,
    outcome::{Outcome, Verdict},
    runner::{self, Children, Failure, Order, Shared, Stopwatch},
};

/// How many starting points there are at most.
const STARTS: u64 = 20;

/// How long a seed may take: far more than any does, so that only what hangs is cut.
const SEED_LIMIT: Duration = Duration::from_secs(10);

/// How long all seeds of a bug may take. A bug whose seeds all hang is found by the first of them.
const BUG_LIMIT: Duration = Duration::from_secs(180);

/// What the seeds of a bug came to.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// How many seeds were run.
    pub seeds: u64,
    /// The runs that failed.
    pub failures: Vec<Failure>,
    /// In how many runs each promise was what failed first; a crash and the like are here too.
    pub broke: BTreeMap<String, u64>,
    /// Seeds to the first find, from each starting point, sorted; empty if there is none.
    finds: Vec<u64>,
    /// How long all seeds took.
    pub took: Duration,
    /// What the plans that failed have in common.
    pub shared: Vec<Shared>,
}

/// How many failures are enough: more would change no figure by much.
const ENOUGH: u64 = 30;

/// How much a verdict counts towards enough. What crashed may have hung, which takes its time.
fn weight(verdict: Verdict) -> u64 {
    match verdict {
        Verdict::Kept => 0,
        Verdict::Broke | Verdict::Stuck | Verdict::Diverged => 1,
        Verdict::Crashed => ENOUGH / 3,
    }
}

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All seeds are run, or there are failures enough to measure.
    Over,
    /// A seed has failed.
    Found,
}

/// Runs the seeds of an order with a simulator.
pub fn measure(program: &Path, order: Order<'_>, until: Until) -> Measurement {
    let children = Children::new(program.to_owned(), vec!["one".into()], SEED_LIMIT);
    let watch = Stopwatch::start();
    let found = AtomicU64::new(0);
    let enough = if until == Until::Found { 1 } else { ENOUGH };
    let may_start = || {
        let is_enough = found.load(Ordering::Relaxed) >= enough;
        !is_enough && watch.elapsed() < BUG_LIMIT && (order.may_start)()
    };
    let first = order.first;
    let suite = runner::run(Order { may_start: &may_start, ..order }, &children, &mut |outcome| {
        found.fetch_add(weight(outcome.verdict), Ordering::Relaxed);
    });
    let took = watch.elapsed();
    let failed = suite.failures.iter().map(|it| it.seed.0.wrapping_sub(first.0)).collect();
    let mut broke = BTreeMap::new();
    for it in &suite.failures {
        *broke.entry(what_broke(&it.outcome)).or_default() += 1;
    }
    let plan_of = |seed| draw::draw(seed, draw::PROFILES[0].0);
    let shared = runner::shared(first, &suite.failures, &plan_of);
    let finds = finds(&failed, suite.ran);
    Measurement { seeds: suite.ran, failures: suite.failures, broke, finds, took, shared }
}

impl Measurement {
    /// Whether any seed failed.
    pub fn is_found(&self) -> bool {
        !self.failures.is_empty()
    }

    /// The median of the seeds to the first find.
    pub fn median(&self) -> Option<u64> {
        self.percentile(50)
    }

    /// Their 95th percentile.
    pub fn p95(&self) -> Option<u64> {
        self.percentile(95)
    }

    fn percentile(&self, percent: usize) -> Option<u64> {
        let at = (self.finds.len() * percent).div_ceil(100).checked_sub(1)?;
        self.finds.get(at).copied()
    }

    /// How long so many seeds take.
    pub fn time_of(&self, seeds: u64) -> Duration {
        let all = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(all.saturating_mul(seeds) / self.seeds.max(1))
    }

    /// What failed first, the most frequent first.
    pub fn promises(&self) -> Vec<(&str, u64)> {
        let mut promises: Vec<_> = self.broke.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        promises.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        promises
    }
}

/// The promise that broke first; that groups come to rest is one, that nothing crashes goes without
/// saying.
fn what_broke(outcome: &Outcome) -> String {
    match (outcome.verdict, outcome.findings.first()) {
        (Verdict::Broke, Some(it)) => it.promise.clone(),
        (Verdict::Stuck, _) => "convergence".to_owned(),
        (Verdict::Crashed, _) => "crashed".to_owned(),
        (Verdict::Broke | Verdict::Diverged | Verdict::Kept, _) => "diverged".to_owned(),
    }
}

/// Seeds to the first find from each starting point, sorted.
fn finds(failed: &BTreeSet<u64>, seeds: u64) -> Vec<u64> {
    let Some(first) = failed.first() else { return Vec::new() };
    let starts = STARTS.min(seeds);
    let find = |start: u64| {
        let next = failed.range(start..).next();
        next.map_or(seeds - start + first, |it| it - start) + 1
    };
    let mut finds: Vec<_> = (0..starts).map(|it| find(it * seeds / starts)).collect();
    finds.sort_unstable();
    finds
}

#[cfg(test)]
mod tests {
    use super::finds;

    #[test]
    fn every_start_counts_to_the_next_failure() {
        assert_eq!(finds(&[].into(), 200), [0; 0]);
        assert_eq!(finds(&(0..200).collect(), 200), [1; 20]);
        // Starts at 0, 10, …, 190; one failure, which all go on to, around the end if need be.
        let one = finds(&[15].into(), 200);
        assert_eq!((one[0], one[1], one[19]), (6, 16, 196));
        assert_eq!(one.len(), 20);
        assert_eq!(finds(&[2].into(), 4), [1, 2, 3, 4]);
    }
}
