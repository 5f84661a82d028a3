//! A producer on two brokers, and ids that the hash gives to one of them.

use std::{sync::Arc, time::Duration};

use async_io::Timer;
use futures_lite::future::block_on;
use kaas_coordinator::{
    api::{
        AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, ErrorCode,
        InitProducerIdRequest, InitProducerIdResponse, KeyType, Producer, Request, Response,
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
