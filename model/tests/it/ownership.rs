//! Stories of who may speak for a key, and of who is named as its coordinator.

use crate::story::{Story, three};
use model::{
    Health,
    Promise::{StableDivisor, UniqueOwnership},
};

/// `a` coordinates `g` until, at 1000ms, the file shows everybody a view in which `a` is dead.
fn a_loses_g() -> Story {
    let mut story = Story::under(three(""));
    story.at(500).serves("a", "g", "join");
    story.at(1000).view(2, (7, 2), three("a")).shows("a b c", Some(2));
    story
}

#[test]
fn a_broker_serves_a_group_it_lost_for_no_longer_than_the_staleness_bound() {
    let mut story = a_loses_g();
    story.at(4000).serves("a", "g", "heartbeat");
    story.keeps(UniqueOwnership);
    story.at(4001).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
    assert_eq!(
        story.evidence(),
        "a answered heartbeat for g at 4001ms (4001ms of its clock)\n\
         view 7.2 routes g to b (slot 0 of 3, a is dead, so slot 0 of the 2 alive); \
         the file showed it since 1000ms\n\
         the last to route it there, view 7.1, was shown until 1000ms: 3001ms ago, \
         3000ms are allowed\n"
    );
}

#[test]
fn the_new_owner_may_serve_at_once() {
    let mut story = a_loses_g();
    story.serves("b", "g", "join");
    story.keeps(UniqueOwnership);
}

#[test]
fn a_lagging_file_is_the_volumes_fault() {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 2), three("a")).shows("b c", Some(2));
    story.at(9000).serves("a", "g", "heartbeat");
    story.keeps(UniqueOwnership);
}

#[test]
fn an_unreadable_file_makes_a_view_stale() {
    let mut story = Story::under(three(""));
    story.at(1000).shows("a", None);
    story.at(4000).serves("a", "g", "heartbeat");
    story.keeps(UniqueOwnership);
    story.at(4001).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn a_newer_lease_makes_an_older_epoch_stale() {
    let mut story = Story::under(three(""));
    story.at(1000).lease("a", 8);
    story.at(4000).serves("a", "g", "heartbeat");
    story.keeps(UniqueOwnership);
    story.at(4002).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
    assert!(story.evidence().contains("the lease already said epoch 8"), "{}", story.evidence());
}

#[test]
fn a_lease_that_goes_back_changes_nothing() {
    let mut story = Story::under(three(""));
    story.at(1000).lease("a", 8).at(1100).lease("a", 7);
    story.at(9000).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn a_starting_broker_trusts_itself_for_a_moment() {
    let mut story = Story::under(three(""));
    story.at(1000).starts("b");
    story.at(3000).serves("b", "g", "join").locates("b", "g", "b");
    story.at(4000).serves("b", "group-key-1", "join");
    story.serves("a", "g", "join");
    story.keeps(UniqueOwnership);
    story.at(4001).serves("b", "g", "join");
    assert_eq!(story.breaks(), [UniqueOwnership], "what it kept from its start is no rule");
}

#[test]
fn a_broker_that_serves_by_another_rule_breaks_both_promises() {
    let mut story = Story::under(three(""));
    story.at(9000).serves("b", "g", "join");
    assert_eq!(story.breaks(), [UniqueOwnership, StableDivisor], "no view ever routed it there");
    story.starts("b").at(12_000).serves("b", "g", "join").starts("b").at(16_000);
    story.serves("b", "g", "join");
    assert_eq!(story.report().violations.len(), 4);
}

#[test]
fn only_the_brokers_own_clock_counts() {
    let mut story = a_loses_g();
    story.clocks_ahead(600).at(3400).serves("a", "g", "heartbeat");
    story.keeps(UniqueOwnership);
    story.at(3401).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn what_an_earlier_incarnation_was_shown_counts_no_more() {
    let mut story = a_loses_g();
    story.at(1500).starts("a");
    story.at(4400).serves("a", "g", "heartbeat");
    story.at(4600).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn applied_views_never_go_back() {
    let mut story = a_loses_g();
    story.applies("b", (7, 1)).at(2000).applies("b", (7, 2));
    story.keeps(UniqueOwnership);
    story.at(2500).applies("b", (7, 1));
    assert_eq!(story.breaks(), [UniqueOwnership]);
    assert!(story.evidence().contains("it had already applied view 7.2"));
    story.at(3000).applies("b", (7, 1));
    assert_eq!(story.report().violations.len(), 2, "nor is one applied twice");
}

#[test]
fn a_new_incarnation_may_begin_with_an_older_view() {
    let mut story = a_loses_g();
    story.at(2000).applies("b", (7, 2));
    story.at(3000).starts("b").shows("b", Some(1)).applies("b", (7, 1));
    story.keeps(UniqueOwnership);
}

#[test]
fn a_view_that_was_never_shown_cannot_be_applied() {
    let mut story = a_loses_g();
    story.view(3, (7, 3), three("b"));
    story.at(2000).applies("b", (7, 3));
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn of_two_contents_with_one_number_a_broker_keeps_the_first() {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 1), three("a")).shows("a b", Some(2));
    story.at(3900).applies("a", (7, 1)).serves("a", "g", "heartbeat").locates("a", "g", "a");
    story.serves("b", "g", "heartbeat");
    story.keeps(UniqueOwnership);
    story.serves("c", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership, StableDivisor]);
}

#[test]
fn the_second_content_with_one_number_does_not_confirm_the_first() {
    let mut story = Story::under(three(""));
    story.at(1000).view(2, (7, 1), three("a")).shows("a b", Some(2));
    story.at(9000).applies("a", (7, 1)).serves("a", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn who_can_have_applied_one_content_only_is_held_to_it() {
    let mut story = Story::under(three(""));
    story.at(500).applies("b", (7, 1));
    story.at(1000).view(2, (7, 1), three("a")).shows("a b c", Some(2));
    story.at(1500).locates("b", "g", "a");
    story.keeps(UniqueOwnership);
    story.serves("b", "g", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership, StableDivisor]);
}

#[test]
fn the_second_content_does_not_confirm_what_it_says_too() {
    let mut story = Story::under(three(""));
    story.at(500).applies("c", (7, 1));
    story.at(1000).view(2, (7, 1), three("a")).shows("a b c", Some(2));
    story.at(4000).serves("c", "group-x", "heartbeat");
    story.keeps(UniqueOwnership);
    story.at(4001).serves("c", "group-x", "heartbeat");
    assert_eq!(story.breaks(), [UniqueOwnership]);
}

#[test]
fn content_that_routes_alike_confirms() {
    let mut draining = three("a");
    draining[0].1 = Health::Draining;
    let mut story = Story::under(three("a"));
    story.at(500).applies("c", (7, 1));
    story.at(1000).view(2, (7, 1), draining).shows("a b c", Some(2));
    story.at(9000).serves("c", "group-x", "heartbeat").serves("b", "g", "join");
    story.keeps(UniqueOwnership);
}

#[test]
fn an_explicit_entry_wins_whatever_the_brokers_health() {
    let mut story = Story::under(three(""));
    story.at(1000).view_with(2, (7, 2), "g=c").shows("a b c", Some(2));
    story.at(9000).serves("c", "g", "join").locates("a", "g", "c");
    story.keeps(UniqueOwnership);
    story.serves("a", "g", "join");
    assert_eq!(story.breaks(), [UniqueOwnership]);
    assert!(story.evidence().contains("view 7.2 routes g to c (explicit entry)"));
}

#[test]
fn a_divisor_that_counts_only_the_living_moves_strangers() {
    // 0x36c7a651 mod 3 = 2: `c`. Counting only the two alive, it would be slot 1: `b`.
    let mut story = Story::under(three(""));
    story.at(500).locates("c", "group-x", "c");
    story.at(1000).view(2, (7, 2), three("a")).shows("a b c", Some(2));
    story.at(1500).applies("c", (7, 2)).locates("c", "group-x", "c");
    story.keeps(StableDivisor);
    story.at(2000).locates("c", "group-x", "b");
    assert_eq!(story.breaks(), [StableDivisor]);
    assert_eq!(
        story.evidence(),
        "c answered at 2000ms (2000ms of its clock) that b coordinates group-x\n\
         view 7.2 routes group-x to c (slot 2 of 3, c is alive)\n\
         view 7.1 routes group-x to c (slot 2 of 3, c is alive)\n\
         group-x was last seen with c at 1500ms\n\
         that was under view 7.2 too\n"
    );
}

#[test]
fn what_did_not_change_is_told() {
    let mut story = Story::under(three(""));
    story.at(500).locates("c", "group-x", "c");
    story.at(1000).view(2, (7, 2), three("a")).shows("c", Some(2));
    story.at(1500).locates("c", "group-x", "b");
    assert_eq!(story.breaks(), [StableDivisor]);
    let unchanged = "from view 7.1 to view 7.2: explicit entry same, preferred broker and its \
                     health same, alive set other, full set same\n";
    assert!(story.evidence().ends_with(unchanged), "{}", story.evidence());
}

#[test]
fn a_key_moves_when_its_preferred_broker_dies() {
    let mut story = a_loses_g();
    story.at(1500).applies("c", (7, 2)).locates("c", "g", "b");
    story.keeps(StableDivisor);
}

#[test]
fn an_applied_view_supersedes_the_older_ones() {
    let mut story = a_loses_g();
    story.at(1500).applies("c", (7, 2));
    story.at(4499).locates("c", "g", "a");
    story.keeps(StableDivisor);
    story.at(4500).locates("c", "g", "a");
    assert_eq!(story.breaks(), [StableDivisor]);
}
