//! Transactions that nothing disturbs much.

use kaas_coordinator::{
    api::{ErrorCode, KeyType},
    ids::BrokerId,
    note::TxnEvent,
};

use crate::rig::{
    Rig, add_offsets, add_partition, commit_offset, config, end, fetch_offset, init, pause,
};

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

#[test]
fn offsets_become_visible_with_their_transaction_and_only_if_it_commits() {
    let rig = Rig::new(&config());
    for owner in [0, 1] {
        let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, owner));
        let (broker, group_broker) = (&rig.brokers[0], &rig.brokers[owner]);
        let producer = init(broker, &id);
        let commit = |offset| commit_offset(group_broker, (&id, producer), &group, offset);
        assert_eq!(commit(1), ErrorCode::InvalidTxnState, "no transaction is open");
        let mut visible = -1;
        for (offset, commits) in [(10, true), (20, false), (30, true)] {
            assert_eq!(add_offsets(broker, &id, producer, &group), ErrorCode::None);
            assert_eq!(commit(offset), ErrorCode::None);
            assert_eq!(fetch_offset(group_broker, &group), visible);
            assert_eq!(end(broker, &id, producer, commits), ErrorCode::None);
            // Whoever is initialised next, or adds to the next transaction, has waited for it.
            while end(broker, &id, producer, commits) != ErrorCode::None {
                pause();
            }
            visible = if commits { offset } else { visible };
            assert_eq!(fetch_offset(group_broker, &group), visible);
        }
    }
}
