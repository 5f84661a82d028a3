//! The reference rule against vectors that were computed elsewhere, in another language.

use model::{
    Health, Kind, Name,
    routing::{View, fnv1a32},
};
use serde_json::Value;

fn strings(of: &Value) -> Vec<Name> {
    let ids = of.as_array().expect("a list of ids").iter();
    ids.map(|id| id.as_str().expect("an id is a string").into()).collect()
}

#[test]
fn every_vector_is_routed_as_computed() {
    let data = include_str!("../data/routing_vectors.json");
    let data: Value = serde_json::from_str(data).unwrap();
    let mut compared = 0;
    for vector in data["vectors"].as_array().unwrap() {
        let group = vector["group_id"].as_str().unwrap();
        assert_eq!(format!("0x{:08x}", fnv1a32(group)), vector["fnv1a32"].as_str().unwrap());
        for (size, set) in vector["by_set"].as_object().unwrap() {
            let all = strings(&data["broker_sets"][size]);
            for case in set["cases"].as_array().unwrap() {
                let down = strings(&case["not_alive"]);
                let health = |id| if down.contains(id) { Health::Draining } else { Health::Alive };
                let brokers: Vec<_> = all.iter().rev().map(|id| (id.clone(), health(id))).collect();
                let view = View::new((1, 1), &brokers, &[]);
                for kind in [Kind::Group, Kind::Transaction] {
                    let picked = view.route(kind, group).map(|id| &**id);
                    assert_eq!(picked, case["pick"].as_str(), "{group} of {size}: {case}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 2 * 680);
}

#[test]
fn explicit_entries_are_for_groups_only() {
    let brokers = [("a".into(), Health::Alive), ("b".into(), Health::Dead)];
    let explicit = [("g".into(), "b".into()), ("g".into(), "a".into())];
    let view = View::new((1, 1), &brokers, &explicit);
    assert_eq!(view.route(Kind::Group, "g").map(|id| &**id), Some("b"));
    assert_eq!(view.route(Kind::Transaction, "g").map(|id| &**id), Some("a"));
}

#[test]
fn no_broker_no_coordinator() {
    assert_eq!(View::new((1, 1), &[], &[]).route(Kind::Group, "g"), None);
}
