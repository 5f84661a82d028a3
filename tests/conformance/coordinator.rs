//! The least that groups need around them: a map that says which exist, a clock, offsets.
//!
//! It always owns everything; there is no gate, no loading and no failing store.

use std::{cell::Cell, collections::BTreeMap, mem, time::Duration};

use kaas_coordinator::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveRequest, LeaveResponse,
        LeftMember, SyncRequest, SyncResponse,
    },
    config::GroupConfig,
    group::{self, Context, Group, Reply, State, Ticket},
    ids::{GroupId, InstanceId, MemberId, TopicPartition},
    ports::Instant,
};
use serde_json::{Value, json};

use crate::{
    offsets::{Offsets, Stored},
    requests::{join_json, partition_key, sync_json},
};

/// Limits of offsets.
pub(crate) struct Limits {
    pub(crate) metadata_max: usize,
    pub(crate) retention: Duration,
}

/// Who commits.
pub(crate) struct Sender {
    pub(crate) generation: i32,
    pub(crate) member_id: MemberId,
    pub(crate) instance: Option<InstanceId>,
    pub(crate) keep: Option<Duration>,
}

type Verdicts = Vec<(TopicPartition, ErrorCode)>;

/// A coordinator of everything.
pub(crate) struct Coordinator {
    now: Instant,
    config: GroupConfig,
    limits: Limits,
    groups: BTreeMap<GroupId, Group>,
    offsets: BTreeMap<GroupId, Offsets>,
    commits: u64,
    random: Cell<u128>,
    replies: Vec<Reply>,
}

impl Coordinator {
    pub(crate) fn new(config: GroupConfig, limits: Limits) -> Self {
        Self {
            now: Instant::from_millis(1_000_000),
            config,
            limits,
            groups: BTreeMap::new(),
            offsets: BTreeMap::new(),
            commits: 0,
            random: Cell::new(0),
            replies: Vec::new(),
        }
    }

    pub(crate) fn configure(&mut self, change: impl FnOnce(&mut GroupConfig, &mut Limits)) {
        change(&mut self.config, &mut self.limits);
    }

    pub(crate) fn take_replies(&mut self) -> Vec<(Ticket, Value)> {
        let json = |reply| match reply {
            Reply::Join(ticket, response) => (ticket, join_json(&response)),
            Reply::Sync(ticket, response) => (ticket, sync_json(&response)),
        };
        mem::take(&mut self.replies).into_iter().map(json).collect()
    }

    /// Lets `call` act on the group, if it exists.
    fn with<T>(
        &mut self,
        id: &GroupId,
        call: impl FnOnce(&mut Group, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let group = self.groups.get_mut(id)?;
        let mut notes = Vec::new();
        let random = || {
            self.random.set(self.random.get() + 1);
            self.random.get().wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        };
        let mut cx = Context {
            now: self.now,
            config: &self.config,
            random: &random,
            replies: &mut self.replies,
            notes: &mut notes,
        };
        let result = call(group, &mut cx);
        let parked_is_bounded = group.parked() <= group.members();
        assert!(parked_is_bounded, "a member has at most one request parked");
        Some(result)
    }

    fn create(&mut self, id: &GroupId) {
        let new = || Group::new(id.clone(), None);
        self.groups.entry(id.clone()).or_insert_with(new);
    }

    pub(crate) fn join(&mut self, request: &JoinRequest, ticket: Ticket) {
        let refusal = if request.group.is_empty() {
            Some(ErrorCode::InvalidGroupId)
        } else if self.groups.contains_key(&request.group) {
            None
        } else {
            group::refusal_if_absent(request, &self.config)
        };
        if let Some(error) = refusal {
            let response = JoinResponse::refused(error, request.member_id.clone());
            return self.replies.push(Reply::Join(ticket, response));
        }
        self.create(&request.group);
        self.with(&request.group, |group, cx| group.join(cx, request, ticket));
    }

    pub(crate) fn sync(&mut self, request: &SyncRequest, ticket: Ticket) {
        let refusal = if request.group.is_empty() {
            Some(ErrorCode::InvalidGroupId)
        } else {
            group::refusal_before_gate(request)
        };
        let refuse = |error| Reply::Sync(ticket, SyncResponse::refused(error));
        if let Some(error) = refusal {
            return self.replies.push(refuse(error));
        }
        if self.with(&request.group, |group, cx| group.sync(cx, request, ticket)).is_none() {
            self.replies.push(refuse(ErrorCode::UnknownMemberId));
        }
    }

    pub(crate) fn heartbeat(&mut self, request: &HeartbeatRequest) -> ErrorCode {
        if request.group.is_empty() {
            return ErrorCode::InvalidGroupId;
        }
        let verdict = self.with(&request.group, |group, cx| group.heartbeat(cx, request));
        verdict.unwrap_or(ErrorCode::UnknownMemberId)
    }

    pub(crate) fn leave(&mut self, request: &LeaveRequest) -> LeaveResponse {
        if request.group.is_empty() {
            return LeaveResponse::refused(ErrorCode::InvalidGroupId);
        }
        let unknown = |leaver: &kaas_coordinator::api::LeaveIdentity| LeftMember {
            member_id: leaver.member_id.clone(),
            instance: leaver.instance.clone(),
            error: ErrorCode::UnknownMemberId,
        };
        self.with(&request.group, |group, cx| group.leave(cx, request)).unwrap_or_else(|| {
            let members = request.members.iter().map(unknown).collect();
            LeaveResponse { error: ErrorCode::None, members }
        })
    }

    pub(crate) fn commit(
        &mut self,
        id: &GroupId,
        sender: &Sender,
        offsets: &[(TopicPartition, Stored)],
    ) -> Verdicts {
        if sender.generation < 0 {
            self.create(id);
        }
        let verdict = self.with(id, |group, cx| {
            group.check_commit(cx, sender.generation, &sender.member_id, sender.instance.as_ref())
        });
        let verdict = verdict.unwrap_or(Err(ErrorCode::IllegalGeneration));
        self.store(id, sender, offsets, verdict, Offsets::commit)
    }

    pub(crate) fn txn_commit(
        &mut self,
        id: &GroupId,
        producer: i64,
        sender: &Sender,
        offsets: &[(TopicPartition, Stored)],
    ) -> Verdicts {
        if id.is_empty() {
            let refused = |(tp, _): &(TopicPartition, _)| (tp.clone(), ErrorCode::InvalidGroupId);
            return offsets.iter().map(refused).collect();
        }
        self.create(id);
        let verdict = self.groups[id].check_txn_commit(
            sender.generation,
            &sender.member_id,
            sender.instance.as_ref(),
        );
        self.store(id, sender, offsets, verdict, |store, tp, stored| {
            store.commit_pending(producer, tp, stored);
        })
    }

    fn store(
        &mut self,
        id: &GroupId,
        sender: &Sender,
        offsets: &[(TopicPartition, Stored)],
        verdict: Result<(), ErrorCode>,
        put: impl Fn(&mut Offsets, TopicPartition, Stored),
    ) -> Verdicts {
        let mut verdicts = Vec::new();
        for (tp, stored) in offsets {
            let verdict = verdict.and_then(|()| {
                let length = stored.metadata.encode_utf16().count();
                if length > self.limits.metadata_max {
                    return Err(ErrorCode::OffsetMetadataTooLarge);
                }
                self.commits += 1;
                let mut stored = stored.clone();
                stored.stamp(self.now, sender.keep, self.commits);
                put(self.offsets.entry(id.clone()).or_default(), tp.clone(), stored);
                Ok(())
            });
            verdicts.push((tp.clone(), verdict.err().unwrap_or(ErrorCode::None)));
        }
        verdicts
    }

    pub(crate) fn end_txn(&mut self, producer: i64, commit: bool) {
        self.offsets.values_mut().for_each(|offsets| offsets.end(producer, commit));
    }

    pub(crate) fn fetch(
        &self,
        id: &GroupId,
        asked: Option<Vec<TopicPartition>>,
        require_stable: bool,
    ) -> Value {
        let none = Offsets::default();
        let offsets = self.offsets.get(id).unwrap_or(&none);
        let asked =
            asked.unwrap_or_else(|| offsets.committed().map(|(tp, _)| tp.clone()).collect());
        let answer = |tp: &TopicPartition| {
            let unstable = require_stable && offsets.is_unstable(tp);
            let stored = offsets.get(tp).filter(|_| !unstable);
            json!({
                "offset": stored.map_or(-1, |stored| stored.offset),
                "leader_epoch": stored.map_or(-1, |stored| stored.leader_epoch),
                "metadata": stored.map_or("", |stored| stored.metadata.as_str()),
                "error": if unstable { "UNSTABLE_OFFSET_COMMIT" } else { "NONE" },
            })
        };
        Value::Object(asked.iter().map(|tp| (partition_key(tp), answer(tp))).collect())
    }

    pub(crate) fn offset_delete(
        &mut self,
        id: &GroupId,
        partitions: &[TopicPartition],
    ) -> Result<Verdicts, ErrorCode> {
        if id.is_empty() {
            return Err(ErrorCode::InvalidGroupId);
        }
        let group = self.groups.get(id).ok_or(ErrorCode::GroupIdNotFound)?;
        let empty = group.state() == State::Empty;
        let consumers = group.protocol_type().is_some_and(|kind| &**kind == "consumer");
        if !empty && !consumers {
            return Err(ErrorCode::NonEmptyGroup);
        }
        let mut verdicts = Vec::new();
        for tp in partitions {
            if !empty && group.is_subscribed(&tp.topic).unwrap_or(true) {
                verdicts.push((tp.clone(), ErrorCode::GroupSubscribedToTopic));
                continue;
            }
            if let Some(offsets) = self.offsets.get_mut(id) {
                offsets.remove(tp);
            }
            verdicts.push((tp.clone(), ErrorCode::None));
        }
        self.remove_if_useless(id);
        Ok(verdicts)
    }

    pub(crate) fn delete(&mut self, id: &GroupId) -> ErrorCode {
        match self.with(id, |group, cx| group.delete(cx)) {
            Some(Ok(())) => {
                self.groups.remove(id);
                self.offsets.remove(id);
                ErrorCode::None
            }
            Some(Err(error)) => error,
            None => ErrorCode::GroupIdNotFound,
        }
    }

    pub(crate) fn delete_topic(&mut self, topic: &str) {
        self.offsets.values_mut().for_each(|offsets| offsets.remove_topic(topic));
        self.remove_useless();
    }

    /// The retention task.
    pub(crate) fn sweep(&mut self) {
        let (now, retention) = (self.now, self.limits.retention);
        for (id, group) in &self.groups {
            let Some(offsets) = self.offsets.get_mut(id) else { continue };
            let kind = group.protocol_type().map(|kind| &**kind);
            let base = |stored: &Stored| match (kind, group.state()) {
                (None, _) => Some(stored.committed_at),
                (_, State::Empty) => Some(group.empty_since().unwrap_or(stored.committed_at)),
                (Some("consumer"), State::Stable) => Some(stored.committed_at),
                _ => None,
            };
            offsets.expire(|tp, stored| {
                let Some(base) = base(stored) else { return false };
                let stable = group.state() == State::Stable;
                if stable && group.is_subscribed(&tp.topic).unwrap_or(true) {
                    return false;
                }
                match stored.keep_until {
                    Some(until) => now >= until,
                    None => now.since(base) >= retention,
                }
            });
        }
        self.remove_useless();
    }

    fn remove_useless(&mut self) {
        let ids: Vec<_> = self.groups.keys().cloned().collect();
        ids.iter().for_each(|id| self.remove_if_useless(id));
    }

    fn remove_if_useless(&mut self, id: &GroupId) {
        let useless = self.offsets.get(id).is_none_or(Offsets::is_empty);
        if useless && self.groups.get(id).is_some_and(|group| group.state() == State::Empty) {
            self.groups.remove(id);
            self.offsets.remove(id);
        }
    }

    /// Another broker takes over.
    pub(crate) fn resign(&mut self) {
        let ids: Vec<_> = self.groups.keys().cloned().collect();
        for id in &ids {
            self.with(id, |group, cx| group.dissolve(cx));
        }
        self.groups.clear();
    }

    /// This broker takes over what was stored.
    pub(crate) fn load(&mut self) {
        self.offsets.retain(|_, offsets| !offsets.is_empty());
        let ids: Vec<_> = self.offsets.keys().cloned().collect();
        ids.iter().for_each(|id| self.create(id));
    }

    pub(crate) fn describe(&self, id: &GroupId) -> Value {
        let Some(group) = self.groups.get(id) else {
            return json!({"error": "NONE", "state": "Dead", "protocol_type": "", "protocol": "",
                "members": [], "assignments": {}});
        };
        let description = group.describe();
        let members = description.members.iter();
        let ids: Vec<_> = members.clone().map(|member| member.member_id.as_str()).collect();
        let assignments: serde_json::Map<_, _> = members
            .filter(|member| !member.assignment.is_empty())
            .map(|member| {
                let assignment = String::from_utf8_lossy(&member.assignment);
                (member.member_id.to_string(), assignment.into())
            })
            .collect();
        json!({
            "error": description.error.name(),
            "state": description.state,
            "protocol_type": &*description.protocol_type,
            "protocol": &*description.protocol,
            "members": ids,
            "assignments": assignments,
        })
    }

    pub(crate) fn list(&self, states: &Value) -> Value {
        let states = states.as_array().expect("states");
        let listed = self.groups.values().map(Group::list);
        let wanted =
            listed.filter(|group| states.is_empty() || states.iter().any(|s| s == group.state));
        let json = wanted.map(|group| {
            json!({"id": group.group.as_str(), "state": group.state,
                "protocol_type": &*group.protocol_type})
        });
        json.collect()
    }

    /// Moves the clock, and looks again exactly when a group asks for it.
    pub(crate) fn advance(&mut self, by: Duration) {
        let target = self.now + by;
        loop {
            let next = self.groups.values().filter_map(Group::deadline).min();
            let Some(next) = next.filter(|next| *next <= target) else { break };
            self.now = next.max(self.now);
            let due = |group: &Group| group.deadline().is_some_and(|at| at <= next);
            let ids: Vec<_> =
                self.groups.values().filter(|group| due(group)).map(|g| g.id().clone()).collect();
            for id in &ids {
                self.with(id, |group, cx| group.tick(cx));
            }
        }
        self.now = target;
    }

    pub(crate) fn group_summary(&self, id: &str) -> Value {
        let Some(group) = self.groups.get(id) else { return json!({"absent": true}) };
        json!({
            "absent": false,
            "state": group.state().name(),
            "generation": group.generation(),
            "members": group.member_ids().map(MemberId::as_str).collect::<Vec<_>>(),
            "leader": group.leader().map(MemberId::as_str),
            "pending_members": group.pending_members(),
            "protocol": group.protocol().map(|name| &**name),
            "protocol_type": group.protocol_type().map(|kind| &**kind),
        })
    }

    /// What a client could fetch; nothing while the group is nobody's.
    pub(crate) fn committed(&self, id: &str) -> Value {
        let offsets = self.offsets.get(id).filter(|_| self.groups.contains_key(id));
        let committed = offsets.into_iter().flat_map(Offsets::committed);
        committed.map(|(tp, stored)| (partition_key(tp), Value::from(stored.offset))).collect()
    }
}
