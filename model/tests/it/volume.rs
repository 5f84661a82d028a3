//! Stories of files on the shared volume.

use crate::story::{Story, name};
use model::{Promise::VolumeConfinement, What};

fn wrote(path: &str, group: Option<&str>) -> What {
    What::FileChanged { path: name(path), group: group.map(name) }
}

fn breaks(changes: &[(&str, Option<&str>)]) -> bool {
    let mut story = Story::new();
    for (path, group) in changes {
        story.see(wrote(path, *group));
    }
    let broken = story.breaks();
    assert!(broken.is_empty() || broken == [VolumeConfinement]);
    if broken.is_empty() {
        story.keeps(VolumeConfinement);
    }
    !broken.is_empty()
}

#[test]
fn the_layout_is_fine() {
    assert!(!breaks(&[
        ("__consumer_offsets", None),
        ("__consumer_offsets/.claims", None),
        ("__consumer_offsets/.claims/g", None),
        ("__consumer_offsets/.claims/g/7.1.a.1.1", None),
        ("__consumer_offsets/.claims/g/7.1.a.1.1/next", Some("g")),
        ("__consumer_offsets/g.json", Some("g")),
        ("__consumer_offsets/g.json", None),
        ("__consumer_offsets/%2e%2e%2fassignment.json", Some("../assignment")),
        ("__consumer_offsets/..-.json", None),
    ]));
}

#[test]
fn nothing_outside_the_layout_is_touched() {
    for path in [
        "__cluster/assignment.json",
        "__consumer_offsets/../assignment.json",
        "__consumer_offsets/./g.json",
        "/__consumer_offsets/g.json",
        "__consumer_offsets//g.json",
        "__consumer_offsets/g.json.tmp",
        "__consumer_offsets/.json",
        "__consumer_offsets/my.app/group.json",
        "__consumer_offsets_old/g.json",
        "",
    ] {
        assert!(breaks(&[(path, None)]), "{path}");
    }
}

#[test]
fn an_ordinary_id_is_its_own_name() {
    assert!(!breaks(&[(
        "__consumer_offsets/UPPER-Case_Group.01.json",
        Some("UPPER-Case_Group.01")
    )]));
    assert!(breaks(&[("__consumer_offsets/upper-case.json", Some("UPPER-Case"))]));
    assert!(breaks(&[("__consumer_offsets/.claims/h/1/next", Some("g"))]));
}

#[test]
fn an_odd_id_has_some_name_of_its_own() {
    assert!(!breaks(&[("__consumer_offsets/%2Eclaims.json", Some(".claims"))]));
    let odd = "__consumer_offsets/%2Fetc.json";
    assert!(!breaks(&[(odd, Some("/etc")), (odd, Some("/etc"))]));
    assert!(breaks(&[(odd, Some("/etc")), (odd, Some("%2Fetc"))]));
    assert!(breaks(&[(odd, Some("/etc")), ("__consumer_offsets/_etc.json", Some("/etc"))]));
}

#[test]
fn names_have_at_most_200_bytes() {
    let path = |len: usize| format!("__consumer_offsets/{}.json", "x".repeat(len));
    assert!(!breaks(&[(&path(195), Some(&"x".repeat(195)))]));
    assert!(!breaks(&[(&path(200), Some(&"x".repeat(200)))]));
    assert!(breaks(&[(&path(201), Some(&"x".repeat(201)))]));
    assert!(!breaks(&[("__consumer_offsets/~1.json", Some(&"x".repeat(201)))]));
    assert!(breaks(&[("__consumer_offsets/~1.json", Some(&"x".repeat(195)))]));
}
