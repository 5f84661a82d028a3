//! DescribeGroups (2.11), DeleteGroups (2.10), resignation (5.1), and connections that are gone.

use super::{Answer, Error, Group, JoinAnswer, State, Ticket, message::Described, outcome::Turn};

impl Group {
    pub(super) fn describe(&self, turn: &mut Turn) -> Answer {
        let is_stable = self.state == State::Stable;
        turn.row(if is_stable { "2.11 S" } else { "2.11 not S" });
        let protocol = self.protocol.clone().filter(|_| is_stable).unwrap_or_default();
        let members = self.members.iter().map(|(id, it)| {
            let assignment = if is_stable { it.assignment.clone() } else { String::new() };
            (id.clone(), it.instance.clone(), it.metadata(&protocol), assignment)
        });
        Answer::Describe(Described {
            state: format!("{:?}", self.state),
            kind: self.kind.clone().unwrap_or_default(),
            members: members.collect(),
            protocol,
        })
    }

    pub(super) fn delete(&mut self, turn: &mut Turn) -> Error {
        match self.state {
            State::Dead => {
                turn.row("2.10 D");
                Error::GROUP_ID_NOT_FOUND
            }
            State::Empty => {
                turn.row("2.10 E");
                self.end();
                Error::NONE
            }
            State::PreparingRebalance | State::CompletingRebalance | State::Stable => {
                turn.row("2.10 P, C, S");
                Error::NON_EMPTY_GROUP
            }
        }
    }

    pub(super) fn resign(&mut self, turn: &mut Turn) {
        let error = Error::NOT_COORDINATOR;
        for (id, member) in std::mem::take(&mut self.members) {
            if let Some(ticket) = member.joining {
                turn.row("5.1 parked join at resignation");
                turn.answer(ticket, Answer::Join(JoinAnswer::refused(error, &id)));
            }
            if let Some(ticket) = member.syncing {
                turn.row("5.1 parked sync at resignation");
                turn.answer(ticket, Answer::unsynced(error));
            }
        }
        self.end();
    }

    fn end(&mut self) {
        self.state = State::Dead;
        self.members.clear();
        self.pending.clear();
        self.leader = None;
        self.phase = None;
        self.unsynced.clear();
        self.sync_end = None;
    }

    /// The member stays, as one that waits for nothing and whose session runs from now.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        let now = self.now;
        for member in self.members.values_mut() {
            let waits = [member.joining, member.syncing].contains(&Some(ticket));
            if waits {
                member.joining = None;
                member.syncing = None;
                member.until = Some(now + member.session);
            }
        }
    }
}
