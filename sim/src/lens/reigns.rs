//! Which take-over of a group a broker's answers belong to, as the volume shows it.
//!
//! A reign begins when a broker makes a claim. It goes on under another claim if the broker's own
//! previous one still stood then: nobody else can have owned the group in between. It ends when the
//! broker drops the group.

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
    /// The latest reign of each broker and the claim it is under.
    brokers: BTreeMap<model::Name, (u64, String)>,
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
        let group = self.groups.entry(name.to_owned()).or_default();
        let old = group.brokers.get(broker);
        // An empty claim path is that of a reign which is over.
        let goes_on = old.filter(|(_, claim)| !claim.is_empty() && volume.list(claim).is_ok());
        let reign = match goes_on {
            Some((reign, _)) => *reign,
            None => {
                group.reigns += 1;
                group.reigns
            }
        };
        group.brokers.insert(broker.clone(), (reign, path.to_owned()));
    }

    /// A broker has dropped the group, or the group is gone: what comes next is another reign.
    pub(super) fn over(&mut self, broker: &model::Name, name: &str) {
        let Some(group) = self.groups.get_mut(name) else { return };
        if let Some((reign, _)) = group.brokers.get_mut(broker) {
            group.reigns += 1;
            *reign = group.reigns;
        }
    }

    /// A broker has died: its claims are nobody's any more.
    pub(super) fn died(&mut self, broker: &model::Name) {
        for group in self.groups.values_mut() {
            if let Some((_, claim)) = group.brokers.get_mut(broker) {
                claim.clear();
            }
        }
    }

    /// The reign under which a broker answers for a group; 0 if it never made a claim.
    pub(super) fn of(&self, broker: &model::Name, name: &str) -> u64 {
        let group = self.groups.get(name);
        group.and_then(|group| group.brokers.get(broker)).map_or(0, |(reign, _)| *reign)
    }
}
