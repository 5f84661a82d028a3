//! What queued changes do to a file's content, and which offsets have outlived their retention.
//!
//! Pure functions: a batch is applied to a copy of the content, which replaces the original only
//! when the volume has it.

use std::{sync::Arc, time::Duration};

use super::{
    file::{Committed, OffsetFile},
    pending::Transaction,
};
use crate::{
    api::{CommitOffset, Producer},
    ids::{Topic, TopicPartition},
};

/// One queued change of a group's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Store these offsets.
    Commit {
        /// The offsets.
        offsets: Vec<CommitOffset>,
        /// When, in milliseconds since 1970.
        now_ms: i64,
        /// When they expire whatever the group does (commits of v2 to v4).
        expires_ms: Option<i64>,
    },
    /// Store these offsets, to become visible with their transaction.
    CommitInTxn {
        /// The transaction.
        transaction: Transaction,
        /// The offsets.
        offsets: Vec<CommitOffset>,
        /// When, in milliseconds since 1970.
        now_ms: i64,
    },
    /// A transaction is over.
    EndTxn {
        /// The producer under which it was open.
        producer: Producer,
        /// Its number.
        transaction: u64,
        /// Whether its offsets become visible or go.
        commit: bool,
    },
    /// Forget these partitions, what is pending for them included.
    DeleteOffsets(Vec<TopicPartition>),
    /// Forget what is committed for these partitions: its retention is over.
    Expire(Vec<TopicPartition>),
    /// Forget everything.
    DeleteGroup,
    /// Offsets of which nobody said when they were committed count as committed now.
    Stamp {
        /// Now, in milliseconds since 1970.
        now_ms: i64,
    },
    /// Only write what the coordinator knows of the group.
    Touch,
}

/// Applies a change.
pub fn apply(file: &mut OffsetFile, change: &Change) {
    file.sequence += 1;
    let position = file.sequence;
    match change {
        Change::Commit { offsets, now_ms, expires_ms } => {
            let times = (*now_ms, *expires_ms);
            file.offsets.extend(offsets.iter().map(|it| committed(it, times, position)));
        }
        Change::CommitInTxn { transaction, offsets, now_ms } => {
            let offsets = offsets.iter().map(|it| committed(it, (*now_ms, None), position));
            file.pending.add(transaction, offsets, *now_ms);
        }
        Change::EndTxn { producer, transaction, commit } => {
            let ended = file.pending.end(*producer, *transaction);
            for (partition, it) in ended.into_iter().filter(|_| *commit) {
                // Kafka orders by where the offsets were appended, not by where the markers were.
                let is_newer = |old: &Committed| old.position < it.position;
                if file.offsets.get(&partition).is_none_or(is_newer) {
                    file.offsets.insert(partition, it);
                }
            }
        }
        Change::DeleteOffsets(partitions) => {
            for partition in partitions {
                file.offsets.remove(partition);
                file.pending.forget(partition);
            }
        }
        Change::Expire(partitions) => {
            for partition in partitions {
                file.offsets.remove(partition);
            }
        }
        Change::DeleteGroup => {
            file.offsets.clear();
            file.pending.clear();
        }
        Change::Stamp { now_ms } => {
            for committed in file.offsets.values_mut() {
                committed.committed_ms.get_or_insert(*now_ms);
            }
        }
        Change::Touch => {}
    }
}

/// An offset as it is kept that was committed at `position`.
fn committed(
    commit: &CommitOffset,
    (committed_ms, expires_ms): (i64, Option<i64>),
    position: u64,
) -> (TopicPartition, Committed) {
    let committed = Committed {
        offset: commit.offset,
        leader_epoch: commit.leader_epoch,
        metadata: Arc::clone(&commit.metadata),
        committed_ms: Some(committed_ms),
        expires_ms,
        position,
    };
    (commit.partition.clone(), committed)
}

/// What retention depends on (KIP-211).
#[derive(Clone, Copy, Debug)]
pub struct Retention<'a> {
    /// Now, in milliseconds since 1970.
    pub now_ms: i64,
    /// How long an offset is kept.
    pub keep: Duration,
    /// What the group is doing.
    pub situation: Situation<'a>,
}

/// What a group is doing, as far as retention cares.
#[derive(Clone, Copy)]
pub enum Situation<'a> {
    /// It had members and has none: counts from when it became Empty.
    Empty {
        /// When, in milliseconds since 1970; unknown for older files, then the commit counts.
        since: Option<i64>,
    },
    /// It is a Stable group of consumers: what nobody subscribes to counts from its commit.
    Consuming {
        /// Whether any member subscribes to a topic.
        is_subscribed: &'a dyn Fn(&Topic) -> bool,
    },
    /// It never had members: counts from the commit.
    Standalone,
    /// It is rebalancing, or what its members consume is unknown: nothing expires.
    Busy,
}

impl std::fmt::Debug for Situation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Empty { .. } => "Empty",
            Self::Consuming { .. } => "Consuming",
            Self::Standalone => "Standalone",
            Self::Busy => "Busy",
        })
    }
}

/// The partitions whose offsets have outlived their retention.
pub fn expired(file: &OffsetFile, retention: &Retention<'_>) -> Vec<TopicPartition> {
    let keep_ms = i64::try_from(retention.keep.as_millis()).unwrap_or(i64::MAX);
    let is_expired = |partition: &TopicPartition, committed: &Committed| {
        let base = match retention.situation {
            Situation::Busy => return false,
            Situation::Consuming { is_subscribed } if is_subscribed(&partition.topic) => {
                return false;
            }
            Situation::Empty { since: Some(since) } => Some(since),
            Situation::Empty { since: None }
            | Situation::Consuming { .. }
            | Situation::Standalone => committed.committed_ms,
        };
        match (committed.expires_ms, base) {
            (Some(expires), _) => retention.now_ms >= expires,
            (None, Some(base)) => retention.now_ms.saturating_sub(base) >= keep_ms,
            // It counts from when an owner stamps it.
            (None, None) => false,
        }
    };
    let offsets = file.offsets.iter().filter(|(partition, it)| is_expired(partition, it));
    offsets.map(|(partition, _)| partition.clone()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Change, Retention, Situation, apply, expired};
    use crate::{
        api::CommitOffset,
        ids::{Topic, TopicPartition},
        offset_store::file::OffsetFile,
    };

    fn commit(file: &mut OffsetFile, topic: &str, now_ms: i64, expires_ms: Option<i64>) {
        let partition = TopicPartition::new(topic, 0);
        let commit = CommitOffset { partition, offset: 1, leader_epoch: -1, metadata: "".into() };
        apply(file, &Change::Commit { offsets: vec![commit], now_ms, expires_ms });
    }

    fn check(now_ms: i64, situation: Situation<'_>, expected: &[&str]) {
        let mut file = OffsetFile::default();
        commit(&mut file, "a", 100, None);
        commit(&mut file, "b", 200, None);
        commit(&mut file, "c", 200, Some(250));
        let retention = Retention { now_ms, keep: Duration::from_millis(1000), situation };
        let expired = expired(&file, &retention);
        let topics: Vec<_> = expired.iter().map(|it| it.topic.as_str()).collect();
        assert_eq!(topics, expected, "at {now_ms} while {situation:?}");
    }

    #[test]
    fn what_has_no_time_expires_one_retention_after_it_was_stamped() {
        let mut file = OffsetFile::default();
        commit(&mut file, "a", 100, None);
        let known = file.offsets.clone();
        commit(&mut file, "b", 200, None);
        for (partition, committed) in &mut file.offsets {
            committed.committed_ms.take_if(|_| !known.contains_key(partition));
        }
        let is_subscribed = |_: &Topic| false;
        let situations = [
            Situation::Standalone,
            Situation::Empty { since: None },
            Situation::Consuming { is_subscribed: &is_subscribed },
        ];
        let expired_at = |file: &OffsetFile, now_ms, situation| {
            let keep = Duration::from_millis(1000);
            let expired = expired(file, &Retention { now_ms, keep, situation });
            expired.iter().map(|it| it.topic.as_str().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert!(!file.tells_all_times());
        for situation in situations {
            assert_eq!(expired_at(&file, i64::MAX, situation), "a", "{situation:?}");
        }
        let since = Situation::Empty { since: Some(0) };
        assert_eq!(expired_at(&file, 1000, since), "a b", "nobody asks for the commit");
        apply(&mut file, &Change::Stamp { now_ms: 5000 });
        assert!(file.tells_all_times());
        for situation in situations {
            assert_eq!(expired_at(&file, 5999, situation), "a", "{situation:?}");
            assert_eq!(expired_at(&file, 6000, situation), "a b", "{situation:?}");
        }
    }

    #[test]
    fn retention_counts_from_what_the_group_is_doing() {
        check(249, Situation::Standalone, &[]);
        check(250, Situation::Standalone, &["c"]);
        check(1100, Situation::Standalone, &["a", "c"]);
        check(1100, Situation::Busy, &[]);
        check(1100, Situation::Empty { since: Some(101) }, &["c"]);
        check(1101, Situation::Empty { since: Some(101) }, &["a", "b", "c"]);
        check(1100, Situation::Empty { since: None }, &["a", "c"]);
        let is_subscribed = |topic: &Topic| topic.as_str() != "b";
        check(1199, Situation::Consuming { is_subscribed: &is_subscribed }, &[]);
        check(1200, Situation::Consuming { is_subscribed: &is_subscribed }, &["b"]);
    }
}
