//! Coordinators that die, are stopped, or lose an id while a transaction is open or about to end.

use std::time::Duration;

use kaas_coordinator::{
    api::{ErrorCode, KeyType, Producer},
    config::{Config, TxnConfig},
    ids::BrokerId,
    note::TxnEvent,
};

use crate::{
    cluster::Seen,
    rig::{BOTH, Rig, add_offsets, add_partition, config, end, init, pause, try_init},
};

/// Whether this broker has noted it.
fn noted(seen: &Seen, broker: &str, is_it: impl Fn(&TxnEvent) -> bool) -> bool {
    let by = BrokerId::from(broker);
    seen.events.iter().any(|(it, _, event)| *it == by && is_it(event))
}

fn is_completed(event: &TxnEvent, number: u64, how: &str) -> bool {
    matches!(event, TxnEvent::Completed { transaction, phase }
        if *transaction == number && *phase == how)
}

#[test]
fn what_a_dead_coordinator_has_decided_is_resumed_by_the_next() {
    let mut rig = Rig::new(&config());
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let producer = init(&rig.brokers[0], &id);
    assert_eq!(add_offsets(&rig.brokers[0], &id, producer, &group), ErrorCode::None);
    assert_eq!(add_partition(&rig.brokers[0], &id, producer), ErrorCode::None);
    rig.cluster.seen(|seen| seen.refusals = usize::MAX);
    assert_eq!(end(&rig.brokers[0], &id, producer, true), ErrorCode::None);
    rig.brokers[0].stop();
    rig.cluster.seen(|seen| seen.refusals = 0);
    rig.view = rig.cluster.assign(2, &BOTH, &["kaas-0"]);
    rig.applied(1, 2);
    // Nobody asks for it.
    rig.cluster.until("completed by the next", |seen| {
        noted(seen, "kaas-1", |it| *it == TxnEvent::Resumed)
            && noted(seen, "kaas-1", |it| is_completed(it, 1, "CompleteCommit"))
    });
    rig.cluster.seen(|seen| {
        let (to, marker) = seen.markers.last().expect("it was sent again");
        assert_eq!((to, marker.transaction), (&BrokerId::from("kaas-1"), 1));
        assert!(marker.commit && marker.producer == producer);
    });
    // The producer never heard that it was over.
    assert_eq!(end(&rig.brokers[1], &id, producer, true), ErrorCode::None);
    // The first one wakes up, and is told that it is deposed.
    rig.brokers[0].go_on();
    rig.applied(0, 2);
    assert_eq!(end(&rig.brokers[0], &id, producer, true), ErrorCode::NotCoordinator);
    assert!(rig.brokers[0].status().transactions.is_empty());
}

#[test]
fn a_transaction_that_is_open_for_too_long_aborts_and_fences_even_at_the_next_coordinator() {
    let mut rig = Rig::new(&config());
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let timeout = Duration::from_millis(400);
    let mut producer = Producer::NONE;
    while producer == Producer::NONE {
        producer = try_init(&rig.brokers[0], Some(&id), timeout, None).producer;
    }
    assert_eq!(add_offsets(&rig.brokers[0], &id, producer, &group), ErrorCode::None);
    rig.brokers[0].stop();
    rig.view = rig.cluster.assign(2, &BOTH, &["kaas-0"]);
    rig.cluster.until("aborted by the next", |seen| {
        noted(seen, "kaas-1", |it| *it == TxnEvent::TimedOut { transaction: 1 })
            && noted(seen, "kaas-1", |it| is_completed(it, 1, "CompleteAbort"))
    });
    rig.cluster.seen(|seen| {
        let (_, marker) = seen.markers.last().expect("the group has heard of it");
        assert_eq!((marker.producer, marker.commit), (producer, false));
    });
    let broker = &rig.brokers[1];
    assert_eq!(end(broker, &id, producer, true), ErrorCode::ProducerFenced);
    assert_eq!(add_offsets(broker, &id, producer, &group), ErrorCode::ProducerFenced);
    let next = init(broker, &id);
    assert_eq!((next.id, next.epoch), (producer.id, producer.epoch + 2));
}

#[test]
fn a_new_producer_aborts_what_the_old_one_left_open() {
    let rig = Rig::new(&config());
    let (id, group) = (rig.name(KeyType::Transaction, 1), rig.name(KeyType::Group, 0));
    let broker = &rig.brokers[1];
    let old = init(broker, &id);
    assert_eq!(add_offsets(broker, &id, old, &group), ErrorCode::None);
    let first = try_init(broker, Some(&id), Duration::from_mins(1), None);
    assert_eq!(first.error, ErrorCode::ConcurrentTransactions);
    assert_eq!(end(broker, &id, old, true), ErrorCode::ProducerFenced);
    let new = init(broker, &id);
    assert_eq!((new.id, new.epoch), (old.id, old.epoch + 2));
    assert_eq!(end(broker, &id, old, true), ErrorCode::ProducerFenced);
    rig.cluster.seen(|seen| {
        let (_, marker) = seen.markers.last().expect("the group has heard of it");
        assert_eq!((marker.producer, marker.commit), (old, false));
    });
}

#[test]
fn who_has_lost_an_id_without_knowing_tells_nobody_that_it_succeeded() {
    // Views never become stale, so only the claim can say so.
    let config = Config { staleness_max: Duration::MAX, ..config() };
    let mut rig = Rig::new(&config);
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let producer = init(&rig.brokers[0], &id);
    assert_eq!(add_offsets(&rig.brokers[0], &id, producer, &group), ErrorCode::None);
    assert_eq!(end(&rig.brokers[0], &id, producer, true), ErrorCode::None);
    rig.cluster.until("completed", |seen| {
        noted(seen, "kaas-0", |it| is_completed(it, 1, "CompleteCommit"))
    });
    rig.brokers[0].stop();
    rig.view = rig.cluster.assign(2, &BOTH, &["kaas-0"]);
    rig.applied(1, 2);
    // The same producer opens another transaction at the new owner.
    assert_eq!(add_offsets(&rig.brokers[1], &id, producer, &group), ErrorCode::None);
    // The old one can't hear of it.
    std::fs::remove_file(rig.root.path().join("assignment.json")).unwrap();
    rig.brokers[0].go_on();
    // To the old one it looks as if this repeated the end of the transaction before.
    assert_eq!(end(&rig.brokers[0], &id, producer, true), ErrorCode::NotCoordinator);
    rig.cluster.until("fenced", |seen| {
        noted(seen, "kaas-0", |it| matches!(it, TxnEvent::Fenced { during: "read" }))
    });
}

#[test]
fn an_unused_id_leaves_memory_and_then_the_volume() {
    let txn = TxnConfig { id_expiration: Duration::from_millis(600), ..config().txn };
    let idle_max = Duration::from_millis(100);
    let rig = Rig::new(&Config { txn, idle_max, ..config() });
    let id = rig.name(KeyType::Transaction, 0);
    let before = init(&rig.brokers[0], &id);
    let file = rig.root.path().join(format!("__transaction_state/{id}.json"));
    assert!(file.exists());
    rig.cluster.until("put away", |seen| noted(seen, "kaas-0", |it| *it == TxnEvent::Idle));
    assert!(file.exists());
    rig.cluster.until("expired", |seen| noted(seen, "kaas-0", |it| *it == TxnEvent::Expired));
    assert!(!file.exists());
    while !rig.brokers[0].status().transactions.is_empty() {
        pause();
    }
    let end_of_nothing = end(&rig.brokers[0], &id, before, true);
    assert_eq!(end_of_nothing, ErrorCode::InvalidProducerIdMapping);
    assert_ne!(init(&rig.brokers[0], &id).id, before.id);
}

#[test]
fn a_file_that_makes_no_sense_is_kept_and_its_id_refused() {
    let rig = Rig::new(&config());
    let id = rig.name(KeyType::Transaction, 0);
    let other = init(&rig.brokers[0], &rig.name(KeyType::Transaction, 0));
    rig.brokers[0].stop();
    let file = rig.root.path().join(format!("__transaction_state/{id}.json"));
    std::fs::write(&file, "{}").unwrap();
    rig.cluster.assign(2, &BOTH, &["kaas-0"]);
    rig.applied(1, 2);
    let refused = try_init(&rig.brokers[1], Some(&id), Duration::from_mins(1), None);
    assert_eq!(refused.error, ErrorCode::CoordinatorNotAvailable);
    let refused = end(&rig.brokers[1], &id, other, true);
    assert_eq!(refused, ErrorCode::CoordinatorNotAvailable);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
}
