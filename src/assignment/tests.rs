//! The file's shape as kaas writes it, and what is refused.

use super::{Assignment, InvalidAssignment, View, ViewId};
use crate::api::KeyType;

const SAMPLE: &str = r#"{"controllerEpoch":7,"assignmentVersion":43,"generatedAt":"2025-01-02T03:04:05.123456789Z","controller":"kaas-0","brokers":[{"id":"kaas-0","health":"alive","lastSeen":"x"},{"id":"kaas-1","health":"dead","lastSeen":"x"}],"partitions":[{"topic":"t","partition":0,"broker":"kaas-0","epoch":1,"role":"leader"}],"consumerGroups":[{"groupId":"g1","broker":"kaas-1","epoch":1},{"groupId":"g1","broker":"kaas-0","epoch":2}]}"#;

fn parse(text: &str) -> Result<View, InvalidAssignment> {
    View::parse(text.as_bytes())
}

#[test]
fn the_first_explicit_entry_wins_whatever_the_brokers_health() {
    let view = parse(SAMPLE).unwrap();
    assert_eq!(view.id(), ViewId { epoch: 7, version: 43 });
    assert_eq!(view.group_owner(&"g1".into()).unwrap().as_str(), "kaas-1");
    assert_eq!(view.group_owner(&"g2".into()).unwrap().as_str(), "kaas-0");
    assert_eq!(view.owner(KeyType::Transaction, "g1").unwrap().as_str(), "kaas-0");
}

#[test]
fn an_assignment_survives_writing_and_reading() {
    let assignment: Assignment = serde_json::from_str(SAMPLE).unwrap();
    let text = serde_json::to_string(&assignment).unwrap();
    assert_eq!(serde_json::from_str::<Assignment>(&text).unwrap(), assignment);
}

#[test]
fn bad_files_are_refused() {
    for cut in 0..SAMPLE.len() - 1 {
        assert_eq!(parse(&SAMPLE[..cut]), Err(InvalidAssignment::Unparsable), "cut at {cut}");
    }
    assert_eq!(parse(&SAMPLE.replace("dead", "zombie")), Err(InvalidAssignment::Unparsable));
    assert_eq!(parse(r#"{"offsets":{}}"#), Err(InvalidAssignment::Unparsable));
    let twice = SAMPLE.replace(r#""id":"kaas-1""#, r#""id":"kaas-0""#);
    assert_eq!(parse(&twice), Err(InvalidAssignment::DuplicateBroker));
    let negative = SAMPLE.replace(":43", ":-43");
    assert_eq!(parse(&negative), Err(InvalidAssignment::NegativeVersion));
}

#[test]
fn views_are_ordered_by_epoch_then_version() {
    let id = |epoch, version| ViewId { epoch, version };
    assert!(id(1, 9) < id(2, 1) && id(2, 1) < id(2, 2));
}
