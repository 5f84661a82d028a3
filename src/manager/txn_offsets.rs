//! Offsets of transactions: TxnOffsetCommit, the markers that end a transaction, and what is left of
//! transactions whose marker never comes.
//!
//! A TxnOffsetCommit is verified with the transaction's coordinator before it is stored. The answer
//! may be overtaken by the transaction's own marker, so whatever was being verified when a marker of
//! its producer arrived is verified again: behind its marker a transaction stores nothing. Across a
//! change of owners the claim does the same, since the old owner can't store any more.

use super::{
    Because, Core, Job, Turn,
    entry::{Committer, Entry, Queued, Read, Store},
};
use crate::{
    api::{
        ErrorCode, KeyType, Request, Response, TxnMarkerRequest, TxnOffsetCommitRequest,
        TxnOutcome, TxnOutcomeRequest, VerifyTxnRequest,
    },
    group::Ticket,
    ids::TransactionalId,
    offset_store::{batch::Change, pending::Transaction},
};

/// A TxnOffsetCommit whose transaction is being verified.
pub(super) struct Verifying {
    pub(super) ticket: Ticket,
    pub(super) request: TxnOffsetCommitRequest,
    /// A marker of the producer has arrived since the question was asked.
    is_overtaken: bool,
}

impl Entry {
    /// TxnOffsetCommit (table 2.7 of Kafka's behaviour; an absent group is created, as by Kafka's
    /// coordinator of 3.7).
    pub(super) fn commit_in_txn(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: TxnOffsetCommitRequest,
    ) {
        if self.group.is_none() {
            self.create_group();
        }
        core.be_patient(turn.now, ticket, Some(&self.id));
        self.verify(core, turn, Verifying { ticket, request, is_overtaken: false });
    }

    fn verify(&mut self, core: &mut Core, turn: &Turn<'_>, verifying: Verifying) {
        let Verifying { ticket, request, .. } = &verifying;
        let ask = Request::VerifyTxn(VerifyTxnRequest {
            transactional_id: request.transactional_id.clone(),
            producer: request.producer,
            group: self.id.clone(),
        });
        let because =
            Because::Verify { group: self.id.clone(), serial: self.serial, ticket: *ticket };
        if !core.ask_coordinator(&request.transactional_id, ask, because) {
            let refused = refused(request, ErrorCode::CoordinatorNotAvailable);
            core.answer(turn.now, &self.id, *ticket, refused);
            return;
        }
        self.verifying.push(verifying);
    }

    /// The transaction's coordinator has answered, or nobody has in time.
    pub(super) fn verified(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        answer: Option<Response>,
    ) {
        // Who waited may have been answered already.
        let Some(at) = self.verifying.iter().position(|it| it.ticket == ticket) else { return };
        let mut verifying = self.verifying.remove(at);
        let verdict = match answer {
            Some(Response::VerifyTxn(it)) if it.error.is_none() => Ok(it.transaction),
            Some(Response::VerifyTxn(it)) => Err(after_verification(it.error)),
            Some(_) => Err(ErrorCode::UnknownServerError),
            // The network's fault; an old producer does not know how to go on from there, but all
            // know how to wait (KAFKA-16386).
            None => Err(ErrorCode::CoordinatorLoadInProgress),
        };
        match verdict {
            Ok(_) if verifying.is_overtaken => {
                verifying.is_overtaken = false;
                self.verify(core, turn, verifying);
            }
            Ok(number) => self.store_in_txn(core, turn, verifying, number),
            Err(error) => {
                let refused = refused(&verifying.request, error);
                core.answer(turn.now, &self.id, ticket, refused);
            }
        }
    }

    fn store_in_txn(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        verifying: Verifying,
        number: u64,
    ) {
        let Verifying { ticket, request, .. } = verifying;
        let by = Committer {
            generation: request.generation,
            member_id: request.member_id.clone(),
            instance: request.instance.clone(),
        };
        if let Err(error) = self.may_commit_in_txn(&by) {
            core.answer(turn.now, &self.id, ticket, refused(&request, error));
            return;
        }
        let (offsets, verdicts) = self.fitting(core, &request.offsets);
        let answer = Response::TxnOffsetCommit(verdicts);
        if offsets.is_empty() {
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        let transaction = Transaction {
            transactional_id: request.transactional_id,
            producer: request.producer,
            number,
        };
        let what = Change::CommitInTxn { transaction, offsets, now_ms: turn.unix_ms };
        let (ticket, answer, by) = (Some(ticket), Some(answer), Some(by));
        self.queue.push_back(Queued { ticket, what, answer, by });
        self.write_next(core, turn);
    }

    /// Whether the sender of a TxnOffsetCommit is who it says.
    pub(super) fn may_commit_in_txn(&self, by: &Committer) -> Result<(), ErrorCode> {
        match &self.group {
            Some(group) => {
                group.check_txn_commit(by.generation, &by.member_id, by.instance.as_ref())
            }
            // It was deleted since, or its members were forgotten with the claim (KAFKA-15784).
            None => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }

    /// A transaction is over. The marker takes its turn behind everything that it may mean; with
    /// nothing to end, it is acknowledged once the claim is known to stand: somebody else may have
    /// stored what it means.
    pub(super) fn end_txn(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: TxnMarkerRequest,
    ) {
        for it in &mut self.verifying {
            it.is_overtaken |= it.request.producer.id == request.producer.id;
        }
        core.be_patient(turn.now, ticket, Some(&self.id));
        if self.has_pending_of(request.producer.id) {
            self.queue_marker(core, turn, ticket, &request);
        } else {
            self.reads.push((ticket, Read::Marker(request)));
            self.check_next(core);
        }
    }

    /// The claim stands: the marker may be acknowledged unless something came for it to end.
    pub(super) fn checked_marker(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &TxnMarkerRequest,
    ) {
        if self.has_pending_of(request.producer.id) {
            self.queue_marker(core, turn, ticket, request);
        } else {
            core.answer(turn.now, &self.id, ticket, Response::TxnMarker(ErrorCode::None));
        }
    }

    fn queue_marker(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        ticket: Ticket,
        request: &TxnMarkerRequest,
    ) {
        let &TxnMarkerRequest { producer, transaction, commit, .. } = request;
        let what = Change::EndTxn { producer, transaction, commit };
        let answer = Some(Response::TxnMarker(ErrorCode::None));
        self.queue.push_back(Queued { ticket: Some(ticket), what, answer, by: None });
        self.write_next(core, turn);
    }

    /// Whether a producer has offsets here that wait for a marker, or are about to.
    fn has_pending_of(&self, producer_id: i64) -> bool {
        let stored = matches!(
            &self.store,
            Store::Ready { file, .. } if file.pending.has_producer(producer_id)
        );
        let writing = self.writing.iter().flat_map(|it| &it.changes);
        let is_of = |change: &Queued| match &change.what {
            Change::CommitInTxn { transaction, .. } => transaction.producer.id == producer_id,
            Change::EndTxn { producer, .. } => producer.id == producer_id,
            Change::Commit { .. }
            | Change::DeleteOffsets(_)
            | Change::Expire(_)
            | Change::DeleteGroup
            | Change::Stamp { .. }
            | Change::Touch => false,
        };
        stored || writing.chain(&self.queue).any(is_of)
    }

    /// Asks what became of transactions that have been pending for longer than any may be open:
    /// their coordinator has lost track of them, or is late.
    pub(super) fn ask_about_orphans(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let Store::Ready { file, .. } = &self.store else { return };
        let age = core.config.offsets.txn_orphan_after;
        let pending = file.pending.transactions();
        let old = pending.filter(|it| it.is_older_than(age, turn.unix_ms));
        for it in old {
            let transaction = it.transaction.clone();
            let ask = Request::TxnOutcome(TxnOutcomeRequest {
                transactional_id: transaction.transactional_id.clone(),
                producer_id: transaction.producer.id,
                transaction: transaction.number,
            });
            let id = transaction.transactional_id.clone();
            let because =
                Because::Outcome { group: self.id.clone(), serial: self.serial, transaction };
            core.ask_coordinator(&id, ask, because);
        }
    }

    /// What the transaction's coordinator knows of an old one. If it is over, no marker will come:
    /// what it left here is nobody's, and was never promised to anybody.
    pub(super) fn heard_outcome(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        transaction: &Transaction,
        answer: Option<&Response>,
    ) {
        if !matches!(answer, Some(Response::TxnOutcome(Ok(TxnOutcome::Over)))) {
            return;
        }
        let &Transaction { producer, number, .. } = transaction;
        let what = Change::EndTxn { producer, transaction: number, commit: false };
        self.queue.push_back(Queued { ticket: None, what, answer: None, by: None });
        self.write_next(core, turn);
    }
}

impl Core {
    /// Asks the coordinator of a transactional id; whether there is one to ask.
    fn ask_coordinator(
        &mut self,
        id: &TransactionalId,
        request: Request,
        because: Because,
    ) -> bool {
        let owner = self.coordinator.owner(KeyType::Transaction, id.as_str()).cloned();
        let Some(broker) = owner else { return false };
        self.jobs.push(Job::Call { broker, request, because });
        true
    }
}

/// What the client hears of a verification that failed (table 1 of Kafka's behaviour): its own
/// coordinator is this one, so the other's troubles are not for it to solve.
fn after_verification(error: ErrorCode) -> ErrorCode {
    let is_for_later = matches!(
        error,
        ErrorCode::ConcurrentTransactions
            | ErrorCode::CoordinatorLoadInProgress
            | ErrorCode::CoordinatorNotAvailable
            | ErrorCode::RequestTimedOut
            | ErrorCode::NotCoordinator
    );
    if is_for_later {
        return ErrorCode::CoordinatorNotAvailable;
    }
    if error == ErrorCode::ProducerFenced { ErrorCode::InvalidProducerEpoch } else { error }
}

/// A refusal of every partition.
fn refused(request: &TxnOffsetCommitRequest, error: ErrorCode) -> Response {
    let offsets = request.offsets.iter();
    Response::TxnOffsetCommit(offsets.map(|it| (it.partition.clone(), error)).collect())
}
