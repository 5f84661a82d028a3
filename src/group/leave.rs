//! LeaveGroup and every other way a member goes.
//!
//! LeaveGroup does not ask for the generation: who wants to go may go. It can name several members
//! (KIP-345), and a static one by its instance id alone, which is how an administrator removes it.

use super::{Context, Group, State, roster::Seat};
use crate::{
    api::{ErrorCode, LeaveIdentity, LeaveRequest, LeaveResponse, LeftMember},
    ids::MemberId,
};

impl Group {
    /// LeaveGroup, one verdict per member.
    pub fn leave(&mut self, cx: &mut Context<'_>, request: &LeaveRequest) -> LeaveResponse {
        if self.state == State::Dead {
            return LeaveResponse::refused(ErrorCode::CoordinatorNotAvailable);
        }
        let members = request.members.iter().map(|leaver| LeftMember {
            member_id: leaver.member_id.clone(),
            instance: leaver.instance.clone(),
            error: self.leave_one(cx, leaver),
        });
        LeaveResponse { error: ErrorCode::None, members: members.collect() }
    }

    fn leave_one(&mut self, cx: &mut Context<'_>, leaver: &LeaveIdentity) -> ErrorCode {
        let (id, instance) = (&leaver.member_id, leaver.instance.as_ref());
        // A pending id has no instance; Kafka does not look at the one that is sent.
        if self.drop_pending(id) {
            self.try_complete_join(cx);
            return ErrorCode::None;
        }
        let seat = match instance {
            Some(instance) if id.is_empty() => {
                self.roster.by_instance(instance).ok_or(ErrorCode::UnknownMemberId)
            }
            Some(_) | None => self.roster.identify(id, instance),
        };
        match seat {
            Ok(seat) => {
                self.remove_member(cx, seat);
                ErrorCode::None
            }
            Err(error) => error,
        }
    }

    /// Removes a member that left or whose time is up. The others must form a new generation.
    pub(super) fn remove_member(&mut self, cx: &mut Context<'_>, seat: Seat) {
        let parked = self.roster.unpark(seat);
        cx.refuse(parked, ErrorCode::UnknownMemberId, &"".into());
        self.forget(seat);
        self.rebalance(cx);
        self.try_complete_join(cx);
    }

    /// Takes a member out of everything that mentions it, without consequences for the others. A
    /// leader is succeeded by the first of them.
    pub(super) fn forget(&mut self, seat: Seat) {
        let (member, parked) = self.roster.remove(seat);
        debug_assert!(parked.is_none(), "a parked request is answered first");
        if let Some(alarm) = member.alarm {
            self.alarms.clear(alarm, seat);
        }
        self.unsynced.remove(&seat);
        if self.leader == Some(seat) {
            self.leader = self.roster.iter().map(|(seat, _)| seat).next();
        }
    }

    /// Forgets an id that was given out and not yet used; false if it is not one.
    pub(super) fn drop_pending(&mut self, id: &MemberId) -> bool {
        let Some((until, seat)) = self.pending.remove(id) else { return false };
        self.alarms.clear(until, seat);
        true
    }
}
