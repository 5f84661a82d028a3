//! A member that does not do what a member should.
//!
//! It finds its coordinator, joins, syncs and heartbeats as others do, but for its manner
//! (`manners.rs`), which it follows again and again until the faults end. As a leader it assigns
//! honestly: what a group makes of its leader's word is not the coordinator's to judge.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rude client begins anew after every error that it has no use for"
)]

use std::{sync::Arc, time::Duration};

use kaas_coordinator::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, Protocol, Request, Response,
        SyncRequest, SyncResponse,
    },
    ids::{GroupId, MemberId, TopicPartition},
};

use super::{
    BACKOFF, Cx, REQUEST_TIMEOUT, Send,
    assignor::{assign, decode_names, subscription},
    rpc::{Answered, Rpc},
};
use crate::{
    plan::{Clients, Manner},
    seed::micros,
};

mod manners;

/// See the [module](self).
#[derive(Debug)]
pub struct Rude {
    manner: Manner,
    every: u64,
    group: GroupId,
    topic: String,
    partitions: Arc<[String]>,
    session: Duration,
    rebalance: Duration,
    heartbeat: u64,
    /// Whether the others process in transactions: an offset of its own would be no rudeness but
    /// another outcome of theirs.
    has_transactions: bool,
    rpc: Rpc<Call>,
    place: Place,
    member_id: MemberId,
    generation: i32,
    owned: Vec<TopicPartition>,
    /// When its manner has it do the next thing.
    act_at: u64,
    heartbeat_at: u64,
    /// When its generation began.
    begun_at: u64,
    /// How often it has begun to be rude.
    round: i32,
    /// The generation in which its manner did something that shows later, if it did.
    marked: Option<i32>,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Join,
    Sync,
    Heartbeat,
    Commit,
    Leave,
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// About to join.
    Out,
    /// Waits for the answer to its JoinGroup.
    Joining,
    /// Knows its generation.
    Begun,
    /// Knows its assignment.
    In,
    /// Stays away for good.
    Over,
}

impl Rude {
    /// One that is rude to the group `spec` every so many microseconds, from `start` on.
    pub fn new(
        (manner, every): (Manner, u64),
        spec: &Clients,
        partitions: Arc<[String]>,
        number: usize,
        start: u64,
    ) -> Self {
        let Clients::Group { name, topic, session, rebalance, heartbeat, transactions, .. } = spec
        else {
            unreachable!("only groups have members")
        };
        let mut rpc = Rpc::new(name, number);
        rpc.start_at(start);
        Self {
            manner,
            every,
            group: name.as_str().into(),
            topic: topic.clone(),
            partitions,
            session: *session,
            rebalance: *rebalance,
            heartbeat: micros(*heartbeat),
            has_transactions: transactions.is_some(),
            rpc,
            place: Place::Out,
            member_id: "".into(),
            generation: -1,
            owned: Vec::new(),
            act_at: start,
            heartbeat_at: u64::MAX,
            begun_at: 0,
            round: 0,
            marked: None,
        }
    }

    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        for late in self.rpc.tick(cx) {
            self.unanswered(cx, late);
        }
        self.go_on(cx);
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) {
        if self.rpc.coordinator().is_none() {
            return;
        }
        if self.act_at <= cx.now {
            self.act_at = u64::MAX;
            match self.place {
                Place::Out => self.join(cx),
                Place::Joining => self.while_parked(cx),
                Place::Begun | Place::In => self.as_member(cx),
                Place::Over => {}
            }
        }
        if self.heartbeat_at <= cx.now && matches!(self.place, Place::Begun | Place::In) {
            self.beat(cx);
        }
    }

    fn join(&mut self, cx: &mut Cx<'_>) {
        self.place = Place::Joining;
        self.heartbeat_at = u64::MAX;
        let mut request = JoinRequest {
            group: self.group.clone(),
            member_id: self.member_id.clone(),
            instance: None,
            client_id: if cx.is_fixed { Arc::clone(cx.name) } else { self.group.shared() },
            session_timeout: self.session,
            rebalance_timeout: self.rebalance,
            protocol_type: "consumer".into(),
            protocols: vec![Protocol {
                name: "range".into(),
                metadata: subscription(&self.topic, None),
            }],
            version: 9,
            reason: None,
        };
        self.distort(cx, &mut request);
        let timeout = micros(self.rebalance).max(REQUEST_TIMEOUT) + 5_000_000;
        self.rpc.call(cx, Call::Join, Request::JoinGroup(request), timeout);
    }

    fn joined(&mut self, cx: &mut Cx<'_>, it: &JoinResponse) {
        match it.error {
            ErrorCode::None => {
                self.member_id = it.member_id.clone();
                self.generation = it.generation;
                if self.rpc.coordinator().is_none() {
                    return self.again(cx, BACKOFF);
                }
                self.place = Place::Begun;
                self.begun_at = cx.now;
                self.heartbeat_at = cx.now + self.heartbeat;
                self.in_generation(cx, it);
            }
            ErrorCode::MemberIdRequired => self.given_an_id(cx, it.member_id.clone()),
            error => self.refused(cx, error),
        }
    }

    fn sync(&mut self, cx: &mut Cx<'_>, joined: &JoinResponse) {
        let assignments = match joined.leader == self.member_id {
            true => assign(&self.partitions, joined),
            false => Vec::new(),
        };
        self.call_sync(cx, joined.protocol.clone(), assignments);
    }

    fn call_sync(
        &mut self,
        cx: &mut Cx<'_>,
        protocol_name: Option<Arc<str>>,
        assignments: Vec<(MemberId, Arc<[u8]>)>,
    ) {
        let request = SyncRequest {
            group: self.group.clone(),
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance: None,
            protocol_type: Some("consumer".into()),
            protocol_name,
            assignments,
            version: 5,
        };
        let timeout = micros(self.rebalance).max(REQUEST_TIMEOUT) + 5_000_000;
        self.rpc.call(cx, Call::Sync, Request::SyncGroup(request), timeout);
    }

    fn synced(&mut self, cx: &mut Cx<'_>, it: &SyncResponse) {
        if !it.error.is_none() {
            return self.refused(cx, it.error);
        }
        let parse = |name| TopicPartition::parse(name).expect("a partition's name");
        self.owned = decode_names(&it.assignment).into_iter().map(parse).collect();
        self.place = Place::In;
        self.act_at = cx.now + self.every;
        self.assigned();
    }

    fn beat(&mut self, cx: &mut Cx<'_>) {
        self.heartbeat_at = cx.now + self.heartbeat;
        if !self.rpc.is_due(Call::Heartbeat) {
            self.call_heartbeat(cx);
        }
    }

    fn call_heartbeat(&mut self, cx: &mut Cx<'_>) {
        let request = HeartbeatRequest {
            group: self.group.clone(),
            generation: self.generation,
            member_id: self.member_id.clone(),
            instance: None,
        };
        self.rpc.call(cx, Call::Heartbeat, Request::Heartbeat(request), REQUEST_TIMEOUT);
    }

    fn refused(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        match error {
            ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable => {
                self.rpc.forget_coordinator(cx);
                self.again(cx, BACKOFF);
            }
            ErrorCode::CoordinatorLoadInProgress => self.again(cx, BACKOFF),
            ErrorCode::RebalanceInProgress | ErrorCode::IllegalGeneration => self.again(cx, 0),
            _ => self.anew(cx),
        }
    }

    /// Joins again after so many microseconds.
    fn again(&mut self, cx: &Cx<'_>, after: u64) {
        self.place = Place::Out;
        self.act_at = cx.now + after;
        self.heartbeat_at = u64::MAX;
    }

    /// Joins as somebody else, in a while.
    fn anew(&mut self, cx: &Cx<'_>) {
        self.member_id = "".into();
        self.generation = -1;
        self.marked = None;
        self.again(cx, self.every);
    }

    /// Stays away for good, without a word to anybody.
    pub fn stop(&mut self, cx: &mut Cx<'_>) {
        self.hang_up(cx);
        self.place = Place::Over;
        self.act_at = u64::MAX;
        self.heartbeat_at = u64::MAX;
        cx.record.tell(cx.name, || "stays away".to_owned());
    }

    fn hang_up(&mut self, cx: &mut Cx<'_>) {
        self.rpc.forget_everything(cx, u64::MAX);
        for broker in 0..cx.brokers {
            cx.sends.push(Send::Close { broker });
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &mut Cx<'_>, request: u64, response: Response) {
        match self.rpc.answered(cx, request, response) {
            Answered::Stale => return,
            Answered::Find => {}
            Answered::For(call, response) => self.take(cx, call, response),
        }
        self.go_on(cx);
    }

    fn take(&mut self, cx: &mut Cx<'_>, call: Call, response: Response) {
        match (call, response) {
            (Call::Join, Response::JoinGroup(it))
                if self.place == Place::Joining && !self.is_superseded(cx, it.error) =>
            {
                self.joined(cx, &it);
            }
            (Call::Sync, Response::SyncGroup(it)) if self.place == Place::Begun => {
                self.synced(cx, &it);
            }
            (Call::Heartbeat, Response::Heartbeat(error))
                if matches!(self.place, Place::Begun | Place::In)
                    && !self.shrugs_off(cx, error)
                    && !error.is_none() =>
            {
                self.refused(cx, error);
            }
            (Call::Commit, Response::OffsetCommit(partitions)) => {
                let error = partitions.first().map_or(ErrorCode::None, |(_, error)| *error);
                self.committed(cx, error);
            }
            (Call::Leave, Response::LeaveGroup(it)) => self.left(cx, &it),
            // What comes after a change of place is about a generation that is over.
            _ => {}
        }
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, cx: &mut Cx<'_>, request: u64) {
        if let Some(call) = self.rpc.lost(cx, request) {
            self.unanswered(cx, call);
        }
    }

    fn unanswered(&mut self, cx: &mut Cx<'_>, call: Call) {
        match (call, self.place) {
            (Call::Join, Place::Joining) | (Call::Sync, Place::Begun) => self.again(cx, BACKOFF),
            _ => {}
        }
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        let own = match self.rpc.coordinator() {
            Some(_) => self.act_at.min(self.heartbeat_at),
            None => u64::MAX,
        };
        own.min(self.rpc.next_wake())
    }
}
