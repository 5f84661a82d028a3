//! A group with a clock, and requests with defaults.

use std::{cell::Cell, collections::BTreeMap, sync::Arc, time::Duration};

use kaas_coordinator::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveIdentity, LeaveRequest,
        Protocol, SyncRequest, SyncResponse,
    },
    config::GroupConfig,
    group::{Context, Group, Reply, Ticket},
    ids::{InstanceId, MemberId},
    note::Note,
    ports::Instant,
};

/// One group and everything it said.
pub(crate) struct Rig {
    pub(crate) group: Group,
    pub(crate) config: GroupConfig,
    pub(crate) now: Instant,
    pub(crate) answers: BTreeMap<Ticket, Reply>,
    pub(crate) notes: Vec<Note>,
    tickets: u64,
    random: Cell<u128>,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self {
            group: Group::new("g".into(), None),
            config: GroupConfig::default(),
            now: Instant::from_millis(0),
            answers: BTreeMap::new(),
            notes: Vec::new(),
            tickets: 0,
            random: Cell::new(0),
        }
    }

    /// Lets `call` act on the group, and keeps what it says.
    pub(crate) fn with<T>(&mut self, call: impl FnOnce(&mut Group, &mut Context<'_>) -> T) -> T {
        let random = || {
            self.random.set(self.random.get() + 1);
            self.random.get()
        };
        let mut replies = Vec::new();
        let mut cx = Context {
            now: self.now,
            config: &self.config,
            random: &random,
            replies: &mut replies,
            notes: &mut self.notes,
        };
        let result = call(&mut self.group, &mut cx);
        for reply in replies {
            let (Reply::Join(ticket, _) | Reply::Sync(ticket, _)) = &reply;
            let earlier = self.answers.insert(*ticket, reply.clone());
            assert_eq!(earlier, None, "a request is answered once");
        }
        result
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    pub(crate) fn join(&mut self, request: &JoinRequest) -> Ticket {
        let ticket = self.ticket();
        self.with(|group, cx| group.join(cx, request, ticket));
        ticket
    }

    pub(crate) fn sync(&mut self, request: &SyncRequest) -> Ticket {
        let ticket = self.ticket();
        self.with(|group, cx| group.sync(cx, request, ticket));
        ticket
    }

    pub(crate) fn heartbeat(&mut self, member: &MemberId) -> ErrorCode {
        let request = HeartbeatRequest {
            group: "g".into(),
            generation: self.group.generation(),
            member_id: member.clone(),
            instance: None,
        };
        self.with(|group, cx| group.heartbeat(cx, &request))
    }

    pub(crate) fn leave(&mut self, member: &MemberId) -> ErrorCode {
        let leaver = LeaveIdentity { member_id: member.clone(), instance: None };
        let request = LeaveRequest { group: "g".into(), members: vec![leaver] };
        self.with(|group, cx| group.leave(cx, &request)).members[0].error
    }

    /// Moves the clock and ticks whenever the group asks for it.
    pub(crate) fn advance(&mut self, millis: u64) {
        let target = self.now + Duration::from_millis(millis);
        while let Some(deadline) = self.group.deadline().filter(|at| *at <= target) {
            self.now = deadline.max(self.now);
            self.with(|group, cx| group.tick(cx));
        }
        self.now = target;
    }

    pub(crate) fn joined(&self, ticket: Ticket) -> &JoinResponse {
        match self.answers.get(&ticket) {
            Some(Reply::Join(_, response)) => response,
            other => panic!("no answer to a join: {other:?}"),
        }
    }

    pub(crate) fn synced(&self, ticket: Ticket) -> &SyncResponse {
        match self.answers.get(&ticket) {
            Some(Reply::Sync(_, response)) => response,
            other => panic!("no answer to a sync: {other:?}"),
        }
    }

    pub(crate) fn is_parked(&self, ticket: Ticket) -> bool {
        !self.answers.contains_key(&ticket)
    }

    pub(crate) fn state(&self) -> &'static str {
        self.group.state().name()
    }

    /// Members of these client names, in this order, in CompletingRebalance; the first leads.
    pub(crate) fn generation_of(&mut self, names: &[&str]) -> Vec<MemberId> {
        let join = |rig: &mut Self, name: &&str| rig.join(&first_join(name));
        let tickets: Vec<_> = names.iter().map(|name| join(self, name)).collect();
        self.advance(6_000);
        assert_eq!(self.state(), "CompletingRebalance");
        tickets.into_iter().map(|ticket| self.joined(ticket).member_id.clone()).collect()
    }

    /// The same, in Stable.
    pub(crate) fn stable_group_of(&mut self, names: &[&str]) -> Vec<MemberId> {
        let members = self.generation_of(names);
        for member in members.iter().rev() {
            self.sync(&self.sync_of(member));
        }
        assert_eq!(self.state(), "Stable");
        members
    }

    /// A SyncGroup of the current generation; everybody gets its own id.
    pub(crate) fn sync_of(&self, member: &MemberId) -> SyncRequest {
        let bytes = |id: &MemberId| Arc::from(id.as_str().as_bytes());
        let assignments = self.group.member_ids().map(|id| (id.clone(), bytes(id)));
        SyncRequest {
            group: "g".into(),
            generation: self.group.generation(),
            member_id: member.clone(),
            instance: None,
            protocol_type: self.group.protocol_type().cloned(),
            protocol_name: self.group.protocol().cloned(),
            assignments: assignments.collect(),
            version: 5,
        }
    }
}

/// The JoinGroup of a new client; version 3, so that it is a member at once.
pub(crate) fn first_join(client: &str) -> JoinRequest {
    JoinRequest {
        group: "g".into(),
        member_id: "".into(),
        instance: None,
        client_id: client.into(),
        session_timeout: Duration::from_secs(10),
        rebalance_timeout: Duration::from_secs(60),
        protocol_type: "consumer".into(),
        protocols: protocols(&["range"]),
        version: 3,
        reason: None,
    }
}

pub(crate) fn static_join(instance: &str) -> JoinRequest {
    JoinRequest { instance: Some(InstanceId::from(instance)), version: 9, ..first_join("static") }
}

pub(crate) fn rejoin(member: &MemberId) -> JoinRequest {
    JoinRequest { member_id: member.clone(), ..first_join("again") }
}

pub(crate) fn protocols(names: &[&str]) -> Vec<Protocol> {
    let protocol = |name: &&str| Protocol { name: (*name).into(), metadata: Arc::from(*b"m") };
    names.iter().map(protocol).collect()
}
