//! Stories of how things end.

use crate::story::{Story, name, names, three};
use model::{Promise::Convergence, Reason, What};

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

/// Nobody holds anything of `group`, whose only client waits for its join.
fn stuck(story: &mut Story, group: &str) {
    let (group, partitions, pending) = (name(group), names("t/0"), Some(name("c1 has not joined")));
    let held = vec![(name("c1"), Vec::new())];
    story.at(90_000).see(What::GroupAtEnd { group, partitions, held, pending });
}

/// What excused the only group of a story, and the sentence that shows it.
#[track_caller]
fn excuse(story: &Story) -> (Reason, String) {
    story.keeps(Convergence);
    let report = story.report();
    let [excuse] = &report.excused[..] else { panic!("excused {:?}", report.excused) };
    (excuse.reason, excuse.evidence.last().expect("a reason is shown").clone())
}

#[track_caller]
fn is_not_excused(story: &Story) {
    assert_eq!(story.breaks(), [Convergence]);
    assert_eq!(story.report().excused, []);
}

fn unreachable(story: &mut Story, broker: &str) {
    story.see(What::Unreachable { broker: name(broker) });
}

#[test]
fn who_has_lost_its_file_is_excused() {
    let mut story = Story::under(three(""));
    story.see(What::FileLost { group: name("g") });
    stuck(&mut story, "g");
    let shown = "the offset file of g is lost, and no broker did that".to_owned();
    assert_eq!(excuse(&story), (Reason::FileLost, shown));
    assert_eq!(
        story.report().excused[0].evidence[..2],
        ["g is not stable: c1 has not joined", "nobody holds t/0 of g"]
    );
}

#[test]
fn the_lost_file_of_another_group_excuses_nobody() {
    let mut story = Story::under(three(""));
    story.see(What::FileLost { group: name("h") });
    stuck(&mut story, "g");
    is_not_excused(&story);
}

#[test]
fn a_file_that_a_broker_has_written_anew_is_not_lost() {
    let mut story = Story::under(three(""));
    story.see(What::FileLost { group: name("g") });
    let path = name("__consumer_offsets/g.json");
    story.see(What::FileChanged { path, group: Some(name("g")) });
    stuck(&mut story, "g");
    is_not_excused(&story);
}

#[test]
fn whose_coordinator_nobody_reaches_is_excused() {
    let mut story = Story::under(three(""));
    unreachable(&mut story, "a");
    stuck(&mut story, "g");
    let shown = "view 7.1 routes g to a (slot 0 of 3, a is alive), and nobody reaches a";
    assert_eq!(excuse(&story), (Reason::CoordinatorUnreachable, shown.to_owned()));
}

#[test]
fn that_nobody_reaches_another_broker_excuses_nobody() {
    let mut story = Story::under(three(""));
    unreachable(&mut story, "b");
    stuck(&mut story, "g");
    is_not_excused(&story);
}

#[test]
fn the_last_view_says_who_coordinates() {
    let mut story = Story::under(three(""));
    unreachable(&mut story, "a");
    story.view_with(2, (7, 2), "g=b");
    stuck(&mut story, "g");
    is_not_excused(&story);

    let mut story = Story::under(three(""));
    unreachable(&mut story, "b");
    story.view_with(2, (7, 2), "g=b");
    stuck(&mut story, "g");
    let shown = "view 7.2 routes g to b (explicit entry), and nobody reaches b";
    assert_eq!(excuse(&story), (Reason::CoordinatorUnreachable, shown.to_owned()));
}

/// `client` has begun a transaction under the id `group-x`, which the hash routes to `c`.
fn begins(story: &mut Story, client: &str) {
    let (id, client) = (name("group-x"), name(client));
    story.see(What::TxnBegun { txn: 1, id, client, producer: 1, epoch: 0 });
}

#[test]
fn whose_transactions_nobody_can_end_is_excused() {
    let mut story = Story::under(three(""));
    begins(&mut story, "c1");
    unreachable(&mut story, "c");
    // An entry is one of a group; transactional ids have none.
    story.view_with(2, (7, 2), "group-x=b");
    stuck(&mut story, "g");
    let shown = "view 7.2 routes group-x to c (slot 2 of 3, c is alive), and nobody reaches c";
    assert_eq!(excuse(&story), (Reason::TransactionsUnreachable, shown.to_owned()));
}

#[test]
fn the_transactions_of_strangers_excuse_nobody() {
    let mut story = Story::under(three(""));
    begins(&mut story, "c2");
    unreachable(&mut story, "c");
    stuck(&mut story, "g");
    is_not_excused(&story);
}

#[test]
fn who_is_at_rest_needs_no_excuse() {
    let mut story = Story::under(three(""));
    unreachable(&mut story, "a");
    story.see(What::FileLost { group: name("g") });
    let held = vec![(name("c1"), names("t/0"))];
    let (group, partitions) = (name("g"), names("t/0"));
    story.at(90_000).see(What::GroupAtEnd { group, partitions, held, pending: None });
    story.keeps(Convergence);
    assert_eq!(story.report().excused, []);
}
