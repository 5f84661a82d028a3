//! `assignment.json`: what the controller publishes, its order and its validation.
//!
//! The file lists every broker with its health and names coordinators for some groups. A broker
//! turns a valid file into a [`View`], which is indexed once and then answers in one or two look-ups,
//! however many explicit entries there are. Which view is in force is decided in `coordinator.rs`.

use std::{collections::BTreeSet, fmt, sync::Arc};

use fnv::FnvHashMap;
use serde::{Deserialize, Serialize};

use crate::{
    api::KeyType,
    group_hash::BrokerRing,
    ids::{BrokerId, GroupId},
};

/// The file's path on the shared volume.
pub const ASSIGNMENT_PATH: &str = "assignment.json";

/// The file's content as kaas writes it; unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// How often the controller lease had changed hands when the writer acquired it.
    pub controller_epoch: i64,
    /// Grows by one with every computation, across controllers.
    pub assignment_version: i64,
    /// When it was computed (RFC 3339); informative.
    #[serde(default)]
    pub generated_at: String,
    /// Who wrote it; informative.
    #[serde(default)]
    pub controller: String,
    /// The full broker set: alive, draining and dead.
    pub brokers: Vec<AssignedBroker>,
    /// Explicit coordinators; the first entry of a group counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumer_groups: Vec<AssignedGroup>,
}

/// A broker in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignedBroker {
    /// Its id.
    pub id: BrokerId,
    /// Its health.
    pub health: Health,
    /// When the controller wrote this (RFC 3339); informative.
    #[serde(default)]
    pub last_seen: String,
}

/// A broker's health; only `Alive` ones are picked by hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// Serves.
    Alive,
    /// Is about to stop.
    Draining,
    /// Is gone, and may come back.
    Dead,
}

/// An explicit entry: this broker coordinates this group, whatever its health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignedGroup {
    /// The group.
    pub group_id: GroupId,
    /// Its coordinator.
    pub broker: BrokerId,
    /// How often the entry has moved; informative.
    #[serde(default)]
    pub epoch: u32,
}

/// The order of views: first the controller's epoch, then the version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId {
    /// `controllerEpoch`.
    pub epoch: i64,
    /// `assignmentVersion`.
    pub version: i64,
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.version)
    }
}

/// Why a file is no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidAssignment {
    /// Not JSON of the file's shape: torn, foreign, or with an unknown health.
    Unparsable,
    /// A broker is listed twice, which would inflate the divisor.
    DuplicateBroker,
    /// The epoch or the version is negative.
    NegativeVersion,
}

impl InvalidAssignment {
    /// The reason in a few words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unparsable => "not an assignment",
            Self::DuplicateBroker => "lists a broker twice",
            Self::NegativeVersion => "negative epoch or version",
        }
    }
}

/// An assignment as one broker applies it, indexed for look-ups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    id: ViewId,
    ring: BrokerRing,
    explicit: FnvHashMap<GroupId, BrokerId>,
}

impl View {
    /// Reads and validates a file.
    pub fn parse(content: &[u8]) -> Result<Self, InvalidAssignment> {
        let assignment: Assignment =
            serde_json::from_slice(content).map_err(|_| InvalidAssignment::Unparsable)?;
        Self::new(&assignment)
    }

    /// Validates and indexes an assignment.
    pub fn new(assignment: &Assignment) -> Result<Self, InvalidAssignment> {
        if assignment.controller_epoch < 0 || assignment.assignment_version < 0 {
            return Err(InvalidAssignment::NegativeVersion);
        }
        let ids: BTreeSet<_> = assignment.brokers.iter().map(|broker| &broker.id).collect();
        if ids.len() != assignment.brokers.len() {
            return Err(InvalidAssignment::DuplicateBroker);
        }
        let mut explicit = FnvHashMap::default();
        for entry in &assignment.consumer_groups {
            explicit.entry(entry.group_id.clone()).or_insert_with(|| entry.broker.clone());
        }
        let alive = |broker: &AssignedBroker| (broker.id.clone(), broker.health == Health::Alive);
        Ok(Self {
            id: ViewId {
                epoch: assignment.controller_epoch,
                version: assignment.assignment_version,
            },
            ring: BrokerRing::new(assignment.brokers.iter().map(alive)),
            explicit,
        })
    }

    /// The view's place in the order of views.
    pub fn id(&self) -> ViewId {
        self.id
    }

    /// Who coordinates `key`: for a group the explicit entry if there is one, else the hash; for a
    /// transactional id the hash alone.
    pub fn owner(&self, kind: KeyType, key: &str) -> Option<&BrokerId> {
        match kind {
            KeyType::Group => self.explicit.get(key).or_else(|| self.ring.pick(key)),
            KeyType::Transaction => self.ring.pick(key),
        }
    }

    /// Whether a group goes to an alternate since the broker that the hash prefers is not alive.
    pub fn uses_fallback(&self, group: &GroupId) -> bool {
        !self.explicit.contains_key(group) && self.ring.uses_fallback(group.as_str())
    }

    /// Whether an explicit entry sends a group elsewhere than the hash does.
    pub fn overrules_hash(&self, group: &GroupId) -> bool {
        let explicit = self.explicit.get(group);
        explicit.is_some_and(|broker| self.ring.pick(group.as_str()) != Some(broker))
    }

    /// Who coordinates a group.
    pub fn group_owner(&self, group: &GroupId) -> Option<&BrokerId> {
        self.owner(KeyType::Group, group.as_str())
    }
}

/// A view that many may hold.
pub type SharedView = Arc<View>;

#[cfg(test)]
mod tests;
