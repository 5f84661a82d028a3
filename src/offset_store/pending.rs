//! Offsets that wait for the end of their transaction.
//!
//! They are as durable as committed ones and invisible until a marker says what became of the
//! transaction. A producer has one transaction at a time, so its id finds them; the epoch and the
//! number of the transaction say whether a marker means them: one that was repeated, or arrives when
//! the next transaction is open, must end nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::file::Committed;
use crate::{
    api::Producer,
    ids::{TopicPartition, TransactionalId},
};

/// The pending offsets of all producers, by producer id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pending(BTreeMap<i64, PendingTxn>);

/// The pending offsets of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTxn {
    /// Who knows what becomes of it.
    pub transaction: Transaction,
    /// When its first offsets came, in milliseconds since 1970.
    pub since_ms: i64,
    /// The offsets. May be empty: an OffsetDelete leaves the transaction behind, and with it the
    /// group, until its marker comes (as in Kafka).
    pub offsets: BTreeMap<TopicPartition, Committed>,
}

/// One transaction of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Whose.
    pub transactional_id: TransactionalId,
    /// The producer under which it is open.
    pub producer: Producer,
    /// Its number.
    pub number: u64,
}

impl Pending {
    /// Whether no transaction is pending.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All pending transactions, in the order of their producer ids.
    pub fn transactions(&self) -> impl Iterator<Item = &PendingTxn> {
        self.0.values()
    }

    /// Whether a producer has a transaction pending.
    pub fn has_producer(&self, producer_id: i64) -> bool {
        self.0.contains_key(&producer_id)
    }

    /// Whether any transaction would change `partition`.
    pub fn has_partition(&self, partition: &TopicPartition) -> bool {
        self.0.values().any(|it| it.offsets.contains_key(partition))
    }

    /// Adds offsets to a transaction; the last one for a partition counts. An older transaction of
    /// the producer is over without a marker for this group: nothing of it may be carried along.
    pub(super) fn add(
        &mut self,
        transaction: &Transaction,
        offsets: impl Iterator<Item = (TopicPartition, Committed)>,
        now_ms: i64,
    ) {
        let new = || PendingTxn {
            transaction: transaction.clone(),
            since_ms: now_ms,
            offsets: BTreeMap::new(),
        };
        let pending = self.0.entry(transaction.producer.id).or_insert_with(new);
        if pending.transaction != *transaction {
            *pending = new();
        }
        pending.offsets.extend(offsets);
    }

    /// Ends a transaction and gives its offsets, if it is the pending one.
    pub(super) fn end(
        &mut self,
        producer: Producer,
        number: u64,
    ) -> BTreeMap<TopicPartition, Committed> {
        let is_meant = |it: &PendingTxn| {
            it.transaction.producer == producer && it.transaction.number == number
        };
        if !self.0.get(&producer.id).is_some_and(is_meant) {
            return BTreeMap::new();
        }
        self.0.remove(&producer.id).map_or_else(BTreeMap::new, |it| it.offsets)
    }

    /// Forgets a partition's pending offsets, whoever's.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        for pending in self.0.values_mut() {
            pending.offsets.remove(partition);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl PendingTxn {
    /// Whether it has been pending for `age`, at `now_ms` in milliseconds since 1970.
    pub fn is_older_than(&self, age: Duration, now_ms: i64) -> bool {
        let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        now_ms.saturating_sub(self.since_ms) >= age_ms
    }
}

/// A pending transaction as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Stored {
    producer_id: i64,
    producer_epoch: i16,
    transactional_id: TransactionalId,
    transaction: u64,
    since_ms: i64,
    offsets: BTreeMap<String, StoredOffset>,
}

/// A pending offset as the file has it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredOffset {
    offset: i64,
    leader_epoch: i32,
    metadata: Arc<str>,
    committed_ms: Option<i64>,
    position: u64,
}

impl Pending {
    /// As the file has it.
    pub(super) fn to_stored(&self) -> Vec<Stored> {
        let offset = |(partition, it): (&TopicPartition, &Committed)| {
            let stored = StoredOffset {
                offset: it.offset,
                leader_epoch: it.leader_epoch,
                metadata: Arc::clone(&it.metadata),
                committed_ms: it.committed_ms,
                position: it.position,
            };
            (partition.to_string(), stored)
        };
        let stored = self.0.values().map(|it| Stored {
            producer_id: it.transaction.producer.id,
            producer_epoch: it.transaction.producer.epoch,
            transactional_id: it.transaction.transactional_id.clone(),
            transaction: it.transaction.number,
            since_ms: it.since_ms,
            offsets: it.offsets.iter().map(offset).collect(),
        });
        stored.collect()
    }

    /// Reads what the file has; `None` if a partition has no name that is one.
    pub(super) fn from_stored(stored: Vec<Stored>) -> Option<Self> {
        let offset = |(partition, it): (String, StoredOffset)| {
            let committed = Committed {
                offset: it.offset,
                leader_epoch: it.leader_epoch,
                metadata: it.metadata,
                committed_ms: it.committed_ms,
                expires_ms: None,
                position: it.position,
            };
            Some((TopicPartition::parse(&partition)?, committed))
        };
        let pending = |it: Stored| {
            let producer = Producer { id: it.producer_id, epoch: it.producer_epoch };
            let transaction = Transaction {
                transactional_id: it.transactional_id,
                producer,
                number: it.transaction,
            };
            let offsets = it.offsets.into_iter().map(offset).collect::<Option<_>>()?;
            Some((producer.id, PendingTxn { transaction, since_ms: it.since_ms, offsets }))
        };
        stored.into_iter().map(pending).collect::<Option<_>>().map(Self)
    }
}
