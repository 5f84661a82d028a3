//! JoinGroup, SyncGroup, Heartbeat and LeaveGroup of one entry.
//!
//! The rules are in `crate::group`; here is what they are when there is no group. Membership is in
//! memory only, so a request that names a member never creates or loads a group: the member is
//! unknown.

use super::{
    Core, Turn,
    entry::{Entry, Store},
};
use crate::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveRequest, LeaveResponse,
        LeftMember, Request, Response, SyncRequest, SyncResponse,
    },
    config::Config,
    group::{Group, Ticket, refusal_if_absent},
};

/// The answer to a request about a group of which nothing is in memory, if that needs no file.
pub(super) fn answer_without_entry(config: &Config, request: &Request) -> Option<Response> {
    match request {
        Request::JoinGroup(it) => {
            let error = refusal_if_absent(it, &config.group)?;
            Some(Response::JoinGroup(JoinResponse::refused(error, it.member_id.clone())))
        }
        Request::SyncGroup(_) | Request::Heartbeat(_) => {
            Some(request.refused(ErrorCode::UnknownMemberId))
        }
        Request::LeaveGroup(it) => Some(nobody_leaves(it)),
        Request::OffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DeleteGroups { .. }
        | Request::DescribeGroups { .. }
        | Request::FindCoordinator { .. }
        | Request::ListGroups { .. }
        | Request::InitProducerId(_)
        | Request::AddPartitionsToTxn(_)
        | Request::AddOffsetsToTxn(_)
        | Request::EndTxn(_)
        | Request::TxnOffsetCommit(_)
        | Request::VerifyTxn(_)
        | Request::TxnMarker(_)
        | Request::TxnOutcome(_) => None,
    }
}

/// LeaveGroup of a group that does not exist: every member is unknown.
fn nobody_leaves(request: &LeaveRequest) -> Response {
    let unknown = |it: &crate::api::LeaveIdentity| LeftMember {
        member_id: it.member_id.clone(),
        instance: it.instance.clone(),
        error: ErrorCode::UnknownMemberId,
    };
    let members = request.members.iter().map(unknown).collect();
    Response::LeaveGroup(LeaveResponse { error: ErrorCode::None, members })
}

impl Entry {
    pub(super) fn join(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &JoinRequest,
    ) {
        if self.group.is_none() {
            if let Some(error) = refusal_if_absent(request, &core.config.group) {
                let refusal = JoinResponse::refused(error, request.member_id.clone());
                core.answer(turn.now, &self.id, ticket, Response::JoinGroup(refusal));
                return;
            }
            self.create_group();
        }
        self.on_group(core, turn, |group, cx| group.join(cx, request, ticket));
    }

    pub(super) fn sync(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &SyncRequest,
    ) {
        if self.on_group(core, turn, |group, cx| group.sync(cx, request, ticket)).is_none() {
            let unknown = Response::SyncGroup(SyncResponse::refused(ErrorCode::UnknownMemberId));
            core.answer(turn.now, &self.id, ticket, unknown);
        }
    }

    pub(super) fn heartbeat(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        request: &HeartbeatRequest,
    ) -> Response {
        let verdict = self.on_group(core, turn, |group, cx| group.heartbeat(cx, request));
        Response::Heartbeat(verdict.unwrap_or(ErrorCode::UnknownMemberId))
    }

    pub(super) fn leave(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        request: &LeaveRequest,
    ) -> Response {
        let left = self.on_group(core, turn, |group, cx| group.leave(cx, request));
        left.map_or_else(|| nobody_leaves(request), Response::LeaveGroup)
    }

    /// From here on there is such a group, as Kafka says; its members come next.
    pub(super) fn create_group(&mut self) {
        let protocol_type = match &self.store {
            Store::Ready { file, .. } => file.protocol_type.clone(),
            Store::Unloaded { .. }
            | Store::Loading { .. }
            | Store::Unreadable { .. }
            | Store::Gone => None,
        };
        self.group = Some(Group::new(self.id.clone(), protocol_type));
    }
}
