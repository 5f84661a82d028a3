//! How many transactions a second two brokers carry out on a real directory, and what an idle
//! transactional id costs.
//!
//! `cargo run --release --example bench_txn [DIRECTORY]`; without a directory, a temporary one. A
//! transaction commits one offset of a group at the other broker. Every step of it is durable when it
//! is answered, so this measures the directory's `fsync` more than the brokers.

use std::{
    env, fs, io,
    io::Write,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_io::Timer;
use futures_lite::future::block_on;
use futures_util::future::join_all;
use kaas_coordinator::{
    api::{
        AddOffsetsToTxnRequest, CommitOffset, EndTxnRequest, Endpoint, ErrorCode,
        InitProducerIdRequest, KeyType, Producer, Request, Response, TxnOffsetCommitRequest,
    },
    assignment::View,
    broker::Broker,
    config::Config,
    ids::{BrokerId, GroupId, TopicPartition, TransactionalId},
    ports::Peers,
    volume::PosixVolume,
};

use self::host::{RealHost, now};

#[path = "../tests/support/host.rs"]
mod host;

type RealBroker = Broker<RealHost<PosixVolume, Wires>>;

/// How long each figure is measured.
const LASTS: Duration = Duration::from_secs(3);
/// How many producers there are, where there are many.
const PRODUCERS: usize = 64;
/// How many ids are idle.
const IDLE: usize = 4096;

const ASSIGNMENT: &str = r#"{
    "controllerEpoch": 1,
    "assignmentVersion": 1,
    "brokers": [{ "id": "kaas-0", "health": "alive" }, { "id": "kaas-1", "health": "alive" }]
}"#;

fn main() {
    let temporary = tempfile::TempDir::new().expect("a temporary directory");
    let root = env::args_os().nth(1).map_or(temporary.path().to_owned(), PathBuf::from);
    fs::write(root.join("assignment.json"), ASSIGNMENT).expect("the directory is there");
    say(&format!("on {}", root.display()));
    let brokers = start(&root);
    block_on(async {
        report("transactions, one producer", &[transact(&brokers, "one").await]);
        let names: Vec<_> = (0..PRODUCERS).map(|it| format!("many-{it}")).collect();
        let took = join_all(names.iter().map(|it| transact(&brokers, it))).await;
        report("transactions, 64 producers", &took);
        idle(&brokers).await;
    });
}

/// The two brokers, by their names' order.
type Both = Arc<[Arc<RealBroker>; 2]>;

fn start(root: &Path) -> Both {
    let wires = Wires::default();
    let brokers = Arc::new(["kaas-0", "kaas-1"].map(|id| {
        let config = Config { idle_max: Duration::from_hours(1), ..Config::default() };
        RealHost::start(id, config, PosixVolume::new(root), wires.clone(), |_| ())
    }));
    assert!(wires.0.set(Arc::clone(&brokers)).is_ok(), "they are made once");
    while brokers.iter().any(|it| it.status().view.is_none()) {
        block_on(back_off());
    }
    brokers
}

/// The brokers call each other in this process.
#[derive(Clone, Default)]
struct Wires(Arc<OnceLock<Both>>);

impl Peers for Wires {
    fn endpoint(&self, _: &BrokerId) -> Option<Endpoint> {
        Some(Endpoint { host: "localhost".into(), port: 9092 })
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(0)
    }

    async fn call(&self, broker: &BrokerId, request: Request) -> io::Result<Response> {
        let brokers = self.0.get().ok_or(io::ErrorKind::NotConnected)?;
        Ok(brokers[index(broker)].call(request).await)
    }

    async fn write_markers(
        &self,
        _: Producer,
        _: u64,
        _: bool,
        _: &[TopicPartition],
    ) -> io::Result<()> {
        Ok(())
    }
}

fn index(broker: &BrokerId) -> usize {
    usize::from(broker.as_str() == "kaas-1")
}

/// Which broker coordinates a key.
fn owner(kind: KeyType, key: &str) -> usize {
    let view = View::parse(ASSIGNMENT.as_bytes()).expect("it is valid");
    index(view.owner(kind, key).expect("all are alive"))
}

async fn back_off() {
    Timer::after(Duration::from_millis(1)).await;
}

/// Asks until the transaction before is over.
async fn insist(broker: &RealBroker, request: &Request) -> Response {
    let later = request.refused(ErrorCode::ConcurrentTransactions);
    let loading = request.refused(ErrorCode::CoordinatorLoadInProgress);
    loop {
        let response = broker.call(request.clone()).await;
        if response != later && response != loading {
            assert!(response.is_success(), "{request:?}: {response:?}");
            return response;
        }
        back_off().await;
    }
}

async fn init(broker: &RealBroker, id: &TransactionalId) -> Producer {
    let transactional_id = Some(id.clone());
    let timeout = Duration::from_mins(1);
    let request = InitProducerIdRequest { transactional_id, timeout, producer: None };
    let Response::InitProducerId(response) =
        insist(broker, &Request::InitProducerId(request)).await
    else {
        unreachable!("an answer is of its request's kind")
    };
    response.producer
}

/// One transaction after the other; how long each took until it was complete, in microseconds.
async fn transact(brokers: &Both, name: &str) -> Vec<u64> {
    let (id, group) = (TransactionalId::from(name), GroupId::from(name));
    let broker = &brokers[owner(KeyType::Transaction, name)];
    let coordinator = &brokers[owner(KeyType::Group, name)];
    let producer = init(broker, &id).await;
    let until = now() + LASTS;
    let mut took = Vec::new();
    for offset in 0.. {
        let start = now();
        if start >= until {
            break;
        }
        let (transactional_id, group) = (id.clone(), group.clone());
        let add = AddOffsetsToTxnRequest { transactional_id, producer, group: group.clone() };
        insist(broker, &Request::AddOffsetsToTxn(add)).await;
        let partition = TopicPartition::new("orders", 0);
        let commit = CommitOffset { partition, offset, leader_epoch: -1, metadata: "".into() };
        let commit = TxnOffsetCommitRequest {
            group,
            transactional_id: id.clone(),
            producer,
            generation: -1,
            member_id: "".into(),
            instance: None,
            offsets: vec![commit],
        };
        insist(coordinator, &Request::TxnOffsetCommit(commit)).await;
        let transactional_id = id.clone();
        let end = Request::EndTxn(EndTxnRequest { transactional_id, producer, commit: true });
        insist(broker, &end).await;
        // The second answer comes when all is complete.
        insist(broker, &end).await;
        took.push(now().as_micros() - start.as_micros());
    }
    took
}

/// What many ids without a transaction cost in memory and on the volume.
async fn idle(brokers: &Both) {
    let before = resident();
    for chunk in 0..IDLE / PRODUCERS {
        let inits = (0..PRODUCERS).map(|it| async move {
            let name = format!("idle-{}", chunk * PRODUCERS + it);
            init(&brokers[owner(KeyType::Transaction, &name)], &name.as_str().into()).await
        });
        join_all(inits).await;
    }
    let grown = resident().saturating_sub(before);
    say(&format!("{IDLE} idle ids: {} bytes of memory each", grown / IDLE as u64));
}

/// The process' memory in bytes, as Linux counts it.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

fn report(what: &str, producers: &[Vec<u64>]) {
    let mut took = producers.concat();
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
    writeln!(io::stdout(), "{line}").expect("somebody reads");
}
