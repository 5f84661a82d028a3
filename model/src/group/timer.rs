//! Timers (3.2).

use super::{Group, Millis, State, outcome::Turn};

/// Something that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A member's session or first join.
    Member(String),
    Pending(String),
    Phase,
    Sync,
}

impl Group {
    /// The timers that fire first, if they fire by `to`; several if they fire at the same instant.
    pub(super) fn due(&self, to: Millis) -> Vec<(Millis, Timer)> {
        let mut timers = Vec::new();
        for (id, member) in &self.members {
            timers.extend(member.until.map(|at| (at, Timer::Member(id.clone()))));
        }
        for (id, at) in &self.pending {
            timers.push((*at, Timer::Pending(id.clone())));
        }
        let phase = self.phase_end();
        timers.extend(phase.map(|at| (at, Timer::Phase)));
        timers.extend(self.sync_end.map(|at| (at, Timer::Sync)));
        let first = timers.iter().map(|(at, _)| *at).min();
        timers.retain(|(at, _)| Some(*at) == first && *at <= to);
        timers
    }

    pub(super) fn fire(&mut self, turn: &mut Turn, timer: &Timer) {
        match timer {
            Timer::Member(id) => self.end_session(turn, id),
            Timer::Pending(id) => {
                turn.row("3.2 pending id: dropped");
                self.pending.remove(id);
                self.try_complete(turn);
            }
            Timer::Phase => self.end_phase(turn),
            Timer::Sync => self.end_sync(turn),
        }
    }

    fn end_session(&mut self, turn: &mut Turn, id: &str) {
        let member = self.member(id);
        let is_parked = member.joining.is_some() || member.syncing.is_some();
        if is_parked && !member.is_new {
            turn.row("3.2 session: no effect while parked");
            member.until = None;
            return;
        }
        turn.row(match (member.is_new, is_parked, self.state) {
            (true, true, _) => "3.2 new-member join: answered and removed",
            (true, false, _) => "3.2 session: a new member whose connection is gone",
            (false, _, State::PreparingRebalance) => "3.2 session: removed in P",
            (false, _, State::CompletingRebalance) => "3.2 session: removed in C",
            (false, ..) => "3.2 session: removed in S",
        });
        self.remove(turn, id);
    }

    /// Who has not sent SyncGroup is removed, static or leading or not.
    fn end_sync(&mut self, turn: &mut Turn) {
        let is_completing = self.state == State::CompletingRebalance;
        turn.row(if is_completing { "3.2 sync: fires in C" } else { "3.2 sync: fires in S" });
        self.sync_end = None;
        for id in std::mem::take(&mut self.unsynced) {
            if self.members.remove(&id).is_none() {
                turn.row("3.2 sync: an id that was replaced");
            }
        }
        self.elect_if_gone(turn);
        self.rebalance(turn);
    }
}
