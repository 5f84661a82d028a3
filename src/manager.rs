//! The API of one broker's coordinator, as a synchronous state machine.
//!
//! [`Manager::submit`] takes a request and answers now or later; what must be done on the volume
//! comes out as [`Job`]s, whose outcomes come back through [`Manager::complete`]; time passes in
//! [`Manager::tick`]. `broker.rs` turns that into futures. In here nothing waits, so no change is
//! ever half done when a caller goes away.
//!
//! | file | holds |
//! |---|---|
//! | `entry.rs` | one group in memory: members, offsets, what waits for the volume |
//! | `membership.rs` | JoinGroup, SyncGroup, Heartbeat, LeaveGroup of an entry |
//! | `offsets.rs` | commits, reads and deletions of an entry, and their queue |
//! | `txn_offsets.rs` | commits in transactions, and the markers that end those |
//! | `storage.rs` | take-overs and what becomes of operations under a claim |
//! | `admin.rs` | FindCoordinator, ListGroups, DescribeGroups |
//! | `upkeep.rs` | polling, timers, retention, idle groups, late answers |
//!
//! What always holds: a success that had to wait is given only if this broker still owns the group
//! when it is given.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use crate::{
    api::{ErrorCode, KeyType, Request, Response},
    assignment::SharedView,
    claim::{Claim, ClaimId, Paths},
    config::Config,
    coordinator::{Coordinator, Offer},
    group::{Context, Group, Inspection, Reply, Ticket},
    group_takeover::lost,
    ids::{BrokerId, GroupId, TransactionalId},
    note::Note,
    ports::Instant,
    txn::Transactions,
};

use self::entry::Entry;

mod admin;
mod entry;
mod job;
mod membership;
mod offsets;
mod storage;
mod txn_offsets;
mod upkeep;

pub(crate) use job::{Because, Done, Job, perform};

/// What the outside gives to every step.
pub(crate) struct Turn<'a> {
    /// Monotonic time.
    pub(crate) now: Instant,
    /// Wall-clock time, in milliseconds since 1970.
    pub(crate) unix_ms: i64,
    /// 128 random bits.
    pub(crate) random: &'a dyn Fn() -> u128,
}

/// One broker's groups and what it knows of the cluster.
pub(crate) struct Manager {
    entries: BTreeMap<GroupId, Entry>,
    txns: Transactions,
    core: Core,
}

/// What all entries share.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) coordinator: Coordinator,
    /// Which life of this broker this is, for the names of claims.
    incarnation: u128,
    /// How many claims were named in this life.
    reigns: u64,
    /// How many entries there were; tells an entry from a later one of the same group.
    serials: u64,
    /// When to look at which entry.
    timers: BTreeSet<(Instant, GroupId)>,
    /// Requests that wait for the volume, in the order in which they are given up.
    patience: VecDeque<(Instant, Ticket, Option<GroupId>)>,
    poll: upkeep::Poll,
    replies: Vec<Reply>,
    pub(crate) notes: Vec<Note>,
    pub(crate) outbox: Vec<(Ticket, Response)>,
    pub(crate) jobs: Vec<Job>,
}

impl Manager {
    pub(crate) fn new(me: BrokerId, incarnation: u128, now: Instant, config: Config) -> Self {
        let coordinator = Coordinator::new(me, now, config.staleness_max);
        let poll = upkeep::Poll::new(now, &config);
        Self {
            entries: BTreeMap::new(),
            txns: Transactions::new(now),
            core: Core {
                config,
                coordinator,
                incarnation,
                reigns: 0,
                serials: 0,
                timers: BTreeSet::new(),
                patience: VecDeque::new(),
                poll,
                replies: Vec::new(),
                notes: Vec::new(),
                outbox: Vec::new(),
                jobs: Vec::new(),
            },
        }
    }

    pub(crate) fn core(&mut self) -> &mut Core {
        &mut self.core
    }

    pub(crate) fn coordinator(&self) -> &Coordinator {
        &self.core.coordinator
    }

    /// Takes a request about at most one group or transactional id. Its answer goes to the outbox
    /// under `ticket`, now or later.
    pub(crate) fn submit(&mut self, turn: &Turn<'_>, ticket: Ticket, request: Request) {
        if let Request::ListGroups { states } = &request {
            self.list(turn, ticket, states.clone());
            return;
        }
        if request.transactional_id().is_some() || matches!(request, Request::InitProducerId(_)) {
            self.txns.submit(&mut self.core, turn, ticket, request);
            return;
        }
        let group = request.group().expect("the caller splits requests about several groups");
        if let Some(error) = self.refusal(turn, &request, group) {
            self.core.outbox.push((ticket, request.refused(error)));
            return;
        }
        let group = group.clone();
        if !self.entries.contains_key(&group) {
            if let Some(answer) = membership::answer_without_entry(&self.core.config, &request) {
                self.core.outbox.push((ticket, answer));
                return;
            }
            if self.entries.len() >= self.core.config.groups_max {
                let refused = request.refused(ErrorCode::CoordinatorNotAvailable);
                self.core.outbox.push((ticket, refused));
                return;
            }
            self.core.serials += 1;
            let entry = Entry::new(group.clone(), self.core.serials, turn.now);
            self.entries.insert(group.clone(), entry);
        }
        self.with_entry(&group, turn, |entry, core| {
            entry.used_at = turn.now;
            entry.handle(core, turn, ticket, request);
        });
    }

    /// The gate that every request about a group passes, in Kafka's order.
    fn refusal(&self, turn: &Turn<'_>, request: &Request, group: &GroupId) -> Option<ErrorCode> {
        let needs_id = match request {
            Request::JoinGroup(_)
            | Request::SyncGroup(_)
            | Request::Heartbeat(_)
            | Request::LeaveGroup(_)
            | Request::OffsetDelete(_)
            | Request::TxnOffsetCommit(_)
            | Request::TxnMarker(_) => true,
            Request::OffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::DeleteGroups { .. }
            | Request::DescribeGroups { .. }
            | Request::FindCoordinator { .. }
            | Request::ListGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_)
            | Request::VerifyTxn(_)
            | Request::TxnOutcome(_) => false,
        };
        if let Request::SyncGroup(sync) = request
            && let Some(error) = crate::group::refusal_before_gate(sync)
        {
            return Some(error);
        }
        let is_too_long = group.as_str().len() > self.core.config.group.id_bytes_max;
        if is_too_long || needs_id && group.is_empty() {
            return Some(ErrorCode::InvalidGroupId);
        }
        if self.core.poll.is_closing {
            return Some(ErrorCode::CoordinatorNotAvailable);
        }
        (!self.core.coordinator.serves(turn.now, group)).then_some(ErrorCode::NotCoordinator)
    }

    /// The caller that waited under `ticket` for something about `group` is gone. What it asked for
    /// goes on, except that it no longer counts as waiting.
    pub(crate) fn abandon(&mut self, turn: &Turn<'_>, ticket: Ticket, group: &GroupId) {
        self.with_entry(group, turn, |entry, core| entry.abandon(core, turn, ticket));
    }

    /// The same, for something about a transactional id.
    pub(crate) fn abandon_transaction(
        &mut self,
        turn: &Turn<'_>,
        ticket: Ticket,
        id: &TransactionalId,
    ) {
        self.txns.abandon(&mut self.core, turn, ticket, id);
    }

    /// A job is done.
    pub(crate) fn complete(&mut self, turn: &Turn<'_>, done: Done) {
        match done {
            Done::Polled { read_at, content, lease } => {
                if let Some(epoch) = lease {
                    self.core.coordinator.observe_lease(epoch);
                }
                self.assignment_read(turn, read_at, content);
            }
            Done::Listed { ticket, states, cold } => self.listed(turn, ticket, &states, cold),
            Done::Overdue(groups) => self.overdue(turn, groups),
            Done::Relinquished => {}
            Done::Transaction(done) => self.txns.complete(&mut self.core, turn, done),
            Done::Called { because, answer } => self.called(turn, because, answer),
            Done::TookOver { group, serial, outcome } => {
                self.with_serial(&group, serial, turn, |it, core| {
                    it.took_over(core, turn, outcome)
                });
            }
            Done::Changed { group, serial, outcome } => {
                self.with_serial(&group, serial, turn, |it, core| it.changed(core, turn, outcome));
            }
            Done::Checked { group, serial, outcome } => {
                self.with_serial(&group, serial, turn, |it, core| it.checked(core, turn, outcome));
            }
        }
    }

    /// A broker has answered, or has not.
    fn called(&mut self, turn: &Turn<'_>, because: Because, answer: Option<Response>) {
        match because {
            Because::Marker { of, transaction, group } => {
                let (core, marker) = (&mut self.core, (transaction, &group));
                self.txns.marker_answered(core, turn, &of, marker, answer.as_ref());
            }
            Because::Verify { group, serial, ticket } => {
                self.with_serial(&group, serial, turn, |it, core| {
                    it.verified(core, turn, ticket, answer)
                });
            }
            Because::Outcome { group, serial, transaction } => {
                self.with_serial(&group, serial, turn, |it, core| {
                    it.heard_outcome(core, turn, &transaction, answer.as_ref());
                });
            }
        }
    }

    fn assignment_read(&mut self, turn: &Turn<'_>, read_at: Instant, content: Option<Vec<u8>>) {
        let was_fresh = self.core.coordinator.is_fresh(turn.now);
        self.core.poll.is_over();
        if turn.now.since(read_at) >= self.core.config.poll_interval {
            // The process was stopped, or the volume: what was read is too old to serve from.
            self.core.poll.at_once(turn.now);
        }
        match self.core.coordinator.offer(read_at, content.as_deref()) {
            Offer::Applied { prev, next } => {
                let id = next.id();
                self.core.notes.push(Note::ViewApplied { epoch: id.epoch, version: id.version });
                self.take_over(turn, prev.as_ref(), &next);
            }
            Offer::Confirmed => {}
            Offer::Refused { reason } => self.core.notes.push(Note::ViewRefused { reason }),
        }
        if !was_fresh && self.core.coordinator.is_fresh(turn.now) {
            self.core.poll.stale = false;
            self.core.notes.push(Note::ViewFresh);
        }
    }

    /// Drops what the change of views took away: by difference, then by sweep.
    fn take_over(&mut self, turn: &Turn<'_>, prev: Option<&SharedView>, next: &SharedView) {
        let prev = prev.map(|prev| &**prev);
        let me = self.core.coordinator.me();
        let lost = lost(me, prev, next, KeyType::Group, self.entries.keys());
        for it in lost {
            let mut parked = 0;
            self.with_entry(&it.key, turn, |entry, core| {
                parked = entry.drop_group(core, turn);
            });
            self.core.notes.push(Note::Dropped {
                group: it.key,
                owner: it.owner,
                found_by: it.found_by.name(),
                parked,
            });
        }
        self.txns.view_applied(&mut self.core, turn, prev, next);
    }

    /// Gives up everything: the process is about to exit. Whoever waits is told that this is not the
    /// coordinator any more, whoever comes that it is not available; what is left to do are the jobs.
    pub(crate) fn close(&mut self, turn: &Turn<'_>) {
        self.core.poll.is_closing = true;
        for ticket in std::mem::take(&mut self.core.poll.listing) {
            self.core.refuse_listing(ticket);
        }
        self.drop_everything(turn);
    }

    fn drop_everything(&mut self, turn: &Turn<'_>) {
        let groups: Vec<_> = self.entries.keys().cloned().collect();
        for group in groups {
            self.with_entry(&group, turn, |entry, core| {
                entry.drop_group(core, turn);
            });
        }
        self.txns.drop_everything(&mut self.core, turn);
    }

    /// The transactional ids in memory, as [`census`](Self::census) tells of groups.
    pub(crate) fn census_of_transactions(
        &self,
        now: Instant,
    ) -> Vec<(TransactionalId, bool, Duration)> {
        self.txns.census(now)
    }

    /// Everything in memory: group, whether it is in use, and since when nobody asked for it.
    pub(crate) fn census(&self, now: Instant) -> Vec<(GroupId, bool, Duration)> {
        let held = self.entries.values();
        held.map(|it| (it.id.clone(), !it.is_idle(), now.since(it.used_at))).collect()
    }

    /// A group in memory; `None` if, as far as is known here, there is no such group.
    pub(crate) fn inspect(&self, group: &GroupId) -> Option<Inspection> {
        self.entries.get(group)?.group.as_ref().map(Group::inspect)
    }

    fn with_serial(
        &mut self,
        group: &GroupId,
        serial: u64,
        turn: &Turn<'_>,
        step: impl FnOnce(&mut Entry, &mut Core),
    ) {
        if self.entries.get(group).is_some_and(|entry| entry.serial == serial) {
            self.with_entry(group, turn, step);
        }
    }

    /// Runs one step of an entry, then sends what it has to say and sets its alarm.
    fn with_entry(
        &mut self,
        group: &GroupId,
        turn: &Turn<'_>,
        step: impl FnOnce(&mut Entry, &mut Core),
    ) {
        let Some(entry) = self.entries.get_mut(group) else { return };
        let core = &mut self.core;
        step(entry, core);
        core.send_replies(turn.now, group);
        let alarm = if entry.is_gone() { None } else { entry.deadline(core.config.idle_max) };
        if alarm != entry.alarm {
            if let Some(old) = entry.alarm {
                core.timers.remove(&(old, group.clone()));
            }
            if let Some(new) = alarm {
                core.timers.insert((new, group.clone()));
            }
            entry.alarm = alarm;
        }
        if entry.is_gone() {
            self.entries.remove(group);
        }
    }
}

impl Core {
    /// Whether the process is about to exit.
    pub(crate) fn is_closing(&self) -> bool {
        self.poll.is_closing
    }

    /// A claim of a name that was never used, not made yet.
    pub(crate) fn name_claim(&mut self, paths: Paths) -> Claim {
        self.reigns += 1;
        let id = ClaimId {
            view: self.coordinator.view_id(),
            broker: self.coordinator.me(),
            incarnation: self.incarnation,
            reign: self.reigns,
        };
        Claim::new(Arc::new(paths), &id)
    }

    /// Runs one step of a group's state machine.
    fn on_group<T>(
        &mut self,
        turn: &Turn<'_>,
        group: &mut Group,
        step: impl FnOnce(&mut Group, &mut Context<'_>) -> T,
    ) -> T {
        let mut cx = Context {
            now: turn.now,
            config: &self.config.group,
            random: turn.random,
            replies: &mut self.replies,
            notes: &mut self.notes,
        };
        step(group, &mut cx)
    }

    /// Sends an answer; a success only if the group is still ours.
    fn answer(&mut self, now: Instant, group: &GroupId, ticket: Ticket, response: Response) {
        let response = if self.coordinator.serves(now, group) {
            response
        } else {
            response.with_error(ErrorCode::NotCoordinator)
        };
        self.outbox.push((ticket, response));
    }

    fn send_replies(&mut self, now: Instant, group: &GroupId) {
        for reply in std::mem::take(&mut self.replies) {
            match reply {
                Reply::Join(ticket, it) => self.answer(now, group, ticket, Response::JoinGroup(it)),
                Reply::Sync(ticket, it) => self.answer(now, group, ticket, Response::SyncGroup(it)),
            }
        }
    }

    /// `ticket` begins to wait for the volume.
    fn be_patient(&mut self, now: Instant, ticket: Ticket, group: Option<&GroupId>) {
        let until = now + self.config.offsets.volume_timeout;
        self.patience.push_back((until, ticket, group.cloned()));
    }
}
