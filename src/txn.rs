//! The transaction coordinator, as a synchronous state machine beside that of the groups.
//!
//! A transactional id has a coordinator by the hash alone, and one file on the volume, fenced by a
//! claim. A transaction is decided when its Prepare is durable there; then every group and partition
//! in it is sent a marker until it has acknowledged, and only then is the transaction complete. What
//! an owner leaves behind, the next one finds by searching the volume: nobody asks for a transaction
//! whose producer is gone.
//!
//! | file | holds |
//! |---|---|
//! | `state.rs` | the state of one id and its changes: pure |
//! | `rules.rs` | what a request comes to: pure |
//! | `file.rs` | the state as a file |
//! | `entry.rs` | one id in memory: what waits, what must be done |
//! | `storage.rs` | take-overs and what becomes of operations under a claim |
//! | `delivery.rs` | markers, until they are acknowledged |
//! | `producer_ids.rs` | ids that are unique for ever |
//! | `job.rs` | what is done outside |

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use crate::{
    api::{ErrorCode, InitProducerIdResponse, KeyType, Request, Response},
    assignment::View,
    group::Ticket,
    group_takeover::lost,
    ids::{GroupId, TransactionalId},
    manager::{Core, Job, Turn},
    note::{Note, TxnEvent},
    ports::Instant,
};

use self::{entry::Entry, producer_ids::ProducerIds};

mod delivery;
mod entry;
pub mod file;
mod job;
mod producer_ids;
mod rules;
pub mod state;
mod storage;

pub(crate) use job::{TxnDone, TxnJob, Which, perform};

/// The directory of the states' files.
pub const STATE_DIR: &str = "__transaction_state";

/// One broker's transactional ids.
pub(crate) struct Transactions {
    entries: BTreeMap<TransactionalId, Entry>,
    /// When to look at which entry.
    timers: BTreeSet<(Instant, TransactionalId)>,
    /// How many entries there were; tells an entry from a later one of the same id.
    serials: u64,
    shared: Shared,
    /// When the volume is searched next.
    next_scan: Instant,
    is_scanning: bool,
    /// Whether the search that is under way began under another view.
    scans_anew: bool,
}

/// What all entries share.
struct Shared {
    ids: ProducerIds,
    /// Requests that wait, in the order in which they are given up; `None` for an idempotent
    /// producer's.
    patience: VecDeque<(Instant, Ticket, Option<TransactionalId>)>,
}

/// What a step of an entry works with.
struct Cx<'a> {
    core: &'a mut Core,
    turn: &'a Turn<'a>,
    shared: &'a mut Shared,
}

impl Cx<'_> {
    fn serves(&self, id: &TransactionalId) -> bool {
        self.core.coordinator.serves_transaction(self.turn.now, id)
    }

    /// Sends an answer; a success only if the id is still ours.
    fn answer(&mut self, id: &TransactionalId, ticket: Ticket, response: Response) {
        let response = match self.serves(id) {
            true => response,
            false => response.with_error(ErrorCode::NotCoordinator),
        };
        self.core.outbox.push((ticket, response));
    }

    fn note(&mut self, id: &TransactionalId, event: TxnEvent) {
        self.core.notes.push(Note::Transaction { id: id.clone(), event });
    }

    /// `ticket` begins to wait.
    fn be_patient(&mut self, ticket: Ticket, id: &TransactionalId) {
        let until = self.turn.now + self.core.config.offsets.volume_timeout;
        self.shared.patience.push_back((until, ticket, Some(id.clone())));
    }
}

impl Transactions {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            entries: BTreeMap::new(),
            timers: BTreeSet::new(),
            serials: 0,
            shared: Shared { ids: ProducerIds::new(), patience: VecDeque::new() },
            next_scan: now,
            is_scanning: false,
            scans_anew: false,
        }
    }

    /// Takes a request of a producer, or of a group's coordinator about one. Its answer goes to the
    /// outbox under `ticket`, now or later.
    pub(crate) fn submit(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: Request,
    ) {
        let id = request.transactional_id().cloned();
        let refusal = rules::refusal(&core.config.txn, &request).or_else(|| match &id {
            _ if core.is_closing() => Some(ErrorCode::CoordinatorNotAvailable),
            Some(id) if !core.coordinator.serves_transaction(turn.now, id) => {
                Some(ErrorCode::NotCoordinator)
            }
            Some(_) | None => None,
        });
        if let Some(error) = refusal {
            core.outbox.push((ticket, request.refused(error)));
            return;
        }
        let Some(id) = id else {
            if self.shared.ids.give(core, turn, ticket) {
                let until = turn.now + core.config.offsets.volume_timeout;
                self.shared.patience.push_back((until, ticket, None));
            }
            return;
        };
        self.ensure(turn, &id);
        self.with_entry(core, turn, &id, |entry, cx| {
            entry.used_at = cx.turn.now;
            entry.handle(cx, ticket, request);
        });
    }

    /// The caller that waited under `ticket` for something about `id` is gone.
    pub(crate) fn abandon(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        id: &TransactionalId,
    ) {
        self.with_entry(core, turn, id, |entry, _| entry.abandon(ticket));
    }

    /// A job is done.
    pub(crate) fn complete(&mut self, core: &mut Core, turn: &Turn<'_>, done: TxnDone) {
        match done {
            TxnDone::TookOver { of, outcome } => {
                self.with_serial(core, turn, &of, |it, cx| it.took_over(cx, outcome));
            }
            TxnDone::Changed { of, outcome } => {
                self.with_serial(core, turn, &of, |it, cx| it.changed(cx, outcome));
            }
            TxnDone::Checked { of, outcome } => {
                self.with_serial(core, turn, &of, |it, cx| it.checked(cx, outcome));
            }
            TxnDone::Marked { of, transaction, acknowledged } => {
                self.with_serial(core, turn, &of, |it, cx| {
                    it.marked(cx, transaction, None, acknowledged);
                });
            }
            TxnDone::Surveyed(found) => {
                self.is_scanning = false;
                if std::mem::take(&mut self.scans_anew) {
                    self.next_scan = turn.now;
                }
                self.resume(core, turn, found);
            }
            TxnDone::TookIds(outcome) => {
                let (wanting, refused) = self.shared.ids.refilled(core, turn, outcome);
                for id in wanting {
                    self.with_entry(core, turn, &id, |entry, cx| match refused {
                        true => entry.refuse_id(cx),
                        false => entry.go_on(cx),
                    });
                }
            }
        }
    }

    /// A group's coordinator has answered a marker, or has not.
    pub(crate) fn marker_answered(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        of: &Which,
        (transaction, group): (u64, &GroupId),
        answer: Option<&Response>,
    ) {
        let acknowledged = delivery::is_acknowledged(answer);
        self.with_serial(core, turn, of, |it, cx| {
            it.marked(cx, transaction, Some(group), acknowledged);
        });
    }

    /// These ids are on the volume and wait for their coordinator, it seems: takes over those that
    /// are not in memory, and decides then.
    fn resume(&mut self, core: &mut Core, turn: &Turn<'_>, found: Vec<TransactionalId>) {
        for id in found {
            let is_ours = core.coordinator.serves_transaction(turn.now, &id);
            if !is_ours || core.is_closing() || self.entries.contains_key(&id) {
                continue;
            }
            self.ensure(turn, &id);
            self.with_entry(core, turn, &id, |entry, cx| {
                cx.note(&entry.id, TxnEvent::Resumed);
                entry.resumes = true;
                entry.load(cx);
            });
        }
    }

    /// Another view is in force: drops what it took away, by difference, then by sweep, and searches
    /// for what it brought.
    pub(crate) fn view_applied(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        prev: Option<&View>,
        next: &View,
    ) {
        let me = core.coordinator.me();
        for it in lost(me, prev, next, KeyType::Transaction, self.entries.keys()) {
            self.with_entry(core, turn, &it.key, |entry, cx| {
                let parked = entry.drop_entry(cx);
                let (owner, found_by) = (it.owner.clone(), it.found_by.name());
                cx.note(&entry.id, TxnEvent::Dropped { owner, found_by, parked });
            });
        }
        self.next_scan = turn.now;
        self.scans_anew = self.is_scanning;
    }

    /// Gives up everything.
    pub(crate) fn drop_everything(&mut self, core: &mut Core, turn: &Turn<'_>) {
        self.shared.ids.refuse(core);
        let ids: Vec<_> = self.entries.keys().cloned().collect();
        for id in ids {
            self.with_entry(core, turn, &id, |entry, cx| {
                entry.drop_entry(cx);
            });
        }
    }

    /// When [`tick`](Self::tick) has something to do.
    pub(crate) fn deadline(&self) -> Instant {
        let timers = self.timers.first().map(|(at, _)| *at);
        let patience = self.shared.patience.front().map(|(until, _, _)| *until);
        let others = timers.into_iter().chain(patience).chain(self.shared.ids.deadline());
        others.fold(self.next_scan, Instant::min)
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, core: &mut Core, turn: &Turn<'_>) {
        while let Some((at, id)) = self.timers.first().cloned()
            && at <= turn.now
        {
            self.with_entry(core, turn, &id, |entry, cx| entry.tick(cx));
        }
        while let Some((until, ticket, id)) = self.shared.patience.front().cloned()
            && until <= turn.now
        {
            self.shared.patience.pop_front();
            match id {
                Some(id) => {
                    self.with_entry(core, turn, &id, |entry, cx| entry.give_up(cx, ticket));
                }
                None if self.shared.ids.forget(ticket) => {
                    let error = ErrorCode::CoordinatorLoadInProgress;
                    let refused = InitProducerIdResponse::refused(error);
                    core.outbox.push((ticket, Response::InitProducerId(refused)));
                }
                None => {}
            }
        }
        self.shared.ids.refill(core, turn);
        self.scan(core, turn);
    }

    /// Begins to search the volume if that is due. In the boot window every id would be ours, so it
    /// waits for a view.
    fn scan(&mut self, core: &mut Core, turn: &Turn<'_>) {
        if self.next_scan > turn.now {
            return;
        }
        self.next_scan = turn.now + core.config.txn.scan_interval;
        let Some(view) = core.coordinator.view().cloned() else { return };
        // One that hangs is not repeated.
        if self.is_scanning || !core.coordinator.is_fresh(turn.now) {
            return;
        }
        self.is_scanning = true;
        core.jobs.push(Job::Transaction(TxnJob::Survey {
            view,
            me: core.coordinator.me().clone(),
            unix_ms: turn.unix_ms,
            expiration: core.config.txn.id_expiration,
        }));
    }

    /// Everything in memory: id, whether it is in use, and since when nobody asked for it.
    pub(crate) fn census(&self, now: Instant) -> Vec<(TransactionalId, bool, Duration)> {
        let held = self.entries.values();
        held.map(|it| (it.id.clone(), !it.is_idle(), now.since(it.used_at))).collect()
    }

    fn ensure(&mut self, turn: &Turn<'_>, id: &TransactionalId) {
        if !self.entries.contains_key(id) {
            self.serials += 1;
            let entry = Entry::new(id.clone(), self.serials, turn.now);
            self.entries.insert(id.clone(), entry);
        }
    }

    fn with_serial(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        of: &Which,
        step: impl FnOnce(&mut Entry, &mut Cx<'_>),
    ) {
        if self.entries.get(&of.id).is_some_and(|entry| entry.serial == of.serial) {
            self.with_entry(core, turn, &of.id, step);
        }
    }

    /// Runs one step of an entry, then sets its alarm.
    fn with_entry(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        id: &TransactionalId,
        step: impl FnOnce(&mut Entry, &mut Cx<'_>),
    ) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let mut cx = Cx { core, turn, shared: &mut self.shared };
        step(entry, &mut cx);
        let alarm = if entry.is_gone() { None } else { entry.deadline(&cx) };
        if alarm != entry.alarm {
            if let Some(old) = entry.alarm {
                self.timers.remove(&(old, id.clone()));
            }
            if let Some(new) = alarm {
                self.timers.insert((new, id.clone()));
            }
            entry.alarm = alarm;
        }
        if entry.is_gone() {
            self.entries.remove(id);
        }
    }
}
