//! What is written is read again, and what makes no sense is refused.

use std::time::Duration;

use super::{parse, parse_any, to_json};
use crate::{
    api::Producer,
    ids::{GroupId, TopicPartition, TransactionalId},
    txn::state::State,
};

fn open() -> State {
    let state = State::new(7, Duration::from_secs(60), 1000);
    let partitions = [TopicPartition::new("a/b", 3), TopicPartition::new("orders", 0)];
    state.extended(&partitions, Some(&GroupId::from("gr\u{fc}ppe")), 2000)
}

#[test]
fn a_state_survives() {
    let id = TransactionalId::from("../odd \u{fc}");
    let mut rotated = open().decided(true, 3000).completed(true, 4000);
    rotated.producer.epoch = i16::MAX;
    let last = Producer { id: 7, epoch: i16::MAX - 1 };
    let rotated =
        rotated.initialised(Producer { id: 9, epoch: 0 }, last, Duration::from_secs(1), 5000);
    for state in [
        State::new(0, Duration::from_millis(1), 0),
        open(),
        open().decided(true, 3000),
        open().fenced(3000),
        open().fenced(3000).completed(false, 4000),
        rotated,
    ] {
        assert_eq!(parse(&id, &to_json(&id, &state)), Ok(state.clone()));
        assert_eq!(parse_any(&to_json(&id, &state)), Ok((id.clone(), state)));
    }
}

#[test]
fn keys_that_are_not_ours_survive_every_change() {
    let id = TransactionalId::from("a");
    let mut value: serde_json::Value = serde_json::from_slice(&to_json(&id, &open())).unwrap();
    value["later"] = serde_json::json!({"deep": [1, null]});
    let state = parse(&id, value.to_string().as_bytes()).unwrap();
    let next = state.fenced(3000).completed(false, 4000).extended(&[], None, 5000);
    let again: serde_json::Value = serde_json::from_slice(&to_json(&id, &next)).unwrap();
    assert_eq!(again["later"], value["later"]);
}

#[test]
fn what_no_coordinator_wrote_is_refused() {
    let id = TransactionalId::from("a");
    let good = String::from_utf8(to_json(&id, &open())).unwrap();
    assert!(parse(&id, good.as_bytes()).is_ok());
    let bad = |content: &str, reason: &str| {
        let error = parse(&id, content.as_bytes()).expect_err(content).to_string();
        assert!(error.contains(reason), "{error}");
    };
    bad("", "no transaction state");
    bad("[]", "no transaction state");
    bad("{}", "missing field");
    bad(&good[..good.len() / 2], "no transaction state");
    for (old, new, reason) in [
        (r#""transactionalId":"a""#, r#""transactionalId":"b""#, "belongs to"),
        (r#""producerId":7"#, r#""producerId":-1"#, "no producer"),
        (r#""producerEpoch":0"#, r#""producerEpoch":1"#, "another epoch"),
        (r#""producerEpoch":0"#, r#""producerEpoch":40000"#, "no transaction state"),
        (r#""transaction":1"#, r#""transaction":0"#, "no number"),
        (r#""state":"Ongoing""#, r#""state":"Dead""#, "unknown variant"),
        (r#""openedEpoch":0"#, r#""openedEpoch":-1"#, "epoch"),
        (r#""orders/0""#, r#""orders""#, "no partition"),
        (r#""timeoutMs":60000"#, r#""timeoutMs":0"#, "no timeout"),
    ] {
        assert!(good.contains(old), "{old} in {good}");
        bad(&good.replace(old, new), reason);
    }
}
