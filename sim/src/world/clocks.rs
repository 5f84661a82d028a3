//! Brokers' timers, and what happens to the clocks that they go by.
//!
//! A timer is set for a time of its broker's clock. The queue holds when that will be as the clock
//! goes now; whenever the clock is interfered with, every timer is put into the queue once more, and
//! what was there before finds its timer gone or not due.

use std::collections::BTreeMap;

use tokio::sync::oneshot;

use super::{Event, World};
use crate::milestone::Milestone;

/// The timers of one broker, by number.
#[derive(Debug, Default)]
pub(super) struct Timers {
    set: BTreeMap<u64, Timer>,
    /// The last number, in all lives of the broker.
    last: u64,
}

#[derive(Debug)]
struct Timer {
    /// In microseconds of the broker's clock.
    deadline: u64,
    wake: oneshot::Sender<()>,
}

impl Timer {
    /// Whether somebody waits for it, and is to be woken behind `after` and not behind `until`.
    fn is_between(&self, after: u64, until: u64) -> bool {
        after < self.deadline && self.deadline <= until && !self.wake.is_closed()
    }
}

impl Timers {
    /// Its broker is dead.
    pub(super) fn clear(&mut self) {
        self.set.clear();
    }
}

impl World {
    /// A broker wants to be woken at `deadline`, by its own clock.
    pub(super) fn set_timer(&mut self, broker: usize, deadline: u64, wake: oneshot::Sender<()>) {
        if deadline == u64::MAX {
            return;
        }
        let timers = &mut self.brokers[broker].timers;
        timers.last += 1;
        let timer = timers.last;
        timers.set.insert(timer, Timer { deadline, wake });
        self.await_timer(broker, timer, deadline);
    }

    fn await_timer(&mut self, broker: usize, timer: u64, deadline: u64) {
        if let Some(at) = self.brokers[broker].clock.world(deadline) {
            self.queue.push(at.max(self.now), Event::Timer { broker, timer });
        }
    }

    /// A timer is due, if nothing has happened to the clock since it was set.
    pub(super) fn fire(&mut self, broker: usize, timer: u64) {
        let slot = &mut self.brokers[broker];
        let Some(it) = slot.timers.set.get(&timer) else { return };
        if it.deadline > slot.clock.local(self.now) {
            return;
        }
        let it = slot.timers.set.remove(&timer).expect("it was just seen");
        self.touched |= it.wake.send(()).is_ok();
    }

    /// A broker's clock jumps forward.
    pub(super) fn jump_clock(&mut self, broker: usize, by: u64, step: usize) {
        let Some(slot) = self.brokers.get(broker) else { return };
        let before = slot.clock.local(self.now);
        slot.clock.jump(self.now, by);
        let after = slot.clock.local(self.now);
        if slot.up.as_ref().is_some_and(|up| up.paused_by.is_empty()) {
            self.lens.clock_jumped(&slot.name, before, after);
        }
        if slot.timers.set.values().any(|it| it.is_between(before, after)) {
            self.record.effect(step);
            self.record.reach(Milestone::ClockJumped);
        }
        let name = slot.name.clone();
        self.record.tell(&name, || format!("its clock jumps by {}ms", by / 1000));
        self.await_timers(broker);
    }

    /// A broker's clock stands still; returns `false` if it did so already.
    pub(super) fn stop_clock(&mut self, broker: usize, step: usize) -> bool {
        let Some(slot) = self.brokers.get_mut(broker) else { return false };
        if slot.clock_stopped.is_some() {
            return false;
        }
        slot.clock_stopped = Some((step, self.now));
        slot.clock.stop(self.now);
        let name = slot.name.clone();
        self.record.tell(&name, || "its clock stands still".to_owned());
        true
    }

    /// It goes on, if it is the one that `step` stopped.
    pub(super) fn start_clock(&mut self, broker: usize, step: usize) {
        let Some(slot) = self.brokers.get_mut(broker) else { return };
        let Some((_, since)) = slot.clock_stopped.take_if(|(by, _)| *by == step) else { return };
        slot.clock.go_on(self.now);
        let stands = slot.clock.local(self.now);
        let missed = stands + (self.now - since);
        if slot.timers.set.values().any(|it| it.is_between(stands, missed)) {
            self.record.effect(step);
            self.record.reach(Milestone::ClockStoodStill);
        }
        let name = slot.name.clone();
        self.record.tell(&name, || "its clock goes on".to_owned());
        self.await_timers(broker);
    }

    /// The clock goes otherwise than before: all timers are due at other times.
    fn await_timers(&mut self, broker: usize) {
        let timers = &self.brokers[broker].timers.set;
        let timers: Vec<_> = timers.iter().map(|(timer, it)| (*timer, it.deadline)).collect();
        for (timer, deadline) in timers {
            self.await_timer(broker, timer, deadline);
        }
    }

    /// All clocks go.
    pub(super) fn heal_clocks(&mut self) {
        for broker in 0..self.brokers.len() {
            if let Some((step, _)) = self.brokers[broker].clock_stopped {
                self.start_clock(broker, step);
            }
        }
    }
}
