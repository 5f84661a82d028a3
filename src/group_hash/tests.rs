//! The vectors of the documented rule: 20 ids, five broker sets, every listed subset alive.

use serde_json::Value;

use super::{BrokerRing, fnv1a32};

fn vectors() -> Value {
    let text = include_str!("../../tests/data/routing_vectors.json");
    serde_json::from_str(text).expect("the vectors are valid JSON")
}

fn names(value: &Value) -> Vec<String> {
    let list = value.as_array().expect("a list of names");
    list.iter().map(|name| name.as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_vector_is_routed_as_documented() {
    let vectors = vectors();
    let mut cases = 0;
    for vector in vectors["vectors"].as_array().unwrap() {
        let key = vector["group_id"].as_str().unwrap();
        let hash = format!("{:#010x}", fnv1a32(key.as_bytes()));
        assert_eq!(hash, vector["fnv1a32"].as_str().unwrap(), "hash of {key:?}");
        for (size, set) in vector["by_set"].as_object().unwrap() {
            for case in set["cases"].as_array().unwrap() {
                let down = names(&case["not_alive"]);
                let brokers = names(&vectors["broker_sets"][size]);
                let ring = BrokerRing::new(
                    brokers.iter().rev().map(|id| (id.as_str().into(), !down.contains(id))),
                );
                let expected = case["pick"].as_str();
                let picked = ring.pick(key).map(|id| id.as_str());
                assert_eq!(picked, expected, "{key:?} among {size}, {}", case["case"]);
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 680);
}

#[test]
fn a_death_moves_only_the_keys_of_the_dead() {
    let before = BrokerRing::new((0..5).map(|n| (format!("kaas-{n}").into(), true)));
    let after = BrokerRing::new((0..5).map(|n| (format!("kaas-{n}").into(), n != 3)));
    for n in 0..2000 {
        let key = format!("group-{n}");
        let old = before.pick(&key).unwrap();
        let new = after.pick(&key).unwrap();
        assert!(old == new || old.as_str() == "kaas-3", "{key} moved from {old} to {new}");
        assert_eq!(after.uses_fallback(&key), old.as_str() == "kaas-3");
    }
}
