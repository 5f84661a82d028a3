//! Stories of how things end.

use crate::story::{Story, name, names};
use model::{Promise::Convergence, What};

fn ends(held: &[(&str, &str)], pending: Option<&str>) -> Story {
    let mut story = Story::new();
    let held = held.iter().map(|(client, partitions)| (name(client), names(partitions))).collect();
    let (group, partitions, pending) = (name("g"), names("t/0 t/1 t/2"), pending.map(name));
    story.at(90_000).see(What::GroupAtEnd { group, partitions, held, pending });
    story
}

#[test]
fn every_partition_is_held_once() {
    ends(&[("c1", "t/0 t/2"), ("c2", "t/1"), ("c3", "")], None).keeps(Convergence);
}

#[test]
fn a_partition_is_left_alone() {
    let story = ends(&[("c1", "t/0"), ("c2", "t/1")], None);
    assert_eq!(story.breaks(), [Convergence]);
    assert_eq!(story.evidence(), "nobody holds t/2 of g\n");
}

#[test]
fn a_partition_is_held_twice() {
    let story = ends(&[("c1", "t/0 t/1"), ("c2", "t/1 t/2")], None);
    assert_eq!(story.breaks(), [Convergence]);
    assert_eq!(story.evidence(), "held more than once: t/1 (by c1, c2)\n");
}

#[test]
fn a_reason_is_told_and_does_not_excuse() {
    let story = ends(&[("c1", "t/0 t/1 t/2")], Some("c2 waits for its join"));
    assert_eq!(story.breaks(), [Convergence]);
    assert_eq!(story.evidence(), "g is not stable: c2 waits for its join\n");
}
