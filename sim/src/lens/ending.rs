//! How things end, and what stays broken for good, in the words of the model.

use std::collections::BTreeSet;

use kaas_coordinator::{api::KeyType, broker::Status, offset_store::OFFSETS_DIR};
use model::{Kind, Micros, Name, What};

use super::Lens;
use crate::seed::micros;

/// What stays broken for good, and whom that may concern.
#[derive(Debug, Default)]
pub(super) struct Broken {
    /// The groups whose files have rotted.
    files: BTreeSet<Name>,
    /// The brokers that nobody reaches.
    brokers: BTreeSet<Name>,
    /// The clients that have begun a transaction.
    producers: BTreeSet<Name>,
}

impl Lens {
    /// A group's file has rotted: nothing is promised of it but that it is refused.
    pub fn rotten(&mut self, group: &str) {
        self.broken.files.insert(group.into());
    }

    /// A broker has published a file, which is whole. Only files with plain names rot.
    pub(super) fn mended(&mut self, path: &str) {
        let name = path.strip_prefix(OFFSETS_DIR).and_then(|it| it.strip_prefix('/'));
        if let Some(group) = name.and_then(|it| it.strip_suffix(".json")) {
            self.broken.files.remove(group);
        }
    }

    /// A client has begun a transaction.
    pub(super) fn has_begun(&mut self, client: &Name) {
        if !self.broken.producers.contains(client) {
            self.broken.producers.insert(client.clone());
        }
    }

    /// These are the groups whose files stay as they rotted.
    pub fn lost(&mut self, groups: BTreeSet<Name>) {
        for group in groups.iter().cloned() {
            self.see(What::FileLost { group });
        }
        self.broken.files = groups;
    }

    /// Whether a group's file stays as it rotted.
    pub fn is_lost(&self, group: &str) -> bool {
        self.broken.files.contains(group)
    }

    /// From here on nobody reaches a broker, for good.
    pub fn unreachable(&mut self, broker: &Name) {
        self.broken.brokers.insert(broker.clone());
        self.see(What::Unreachable { broker: broker.clone() });
    }

    /// Whether a group may be unable to come to rest for good: then nobody waits for it, and the model
    /// judges. By the same facts, so that what is not waited for is not called broken for being late.
    pub fn is_excused(&self, group: &str) -> bool {
        let Broken { files, brokers, producers } = &self.broken;
        if brokers.is_empty() {
            return files.contains(group);
        }
        let is_of_group = |client: &&Name| client.rsplit_once('.').is_some_and(|it| it.0 == group);
        let is_beyond_reach = |kind, key: &str| {
            let owner = self.view.as_ref().and_then(|it| it.owner(kind, key));
            owner.is_some_and(|it| brokers.contains(it.as_str()))
        };
        files.contains(group)
            || is_beyond_reach(KeyType::Group, group)
            || producers
                .iter()
                .filter(is_of_group)
                .any(|client| is_beyond_reach(KeyType::Transaction, client))
    }

    /// Views do not change any more, and everybody has had time to see the last one.
    pub fn settled(&mut self) {
        self.see(What::Settled);
    }

    /// What a broker holds in memory.
    pub fn census(&mut self, broker: &Name, local: u64, status: &Status) {
        let held = status.held.iter().map(|it| model::Held {
            key: it.group.shared(),
            kind: Kind::Group,
            in_use: it.in_use,
            idle: Micros(micros(it.idle)),
        });
        let transactions = status.transactions.iter().map(|it| model::Held {
            key: it.id.shared(),
            kind: Kind::Transaction,
            in_use: it.in_use,
            idle: Micros(micros(it.idle)),
        });
        let held = held.chain(transactions).collect();
        self.see(What::Census { broker: broker.clone(), local: Micros(local), held });
    }

    /// How a group ended: its partitions, who holds what, and why it is not at rest.
    pub fn group_at_end(
        &mut self,
        group: &str,
        partitions: &[String],
        held: Vec<(Name, Vec<Name>)>,
        pending: Option<&str>,
    ) {
        self.see(What::GroupAtEnd {
            group: group.into(),
            partitions: partitions.iter().map(|it| it.as_str().into()).collect(),
            held,
            pending: pending.map(Name::from),
        });
    }
}
