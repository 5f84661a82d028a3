//! What is kept in memory and on the volume, and for how long.

use std::time::Duration;

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest, Protocol, Request, Response},
    config::Config,
};

use crate::{
    rig::{
        Call, SECOND, commit, error, fetch, file_of, join, joined, leave, list, listed, put_file,
        stick, sync,
    },
    still::Still,
};

/// An offset that was committed when time began.
const OLD: &str = r#"{"offsets":{"events/0":7},"metadata":{},"committedMs":{"events/0":0}}"#;

#[test]
fn a_group_for_which_somebody_waits_is_kept() {
    let mut still = Still::start(Config { idle_max: SECOND, ..Config::default() });
    for (case, is_loaded, requests) in [
        ("to be loaded", false, vec![commit("g")]),
        ("a write", true, vec![commit("g")]),
        ("its turn", true, vec![commit("g"), commit("g")]),
        ("a check", true, vec![fetch("g")]),
        ("a check that begins later", true, vec![fetch("g"), fetch("g")]),
    ] {
        still.advance(3 * SECOND);
        assert_eq!(still.broker.status().held, [], "nobody waits any more");
        if is_loaded {
            assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
        }
        stick(&still, true);
        let calls: Vec<_> = requests.into_iter().map(|it| Call::send(&still, it)).collect();
        still.advance(3 * SECOND);
        stick(&still, false);
        still.work();
        for call in calls {
            assert_eq!(error(&call.answer()), ErrorCode::None, "{case}");
        }
    }
}

#[test]
fn a_group_with_a_member_is_kept() {
    let mut still = Still::start(Config { idle_max: SECOND, ..Config::default() });
    let joining = Call::send(&still, join("g"));
    still.advance(4 * SECOND);
    assert_eq!(error(&joining.answer()), ErrorCode::None);
    assert_eq!(still.broker.inspect(&"g".into()).map(|it| it.members.len()), Some(1));
}

#[test]
fn a_file_that_is_none_is_looked_at_again_after_a_while() {
    let mut still = Still::start(Config::default());
    put_file(&still, "g", "none");
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::CoordinatorNotAvailable);
    put_file(&still, "g", OLD);
    let a_while = Config::default().poll_interval;
    still.advance(a_while - Duration::from_millis(1));
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::CoordinatorNotAvailable);
    still.advance(Duration::from_millis(1));
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
}

#[test]
fn the_file_says_since_when_the_group_is_empty() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("g"))), ErrorCode::None);
    let joining = Call::send(&still, join("g"));
    still.advance(10 * SECOND);
    let member = joined(joining.answer()).member_id;
    let says_since =
        |still: &Still| file_of(still, "g").expect("it has offsets").contains("emptySinceMs");
    assert!(!says_since(&still));
    still.call(leave("g", &member));
    still.work();
    assert!(says_since(&still));
}

#[test]
fn the_file_says_that_a_group_has_members_again() {
    let former = r#"{"offsets":{"events/0":7}}"#;
    let empty =
        OLD.replace("{\"offsets", "{\"protocolType\":\"consumer\",\"emptySinceMs\":0,\"offsets");
    for (case, content) in [("never had any", former), ("had none", &empty)] {
        let mut still = Still::start(Config::default());
        put_file(&still, "g", content);
        let joining = Call::send(&still, join("g"));
        still.advance(4 * SECOND);
        assert_eq!(error(&joining.answer()), ErrorCode::None);
        // They commit nothing; who takes over from a dead owner must not count from before them.
        let file = file_of(&still, "g").expect("it has offsets");
        let knows_members = file.contains("protocolType") && !file.contains("emptySinceMs");
        assert!(knows_members, "who {case}: {file}");
    }
}

#[test]
fn a_list_names_groups_in_memory_and_on_the_volume_once() {
    let mut still = Still::start(Config::default());
    put_file(&still, "cold", OLD);
    put_file(&still, "warm", OLD);
    assert_eq!(error(&still.call(fetch("warm"))), ErrorCode::None);
    let _joining = Call::send(&still, join("without-a-file"));
    still.work();
    assert_eq!(listed(still.call(list())), ["cold", "warm", "without-a-file"]);
}

#[test]
fn offsets_outlive_their_retention_nowhere() {
    let mut config = Config::default();
    config.offsets.retention = Duration::from_mins(20);
    let mut still = Still::start(config.clone());
    put_file(&still, "cold", OLD);
    still.advance(Duration::from_mins(11));
    assert!(file_of(&still, "cold").is_some());
    put_file(&still, "young", &OLD.replace(":0}", ":660000}"));
    still.advance(Duration::from_mins(10));
    assert_eq!(file_of(&still, "cold"), None);
    assert!(file_of(&still, "young").is_some());

    let mut still = Still::start(Config { idle_max: Duration::from_hours(1), ..config });
    assert_eq!(error(&still.call(commit("warm"))), ErrorCode::None);
    still.advance(Duration::from_mins(11));
    assert!(file_of(&still, "warm").is_some());
    still.advance(Duration::from_mins(10));
    assert_eq!(file_of(&still, "warm"), None);
}

/// A lasting member that reads `topic`.
fn lasting(group: &str, topic: &str) -> Request {
    let Request::JoinGroup(request) = join(group) else { unreachable!("it is a join") };
    let mut metadata = vec![0, 0, 0, 0, 0, 1, 0, u8::try_from(topic.len()).expect("a short name")];
    metadata.extend(topic.bytes().chain([0xff; 4]));
    let half_an_hour = Duration::from_mins(30);
    Request::JoinGroup(JoinRequest {
        session_timeout: half_an_hour,
        rebalance_timeout: half_an_hour,
        protocols: vec![Protocol { name: "range".into(), metadata: metadata.into() }],
        ..request
    })
}

/// A broker that keeps offsets for three minutes, with a Stable group that reads `events` and has a
/// commit of it and another one of a topic that nobody reads any more.
fn with_a_stable_group() -> Still {
    let mut config = Config::default();
    config.offsets.retention = Duration::from_mins(3);
    config.offsets.retention_check_interval = Duration::from_mins(1);
    let mut still = Still::start(config);
    let gone = OLD.replace("events", "gone");
    let both = gone.replace(":7}", r#":7,"events/0":6}"#).replace(":0}", r#":0,"events/0":0}"#);
    put_file(&still, "g", &both);
    let joining = Call::send(&still, lasting("g", "events"));
    still.advance(4 * SECOND);
    let member = joined(joining.answer()).member_id;
    assert!(
        matches!(still.call(sync("g", &member)), Response::SyncGroup(it) if it.error.is_none())
    );
    still
}

/// Which topics a group has offsets of.
fn topics(still: &Still) -> [bool; 2] {
    let file = file_of(still, "g").unwrap_or_default();
    ["events/0", "gone/0"].map(|it| file.contains(it))
}

#[test]
fn what_members_consume_outlives_its_retention() {
    let mut still = with_a_stable_group();
    still.advance(Duration::from_mins(2));
    assert_eq!(topics(&still), [true, true]);
    still.advance(Duration::from_mins(2));
    assert_eq!(topics(&still), [true, false]);
}

#[test]
fn nothing_expires_while_a_group_rebalances() {
    let mut still = with_a_stable_group();
    let mut joining = Call::send(&still, lasting("g", "events"));
    still.advance(Duration::from_mins(4));
    assert_eq!(joining.look(), None, "the first member does not rejoin");
    assert_eq!(topics(&still), [true, true]);
}

#[test]
fn offsets_of_a_former_release_are_kept_for_one_retention_more() {
    let mut config = Config::default();
    config.offsets.retention = Duration::from_mins(25);
    let former = r#"{"offsets":{"events/0":7},"metadata":{"events/0":"w"}}"#;
    let knows_times =
        |still: &Still, group| file_of(still, group).map(|it| it.contains("committedMs"));
    let mut still = Still::start(config.clone());
    still.advance(Duration::from_mins(5));
    put_file(&still, "warm", former);
    put_file(&still, "cold", former);
    assert_eq!(error(&still.call(fetch("warm"))), ErrorCode::None);
    still.work();
    assert_eq!(knows_times(&still, "warm"), Some(true), "its owner says so at once");
    assert_eq!(knows_times(&still, "cold"), Some(false), "nobody has asked for it");
    still.advance(Duration::from_mins(6));
    assert_eq!(knows_times(&still, "cold"), Some(true), "it was searched for");
    still.advance(Duration::from_mins(20));
    assert_eq!(file_of(&still, "warm"), None);
    assert_eq!(knows_times(&still, "cold"), Some(true));
    still.advance(Duration::from_mins(10));
    assert_eq!(file_of(&still, "cold"), None);

    config.offsets.retention = Duration::MAX;
    let mut still = Still::start(config);
    put_file(&still, "g", former);
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
    still.advance(Duration::from_mins(21));
    assert_eq!(file_of(&still, "g").as_deref(), Some(former), "what is kept for ever has no age");
}

#[test]
fn retention_ends_groups_that_hold_nothing() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("with-offsets"))), ErrorCode::None);
    let joining = [Call::send(&still, join("with-a-member")), Call::send(&still, join("useless"))];
    still.advance(10 * SECOND);
    let [_, last] = joining.map(|it| joined(it.answer()).member_id);
    still.call(leave("useless", &last));
    assert_eq!(listed(still.call(list())), ["useless", "with-a-member", "with-offsets"]);
    still.broker.expire_offsets();
    assert_eq!(listed(still.call(list())), ["with-a-member", "with-offsets"]);
    assert_eq!(error(&still.call(commit("with-offsets"))), ErrorCode::None);
}

#[test]
fn a_group_whose_members_were_lost_with_their_broker_is_empty_since_it_is_found() {
    let mut still = Still::start(Config::default());
    let orphan = OLD.replace("{\"offsets", "{\"protocolType\":\"consumer\",\"offsets");
    put_file(&still, "g", &orphan);
    still.broker.expire_offsets();
    // Found, taken over, and put away again, which writes it down.
    still.advance(3 * Config::default().idle_max);
    assert!(file_of(&still, "g").expect("it is kept").contains("emptySinceMs"));
    assert_eq!(still.broker.status().held, []);
}
