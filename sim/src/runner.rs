//! Many seeds: each in a process of its own, several at a time, merged in the order of the seeds.
//!
//! A process a seed, because counters, leaks and aborts that libraries keep per process must not
//! couple one run to another. What a suite comes to depends on its seeds alone: outcomes are merged
//! in seed order whatever the order in which they arrive, and no failure stops the others.
//!
//! Threads and real time are at home here and nowhere else in the simulator; nothing of either
//! reaches a run. `child` is the process of a seed, `suite` what all of them come to, `cluster` how
//! failures are told apart, `lift` what their plans have in common.

mod child;
mod cluster;
mod lift;
mod stopwatch;
mod suite;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroUsize,
    sync::{
        Mutex,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

pub use self::{
    child::Children,
    cluster::{Cluster, Kind},
    lift::{FAILURES_MIN, Shared, features, shared},
    stopwatch::Stopwatch,
    suite::{Failure, Suite, Vacuum},
};
use crate::{
    outcome::{Outcome, Verdict},
    seed::Seed,
};

/// How often those are looked after who may not end by themselves.
const TEND_EVERY: Duration = Duration::from_millis(500);

/// Whoever runs a seed.
pub trait Source: Sync {
    /// Runs one, to its end. Called from several threads at once.
    fn run(&self, seed: Seed) -> Outcome;

    /// Called every now and then while runs are under way: ends what does not end by itself.
    fn tend(&self) {}
}

impl<F: Fn(Seed) -> Outcome + Sync> Source for F {
    fn run(&self, seed: Seed) -> Outcome {
        self(seed)
    }
}

/// Which seeds are to be run, and how.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// The first seed; the others follow it, and zero follows the greatest.
    pub first: Seed,
    /// How many; without it, as many as may start.
    pub count: Option<u64>,
    /// How many at a time.
    pub jobs: NonZeroUsize,
    /// Asked before each seed. Those that have started are always brought to their end.
    pub may_start: &'a (dyn Fn() -> bool + Sync),
}

impl fmt::Debug for Order<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, jobs, may_start: _ } = self;
        write!(f, "Order({count:?} from {first}, {jobs} at a time)")
    }
}

/// Runs the seeds of an order. `arrived` sees each outcome as soon as it is there.
pub fn run(order: Order<'_>, source: &dyn Source, arrived: &mut dyn FnMut(&Outcome)) -> Suite {
    let next = Mutex::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..order.jobs.get() {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || work(order, next, source, &sender));
        }
        // The channel ends when the last worker does.
        drop(sender);
        merge(order.first, &receiver, source, arrived)
    })
}

/// One worker: a seed after the other, until there is none left or none may start.
fn work(order: Order<'_>, next: &Mutex<u64>, source: &dyn Source, sender: &Sender<(u64, Outcome)>) {
    while (order.may_start)() {
        let at = {
            let mut next = next.lock().expect("nothing panics while it holds the counter");
            if order.count.is_some_and(|count| *next == count) {
                return;
            }
            *next += 1;
            *next - 1
        };
        let outcome = source.run(seed_at(order.first, at));
        if sender.send((at, outcome)).is_err() {
            return;
        }
    }
}

fn merge(
    first: Seed,
    receiver: &Receiver<(u64, Outcome)>,
    source: &dyn Source,
    arrived: &mut dyn FnMut(&Outcome),
) -> Suite {
    let mut suite = Suite::default();
    let mut early = BTreeMap::new();
    loop {
        match receiver.recv_timeout(TEND_EVERY) {
            Ok((at, outcome)) => {
                arrived(&outcome);
                early.insert(at, outcome);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(outcome) = early.remove(&suite.ran) {
            suite.add(seed_at(first, suite.ran), outcome);
        }
        source.tend();
    }
    assert!(early.is_empty(), "seeds start in order and those that start end");
    suite
}

fn seed_at(first: Seed, at: u64) -> Seed {
    Seed(first.0.wrapping_add(at))
}

/// The outcome of a run that has come to nothing.
pub(crate) fn crashed(reason: String) -> Outcome {
    Outcome {
        verdict: Verdict::Crashed,
        micros: 0,
        events: 0,
        digest: String::new(),
        checked: BTreeMap::new(),
        milestones: BTreeMap::new(),
        faults: BTreeMap::new(),
        findings: Vec::new(),
        excused: Vec::new(),
        reason: Some(reason),
        undecided: 0,
    }
}
