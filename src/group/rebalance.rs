//! The join phase: how it begins, is extended, and ends in a generation.
//!
//! While a group is PreparingRebalance its members rejoin and are parked. The phase is over when
//! everybody is there, or when its time is up; then who is there forms the next generation, and
//! everybody is told so at once. A group that was Empty waits for a fixed window instead, so that
//! consumers that start together end up in one generation (KIP-134).

use std::{collections::BTreeSet, time::Duration};

use super::{
    Context, Group, Reply, State,
    member::{Member, Parked},
    subscription,
};
use crate::{api::ErrorCode, ids::Topic, note::Note, ports::Instant};

/// Static members keep their place while they are away, and a phase that nobody joined is extended
/// by the longest time they may take to rejoin. This is the least it is extended by, so that a
/// rebalance timeout of zero does not make the group spin; Kafka has no such bound.
const EXTENSION_MIN: Duration = Duration::from_millis(100);

/// When a join phase ends, at the latest.
#[derive(Debug)]
pub(super) enum JoinPhase {
    /// The group was Empty. A window that saw the group grow is followed by another, as long as
    /// there is something `remaining`.
    Initial {
        /// The end of this window.
        until: Instant,
        /// How long a window is: `group.initial.rebalance.delay.ms` when the phase began. The last
        /// one may be shorter.
        delay: Duration,
        /// What is left for further windows.
        remaining: Duration,
    },
    /// The group had members.
    Rejoin {
        /// The end.
        until: Instant,
    },
}

impl JoinPhase {
    pub(super) fn until(&self) -> Instant {
        match self {
            Self::Initial { until, .. } | Self::Rejoin { until } => *until,
        }
    }
}

impl Group {
    /// Begins a join phase, if there is none.
    pub(super) fn rebalance(&mut self, cx: &mut Context<'_>) {
        let phase = match self.state {
            State::PreparingRebalance | State::Dead => return,
            State::Empty => self.initial_phase(cx),
            State::CompletingRebalance => {
                self.cancel_syncs(cx);
                self.rejoin_phase(cx)
            }
            State::Stable => self.rejoin_phase(cx),
        };
        self.unsynced.clear();
        self.sync_until = None;
        let at_once = phase.until() <= cx.now;
        self.phase = Some(phase);
        self.enter(cx, State::PreparingRebalance);
        if at_once {
            self.end_phase(cx);
        } else {
            self.try_complete_join(cx);
        }
    }

    fn initial_phase(&self, cx: &Context<'_>) -> JoinPhase {
        let delay = cx.config.initial_rebalance_delay;
        let remaining = self.roster.rebalance_timeout().saturating_sub(delay);
        JoinPhase::Initial { until: cx.now + delay, delay, remaining }
    }

    fn rejoin_phase(&self, cx: &Context<'_>) -> JoinPhase {
        JoinPhase::Rejoin { until: cx.now + self.roster.rebalance_timeout() }
    }

    fn cancel_syncs(&mut self, cx: &mut Context<'_>) {
        self.clear_assignments();
        for seat in self.roster.seats() {
            if let Some(Parked::Sync(_)) = self.roster.get(seat).parked {
                let parked = self.roster.unpark(seat);
                cx.refuse(parked, ErrorCode::RebalanceInProgress, &"".into());
                self.refresh(cx.now, seat);
            }
        }
    }

    /// Ends the join phase early if everybody is there. The initial window always runs its time,
    /// and a pending id is somebody who is about to come.
    pub(super) fn try_complete_join(&mut self, cx: &mut Context<'_>) {
        let rejoining = matches!(self.phase, Some(JoinPhase::Rejoin { .. }));
        let complete = self.roster.joined() == self.roster.len() && self.pending.is_empty();
        if rejoining && complete {
            self.complete_join(cx);
        }
    }

    /// The time of the join phase is up.
    pub(super) fn end_phase(&mut self, cx: &mut Context<'_>) {
        match &mut self.phase {
            Some(JoinPhase::Initial { until, delay, remaining })
                if self.grown && !remaining.is_zero() =>
            {
                self.grown = false;
                let next = (*delay).min(*remaining);
                *remaining = remaining.saturating_sub(next);
                *until = cx.now + next;
                if next.is_zero() {
                    self.complete_join(cx);
                }
            }
            Some(JoinPhase::Initial { .. } | JoinPhase::Rejoin { .. }) => self.complete_join(cx),
            None => {}
        }
    }

    /// Ends the join phase with those who are there.
    fn complete_join(&mut self, cx: &mut Context<'_>) {
        self.remove_absent(cx);
        if !self.roster.is_empty() && !self.elect_present_leader() {
            let extension = self.roster.rebalance_timeout().max(EXTENSION_MIN);
            self.phase = Some(JoinPhase::Rejoin { until: cx.now + extension });
            return;
        }
        self.phase = None;
        self.generation += 1;
        self.protocol = self.roster.vote();
        self.subscription = self.subscribed_topics();
        if self.roster.is_empty() {
            self.enter(cx, State::Empty);
        } else {
            self.enter(cx, State::CompletingRebalance);
            self.announce(cx);
        }
    }

    /// Dynamic members that did not rejoin are out. Static ones keep their place until their
    /// session ends.
    fn remove_absent(&mut self, cx: &mut Context<'_>) {
        let absent = |member: &Member| !member.has_joined() && member.instance.is_none();
        let seats: Vec<_> =
            self.roster.iter().filter(|(_, m)| absent(m)).map(|(seat, _)| seat).collect();
        for seat in seats {
            self.forget(seat);
            cx.notes.push(Note::MemberExpired { group: self.id.clone(), timer: "rebalance" });
        }
    }

    /// Keeps a leader that is there, else takes the first member that is. False if nobody is.
    fn elect_present_leader(&mut self) -> bool {
        let present = |seat| self.roster.get(seat).has_joined();
        if self.leader.is_some_and(present) {
            return true;
        }
        let first = self.roster.iter().find(|(_, member)| member.has_joined());
        let Some((seat, _)) = first else { return false };
        self.leader = Some(seat);
        true
    }

    /// Tells everybody of the new generation, and waits for their SyncGroup.
    fn announce(&mut self, cx: &mut Context<'_>) {
        for seat in self.roster.seats() {
            if let Some(Parked::Join(ticket)) = self.roster.unpark(seat) {
                let response = self.joined(seat, self.leader == Some(seat));
                cx.replies.push(Reply::Join(ticket, response));
            }
            self.refresh(cx.now, seat);
            self.roster.settle(seat);
            self.unsynced.insert(seat);
        }
        self.sync_until = Some(cx.now + self.roster.rebalance_timeout());
    }

    /// The union of what the members subscribe to.
    fn subscribed_topics(&self) -> Option<BTreeSet<Topic>> {
        if self.protocol_type.as_deref() != Some("consumer") {
            return None;
        }
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let mut all = BTreeSet::new();
        for (_, member) in self.roster.iter() {
            all.append(&mut subscription::topics(&member.metadata(protocol))?);
        }
        Some(all)
    }
}
