//! The log that transactional clients write their results to, as far as transactions need one.
//!
//! What a record was made into is appended to a partition of an output topic and counts when the
//! marker of its transaction arrives. Only the end-to-end check lives from it: every record must
//! have been counted once, whatever offsets say. Like Kafka's log it knows the highest epoch of each
//! producer and refuses older ones, and it ends a transaction once.

use std::collections::BTreeMap;

use kaas_coordinator::{api::Producer, ids::TopicPartition};

use crate::hub::Markers;

/// The results of records `from..to` of one input partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The transaction that they belong to, as clients number them.
    pub txn: u64,
    /// The group that consumes the input.
    pub group: model::Name,
    /// The input partition.
    pub partition: TopicPartition,
    /// The first record.
    pub from: i64,
    /// Behind the last record.
    pub to: i64,
}

/// The output, all partitions.
#[derive(Debug, Default)]
pub struct Output {
    producers: BTreeMap<i64, Writer>,
}

#[derive(Debug, Default)]
struct Writer {
    epoch: i16,
    /// The number of the last transaction that was ended.
    ended: u64,
    /// What waits for a marker, and under which epoch it was written.
    pending: Vec<(i16, Effect)>,
}

/// A newer producer has written under this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fenced;

impl Output {
    /// Appends results, which count when their transaction commits.
    pub fn append(&mut self, producer: Producer, effects: Vec<Effect>) -> Result<(), Fenced> {
        let writer = self.producers.entry(producer.id).or_default();
        if producer.epoch < writer.epoch {
            return Err(Fenced);
        }
        writer.epoch = producer.epoch;
        writer.pending.extend(effects.into_iter().map(|it| (producer.epoch, it)));
        Ok(())
    }

    /// A marker arrives; gives what counts from now on.
    pub fn mark(&mut self, markers: &Markers) -> Vec<Effect> {
        let Producer { id, epoch } = markers.producer;
        let writer = self.producers.entry(id).or_default();
        if markers.transaction <= writer.ended {
            return Vec::new();
        }
        writer.ended = markers.transaction;
        writer.epoch = writer.epoch.max(epoch);
        let pending = std::mem::take(&mut writer.pending).into_iter();
        let meant = pending.filter(|(under, _)| markers.commit && *under == epoch);
        meant.map(|(_, effect)| effect).collect()
    }
}

#[cfg(test)]
mod tests {
    use kaas_coordinator::{api::Producer, ids::TopicPartition};

    use super::{Effect, Fenced, Output};
    use crate::hub::Markers;

    fn effect(txn: u64) -> Effect {
        let partition = TopicPartition::new("orders", 0);
        Effect { txn, group: "g".into(), partition, from: 0, to: 3 }
    }

    fn markers(epoch: i16, transaction: u64, commit: bool) -> Markers {
        Markers { producer: Producer { id: 7, epoch }, transaction, commit, partitions: Vec::new() }
    }

    #[test]
    fn results_count_once_with_their_own_marker() {
        let mut output = Output::default();
        let producer = Producer { id: 7, epoch: 2 };
        output.append(producer, vec![effect(1)]).unwrap();
        assert_eq!(output.mark(&markers(2, 1, true)), [effect(1)]);
        output.append(producer, vec![effect(2)]).unwrap();
        assert_eq!(output.mark(&markers(2, 1, true)), [], "it is repeated");
        assert_eq!(output.mark(&markers(2, 2, false)), [], "it aborts");
        assert_eq!(output.mark(&markers(2, 3, true)), [], "nothing is left");
        assert_eq!(output.append(Producer { id: 7, epoch: 1 }, vec![]), Err(Fenced));
    }
}
