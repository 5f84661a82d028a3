//! Producer ids: never the same twice, whoever gives them and however often brokers begin anew.

use std::{collections::BTreeSet, fs, time::Duration};

use kaas_coordinator::api::{ErrorCode, KeyType};

use crate::rig::{BOTH, Rig, config, pause, try_init};

/// A producer id of any broker; patient, since brokers may displace each other.
fn fresh(rig: &Rig, broker: usize, id: Option<&str>) -> i64 {
    for _ in 0..1000 {
        let response = try_init(&rig.brokers[broker], id, Duration::from_mins(1), None);
        if response.error.is_none() {
            return response.producer.id;
        }
        assert_eq!(response.error, ErrorCode::CoordinatorLoadInProgress);
        pause();
    }
    panic!("there are no producer ids")
}

#[test]
fn no_id_is_given_twice() {
    let mut rig = Rig::new(&config());
    let mut given = BTreeSet::new();
    let mut take = |rig: &Rig, broker, id: Option<&str>| {
        assert!(given.insert(fresh(rig, broker, id)), "given before");
    };
    for round in 0..3 {
        // More than a block at one broker, a few at the other, some for transactional ids.
        let many = if round == 0 { 1010 } else { 10 };
        for broker in [0, 1] {
            for _ in 0..many / (1 + 100 * broker) {
                take(&rig, broker, None);
            }
        }
        let ids: Vec<_> = (0..).map(|n| format!("of-{round}-{n}")).take(40).collect();
        for id in ids {
            let owner = rig.view.owner(KeyType::Transaction, &id).expect("somebody");
            let broker = usize::from(owner.as_str() == BOTH[1]);
            take(&rig, broker, Some(&id));
        }
        for broker in [0, 1] {
            rig.brokers[broker].close();
            rig.brokers[broker] = rig.cluster.start(BOTH[broker], config());
            rig.applied(broker, 1);
        }
    }
}

#[test]
fn ids_are_refused_when_nobody_knows_which_are_left() {
    let rig = Rig::new(&config());
    let file = rig.root.path().join("__producer_ids/next.json");
    let id = rig.name(KeyType::Transaction, 0);
    fresh(&rig, 0, Some(&id));
    let refused = |broker: usize| {
        let response = try_init(&rig.brokers[broker], None, Duration::from_mins(1), None);
        response.error == ErrorCode::CoordinatorNotAvailable
    };
    fs::write(&file, "nonsense").unwrap();
    assert!(refused(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), "nonsense");
    // Somebody who has a state was given an id, so zero was.
    fs::remove_file(&file).unwrap();
    assert!(refused(1));
    assert!(!file.exists());
    fs::write(&file, r#"{"next":5000,"kept":true}"#).unwrap();
    assert!((5000..6000).contains(&fresh(&rig, 1, None)));
    assert_eq!(fs::read_to_string(&file).unwrap(), r#"{"kept":true,"next":6000}"#);
}
