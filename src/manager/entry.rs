//! One group in a broker's memory: its members, its offsets, and what waits for the volume.
//!
//! An entry begins unloaded, takes the group over with the first request that needs its file, and
//! goes when the group is lost, fenced, or idle. Membership and storage are two halves that touch in
//! few places: members vanish when the claim does, and a change is checked against the members again
//! when its turn comes.

use std::{collections::VecDeque, time::Duration};

use super::{Core, Turn, txn_offsets::Verifying};
use crate::{
    api::{
        ErrorCode, OffsetFetchRequest, OffsetFetchResponse, Request, Response, TxnMarkerRequest,
    },
    claim::Claim,
    group::{Group, State, Ticket},
    ids::{GroupId, InstanceId, MemberId},
    offset_store::{batch::Change, file::OffsetFile},
    ports::Instant,
};

/// See the [module](self).
pub(super) struct Entry {
    pub(super) id: GroupId,
    pub(super) serial: u64,
    pub(super) used_at: Instant,
    /// When the manager looks at this entry; kept equal to the manager's set of timers.
    pub(super) alarm: Option<Instant>,
    pub(super) store: Store,
    /// The members; `None` if, as Kafka says, there is no such group.
    pub(super) group: Option<Group>,
    /// When the group became Empty, in milliseconds since 1970; `None` while it has members or if it
    /// never had any.
    pub(super) empty_since: Option<i64>,
    /// Requests that wait for the take-over, in order of arrival.
    pub(super) waiting: VecDeque<(Ticket, Request)>,
    /// Changes that wait for their turn, in order of arrival.
    pub(super) queue: VecDeque<Queued>,
    /// Reads that wait for a check of the claim which begins after they arrived.
    pub(super) reads: Vec<(Ticket, Read)>,
    /// Reads whose check is under way.
    pub(super) checking: Option<Vec<(Ticket, Read)>>,
    /// The batch of changes that is being written.
    pub(super) writing: Option<Writing>,
    /// Commits whose transaction is being verified.
    pub(super) verifying: Vec<Verifying>,
}

/// What is answered from memory once the claim is known to stand.
pub(super) enum Read {
    Fetch(OffsetFetchRequest),
    /// A marker with nothing here to end.
    Marker(TxnMarkerRequest),
}

impl Read {
    /// The answer that refuses it.
    pub(super) fn refused(&self, error: ErrorCode) -> Response {
        match self {
            Self::Fetch(_) => Response::OffsetFetch(OffsetFetchResponse::refused(error)),
            Self::Marker(_) => Response::TxnMarker(error),
        }
    }
}

/// What the entry knows of the volume.
pub(super) enum Store {
    /// Nothing. `previous` is the claim under which the present members joined.
    Unloaded { previous: Option<Claim> },
    /// The take-over is under way.
    Loading { claim: Claim, previous: Option<Claim> },
    /// The claim was made and the content is what the volume has.
    Ready { claim: Claim, file: OffsetFile, changes: u64 },
    /// The file is none; it is not touched, and looked at again with the next request after `until`.
    Unreadable { claim: Claim, until: Instant },
    /// The entry is about to be removed.
    Gone,
}

/// A change in the queue.
pub(super) struct Queued {
    /// Who waits for it, if anybody does.
    pub(super) ticket: Option<Ticket>,
    pub(super) what: Change,
    /// The answer if it is done; an error replaces its successes.
    pub(super) answer: Option<Response>,
    /// The member that commits, to be checked again when the change has its turn.
    pub(super) by: Option<Committer>,
}

/// The identity in an OffsetCommit.
pub(super) struct Committer {
    pub(super) generation: i32,
    pub(super) member_id: MemberId,
    pub(super) instance: Option<InstanceId>,
}

/// A batch that is being written.
pub(super) struct Writing {
    pub(super) changes: Vec<Queued>,
    /// The content when it is done.
    pub(super) next: OffsetFile,
}

impl Entry {
    pub(super) fn new(id: GroupId, serial: u64, now: Instant) -> Self {
        Self {
            id,
            serial,
            used_at: now,
            alarm: None,
            store: Store::Unloaded { previous: None },
            group: None,
            empty_since: None,
            waiting: VecDeque::new(),
            queue: VecDeque::new(),
            reads: Vec::new(),
            checking: None,
            writing: None,
            verifying: Vec::new(),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.store, Store::Gone)
    }

    /// Nobody is a member, waits, or is about to become a member.
    pub(super) fn is_idle(&self) -> bool {
        self.group.as_ref().is_none_or(Group::is_idle)
            && !matches!(self.store, Store::Loading { .. })
            && self.waiting.is_empty()
            && self.queue.is_empty()
            && self.reads.is_empty()
            && self.checking.is_none()
            && self.writing.is_none()
            && self.verifying.is_empty()
    }

    /// When the manager must look at this entry.
    pub(super) fn deadline(&self, idle_max: Duration) -> Option<Instant> {
        let group = self.group.as_ref().and_then(Group::deadline);
        let idle = self.is_idle().then(|| self.used_at + idle_max);
        group.into_iter().chain(idle).min()
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(self.store, Store::Ready { .. })
    }

    /// Handles a request, or lets it wait for the take-over.
    pub(super) fn handle(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: Request,
    ) {
        let needs_file = match &request {
            Request::JoinGroup(_) | Request::DescribeGroups { .. } => self.group.is_none(),
            Request::SyncGroup(_) | Request::Heartbeat(_) | Request::LeaveGroup(_) => false,
            Request::OffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::OffsetDelete(_)
            | Request::DeleteGroups { .. }
            | Request::TxnOffsetCommit(_)
            | Request::TxnMarker(_) => true,
            Request::FindCoordinator { .. }
            | Request::ListGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_)
            | Request::VerifyTxn(_)
            | Request::TxnOutcome(_) => unreachable!("is not about one group"),
        };
        if needs_file && !self.is_ready() {
            self.wait_for_file(core, turn, ticket, request);
            return;
        }
        let answer = match request {
            Request::JoinGroup(it) => return self.join(core, turn, ticket, &it),
            Request::SyncGroup(it) => return self.sync(core, turn, ticket, &it),
            Request::Heartbeat(it) => self.heartbeat(core, turn, &it),
            Request::LeaveGroup(it) => self.leave(core, turn, &it),
            Request::OffsetCommit(it) => return self.commit(core, turn, ticket, &it),
            Request::OffsetFetch(it) => return self.fetch(core, turn, ticket, it),
            Request::OffsetDelete(it) => return self.delete_offsets(core, turn, ticket, &it),
            Request::DeleteGroups { .. } => return self.delete_group(core, turn, ticket),
            Request::DescribeGroups { .. } => self.describe(),
            Request::TxnOffsetCommit(it) => return self.commit_in_txn(core, turn, ticket, it),
            Request::TxnMarker(it) => return self.end_txn(core, turn, ticket, it),
            Request::FindCoordinator { .. }
            | Request::ListGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_)
            | Request::VerifyTxn(_)
            | Request::TxnOutcome(_) => unreachable!("is not about one group"),
        };
        core.answer(turn.now, &self.id, ticket, answer);
    }

    fn wait_for_file(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: Request,
    ) {
        if let Store::Unreadable { until, .. } = self.store
            && turn.now < until
        {
            let answer = request.refused(ErrorCode::CoordinatorNotAvailable);
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        if self.waiting.len() >= core.config.offsets.waiting_max {
            let answer = request.refused(ErrorCode::CoordinatorLoadInProgress);
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        core.be_patient(turn.now, ticket, Some(&self.id));
        self.waiting.push_back((ticket, request));
        self.load(core);
    }

    /// The caller is gone: a join or sync no longer counts as parked, a read is forgotten, a change
    /// goes on.
    pub(super) fn abandon(&mut self, core: &mut Core, turn: &Turn<'_>, ticket: Ticket) {
        self.waiting.retain(|(waiting, _)| *waiting != ticket);
        self.reads.retain(|(waiting, _)| *waiting != ticket);
        self.verifying.retain(|it| it.ticket != ticket);
        let writing = self.writing.iter_mut().flat_map(|it| &mut it.changes);
        for change in self.queue.iter_mut().chain(writing) {
            if change.ticket == Some(ticket) {
                change.ticket = None;
            }
        }
        self.on_group(core, turn, |group, cx| group.abandon(cx, ticket));
    }

    /// Runs a step of the members' state machine, if there is one.
    pub(super) fn on_group<T>(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        step: impl FnOnce(&mut Group, &mut crate::group::Context<'_>) -> T,
    ) -> Option<T> {
        let group = self.group.as_mut()?;
        let result = core.on_group(turn, group, step);
        self.note_emptiness(core, turn);
        Some(result)
    }

    /// Keeps the file's idea of whether the group has members, and since when it has none: it must
    /// outlive this memory, since retention counts from it.
    fn note_emptiness(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let Some(group) = &self.group else { return };
        if group.protocol_type().is_none() {
            return;
        }
        let is_news = if group.state() == State::Empty {
            let is_news = self.empty_since.is_none();
            self.empty_since.get_or_insert(turn.unix_ms);
            is_news
        } else {
            self.empty_since = None;
            self.is_memberless_on_volume()
        };
        if is_news && matches!(&self.store, Store::Ready { file, .. } if !file.is_empty()) {
            self.touch(core, turn);
        }
    }

    /// Whether the next owner would read that the group has no members, or never had any, and count
    /// the age of its offsets from there.
    fn is_memberless_on_volume(&self) -> bool {
        let Store::Ready { file, .. } = &self.store else { return false };
        self.writing.is_none() && (file.empty_since.is_some() || file.protocol_type.is_none())
    }

    /// Queues that the file be written as it is.
    pub(super) fn touch(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let touch = Queued { ticket: None, what: Change::Touch, answer: None, by: None };
        self.queue.push_back(touch);
        self.write_next(core, turn);
    }

    /// The group goes from memory. Whoever waits is told NOT_COORDINATOR; the claim is given back.
    /// Returns how many joins and syncs were parked.
    pub(super) fn drop_group(&mut self, core: &mut Core, turn: &Turn<'_>) -> usize {
        let parked = self.group.as_ref().map_or(0, Group::parked);
        if let Some(mut group) = self.group.take() {
            core.on_group(turn, &mut group, |group, cx| group.dissolve(cx));
        }
        self.refuse_all(core, turn, ErrorCode::NotCoordinator);
        self.give_claims_back(core);
        self.store = Store::Gone;
        parked
    }

    /// Answers everything that waits for the volume with an error.
    pub(super) fn refuse_all(&mut self, core: &mut Core, turn: &Turn<'_>, error: ErrorCode) {
        for (ticket, request) in std::mem::take(&mut self.waiting) {
            core.answer(turn.now, &self.id, ticket, request.refused(error));
        }
        self.refuse_reads(core, turn, error);
        for (ticket, read) in self.checking.take().into_iter().flatten() {
            core.answer(turn.now, &self.id, ticket, read.refused(error));
        }
        for it in std::mem::take(&mut self.verifying) {
            let answer = Request::TxnOffsetCommit(it.request).refused(error);
            core.answer(turn.now, &self.id, it.ticket, answer);
        }
        let writing = self.writing.take().map_or_else(Vec::new, |it| it.changes);
        for change in writing.into_iter().chain(std::mem::take(&mut self.queue)) {
            change.answer(core, turn, &self.id, Err(error));
        }
    }

    /// Answers the reads whose check has not begun with an error.
    pub(super) fn refuse_reads(&mut self, core: &mut Core, turn: &Turn<'_>, error: ErrorCode) {
        for (ticket, read) in std::mem::take(&mut self.reads) {
            core.answer(turn.now, &self.id, ticket, read.refused(error));
        }
    }
}

impl Queued {
    /// Tells whoever waits what became of the change.
    pub(super) fn answer(
        self,
        core: &mut Core,
        turn: &Turn<'_>,
        group: &GroupId,
        result: Result<(), ErrorCode>,
    ) {
        let (Some(ticket), Some(answer)) = (self.ticket, self.answer) else { return };
        let answer = match result {
            Ok(()) => answer,
            Err(error) => answer.with_error(error),
        };
        core.answer(turn.now, group, ticket, answer);
    }
}
