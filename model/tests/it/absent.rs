//! Stories of members that a generation goes on without: who does not ask for it is not in it, and is
//! not told that all is well in the one before.

use crate::{
    generations::{is_told, joins},
    story::{Story, name},
};
use model::{Promise::GenerationAgreement, What};

fn asks(story: &mut Story, member: &str) {
    story.see(What::JoinSent { group: name("g"), member: name(member) });
}

/// A heartbeat of `m2` as of that generation, which is answered later.
fn beats(story: &mut Story, request: u64, generation: i32) {
    let (broker, group, member) = (name("a"), name("g"), name("m2"));
    story.see(What::HeartbeatArrived { request, broker, group, member, generation });
}

/// Generation 1 of `m1` (who leads) and `m2`, both joined.
fn joined() -> Story {
    let mut story = Story::new();
    story.at(1000);
    asks(&mut story, "m2");
    asks(&mut story, "m1");
    is_told(&mut story, (1, 1), "c2:m2", "m1", "");
    is_told(&mut story, (1, 1), "c1:m1", "m1", "m1 m2");
    story
}

#[test]
fn who_does_not_ask_again_is_in_the_next_generation() {
    let mut story = joined();
    asks(&mut story, "m1");
    is_told(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert_eq!(
        story.evidence(),
        "a told c1, member m1 of g, generation 2\n\
         its member m2 has not asked for another since it was told generation 1\n"
    );
}

#[test]
fn who_asks_is_in_it_whenever_the_answer_comes() {
    let mut story = joined();
    asks(&mut story, "m2");
    asks(&mut story, "m1");
    is_told(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    is_told(&mut story, (1, 2), "c2:m2", "m1", "");
    // The leader asks once more for what it was told.
    asks(&mut story, "m1");
    is_told(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    story.keeps(GenerationAgreement);
}

#[test]
fn who_asks_twice_is_told_once_and_still_asks() {
    let mut story = joined();
    asks(&mut story, "m2");
    asks(&mut story, "m2");
    asks(&mut story, "m1");
    is_told(&mut story, (1, 2), "c2:m2", "m1", "");
    is_told(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    asks(&mut story, "m1");
    is_told(&mut story, (1, 3), "c1:m1", "m1", "m1 m2");
    story.keeps(GenerationAgreement);
}

#[test]
fn a_static_member_may_be_away() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c2:m2:i2", "m1", "");
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1 m2");
    asks(&mut story, "m1");
    is_told(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    story.keeps(GenerationAgreement);
}

#[test]
fn all_is_well_in_a_generation_that_is_over() {
    let mut story = joined();
    joins(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    story.at(2000);
    beats(&mut story, 7, 1);
    story.see(What::HeartbeatAnswered { request: 7, reign: 1, well: true });
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert_eq!(
        story.evidence(),
        "a told m2 of g at 2000ms (reign 1) that all is well in generation 1; its heartbeat had \
         arrived at 2000ms\n\
         generation 2 had already been answered at 1000ms\n"
    );
}

#[test]
fn a_heartbeat_is_older_than_the_next_generation_or_refused() {
    let mut story = joined();
    beats(&mut story, 7, 1);
    joins(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    story.see(What::HeartbeatAnswered { request: 7, reign: 1, well: true });
    beats(&mut story, 8, 1);
    story.see(What::HeartbeatAnswered { request: 8, reign: 1, well: false });
    story.keeps(GenerationAgreement);
}

fn leaves(story: &mut Story, member: &str) {
    story.see(What::MemberLeft { group: name("g"), reign: 1, member: name(member) });
}

#[test]
fn all_is_well_in_a_generation_that_somebody_has_left() {
    let mut story = joined();
    story.at(2000);
    beats(&mut story, 7, 1);
    leaves(&mut story, "m1");
    story.see(What::HeartbeatAnswered { request: 7, reign: 1, well: true });
    beats(&mut story, 8, 1);
    story.see(What::HeartbeatAnswered { request: 8, reign: 1, well: false });
    story.keeps(GenerationAgreement);
    beats(&mut story, 9, 1);
    story.see(What::HeartbeatAnswered { request: 9, reign: 1, well: true });
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("m1 had left at 2000ms, so another has to begin"));
}

#[test]
fn who_leaves_without_having_been_in_it_ends_nothing() {
    let mut story = joined();
    leaves(&mut story, "m3");
    beats(&mut story, 7, 1);
    story.see(What::HeartbeatAnswered { request: 7, reign: 1, well: true });
    leaves(&mut story, "m1");
    asks(&mut story, "m2");
    is_told(&mut story, (1, 2), "c2:m2", "m2", "m2");
    beats(&mut story, 8, 2);
    story.see(What::HeartbeatAnswered { request: 8, reign: 1, well: true });
    story.keeps(GenerationAgreement);
}
