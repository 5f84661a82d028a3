//! What a broker owes to those who wait: an answer in time, and none that has become untrue meanwhile.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test knows what it has asked")]

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{
        CommitOffset, ErrorCode, JoinRequest, JoinResponse, OffsetCommitRequest,
        OffsetFetchRequest, Protocol, Request, Response,
    },
    config::Config,
    ids::TopicPartition,
    note::Note,
};

use self::still::Still;

#[path = "support/still.rs"]
mod still;

const SECOND: Duration = Duration::from_secs(1);

fn commit(group: &str) -> Request {
    Request::OffsetCommit(OffsetCommitRequest {
        group: group.into(),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: vec![CommitOffset {
            partition: TopicPartition::new("events", 0),
            offset: 1,
            leader_epoch: -1,
            metadata: "".into(),
        }],
        retention_ms: None,
    })
}

fn fetch(group: &str) -> Request {
    let group = group.into();
    Request::OffsetFetch(OffsetFetchRequest { group, partitions: None, require_stable: false })
}

fn list() -> Request {
    Request::ListGroups { states: Vec::new() }
}

/// Of a version that makes a client a member at once.
fn join(group: &str) -> Request {
    Request::JoinGroup(JoinRequest {
        group: group.into(),
        member_id: "".into(),
        instance: None,
        client_id: "c".into(),
        session_timeout: 10 * SECOND,
        rebalance_timeout: 60 * SECOND,
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: [].into() }],
        version: 3,
        reason: None,
    })
}

fn error(response: &Response) -> ErrorCode {
    match response {
        Response::OffsetCommit(partitions) => partitions[0].1,
        Response::OffsetFetch(it) => it.error,
        Response::JoinGroup(it) => it.error,
        Response::ListGroups { error, .. } => *error,
        _ => panic!("not asked here: {response:?}"),
    }
}

fn joined(response: Response) -> JoinResponse {
    let Response::JoinGroup(it) = response else { panic!("not asked here: {response:?}") };
    it
}

/// A request that has been sent, and waits.
struct Call(Pin<Box<dyn Future<Output = Response>>>);

impl Call {
    fn send(still: &Still, request: Request) -> Self {
        let broker = Arc::clone(&still.broker);
        let mut call = Self(Box::pin(async move { broker.call(request).await }));
        assert_eq!(call.look(), None, "it waits");
        call
    }

    fn look(&mut self) -> Option<Response> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => Some(response),
            Poll::Pending => None,
        }
    }

    fn answer(mut self) -> Response {
        self.look().expect("it is answered")
    }
}

/// From now on these groups are another broker's.
fn give_away(still: &mut Still, version: u32, groups: &[&str]) {
    let entry = |group: &&str| format!(r#"{{"groupId":"{group}","broker":"kaas-1"}}"#);
    let entries = groups.iter().map(entry).collect::<Vec<_>>().join(",");
    let assignment = format!(
        r#"{{"controllerEpoch":1,"assignmentVersion":{version},"consumerGroups":[{entries}],
        "brokers":[{{"id":"kaas-0","health":"alive"}},{{"id":"kaas-1","health":"dead"}}]}}"#
    );
    still.broker.host().put("assignment.json", assignment.as_bytes());
    still.advance(2 * SECOND);
}

fn stick(still: &Still, is_stuck: bool) {
    still.broker.host().is_stuck.store(is_stuck, Ordering::Relaxed);
}

/// The names of the claims that there are.
fn claims(still: &Still) -> Vec<String> {
    let files = still.broker.host().files();
    let claims =
        files.directories.iter().filter_map(|it| it.split_once(".claims/")?.1.split_once('/'));
    claims.map(|(_, claim)| claim.to_owned()).collect()
}

#[test]
fn a_list_that_waited_leaves_out_what_was_lost_since() {
    let mut still = Still::start(Config::default());
    for group in ["kept", "lost"] {
        assert_eq!(error(&still.call(commit(group))), ErrorCode::None);
    }
    let list = Call::send(&still, list());
    // The broker has answered; its caller looks at it only later.
    still.work();
    give_away(&mut still, 2, &["lost"]);
    let Response::ListGroups { error, groups } = list.answer() else { panic!("not a list") };
    assert_eq!(error, ErrorCode::None);
    assert_eq!(groups.iter().map(|it| it.group.as_str()).collect::<Vec<_>>(), ["kept"]);
}

#[test]
fn who_hung_up_is_in_no_generation() {
    let mut still = Still::start(Config::default());
    let (gone, here) = (Call::send(&still, join("g")), Call::send(&still, join("g")));
    still.work();
    drop(gone);
    still.advance(10 * SECOND);
    let joined = joined(here.answer());
    assert_eq!(joined.members.len(), 1);
    assert_eq!(joined.leader, joined.member_id);
}

#[test]
fn who_waits_for_the_volume_does_so_for_a_bounded_time() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("g"))), ErrorCode::None);
    stick(&still, true);
    let table = [
        (commit("g"), ErrorCode::RequestTimedOut),
        (fetch("g"), ErrorCode::CoordinatorNotAvailable),
        (commit("cold"), ErrorCode::CoordinatorLoadInProgress),
        (join("cold"), ErrorCode::CoordinatorLoadInProgress),
        (list(), ErrorCode::CoordinatorNotAvailable),
    ];
    let mut calls: Vec<_> =
        table.into_iter().map(|(it, expected)| (Call::send(&still, it), expected)).collect();
    still.advance(Config::default().offsets.volume_timeout - SECOND);
    assert!(calls.iter_mut().all(|(call, _)| call.look().is_none()));
    still.advance(SECOND);
    for (call, expected) in calls {
        assert_eq!(error(&call.answer()), expected);
    }
}

#[test]
fn a_group_that_was_lost_and_comes_back_hears_nothing_of_its_first_take_over() {
    let mut still = Still::start(Config::default());
    stick(&still, true);
    let before = Call::send(&still, fetch("g"));
    give_away(&mut still, 2, &["g"]);
    assert_eq!(error(&before.answer()), ErrorCode::NotCoordinator);
    give_away(&mut still, 3, &[]);
    let again = Call::send(&still, fetch("g"));
    still.work();
    stick(&still, false);
    still.advance(SECOND);
    assert_eq!(error(&again.answer()), ErrorCode::None);
}

#[test]
fn no_two_claims_of_one_life_share_a_name() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("g"))), ErrorCode::None);
    let first = claims(&still);
    assert_eq!(first.len(), 1);
    still.advance(2 * Config::default().idle_max);
    assert!(claims(&still).is_empty(), "nobody uses the group");
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
    assert_ne!(claims(&still), first);
}

#[test]
fn a_broker_that_closes_answers_everybody_and_gives_its_claims_back() {
    let mut still = Still::start(Config::default());
    let joining = Call::send(&still, join("g"));
    still.work();
    assert_eq!(claims(&still).len(), 1);
    still.broker.close();
    let is_over = still.run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(is_over.is_ready());
    assert_eq!(error(&joining.answer()), ErrorCode::NotCoordinator);
    assert!(claims(&still).is_empty());
}

#[test]
fn what_the_boot_window_brought_goes_if_no_view_comes() {
    let mut still = Still::start_under(Config::default(), None);
    let joining = Call::send(&still, join("g"));
    still.work();
    assert_eq!(still.broker.status().held.len(), 1);
    still.advance(Config::default().staleness_max);
    assert_eq!(error(&joining.answer()), ErrorCode::NotCoordinator);
    assert_eq!(still.broker.status().held, []);
}

#[test]
fn the_log_says_once_that_the_view_is_stale_and_once_that_it_is_fresh() {
    let mut still = Still::start(Config::default());
    let file = still.broker.host().files().files.remove("assignment.json");
    still.advance(10 * SECOND);
    still.broker.host().put("assignment.json", &file.expect("it was there"));
    still.advance(10 * SECOND);
    let notes = still.broker.host().notes.lock().expect("nobody panics");
    let of_freshness = notes.iter().filter(|it| matches!(it, Note::ViewStale | Note::ViewFresh));
    assert_eq!(of_freshness.collect::<Vec<_>>(), [&Note::ViewStale, &Note::ViewFresh]);
}

#[test]
fn a_group_can_be_inspected_while_it_is_in_memory() {
    let mut still = Still::start(Config::default());
    let _joining = Call::send(&still, join("g"));
    still.work();
    let group = still.broker.inspect(&"g".into()).expect("it has a member");
    assert_eq!((group.members.len(), group.parked, group.generation), (1, 1, 0));
    assert_eq!(still.broker.inspect(&"h".into()), None);
}
