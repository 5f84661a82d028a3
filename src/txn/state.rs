//! What is known of one transactional id, and how it may change.
//!
//! A state is a value: a change makes the next one, which replaces the old when the volume has it.

use std::{collections::BTreeSet, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    api::Producer,
    ids::{GroupId, TopicPartition},
};

/// The last epoch that a producer is given; one more remains, to fence that producer with.
pub const EPOCH_MAX: i16 = i16::MAX - 1;

/// Where a transactional id is between two transactions (Kafka's `TransactionState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Initialised; no transaction since.
    Empty,
    /// A transaction is open.
    Ongoing,
    /// It commits: nothing can stop that any more, and not all markers are written.
    PrepareCommit,
    /// It aborts, likewise.
    PrepareAbort,
    /// It has committed, and every marker is written.
    CompleteCommit,
    /// It has aborted, likewise.
    CompleteAbort,
}

impl Phase {
    /// The phase's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Ongoing => "Ongoing",
            Self::PrepareCommit => "PrepareCommit",
            Self::PrepareAbort => "PrepareAbort",
            Self::CompleteCommit => "CompleteCommit",
            Self::CompleteAbort => "CompleteAbort",
        }
    }

    /// How the transaction ends, while its markers are under way.
    pub fn prepared(self) -> Option<bool> {
        match self {
            Self::PrepareCommit => Some(true),
            Self::PrepareAbort => Some(false),
            Self::Empty | Self::Ongoing | Self::CompleteCommit | Self::CompleteAbort => None,
        }
    }

    /// Whether there is nothing left to do for the coordinator.
    pub fn is_settled(self) -> bool {
        match self {
            Self::Empty | Self::CompleteCommit | Self::CompleteAbort => true,
            Self::Ongoing | Self::PrepareCommit | Self::PrepareAbort => false,
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The current producer.
    pub producer: Producer,
    /// Who the producer was before it asked for its present epoch by that name, so that a repeated
    /// InitProducerId hears the same again (KIP-360); [`Producer::NONE`] if a new one asked.
    pub last: Producer,
    /// How many transactions were opened: the number of the current or last one.
    pub transaction: u64,
    /// Where it is.
    pub phase: Phase,
    /// The epoch under which the transaction was opened. To fence its producer, the epoch is raised
    /// when it is aborted.
    pub opened_epoch: i16,
    /// Where the transaction writes.
    pub partitions: BTreeSet<TopicPartition>,
    /// The groups whose offsets it commits.
    pub groups: BTreeSet<GroupId>,
    /// How long a transaction may stay open.
    pub timeout_ms: i64,
    /// When the transaction was opened, in milliseconds since 1970.
    pub opened_ms: i64,
    /// When anything last changed, in milliseconds since 1970.
    pub changed_ms: i64,
    /// Keys of the file that are not ours.
    pub unknown: Map<String, Value>,
}

impl State {
    /// A transactional id that nobody has used before.
    pub fn new(producer_id: i64, timeout: Duration, now_ms: i64) -> Self {
        Self {
            producer: Producer { id: producer_id, epoch: 0 },
            last: Producer::NONE,
            transaction: 0,
            phase: Phase::Empty,
            opened_epoch: -1,
            partitions: BTreeSet::new(),
            groups: BTreeSet::new(),
            timeout_ms: millis(timeout),
            opened_ms: -1,
            changed_ms: now_ms,
            unknown: Map::new(),
        }
    }

    /// The same id for `producer`, which is ready for a first transaction.
    #[must_use]
    pub fn initialised(
        &self,
        producer: Producer,
        last: Producer,
        timeout: Duration,
        now_ms: i64,
    ) -> Self {
        Self {
            producer,
            last,
            phase: Phase::Empty,
            partitions: BTreeSet::new(),
            groups: BTreeSet::new(),
            timeout_ms: millis(timeout),
            opened_ms: -1,
            changed_ms: now_ms,
            ..self.clone()
        }
    }

    /// The open transaction with more to end; opens one if none is.
    #[must_use]
    pub fn extended(
        &self,
        partitions: &[TopicPartition],
        group: Option<&GroupId>,
        now_ms: i64,
    ) -> Self {
        let mut next = Self { phase: Phase::Ongoing, changed_ms: now_ms, ..self.clone() };
        if self.phase != Phase::Ongoing {
            next.transaction += 1;
            next.opened_epoch = self.producer.epoch;
            next.opened_ms = now_ms;
        }
        next.partitions.extend(partitions.iter().cloned());
        next.groups.extend(group.cloned());
        next
    }

    /// The decision: from here on the transaction can only end like this.
    #[must_use]
    pub fn decided(&self, commit: bool, now_ms: i64) -> Self {
        let phase = if commit { Phase::PrepareCommit } else { Phase::PrepareAbort };
        Self { phase, changed_ms: now_ms, ..self.clone() }
    }

    /// The decision to abort, with the producer fenced. Nobody is given the epoch that does it: the
    /// next InitProducerId raises it once more, or takes a new producer id.
    #[must_use]
    pub fn fenced(&self, now_ms: i64) -> Self {
        let epoch = self.producer.epoch.saturating_add(1);
        let producer = Producer { id: self.producer.id, epoch };
        Self { producer, last: Producer::NONE, ..self.decided(false, now_ms) }
    }

    /// All markers are written.
    #[must_use]
    pub fn completed(&self, commit: bool, now_ms: i64) -> Self {
        Self {
            phase: if commit { Phase::CompleteCommit } else { Phase::CompleteAbort },
            partitions: BTreeSet::new(),
            groups: BTreeSet::new(),
            changed_ms: now_ms,
            ..self.clone()
        }
    }

    /// When an open transaction has been open for too long, in milliseconds since 1970.
    pub fn overdue_at(&self) -> Option<i64> {
        let is_open = self.phase == Phase::Ongoing;
        is_open.then(|| self.opened_ms.saturating_add(self.timeout_ms).saturating_add(1))
    }

    /// Whether nobody has used the id for `keep` (`transactional.id.expiration.ms`).
    pub fn is_expired(&self, keep: Duration, now_ms: i64) -> bool {
        self.phase.is_settled() && now_ms.saturating_sub(self.changed_ms) >= millis(keep)
    }

    /// Whether this producer id has no epoch left to give.
    pub fn is_exhausted(&self) -> bool {
        self.producer.epoch >= EPOCH_MAX
    }

    /// The transaction's producer as it was when it opened.
    pub fn opener(&self) -> Producer {
        Producer { id: self.producer.id, epoch: self.opened_epoch }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
