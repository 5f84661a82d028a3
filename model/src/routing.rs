//! Who coordinates a key under one view: the reference rule, written from its description.
//!
//! Two tiers. An explicit entry for a group wins, whatever that broker's health. Otherwise the
//! FNV-1a hash (32 bits) of the key, modulo the size of the full set, picks a slot of the brokers
//! sorted bytewise; if that broker is not alive, the same slot modulo the number of living ones
//! picks among those. Transactional ids know the second tier only.
//!
//! It does not know which view is in force where. Always: the answer depends on the view and the
//! key alone.

use crate::event::{Health, Kind, Name};
use std::{collections::BTreeMap, fmt};

/// One content of `assignment.json`, indexed for routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The controller's epoch.
    pub epoch: i64,
    /// The version within the epoch.
    pub version: i64,
    brokers: Vec<(Name, Health)>,
    alive: Vec<Name>,
    explicit: BTreeMap<Name, Name>,
}

/// The 32-bit FNV-1a hash of the key's bytes.
#[must_use]
pub fn fnv1a32(key: &str) -> u32 {
    key.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Position `hash mod len` of `all`; nothing if there is nothing to pick from.
fn slot_of<T>(slot: u32, all: &[T]) -> Option<(u32, &T)> {
    let len = u32::try_from(all.len()).ok()?;
    let slot = slot.checked_rem(len)?;
    let index = usize::try_from(slot).expect("a slot is smaller than a length");
    Some((slot, &all[index]))
}

impl View {
    /// Indexes a view. Of several entries for one broker or group, the first counts.
    #[must_use]
    pub fn new(order: (i64, i64), brokers: &[(Name, Health)], explicit: &[(Name, Name)]) -> View {
        let mut sorted = BTreeMap::new();
        for (id, health) in brokers {
            sorted.entry(id.clone()).or_insert(*health);
        }
        let mut by_group = BTreeMap::new();
        for (group, broker) in explicit {
            by_group.entry(group.clone()).or_insert_with(|| broker.clone());
        }
        let brokers: Vec<(Name, Health)> = sorted.into_iter().collect();
        let alive = brokers.iter().filter(|(_, health)| *health == Health::Alive);
        let alive = alive.map(|(id, _)| id.clone()).collect();
        View { epoch: order.0, version: order.1, brokers, alive, explicit: by_group }
    }

    /// What orders views: epoch first, then version.
    #[must_use]
    pub fn order(&self) -> (i64, i64) {
        (self.epoch, self.version)
    }

    /// The key's coordinator; `None` if nobody is alive or there is no broker.
    #[must_use]
    pub fn route(&self, kind: Kind, key: &str) -> Option<&Name> {
        if let Some(broker) = self.entry(kind, key) {
            return Some(broker);
        }
        let (slot, (preferred, health)) = slot_of(fnv1a32(key), &self.brokers)?;
        match health {
            Health::Alive => Some(preferred),
            Health::Draining | Health::Dead => slot_of(slot, &self.alive).map(|(_, id)| id),
        }
    }

    /// Whether both route every key to the same broker, whatever else they say: there is no telling a
    /// broker that drains from one that is dead by the routes.
    pub(crate) fn routes_like(&self, other: &View) -> bool {
        let (ids, others) = (self.brokers.iter(), other.brokers.iter());
        let is_same_set = ids.map(|(id, _)| id).eq(others.map(|(id, _)| id));
        is_same_set && self.alive == other.alive && self.explicit == other.explicit
    }

    /// Whether it routes the key to that broker.
    pub(crate) fn routes_to(&self, kind: Kind, key: &str, broker: &str) -> bool {
        self.route(kind, key).is_some_and(|to| **to == *broker)
    }

    /// The explicit entry of a group; transactional ids have none.
    fn entry(&self, kind: Kind, key: &str) -> Option<&Name> {
        match kind {
            Kind::Group => self.explicit.get(key),
            Kind::Transaction => None,
        }
    }

    fn preferred(&self, key: &str) -> Option<&(Name, Health)> {
        slot_of(fnv1a32(key), &self.brokers).map(|(_, broker)| broker)
    }

    /// Where the key goes and by which tier: `view 7.43 routes g1 to kaas-2 (slot 2 of 5, alive)`.
    pub(crate) fn explain(&self, kind: Kind, key: &str) -> String {
        let to = self.route(kind, key).map_or("nobody", |id| id);
        let why = match (self.entry(kind, key), slot_of(fnv1a32(key), &self.brokers)) {
            (Some(_), _) => "explicit entry".to_owned(),
            (None, None) => "no broker".to_owned(),
            (None, Some((slot, (id, health)))) => {
                let all = self.brokers.len();
                match (health, slot_of(slot, &self.alive)) {
                    (Health::Alive, _) => format!("slot {slot} of {all}, {id} is alive"),
                    (Health::Draining | Health::Dead, None) => "nobody is alive".to_owned(),
                    (Health::Draining | Health::Dead, Some((second, _))) => format!(
                        "slot {slot} of {all}, {id} is {}, so slot {second} of the {} alive",
                        health_word(*health),
                        self.alive.len()
                    ),
                }
            }
        };
        format!("{self} routes {key} to {to} ({why})")
    }

    /// What of that which may move a key differs between this view and a later one.
    pub(crate) fn differences(&self, later: &View, kind: Kind, key: &str) -> String {
        let entries = (self.entry(kind, key), later.entry(kind, key));
        let preferred = (self.preferred(key), later.preferred(key));
        let of = |same: bool, what: &str| format!("{what} {}", if same { "same" } else { "other" });
        let full = self.brokers.iter().map(|b| &b.0).eq(later.brokers.iter().map(|b| &b.0));
        format!(
            "from {self} to {later}: {}, {}, {}, {}",
            of(entries.0 == entries.1, "explicit entry"),
            of(preferred.0 == preferred.1, "preferred broker and its health"),
            of(self.alive == later.alive, "alive set"),
            of(full, "full set"),
        )
    }
}

/// `view 7.43`: epoch and version.
impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {}.{}", self.epoch, self.version)
    }
}

fn health_word(health: Health) -> &'static str {
    match health {
        Health::Alive => "alive",
        Health::Draining => "draining",
        Health::Dead => "dead",
    }
}
