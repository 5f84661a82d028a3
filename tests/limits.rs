//! Nobody can exhaust a broker: what is bounded, the error of each bound, and that memory is given
//! back.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test knows what it has asked")]

use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{
        CommitOffset, ErrorCode, HeartbeatRequest, JoinRequest, OffsetCommitRequest,
        OffsetFetchRequest, Protocol, Request, Response,
    },
    config::Config,
    ids::TopicPartition,
};

use self::still::Still;

#[path = "support/still.rs"]
mod still;

fn commit(group: &str, partitions: std::ops::Range<i32>) -> Request {
    let offset = |partition| CommitOffset {
        partition: TopicPartition::new("events", partition),
        offset: 1,
        leader_epoch: -1,
        metadata: "".into(),
    };
    Request::OffsetCommit(OffsetCommitRequest {
        group: group.into(),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: partitions.map(offset).collect(),
        retention_ms: None,
    })
}

fn fetch(group: &str) -> Request {
    let group = group.into();
    Request::OffsetFetch(OffsetFetchRequest { group, partitions: None, require_stable: false })
}

fn join(group: &str, metadata: usize) -> Request {
    Request::JoinGroup(JoinRequest {
        group: group.into(),
        member_id: "".into(),
        instance: None,
        client_id: "c".into(),
        session_timeout: Duration::from_secs(10),
        rebalance_timeout: Duration::from_secs(10),
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: vec![0; metadata].into() }],
        version: 9,
        reason: None,
    })
}

fn heartbeat(group: &str) -> Request {
    Request::Heartbeat(HeartbeatRequest {
        group: group.into(),
        generation: 1,
        member_id: "m".into(),
        instance: None,
    })
}

fn verdicts(response: &Response) -> Vec<ErrorCode> {
    match response {
        Response::OffsetCommit(partitions) => partitions.iter().map(|(_, error)| *error).collect(),
        Response::OffsetFetch(it) => vec![it.error],
        Response::JoinGroup(it) => vec![it.error],
        Response::Heartbeat(error) => vec![*error],
        Response::DeleteGroups(groups) => groups.iter().map(|(_, error)| *error).collect(),
        _ => panic!("not asked here: {response:?}"),
    }
}

#[test]
fn a_group_id_has_a_longest_length() {
    let mut config = Config::default();
    config.group.id_bytes_max = 10;
    let mut still = Still::start(config);
    let (fits, too_long) = ("0123456789", "0123456789a");
    for request in [commit(fits, 0..1), fetch(fits)] {
        assert_eq!(verdicts(&still.call(request)), [ErrorCode::None]);
    }
    let delete = Request::DeleteGroups { groups: vec![too_long.into()] };
    for request in
        [join(too_long, 1), heartbeat(too_long), commit(too_long, 0..1), fetch(too_long), delete]
    {
        assert_eq!(verdicts(&still.call(request)), [ErrorCode::InvalidGroupId]);
    }
    assert_eq!(still.broker.status().held.len(), 1, "what is refused leaves nothing behind");
}

#[test]
fn a_broker_holds_so_many_groups_and_makes_room_when_they_are_idle() {
    let mut still = Still::start(Config { groups_max: 2, ..Config::default() });
    for group in ["a", "b"] {
        assert_eq!(verdicts(&still.call(commit(group, 0..1))), [ErrorCode::None]);
    }
    for request in [join("c", 1), commit("c", 0..1), fetch("c")] {
        assert_eq!(verdicts(&still.call(request)), [ErrorCode::CoordinatorNotAvailable]);
    }
    assert_eq!(verdicts(&still.call(fetch("a"))), [ErrorCode::None], "those that are there stay");
    still.advance(Config::default().idle_max + Duration::from_secs(1));
    assert_eq!(verdicts(&still.call(commit("c", 0..1))), [ErrorCode::None]);
}

#[test]
fn a_join_says_so_much_about_its_member() {
    let mut config = Config::default();
    config.group.member_bytes_max = 100;
    let mut still = Still::start(config);
    assert_eq!(verdicts(&still.call(join("g", 100))), [ErrorCode::InvalidRequest]);
    assert!(still.broker.status().held.is_empty(), "it creates no group");
    assert_eq!(verdicts(&still.call(join("g", 80))), [ErrorCode::MemberIdRequired]);
}

#[test]
fn a_group_has_offsets_of_so_many_partitions() {
    let mut config = Config::default();
    config.offsets.partitions_max = 3;
    let mut still = Still::start(config);
    use ErrorCode::{InvalidCommitOffsetSize, None};
    assert_eq!(
        verdicts(&still.call(commit("g", 0..4))),
        [None, None, None, InvalidCommitOffsetSize]
    );
    assert_eq!(verdicts(&still.call(commit("g", 2..4))), [None, InvalidCommitOffsetSize]);
}

#[test]
fn an_offset_is_noted_with_so_many_characters_of_utf_16() {
    let mut config = Config::default();
    config.offsets.metadata_max = 4;
    let mut still = Still::start(config);
    for (note, expected) in [
        ("four", ErrorCode::None),
        ("fives", ErrorCode::OffsetMetadataTooLarge),
        ("äöüß", ErrorCode::None),
        ("🦀🦀", ErrorCode::None),
        ("🦀🦀!", ErrorCode::OffsetMetadataTooLarge),
    ] {
        let Request::OffsetCommit(mut request) = commit("g", 0..1) else { unreachable!() };
        request.offsets[0].metadata = note.into();
        assert_eq!(verdicts(&still.call(Request::OffsetCommit(request))), [expected], "{note}");
    }
}

/// The verdicts on requests that all wait for a volume which hangs; `None` for those that go on
/// waiting.
fn while_the_volume_hangs(still: &mut Still, requests: Vec<Request>) -> Vec<Option<ErrorCode>> {
    still.broker.host().is_stuck.store(true, Ordering::Relaxed);
    let broker = Arc::clone(&still.broker);
    let mut cx = Context::from_waker(Waker::noop());
    let mut calls: Vec<_> = requests.into_iter().map(|it| Box::pin(broker.call(it))).collect();
    let mut polled = Vec::new();
    for call in &mut calls {
        polled.push(match call.as_mut().poll(&mut cx) {
            Poll::Ready(response) => Some(verdicts(&response)[0]),
            Poll::Pending => None,
        });
    }
    still.work();
    polled
}

#[test]
fn so_many_requests_wait_for_a_group_to_be_loaded() {
    let mut config = Config::default();
    config.offsets.waiting_max = 2;
    let mut still = Still::start(config);
    let requests = vec![join("g", 1), commit("g", 0..1), fetch("g"), join("g", 1), join("h", 1)];
    let full = Some(ErrorCode::CoordinatorLoadInProgress);
    assert_eq!(while_the_volume_hangs(&mut still, requests), [None, None, full, full, None]);
}

#[test]
fn so_many_changes_and_reads_wait_for_the_volume() {
    let mut config = Config::default();
    config.offsets.waiting_max = 2;
    let mut still = Still::start(config);
    assert_eq!(verdicts(&still.call(commit("g", 0..1))), [ErrorCode::None]);
    // The first is under way already.
    let requests = (0..4).map(|_| commit("g", 0..1)).chain((0..4).map(|_| fetch("g")));
    let full = Some(ErrorCode::CoordinatorNotAvailable);
    assert_eq!(
        while_the_volume_hangs(&mut still, requests.collect()),
        [None, None, None, full, None, None, None, full]
    );
}

#[test]
fn a_stream_of_groups_that_are_used_once_leaves_nothing_behind() {
    let mut still = Still::start(Config::default());
    let mut most = 0;
    for round in 0..200 {
        for number in 0..50 {
            let group = format!("once-{round}-{number}");
            assert_eq!(verdicts(&still.call(commit(&group, 0..1))), [ErrorCode::None]);
            assert_eq!(verdicts(&still.call(fetch(&group))), [ErrorCode::None]);
            assert_eq!(verdicts(&still.call(join(&group, 1))), [ErrorCode::MemberIdRequired]);
        }
        still.advance(Duration::from_secs(2));
        most = most.max(still.broker.status().held.len());
    }
    // Those of the last minute, and of the session for which their member ids are good.
    assert!(most <= 50 * 40, "{most} groups are held at a time");
    still.advance(Duration::from_mins(2));
    assert_eq!(still.broker.status().held, []);
    let files = still.broker.host().files();
    let claims = files.directories.iter().filter(|it| it.contains("once-"));
    assert_eq!(claims.count(), 0, "nor on the volume, but for the offsets");
}
