//! Transactions that nothing disturbs much.

use kaas_coordinator::{
    api::{ErrorCode, KeyType},
    ids::BrokerId,
    note::TxnEvent,
};

use crate::rig::{Rig, add_offsets, add_partition, config, end, init};

#[test]
fn a_commit_reaches_the_group_at_another_broker() {
    let rig = Rig::new(&config());
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let broker = &rig.brokers[0];
    let producer = init(broker, &id);
    for (transaction, commit) in [(1, true), (2, false)] {
        assert_eq!(add_offsets(broker, &id, producer, &group), ErrorCode::None);
        assert_eq!(add_partition(broker, &id, producer), ErrorCode::None);
        assert_eq!(add_partition(broker, &id, producer), ErrorCode::None);
        rig.cluster.seen(|seen| seen.refusals = 2);
        assert_eq!(end(broker, &id, producer, commit), ErrorCode::None);
        rig.cluster.until("completed", |seen| {
            seen.events.iter().any(|(_, _, event)| {
                matches!(event, TxnEvent::Completed { transaction: it, .. } if *it == transaction)
            })
        });
        // The producer has not heard of it.
        assert_eq!(end(broker, &id, producer, commit), ErrorCode::None);
        assert_eq!(end(broker, &id, producer, !commit), ErrorCode::InvalidTxnState);
        rig.cluster.seen(|seen| {
            let (to, marker) = seen.markers.pop().expect("a marker was sent");
            assert_eq!(to, BrokerId::from("kaas-1"));
            assert_eq!((marker.producer, marker.transaction), (producer, transaction));
            assert_eq!((marker.group.as_str(), marker.commit), (&*group, commit));
            let (by, number, was_commit, partitions) =
                seen.written.pop().expect("partitions have it");
            assert_eq!((by, number), (producer, transaction));
            assert_eq!((was_commit, partitions.len()), (commit, 1));
            assert!(seen.markers.is_empty() && seen.written.is_empty(), "one of each");
        });
    }
}
