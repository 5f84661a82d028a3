//! SyncGroup: the leader hands out the assignment, everybody receives its own.
//!
//! In CompletingRebalance a SyncGroup is parked until the leader's arrives. Nothing is stored, so
//! the group is Stable with that very request; Kafka waits for its log here.

use std::sync::Arc;

use super::{Context, Group, Reply, State, Ticket, member::Parked, roster::Seat};
use crate::{
    api::{ErrorCode, SyncRequest, SyncResponse},
    ids::MemberId,
};

impl Group {
    /// SyncGroup. Answered exactly once with this ticket, now or later.
    pub fn sync(&mut self, cx: &mut Context<'_>, request: &SyncRequest, ticket: Ticket) {
        if let Err(error) = self.try_sync(cx, request, ticket) {
            cx.replies.push(Reply::Sync(ticket, SyncResponse::refused(error)));
        }
    }

    fn try_sync(
        &mut self,
        cx: &mut Context<'_>,
        request: &SyncRequest,
        ticket: Ticket,
    ) -> Result<(), ErrorCode> {
        let seat = self.check_sync(request)?;
        let assigned = request.assignments.iter().map(|(id, it)| id.as_str().len() + it.len());
        if assigned.sum::<usize>() > cx.config.assignment_bytes_max {
            return Err(ErrorCode::InvalidRequest);
        }
        match self.state {
            State::Empty => return Err(ErrorCode::UnknownMemberId),
            State::PreparingRebalance => return Err(ErrorCode::RebalanceInProgress),
            State::Dead => return Err(ErrorCode::CoordinatorNotAvailable),
            State::CompletingRebalance => {
                let superseded = self.roster.park(seat, Parked::Sync(ticket));
                cx.refuse(superseded, ErrorCode::RebalanceInProgress, &request.member_id);
                self.mark_synced(seat);
                if self.leader == Some(seat) {
                    self.install(cx, &request.assignments);
                }
            }
            State::Stable => {
                self.mark_synced(seat);
                let response = self.assignment_of(seat);
                cx.replies.push(Reply::Sync(ticket, response));
                self.refresh(cx.now, seat);
            }
        }
        Ok(())
    }

    fn check_sync(&self, request: &SyncRequest) -> Result<Seat, ErrorCode> {
        if let Some(error) = refusal_before_gate(request) {
            return Err(error);
        }
        let seat =
            self.check_member(&request.member_id, request.instance.as_ref(), request.generation)?;
        // A member that names type or protocol must have understood them (KIP-559).
        let (protocol_type, name) = (&request.protocol_type, &request.protocol_name);
        let differs = protocol_type.is_some() && *protocol_type != self.protocol_type
            || name.is_some() && *name != self.protocol;
        if differs { Err(ErrorCode::InconsistentGroupProtocol) } else { Ok(seat) }
    }

    /// Gives every member what the leader says; those it does not mention get nothing, and ids
    /// that are no members are passed over.
    fn install(&mut self, cx: &mut Context<'_>, assignments: &[(MemberId, Arc<[u8]>)]) {
        self.clear_assignments();
        for (id, assignment) in assignments {
            if let Some(seat) = self.roster.by_id(id) {
                self.roster.get_mut(seat).assignment = Arc::clone(assignment);
            }
        }
        self.enter(cx, State::Stable);
        for seat in self.roster.seats() {
            if let Some(Parked::Sync(ticket)) = self.roster.unpark(seat) {
                cx.replies.push(Reply::Sync(ticket, self.assignment_of(seat)));
                self.refresh(cx.now, seat);
            }
        }
    }

    pub(super) fn clear_assignments(&mut self) {
        for seat in self.roster.seats() {
            self.roster.get_mut(seat).assignment = Arc::default();
        }
    }

    fn assignment_of(&self, seat: Seat) -> SyncResponse {
        SyncResponse {
            error: ErrorCode::None,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol.clone(),
            assignment: Arc::clone(&self.roster.get(seat).assignment),
        }
    }

    fn mark_synced(&mut self, seat: Seat) {
        self.unsynced.remove(&seat);
        if self.unsynced.is_empty() {
            self.sync_until = None;
        }
    }
}

/// The refusal of a SyncGroup that does not say what its version requires (KIP-559). Kafka looks
/// at this before it asks whose the group is.
pub fn refusal_before_gate(request: &SyncRequest) -> Option<ErrorCode> {
    let complete = request.protocol_type.is_some() && request.protocol_name.is_some();
    (request.version >= 5 && !complete).then_some(ErrorCode::InconsistentGroupProtocol)
}
