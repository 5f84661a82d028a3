//! What happens to the machines under brokers: little time for their processes, tasks that die.

#![expect(clippy::wildcard_enum_match_arm, reason = "other steps are about other things")]

use super::{Event, World};
use crate::{
    milestone::Milestone,
    plan::{Action, Plan},
    seed::{Stream, micros},
};

/// How long a starved broker stands still and runs once, together, in microseconds.
const PERIODS: (u64, u64) = (50_000, 500_000);
/// The same in a scenario.
const PERIOD: u64 = 200_000;
/// How long a request whose task is to die must have waited, in microseconds, is below a power of
/// two; this is the highest.
const MOMENT_BITS: u64 = 21;
/// The same in a scenario: in the middle of an operation on the volume.
const MOMENT: u64 = 1_500;

/// What is wrong with machines.
#[derive(Debug)]
pub(super) struct Machines {
    seed: u64,
    /// Whether nothing may depend on the seed.
    is_fixed: bool,
    starving: Vec<Starving>,
    panics: Vec<Panic>,
    moments: Stream,
}

/// A broker that runs in short slices only.
#[derive(Debug)]
struct Starving {
    step: usize,
    broker: usize,
    /// How many of a hundred parts of its time it stands still.
    percent: u64,
    stream: Stream,
    /// How long it will run when it has stood still, in microseconds; `None` while it runs.
    slice: Option<u64>,
}

/// A task that is to die.
#[derive(Debug)]
struct Panic {
    step: usize,
    broker: usize,
    /// How many requests are to wait until it is the one.
    left: u32,
}

impl Machines {
    /// All machines are well.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            seed: plan.seed,
            is_fixed: plan.is_fixed(),
            starving: Vec::new(),
            panics: Vec::new(),
            moments: Stream::new(plan.seed, "moments of panic", 0),
        }
    }
}

impl World {
    /// Begins what a step does to a machine. Returns after how long it ends, in microseconds.
    pub(super) fn begin_machine(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Starve { broker, percent, duration } => {
                self.starve(Self::ordinal(broker), *percent, step);
                Some(micros(*duration))
            }
            Action::Panic { broker, nth } => {
                let broker = Self::ordinal(broker);
                self.machines.panics.push(Panic { step, broker, left: *nth });
                None
            }
            Action::Jump { broker, by } => {
                self.jump_clock(Self::ordinal(broker), micros(*by), step);
                None
            }
            Action::StopClock { broker, duration } => {
                let stops = self.stop_clock(Self::ordinal(broker), step);
                stops.then_some(micros(*duration))
            }
            _ => unreachable!("is no step about a machine"),
        }
    }

    /// What is wrong with machines ends.
    pub(super) fn heal_machines(&mut self) {
        self.machines.starving.clear();
        self.machines.panics.clear();
        self.heal_clocks();
    }

    fn starve(&mut self, broker: usize, percent: u32, step: usize) {
        let Some(slot) = self.brokers.get(broker) else { return };
        let name = slot.name.clone();
        self.record.tell(&name, || format!("stands still for {percent}% of its time"));
        let stream = Stream::new(self.machines.seed, "slices", step as u64);
        let percent = u64::from(percent);
        let starving = Starving { step, broker, percent, stream, slice: None };
        self.machines.starving.push(starving);
        self.next_slice(step);
    }

    /// A starved broker has run for a while, or stood still for a while.
    pub(super) fn next_slice(&mut self, step: usize) {
        let Machines { is_fixed, starving, .. } = &mut self.machines;
        let Some(it) = starving.iter_mut().find(|it| it.step == step) else { return };
        let broker = it.broker;
        let lasts = if let Some(slice) = it.slice.take() {
            self.unhalt(broker, step);
            slice
        } else {
            let period = if *is_fixed { PERIOD } else { it.stream.between(PERIODS.0, PERIODS.1) };
            let pause = period * it.percent / 100;
            it.slice = Some(period - pause);
            self.halt(broker, step);
            pause
        };
        self.after(lasts, Event::Slice { step });
    }

    /// A starved broker has its time again.
    pub(super) fn end_starving(&mut self, broker: usize, step: usize) {
        self.machines.starving.retain(|it| it.step != step);
        if let Some(slot) = self.brokers.get(broker) {
            let name = slot.name.clone();
            self.record.tell(&name, || "has all of its time again".to_owned());
            self.unhalt(broker, step);
        }
    }

    /// Whether a broker runs in short slices only.
    pub(super) fn is_starved(&self, broker: usize) -> bool {
        self.machines.starving.iter().any(|it| it.broker == broker)
    }

    /// Whether nothing keeps a broker from running, but for a while.
    pub(super) fn is_at_most_starved(&self, broker: usize) -> bool {
        let is_starving = |step: &usize| self.machines.starving.iter().any(|it| it.step == *step);
        let up = self.brokers[broker].up.as_ref();
        up.is_none_or(|up| up.paused_by.iter().all(is_starving))
    }

    /// A request reaches a broker: if it has to wait, its task may have to die.
    pub(super) fn endanger(&mut self, broker: usize, request: u64) {
        let Machines { is_fixed, panics, moments, .. } = &mut self.machines;
        if !panics.iter().any(|it| it.broker == broker) {
            return;
        }
        // Most of what a request waits for is over soon.
        let moment = match is_fixed {
            true => MOMENT,
            false => {
                let bits = moments.between(0, MOMENT_BITS);
                moments.below(1 << bits)
            }
        };
        self.after(moment, Event::Panic { broker, request });
    }

    /// If a request still waits in a broker that runs, its task may be the one that dies.
    pub(super) fn panic_in(&mut self, broker: usize, request: u64) {
        let is_running = self.brokers[broker].up.as_ref().is_some_and(|up| up.paused_by.is_empty());
        let (is_clients, is_peers) = (self.owes(request), self.owes_a_peer(request));
        if !is_running || !(is_clients || is_peers) {
            return;
        }
        let panics = &mut self.machines.panics;
        let Some(at) = panics.iter().position(|it| it.broker == broker) else { return };
        panics[at].left -= 1;
        if panics[at].left > 0 {
            return;
        }
        let step = panics.remove(at).step;
        self.record.effect(step);
        let name = self.brokers[broker].name.clone();
        self.record.tell(&name, || "the task of a request dies".to_owned());
        if is_clients {
            self.record.reach(Milestone::RequestDied);
            self.end_task(request);
        } else {
            self.record.reach(Milestone::PeerRequestDied);
            self.end_peer_task(request);
        }
    }
}
