//! Requests and answers of the group, offset and transaction APIs, as Kafka 3.7 defines them, without the wire.
//!
//! The host decodes bytes into [`Request`] and encodes [`Response`]; nothing here knows about
//! versions except where Kafka's behaviour depends on them (`version` fields). Authorisation and
//! topic existence are the host's business and happen before a request reaches the coordinator.

use std::{sync::Arc, time::Duration};

use crate::ids::{BrokerId, GroupId, InstanceId, MemberId, TopicPartition};

mod answer;
mod error;
mod group;
mod offsets;
mod txn;

pub use error::ErrorCode;
pub use group::{
    DescribedGroup, DescribedMember, HeartbeatRequest, JoinMember, JoinRequest, JoinResponse,
    LeaveIdentity, LeaveRequest, LeaveResponse, LeftMember, ListedGroup, Protocol, SyncRequest,
    SyncResponse,
};
pub use offsets::{
    CommitOffset, FetchedOffset, OffsetCommitRequest, OffsetDeleteRequest, OffsetDeleteResponse,
    OffsetFetchRequest, OffsetFetchResponse,
};
pub use txn::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest,
    InitProducerIdResponse, Producer, TxnMarkerRequest, TxnOffsetCommitRequest, TxnOutcome,
    TxnOutcomeRequest, VerifyTxnRequest, VerifyTxnResponse,
};

/// What a key of FindCoordinator names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyType {
    /// A consumer group (key type 0): explicit entries first, then the hash.
    Group,
    /// A transactional id (key type 1): the hash only.
    Transaction,
}

/// A request of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Which broker coordinates these keys? Any broker may answer.
    FindCoordinator {
        /// What the keys are; `None` for a key type that Kafka does not define.
        key_type: Option<KeyType>,
        /// The keys, one answer each (v4; older versions carry one).
        keys: Vec<Arc<str>>,
    },
    /// Become or stay a member; parked until the join phase completes.
    JoinGroup(JoinRequest),
    /// Hand out or receive the assignment; parked until the leader has sent it.
    SyncGroup(SyncRequest),
    /// I am alive; is there a rebalance?
    Heartbeat(HeartbeatRequest),
    /// These members leave.
    LeaveGroup(LeaveRequest),
    /// Store offsets.
    OffsetCommit(OffsetCommitRequest),
    /// Read committed offsets.
    OffsetFetch(OffsetFetchRequest),
    /// Forget committed offsets of single partitions.
    OffsetDelete(OffsetDeleteRequest),
    /// Forget whole groups.
    DeleteGroups {
        /// The groups, one answer each.
        groups: Vec<GroupId>,
    },
    /// The groups that this broker coordinates.
    ListGroups {
        /// Exact state names to keep, empty for all (KIP-518, case-sensitive as in 3.7).
        states: Vec<Arc<str>>,
    },
    /// State and members of groups.
    DescribeGroups {
        /// The groups, one answer each.
        groups: Vec<GroupId>,
    },
    /// Who am I? Ends what an earlier producer of the transactional id left open.
    InitProducerId(InitProducerIdRequest),
    /// The transaction is about to write to these partitions.
    AddPartitionsToTxn(AddPartitionsToTxnRequest),
    /// The transaction is about to commit offsets of this group.
    AddOffsetsToTxn(AddOffsetsToTxnRequest),
    /// Commit or abort the transaction.
    EndTxn(EndTxnRequest),
    /// Store offsets that become visible with the transaction.
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// From a group's coordinator: is this transaction open?
    VerifyTxn(VerifyTxnRequest),
    /// From a transaction's coordinator: it is decided.
    TxnMarker(TxnMarkerRequest),
    /// From a group's coordinator: what became of this transaction?
    TxnOutcome(TxnOutcomeRequest),
}

impl Request {
    /// The API's name as Kafka writes it.
    pub fn api(&self) -> &'static str {
        match self {
            Self::FindCoordinator { .. } => "FindCoordinator",
            Self::JoinGroup(_) => "JoinGroup",
            Self::SyncGroup(_) => "SyncGroup",
            Self::Heartbeat(_) => "Heartbeat",
            Self::LeaveGroup(_) => "LeaveGroup",
            Self::OffsetCommit(_) => "OffsetCommit",
            Self::OffsetFetch(_) => "OffsetFetch",
            Self::OffsetDelete(_) => "OffsetDelete",
            Self::DeleteGroups { .. } => "DeleteGroups",
            Self::ListGroups { .. } => "ListGroups",
            Self::DescribeGroups { .. } => "DescribeGroups",
            Self::InitProducerId(_) => "InitProducerId",
            Self::AddPartitionsToTxn(_) => "AddPartitionsToTxn",
            Self::AddOffsetsToTxn(_) => "AddOffsetsToTxn",
            Self::EndTxn(_) => "EndTxn",
            Self::TxnOffsetCommit(_) => "TxnOffsetCommit",
            Self::VerifyTxn(_) => "VerifyTxn",
            Self::TxnMarker(_) => "TxnMarker",
            Self::TxnOutcome(_) => "TxnOutcome",
        }
    }
}

/// The answer to a [`Request`], of the same variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// One answer per key, in the order of the request.
    FindCoordinator(Vec<FoundCoordinator>),
    /// See [`JoinResponse`].
    JoinGroup(JoinResponse),
    /// See [`SyncResponse`].
    SyncGroup(SyncResponse),
    /// Just the verdict.
    Heartbeat(ErrorCode),
    /// See [`LeaveResponse`].
    LeaveGroup(LeaveResponse),
    /// One verdict per partition, in the order of the request.
    OffsetCommit(Vec<(TopicPartition, ErrorCode)>),
    /// See [`OffsetFetchResponse`].
    OffsetFetch(OffsetFetchResponse),
    /// See [`OffsetDeleteResponse`].
    OffsetDelete(OffsetDeleteResponse),
    /// One verdict per group, in the order of the request.
    DeleteGroups(Vec<(GroupId, ErrorCode)>),
    /// The groups this broker coordinates, sorted by id.
    ListGroups {
        /// `None` unless the list could not be made.
        error: ErrorCode,
        /// What is listed.
        groups: Vec<ListedGroup>,
    },
    /// One description per group, in the order of the request.
    DescribeGroups(Vec<DescribedGroup>),
    /// See [`InitProducerIdResponse`].
    InitProducerId(InitProducerIdResponse),
    /// One verdict per partition, in the order of the request.
    AddPartitionsToTxn(Vec<(TopicPartition, ErrorCode)>),
    /// Just the verdict.
    AddOffsetsToTxn(ErrorCode),
    /// Just the verdict; success as soon as the decision is durable, before it is visible.
    EndTxn(ErrorCode),
    /// One verdict per partition, in the order of the request.
    TxnOffsetCommit(Vec<(TopicPartition, ErrorCode)>),
    /// See [`VerifyTxnResponse`].
    VerifyTxn(VerifyTxnResponse),
    /// Just the verdict; success if the group has, or never had, to do with the transaction.
    TxnMarker(ErrorCode),
    /// What became of it, or why that can't be told here.
    TxnOutcome(Result<TxnOutcome, ErrorCode>),
}

/// Where a key's coordinator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCoordinator {
    /// The key that was asked for.
    pub key: Arc<str>,
    /// `None`, or why there is no answer.
    pub error: ErrorCode,
    /// The coordinator and where to reach it; absent with an error.
    pub coordinator: Option<(BrokerId, Endpoint)>,
}

/// Host and port of a broker's listener.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Host name or address.
    pub host: Arc<str>,
    /// Port.
    pub port: u16,
}
