//! A consumer that processes what it consumes in transactions, as a consume-process-produce
//! application does (KIP-447): what it made of some records and how far it has come count together or
//! not at all.
//!
//! One transaction after the other: announce the output, write to it, announce the group, commit the
//! offsets, end. Errors are those of the Java client's table. One thing it does beyond: whenever an
//! answer stayed out, it has its epoch bumped before the next transaction, since under the same epoch
//! a request that arrives late would be one of the next (the hole that KIP-890 describes).

use std::time::Duration;

use kaas_coordinator::{
    api::{
        AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, CommitOffset, EndTxnRequest, ErrorCode,
        InitProducerIdRequest, Producer, Request, Response, TxnOffsetCommitRequest,
    },
    ids::{MemberId, TopicPartition, TransactionalId},
};

use super::{Call, Consumer, Phase};
use crate::{
    client::{
        BACKOFF, Cx, REQUEST_TIMEOUT,
        rpc::{Answered, Rpc},
    },
    milestone::Milestone,
    output::Effect,
    trace,
};

/// How long an application that was fenced takes to start again, in microseconds.
const RESTART: u64 = 1_000_000;
/// How long after the end somebody may ask for the other one, in microseconds.
const SECOND_THOUGHTS: u64 = 3_000_000;

/// What a consumer that uses transactions knows of them.
#[derive(Debug)]
pub(super) struct Transactions {
    id: TransactionalId,
    timeout: Duration,
    rpc: Rpc<Step>,
    producer: Option<Producer>,
    stage: Stage,
    /// When the stage's request is sent, again if it must be.
    at: u64,
    open: Option<Open>,
    /// An answer stayed out, so something may still be on its way under this epoch.
    is_doubtful: bool,
    /// It finishes what it has begun, and begins nothing.
    is_draining: bool,
}

/// What a request to the transaction's coordinator is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Init,
    AddPartitions,
    AddOffsets,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Does not know who it is.
    Init,
    /// Is in no transaction.
    Idle,
    /// Announces the output.
    AddPartitions,
    /// Announces the group.
    AddOffsets,
    /// Commits the offsets.
    Commit,
    /// Ends the transaction.
    End { commit: bool },
    /// Asks for the other end of the one that is over, which must be refused.
    SecondThoughts { commit: bool },
}

/// The transaction that it is in.
#[derive(Debug)]
struct Open {
    number: u64,
    /// The records `from..to` of each partition.
    ranges: Vec<(TopicPartition, i64, i64)>,
    /// The membership under which it was given the partitions; a generation alone is none, since
    /// the next coordinator counts anew.
    membership: (MemberId, i32),
}

impl Transactions {
    pub(super) fn new(id: &str, timeout: Duration, bootstrap: usize, start: u64) -> Self {
        let mut rpc = Rpc::for_transactions(id, bootstrap);
        rpc.start_at(start);
        Self {
            id: id.into(),
            timeout,
            rpc,
            producer: None,
            stage: Stage::Init,
            at: start,
            open: None,
            is_doubtful: false,
            is_draining: false,
        }
    }

    fn next(&mut self, stage: Stage, at: u64) {
        (self.stage, self.at) = (stage, at);
    }

    /// Its process begins anew at `start`.
    pub(super) fn begin_anew(&mut self, cx: &mut Cx<'_>, start: u64) {
        self.rpc.forget_everything(cx, start);
        (self.open, self.producer, self.is_doubtful) = (None, None, false);
        self.next(Stage::Init, start);
    }

    /// It is in no transaction any more.
    fn rest(&mut self, now: u64) {
        self.next(if self.is_doubtful { Stage::Init } else { Stage::Idle }, now);
    }

    /// The request of the stage, if that is one to the transaction's coordinator.
    fn request(&self, output: &str) -> Option<(Step, Request)> {
        let transactional_id = self.id.clone();
        let producer = self.producer.unwrap_or(Producer::NONE);
        Some(match self.stage {
            Stage::Idle | Stage::Commit => return None,
            Stage::Init => {
                let (transactional_id, timeout) = (Some(transactional_id), self.timeout);
                let producer = self.producer;
                let it = InitProducerIdRequest { transactional_id, timeout, producer };
                (Step::Init, Request::InitProducerId(it))
            }
            Stage::AddPartitions => {
                let partitions = vec![TopicPartition::new(output, 0)];
                let it = AddPartitionsToTxnRequest { transactional_id, producer, partitions };
                (Step::AddPartitions, Request::AddPartitionsToTxn(it))
            }
            Stage::AddOffsets => {
                let group = output.into();
                let it = AddOffsetsToTxnRequest { transactional_id, producer, group };
                (Step::AddOffsets, Request::AddOffsetsToTxn(it))
            }
            Stage::End { commit } | Stage::SecondThoughts { commit } => {
                let it = EndTxnRequest { transactional_id, producer, commit };
                (Step::End, Request::EndTxn(it))
            }
        })
    }
}

impl Consumer {
    /// Why it could not begin a transaction, if so.
    pub fn busy_with(&self) -> Option<&'static str> {
        match self.transactions.as_ref()?.stage {
            Stage::Idle => None,
            Stage::Init if !self.is_up() => None,
            Stage::Init => Some("is not told who it is as a producer"),
            Stage::AddPartitions | Stage::AddOffsets | Stage::Commit => {
                Some("can't end its transaction")
            }
            Stage::End { .. } | Stage::SecondThoughts { .. } => Some("can't end its transaction"),
        }
    }

    /// Begins no transaction any more.
    pub fn drain(&mut self) {
        if let Some(it) = &mut self.transactions {
            it.is_draining = true;
        }
    }

    /// Looks for the coordinator of its transactions and gives up what is late.
    pub(super) fn tick_transactions(&mut self, cx: &mut Cx<'_>) {
        let Some(it) = &mut self.transactions else { return };
        for late in it.rpc.tick(cx) {
            self.step_unanswered(cx, late);
        }
    }

    /// Does what is due in a transaction, or begins one.
    pub(super) fn go_on_in_transaction(&mut self, cx: &mut Cx<'_>) {
        let Some(it) = &mut self.transactions else { return };
        if it.stage == Stage::Idle && self.is_time_for_transaction(cx.now) {
            self.begin_transaction(cx);
        }
        let Some(it) = &mut self.transactions else { return };
        if it.at > cx.now {
            return;
        }
        if it.stage == Stage::Commit {
            self.commit_in_transaction(cx);
            return;
        }
        let Some((step, request)) = it.request(self.group.as_str()) else { return };
        if it.rpc.coordinator().is_some() && !it.rpc.is_due(step) {
            it.at = u64::MAX;
            it.rpc.call(cx, step, request, REQUEST_TIMEOUT);
        }
    }

    fn is_time_for_transaction(&self, now: u64) -> bool {
        self.commit_at <= now && self.may_begin_transaction()
    }

    fn may_begin_transaction(&self) -> bool {
        let is_draining = self.transactions.as_ref().is_some_and(|it| it.is_draining);
        self.phase == Phase::Consuming && !self.owned.is_empty() && !is_draining
    }

    fn begin_transaction(&mut self, cx: &mut Cx<'_>) {
        let Some(it) = &mut self.transactions else { return };
        let producer = it.producer.expect("it knows who it is when it is idle");
        self.commit_at = u64::MAX;
        let mut ranges = Vec::with_capacity(self.owned.len());
        for (partition, position) in &self.owned {
            let records = if cx.is_fixed { 1 } else { 1 + cx.stream.below(10) };
            let records = i64::try_from(records).expect("a small number");
            ranges.push((partition.clone(), *position, *position + records));
        }
        let number = cx.lens.txn_begins(cx.name, producer);
        let membership = (self.member_id.clone(), self.generation);
        it.open = Some(Open { number, ranges, membership });
        it.next(Stage::AddPartitions, cx.now);
    }

    /// TxnOffsetCommit goes to the coordinator of the group.
    fn commit_in_transaction(&mut self, cx: &mut Cx<'_>) {
        let Some(it) = &mut self.transactions else { return };
        if self.rpc.coordinator().is_none() || self.rpc.is_due(Call::CommitInTxn) {
            return;
        }
        it.at = u64::MAX;
        let open = it.open.as_ref().expect("a transaction is open");
        let offset = |(partition, _, to): &(TopicPartition, i64, i64)| CommitOffset {
            partition: partition.clone(),
            offset: *to,
            leader_epoch: -1,
            metadata: cx.lens.next_write(),
        };
        let request = TxnOffsetCommitRequest {
            group: self.group.clone(),
            transactional_id: it.id.clone(),
            producer: it.producer.unwrap_or(Producer::NONE),
            generation: open.membership.1,
            member_id: open.membership.0.clone(),
            instance: self.instance.clone(),
            offsets: open.ranges.iter().map(offset).collect(),
        };
        self.rpc.call(cx, Call::CommitInTxn, Request::TxnOffsetCommit(request), REQUEST_TIMEOUT);
    }

    /// An answer has arrived that may be the transaction coordinator's; whether it is.
    pub(super) fn answered_in_transaction(
        &mut self,
        cx: &mut Cx<'_>,
        request: u64,
        response: &Response,
    ) -> bool {
        let Some(it) = self.transactions.as_mut().filter(|it| it.rpc.knows(request)) else {
            return false;
        };
        if let Answered::For(step, response) = it.rpc.answered(cx, request, response.clone()) {
            self.take_step(cx, step, &response);
        }
        self.go_on(cx);
        true
    }

    fn take_step(&mut self, cx: &mut Cx<'_>, step: Step, response: &Response) {
        let Some(it) = &mut self.transactions else { return };
        let error = match (step, it.stage, response) {
            (Step::Init, Stage::Init, Response::InitProducerId(response)) => {
                if response.error.is_none() {
                    it.producer = Some(response.producer);
                    it.is_doubtful = false;
                    it.next(Stage::Idle, u64::MAX);
                    return;
                }
                response.error
            }
            (Step::AddPartitions, Stage::AddPartitions, Response::AddPartitionsToTxn(verdicts)) => {
                let error = verdicts.iter().map(|it| it.1).find(|it| !it.is_none());
                match error {
                    Some(error) => error,
                    None => return self.write_output(cx),
                }
            }
            (Step::AddOffsets, Stage::AddOffsets, Response::AddOffsetsToTxn(error)) => {
                if error.is_none() {
                    it.next(Stage::Commit, cx.now);
                    return;
                }
                *error
            }
            (Step::End, Stage::End { commit }, Response::EndTxn(error)) => {
                if error.is_none() {
                    self.ended(cx, commit);
                    return;
                }
                *error
            }
            (Step::End, Stage::SecondThoughts { .. }, Response::EndTxn(error)) => {
                if matches!(error, ErrorCode::None | ErrorCode::InvalidTxnState) {
                    it.rest(cx.now);
                    return;
                }
                *error
            }
            // What comes after a change of stage is about a transaction that is given up.
            _ => return,
        };
        self.refused_in_transaction(cx, error);
    }

    fn write_output(&mut self, cx: &mut Cx<'_>) {
        let Some(it) = &mut self.transactions else { return };
        let open = it.open.as_ref().expect("a transaction is open");
        let group = self.group.shared();
        let effect = |(partition, from, to): &(TopicPartition, i64, i64)| Effect {
            txn: open.number,
            group: group.clone(),
            partition: partition.clone(),
            from: *from,
            to: *to,
        };
        let effects = open.ranges.iter().map(effect).collect();
        match cx.output.append(it.producer.unwrap_or(Producer::NONE), effects) {
            Ok(()) => it.next(Stage::AddOffsets, cx.now),
            Err(_) => self.fenced(cx, ErrorCode::ProducerFenced),
        }
    }

    /// The answer to a TxnOffsetCommit.
    pub(super) fn committed_in_transaction(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        let Some(it) = self.transactions.as_mut().filter(|it| it.stage == Stage::Commit) else {
            return;
        };
        match error {
            ErrorCode::None => {
                let commit = !cx.sometimes();
                it.next(Stage::End { commit }, cx.now);
            }
            ErrorCode::NotCoordinator
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::RequestTimedOut => {
                it.at = cx.now + BACKOFF;
                self.rpc.forget_coordinator(cx);
            }
            ErrorCode::CoordinatorLoadInProgress => it.at = cx.now + BACKOFF,
            ErrorCode::IllegalGeneration
            | ErrorCode::UnknownMemberId
            | ErrorCode::FencedInstanceId
            | ErrorCode::RebalanceInProgress => {
                cx.record.reach(Milestone::TxnLostItsMember);
                self.told_to_rejoin(cx, error);
            }
            error => self.refused_in_transaction(cx, error),
        }
    }

    fn refused_in_transaction(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        let Some(it) = &mut self.transactions else { return };
        match error {
            ErrorCode::NotCoordinator
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::RequestTimedOut => {
                it.rpc.forget_coordinator(cx);
                it.at = cx.now + BACKOFF;
            }
            ErrorCode::CoordinatorLoadInProgress | ErrorCode::ConcurrentTransactions => {
                it.at = cx.now + BACKOFF;
            }
            ErrorCode::ProducerFenced
            | ErrorCode::InvalidProducerEpoch
            | ErrorCode::InvalidProducerIdMapping
            | ErrorCode::InvalidTxnState => self.fenced(cx, error),
            fatal => self.fail(cx, fatal),
        }
    }

    fn ended(&mut self, cx: &mut Cx<'_>, commit: bool) {
        let Some(it) = &mut self.transactions else { return };
        let open = it.open.take().expect("a transaction was open");
        it.rest(cx.now);
        if cx.sometimes() {
            // What is told may depend on whether all markers have arrived.
            let later = cx.now + cx.stream.below(SECOND_THOUGHTS);
            it.next(Stage::SecondThoughts { commit: !commit }, later);
        }
        if commit {
            let done = open.ranges.iter().map(|(partition, _, to)| (partition, *to));
            cx.record.tell(cx.name, || format!("has processed {}", trace::positions(done, "to")));
            cx.record.reach(Milestone::TxnCommitted);
        } else {
            cx.record.tell(cx.name, || "aborts its transaction".to_owned());
            cx.record.reach(Milestone::TxnAborted);
        }
        let is_same = open.membership == (self.member_id.clone(), self.generation);
        if self.phase != Phase::Consuming || !is_same {
            return;
        }
        self.commit_at = cx.now + self.settings.commit_every;
        if commit {
            for ((_, position), (_, _, to)) in self.owned.iter_mut().zip(open.ranges) {
                *position = to;
            }
        } else {
            // It begins again where it was before.
            self.phase = Phase::Fetching;
            self.fetch_at = cx.now;
        }
    }

    /// Somebody else is this producer now, or has ended its transaction: the application begins anew.
    fn fenced(&mut self, cx: &mut Cx<'_>, error: ErrorCode) {
        cx.record.tell(cx.name, || format!("is fenced: {error}"));
        cx.record.reach(Milestone::ProducerFenced);
        self.say_goodbye(cx);
        self.begin_anew(cx, RESTART);
    }

    /// It loses its partitions: what it has begun with them must not count.
    pub(super) fn give_up_transaction(&mut self, now: u64) {
        let is_due = self.rpc.is_due(Call::CommitInTxn);
        let Some(it) = &mut self.transactions else { return };
        if matches!(it.stage, Stage::AddPartitions | Stage::AddOffsets | Stage::Commit) {
            it.is_doubtful |= is_due || !it.rpc.is_quiet();
            it.next(Stage::End { commit: false }, now);
        }
    }

    /// The connection under a request is gone that may be one to the transaction's coordinator;
    /// whether it is.
    pub(super) fn lost_in_transaction(&mut self, cx: &mut Cx<'_>, request: u64) -> bool {
        let Some(it) = self.transactions.as_mut().filter(|it| it.rpc.knows(request)) else {
            return false;
        };
        if let Some(step) = it.rpc.lost(cx, request) {
            self.step_unanswered(cx, step);
        }
        true
    }

    fn step_unanswered(&mut self, cx: &mut Cx<'_>, step: Step) {
        let Some(it) = &mut self.transactions else { return };
        it.is_doubtful = true;
        it.at = cx.now + BACKOFF;
        let what = match step {
            Step::Init => "init",
            Step::AddPartitions => "add partitions",
            Step::AddOffsets => "add offsets",
            Step::End => "end",
        };
        if step == Step::End {
            cx.record.reach(Milestone::EndTxnUnanswered);
        }
        cx.record.unanswered(cx.name, what);
    }

    /// Whether a TxnOffsetCommit was stored is not known.
    pub(super) fn commit_in_transaction_unanswered(&mut self, now: u64) -> bool {
        let Some(it) = &mut self.transactions else { return false };
        it.is_doubtful = true;
        let is_waiting = it.stage == Stage::Commit;
        if is_waiting {
            it.at = now + BACKOFF;
        }
        is_waiting
    }

    /// When its transactions want it to be woken.
    pub(super) fn next_wake_in_transaction(&self) -> u64 {
        let Some(it) = &self.transactions else { return u64::MAX };
        let own = match it.stage {
            Stage::Idle if self.may_begin_transaction() => self.commit_at,
            Stage::Idle => u64::MAX,
            Stage::Commit => {
                let can_send = self.rpc.coordinator().is_some();
                if can_send && !self.rpc.is_due(Call::CommitInTxn) { it.at } else { u64::MAX }
            }
            Stage::Init
            | Stage::AddPartitions
            | Stage::AddOffsets
            | Stage::End { .. }
            | Stage::SecondThoughts { .. } => {
                let can_send = it.rpc.coordinator().is_some();
                if can_send && it.rpc.is_quiet() { it.at } else { u64::MAX }
            }
        };
        own.min(it.rpc.next_wake())
    }
}
