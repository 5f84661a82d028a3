//! SyncGroup (2.3), Heartbeat (2.4) and whether a member may commit (2.6).

use super::{Answer, Ask, Error, Group, State, Ticket, outcome::Turn};

impl Group {
    /// The answer, unless it is withheld.
    pub(super) fn sync(&mut self, turn: &mut Turn, ticket: Ticket, ask: &Ask) -> Option<Answer> {
        let Ask::Sync { id, instance, generation, kind, protocol, assignments, version } = ask
        else {
            unreachable!("the caller looked")
        };
        let refuse = |error| Some(Answer::unsynced(error));
        if *version >= 5 && (kind.is_none() || protocol.is_none()) {
            turn.row("2.3 row 0");
            return refuse(Error::INCONSISTENT_GROUP_PROTOCOL);
        }
        if self.state == State::Dead {
            turn.row("2.3 row 3");
            return refuse(Error::COORDINATOR_NOT_AVAILABLE);
        }
        if let Err(error) = self.check(turn, id, instance.as_deref()) {
            turn.row("2.3 row 4");
            return refuse(error);
        }
        if *generation != self.generation {
            turn.row("2.3 row 5");
            return refuse(Error::ILLEGAL_GENERATION);
        }
        let differs =
            |ours: &Option<String>, theirs: &Option<String>| theirs.is_some() && theirs != ours;
        if differs(&self.kind, kind) || differs(&self.protocol, protocol) {
            turn.row("2.3 row 6");
            return refuse(Error::INCONSISTENT_GROUP_PROTOCOL);
        }
        match self.state {
            State::Empty => unreachable!("row 7 is behind row 4, and Empty has no members"),
            State::PreparingRebalance => {
                turn.row("2.3 row 8");
                refuse(Error::REBALANCE_IN_PROGRESS)
            }
            State::CompletingRebalance => {
                self.has_synced(id);
                if let Some(old) = self.member(id).syncing.replace(ticket) {
                    turn.row("3.6 a parked sync is superseded");
                    turn.answer(old, Answer::Retry);
                }
                if self.leader.as_deref() == Some(id) {
                    turn.row("2.3 row 9: leader");
                    self.install(turn, assignments);
                } else {
                    turn.row("2.3 row 9: follower");
                }
                None
            }
            State::Stable => {
                turn.row("2.3 row 10");
                self.has_synced(id);
                self.refresh(id);
                Some(self.assignment(id))
            }
            State::Dead => unreachable!("row 3"),
        }
    }

    fn has_synced(&mut self, id: &str) {
        self.unsynced.remove(id);
        if self.unsynced.is_empty() {
            self.sync_end = None;
        }
    }

    /// Missing members get nothing, unknown ids are ignored.
    fn install(&mut self, turn: &mut Turn, assignments: &[(String, String)]) {
        turn.row("3.1 C to S");
        self.state = State::Stable;
        for id in self.members.keys().cloned().collect::<Vec<_>>() {
            let given = assignments.iter().rev().find(|(to, _)| *to == id);
            if given.is_none() {
                turn.row("2.3 row 9: a member without an assignment");
            }
            let assignment = given.map(|(_, it)| it.clone()).unwrap_or_default();
            self.member(&id).assignment = assignment;
            if let Some(ticket) = self.member(&id).syncing.take() {
                turn.answer(ticket, self.assignment(&id));
                self.refresh(&id);
            }
        }
    }

    fn assignment(&self, id: &str) -> Answer {
        Answer::Sync {
            error: Error::NONE,
            kind: self.kind.clone(),
            protocol: self.protocol.clone(),
            assignment: self.members[id].assignment.clone(),
        }
    }

    pub(super) fn heartbeat(
        &mut self,
        turn: &mut Turn,
        id: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Error {
        if self.state == State::Dead {
            turn.row("2.4 D");
            return Error::COORDINATOR_NOT_AVAILABLE;
        }
        if let Err(error) = self.check(turn, id, instance) {
            turn.row("2.4 M");
            return error;
        }
        if generation != self.generation {
            turn.row("2.4 generation");
            return Error::ILLEGAL_GENERATION;
        }
        self.refresh(id);
        match self.state {
            State::PreparingRebalance => {
                turn.row(if self.members[id].is_new {
                    "8.4 a new one's heartbeat"
                } else {
                    "2.4 P"
                });
                Error::REBALANCE_IN_PROGRESS
            }
            State::CompletingRebalance => {
                turn.row("2.4 C");
                Error::NONE
            }
            State::Stable => {
                turn.row("2.4 S");
                Error::NONE
            }
            State::Empty | State::Dead => unreachable!("members imply neither"),
        }
    }

    pub(super) fn commit(
        &mut self,
        turn: &mut Turn,
        id: &str,
        instance: Option<&str>,
        generation: i32,
    ) -> Error {
        if self.state == State::Dead {
            turn.row("2.6 row 4");
            return Error::COORDINATOR_NOT_AVAILABLE;
        }
        if generation < 0 && self.state == State::Empty {
            turn.row("2.6 row 5");
            return Error::NONE;
        }
        if generation < 0 && id.is_empty() && instance.is_none() {
            turn.row("2.6 row 7");
            return Error::UNKNOWN_MEMBER_ID;
        }
        if let Err(error) = self.check(turn, id, instance) {
            turn.row("2.6 row 6: M");
            return error;
        }
        if generation != self.generation {
            turn.row("2.6 row 6: generation");
            return Error::ILLEGAL_GENERATION;
        }
        if self.state == State::CompletingRebalance {
            turn.row("2.6 row 8");
            return Error::REBALANCE_IN_PROGRESS;
        }
        let is_preparing = self.state == State::PreparingRebalance;
        turn.row(if is_preparing { "2.6 row 9: P" } else { "2.6 row 9: S" });
        self.refresh(id);
        Error::NONE
    }
}
