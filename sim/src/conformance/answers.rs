//! Answers and groups as the files write them.

use kaas_coordinator::{
    api::{
        DescribedGroup, ErrorCode, FetchedOffset, JoinResponse, LeaveResponse, Response,
        SyncResponse,
    },
    group::Inspection,
    ids::{InstanceId, MemberId, TopicPartition},
};
use serde_json::{Map, Value, json};

/// An answer to a request of this version.
pub(super) fn answer(version: i64, response: &Response) -> Value {
    match response {
        Response::JoinGroup(it) => join(version, it),
        Response::SyncGroup(it) => sync(it),
        Response::Heartbeat(error) => json!({"error": error.name()}),
        Response::LeaveGroup(it) => leave(version, it),
        Response::OffsetCommit(verdicts) => json!({"partitions": by_partition(verdicts)}),
        Response::OffsetFetch(it) => {
            let partitions: Map<_, _> = it.partitions.iter().map(fetched).collect();
            json!({"error": it.error.name(), "partitions": partitions})
        }
        Response::OffsetDelete(it) => {
            json!({"error": it.error.name(), "partitions": by_partition(&it.partitions)})
        }
        Response::DeleteGroups(groups) => {
            let groups: Map<_, _> = groups
                .iter()
                .map(|(id, error)| (id.to_string(), Value::from(error.name())))
                .collect();
            json!({"groups": groups})
        }
        Response::ListGroups { error, groups } => {
            let groups = groups.iter().map(|it| {
                json!({
                    "id": it.group.as_str(),
                    "state": it.state,
                    "protocol_type": &*it.protocol_type,
                })
            });
            json!({"error": error.name(), "groups": groups.collect::<Vec<_>>()})
        }
        Response::DescribeGroups(groups) => {
            let groups: Map<_, _> =
                groups.iter().map(|it| (it.group.to_string(), described(it))).collect();
            json!({"groups": groups})
        }
        Response::TxnOffsetCommit(verdicts) => json!({"partitions": by_partition(verdicts)}),
        Response::FindCoordinator(_)
        | Response::InitProducerId(_)
        | Response::AddPartitionsToTxn(_)
        | Response::AddOffsetsToTxn(_)
        | Response::EndTxn(_)
        | Response::VerifyTxn(_)
        | Response::TxnMarker(_)
        | Response::TxnOutcome(_) => unreachable!("no step asks for that"),
    }
}

fn join(version: i64, it: &JoinResponse) -> Value {
    // The wire can't say null before version 7 of JoinGroup.
    let none = if version < 7 { Value::from("") } else { Value::Null };
    json!({
        "error": it.error.name(),
        "member_id": it.member_id.as_str(),
        "generation": it.generation,
        "leader": it.leader.as_str(),
        "members": it.members.iter().map(|member| member.member_id.as_str()).collect::<Vec<_>>(),
        "protocol": it.protocol.as_deref().map_or(none, Value::from),
        "protocol_type": it.protocol_type.as_deref(),
        "skip_assignment": it.skip_assignment,
    })
}

fn sync(it: &SyncResponse) -> Value {
    json!({
        "error": it.error.name(),
        "assignment": String::from_utf8_lossy(&it.assignment),
        "protocol": it.protocol_name.as_deref(),
        "protocol_type": it.protocol_type.as_deref(),
    })
}

fn leave(version: i64, it: &LeaveResponse) -> Value {
    // Before version 3 there is one member, and its verdict is that of the request.
    if version < 3
        && it.error.is_none()
        && let Some(member) = it.members.first()
    {
        return json!({"error": member.error.name()});
    }
    let members = it.members.iter().map(|member| {
        json!({
            "member_id": member.member_id.as_str(),
            "instance": member.instance.as_ref().map(InstanceId::as_str),
            "error": member.error.name(),
        })
    });
    json!({"error": it.error.name(), "members": members.collect::<Vec<_>>()})
}

fn fetched(it: &FetchedOffset) -> (String, Value) {
    let value = json!({
        "offset": it.offset,
        "leader_epoch": it.leader_epoch,
        "metadata": &*it.metadata,
        "error": it.error.name(),
    });
    (partition_key(&it.partition), value)
}

fn described(it: &DescribedGroup) -> Value {
    let assigned = it.members.iter().filter(|member| !member.assignment.is_empty());
    let assignments: Map<_, _> = assigned
        .map(|member| {
            let assignment = String::from_utf8_lossy(&member.assignment);
            (member.member_id.to_string(), Value::from(assignment))
        })
        .collect();
    json!({
        "error": it.error.name(),
        "state": it.state,
        "protocol_type": &*it.protocol_type,
        "protocol": &*it.protocol,
        "members": it.members.iter().map(|member| member.member_id.as_str()).collect::<Vec<_>>(),
        "assignments": assignments,
    })
}

fn by_partition(verdicts: &[(TopicPartition, ErrorCode)]) -> Value {
    let verdicts =
        verdicts.iter().map(|(partition, error)| (partition_key(partition), error.name().into()));
    Value::Object(verdicts.collect())
}

/// `topic-partition`, as the files write it.
fn partition_key(it: &TopicPartition) -> String {
    format!("{}-{}", it.topic, it.partition)
}

/// A group, or that there is none.
pub(super) fn group(it: Option<&Inspection>) -> Value {
    let Some(it) = it else { return json!({"absent": true}) };
    json!({
        "absent": false,
        "state": it.state.name(),
        "generation": it.generation,
        "members": it.members.iter().map(MemberId::as_str).collect::<Vec<_>>(),
        "leader": it.leader.as_ref().map(MemberId::as_str),
        "pending_members": it.pending_members,
        "protocol": it.protocol.as_deref(),
        "protocol_type": it.protocol_type.as_deref(),
    })
}

/// The offsets in an answer to OffsetFetch, and nothing but them.
pub(super) fn committed(response: &Response) -> Value {
    let Response::OffsetFetch(it) = response else {
        unreachable!("an answer is of its request's kind")
    };
    let offsets = it.partitions.iter();
    Value::Object(offsets.map(|it| (partition_key(&it.partition), it.offset.into())).collect())
}
