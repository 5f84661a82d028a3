//! From the JSON of a step to a call, and from an answer to JSON.

use std::{sync::Arc, time::Duration};

use kaas_coordinator::{
    api::{
        ErrorCode, HeartbeatRequest, JoinRequest, JoinResponse, LeaveIdentity, LeaveRequest,
        Protocol, SyncRequest, SyncResponse,
    },
    group::Ticket,
    ids::{GroupId, InstanceId, MemberId, TopicPartition},
};
use serde_json::{Value, json};

use crate::{
    coordinator::{Coordinator, Sender},
    driver,
    offsets::Stored,
};

/// Performs one step with all its fields; the answer, unless the step is no request or its answer
/// comes as a reply.
pub(crate) fn perform(
    coordinator: &mut Coordinator,
    op: &str,
    step: &Value,
    ticket: Ticket,
) -> Result<Option<Value>, String> {
    let group = GroupId::from(step["group"].as_str().unwrap_or("g"));
    let answer = match op {
        "join" => {
            coordinator.join(&join(group, step), ticket);
            return Ok(None);
        }
        "sync" => {
            coordinator.sync(&sync(group, step), ticket);
            return Ok(None);
        }
        "heartbeat" => {
            let request = HeartbeatRequest {
                group,
                generation: int(&step["generation"]),
                member_id: member_id(&step["member_id"]),
                instance: instance(&step["instance"]),
            };
            json!({"error": coordinator.heartbeat(&request).name()})
        }
        "leave" => leave(coordinator, group, step),
        "commit" => {
            let verdicts = coordinator.commit(&group, &sender(step), &offsets(step));
            json!({"partitions": by_partition(verdicts)})
        }
        "txn_commit" => {
            let producer = step["producer_id"].as_i64().expect("a producer id");
            let verdicts = coordinator.txn_commit(&group, producer, &sender(step), &offsets(step));
            json!({"partitions": by_partition(verdicts)})
        }
        "fetch" => {
            let asked = step["partitions"].as_array().map(|_| partitions(&step["partitions"]));
            let stable = step["require_stable"] == true;
            json!({"error": "NONE", "partitions": coordinator.fetch(&group, asked, stable)})
        }
        "offset_delete" => {
            match coordinator.offset_delete(&group, &partitions(&step["partitions"])) {
                Ok(verdicts) => json!({"error": "NONE", "partitions": by_partition(verdicts)}),
                Err(error) => json!({"error": error.name(), "partitions": {}}),
            }
        }
        "delete_groups" | "describe" => {
            let groups = step["groups"].as_array().expect("groups").iter().map(|id| {
                let name = id.as_str().expect("a group id");
                let answer = if op == "describe" {
                    coordinator.describe(&name.into())
                } else {
                    coordinator.delete(&name.into()).name().into()
                };
                (name.to_owned(), answer)
            });
            json!({"groups": groups.collect::<serde_json::Map<_, _>>()})
        }
        "list" => json!({"error": "NONE", "groups": coordinator.list(&step["states"])}),
        _ => {
            event(coordinator, op, step)?;
            return Ok(None);
        }
    };
    Ok(Some(answer))
}

fn event(coordinator: &mut Coordinator, op: &str, step: &Value) -> Result<(), String> {
    match (op, step["event"].as_str()) {
        ("advance_ms", _) => coordinator.advance(millis(&step["ms"])),
        ("end_txn", _) => {
            let producer = step["producer_id"].as_i64().expect("a producer id");
            coordinator.end_txn(producer, step["result"] == "COMMIT");
        }
        ("offset_expiry_sweep", _) => coordinator.sweep(),
        ("topic_delete", _) => coordinator.delete_topic(step["topic"].as_str().expect("a topic")),
        ("coordinator", Some("resign")) => coordinator.resign(),
        ("coordinator", Some("load_begin")) => {}
        ("coordinator", Some("load_end")) => coordinator.load(),
        ("set_config", _) => coordinator.configure(|config, limits| {
            let mut json = json!({
                "min_session_timeout_ms": as_millis(config.session_timeout_min),
                "max_session_timeout_ms": as_millis(config.session_timeout_max),
                "initial_rebalance_delay_ms": as_millis(config.initial_rebalance_delay),
                "group_max_size": config.size_max,
                "new_member_join_timeout_ms": as_millis(config.new_member_join_timeout),
                "offset_metadata_max": limits.metadata_max,
                "offsets_retention_ms": as_millis(limits.retention),
            });
            for (name, value) in step["config"].as_object().into_iter().flatten() {
                json[name] = value.clone();
            }
            (*config, *limits) = driver::read_config(&json);
        }),
        (op, event) => return Err(format!("unknown step {op} {event:?}")),
    }
    Ok(())
}

fn join(group: GroupId, step: &Value) -> JoinRequest {
    let protocols = step["protocols"]
        .as_array()
        .expect("protocols")
        .iter()
        .map(|pair| Protocol { name: text(&pair[0]), metadata: metadata(&pair[1]) });
    JoinRequest {
        group,
        member_id: member_id(&step["member_id"]),
        instance: instance(&step["instance"]),
        client_id: "client".into(),
        session_timeout: millis(&step["session_timeout_ms"]),
        rebalance_timeout: millis(&step["rebalance_timeout_ms"]),
        protocol_type: text(&step["protocol_type"]),
        protocols: protocols.collect(),
        version: version(step),
        reason: None,
    }
}

fn sync(group: GroupId, step: &Value) -> SyncRequest {
    let assignments =
        step["assignments"].as_array().expect("pairs").iter().map(|pair| {
            (member_id(&pair[0]), Arc::from(pair[1].as_str().expect("text").as_bytes()))
        });
    SyncRequest {
        group,
        generation: int(&step["generation"]),
        member_id: member_id(&step["member_id"]),
        instance: instance(&step["instance"]),
        protocol_type: step["protocol_type"].as_str().map(Arc::from),
        protocol_name: step["protocol_name"].as_str().map(Arc::from),
        assignments: assignments.collect(),
        version: version(step),
    }
}

fn leave(coordinator: &mut Coordinator, group: GroupId, step: &Value) -> Value {
    let members = step["members"].as_array().expect("members").iter().map(|member| LeaveIdentity {
        member_id: member_id(&member["member_id"]),
        instance: instance(&member["instance"]),
    });
    let response = coordinator.leave(&LeaveRequest { group, members: members.collect() });
    let members: Vec<_> = response
        .members
        .iter()
        .map(|member| {
            json!({
                "member_id": member.member_id.as_str(),
                "instance": member.instance.as_ref().map(InstanceId::as_str),
                "error": member.error.name(),
            })
        })
        .collect();
    // Before version 3 there is one member, and its verdict is that of the request.
    let single = (version(step) < 3 && response.error.is_none()).then(|| &response.members[0]);
    match single {
        Some(member) => json!({"error": member.error.name()}),
        None => json!({"error": response.error.name(), "members": members}),
    }
}

pub(crate) fn join_json(response: &JoinResponse) -> Value {
    json!({
        "error": response.error.name(),
        "member_id": response.member_id.as_str(),
        "generation": response.generation,
        "leader": response.leader.as_str(),
        "members": response.members.iter().map(|m| m.member_id.as_str()).collect::<Vec<_>>(),
        "protocol": response.protocol.as_deref(),
        "protocol_type": response.protocol_type.as_deref(),
        "skip_assignment": response.skip_assignment,
    })
}

pub(crate) fn sync_json(response: &SyncResponse) -> Value {
    json!({
        "error": response.error.name(),
        "assignment": String::from_utf8_lossy(&response.assignment),
        "protocol": response.protocol_name.as_deref(),
        "protocol_type": response.protocol_type.as_deref(),
    })
}

fn by_partition(verdicts: Vec<(TopicPartition, ErrorCode)>) -> Value {
    let verdicts =
        verdicts.into_iter().map(|(tp, error)| (partition_key(&tp), error.name().into()));
    Value::Object(verdicts.collect())
}

/// `topic-partition`, as the data files write it.
pub(crate) fn partition_key(tp: &TopicPartition) -> String {
    format!("{}-{}", tp.topic, tp.partition)
}

fn sender(step: &Value) -> Sender {
    Sender {
        generation: int(&step["generation"]),
        member_id: member_id(&step["member_id"]),
        instance: instance(&step["instance"]),
        keep: step["retention_ms"].as_u64().map(Duration::from_millis),
    }
}

fn offsets(step: &Value) -> Vec<(TopicPartition, Stored)> {
    let offsets = step["offsets"].as_array().expect("offsets").iter().map(|offset| {
        let metadata = match offset["metadata"]["repeat"].as_u64() {
            Some(count) => "x".repeat(usize::try_from(count).expect("a length")),
            None => offset["metadata"].as_str().unwrap_or_default().to_owned(),
        };
        let partition = int(&offset["partition"]);
        let stored = Stored::new(
            offset["offset"].as_i64().expect("an offset"),
            offset["leader_epoch"].as_i64().unwrap_or(-1),
            metadata,
        );
        (TopicPartition::new(offset["topic"].as_str().expect("a topic"), partition), stored)
    });
    offsets.collect()
}

fn partitions(list: &Value) -> Vec<TopicPartition> {
    let pairs = list.as_array().expect("partitions").iter();
    pairs.map(|tp| TopicPartition::new(tp[0].as_str().expect("a topic"), int(&tp[1]))).collect()
}

/// Text is opaque bytes; topics become a version 0 consumer subscription.
fn metadata(value: &Value) -> Arc<[u8]> {
    let Some(topics) = value["topics"].as_array() else {
        return value.as_str().expect("metadata").as_bytes().into();
    };
    let mut bytes = vec![0, 0];
    bytes.extend(u32::try_from(topics.len()).expect("few topics").to_be_bytes());
    for topic in topics {
        let topic = topic.as_str().expect("a topic");
        bytes.extend(u16::try_from(topic.len()).expect("a short name").to_be_bytes());
        bytes.extend(topic.as_bytes());
    }
    bytes.extend((-1_i32).to_be_bytes());
    bytes.into()
}

/// A reference to an id that was never disclosed is none that exists.
fn member_id(value: &Value) -> MemberId {
    value.as_str().unwrap_or_default().into()
}

fn instance(value: &Value) -> Option<InstanceId> {
    value.as_str().map(InstanceId::from)
}

fn text(value: &Value) -> Arc<str> {
    value.as_str().expect("text").into()
}

fn int(value: &Value) -> i32 {
    value.as_i64().and_then(|value| i32::try_from(value).ok()).expect("a number")
}

fn version(step: &Value) -> i16 {
    i16::try_from(int(&step["api_version"])).expect("a version")
}

pub(crate) fn millis(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().expect("milliseconds"))
}

pub(crate) fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a size")).expect("a size")
}

fn as_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a short time")
}
