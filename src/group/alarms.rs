//! When to look at which seat.
//!
//! Every seat has at most one alarm. Its owner remembers the time under which it is set and hands
//! it back to move or remove it, so nothing stale is ever left here. Alarms are lazy: a sign of
//! life only overwrites the deadline in the member, and the alarm is set again when it goes off too
//! early. That keeps heartbeats away from this tree. The group's own two timers (join phase, sync)
//! are single values and live in the group.

use std::collections::BTreeSet;

use super::roster::Seat;
use crate::ports::Instant;

/// The alarms of one group, earliest first, then in the order of joining.
#[derive(Debug, Default)]
pub(super) struct Alarms(BTreeSet<(Instant, Seat)>);

impl Alarms {
    /// Sets an alarm for a seat that has none.
    pub(super) fn set(&mut self, at: Instant, seat: Seat) {
        let new = self.0.insert((at, seat));
        debug_assert!(new, "a seat has one alarm");
    }

    /// Removes the alarm of a seat.
    pub(super) fn clear(&mut self, at: Instant, seat: Seat) {
        let known = self.0.remove(&(at, seat));
        debug_assert!(known, "the owner knows when its alarm is set");
    }

    /// The time of the earliest alarm.
    pub(super) fn first(&self) -> Option<Instant> {
        self.0.first().map(|&(at, _)| at)
    }

    /// Takes the earliest alarm.
    pub(super) fn pop(&mut self) -> Option<Seat> {
        self.0.pop_first().map(|(_, seat)| seat)
    }
}
