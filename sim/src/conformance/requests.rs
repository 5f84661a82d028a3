//! From the JSON of a step to a request, and from an answer to JSON.

use std::sync::Arc;

use kaas_coordinator::{
    api::{
        CommitOffset, HeartbeatRequest, JoinRequest, LeaveIdentity, LeaveRequest,
        OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest, Producer, Protocol, Request,
        SyncRequest, TxnOffsetCommitRequest,
    },
    ids::{GroupId, InstanceId, MemberId, TopicPartition},
};
use serde_json::Value;

use super::step::{Fields, Malformed, integer, text};

/// The request of a step; `None` if the operation is no request.
pub(super) fn request(op: &str, step: &Value) -> Result<Option<Request>, Malformed> {
    let it = Fields(step);
    let request = match op {
        "join" => Request::JoinGroup(join(it)?),
        "sync" => Request::SyncGroup(sync(it)?),
        "heartbeat" => Request::Heartbeat(HeartbeatRequest {
            group: group(it)?,
            generation: it.integer("generation")?,
            member_id: member_id(it.get("member_id")),
            instance: instance(it),
        }),
        "leave" => Request::LeaveGroup(LeaveRequest {
            group: group(it)?,
            members: it.list("members")?.iter().map(|member| leaver(Fields(member))).collect(),
        }),
        "commit" => Request::OffsetCommit(commit(it)?),
        "txn_commit" => Request::TxnOffsetCommit(commit_in_txn(it)?),
        "fetch" => Request::OffsetFetch(OffsetFetchRequest {
            group: group(it)?,
            partitions: if it.get("partitions").is_null() { None } else { Some(partitions(it)?) },
            require_stable: it.get("require_stable") == true,
        }),
        "offset_delete" => Request::OffsetDelete(OffsetDeleteRequest {
            group: group(it)?,
            partitions: partitions(it)?,
        }),
        "delete_groups" => Request::DeleteGroups { groups: groups(it)? },
        "describe" => Request::DescribeGroups { groups: groups(it)? },
        "list" => Request::ListGroups {
            states: it
                .list("states")?
                .iter()
                .map(|state| text("a state", state).map(Arc::from))
                .collect::<Result<_, _>>()?,
        },
        _ => return Ok(None),
    };
    Ok(Some(request))
}

fn join(it: Fields<'_>) -> Result<JoinRequest, Malformed> {
    let protocol = |pair: &Value| {
        let name = text("a protocol", &pair[0])?.into();
        Ok(Protocol { name, metadata: metadata(&pair[1])? })
    };
    Ok(JoinRequest {
        group: group(it)?,
        member_id: member_id(it.get("member_id")),
        instance: instance(it),
        client_id: "client".into(),
        session_timeout: it.millis("session_timeout_ms")?,
        rebalance_timeout: it.millis("rebalance_timeout_ms")?,
        protocol_type: it.text("protocol_type")?.into(),
        protocols: it.list("protocols")?.iter().map(protocol).collect::<Result<_, _>>()?,
        version: it.integer("api_version")?,
        reason: None,
    })
}

fn sync(it: Fields<'_>) -> Result<SyncRequest, Malformed> {
    let assignment = |pair: &Value| {
        let bytes = text("an assignment", &pair[1])?.as_bytes();
        Ok((member_id(&pair[0]), Arc::from(bytes)))
    };
    Ok(SyncRequest {
        group: group(it)?,
        generation: it.integer("generation")?,
        member_id: member_id(it.get("member_id")),
        instance: instance(it),
        protocol_type: it.optional("protocol_type").map(Arc::from),
        protocol_name: it.optional("protocol_name").map(Arc::from),
        assignments: it.list("assignments")?.iter().map(assignment).collect::<Result<_, _>>()?,
        version: it.integer("api_version")?,
    })
}

fn leaver(it: Fields<'_>) -> LeaveIdentity {
    LeaveIdentity { member_id: member_id(it.get("member_id")), instance: instance(it) }
}

fn commit(it: Fields<'_>) -> Result<OffsetCommitRequest, Malformed> {
    let retention: i64 = it.integer("retention_ms")?;
    Ok(OffsetCommitRequest {
        group: group(it)?,
        generation: it.integer("generation")?,
        member_id: member_id(it.get("member_id")),
        instance: instance(it),
        offsets: it.list("offsets")?.iter().map(offset).collect::<Result<_, _>>()?,
        retention_ms: (retention >= 0).then_some(retention),
    })
}

fn commit_in_txn(it: Fields<'_>) -> Result<TxnOffsetCommitRequest, Malformed> {
    Ok(TxnOffsetCommitRequest {
        group: group(it)?,
        transactional_id: it.text("transactional_id")?.into(),
        producer: Producer { id: it.integer("producer_id")?, epoch: it.integer("producer_epoch")? },
        generation: it.integer("generation")?,
        member_id: member_id(it.get("member_id")),
        instance: instance(it),
        offsets: it.list("offsets")?.iter().map(offset).collect::<Result<_, _>>()?,
    })
}

fn offset(value: &Value) -> Result<CommitOffset, Malformed> {
    let it = Fields(value);
    let leader_epoch = it.0.get("leader_epoch");
    Ok(CommitOffset {
        partition: TopicPartition::new(it.text("topic")?, it.integer("partition")?),
        offset: it.integer("offset")?,
        leader_epoch: leader_epoch.map_or(Ok(-1), |it| integer("leader_epoch", it))?,
        metadata: note(it.get("metadata"))?,
    })
}

/// The client's note on an offset: a text, none, or so many times `x`.
fn note(value: &Value) -> Result<Arc<str>, Malformed> {
    match value.get("repeat") {
        Some(count) => Ok("x".repeat(integer("repeat", count)?).into()),
        None => Ok(value.as_str().unwrap_or_default().into()),
    }
}

/// Text is opaque bytes; topics become a version 0 consumer subscription.
fn metadata(value: &Value) -> Result<Arc<[u8]>, Malformed> {
    let Some(topics) = value.get("topics") else {
        return Ok(text("metadata", value)?.as_bytes().into());
    };
    let topics = topics.as_array().map(Vec::as_slice).unwrap_or_default();
    let too_long = |_| Malformed("a subscription is too long".to_owned());
    let mut bytes = vec![0, 0];
    bytes.extend(u32::try_from(topics.len()).map_err(too_long)?.to_be_bytes());
    for topic in topics {
        let topic = text("a topic", topic)?;
        bytes.extend(u16::try_from(topic.len()).map_err(too_long)?.to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend((-1_i32).to_be_bytes());
    Ok(bytes.into())
}

fn group(it: Fields<'_>) -> Result<GroupId, Malformed> {
    it.text("group").map(GroupId::from)
}

fn groups(it: Fields<'_>) -> Result<Vec<GroupId>, Malformed> {
    it.list("groups")?.iter().map(|id| text("a group", id).map(GroupId::from)).collect()
}

fn partitions(it: Fields<'_>) -> Result<Vec<TopicPartition>, Malformed> {
    let pair = |it: &Value| {
        Ok(TopicPartition::new(text("a topic", &it[0])?, integer("partition", &it[1])?))
    };
    it.list("partitions")?.iter().map(pair).collect()
}

/// A reference to an id that was never disclosed is none that exists.
fn member_id(value: &Value) -> MemberId {
    value.as_str().unwrap_or_default().into()
}

fn instance(it: Fields<'_>) -> Option<InstanceId> {
    it.optional("instance").map(InstanceId::from)
}
