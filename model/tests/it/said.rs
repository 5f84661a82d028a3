//! Stories of what members say of themselves, what the leader hears of it, and how many there may be.

use crate::{
    generations::{joins, listed},
    story::{Story, name},
};
use model::{Micros, Promise::GenerationAgreement, What};

/// Member `id` joins generation 1, which `m1` leads, with what it says of itself under the protocol
/// of the generation, if it offered that.
fn says(story: &mut Story, id: &str, said: Option<&str>, members: &str) {
    let session = Micros::from_secs(10);
    joins_with(story, id, (said, session), members);
}

/// A member joins with that session timeout.
fn joins_for(story: &mut Story, session: Micros) {
    joins_with(story, "m1", (Some(""), session), "m1");
}

fn joins_with(story: &mut Story, id: &str, (said, session): (Option<&str>, Micros), members: &str) {
    story.see(What::JoinAnswered {
        broker: name("a"),
        group: name("g"),
        reign: 1,
        generation: 1,
        client: name(&format!("client of {id}")),
        member: name(id),
        instance: None,
        session,
        leader: name("m1"),
        protocol: name("range"),
        said: said.map(|it| it.as_bytes().to_vec()),
        members: listed(members),
    });
}

#[test]
fn the_leader_hears_what_each_said() {
    let mut story = Story::new();
    says(&mut story, "m2", Some("y"), "");
    says(&mut story, "m1", Some("x"), "m1=x m2=y m3=z");
    says(&mut story, "m3", Some("z"), "");
    says(&mut story, "m3", Some("z"), "");
    story.keeps(GenerationAgreement);
}

#[test]
fn the_leader_hears_what_a_member_said_earlier() {
    let mut story = Story::new();
    says(&mut story, "m2", Some("new"), "");
    says(&mut story, "m1", Some("x"), "m1=x m2=old");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("the leader was told something else of m2 than it said"));
}

#[test]
fn a_member_that_says_something_new_is_told_the_old_generation() {
    let mut story = Story::new();
    says(&mut story, "m1", Some("x"), "m1=x m2=y");
    says(&mut story, "m2", Some("y"), "");
    story.keeps(GenerationAgreement);
    says(&mut story, "m2", Some("new"), "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_static_successor_may_say_something_new() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c2:m2:i2", "m1", "");
    says(&mut story, "m1", Some("x"), "m1=x m2=old");
    joins(&mut story, (1, 1), "c2:m3:i2", "m1", "");
    story.keeps(GenerationAgreement);
}

#[test]
fn a_protocol_that_a_member_did_not_offer() {
    let mut story = Story::new();
    says(&mut story, "m1", Some("x"), "m1=x m2");
    story.keeps(GenerationAgreement);
    says(&mut story, "m2", None, "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("it had not offered protocol \"range\""));
}

#[test]
fn more_members_than_allowed() {
    let mut story = Story::new();
    story.members_max(2);
    says(&mut story, "m1", Some("x"), "m1=x m2=y m3 m4=z");
    says(&mut story, "m2", Some("y"), "");
    says(&mut story, "m2", Some("y"), "");
    // A static member that was away when the generation began has its place all the same.
    joins(&mut story, (1, 1), "c3:m3:i3", "m1", "");
    story.keeps(GenerationAgreement);
    says(&mut story, "m4", Some("z"), "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("it is one of 3, 2 are allowed"));
}

#[test]
fn a_session_that_is_not_allowed() {
    for (seconds, is_kept) in [(6, true), (5, false), (60, true), (61, false)] {
        let mut story = Story::new();
        story.sessions(Micros::from_secs(6), Micros::from_secs(60));
        joins_for(&mut story, Micros::from_secs(seconds));
        assert_eq!(story.breaks().is_empty(), is_kept, "{seconds}");
        let told = story.evidence().contains("allowed are 6000ms to 60000ms");
        assert_ne!(told, is_kept, "{seconds}");
    }
}
