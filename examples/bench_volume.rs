//! How many requests a second one broker answers on a real directory.
//!
//! `cargo run --release --example bench_volume [DIRECTORY]`; without a directory, a temporary one.
//! Commits are durable when they are answered, so they measure the directory's `fsync` more than
//! the broker.

use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use futures_lite::future::block_on;
use futures_util::future::join_all;
use kaas_coordinator::{
    api::{HeartbeatRequest, JoinRequest, Protocol, Request, Response, SyncRequest},
    broker::Broker,
    config::Config,
    ids::MemberId,
    volume::PosixVolume,
};

use self::{
    host::{Alone, RealHost, now},
    offsets::{back_off, commit, fetch},
};

#[path = "../tests/support/host.rs"]
mod host;
#[path = "../tests/support/offsets.rs"]
mod offsets;

type RealBroker = Broker<RealHost<PosixVolume>>;

/// How long each figure is measured.
const LASTS: Duration = Duration::from_secs(3);
/// Partitions of each commit.
const PARTITIONS: i32 = 10;
/// How many callers there are, where there are many.
const CALLERS: usize = 64;

fn main() {
    let temporary = tempfile::TempDir::new().expect("a temporary directory");
    let root = env::args_os().nth(1).map_or(temporary.path().to_owned(), PathBuf::from);
    std::fs::write(root.join("assignment.json"), ASSIGNMENT).expect("the directory is there");
    say(&format!("on {}, {PARTITIONS} partitions a commit", root.display()));
    let broker = start(&root);
    block_on(measure(&broker));
}

const ASSIGNMENT: &str = r#"{
    "controllerEpoch": 1,
    "assignmentVersion": 1,
    "brokers": [{ "id": "kaas-0", "health": "alive" }]
}"#;

fn start(root: &Path) -> Arc<RealBroker> {
    let mut config = Config::default();
    config.group.initial_rebalance_delay = Duration::ZERO;
    let broker = RealHost::start("kaas-0", config, PosixVolume::new(root), Alone, |_| ());
    while broker.status().view.is_none() {
        block_on(back_off());
    }
    broker
}

async fn measure(broker: &RealBroker) {
    let commit = async |group: &str, offset| {
        let error = commit(broker, group, PARTITIONS, offset).await;
        assert!(error.is_none(), "{group}: {error}");
    };
    report("commits, one caller", &[repeat(async |it| commit("one", it).await).await]);
    let callers = |name: fn(usize) -> String| {
        join_all(
            (0..CALLERS).map(move |caller| repeat(async move |it| commit(&name(caller), it).await)),
        )
    };
    report("commits, 64 callers, one group", &callers(|_| "shared".to_owned()).await);
    report("commits, 64 callers, 64 groups", &callers(|it| format!("own-{it}")).await);
    let fetch = async |_| {
        fetch(broker, "one", PARTITIONS).await.expect("the group is ours");
    };
    report("fetches, one caller", &[repeat(fetch).await]);
    let member = become_member(broker).await;
    let heartbeat = async |_| {
        let request = HeartbeatRequest {
            group: "members".into(),
            generation: 1,
            member_id: member.clone(),
            instance: None,
        };
        let Response::Heartbeat(error) = broker.call(Request::Heartbeat(request)).await else {
            unreachable!("an answer is of its request's kind")
        };
        assert!(error.is_none(), "{error}");
    };
    report("heartbeats, one caller", &[repeat(heartbeat).await]);
}

async fn become_member(broker: &RealBroker) -> MemberId {
    let join = JoinRequest {
        group: "members".into(),
        member_id: "".into(),
        instance: None,
        client_id: "bench".into(),
        session_timeout: Duration::from_secs(10),
        rebalance_timeout: Duration::from_secs(10),
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: [].into() }],
        version: 3,
        reason: None,
    };
    let Response::JoinGroup(joined) = broker.call(Request::JoinGroup(join)).await else {
        unreachable!("an answer is of its request's kind")
    };
    assert!(joined.error.is_none(), "{}", joined.error);
    let sync = SyncRequest {
        group: "members".into(),
        generation: joined.generation,
        member_id: joined.member_id.clone(),
        instance: None,
        protocol_type: None,
        protocol_name: None,
        assignments: vec![(joined.member_id.clone(), [].into())],
        version: 3,
    };
    broker.call(Request::SyncGroup(sync)).await;
    joined.member_id
}

/// Does something again and again; how long each took, in microseconds.
async fn repeat(mut work: impl AsyncFnMut(i64)) -> Vec<u64> {
    let until = now() + LASTS;
    let mut took = Vec::new();
    for round in 0.. {
        let start = now();
        if start >= until {
            break;
        }
        work(round).await;
        took.push(now().as_micros() - start.as_micros());
    }
    took
}

fn report(what: &str, callers: &[Vec<u64>]) {
    let mut took = callers.concat();
    took.sort_unstable();
    let rate = took.len() as u64 / LASTS.as_secs();
    let percentile = |it: usize| took[(took.len() - 1) * it / 100];
    say(&format!(
        "{what:32} {rate:>9}/s   median {:>6} us   99% {:>6} us",
        percentile(50),
        percentile(99)
    ));
}

fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").expect("standard output is there");
}
