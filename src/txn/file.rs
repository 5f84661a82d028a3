//! The file of one transactional id: reading and writing it.
//!
//! One JSON object per id. The id stands inside and is checked on load, so that one can never serve
//! another's; keys that are not ours survive a rewrite. A file that makes no sense is none, and the
//! id is refused until somebody has looked at it.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::{EPOCH_MAX, Phase, State};
use crate::{
    api::Producer,
    ids::{GroupId, TopicPartition, TransactionalId},
};

/// Why a file can't be used; it is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile(pub(super) String);

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFile {}

/// The file's shape.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    transactional_id: TransactionalId,
    producer_id: i64,
    producer_epoch: i16,
    last_producer_id: i64,
    last_producer_epoch: i16,
    transaction: u64,
    state: Phase,
    opened_epoch: i16,
    partitions: Vec<String>,
    groups: BTreeSet<GroupId>,
    timeout_ms: i64,
    opened_ms: i64,
    changed_ms: i64,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Reads the file of `id`.
pub fn parse(id: &TransactionalId, content: &[u8]) -> Result<State, BadFile> {
    let (stored, state) = parse_any(content)?;
    if stored != *id {
        return Err(BadFile(format!("belongs to the transactional id {stored:?}")));
    }
    Ok(state)
}

/// Reads the file of whatever id, and the id that stands inside.
pub fn parse_any(content: &[u8]) -> Result<(TransactionalId, State), BadFile> {
    let envelope: Envelope = serde_json::from_slice(content)
        .map_err(|error| BadFile(format!("no transaction state: {error}")))?;
    let partition = |key: &String| {
        TopicPartition::parse(key).ok_or_else(|| BadFile(format!("{key:?} is no partition")))
    };
    let state = State {
        producer: Producer { id: envelope.producer_id, epoch: envelope.producer_epoch },
        last: Producer { id: envelope.last_producer_id, epoch: envelope.last_producer_epoch },
        transaction: envelope.transaction,
        phase: envelope.state,
        opened_epoch: envelope.opened_epoch,
        partitions: envelope.partitions.iter().map(partition).collect::<Result<_, _>>()?,
        groups: envelope.groups,
        timeout_ms: envelope.timeout_ms,
        opened_ms: envelope.opened_ms,
        changed_ms: envelope.changed_ms,
        unknown: envelope.unknown,
    };
    check(&state)?;
    Ok((envelope.transactional_id, state))
}

/// What no coordinator has ever written.
fn check(state: &State) -> Result<(), BadFile> {
    let is_open = state.phase == Phase::Ongoing;
    let opened = state.opened_epoch;
    let faults = [
        (state.producer.id < 0 || state.producer.epoch < 0, "there is no producer"),
        (is_open && opened != state.producer.epoch, "the open transaction is of another epoch"),
        (is_open && opened > EPOCH_MAX, "an epoch that is never given out has a transaction"),
        (!state.phase.is_settled() && state.transaction == 0, "the transaction has no number"),
        (!state.phase.is_settled() && opened < 0, "the transaction has no epoch"),
        (state.timeout_ms <= 0, "there is no timeout"),
    ];
    match faults.into_iter().find(|(is_fault, _)| *is_fault) {
        Some((_, fault)) => Err(BadFile(fault.to_owned())),
        None => Ok(()),
    }
}

/// The file's content for `id`.
pub fn to_json(id: &TransactionalId, state: &State) -> Vec<u8> {
    let envelope = Envelope {
        transactional_id: id.clone(),
        producer_id: state.producer.id,
        producer_epoch: state.producer.epoch,
        last_producer_id: state.last.id,
        last_producer_epoch: state.last.epoch,
        transaction: state.transaction,
        state: state.phase,
        opened_epoch: state.opened_epoch,
        partitions: state.partitions.iter().map(TopicPartition::to_string).collect(),
        groups: state.groups.clone(),
        timeout_ms: state.timeout_ms,
        opened_ms: state.opened_ms,
        changed_ms: state.changed_ms,
        unknown: state.unknown.clone(),
    };
    serde_json::to_vec(&envelope).expect("text keys and plain values")
}

#[cfg(test)]
mod tests;
