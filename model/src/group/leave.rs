//! LeaveGroup (2.5).

use super::{Answer, Error, Group, JoinAnswer, State, outcome::Turn};

impl Group {
    pub(super) fn leave(
        &mut self,
        turn: &mut Turn,
        members: &[(String, Option<String>)],
    ) -> Answer {
        if self.state == State::Dead {
            turn.row("2.5 D");
            return Answer::Leave(Error::COORDINATOR_NOT_AVAILABLE, Vec::new());
        }
        let verdicts = members.iter().map(|(id, instance)| {
            let error = self.leave_one(turn, id, instance.as_deref());
            (id.clone(), instance.clone(), error)
        });
        Answer::Leave(Error::NONE, verdicts.collect())
    }

    fn leave_one(&mut self, turn: &mut Turn, id: &str, instance: Option<&str>) -> Error {
        if let (true, Some(instance)) = (id.is_empty(), instance) {
            let Some(holder) = self.holder(instance).map(str::to_owned) else {
                turn.row("2.5 instance alone: unmapped");
                return Error::UNKNOWN_MEMBER_ID;
            };
            turn.row("2.5 instance alone: removed");
            self.remove(turn, &holder);
            return Error::NONE;
        }
        // Section 8: an instance beside a pending id is ignored.
        if self.pending.remove(id).is_some() {
            turn.row("2.5 pending id");
            self.try_complete(turn);
            return Error::NONE;
        }
        if let Err(error) = self.check(turn, id, instance) {
            turn.row("2.5 M");
            return error;
        }
        turn.row("2.5 removed");
        self.remove(turn, id);
        Error::NONE
    }

    /// Removes a member that left or whose time is up.
    pub(super) fn remove(&mut self, turn: &mut Turn, id: &str) {
        let member = self.members.remove(id).expect("a member");
        self.unsynced.remove(id);
        if let Some(ticket) = member.joining {
            turn.row("2.5 parked join of a removed member");
            let refused = JoinAnswer::refused(Error::UNKNOWN_MEMBER_ID, "");
            turn.answer(ticket, Answer::Join(refused));
        }
        if let Some(ticket) = member.syncing {
            turn.row("3.6 parked sync of a removed member");
            turn.answer(ticket, Answer::Retry);
        }
        self.elect_if_gone(turn);
        self.rebalance(turn);
        self.try_complete(turn);
    }
}
