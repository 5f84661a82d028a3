//! What a consumer does about each answer; the errors are those of the Java client's table.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "as in the Java client, every error that has no rule of its own ends the application"
)]

use kaas_coordinator::{
    api::{ErrorCode, JoinResponse, OffsetFetchResponse, SyncResponse},
    ids::TopicPartition,
};

use super::{Consumer, Phase};
use crate::{
    client::{BACKOFF, Cx, assignor::decode_names},
    milestone::Milestone,
    trace,
};

impl Consumer {
    pub(super) fn joined(&mut self, cx: &mut Cx<'_>, it: &JoinResponse) {
        match it.error {
            ErrorCode::None => {
                self.member_id = it.member_id.clone();
                self.generation = it.generation;
                self.heartbeat_at = cx.now + self.settings.heartbeat;
                if self.rpc.coordinator().is_some() {
                    self.sync(cx, it);
                } else {
                    // Something else has failed meanwhile: it is found anew first.
                    self.rejoin(cx, BACKOFF);
                }
            }
            ErrorCode::MemberIdRequired => {
                self.member_id = it.member_id.clone();
                self.rejoin(cx, 0);
            }
            ErrorCode::UnknownMemberId => {
                self.forget_member();
                self.rejoin(cx, BACKOFF);
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.rpc.forget_coordinator(cx);
                self.rejoin(cx, 0);
            }
            ErrorCode::CoordinatorLoadInProgress | ErrorCode::RebalanceInProgress => {
                self.rejoin(cx, BACKOFF);
            }
            fatal => self.fail(cx, fatal),
        }
    }

    pub(super) fn synced(&mut self, cx: &mut Cx<'_>, it: &SyncResponse) {
        match it.error {
            ErrorCode::None => {
                let names = decode_names(&it.assignment);
                if names.is_empty() {
                    cx.record.tell(cx.name, || "assigned nothing".to_owned());
                }
                let parse = |name: &str| TopicPartition::parse(name).expect("a partition's name");
                self.owned = names.into_iter().map(|name| (parse(name), 0)).collect();
                self.phase = if self.owned.is_empty() { Phase::Consuming } else { Phase::Fetching };
                self.fetch_at = cx.now;
                self.commit_at = cx.now + self.settings.commit_every;
            }
            error => self.told_to_rejoin(cx, error),
        }
    }

    pub(super) fn beaten(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        match error {
            ErrorCode::None => {}
            ErrorCode::RebalanceInProgress if self.phase == Phase::Syncing => {}
            error => {
                // Another answer may have told it that the coordinator is gone.
                let can_commit = self.rpc.coordinator().is_some() && self.transactions.is_none();
                if error == ErrorCode::RebalanceInProgress && can_commit && cx.may() {
                    // Some applications commit once more before they give up their partitions.
                    cx.record.reach(Milestone::CommitBeforeRejoin);
                    self.commit(cx);
                }
                match error {
                    ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                        self.rpc.forget_coordinator(cx);
                    }
                    error => self.told_to_rejoin(cx, error),
                }
            }
        }
    }

    pub(super) fn committed(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        self.commit_at = cx.now + self.settings.commit_every;
        match error {
            ErrorCode::None => {}
            ErrorCode::NotCoordinator
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::RequestTimedOut => {
                self.rpc.forget_coordinator(cx);
                self.commit_at = cx.now + BACKOFF;
            }
            ErrorCode::CoordinatorLoadInProgress => {
                self.commit_at = cx.now + BACKOFF;
            }
            error => self.told_to_rejoin(cx, error),
        }
    }

    pub(super) fn fetched(&mut self, cx: &mut Cx<'_>, it: &OffsetFetchResponse) {
        let mut errors = it.partitions.iter().map(|it| it.error).filter(|it| !it.is_none());
        let error = if it.error.is_none() { errors.next() } else { Some(it.error) };
        match error {
            None => {
                let asked = it.partitions.iter().map(|it| &it.partition);
                if !asked.eq(self.owned.iter().map(|(partition, _)| partition)) {
                    // It was asked under an assignment that is over; this one's fetch is to come.
                    return;
                }
                for ((_, position), fetched) in self.owned.iter_mut().zip(&it.partitions) {
                    *position = fetched.offset.max(0);
                }
                self.phase = Phase::Consuming;
                let owned = self.owned.iter().map(|(it, at)| (it, *at));
                cx.record.tell(cx.name, || format!("consumes {}", trace::positions(owned, "from")));
            }
            Some(ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable) => {
                self.rpc.forget_coordinator(cx);
                self.fetch_at = cx.now + BACKOFF;
            }
            Some(ErrorCode::CoordinatorLoadInProgress | ErrorCode::UnstableOffsetCommit) => {
                self.fetch_at = cx.now + BACKOFF;
            }
            Some(fatal) => self.fail(cx, fatal),
        }
    }

    /// An error of SyncGroup, Heartbeat or OffsetCommit that ends the membership as it is.
    pub(super) fn told_to_rejoin(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        match error {
            ErrorCode::RebalanceInProgress => self.rejoin(cx, 0),
            ErrorCode::IllegalGeneration => {
                self.generation = -1;
                self.rejoin(cx, 0);
            }
            ErrorCode::UnknownMemberId => {
                self.forget_member();
                self.rejoin(cx, 0);
            }
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.rpc.forget_coordinator(cx);
                self.rejoin(cx, 0);
            }
            fatal => self.fail(cx, fatal),
        }
    }
}
