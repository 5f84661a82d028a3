//! What makes a rude client rude: each manner at the places where it differs from a good member, and
//! the milestone that shows that it had an effect.

#![expect(clippy::wildcard_enum_match_arm, reason = "most manners are ordinary at most places")]

use std::time::Duration;

use kaas_coordinator::{
    api::{
        CommitOffset, ErrorCode, JoinRequest, JoinResponse, LeaveIdentity, LeaveRequest,
        LeaveResponse, OffsetCommitRequest, Request,
    },
    ids::{MemberId, TopicPartition},
};

use super::{Call, Place, Rude};
use crate::{
    client::{BACKOFF, Cx, REQUEST_TIMEOUT, assignor::subscription},
    milestone::Milestone,
    plan::Manner,
    seed::micros,
};

/// How long it waits for an answer before it becomes rude, in microseconds.
const PATIENCE: u64 = 300_000;

impl Rude {
    /// What is odd about its JoinGroup.
    pub(super) fn distort(&mut self, cx: &Cx<'_>, request: &mut JoinRequest) {
        match self.manner {
            Manner::RejoinsParked | Manner::HangsUp | Manner::LeavesParked => {
                self.act_at = cx.now + PATIENCE;
            }
            Manner::ChangesMind => {
                request.protocols[0].metadata = subscription(&self.topic, Some(self.round));
            }
            Manner::Disagrees => request.protocols[0].name = "sticky".into(),
            Manner::OddSession => {
                self.round += 1;
                let is_odd = self.round % 2 == 1;
                request.session_timeout =
                    if is_odd { Duration::from_secs(1) } else { Duration::from_hours(2) };
            }
            _ => {}
        }
    }

    /// It has waited long enough for the answer to its JoinGroup.
    pub(super) fn while_parked(&mut self, cx: &mut Cx<'_>) {
        if self.member_id.is_empty() {
            return;
        }
        match self.manner {
            Manner::RejoinsParked => {
                cx.record.tell(cx.name, || "joins again while it waits".to_owned());
                self.join(cx);
            }
            Manner::HangsUp => {
                cx.record.tell(cx.name, || "hangs up while it waits".to_owned());
                cx.record.reach(Milestone::ParkedJoinAbandoned);
                self.hang_up(cx);
                self.rpc.start_at(cx.now + self.every);
                self.again(cx, self.every);
            }
            Manner::LeavesParked => {
                cx.record.tell(cx.name, || "leaves while it waits".to_owned());
                self.leave(cx);
            }
            _ => {}
        }
    }

    /// Whether an answer to its JoinGroup is only that a later one of its own has taken its place.
    pub(super) fn is_superseded(&self, cx: &mut Cx<'_>, error: ErrorCode) -> bool {
        let is_it = error == ErrorCode::RebalanceInProgress && self.rpc.is_due(Call::Join);
        if is_it {
            cx.record.reach(Milestone::ParkedJoinSuperseded);
        }
        is_it
    }

    /// It is told its member id.
    pub(super) fn given_an_id(&mut self, cx: &mut Cx<'_>, id: MemberId) {
        if self.manner == Manner::NeverReturns {
            cx.record.tell(cx.name, || "does not come back with its member id".to_owned());
            cx.record.reach(Milestone::MemberIdWasted);
            return self.anew(cx);
        }
        self.member_id = id;
        self.again(cx, 0);
    }

    /// A generation has begun, and it is in it.
    pub(super) fn in_generation(&mut self, cx: &mut Cx<'_>, joined: &JoinResponse) {
        match self.manner {
            Manner::NeverSyncs => {
                cx.record.tell(cx.name, || "does not sync".to_owned());
            }
            Manner::ChangesMind if self.marked.is_none() => {
                cx.record.tell(cx.name, || "changes its subscription".to_owned());
                self.round += 1;
                self.marked = Some(self.generation);
                self.join(cx);
            }
            Manner::ChangesMind => {
                if self.marked.take().is_some_and(|before| before < self.generation) {
                    cx.record.reach(Milestone::SubscriptionChanged);
                }
                self.sync(cx, joined);
            }
            _ => self.sync(cx, joined),
        }
    }

    /// It knows its assignment.
    pub(super) fn assigned(&mut self) {
        if self.manner == Manner::WakesLate {
            self.heartbeat_at = u64::MAX;
        }
    }

    /// It has been a member for a while.
    pub(super) fn as_member(&mut self, cx: &mut Cx<'_>) {
        match self.manner {
            Manner::NeverRejoins | Manner::NeverSyncs => {}
            Manner::ChangesMind => self.again(cx, 0),
            Manner::WakesLate => self.act_as_of_old(cx),
            Manner::LivesInThePast => {
                self.generation -= 1;
                self.act_as_of_old(cx);
            }
            _ => {
                self.leave(cx);
                self.anew(cx);
            }
        }
    }

    /// Does all that a member of the generation it believes in does, as if no time had passed.
    fn act_as_of_old(&mut self, cx: &mut Cx<'_>) {
        let generation = self.generation;
        cx.record.tell(cx.name, || format!("wakes and acts as of generation {generation}"));
        self.round += 1;
        if self.owned.is_empty() {
            self.owned.push(TopicPartition::new(self.topic.as_str(), 0));
        }
        let commit = |partition: &TopicPartition| CommitOffset {
            partition: partition.clone(),
            offset: i64::from(self.round),
            leader_epoch: -1,
            metadata: cx.lens.next_write(),
        };
        let request = OffsetCommitRequest {
            group: self.group.clone(),
            generation,
            member_id: self.member_id.clone(),
            instance: None,
            offsets: self.owned.iter().map(commit).collect(),
            retention_ms: None,
        };
        if !self.has_transactions {
            self.rpc.call(cx, Call::Commit, Request::OffsetCommit(request), REQUEST_TIMEOUT);
        }
        self.call_heartbeat(cx);
        self.call_sync(cx, Some("range".into()), Vec::new());
        self.anew(cx);
    }

    /// Its late commit is answered.
    pub(super) fn committed(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        if matches!(error, ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId) {
            cx.record.reach(Milestone::LateCommitRefused);
        }
    }

    /// Whether it goes on as if nothing had been said to its heartbeat.
    pub(super) fn shrugs_off(&mut self, cx: &mut Cx<'_>, error: ErrorCode) -> bool {
        match (self.manner, error) {
            (Manner::NeverRejoins, ErrorCode::RebalanceInProgress) => {
                if self.marked.replace(self.generation).is_none() {
                    cx.record.tell(cx.name, || "does not rejoin".to_owned());
                }
                true
            }
            (Manner::NeverRejoins, ErrorCode::UnknownMemberId) if self.marked.is_some() => {
                cx.record.reach(Milestone::StragglerRemoved);
                false
            }
            (Manner::NeverSyncs, ErrorCode::UnknownMemberId)
                if cx.now - self.begun_at >= micros(self.rebalance) =>
            {
                cx.record.reach(Milestone::UnsyncedRemoved);
                false
            }
            _ => false,
        }
    }

    fn leave(&mut self, cx: &mut Cx<'_>) {
        if self.rpc.coordinator().is_none() {
            return;
        }
        let member = LeaveIdentity { member_id: self.member_id.clone(), instance: None };
        let request = LeaveRequest { group: self.group.clone(), members: vec![member] };
        self.rpc.call(cx, Call::Leave, Request::LeaveGroup(request), REQUEST_TIMEOUT);
    }

    /// Its LeaveGroup is answered.
    pub(super) fn left(&mut self, cx: &mut Cx<'_>, it: &LeaveResponse) {
        let gone = it.members.first().is_some_and(|it| it.error.is_none());
        if self.manner == Manner::LeavesParked && gone && self.place != Place::In {
            cx.record.reach(Milestone::LeftWhileParked);
        }
        if self.place == Place::Joining && !self.rpc.is_due(Call::Join) {
            self.again(cx, BACKOFF);
        }
    }
}
