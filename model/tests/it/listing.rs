//! Stories of what list and describe may show.

use crate::story::{Story, name, names, three};
use model::{Promise::ReadFilter, What};

fn lists(story: &mut Story, broker: &str, round: u64, groups: &str) {
    let (broker, local, groups) = (name(broker), story.local(), names(groups));
    story.see(What::Listed { broker, local, round, groups, complete: true });
}

#[test]
fn a_list_has_no_strangers() {
    let mut story = Story::under(three(""));
    story.at(4000);
    lists(&mut story, "a", 1, "g");
    lists(&mut story, "c", 1, "group-x");
    story.keeps(ReadFilter);
    lists(&mut story, "b", 1, "group-x");
    assert_eq!(story.breaks(), [ReadFilter]);
}

#[test]
fn describe_speaks_only_for_owned_groups() {
    let mut story = Story::under(three(""));
    story.at(4000).serves("c", "group-x", "describe");
    story.keeps(ReadFilter);
    story.serves("b", "group-x", "describe");
    assert_eq!(story.breaks(), [ReadFilter]);
}

/// `g` has just moved from `a` to `b`, and everybody has had time to see it.
fn moved() -> Story {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 2), three("a")).shows("a b c", Some(2));
    story
}

#[test]
fn before_views_settle_a_move_may_show_twice() {
    let mut story = moved();
    story.at(2000);
    lists(&mut story, "a", 1, "g");
    lists(&mut story, "b", 1, "g");
    story.keeps(ReadFilter);
}

#[test]
fn once_settled_no_group_shows_twice() {
    let mut story = moved();
    story.at(2000).settled();
    lists(&mut story, "b", 1, "g");
    lists(&mut story, "b", 1, "g");
    lists(&mut story, "b", 2, "g");
    story.keeps(ReadFilter);
    lists(&mut story, "a", 1, "g");
    assert_eq!(story.breaks(), [ReadFilter]);
    assert!(story.evidence().contains("b and a both list g in one round (number 1)"));
    assert!(story.evidence().contains("a lists g at 2000ms, after views have settled"));
}
