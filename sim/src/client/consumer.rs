//! A member of a group, dynamic or static; reacts to every error as Kafka's Java client does.
//!
//! It joins, syncs, fetches the committed offsets of its partitions, then commits progress and
//! heartbeats, until something tells it to rejoin. Every commit is one that can be told from all
//! others: its metadata names it. Its process may die and be replaced (`process.rs`).

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "as in the Java client, every error that has no rule of its own ends the application"
)]

use std::{sync::Arc, time::Duration};

use kaas_coordinator::{
    api::{
        CommitOffset, ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveIdentity,
        LeaveRequest, OffsetCommitRequest, OffsetFetchRequest, Protocol, Request, Response,
        SyncRequest,
    },
    ids::{GroupId, InstanceId, MemberId, TopicPartition},
};

mod process;
mod reactions;
mod transactions;

pub use process::RESTART;

use super::{
    BACKOFF, Cx, REQUEST_TIMEOUT,
    assignor::{assign, subscription},
    rpc::{Answered, Rpc},
};
use crate::{plan::Clients, seed::micros};

use self::transactions::Transactions;

/// See the [module](self).
#[derive(Debug)]
pub struct Consumer {
    group: GroupId,
    /// All partitions of its topic, `topic/n`.
    partitions: Arc<[String]>,
    topic: String,
    settings: Settings,
    rpc: Rpc<Call>,
    phase: Phase,
    /// Set if it is static.
    instance: Option<InstanceId>,
    /// Which errors that end its process are another's fault: then a supervisor starts it again.
    excused: Vec<ErrorCode>,
    /// Whether it is a second process of a static member.
    is_duplicate: bool,
    /// Whether it was told that another has its instance id.
    is_fenced: bool,
    /// Whether its coordinator has answered it last, rather than not.
    is_heard: bool,
    member_id: MemberId,
    generation: i32,
    /// The member id of the last heartbeat.
    beats_as: MemberId,
    /// What it owns and how far it has come.
    owned: Vec<(TopicPartition, i64)>,
    /// When it joins again; `u64::MAX` if it is not about to.
    join_at: u64,
    heartbeat_at: u64,
    commit_at: u64,
    fetch_at: u64,
    /// When its supervisor starts it again.
    restart_at: u64,
    /// Set if it commits in transactions.
    transactions: Option<Transactions>,
}

#[derive(Clone, Copy, Debug)]
struct Settings {
    commit_every: u64,
    heartbeat: u64,
    session: Duration,
    rebalance: Duration,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Join,
    Sync,
    Heartbeat,
    Commit,
    CommitInTxn,
    Fetch,
    Leave,
}

/// Where a consumer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Has no assignment and is about to join.
    Out,
    /// Waits for the answer to its JoinGroup.
    Joining,
    /// Waits for the answer to its SyncGroup.
    Syncing,
    /// Has an assignment, and does not yet know where to begin.
    Fetching,
    /// Consumes.
    Consuming,
    /// Met an error that ends an application.
    Failed(ErrorCode),
    /// There is no process.
    Down,
    /// Has left for good.
    Gone,
}

impl Consumer {
    /// A dynamic consumer of the group `spec`, client `number`, which starts at `start`.
    pub fn new(
        spec: &Clients,
        client: &str,
        partitions: Arc<[String]>,
        number: usize,
        start: u64,
    ) -> Self {
        let Clients::Group {
            name,
            topic,
            commit_every,
            session,
            rebalance,
            heartbeat,
            transactions,
            ..
        } = spec
        else {
            unreachable!("only groups have consumers")
        };
        let transactions =
            transactions.map(|timeout| Transactions::new(client, timeout, number + 1, start));
        let settings = Settings {
            commit_every: micros(*commit_every),
            heartbeat: micros(*heartbeat),
            session: *session,
            rebalance: *rebalance,
        };
        let mut rpc = Rpc::new(name, number);
        rpc.start_at(start);
        Self {
            group: name.as_str().into(),
            partitions,
            topic: topic.clone(),
            settings,
            rpc,
            phase: Phase::Out,
            instance: None,
            excused: Vec::new(),
            is_duplicate: false,
            is_fenced: false,
            is_heard: false,
            member_id: "".into(),
            generation: -1,
            beats_as: "".into(),
            owned: Vec::new(),
            join_at: start,
            heartbeat_at: u64::MAX,
            commit_at: u64::MAX,
            fetch_at: u64::MAX,
            restart_at: u64::MAX,
            transactions,
        }
    }

    /// Where it is.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Its group.
    pub fn group(&self) -> &GroupId {
        &self.group
    }

    /// Whether its coordinator has answered what it asked last.
    pub fn is_heard(&self) -> bool {
        self.is_heard
    }

    /// Its generation.
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// What it owns, `topic/n`.
    pub fn owned(&self) -> impl Iterator<Item = String> {
        self.owned.iter().map(|(partition, _)| partition.to_string())
    }

    /// All partitions of its topic.
    pub fn partitions(&self) -> &Arc<[String]> {
        &self.partitions
    }

    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        self.supervise(cx);
        for late in self.rpc.tick(cx) {
            self.unanswered(cx, late);
        }
        self.tick_transactions(cx);
        self.go_on(cx);
    }

    /// Does what is due, as far as the coordinator is known.
    fn go_on(&mut self, cx: &mut Cx<'_>) {
        self.go_on_in_transaction(cx);
        if self.rpc.coordinator().is_none() {
            return;
        }
        if self.join_at <= cx.now && self.phase == Phase::Out {
            self.join(cx);
        }
        if self.heartbeat_at <= cx.now && self.is_member() {
            self.heartbeat(cx);
        }
        if self.fetch_at <= cx.now && self.phase == Phase::Fetching {
            self.fetch(cx);
        }
        let is_plain = self.transactions.is_none();
        if self.commit_at <= cx.now && self.phase == Phase::Consuming && is_plain {
            self.commit(cx);
        }
    }

    fn is_member(&self) -> bool {
        matches!(self.phase, Phase::Syncing | Phase::Fetching | Phase::Consuming)
    }

    fn join(&mut self, cx: &mut Cx<'_>) {
        self.join_at = u64::MAX;
        self.phase = Phase::Joining;
        let request = JoinRequest {
            group: self.group.clone(),
            member_id: self.member_id.clone(),
            instance: self.instance.clone(),
            // Members of one application often share a client id. In a scenario they don't: there
            // the order of member ids must be that of the names.
            client_id: if cx.is_fixed { Arc::clone(cx.name) } else { self.group.shared() },
            session_timeout: self.settings.session,
            rebalance_timeout: self.settings.rebalance,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol {
                name: "range".into(),
                metadata: subscription(&self.topic, None),
            }],
            version: 9,
            reason: None,
        };
        let timeout = micros(self.settings.rebalance).max(REQUEST_TIMEOUT) + 5_000_000;
        self.rpc.call(cx, Call::Join, Request::JoinGroup(request), timeout);
    }

    /// Gives up its partitions and joins again, at once or after a while.
    fn rejoin(&mut self, cx: &Cx<'_>, after: u64) {
        self.give_up_transaction(cx.now);
        self.owned.clear();
        self.phase = Phase::Out;
        self.join_at = cx.now.saturating_add(after);
        self.heartbeat_at = u64::MAX;
        self.commit_at = u64::MAX;
        self.fetch_at = u64::MAX;
    }

    fn forget_member(&mut self) {
        self.member_id = "".into();
        self.generation = -1;
    }

    fn sync(&mut self, cx: &mut Cx<'_>, joined: &JoinResponse) {
        self.phase = Phase::Syncing;
        // A restarted leader whose group goes on must not assign anew (KIP-814).
        let assignments = match joined.leader == self.member_id && !joined.skip_assignment {
            true => assign(&self.partitions, joined),
            false => Vec::new(),
        };
        let request = SyncRequest {
            group: self.group.clone(),
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance: self.instance.clone(),
            protocol_type: Some("consumer".into()),
            protocol_name: joined.protocol.clone(),
            assignments,
            version: 5,
        };
        let timeout = micros(self.settings.rebalance).max(REQUEST_TIMEOUT) + 5_000_000;
        self.rpc.call(cx, Call::Sync, Request::SyncGroup(request), timeout);
    }

    fn heartbeat(&mut self, cx: &mut Cx<'_>) {
        self.heartbeat_at = cx.now + self.settings.heartbeat;
        if self.rpc.is_due(Call::Heartbeat) {
            return;
        }
        let request = HeartbeatRequest {
            group: self.group.clone(),
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance: self.instance.clone(),
        };
        self.beats_as = self.member_id.clone();
        self.rpc.call(cx, Call::Heartbeat, Request::Heartbeat(request), REQUEST_TIMEOUT);
    }

    fn fetch(&mut self, cx: &mut Cx<'_>) {
        self.fetch_at = u64::MAX;
        let partitions = self.owned.iter().map(|(partition, _)| partition.clone()).collect();
        let request = OffsetFetchRequest {
            group: self.group.clone(),
            partitions: Some(partitions),
            require_stable: true,
        };
        self.rpc.call(cx, Call::Fetch, Request::OffsetFetch(request), REQUEST_TIMEOUT);
    }

    /// Commits how far it has come; every attempt is a write of its own.
    fn commit(&mut self, cx: &mut Cx<'_>) {
        self.commit_at = u64::MAX;
        if self.owned.is_empty() || self.rpc.is_due(Call::Commit) {
            self.commit_at = cx.now + self.settings.commit_every;
            return;
        }
        let mut offsets = Vec::with_capacity(self.owned.len());
        for (partition, position) in &mut self.owned {
            let progress = if cx.is_fixed { 1 } else { 1 + cx.stream.below(10) };
            *position += i64::try_from(progress).expect("a small number");
            offsets.push(CommitOffset {
                partition: partition.clone(),
                offset: *position,
                leader_epoch: -1,
                metadata: cx.lens.next_write(),
            });
        }
        let request = OffsetCommitRequest {
            group: self.group.clone(),
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance: self.instance.clone(),
            offsets,
            retention_ms: None,
        };
        self.rpc.call(cx, Call::Commit, Request::OffsetCommit(request), REQUEST_TIMEOUT);
    }

    /// Leaves for good. A static member does not tell anybody: it may come back.
    pub fn leave(&mut self, cx: &mut Cx<'_>) {
        self.say_goodbye(cx);
        self.rejoin(cx, 0);
        self.join_at = u64::MAX;
        self.phase = Phase::Gone;
        self.go_on_in_transaction(cx);
        cx.record.tell(cx.name, || "leaves".to_owned());
    }

    /// As a consumer does when it closes, unless it is static.
    fn say_goodbye(&mut self, cx: &mut Cx<'_>) {
        let has_joined = self.phase != Phase::Out && !self.member_id.is_empty();
        if self.instance.is_none() && has_joined && self.rpc.coordinator().is_some() {
            let member = LeaveIdentity { member_id: self.member_id.clone(), instance: None };
            let request = LeaveRequest { group: self.group.clone(), members: vec![member] };
            self.rpc.call(cx, Call::Leave, Request::LeaveGroup(request), REQUEST_TIMEOUT);
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &mut Cx<'_>, request: u64, response: Response) {
        if self.answered_in_transaction(cx, request, &response) {
            return;
        }
        match self.rpc.answered(cx, request, response) {
            Answered::Stale => {}
            Answered::Find => self.go_on(cx),
            Answered::For(call, response) => self.take(cx, call, response),
        }
    }

    fn take(&mut self, cx: &mut Cx<'_>, call: Call, response: Response) {
        self.is_heard = true;
        match (call, response) {
            (Call::Join, Response::JoinGroup(it)) if self.phase == Phase::Joining => {
                self.joined(cx, &it);
            }
            (Call::Sync, Response::SyncGroup(it)) if self.phase == Phase::Syncing => {
                self.synced(cx, &it);
            }
            (Call::Heartbeat, Response::Heartbeat(error)) if self.is_member() => {
                // That another took its place is of no interest if it has a new one since.
                let is_old = self.beats_as != self.member_id;
                if error != ErrorCode::FencedInstanceId || !is_old {
                    self.beaten(cx, error);
                }
            }
            (Call::Commit, Response::OffsetCommit(partitions))
                if self.phase == Phase::Consuming =>
            {
                let error = partitions.iter().map(|(_, error)| *error).find(|it| !it.is_none());
                self.committed(cx, error.unwrap_or(ErrorCode::None));
            }
            (Call::CommitInTxn, Response::TxnOffsetCommit(partitions)) => {
                let error = partitions.iter().map(|(_, error)| *error).find(|it| !it.is_none());
                self.committed_in_transaction(cx, error.unwrap_or(ErrorCode::None));
            }
            (Call::Fetch, Response::OffsetFetch(it)) if self.phase == Phase::Fetching => {
                self.fetched(cx, &it);
            }
            // What comes after a change of phase is about a generation that is over.
            _ => {}
        }
        self.go_on(cx);
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, cx: &mut Cx<'_>, request: u64) {
        if self.lost_in_transaction(cx, request) {
            return;
        }
        if let Some(call) = self.rpc.lost(cx, request) {
            self.unanswered(cx, call);
        }
    }

    fn unanswered(&mut self, cx: &mut Cx<'_>, call: Call) {
        self.is_heard = false;
        let what = match call {
            Call::Join if self.phase == Phase::Joining => {
                self.rejoin(cx, BACKOFF);
                "join"
            }
            Call::Sync if self.phase == Phase::Syncing => {
                self.rejoin(cx, BACKOFF);
                "sync"
            }
            Call::Fetch if self.phase == Phase::Fetching => {
                self.fetch_at = cx.now + BACKOFF;
                "fetch"
            }
            Call::Commit if self.phase == Phase::Consuming => {
                self.commit_at = cx.now + BACKOFF;
                "commit"
            }
            Call::CommitInTxn if self.commit_in_transaction_unanswered(cx.now) => {
                "transactional commit"
            }
            Call::Heartbeat => "heartbeat",
            Call::CommitInTxn
            | Call::Join
            | Call::Sync
            | Call::Fetch
            | Call::Commit
            | Call::Leave => return,
        };
        cx.record.unanswered(cx.name, what);
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        let own = match (self.rpc.coordinator(), self.phase) {
            (_, Phase::Failed(_)) => return self.restart_at,
            (_, Phase::Down | Phase::Gone) => return u64::MAX,
            (None, _) | (Some(_), Phase::Joining) => u64::MAX,
            (Some(_), Phase::Out) => self.join_at,
            (Some(_), Phase::Syncing) => self.heartbeat_at,
            (Some(_), Phase::Fetching) => self.heartbeat_at.min(self.fetch_at),
            (Some(_), Phase::Consuming) if self.transactions.is_some() => self.heartbeat_at,
            (Some(_), Phase::Consuming) => self.heartbeat_at.min(self.commit_at),
        };
        own.min(self.next_wake_in_transaction()).min(self.rpc.next_wake())
    }
}
