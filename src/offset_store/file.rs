//! A group's offset file: content in memory, reading, writing.
//!
//! The envelope is `{"offsets":{"topic/partition":n},"metadata":{"topic/partition":"text"}}` as kaas
//! writes it, with optional further keys of ours; keys that are not ours survive a rewrite. The older
//! plain map `{"topic/partition":n}` is read, and becomes an envelope with the next write. The group
//! id stands inside and is checked on load, so that one group can never serve another's offsets.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value};

use super::pending::Pending;
use crate::ids::{GroupId, TopicPartition};

/// What a group's file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetFile {
    /// The committed offsets.
    pub offsets: BTreeMap<TopicPartition, Committed>,
    /// What waits for the end of its transaction.
    pub pending: Pending,
    /// The group's protocol type, if it ever had members.
    pub protocol_type: Option<Arc<str>>,
    /// When the group became Empty, in milliseconds since 1970; `None` while it has members.
    pub empty_since: Option<i64>,
    /// How many changes the file has seen; orders them for whoever compares two states.
    pub sequence: u64,
    /// Keys that are not ours.
    unknown: Map<String, Value>,
}

/// One committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The offset.
    pub offset: i64,
    /// The leader epoch, -1 for none.
    pub leader_epoch: i32,
    /// The client's note.
    pub metadata: Arc<str>,
    /// When it was committed, in milliseconds since 1970; `None` if a former writer did not say.
    pub committed_ms: Option<i64>,
    /// When it expires whatever the group does, in milliseconds since 1970 (commits of v2 to v4).
    pub expires_ms: Option<i64>,
    /// The file's `sequence` when it was committed. Only compared with that of pending offsets, and
    /// so only written while there are any: it is 0, older than all of those, for what was
    /// committed when there were none.
    pub position: u64,
}

/// Why a file can't be used; it is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile(String);

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFile {}

/// The keys of the envelope that are ours.
mod key {
    pub(super) const GROUP: &str = "group";
    pub(super) const OFFSETS: &str = "offsets";
    pub(super) const METADATA: &str = "metadata";
    pub(super) const LEADER_EPOCHS: &str = "leaderEpochs";
    pub(super) const COMMITTED: &str = "committedMs";
    pub(super) const EXPIRES: &str = "expiresMs";
    pub(super) const PROTOCOL_TYPE: &str = "protocolType";
    pub(super) const EMPTY_SINCE: &str = "emptySinceMs";
    pub(super) const SEQUENCE: &str = "sequence";
    pub(super) const POSITIONS: &str = "positions";
    pub(super) const PENDING: &str = "pending";
}

impl OffsetFile {
    /// Whether there is nothing to keep: a group without offsets needs no file.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty() && self.pending.is_empty()
    }

    /// Whether it says of every offset when that was committed.
    pub fn tells_all_times(&self) -> bool {
        self.offsets.values().all(|it| it.committed_ms.is_some())
    }

    /// Reads the file of `group`.
    pub fn parse(group: &GroupId, content: &[u8]) -> Result<Self, BadFile> {
        let (stored, file) = Self::parse_any(content)?;
        match stored {
            Some(stored) if stored != *group => {
                Err(BadFile(format!("belongs to the group {stored:?}")))
            }
            Some(_) | None => Ok(file),
        }
    }

    /// Reads the file of whatever group, and the id that stands inside if one does.
    pub fn parse_any(content: &[u8]) -> Result<(Option<GroupId>, Self), BadFile> {
        let value: Value = serde_json::from_slice(content)
            .map_err(|error| BadFile(format!("not JSON: {error}")))?;
        let Value::Object(mut map) = value else {
            return Err(BadFile("not a JSON object".to_owned()));
        };
        if is_plain_map(&map) {
            let offsets = read_map(map, "offsets", |value| value.as_i64())?;
            let file = Self { offsets: plain_offsets(offsets), ..Self::default() };
            return Ok((None, file));
        }
        let group = take(&mut map, key::GROUP, |value| value.as_str().map(GroupId::from))?;
        let mut offsets = plain_offsets(take_map(&mut map, key::OFFSETS, |v| v.as_i64())?);
        for (partition, text) in take_map(&mut map, key::METADATA, |v| v.as_str().map(Arc::from))? {
            if let Some(committed) = offsets.get_mut(&partition) {
                committed.metadata = text;
            }
        }
        let epoch = |value: &Value| value.as_i64().and_then(|epoch| i32::try_from(epoch).ok());
        for (partition, epoch) in take_map(&mut map, key::LEADER_EPOCHS, epoch)? {
            if let Some(committed) = offsets.get_mut(&partition) {
                committed.leader_epoch = epoch;
            }
        }
        for (partition, time) in take_map(&mut map, key::COMMITTED, |v| v.as_i64())? {
            if let Some(committed) = offsets.get_mut(&partition) {
                committed.committed_ms = Some(time);
            }
        }
        for (partition, time) in take_map(&mut map, key::EXPIRES, |v| v.as_i64())? {
            if let Some(committed) = offsets.get_mut(&partition) {
                committed.expires_ms = Some(time);
            }
        }
        for (partition, position) in take_map(&mut map, key::POSITIONS, |v| v.as_u64())? {
            if let Some(committed) = offsets.get_mut(&partition) {
                committed.position = position;
            }
        }
        let pending = take_pending(&mut map)?;
        let protocol_type = take(&mut map, key::PROTOCOL_TYPE, |v| v.as_str().map(Arc::from))?;
        let empty_since = take(&mut map, key::EMPTY_SINCE, |v| v.as_i64())?;
        let sequence = take(&mut map, key::SEQUENCE, |v| v.as_u64())?.unwrap_or(0);
        Ok((group, Self { offsets, pending, protocol_type, empty_since, sequence, unknown: map }))
    }

    /// The file's content for `group`.
    pub fn to_json(&self, group: &GroupId) -> Vec<u8> {
        let keys = self.offsets.keys().map(TopicPartition::to_string).collect();
        let envelope = Envelope { group, file: self, keys };
        let mut text = Vec::with_capacity(256 + 128 * self.offsets.len());
        serde_json::to_writer(&mut text, &envelope).expect("text keys and plain values");
        text
    }
}

/// Before the envelope, a file was the map of offsets alone. An empty object may be either.
fn is_plain_map(map: &Map<String, Value>) -> bool {
    !map.is_empty()
        && map.iter().all(|(key, value)| value.is_i64() && TopicPartition::parse(key).is_some())
}

fn plain_offsets(offsets: BTreeMap<TopicPartition, i64>) -> BTreeMap<TopicPartition, Committed> {
    let committed = |offset| Committed {
        offset,
        leader_epoch: -1,
        metadata: "".into(),
        committed_ms: None,
        expires_ms: None,
        position: 0,
    };
    offsets.into_iter().map(|(partition, offset)| (partition, committed(offset))).collect()
}

fn take_pending(map: &mut Map<String, Value>) -> Result<Pending, BadFile> {
    let Some(value) = map.remove(key::PENDING) else { return Ok(Pending::default()) };
    let stored = serde_json::from_value(value).map_err(|error| {
        BadFile(format!("the value of {:?} is malformed: {error}", key::PENDING))
    })?;
    Pending::from_stored(stored)
        .ok_or_else(|| BadFile(format!("{:?} names something that is no partition", key::PENDING)))
}

fn take<T>(
    map: &mut Map<String, Value>,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<Option<T>, BadFile> {
    match map.remove(key) {
        None => Ok(None),
        Some(value) => match read(&value) {
            Some(value) => Ok(Some(value)),
            None => Err(BadFile(format!("the value of {key:?} is of another kind"))),
        },
    }
}

fn take_map<T>(
    map: &mut Map<String, Value>,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<BTreeMap<TopicPartition, T>, BadFile> {
    match map.remove(key) {
        None => Ok(BTreeMap::new()),
        Some(Value::Object(inner)) => read_map(inner, key, read),
        Some(_) => Err(BadFile(format!("the value of {key:?} is no object"))),
    }
}

fn read_map<T>(
    map: Map<String, Value>,
    key: &str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<BTreeMap<TopicPartition, T>, BadFile> {
    let mut result = BTreeMap::new();
    for (name, value) in map {
        let partition = TopicPartition::parse(&name);
        let (Some(partition), Some(value)) = (partition, read(&value)) else {
            return Err(BadFile(format!("the entry {name:?} of {key:?} is malformed")));
        };
        result.insert(partition, value);
    }
    Ok(result)
}

/// Writes a file without building a tree of values first: this runs once per commit.
struct Envelope<'a> {
    group: &'a GroupId,
    file: &'a OffsetFile,
    /// The offsets' keys as text, made once for all columns.
    keys: Vec<String>,
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let file = self.file;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(key::GROUP, self.group)?;
        map.serialize_entry(key::OFFSETS, &Column(self, |it| Some(it.offset)))?;
        let metadata =
            |it: &'_ Committed| Some(Arc::clone(&it.metadata)).filter(|it| !it.is_empty());
        Column(self, metadata).write(&mut map, key::METADATA)?;
        let epoch = |it: &Committed| Some(it.leader_epoch).filter(|epoch| *epoch >= 0);
        Column(self, epoch).write(&mut map, key::LEADER_EPOCHS)?;
        Column(self, |it| it.committed_ms).write(&mut map, key::COMMITTED)?;
        Column(self, |it| it.expires_ms).write(&mut map, key::EXPIRES)?;
        if let Some(protocol_type) = &file.protocol_type {
            map.serialize_entry(key::PROTOCOL_TYPE, protocol_type)?;
        }
        if let Some(empty_since) = file.empty_since {
            map.serialize_entry(key::EMPTY_SINCE, &empty_since)?;
        }
        map.serialize_entry(key::SEQUENCE, &file.sequence)?;
        if !file.pending.is_empty() {
            Column(self, |it| Some(it.position)).write(&mut map, key::POSITIONS)?;
            map.serialize_entry(key::PENDING, &file.pending.to_stored())?;
        }
        for (name, value) in &file.unknown {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// One property of every offset that has it, as a map of its own.
struct Column<'a, T>(&'a Envelope<'a>, fn(&Committed) -> Option<T>);

impl<T: Serialize> Column<'_, T> {
    /// Adds the map to the envelope unless nobody has the property.
    fn write<M: SerializeMap>(&self, map: &mut M, key: &str) -> Result<(), M::Error> {
        if self.0.file.offsets.values().any(|committed| (self.1)(committed).is_some()) {
            map.serialize_entry(key, self)?;
        }
        Ok(())
    }
}

impl<T: Serialize> Serialize for Column<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let offsets = self.0.keys.iter().zip(self.0.file.offsets.values());
        serializer.collect_map(offsets.filter_map(|(key, it)| Some((key, (self.1)(it)?))))
    }
}

#[cfg(test)]
mod tests;
