//! Stories of commits by members that are no longer, or never were, of the current generation.

use crate::{
    generations::joins,
    story::{Story, name},
};
use model::{Promise::NoZombieCommit, What};

fn arrives(story: &mut Story, op: u64, member: &str, generation: i32) {
    let (broker, group, member) = (name("a"), name("g"), name(member));
    story.see(What::CommitArrived { op, broker, group, member, generation });
}

fn accepted(story: &mut Story, op: u64, reign: u64) {
    story.see(What::CommitAccepted { op, reign });
}

/// `m1` is alone in generation 1 of reign 1.
fn alone() -> Story {
    let mut story = Story::new();
    story.at(1000);
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1");
    story
}

#[test]
fn a_member_of_the_current_generation_commits() {
    let mut story = alone();
    arrives(&mut story, 1, "m1", 1);
    accepted(&mut story, 1, 1);
    story.keeps(NoZombieCommit);
}

#[test]
fn a_newer_generation_had_begun() {
    let mut story = alone();
    arrives(&mut story, 1, "m1", 1);
    story.at(2000);
    joins(&mut story, (1, 2), "c2:m2", "m2", "m2");
    accepted(&mut story, 1, 1);
    story.keeps(NoZombieCommit);
    arrives(&mut story, 2, "m1", 1);
    accepted(&mut story, 2, 1);
    assert_eq!(story.breaks(), [NoZombieCommit]);
    assert_eq!(
        story.evidence(),
        "a accepted at 2000ms a commit to g (op 2, reign 1) of m1 as of generation 1, which had \
         arrived at 2000ms\n\
         generation 2 had already been answered at 2000ms\n"
    );
}

#[test]
fn a_later_reign_had_begun() {
    let mut story = alone();
    arrives(&mut story, 1, "m1", 1);
    story.at(2000);
    joins(&mut story, (2, 1), "c2:m2", "m2", "m2");
    accepted(&mut story, 1, 1);
    story.keeps(NoZombieCommit);
    arrives(&mut story, 2, "m1", 1);
    accepted(&mut story, 2, 1);
    assert_eq!(story.breaks(), [NoZombieCommit]);
    assert!(story.evidence().contains("reign 2 had already answered a join of generation 1"));
}

#[test]
fn a_member_of_an_earlier_reign_is_a_stranger_in_the_next() {
    let mut story = alone();
    arrives(&mut story, 1, "m1", 1);
    accepted(&mut story, 1, 2);
    assert_eq!(story.breaks(), [NoZombieCommit]);
    assert!(story.evidence().contains("nobody was told any generation in reign 2"));
}

#[test]
fn a_member_that_was_never_told_guesses() {
    let mut story = alone();
    arrives(&mut story, 1, "m2", 1);
    accepted(&mut story, 1, 1);
    assert_eq!(story.breaks(), [NoZombieCommit]);
    assert!(story.evidence().contains("m2 was never told generation 1 in reign 1"));
}

#[test]
fn a_static_member_that_was_replaced_is_no_member() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c1:m1:i1", "m1", "m1");
    arrives(&mut story, 1, "m1", 1);
    joins(&mut story, (1, 1), "c2:m2:i1", "m2", "m2");
    accepted(&mut story, 1, 1);
    arrives(&mut story, 2, "m2", 1);
    accepted(&mut story, 2, 1);
    story.keeps(NoZombieCommit);
    arrives(&mut story, 3, "m1", 1);
    accepted(&mut story, 3, 1);
    assert_eq!(story.breaks(), [NoZombieCommit]);
}

#[test]
fn a_refused_zombie_is_fine() {
    let mut story = alone();
    joins(&mut story, (1, 2), "c2:m2", "m2", "m2");
    arrives(&mut story, 1, "m1", 1);
    arrives(&mut story, 2, "m2", 2);
    accepted(&mut story, 2, 1);
    story.keeps(NoZombieCommit);
}
