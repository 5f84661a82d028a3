//! Kafka's rules, as tables: a state, a request, what it comes to.

use std::time::Duration;

use super::{Verdict, judge, refusal};
use crate::{
    api::{
        AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, ErrorCode,
        InitProducerIdRequest, Producer, Request, Response, TxnOutcome, TxnOutcomeRequest,
        VerifyTxnRequest,
    },
    config::TxnConfig,
    ids::TopicPartition,
    txn::state::{EPOCH_MAX, Phase, State},
};

const NOW: i64 = 5000;
const ME: Producer = Producer { id: 7, epoch: 3 };
const OLDER: Producer = Producer { id: 7, epoch: 2 };
const NEWER: Producer = Producer { id: 7, epoch: 4 };
const OTHER: Producer = Producer { id: 8, epoch: 3 };

const ALL: [Phase; 6] = [
    Phase::Empty,
    Phase::Ongoing,
    Phase::PrepareCommit,
    Phase::PrepareAbort,
    Phase::CompleteCommit,
    Phase::CompleteAbort,
];

/// Transaction 5 of [`ME`] in this phase, with group `g` and partition `orders/0` while there are any.
fn state(phase: Phase) -> State {
    let mut state = State::new(ME.id, Duration::from_secs(60), 1000);
    state.producer = ME;
    state.transaction = 4;
    let open = state.extended(&[TopicPartition::new("orders", 0)], Some(&"g".into()), 2000);
    match phase {
        Phase::Empty => State { transaction: 5, ..state },
        Phase::Ongoing => open,
        Phase::PrepareCommit | Phase::PrepareAbort => {
            open.decided(phase == Phase::PrepareCommit, 3000)
        }
        Phase::CompleteCommit | Phase::CompleteAbort => {
            open.completed(phase == Phase::CompleteCommit, 4000)
        }
    }
}

fn run(state: Option<&State>, request: &Request) -> Verdict {
    judge(state, request, NOW, || Some(100))
}

fn init(producer: Option<Producer>) -> Request {
    let timeout = Duration::from_secs(30);
    let transactional_id = Some("id".into());
    Request::InitProducerId(InitProducerIdRequest { transactional_id, timeout, producer })
}

fn add_group(producer: Producer, group: &str) -> Request {
    let (transactional_id, group) = ("id".into(), group.into());
    Request::AddOffsetsToTxn(AddOffsetsToTxnRequest { transactional_id, producer, group })
}

fn add_partition(producer: Producer, partition: i32) -> Request {
    let partitions = vec![TopicPartition::new("orders", partition)];
    let transactional_id = "id".into();
    Request::AddPartitionsToTxn(AddPartitionsToTxnRequest {
        transactional_id,
        producer,
        partitions,
    })
}

fn end(producer: Producer, commit: bool) -> Request {
    Request::EndTxn(EndTxnRequest { transactional_id: "id".into(), producer, commit })
}

/// The error, and the state that is to be written if one is.
fn outcome(state: Option<&State>, request: &Request) -> (ErrorCode, Option<State>) {
    let (response, next) = match run(state, request) {
        Verdict::Answer(response) => (response, None),
        Verdict::Change(next, response) => (response, Some(*next)),
        Verdict::NeedsId => panic!("an id is at hand"),
    };
    let refusal = |error: &ErrorCode| request.refused(*error) == response;
    let known = [
        ErrorCode::InvalidProducerIdMapping,
        ErrorCode::ProducerFenced,
        ErrorCode::ConcurrentTransactions,
        ErrorCode::InvalidTxnState,
        ErrorCode::InvalidProducerEpoch,
    ];
    let error = known.into_iter().find(refusal).unwrap_or(ErrorCode::None);
    assert_eq!(error.is_none(), response.is_success(), "{response:?}");
    (error, next)
}

fn check(phase: Phase, request: &Request, error: ErrorCode, next: Option<Phase>) {
    let (was, becomes) = outcome(Some(&state(phase)), request);
    let becomes = becomes.map(|it| it.phase);
    assert_eq!((was, becomes), (error, next), "{request:?} while {}", phase.name());
}

#[test]
fn only_the_current_producer_goes_on() {
    for phase in ALL {
        for request in [|it| add_group(it, "g"), |it| add_partition(it, 0), |it| end(it, true)] {
            check(phase, &request(OTHER), ErrorCode::InvalidProducerIdMapping, None);
            check(phase, &request(OLDER), ErrorCode::ProducerFenced, None);
            check(phase, &request(NEWER), ErrorCode::ProducerFenced, None);
            let unknown = outcome(None, &request(ME));
            assert_eq!(unknown, (ErrorCode::InvalidProducerIdMapping, None));
        }
    }
}

#[test]
fn what_is_added_opens_a_transaction_once() {
    for phase in [Phase::Empty, Phase::CompleteCommit, Phase::CompleteAbort] {
        for request in [add_group(ME, "h"), add_partition(ME, 1)] {
            check(phase, &request, ErrorCode::None, Some(Phase::Ongoing));
            let next = outcome(Some(&state(phase)), &request).1.unwrap();
            assert_eq!((next.transaction, next.opened_ms, next.opened_epoch), (6, NOW, 3));
            assert_eq!(next.partitions.len() + next.groups.len(), 1, "nothing of the one before");
        }
    }
    for request in [add_group(ME, "h"), add_partition(ME, 1)] {
        let next = outcome(Some(&state(Phase::Ongoing)), &request).1.unwrap();
        assert_eq!((next.transaction, next.opened_ms), (5, 2000));
        assert_eq!(next.partitions.len() + next.groups.len(), 3);
        for phase in [Phase::PrepareCommit, Phase::PrepareAbort] {
            check(phase, &request, ErrorCode::ConcurrentTransactions, None);
        }
    }
    check(Phase::Ongoing, &add_group(ME, "g"), ErrorCode::None, None);
    check(Phase::Ongoing, &add_partition(ME, 0), ErrorCode::None, None);
}

#[test]
fn a_transaction_ends_as_it_was_decided() {
    use ErrorCode::{ConcurrentTransactions as Wait, InvalidTxnState as Never, None as Done};
    use Phase::{CompleteAbort, CompleteCommit, Empty, Ongoing, PrepareAbort, PrepareCommit};
    for (phase, on_commit, on_abort) in [
        (Empty, (Never, None), (Never, None)),
        (Ongoing, (Done, Some(PrepareCommit)), (Done, Some(PrepareAbort))),
        (PrepareCommit, (Wait, None), (Never, None)),
        (PrepareAbort, (Never, None), (Wait, None)),
        (CompleteCommit, (Done, None), (Never, None)),
        (CompleteAbort, (Never, None), (Done, None)),
    ] {
        check(phase, &end(ME, true), on_commit.0, on_commit.1);
        check(phase, &end(ME, false), on_abort.0, on_abort.1);
    }
    let next = outcome(Some(&state(Ongoing)), &end(ME, true)).1.unwrap();
    assert_eq!((next.producer, next.opener(), next.groups.len()), (ME, ME, 1));
}

/// Who the producer is then, or why not; and the last one.
fn initialised(
    state: Option<&State>,
    given: Option<Producer>,
) -> Result<(Producer, Producer), ErrorCode> {
    let (error, next) = outcome(state, &init(given));
    if !error.is_none() {
        return Err(error);
    }
    let next = next.expect("a success is always written");
    assert_eq!((next.phase, next.timeout_ms, next.changed_ms), (Phase::Empty, 30_000, NOW));
    assert!(next.groups.is_empty() && next.partitions.is_empty());
    Ok((next.producer, next.last))
}

#[test]
fn init_raises_the_epoch_and_fences() {
    let first = Producer { id: 100, epoch: 0 };
    assert_eq!(initialised(None, None), Ok((first, Producer::NONE)));
    assert_eq!(initialised(None, Some(ME)), Ok((first, Producer::NONE)), "its id has expired");
    for phase in [Phase::Empty, Phase::CompleteCommit, Phase::CompleteAbort] {
        let state = state(phase);
        let init = |given| initialised(Some(&state), given);
        assert_eq!(init(None), Ok((NEWER, Producer::NONE)));
        assert_eq!(init(Some(Producer::NONE)), Ok((NEWER, Producer::NONE)));
        assert_eq!(init(Some(ME)), Ok((NEWER, ME)));
        for stranger in [OLDER, NEWER, OTHER] {
            assert_eq!(init(Some(stranger)), Err(ErrorCode::ProducerFenced));
        }
    }
    for phase in [Phase::PrepareCommit, Phase::PrepareAbort] {
        let wait = Err(ErrorCode::ConcurrentTransactions);
        assert_eq!(initialised(Some(&state(phase)), None), wait);
        assert_eq!(initialised(Some(&state(phase)), Some(ME)), wait);
        let fenced = initialised(Some(&state(phase)), Some(OLDER));
        assert_eq!(fenced, Err(ErrorCode::ProducerFenced));
    }
}

#[test]
fn init_aborts_what_is_open_before_anything_else() {
    for given in [None, Some(ME)] {
        let (error, next) = outcome(Some(&state(Phase::Ongoing)), &init(given));
        let next = next.expect("the abort is written");
        assert_eq!((error, next.phase), (ErrorCode::ConcurrentTransactions, Phase::PrepareAbort));
        assert_eq!((next.producer, next.opener(), next.last), (NEWER, ME, Producer::NONE));
        let done = next.completed(false, NOW);
        let fifth = Producer { id: 7, epoch: 5 };
        assert_eq!(initialised(Some(&done), None), Ok((fifth, Producer::NONE)));
    }
    let (error, next) = outcome(Some(&state(Phase::Ongoing)), &init(Some(OTHER)));
    assert_eq!((error, next), (ErrorCode::ProducerFenced, None));
}

#[test]
fn a_repeated_init_hears_the_same_again() {
    let mut after = state(Phase::CompleteCommit);
    (after.producer, after.last) = (NEWER, ME);
    assert_eq!(initialised(Some(&after), Some(ME)), Ok((NEWER, ME)));
    assert_eq!(initialised(Some(&after), Some(OLDER)), Err(ErrorCode::ProducerFenced));
    after.phase = Phase::Ongoing;
    let late = outcome(Some(&after), &init(Some(ME)));
    assert_eq!(late, (ErrorCode::ProducerFenced, None), "it must not abort what is open");
}

#[test]
fn an_exhausted_producer_id_is_replaced() {
    let fresh = Producer { id: 100, epoch: 0 };
    for epoch in [EPOCH_MAX, i16::MAX] {
        let mut state = state(Phase::CompleteAbort);
        state.producer.epoch = epoch;
        let mine = state.producer;
        assert_eq!(initialised(Some(&state), None), Ok((fresh, Producer::NONE)));
        assert_eq!(initialised(Some(&state), Some(mine)), Ok((fresh, mine)));
        assert_eq!(judge(Some(&state), &init(None), NOW, || None), Verdict::NeedsId);
        (state.producer, state.last) = (fresh, mine);
        assert_eq!(initialised(Some(&state), Some(mine)), Ok((fresh, mine)), "it asks again");
    }
    // The last epoch that is given out can still be fenced.
    let mut state = state(Phase::Empty);
    state.producer.epoch = EPOCH_MAX - 1;
    let last = Producer { id: 7, epoch: EPOCH_MAX };
    assert_eq!(initialised(Some(&state), None), Ok((last, Producer::NONE)));
    state.producer = last;
    let open = state.extended(&[], None, NOW);
    assert_eq!(open.fenced(NOW).producer.epoch, i16::MAX);
    assert_eq!(judge(None, &init(None), NOW, || None), Verdict::NeedsId);
}

#[test]
fn a_group_hears_whether_the_transaction_is_open() {
    let verify = |producer, group: &str| {
        let (transactional_id, group) = ("id".into(), group.into());
        Request::VerifyTxn(VerifyTxnRequest { transactional_id, producer, group })
    };
    let verified = |phase, request: &Request| {
        let verdict = run(Some(&state(phase)), request);
        let Verdict::Answer(Response::VerifyTxn(it)) = verdict else { panic!("{verdict:?}") };
        (it.error, it.transaction)
    };
    assert_eq!(verified(Phase::Ongoing, &verify(ME, "g")), (ErrorCode::None, 5));
    for (phase, producer, group, error) in [
        (Phase::Ongoing, ME, "h", ErrorCode::InvalidTxnState),
        (Phase::Ongoing, OLDER, "g", ErrorCode::ProducerFenced),
        (Phase::Ongoing, NEWER, "g", ErrorCode::InvalidProducerEpoch),
        (Phase::Ongoing, OTHER, "g", ErrorCode::InvalidProducerIdMapping),
        (Phase::PrepareCommit, ME, "g", ErrorCode::ConcurrentTransactions),
        (Phase::PrepareAbort, ME, "g", ErrorCode::ConcurrentTransactions),
        (Phase::CompleteCommit, ME, "g", ErrorCode::InvalidTxnState),
        (Phase::CompleteAbort, ME, "g", ErrorCode::InvalidTxnState),
        (Phase::Empty, ME, "g", ErrorCode::InvalidTxnState),
    ] {
        assert_eq!(verified(phase, &verify(producer, group)), (error, 0), "{}", phase.name());
    }
    let unknown = outcome(None, &verify(ME, "g"));
    assert_eq!(unknown, (ErrorCode::InvalidProducerIdMapping, None));
}

#[test]
fn a_group_hears_what_became_of_a_transaction() {
    let ask = |producer_id, transaction| {
        let transactional_id = "id".into();
        Request::TxnOutcome(TxnOutcomeRequest { transactional_id, producer_id, transaction })
    };
    let heard = |state: Option<&State>, request: &Request| {
        let verdict = run(state, request);
        let Verdict::Answer(Response::TxnOutcome(it)) = verdict else { panic!("{verdict:?}") };
        it
    };
    for phase in ALL {
        let state = state(phase);
        let expected = match phase {
            Phase::Ongoing | Phase::PrepareCommit | Phase::PrepareAbort => TxnOutcome::Undecided,
            Phase::Empty | Phase::CompleteCommit | Phase::CompleteAbort => TxnOutcome::Over,
        };
        assert_eq!(heard(Some(&state), &ask(7, 5)), Ok(expected), "{}", phase.name());
        assert_eq!(heard(Some(&state), &ask(7, 4)), Ok(TxnOutcome::Over));
        assert_eq!(heard(Some(&state), &ask(8, 5)), Ok(TxnOutcome::Over));
        assert_eq!(heard(Some(&state), &ask(7, 6)), Err(ErrorCode::InvalidTxnState));
    }
    assert_eq!(heard(None, &ask(7, 5)), Ok(TxnOutcome::Over));
}

#[test]
fn what_is_refused_before_the_gate() {
    let config = TxnConfig::default();
    let init = |id: Option<&str>, timeout| {
        let transactional_id = id.map(Into::into);
        Request::InitProducerId(InitProducerIdRequest { transactional_id, timeout, producer: None })
    };
    let max = config.timeout_max;
    let millisecond = Duration::from_millis(1);
    for (request, error) in [
        (init(Some(""), max), Some(ErrorCode::InvalidRequest)),
        (init(Some("id"), Duration::ZERO), Some(ErrorCode::InvalidTransactionTimeout)),
        (init(Some("id"), max + millisecond), Some(ErrorCode::InvalidTransactionTimeout)),
        (init(Some("id"), max), None),
        (init(Some("id"), millisecond), None),
        (init(None, Duration::ZERO), None),
        (add_group(ME, ""), Some(ErrorCode::InvalidGroupId)),
        (add_group(ME, "g"), None),
    ] {
        assert_eq!(refusal(&config, &request), error, "{request:?}");
    }
}
