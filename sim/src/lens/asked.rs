//! What the lens remembers of a request until it is answered.

#![expect(clippy::wildcard_enum_match_arm, reason = "what a request does not have is absent")]

use kaas_coordinator::{
    api::{KeyType, Protocol, Request},
    ids::{GroupId, InstanceId, TopicPartition, TransactionalId},
};
use model::Name;

use crate::seed::micros;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) client: Name,
    /// The groups it is about.
    pub(super) groups: Vec<GroupId>,
    /// What a success says of the group, in the model's word; empty if nothing.
    pub(super) what: &'static str,
    /// The operations on offsets that it stands for.
    pub(super) ops: Vec<(u64, TopicPartition)>,
    pub(super) is_fetch: bool,
    /// Whether it names a member.
    pub(super) by_member: bool,
    pub(super) member: Name,
    /// The instance id of who joins, if it is static.
    pub(super) instance: Option<Name>,
    /// The session timeout it joins with, in microseconds.
    pub(super) session: u64,
    /// What who joins says of itself.
    pub(super) protocols: Vec<Protocol>,
    pub(super) generation: i32,
    pub(super) key_type: Option<KeyType>,
    pub(super) round: u64,
    /// The transaction that it is part of or ends.
    pub(super) txn: Option<u64>,
    /// The transactional id whose coordinator it is for.
    pub(super) transactional_id: Option<Name>,
    /// Whether it says which producer it is.
    pub(super) names_producer: bool,
    /// Whether it asks for the transaction to commit.
    pub(super) commits: bool,
}

impl Asked {
    pub(super) fn new(client: &Name, body: &Request, round: u64) -> Self {
        let (what, member, generation) = match body {
            Request::JoinGroup(it) => ("join", it.member_id.shared(), -1),
            Request::SyncGroup(it) => ("sync", it.member_id.shared(), it.generation),
            Request::Heartbeat(it) => ("heartbeat", it.member_id.shared(), it.generation),
            Request::LeaveGroup(_) => ("leave", "".into(), -1),
            Request::OffsetCommit(it) => ("commit", it.member_id.shared(), it.generation),
            Request::OffsetFetch(_) => ("fetch", "".into(), -1),
            Request::OffsetDelete(_) => ("delete", "".into(), -1),
            Request::DeleteGroups { .. } => ("delete", "".into(), -1),
            Request::DescribeGroups { .. } => ("describe", "".into(), -1),
            Request::EndTxn(_) => ("end", "".into(), -1),
            Request::TxnOffsetCommit(it) => ("txn-commit", it.member_id.shared(), it.generation),
            Request::FindCoordinator { .. }
            | Request::ListGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::VerifyTxn(_)
            | Request::TxnMarker(_)
            | Request::TxnOutcome(_) => ("", "".into(), -1),
        };
        let groups = match body {
            Request::DeleteGroups { groups } | Request::DescribeGroups { groups } => groups.clone(),
            other => other.group().cloned().into_iter().collect(),
        };
        let key_type = match body {
            Request::FindCoordinator { key_type, .. } => *key_type,
            _ => None,
        };
        let instance = match body {
            Request::JoinGroup(it) => it.instance.as_ref().map(InstanceId::shared),
            _ => None,
        };
        let session = match body {
            Request::JoinGroup(it) => micros(it.session_timeout),
            _ => 0,
        };
        let protocols = match body {
            Request::JoinGroup(it) => it.protocols.clone(),
            _ => Vec::new(),
        };
        let names_producer = match body {
            Request::InitProducerId(it) => it.producer.is_some(),
            _ => false,
        };
        Self {
            client: client.clone(),
            groups,
            what,
            ops: Vec::new(),
            is_fetch: matches!(body, Request::OffsetFetch(_)),
            by_member: !member.is_empty(),
            member,
            instance,
            session,
            protocols,
            generation,
            key_type,
            round,
            txn: None,
            transactional_id: body.transactional_id().map(TransactionalId::shared),
            names_producer,
            commits: false,
        }
    }
}
