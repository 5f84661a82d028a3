//! The offsets of one group, stored at once: the least that the cases about groups need.

use std::{collections::BTreeMap, time::Duration};

use kaas_coordinator::{ids::TopicPartition, ports::Instant};

/// One offset.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) offset: i64,
    pub(crate) leader_epoch: i64,
    pub(crate) metadata: String,
    pub(crate) committed_at: Instant,
    pub(crate) keep_until: Option<Instant>,
    /// Its place in the order of all commits.
    position: u64,
}

impl Stored {
    pub(crate) fn new(offset: i64, leader_epoch: i64, metadata: String) -> Self {
        let committed_at = Instant::ZERO;
        Self { offset, leader_epoch, metadata, committed_at, keep_until: None, position: 0 }
    }

    pub(crate) fn stamp(&mut self, now: Instant, keep: Option<Duration>, position: u64) {
        self.committed_at = now;
        self.keep_until = keep.map(|keep| now + keep);
        self.position = position;
    }
}

/// Committed and pending transactional offsets.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    committed: BTreeMap<TopicPartition, Stored>,
    /// By producer. One whose offsets were deleted stays until its transaction ends, and so does
    /// the group, as in Kafka.
    pending: BTreeMap<i64, BTreeMap<TopicPartition, Stored>>,
}

impl Offsets {
    pub(crate) fn is_empty(&self) -> bool {
        self.committed.is_empty() && self.pending.is_empty()
    }

    pub(crate) fn get(&self, tp: &TopicPartition) -> Option<&Stored> {
        self.committed.get(tp)
    }

    pub(crate) fn committed(&self) -> impl Iterator<Item = (&TopicPartition, &Stored)> {
        self.committed.iter()
    }

    pub(crate) fn is_unstable(&self, tp: &TopicPartition) -> bool {
        self.pending.values().any(|pending| pending.contains_key(tp))
    }

    pub(crate) fn commit(&mut self, tp: TopicPartition, stored: Stored) {
        self.committed.insert(tp, stored);
    }

    pub(crate) fn commit_pending(&mut self, producer: i64, tp: TopicPartition, stored: Stored) {
        self.pending.entry(producer).or_default().insert(tp, stored);
    }

    /// A transaction ends: the later of its offset and the plain one is what stays.
    pub(crate) fn end(&mut self, producer: i64, commit: bool) {
        for (tp, stored) in self.pending.remove(&producer).unwrap_or_default() {
            let later = self.committed.get(&tp).is_none_or(|old| old.position < stored.position);
            if commit && later {
                self.committed.insert(tp, stored);
            }
        }
    }

    pub(crate) fn remove(&mut self, tp: &TopicPartition) {
        self.remove_all(|other| other == tp);
    }

    pub(crate) fn remove_topic(&mut self, topic: &str) {
        self.remove_all(|tp| tp.topic.as_str() == topic);
    }

    fn remove_all(&mut self, which: impl Fn(&TopicPartition) -> bool) {
        self.committed.retain(|tp, _| !which(tp));
        self.pending.values_mut().for_each(|pending| pending.retain(|tp, _| !which(tp)));
    }

    pub(crate) fn expire(&mut self, expired: impl Fn(&TopicPartition, &Stored) -> bool) {
        self.committed.retain(|tp, stored| !expired(tp, stored));
    }
}
