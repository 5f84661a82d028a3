//! Stories of what brokers hold in memory.

use crate::story::{Story, name, three};
use model::{Held, Kind, Micros, Promise::BoundedMemory, What};

fn holds(story: &mut Story, broker: &str, group: &str, idle: Option<u64>) {
    let (key, kind, in_use) = (name(group), Kind::Group, idle.is_none());
    let held = vec![Held { key, kind, in_use, idle: Micros::from_millis(idle.unwrap_or(0)) }];
    let local = story.local();
    story.see(What::Census { broker: name(broker), local, held });
}

#[test]
fn a_lost_group_may_stay_for_a_moment() {
    let mut story = Story::under(three(""));
    story.applies("a", (7, 1)).at(1000).view(2, (7, 2), three("a")).shows("a b c", Some(2));
    story.at(5999);
    holds(&mut story, "a", "g", None);
    story.keeps(BoundedMemory);
    story.applies("a", (7, 2));
    holds(&mut story, "a", "g", None);
    assert_eq!(story.breaks(), [BoundedMemory]);
    assert!(story.evidence().contains("the last to route it there, view 7.1, was shown until"));
}

#[test]
fn an_unreadable_file_takes_nothing_away() {
    let mut story = Story::under(three(""));
    story.applies("a", (7, 1)).at(1000).shows("a", None).at(60_000);
    holds(&mut story, "a", "g", None);
    story.keeps(BoundedMemory);
}

#[test]
fn once_settled_there_is_no_moment() {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 2), three("a")).shows("a b c", Some(2)).at(2000).settled();
    holds(&mut story, "b", "g", None);
    story.keeps(BoundedMemory);
    holds(&mut story, "a", "g", None);
    assert_eq!(story.breaks(), [BoundedMemory]);
}

#[test]
fn what_boot_created_must_go() {
    let mut story = Story::under(three(""));
    story.at(1000).starts("b").at(5000);
    holds(&mut story, "b", "g", Some(0));
    holds(&mut story, "a", "g", Some(0));
    story.keeps(BoundedMemory);
    story.at(6001);
    holds(&mut story, "b", "g", Some(0));
    assert_eq!(story.breaks(), [BoundedMemory]);
}

#[test]
fn an_unused_group_is_not_kept_for_ever() {
    let mut story = Story::under(three(""));
    story.at(80_000);
    holds(&mut story, "a", "g", Some(70_000));
    story.at(90_000).settled();
    holds(&mut story, "a", "g", Some(60_000));
    story.keeps(BoundedMemory);
    holds(&mut story, "a", "g", Some(60_001));
    assert_eq!(story.breaks(), [BoundedMemory]);
}

#[test]
fn a_group_in_use_may_be_quiet_for_long() {
    let mut story = Story::under(three(""));
    story.at(90_000).settled();
    let (key, kind, idle) = (name("g"), Kind::Group, Micros::from_secs(80));
    let held = vec![Held { key, kind, in_use: true, idle }];
    let local = story.local();
    story.see(What::Census { broker: name("a"), local, held });
    story.keeps(BoundedMemory);
}

#[test]
fn an_older_file_left_behind_does_not_unsettle() {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 2), three("a")).shows("b", Some(2)).applies("b", (7, 2));
    story.at(2000).shows("b", Some(1)).at(3000).settled();
    holds(&mut story, "b", "g", None);
    story.keeps(BoundedMemory);
}
