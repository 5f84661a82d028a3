//! Stories of requests that wait for their answer.

use crate::story::{Story, name};
use model::{Micros, Promise::ReplyBound, What};

fn asks(story: &mut Story, request: u64, bound: u64) {
    let (broker, local, bound) = (name("a"), story.local(), Micros::from_millis(bound));
    story.see(What::RequestArrived { request, broker, local, bound, what: "join" });
}

fn answers(story: &mut Story, request: u64) {
    let local = story.local();
    story.see(What::RequestAnswered { request, local });
}

/// A join reached `a` at 1000ms, to be answered within 5000ms.
fn waiting() -> Story {
    let mut story = Story::new();
    story.starts("a").at(1000);
    asks(&mut story, 1, 5000);
    story
}

#[test]
fn an_answer_comes_in_time() {
    let mut story = waiting();
    story.at(6000);
    answers(&mut story, 1);
    story.keeps(ReplyBound);
    asks(&mut story, 2, 5000);
    story.at(11_001);
    answers(&mut story, 2);
    assert_eq!(story.breaks(), [ReplyBound]);
    assert_eq!(
        story.evidence(),
        "join (request 2) reached a at 6000ms, to be answered in 5000ms\n\
         the answer came at 11001ms, 1ms too late by the broker's clock\n"
    );
}

#[test]
fn a_missing_answer_shows_at_the_next_sign_of_life() {
    let mut story = waiting();
    story.at(6000).lease("a", 7);
    assert_eq!(story.breaks(), []);
    story.at(6001).lease("a", 7);
    assert_eq!(story.breaks(), [ReplyBound]);
    assert!(story.evidence().contains("there is no answer at 6001ms"));
    story.at(9000);
    answers(&mut story, 1);
    assert_eq!(story.report().violations.len(), 1, "it is told once");
}

#[test]
fn a_missing_answer_shows_at_the_end_allowing_for_a_slow_clock() {
    let mut story = waiting();
    story.at(6500).lease("b", 7);
    assert_eq!(story.breaks(), [], "the clock of `a` may say 5950");
    story.at(6600).lease("b", 7);
    assert_eq!(story.breaks(), [ReplyBound]);
}

#[test]
fn a_pause_does_not_count() {
    let mut story = waiting();
    let local = story.at(2000).local();
    story.see(What::BrokerPaused { broker: name("a"), local });
    let local = story.at(60_000).local();
    story.see(What::BrokerResumed { broker: name("a"), local });
    story.at(64_000);
    answers(&mut story, 1);
    story.keeps(ReplyBound);
    asks(&mut story, 2, 1);
    story.at(64_002);
    answers(&mut story, 2);
    assert_eq!(story.breaks(), [ReplyBound]);
}

#[test]
fn nobody_is_owed_an_answer_by_the_dead_or_over_a_closed_connection() {
    let mut story = waiting();
    asks(&mut story, 2, 5000);
    story.see(What::RequestVoid { request: 2 });
    story.at(2000).see(What::BrokerStopped { broker: name("a") });
    story.at(9000).starts("a").at(19_000).lease("a", 7);
    assert_eq!(story.breaks(), []);
}
