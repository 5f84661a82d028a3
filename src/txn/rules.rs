//! What a request comes to, given the state of its transactional id (Kafka 3.7's
//! `TransactionCoordinator`).
//!
//! Pure functions: the same state and request come to the same verdict, whoever runs them and when.

use crate::{
    api::{
        EndTxnRequest, ErrorCode, InitProducerIdRequest, InitProducerIdResponse, Producer, Request,
        Response, TxnOutcome, TxnOutcomeRequest, VerifyTxnRequest, VerifyTxnResponse,
    },
    config::TxnConfig,
    ids::GroupId,
    txn::state::{Phase, State},
};

/// What a request comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Nothing changes.
    Answer(Response),
    /// This is to be written; then the answer is true.
    Change(Box<State>, Response),
    /// A producer id is needed, and none is at hand.
    NeedsId,
}

/// What is refused whatever the state and whoever coordinates the id, in Kafka's order.
pub(super) fn refusal(config: &TxnConfig, request: &Request) -> Option<ErrorCode> {
    if request.transactional_id().is_some_and(|id| id.is_empty()) {
        return Some(ErrorCode::InvalidRequest);
    }
    if let Request::InitProducerId(it) = request
        && it.transactional_id.is_some()
        && (it.timeout.as_millis() == 0 || it.timeout > config.timeout_max)
    {
        return Some(ErrorCode::InvalidTransactionTimeout);
    }
    // No group of that id can commit, and its marker would never be taken.
    let is_nobody = |group: &GroupId| group.is_empty();
    let is_for_nobody = matches!(request, Request::AddOffsetsToTxn(it) if is_nobody(&it.group));
    is_for_nobody.then_some(ErrorCode::InvalidGroupId)
}

/// The verdict on a request about one transactional id; `None` is an id that nobody has initialised.
/// `fresh` takes a producer id that was never given to anybody, if one is at hand.
pub(super) fn judge(
    state: Option<&State>,
    request: &Request,
    now_ms: i64,
    fresh: impl FnOnce() -> Option<i64>,
) -> Verdict {
    let checked = |producer| {
        state
            .ok_or(ErrorCode::InvalidProducerIdMapping)
            .and_then(|state| check(state, producer).map(|()| state))
    };
    let result = match request {
        Request::InitProducerId(it) => return init(state, it, now_ms, fresh),
        Request::AddPartitionsToTxn(it) => checked(it.producer).and_then(|state| {
            let is_there = it.partitions.iter().all(|it| state.partitions.contains(it));
            extend(state, is_there, || state.extended(&it.partitions, None, now_ms))
        }),
        Request::AddOffsetsToTxn(it) => checked(it.producer).and_then(|state| {
            let is_there = state.groups.contains(&it.group);
            extend(state, is_there, || state.extended(&[], Some(&it.group), now_ms))
        }),
        Request::EndTxn(it) => checked(it.producer).and_then(|state| end(state, it, now_ms)),
        Request::VerifyTxn(it) => return Verdict::Answer(Response::VerifyTxn(verify(state, it))),
        Request::TxnOutcome(it) => {
            return Verdict::Answer(Response::TxnOutcome(outcome(state, it)));
        }
        Request::FindCoordinator { .. }
        | Request::JoinGroup(_)
        | Request::SyncGroup(_)
        | Request::Heartbeat(_)
        | Request::LeaveGroup(_)
        | Request::OffsetCommit(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::DeleteGroups { .. }
        | Request::ListGroups { .. }
        | Request::DescribeGroups { .. }
        | Request::TxnOffsetCommit(_)
        | Request::TxnMarker(_) => unreachable!("is not about a transactional id"),
    };
    match result {
        Ok(Some(next)) => Verdict::Change(Box::new(next), request.refused(ErrorCode::None)),
        Ok(None) => Verdict::Answer(request.refused(ErrorCode::None)),
        Err(error) => Verdict::Answer(request.refused(error)),
    }
}

/// Only the current producer may go on.
fn check(state: &State, producer: Producer) -> Result<(), ErrorCode> {
    if state.producer.id != producer.id {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if state.producer.epoch != producer.epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    Ok(())
}

/// AddPartitionsToTxn and AddOffsetsToTxn; the next state if it differs.
fn extend(
    state: &State,
    is_there: bool,
    next: impl FnOnce() -> State,
) -> Result<Option<State>, ErrorCode> {
    match state.phase {
        Phase::PrepareCommit | Phase::PrepareAbort => Err(ErrorCode::ConcurrentTransactions),
        Phase::Ongoing if is_there => Ok(None),
        Phase::Ongoing | Phase::Empty | Phase::CompleteCommit | Phase::CompleteAbort => {
            Ok(Some(next()))
        }
    }
}

/// EndTxn; the next state if it is decided only now.
fn end(state: &State, request: &EndTxnRequest, now_ms: i64) -> Result<Option<State>, ErrorCode> {
    match (state.phase, request.commit) {
        (Phase::Ongoing, commit) => Ok(Some(state.decided(commit, now_ms))),
        // The producer has not heard of it, and asks again.
        (Phase::CompleteCommit, true) | (Phase::CompleteAbort, false) => Ok(None),
        (Phase::PrepareCommit, true) | (Phase::PrepareAbort, false) => {
            Err(ErrorCode::ConcurrentTransactions)
        }
        (Phase::CompleteCommit | Phase::PrepareCommit, false)
        | (Phase::CompleteAbort | Phase::PrepareAbort, true)
        | (Phase::Empty, _) => Err(ErrorCode::InvalidTxnState),
    }
}

/// InitProducerId of a transactional id (KIP-98, KIP-360).
fn init(
    state: Option<&State>,
    request: &InitProducerIdRequest,
    now_ms: i64,
    fresh: impl FnOnce() -> Option<i64>,
) -> Verdict {
    let refuse =
        |error| Verdict::Answer(Response::InitProducerId(InitProducerIdResponse::refused(error)));
    let become_of = |next: State| {
        let response = InitProducerIdResponse { error: ErrorCode::None, producer: next.producer };
        Verdict::Change(Box::new(next), Response::InitProducerId(response))
    };
    // Whoever names a producer that nobody knows here lost it to expiry, and begins anew.
    let Some(state) = state else {
        let Some(id) = fresh() else { return Verdict::NeedsId };
        return become_of(State::new(id, request.timeout, now_ms));
    };
    let current = state.producer;
    let given = request.producer.filter(|it| *it != Producer::NONE);
    let is_retry = given == Some(state.last);
    if given.is_some_and(|it| it != current) && !is_retry {
        return refuse(ErrorCode::ProducerFenced);
    }
    match state.phase {
        Phase::PrepareCommit | Phase::PrepareAbort => {
            return refuse(ErrorCode::ConcurrentTransactions);
        }
        // Who has opened a transaction has heard its epoch: a late copy of the question must not
        // abort it.
        Phase::Ongoing if is_retry => return refuse(ErrorCode::ProducerFenced),
        Phase::Ongoing => {
            let error = ErrorCode::ConcurrentTransactions;
            let answer = Response::InitProducerId(InitProducerIdResponse::refused(error));
            return Verdict::Change(Box::new(state.fenced(now_ms)), answer);
        }
        Phase::Empty | Phase::CompleteCommit | Phase::CompleteAbort => {}
    }
    let last = if given.is_some() { current } else { Producer::NONE };
    let (producer, last) = if is_retry {
        (current, state.last)
    } else if state.is_exhausted() {
        let Some(id) = fresh() else { return Verdict::NeedsId };
        (Producer { id, epoch: 0 }, last)
    } else {
        (Producer { id: current.id, epoch: current.epoch + 1 }, last)
    };
    become_of(state.initialised(producer, last, request.timeout, now_ms))
}

/// Whether a producer may commit offsets of a group now (KIP-890's verification, for groups).
fn verify(state: Option<&State>, request: &VerifyTxnRequest) -> VerifyTxnResponse {
    let verdict = || {
        let state = state.ok_or(ErrorCode::InvalidProducerIdMapping)?;
        let (current, given) = (state.producer, request.producer);
        if current.id == given.id && given.epoch > current.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        check(state, given)?;
        match state.phase {
            Phase::Ongoing if state.groups.contains(&request.group) => Ok(state.transaction),
            Phase::PrepareCommit | Phase::PrepareAbort => Err(ErrorCode::ConcurrentTransactions),
            Phase::Ongoing | Phase::Empty | Phase::CompleteCommit | Phase::CompleteAbort => {
                Err(ErrorCode::InvalidTxnState)
            }
        }
    };
    match verdict() {
        Ok(transaction) => VerifyTxnResponse { error: ErrorCode::None, transaction },
        Err(error) => VerifyTxnResponse::refused(error),
    }
}

/// What became of a transaction whose offsets have waited for long.
fn outcome(state: Option<&State>, request: &TxnOutcomeRequest) -> Result<TxnOutcome, ErrorCode> {
    // A producer id is left behind only when its last transaction is complete.
    let Some(state) = state.filter(|it| it.producer.id == request.producer_id) else {
        return Ok(TxnOutcome::Over);
    };
    // It was verified by a state that this one does not know of: an older file was put back.
    if request.transaction > state.transaction {
        return Err(ErrorCode::InvalidTxnState);
    }
    let is_current = request.transaction == state.transaction && !state.phase.is_settled();
    Ok(if is_current { TxnOutcome::Undecided } else { TxnOutcome::Over })
}

#[cfg(test)]
mod tests;
