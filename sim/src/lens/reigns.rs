//! Which take-over of a group a broker's answers belong to, as the volume shows it.
//!
//! A reign begins when a broker has taken a group over under a claim that it made. It goes on under
//! another claim if one of the broker's own before it still stood when that was made, be it of a
//! take-over that failed: nobody else can have owned the group in between. It ends when the broker
//! drops the group.

use std::collections::BTreeMap;

use crate::volume::SharedVolume;

/// The reigns of all groups; groups go by the name of their claims' directory.
#[derive(Debug, Default)]
pub(super) struct Reigns {
    groups: BTreeMap<String, Group>,
}

#[derive(Debug, Default)]
struct Group {
    /// How many reigns there were.
    reigns: u64,
    brokers: BTreeMap<model::Name, Latest>,
}

/// The latest reign of one broker.
#[derive(Debug, Default)]
struct Latest {
    reign: u64,
    /// The paths of the claim it is under and of those made since; none if they are nobody's any more.
    claims: Vec<String>,
    /// Whether another begins when the take-over is done. Until then the old members are answered.
    is_ending: bool,
    /// Whether the take-over is done.
    is_loaded: bool,
}

/// The group and the claim of `__consumer_offsets/.claims/<group>/<claim>`.
pub(super) fn claim_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("__consumer_offsets/.claims/")?;
    rest.split_once('/').filter(|(_, claim)| !claim.contains('/'))
}

impl Reigns {
    /// A broker has created a directory; perhaps it is a claim.
    pub(super) fn created(&mut self, broker: &model::Name, path: &str, volume: &SharedVolume) {
        let Some((name, _)) = claim_of(path) else { return };
        let latest = self.groups.entry(name.to_owned()).or_default();
        let latest = latest.brokers.entry(broker.clone()).or_default();
        latest.claims.retain(|it| volume.list(it).is_ok());
        latest.is_ending |= latest.claims.is_empty();
        latest.is_loaded = false;
        latest.claims.push(path.to_owned());
    }

    /// A broker has taken the group over.
    pub(super) fn taken_over(&mut self, broker: &model::Name, name: &str) {
        let is_ending = |it: &Latest| it.is_ending;
        self.next(broker, name, is_ending);
        self.set_loaded(broker, name, true);
    }

    /// A broker has dropped the group, or the group is gone: what comes next is another reign.
    pub(super) fn over(&mut self, broker: &model::Name, name: &str) {
        self.next(broker, name, |_| true);
        self.unloaded(broker, name);
    }

    /// A broker has to take a group over again before it can do anything for it.
    pub(super) fn unloaded(&mut self, broker: &model::Name, name: &str) {
        self.set_loaded(broker, name, false);
    }

    fn set_loaded(&mut self, broker: &model::Name, name: &str, is_loaded: bool) {
        let group = self.groups.get_mut(name);
        if let Some(latest) = group.and_then(|it| it.brokers.get_mut(broker)) {
            latest.is_loaded = is_loaded;
        }
    }

    fn next(&mut self, broker: &model::Name, name: &str, is_due: impl Fn(&Latest) -> bool) {
        let Some(group) = self.groups.get_mut(name) else { return };
        if let Some(latest) = group.brokers.get_mut(broker).filter(|it| is_due(it)) {
            group.reigns += 1;
            latest.reign = group.reigns;
            latest.is_ending = false;
        }
    }

    /// A broker has died: its claims are nobody's any more.
    pub(super) fn died(&mut self, broker: &model::Name) {
        for group in self.groups.values_mut() {
            if let Some(latest) = group.brokers.get_mut(broker) {
                latest.claims.clear();
                latest.is_loaded = false;
            }
        }
    }

    /// Whether a broker has taken a group over and not begun to take it over again.
    pub(super) fn is_loaded(&self, broker: &model::Name, name: &str) -> bool {
        let latest = self.groups.get(name).and_then(|group| group.brokers.get(broker));
        latest.is_some_and(|it| it.is_loaded)
    }

    /// The reign under which a broker answers for a group; 0 if it never took it over.
    pub(super) fn of(&self, broker: &model::Name, name: &str) -> u64 {
        let group = self.groups.get(name);
        group.and_then(|group| group.brokers.get(broker)).map_or(0, |latest| latest.reign)
    }
}
