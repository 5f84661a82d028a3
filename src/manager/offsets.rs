//! Commits, reads and deletions of one entry, and the queue that orders them.
//!
//! Changes are applied in the order of arrival, all that wait at a time by one write (group commit).
//! Memory is replaced only by content that the volume has. A read is answered from memory after the
//! volume has said that the claim still stands; one check serves all reads that came before it.

use super::{
    Core, Job, Turn,
    entry::{Committer, Entry, Queued, Read, Store, Writing},
};
use crate::{
    api::{
        CommitOffset, ErrorCode, FetchedOffset, OffsetCommitRequest, OffsetDeleteRequest,
        OffsetDeleteResponse, OffsetFetchRequest, OffsetFetchResponse, Response,
    },
    group::{State, Ticket},
    ids::TopicPartition,
    note::Note,
    offset_store::{
        batch::{Change, Retention, Situation, apply, expired},
        file::OffsetFile,
    },
};

impl Entry {
    /// OffsetCommit (table 2.6 of Kafka's behaviour: an absent group is created by a commit outside
    /// of any generation and illegal for one of a generation).
    pub(super) fn commit(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &OffsetCommitRequest,
    ) {
        let refuse = |error| {
            let offsets = request.offsets.iter();
            Response::OffsetCommit(offsets.map(|it| (it.partition.clone(), error)).collect())
        };
        if self.group.is_none() {
            if request.generation >= 0 {
                core.answer(turn.now, &self.id, ticket, refuse(ErrorCode::IllegalGeneration));
                return;
            }
            self.create_group();
        }
        let by = Committer {
            generation: request.generation,
            member_id: request.member_id.clone(),
            instance: request.instance.clone(),
        };
        let verdict = self.on_group(core, turn, |group, cx| {
            group.check_commit(cx, by.generation, &by.member_id, by.instance.as_ref())
        });
        if let Some(Err(error)) = verdict {
            core.answer(turn.now, &self.id, ticket, refuse(error));
            return;
        }
        let (offsets, verdicts) = self.fitting(core, &request.offsets);
        let answer = Response::OffsetCommit(verdicts);
        if offsets.is_empty() {
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        let expires_ms = request.retention_ms.map(|keep| turn.unix_ms.saturating_add(keep));
        let what = Change::Commit { offsets, now_ms: turn.unix_ms, expires_ms };
        let (ticket, answer, by) = (Some(ticket), Some(answer), Some(by));
        self.enqueue(core, turn, Queued { ticket, what, answer, by });
    }

    /// What of a commit is within bounds, and a verdict on each part of it.
    pub(super) fn fitting(
        &self,
        core: &Core,
        offsets: &[CommitOffset],
    ) -> (Vec<CommitOffset>, Vec<(TopicPartition, ErrorCode)>) {
        let limits = &core.config.offsets;
        let newest = match (&self.writing, &self.store) {
            (Some(writing), _) => Some(&writing.next),
            (None, Store::Ready { file, .. }) => Some(file),
            (
                None,
                Store::Unloaded { .. }
                | Store::Loading { .. }
                | Store::Unreadable { .. }
                | Store::Gone,
            ) => None,
        };
        let mut room =
            limits.partitions_max.saturating_sub(newest.map_or(0, |it| it.offsets.len()));
        let mut fitting = Vec::with_capacity(offsets.len());
        let mut verdict = |commit: &CommitOffset| {
            let is_new = newest.is_none_or(|it| !it.offsets.contains_key(&commit.partition));
            if commit.metadata.encode_utf16().count() > limits.metadata_max {
                return ErrorCode::OffsetMetadataTooLarge;
            }
            if is_new && room == 0 {
                return ErrorCode::InvalidCommitOffsetSize;
            }
            room -= usize::from(is_new);
            fitting.push(commit.clone());
            ErrorCode::None
        };
        let verdicts = offsets.iter().map(|it| (it.partition.clone(), verdict(it))).collect();
        (fitting, verdicts)
    }

    /// OffsetDelete (KIP-496): offsets of topics that nobody in the group consumes.
    pub(super) fn delete_offsets(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &OffsetDeleteRequest,
    ) {
        let whole = |error| Response::OffsetDelete(OffsetDeleteResponse::refused(error));
        let Some(group) = &self.group else {
            core.answer(turn.now, &self.id, ticket, whole(ErrorCode::GroupIdNotFound));
            return;
        };
        let is_empty = group.state() == State::Empty;
        let is_consumer = group.protocol_type().is_some_and(|it| **it == *"consumer");
        if !is_empty && !is_consumer {
            core.answer(turn.now, &self.id, ticket, whole(ErrorCode::NonEmptyGroup));
            return;
        }
        let is_free = |partition: &TopicPartition| {
            is_empty || group.is_subscribed(&partition.topic) == Some(false)
        };
        let (mut free, mut verdicts) = (Vec::new(), Vec::new());
        for partition in &request.partitions {
            if is_free(partition) {
                free.push(partition.clone());
                verdicts.push((partition.clone(), ErrorCode::None));
            } else {
                verdicts.push((partition.clone(), ErrorCode::GroupSubscribedToTopic));
            }
        }
        let response = OffsetDeleteResponse { error: ErrorCode::None, partitions: verdicts };
        let answer = Response::OffsetDelete(response);
        if free.is_empty() {
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        let what = Change::DeleteOffsets(free);
        let (ticket, answer) = (Some(ticket), Some(answer));
        self.enqueue(core, turn, Queued { ticket, what, answer, by: None });
    }

    /// DeleteGroups of this group (KIP-229).
    pub(super) fn delete_group(&mut self, core: &mut Core, turn: &Turn<'_>, ticket: Ticket) {
        let verdict = self.may_delete();
        let error = verdict.err().unwrap_or(ErrorCode::None);
        let answer = Response::DeleteGroups(vec![(self.id.clone(), error)]);
        if verdict.is_err() {
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        let (ticket, answer) = (Some(ticket), Some(answer));
        let what = Change::DeleteGroup;
        self.enqueue(core, turn, Queued { ticket, what, answer, by: None });
    }

    fn may_delete(&self) -> Result<(), ErrorCode> {
        match self.group.as_ref().map(|group| group.state()) {
            None | Some(State::Dead) => Err(ErrorCode::GroupIdNotFound),
            Some(State::Empty) => Ok(()),
            Some(State::PreparingRebalance | State::CompletingRebalance | State::Stable) => {
                Err(ErrorCode::NonEmptyGroup)
            }
        }
    }

    fn enqueue(&mut self, core: &mut Core, turn: &Turn<'_>, change: Queued) {
        if self.queue.len() >= core.config.offsets.waiting_max {
            change.answer(core, turn, &self.id, Err(ErrorCode::CoordinatorNotAvailable));
            return;
        }
        if let Some(ticket) = change.ticket {
            core.be_patient(turn.now, ticket, Some(&self.id));
        }
        self.queue.push_back(change);
        self.write_next(core, turn);
    }

    /// OffsetFetch.
    pub(super) fn fetch(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: OffsetFetchRequest,
    ) {
        if self.reads.len() >= core.config.offsets.waiting_max {
            let refused = OffsetFetchResponse::refused(ErrorCode::CoordinatorNotAvailable);
            core.answer(turn.now, &self.id, ticket, Response::OffsetFetch(refused));
            return;
        }
        core.be_patient(turn.now, ticket, Some(&self.id));
        self.reads.push((ticket, Read::Fetch(request)));
        self.check_next(core);
    }

    /// Begins to check the claim for the reads that wait, unless a check is under way.
    pub(super) fn check_next(&mut self, core: &mut Core) {
        let Store::Ready { claim, .. } = &self.store else { return };
        if self.checking.is_some() || self.reads.is_empty() {
            return;
        }
        self.checking = Some(std::mem::take(&mut self.reads));
        let (group, serial, claim) = (self.id.clone(), self.serial, claim.clone());
        core.jobs.push(Job::Check { group, serial, claim });
    }

    /// What the file says, as an answer to OffsetFetch.
    pub(super) fn fetched(&self, file: &OffsetFile, request: &OffsetFetchRequest) -> Response {
        let fetch = |partition: &TopicPartition| {
            let committed = file.offsets.get(partition).filter(|_| self.group.is_some());
            let is_unstable =
                || file.pending.has_partition(partition) || self.is_changing(partition);
            let unstable = request.require_stable && is_unstable();
            let (offset, leader_epoch, metadata) = match committed {
                Some(it) if !unstable => (it.offset, it.leader_epoch, it.metadata.clone()),
                Some(_) | None => (-1, -1, "".into()),
            };
            let error = if unstable { ErrorCode::UnstableOffsetCommit } else { ErrorCode::None };
            FetchedOffset { partition: partition.clone(), offset, leader_epoch, metadata, error }
        };
        let partitions = match &request.partitions {
            Some(partitions) => partitions.iter().map(fetch).collect(),
            None if self.group.is_none() => Vec::new(),
            None => file.offsets.keys().map(fetch).collect(),
        };
        Response::OffsetFetch(OffsetFetchResponse { error: ErrorCode::None, partitions })
    }

    /// Whether a commit to `partition` is not yet durable. KIP-447 withholds the offset then, as
    /// Kafka 3.7 does (the later coordinator answers with the committed one).
    fn is_changing(&self, partition: &TopicPartition) -> bool {
        let writing = self.writing.iter().flat_map(|it| &it.changes);
        writing.chain(&self.queue).any(|change| match &change.what {
            Change::Commit { offsets, .. } | Change::CommitInTxn { offsets, .. } => {
                offsets.iter().any(|it| it.partition == *partition)
            }
            Change::EndTxn { .. }
            | Change::DeleteOffsets(_)
            | Change::Expire(_)
            | Change::DeleteGroup
            | Change::Stamp { .. }
            | Change::Touch => false,
        })
    }

    /// Begins to write all changes that wait, unless a write is under way.
    pub(super) fn write_next(&mut self, core: &mut Core, turn: &Turn<'_>) {
        if self.writing.is_some() || self.queue.is_empty() {
            return;
        }
        let Store::Ready { file, .. } = &self.store else { return };
        let mut next = file.clone();
        let mut changes = Vec::new();
        for change in std::mem::take(&mut self.queue) {
            match self.may_still(&change) {
                Ok(()) => {
                    apply(&mut next, &change.what);
                    changes.push(change);
                }
                Err(error) => change.answer(core, turn, &self.id, Err(error)),
            }
        }
        if changes.is_empty() {
            return;
        }
        if let Some(protocol_type) = self.group.as_ref().and_then(|group| group.protocol_type()) {
            next.protocol_type = Some(protocol_type.clone());
        }
        next.empty_since = self.empty_since;
        if changes.len() > 1 {
            core.notes.push(Note::Batched { group: self.id.clone(), commits: changes.len() });
        }
        let Store::Ready { claim, changes: nth, .. } = &mut self.store else { return };
        *nth += 1;
        core.jobs.push(Job::Change {
            group: self.id.clone(),
            serial: self.serial,
            claim: claim.clone(),
            nth: *nth,
            content: (!next.is_empty()).then(|| next.to_json(&self.id)),
        });
        self.writing = Some(Writing { changes, next });
    }

    /// Whether a change that had to wait is still allowed: its member may have left since, or the
    /// group may have got members.
    fn may_still(&self, change: &Queued) -> Result<(), ErrorCode> {
        match (&change.what, &change.by) {
            (Change::Commit { .. }, Some(by)) => match &self.group {
                Some(group) => {
                    group.recheck_commit(by.generation, &by.member_id, by.instance.as_ref())
                }
                None if by.generation < 0 => Ok(()),
                None => Err(ErrorCode::UnknownMemberId),
            },
            (Change::CommitInTxn { .. }, Some(by)) => self.may_commit_in_txn(by),
            (Change::DeleteGroup, _) => self.may_delete(),
            (
                Change::Commit { .. }
                | Change::CommitInTxn { .. }
                | Change::EndTxn { .. }
                | Change::DeleteOffsets(_)
                | Change::Expire(_)
                | Change::Stamp { .. }
                | Change::Touch,
                _,
            ) => Ok(()),
        }
    }

    /// Queues that offsets without a time count from now: a broker of a former release has written
    /// the file.
    pub(super) fn stamp(&mut self, core: &Core, turn: &Turn<'_>) {
        let Store::Ready { file, .. } = &self.store else { return };
        let lacks_times = core.config.offsets.has_retention() && !file.tells_all_times();
        if lacks_times && self.writing.is_none() {
            let what = Change::Stamp { now_ms: turn.unix_ms };
            self.queue.push_back(Queued { ticket: None, what, answer: None, by: None });
        }
    }

    /// Queues the removal of offsets that have outlived their retention.
    pub(super) fn expire(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let Store::Ready { file, .. } = &self.store else { return };
        if self.writing.is_some() || !self.queue.is_empty() {
            return;
        }
        let subscribed;
        let situation = match &self.group {
            None => Situation::Standalone,
            Some(group) => match (group.state(), group.protocol_type()) {
                (State::Empty, Some(_)) => Situation::Empty { since: self.empty_since },
                (State::Empty, None) => Situation::Standalone,
                (State::Stable, Some(kind)) if **kind == *"consumer" => {
                    subscribed = |topic: &_| group.is_subscribed(topic) != Some(false);
                    Situation::Consuming { is_subscribed: &subscribed }
                }
                (
                    State::Stable
                    | State::PreparingRebalance
                    | State::CompletingRebalance
                    | State::Dead,
                    _,
                ) => Situation::Busy,
            },
        };
        let keep = core.config.offsets.retention;
        let overdue = expired(file, &Retention { now_ms: turn.unix_ms, keep, situation });
        if overdue.is_empty() {
            return;
        }
        core.notes.push(Note::Expired { group: self.id.clone(), offsets: overdue.len() });
        let what = Change::Expire(overdue);
        self.queue.push_back(Queued { ticket: None, what, answer: None, by: None });
        self.write_next(core, turn);
    }
}
