//! A producer on two brokers, and ids that the hash gives to one of them.

use std::{sync::Arc, time::Duration};

use async_io::Timer;
use futures_lite::future::block_on;
use kaas_coordinator::{
    api::{
        AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, CommitOffset, EndTxnRequest, ErrorCode,
        InitProducerIdRequest, InitProducerIdResponse, KeyType, OffsetFetchRequest, Producer,
        Request, Response, TxnOffsetCommitRequest,
    },
    assignment::View,
    config::{Config, TxnConfig},
    ids::{BrokerId, TopicPartition},
};
use tempfile::TempDir;

use crate::cluster::{Cluster, Member};

pub(crate) const BOTH: [&str; 2] = ["kaas-0", "kaas-1"];

/// Two brokers.
pub(crate) struct Rig {
    pub(crate) root: TempDir,
    pub(crate) cluster: Cluster,
    pub(crate) brokers: [Arc<Member>; 2],
    pub(crate) view: View,
}

/// Everything quick, so that tests are.
pub(crate) fn config() -> Config {
    Config {
        txn: TxnConfig {
            scan_interval: Duration::from_millis(100),
            retry_backoff: Duration::from_millis(20),
            ..TxnConfig::default()
        },
        poll_interval: Duration::from_millis(20),
        ..Config::default()
    }
}

impl Rig {
    pub(crate) fn new(config: &Config) -> Self {
        let root = TempDir::new().expect("a directory");
        let cluster = Cluster::new(root.path());
        let view = cluster.assign(1, &BOTH, &[]);
        let brokers = BOTH.map(|id| cluster.start(id, config.clone()));
        let rig = Self { root, cluster, brokers, view };
        rig.applied(0, 1);
        rig.applied(1, 1);
        rig
    }

    /// Waits until a broker has applied the view of this version.
    pub(crate) fn applied(&self, broker: usize, version: i64) {
        while self.brokers[broker].status().view.is_none_or(|it| it.version < version) {
            pause();
        }
    }

    /// A name that the hash gives to this broker.
    pub(crate) fn name(&self, kind: KeyType, broker: usize) -> String {
        let owner = BrokerId::from(BOTH[broker]);
        let names = (0..).map(|number| format!("it-{number}"));
        let mut names = names.filter(|it| self.view.owner(kind, it) == Some(&owner));
        names.next().expect("some name is hashed to every broker")
    }
}

pub(crate) fn pause() {
    block_on(Timer::after(Duration::from_millis(5)));
}

fn call(broker: &Member, request: Request) -> Response {
    block_on(broker.call(request))
}

/// InitProducerId with all that it says.
pub(crate) fn try_init(
    broker: &Member,
    id: Option<&str>,
    timeout: Duration,
    producer: Option<Producer>,
) -> InitProducerIdResponse {
    let transactional_id = id.map(Into::into);
    let request = InitProducerIdRequest { transactional_id, timeout, producer };
    let Response::InitProducerId(response) = call(broker, Request::InitProducerId(request)) else {
        unreachable!("an answer is of its request\'s kind")
    };
    response
}

/// InitProducerId until the transaction before is over.
pub(crate) fn init(broker: &Member, id: &str) -> Producer {
    for _ in 0..1000 {
        let response = try_init(broker, Some(id), Duration::from_mins(1), None);
        if response.error.is_none() {
            return response.producer;
        }
        assert_eq!(response.error, ErrorCode::ConcurrentTransactions);
        pause();
    }
    panic!("the transaction before does not end")
}

pub(crate) fn add_offsets(broker: &Member, id: &str, producer: Producer, group: &str) -> ErrorCode {
    let request =
        AddOffsetsToTxnRequest { transactional_id: id.into(), producer, group: group.into() };
    let Response::AddOffsetsToTxn(error) = call(broker, Request::AddOffsetsToTxn(request)) else {
        unreachable!("an answer is of its request\'s kind")
    };
    error
}

/// TxnOffsetCommit of `orders/0`, outside of any membership.
pub(crate) fn commit_offset(
    broker: &Member,
    (id, producer): (&str, Producer),
    group: &str,
    offset: i64,
) -> ErrorCode {
    let partition = TopicPartition::new("orders", 0);
    let offsets = vec![CommitOffset { partition, offset, leader_epoch: -1, metadata: "".into() }];
    let request = TxnOffsetCommitRequest {
        group: group.into(),
        transactional_id: id.into(),
        producer,
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets,
    };
    let Response::TxnOffsetCommit(verdicts) = call(broker, Request::TxnOffsetCommit(request))
    else {
        unreachable!("an answer is of its request's kind")
    };
    verdicts[0].1
}

/// The committed offset of `orders/0`.
pub(crate) fn fetch_offset(broker: &Member, group: &str) -> i64 {
    let partitions = Some(vec![TopicPartition::new("orders", 0)]);
    let request = OffsetFetchRequest { group: group.into(), partitions, require_stable: false };
    let Response::OffsetFetch(response) = call(broker, Request::OffsetFetch(request)) else {
        unreachable!("an answer is of its request's kind")
    };
    assert_eq!(response.error, ErrorCode::None);
    response.partitions[0].offset
}

pub(crate) fn add_partition(broker: &Member, id: &str, producer: Producer) -> ErrorCode {
    let partitions = vec![TopicPartition::new("orders", 0)];
    let request = AddPartitionsToTxnRequest { transactional_id: id.into(), producer, partitions };
    let Response::AddPartitionsToTxn(verdicts) = call(broker, Request::AddPartitionsToTxn(request))
    else {
        unreachable!("an answer is of its request\'s kind")
    };
    verdicts[0].1
}

pub(crate) fn end(broker: &Member, id: &str, producer: Producer, commit: bool) -> ErrorCode {
    let request = EndTxnRequest { transactional_id: id.into(), producer, commit };
    let Response::EndTxn(error) = call(broker, Request::EndTxn(request)) else {
        unreachable!("an answer is of its request\'s kind")
    };
    error
}
