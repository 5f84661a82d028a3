//! What of Kafka does not apply here, or is deliberately another: decided by tags and operations.
//!
//! A case is skipped as a whole. An answer that we give otherwise is not: it is held against what we
//! give instead, and counted.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    step::{Fields, Malformed, integer, items, op},
    volume::Fault,
    world::Phase,
};

/// The operations that the files describe and this driver performs.
const OPS: [&str; 17] = [
    "join",
    "sync",
    "heartbeat",
    "leave",
    "commit",
    "txn_commit",
    "end_txn",
    "fetch",
    "offset_delete",
    "delete_groups",
    "describe",
    "list",
    "advance_ms",
    "offset_expiry_sweep",
    "store",
    "coordinator",
    "set_config",
];

/// Why an operation, and with it whatever follows, can't be performed; `None` if it can.
pub(super) fn reason_to_stop(step: &Value) -> Result<Option<&'static str>, Malformed> {
    Ok(match op(step)? {
        "set_config" => Some("a broker's configuration is that of its life"),
        "topic_delete" => Some("a deleted topic is not the coordinator's affair yet"),
        "store" if is_failure(step) && fault(step)?.is_none() => Some("a volume has no such error"),
        known if OPS.contains(&known) => None,
        _ => Some("an operation that is unknown here"),
    })
}

/// Why a case is not for us; `None` if it is.
pub(super) fn reason_to_skip<'a>(
    tags: &Value,
    steps: impl Iterator<Item = &'a Value>,
) -> Result<Option<&'static str>, Malformed> {
    if items(tags).any(|tag| tag == "persistent_members_only") {
        return Ok(Some("membership does not outlive its coordinator"));
    }
    let mut pending = Pending::default();
    for step in steps {
        if let Some(reason) = reason_to_stop(step)? {
            return Ok(Some(reason));
        }
        if let Some(reason) = pending.better(step)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

/// Follows the pending offsets of a case as far as Kafka loses or revives some of them.
#[derive(Default)]
struct Pending {
    producers: BTreeSet<i64>,
    fails_next: bool,
    is_deleted: bool,
}

impl Pending {
    /// Why what comes of the step is better here than in Kafka; `None` if it is the same.
    fn better(&mut self, step: &Value) -> Result<Option<&'static str>, Malformed> {
        let it = Fields(step);
        let producer = it.0.get("producer_id").map_or(Ok(1), |id| integer("producer_id", id))?;
        match op(step)? {
            "store" => self.fails_next = is_failure(step),
            "txn_commit" if std::mem::take(&mut self.fails_next) => {
                let reason = "a failed write leaves what was pending before as it was";
                return Ok(self.producers.contains(&producer).then_some(reason));
            }
            "txn_commit" => {
                self.producers.insert(producer);
            }
            "end_txn" => {
                self.producers.remove(&producer);
            }
            "offset_delete" => self.is_deleted |= !self.producers.is_empty(),
            "coordinator" if self.is_deleted && it.optional("event") == Some("load_begin") => {
                let reason = "a pending offset that is deleted does not come back";
                return Ok((!self.producers.is_empty()).then_some(reason));
            }
            _ => {}
        }
        Ok(None)
    }
}

fn is_failure(step: &Value) -> bool {
    Fields(step).optional("mode") == Some("fail")
}

/// What a failing append of Kafka's log is on a volume; `None` if there is no such thing.
pub(super) fn fault(step: &Value) -> Result<Option<Fault>, Malformed> {
    Ok(match Fields(step).text("error")? {
        "UNKNOWN_TOPIC_OR_PARTITION"
        | "NOT_ENOUGH_REPLICAS"
        | "NOT_ENOUGH_REPLICAS_AFTER_APPEND" => Some(Fault::Error),
        "NOT_LEADER_OR_FOLLOWER" => Some(Fault::Fenced),
        "REQUEST_TIMED_OUT" => Some(Fault::Hangs),
        // Too large for the log, a log directory that has gone offline, corrupt: there is no log.
        _ => None,
    })
}

/// What the world is doing when a request is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) phase: Phase,
    /// Whether a change that begins now is going to fail.
    pub(super) fails: bool,
}

/// What we answer where Kafka's answer is deliberately not ours, and why.
pub(super) fn difference(
    situation: Situation,
    op: &str,
    step: &Value,
) -> Option<(Value, &'static str)> {
    let it = Fields(step);
    if situation.phase != Phase::Loading {
        let error = "COORDINATOR_NOT_AVAILABLE";
        let groups: Value = items(it.get("groups"))
            .filter_map(|group| Some((group.as_str()?.to_owned(), Value::from(error))))
            .collect();
        return (situation.fails && op == "delete_groups")
            .then(|| (json!({"groups": groups}), "a deletion that failed is not said to be done"));
    }
    let is_group = it.optional("group").is_some_and(|group| !group.is_empty());
    let is_member = it.optional("member_id").is_some_and(|id| !id.is_empty());
    let unknown = "a load brings no members back, so who was one need not wait for it";
    match op {
        "heartbeat" | "sync" if is_group => Some((json!({"error": "UNKNOWN_MEMBER_ID"}), unknown)),
        "join" if is_group && is_member => Some((json!({"error": "UNKNOWN_MEMBER_ID"}), unknown)),
        "leave" if is_group => {
            let one = json!({"error": "UNKNOWN_MEMBER_ID"});
            let members: Vec<_> = items(it.get("members")).map(|_| one.clone()).collect();
            Some((json!({"error": "NONE", "members": members}), unknown))
        }
        "list" => {
            Some((json!({"error": "NONE"}), "a list is read from the volume and needs no load"))
        }
        _ => None,
    }
}

/// Whether the answer to `op` waits for the volume, where Kafka's comes at once.
pub(super) fn is_deletion(op: &str) -> bool {
    matches!(op, "delete_groups" | "offset_delete")
}

/// Why a deletion is answered late.
pub(super) const DURABLE: &str = "a deletion is acknowledged when it is durable";

/// Whether a request that Kafka forgets may be answered so: the client tries again.
pub(super) fn is_retriable(answer: &Value) -> bool {
    let error = answer["error"].as_str().unwrap_or_default();
    ["REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"].contains(&error)
}

/// A group, or an answer about groups, as it is here after a load: what the members of an Empty group
/// were is in its file. Says why if that is not as expected.
pub(super) fn remembering(expected: &mut Value, observed: &Value) -> Option<&'static str> {
    if let (Some(expected), Some(observed)) = (expected.get_mut("groups"), observed.get("groups")) {
        let groups = expected.as_object_mut().into_iter().flatten();
        return groups.filter_map(|(id, group)| remembering(group, observed.get(id)?)).last();
    }
    let kind = observed.get("protocol_type").filter(|kind| kind.is_string())?;
    let is_forgotten = matches!(expected.get("protocol_type")?.as_str(), None | Some(""));
    if !is_forgotten || expected["state"] != "Empty" || kind == "" {
        return None;
    }
    expected["protocol_type"] = kind.clone();
    Some("what a group's members were outlives a load")
}
