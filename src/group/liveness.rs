//! Heartbeat, sessions and what happens when a timer fires.
//!
//! | timer | set | when it fires |
//! |---|---|---|
//! | session | by every sign of life | the member is removed |
//! | first join | when a member is added | the member is removed and its JoinGroup answered |
//! | pending id | with MEMBER_ID_REQUIRED | the id is forgotten |
//! | join phase | when it begins | it ends with those who are there |
//! | sync | when a generation begins | those who have not sent SyncGroup are removed |
//!
//! The first two are one deadline in the member, see [`Member::is_excused`](super::member::Member).

use super::{Context, Group, State, rebalance::JoinPhase, roster::Seat};
use crate::{
    api::{ErrorCode, HeartbeatRequest},
    ids::{InstanceId, MemberId},
    note::Note,
    ports::Instant,
};

/// Whose time is up.
enum Due {
    Alarm,
    JoinPhase,
    Sync,
}

impl Group {
    /// Heartbeat. In CompletingRebalance it is accepted (KAFKA-10134); the sync timer is what finds
    /// members that send nothing else (KAFKA-12890).
    pub fn heartbeat(&mut self, cx: &mut Context<'_>, request: &HeartbeatRequest) -> ErrorCode {
        let instance = request.instance.as_ref();
        let seat = match self.check_member(&request.member_id, instance, request.generation) {
            Ok(seat) => seat,
            Err(error) => return error,
        };
        let verdict = match self.state {
            State::Empty => return ErrorCode::UnknownMemberId,
            State::Dead => return ErrorCode::CoordinatorNotAvailable,
            State::PreparingRebalance => ErrorCode::RebalanceInProgress,
            State::CompletingRebalance | State::Stable => ErrorCode::None,
        };
        self.refresh(cx.now, seat);
        verdict
    }

    /// The sender of a request, if it is a member of the current generation. That it is a member
    /// comes first: who is unknown or fenced must hear that, whatever its generation.
    pub(super) fn check_member(
        &self,
        id: &MemberId,
        instance: Option<&InstanceId>,
        generation: i32,
    ) -> Result<Seat, ErrorCode> {
        if self.state == State::Dead {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let seat = self.roster.identify(id, instance)?;
        if generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        Ok(seat)
    }

    /// A sign of life.
    pub(super) fn refresh(&mut self, now: Instant, seat: Seat) {
        let until = now + self.roster.get(seat).session_timeout;
        self.set_deadline(seat, until);
    }

    /// Moves the deadline, and the alarm only if it would be late. The alarm is early when the
    /// deadline of a newcomer that shows signs of life shrinks from its first join to its session.
    pub(super) fn set_deadline(&mut self, seat: Seat, until: Instant) {
        let member = self.roster.get_mut(seat);
        member.deadline = until;
        if member.alarm.is_some_and(|alarm| alarm <= until) {
            return;
        }
        if let Some(late) = member.alarm.replace(until) {
            self.alarms.clear(late, seat);
        }
        self.alarms.set(until, seat);
    }

    /// Fires every timer that is due, in the order of their deadlines.
    pub fn tick(&mut self, cx: &mut Context<'_>) {
        while let Some(due) = self.next_due(cx.now) {
            match due {
                Due::Alarm => self.wake(cx),
                Due::JoinPhase => self.end_phase(cx),
                Due::Sync => self.remove_unsynced(cx),
            }
        }
    }

    /// What is due first. At the same time, members come before the group.
    fn next_due(&self, now: Instant) -> Option<Due> {
        let timers = [
            (self.alarms.first(), Due::Alarm),
            (self.phase.as_ref().map(JoinPhase::until), Due::JoinPhase),
            (self.sync_until, Due::Sync),
        ];
        let due = timers.into_iter().filter_map(|(at, due)| Some((at?, due)));
        due.filter(|(at, _)| *at <= now).min_by_key(|(at, _)| *at).map(|(_, due)| due)
    }

    /// A seat's alarm went off: it belongs to a pending id, is early, is void, or ends a session.
    fn wake(&mut self, cx: &mut Context<'_>) {
        let Some(seat) = self.alarms.pop() else { return };
        if self.pending.expire(seat) {
            return self.try_complete_join(cx);
        }
        let member = self.roster.get_mut(seat);
        member.alarm = None;
        if member.is_excused() {
            return;
        }
        if member.deadline > cx.now {
            let until = member.deadline;
            return self.set_deadline(seat, until);
        }
        let timer = if member.newcomer { "join" } else { "session" };
        cx.notes.push(Note::MemberExpired { group: self.id.clone(), timer });
        self.remove_member(cx, seat);
    }

    /// The members of this generation have had the time to send SyncGroup.
    fn remove_unsynced(&mut self, cx: &mut Context<'_>) {
        self.sync_until = None;
        for seat in std::mem::take(&mut self.unsynced) {
            if self.roster.contains(seat) {
                self.forget(seat);
                cx.notes.push(Note::MemberExpired { group: self.id.clone(), timer: "sync" });
            }
        }
        self.rebalance(cx);
    }
}
