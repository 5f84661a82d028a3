//! Requests and answers about transactions: those of Kafka's producers, and those that coordinators
//! exchange among themselves.
//!
//! Kafka's brokers exchange WriteTxnMarkers and AddPartitionsToTxn in verify-only mode; here markers
//! go to a group and not to a partition of `__consumer_offsets`, and carry the number of the
//! transaction, so that one which arrives late ends nothing but what it was meant for.

use super::{CommitOffset, Duration, ErrorCode, GroupId, InstanceId, MemberId, TopicPartition};
use crate::ids::TransactionalId;

/// A producer as its coordinator made it: who has the highest epoch of an id is the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Producer {
    /// The producer id, unique for ever in this cluster.
    pub id: i64,
    /// How often the transactional id was initialised under this producer id.
    pub epoch: i16,
}

impl Producer {
    /// What Kafka sends where there is no producer.
    pub const NONE: Self = Self { id: -1, epoch: -1 };
}

/// InitProducerId.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitProducerIdRequest {
    /// `None` for a producer that is idempotent only: any broker gives it an id.
    pub transactional_id: Option<TransactionalId>,
    /// How long a transaction may stay open before its coordinator aborts it.
    pub timeout: Duration,
    /// The producer that asks, if it was initialised before (v3, KIP-360).
    pub producer: Option<Producer>,
}

/// Answer to [`InitProducerIdRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitProducerIdResponse {
    /// The verdict.
    pub error: ErrorCode,
    /// Who the producer is from now on; [`Producer::NONE`] with an error.
    pub producer: Producer,
}

/// AddPartitionsToTxn of one transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddPartitionsToTxnRequest {
    /// Who writes.
    pub transactional_id: TransactionalId,
    /// Its producer.
    pub producer: Producer,
    /// Where it is about to write.
    pub partitions: Vec<TopicPartition>,
}

/// AddOffsetsToTxn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddOffsetsToTxnRequest {
    /// Who commits.
    pub transactional_id: TransactionalId,
    /// Its producer.
    pub producer: Producer,
    /// The group whose offsets it is about to commit.
    pub group: GroupId,
}

/// EndTxn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndTxnRequest {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Its producer.
    pub producer: Producer,
    /// Whether it commits or aborts.
    pub commit: bool,
}

/// TxnOffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOffsetCommitRequest {
    /// The group.
    pub group: GroupId,
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Its producer.
    pub producer: Producer,
    /// Below zero for a producer that says nothing about its membership (before KIP-447).
    pub generation: i32,
    /// Who commits; empty outside of a membership.
    pub member_id: MemberId,
    /// Set by static members.
    pub instance: Option<InstanceId>,
    /// The offsets.
    pub offsets: Vec<CommitOffset>,
}

/// From a group's coordinator to a transaction's: may this producer commit offsets of this group
/// now?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyTxnRequest {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Its producer.
    pub producer: Producer,
    /// The group, which must have been added to the transaction.
    pub group: GroupId,
}

/// Answer to [`VerifyTxnRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyTxnResponse {
    /// The verdict: what the producer would hear from AddOffsetsToTxn, or INVALID_TXN_STATE if the
    /// group is in no open transaction of the producer.
    pub error: ErrorCode,
    /// The number of the open transaction: one more than that of the one before of this
    /// transactional id. 0 with an error.
    pub transaction: u64,
}

/// From a transaction's coordinator to a group's: the transaction is decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnMarkerRequest {
    /// The group.
    pub group: GroupId,
    /// Whose transaction: the id and epoch under which it was open.
    pub producer: Producer,
    /// The number of the transaction.
    pub transaction: u64,
    /// Whether it commits or aborts.
    pub commit: bool,
}

/// From a group's coordinator to a transaction's: what became of this transaction, whose offsets
/// have been waiting for long?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnOutcomeRequest {
    /// Whose transaction.
    pub transactional_id: TransactionalId,
    /// Its producer id.
    pub producer_id: i64,
    /// The number of the transaction.
    pub transaction: u64,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnOutcome {
    /// It is open, or its markers are still under way.
    Undecided,
    /// It is over, and no marker will come: nothing is left of it to wait for.
    Over,
}

impl InitProducerIdResponse {
    /// A refusal.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, producer: Producer::NONE }
    }
}

impl VerifyTxnResponse {
    /// A refusal.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, transaction: 0 }
    }
}
