//! Offsets whose transaction has come to no end that their group has heard of.

use std::{fs, time::Duration};

use kaas_coordinator::{
    api::{ErrorCode, KeyType},
    config::{Config, OffsetsConfig},
};

use crate::rig::{BOTH, Rig, add_offsets, commit_offset, config, end, fetch_offset, init, pause};

/// Groups ask about what is pending after two rounds of the retention task.
fn asking() -> Config {
    let round = Duration::from_millis(100);
    let offsets = OffsetsConfig {
        retention_check_interval: round,
        txn_orphan_after: 2 * round,
        ..OffsetsConfig::default()
    };
    Config { offsets, ..config() }
}

/// Whether the file of a group has offsets that wait for a marker.
fn has_pending(rig: &Rig, group: &str) -> bool {
    let path = rig.root.path().join(format!("__consumer_offsets/{group}.json"));
    fs::read_to_string(path).is_ok_and(|it| it.contains("\"pending\""))
}

fn until_nothing_is_pending(rig: &Rig, group: &str) {
    for _ in 0..2000 {
        if !has_pending(rig, group) {
            return;
        }
        pause();
    }
    panic!("offsets of {group} wait for ever");
}

#[test]
fn they_wait_as_long_as_the_transaction_is_open() {
    let rig = Rig::new(&asking());
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let [broker, owner] = &rig.brokers;
    let producer = init(broker, &id);
    assert_eq!(add_offsets(broker, &id, producer, &group), ErrorCode::None);
    assert_eq!(commit_offset(owner, (&id, producer), &group, 10), ErrorCode::None);
    for _ in 0..120 {
        assert!(has_pending(&rig, &group), "it is asked about, and open");
        pause();
    }
    assert_eq!(end(broker, &id, producer, true), ErrorCode::None);
    until_nothing_is_pending(&rig, &group);
    assert_eq!(fetch_offset(owner, &group), 10);
}

#[test]
fn they_go_when_nobody_knows_of_the_transaction() {
    let mut rig = Rig::new(&asking());
    let (id, group) = (rig.name(KeyType::Transaction, 0), rig.name(KeyType::Group, 1));
    let producer = init(&rig.brokers[0], &id);
    for (offset, ends) in [(10, true), (20, false)] {
        let [broker, owner] = &rig.brokers;
        assert_eq!(add_offsets(broker, &id, producer, &group), ErrorCode::None);
        assert_eq!(commit_offset(owner, (&id, producer), &group, offset), ErrorCode::None);
        if ends {
            assert_eq!(end(broker, &id, producer, true), ErrorCode::None);
            until_nothing_is_pending(&rig, &group);
        }
    }
    // The coordinator dies, and what it knew is lost with the volume's file.
    rig.brokers[0].stop();
    fs::remove_file(rig.root.path().join(format!("__transaction_state/{id}.json"))).unwrap();
    rig.view = rig.cluster.assign(2, &BOTH, &["kaas-0"]);
    rig.applied(1, 2);
    until_nothing_is_pending(&rig, &group);
    assert_eq!(fetch_offset(&rig.brokers[1], &group), 10, "nobody was promised the other");
}
