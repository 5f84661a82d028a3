//! Stories of committed offsets: what a fetch may answer, and what it may not.

use crate::story::{Story, name};
use model::{Outcome, Promise::OffsetDurability, What};

/// Clients at work on one partition. Every operation's number is also its client's and, for a
/// commit, its write's.
#[derive(Default)]
struct Partition {
    story: Story,
    ops: u64,
}

impl Partition {
    fn op(&mut self) -> u64 {
        self.ops += 1;
        self.ops
    }

    /// A client sends a commit at that millisecond.
    fn sends(&mut self, at: u64, offset: i64) -> u64 {
        let op = self.op();
        let (client, group, partition) = (name(&format!("c{op}")), name("g"), name("t/3"));
        let invoked = What::CommitInvoked { op, client, group, partition, write: op, offset };
        self.story.at(at).see(invoked);
        op
    }

    fn returns(&mut self, at: u64, op: u64, outcome: Outcome) {
        self.story.at(at).see(What::Returned { op, outcome });
    }

    /// A commit from `at` to ten milliseconds later.
    fn commits(&mut self, at: u64, offset: i64) -> u64 {
        let op = self.sends(at, offset);
        self.returns(at + 10, op, Outcome::Ok);
        op
    }

    fn deletes(&mut self, at: u64) {
        let op = self.op();
        let (client, group, partition) = (name(&format!("c{op}")), name("g"), name("t/3"));
        self.story.at(at).see(What::DeleteInvoked { op, client, group, partition });
        self.returns(at + 10, op, Outcome::Ok);
    }

    /// A fetch from `at` to ten milliseconds later.
    fn fetches(&mut self, at: u64, value: Option<(i64, u64)>) {
        let op = self.op();
        let (client, group, partition) = (name(&format!("c{op}")), name("g"), name("t/3"));
        self.story.at(at).see(What::FetchInvoked { op, client, group, partition });
        self.story.at(at + 10).see(What::Fetched { op, value });
    }

    /// The second of two commits goes over the first one's connection, and does not wait for it.
    fn pipelines(&mut self, at: u64, offsets: (i64, i64)) -> (u64, u64) {
        let (first, second) = (self.sends(at, offsets.0), self.sends(at, offsets.1));
        self.story.see(What::CommitFollows { op: second, after: first });
        (first, second)
    }

    fn keeps(&self) {
        self.story.keeps(OffsetDurability);
        assert_eq!(self.story.report().undecided, 0);
    }

    fn breaks(&self) -> String {
        assert_eq!(self.story.breaks(), [OffsetDurability]);
        self.story.evidence()
    }
}

#[test]
fn an_acknowledged_commit_is_what_everybody_reads() {
    let mut partition = Partition::default();
    partition.fetches(0, None);
    let one = partition.commits(1000, 104);
    partition.fetches(2000, Some((104, one)));
    let two = partition.commits(3000, 118);
    partition.fetches(4000, Some((118, two)));
    partition.keeps();
    partition.fetches(5000, Some((104, one)));
    assert_eq!(
        partition.breaks(),
        "t/3 of g:\n\
         commit 104 (write 2), sent at 1000ms, was acknowledged to c2 at 1010ms\n\
         commit 118 (write 4), sent at 3000ms, was acknowledged to c4 at 3010ms\n\
         a fetch sent at 4000ms answered 118 (write 4) to c5 at 4010ms\n\
         a fetch sent at 5000ms answered 104 (write 2) to c6 at 5010ms\n\
         the last of these began after the others had ended, and gives what was \
         overwritten\n"
    );
}

#[test]
fn an_acknowledged_commit_is_lost() {
    let mut partition = Partition::default();
    partition.commits(1000, 104);
    partition.fetches(2000, None);
    let evidence = partition.breaks();
    assert!(evidence.contains("was acknowledged to c1 at 1010ms"), "{evidence}");
    assert!(evidence.contains("answered nothing committed to c2 at 2010ms"), "{evidence}");
}

#[test]
fn a_fetch_beside_a_commit_may_give_either() {
    for first in [true, false] {
        let mut partition = Partition::default();
        let one = partition.commits(1000, 104);
        let two = partition.sends(2000, 118);
        partition.fetches(2100, Some(if first { (104, one) } else { (118, two) }));
        partition.returns(2200, two, Outcome::Ok);
        partition.keeps();
    }
}

#[test]
fn two_fetches_beside_a_commit_agree_on_the_direction() {
    let mut partition = Partition::default();
    let one = partition.commits(1000, 104);
    let two = partition.sends(2000, 118);
    partition.fetches(2100, Some((118, two)));
    partition.fetches(2200, Some((104, one)));
    partition.returns(2300, two, Outcome::Ok);
    partition.breaks();
}

#[test]
fn a_commit_of_unknown_outcome_may_take_effect_late_or_never() {
    let mut partition = Partition::default();
    let lost = partition.sends(500, 99);
    partition.returns(600, lost, Outcome::Unknown);
    let one = partition.commits(1000, 104);
    partition.fetches(2000, Some((104, one)));
    partition.keeps();
    partition.fetches(3000, Some((99, lost)));
    partition.keeps();
    partition.fetches(4000, Some((104, one)));
    partition.breaks();
}

#[test]
fn a_refused_commit_has_no_effect() {
    let mut partition = Partition::default();
    let refused = partition.sends(500, 99);
    partition.returns(600, refused, Outcome::Refused);
    partition.fetches(700, None);
    partition.keeps();
    partition.fetches(800, Some((99, refused)));
    assert!(partition.breaks().contains("a refused commit must have no effect"));
}

#[test]
fn an_answer_names_a_write_that_nobody_made() {
    let mut partition = Partition::default();
    partition.fetches(800, Some((99, 17)));
    assert!(partition.breaks().contains("nobody ever made write 17 there"));
}

#[test]
fn an_answer_mixes_up_offset_and_write() {
    let mut partition = Partition::default();
    let one = partition.commits(500, 99);
    partition.fetches(800, Some((100, one)));
    assert!(partition.breaks().contains("that write carried another offset"));
}

#[test]
fn a_delete_leaves_nothing_and_comes_in_order() {
    let mut partition = Partition::default();
    partition.commits(1000, 104);
    partition.deletes(2000);
    partition.fetches(3000, None);
    let two = partition.commits(4000, 118);
    partition.fetches(5000, Some((118, two)));
    partition.deletes(6000);
    partition.fetches(7000, None);
    partition.keeps();
    partition.fetches(8000, Some((118, two)));
    let evidence = partition.breaks();
    assert!(evidence.contains("the delete sent at 6000ms was acknowledged"), "{evidence}");
}

#[test]
fn a_search_that_would_take_too_long_is_undecided() {
    let mut partition = Partition::default();
    let under_way: Vec<u64> = (0..70).map(|offset| partition.sends(1000, offset)).collect();
    partition.deletes(2000);
    partition.fetches(3000, None);
    for op in under_way {
        partition.returns(4000, op, Outcome::Ok);
    }
    let report = partition.story.report();
    assert_eq!((report.undecided, report.violations.len()), (1, 0));
    assert_eq!(report.checked[&OffsetDurability], 0);
}

#[test]
fn of_two_commits_on_one_connection_the_second_is_newer() {
    let mut it = Partition::default();
    let (first, second) = it.pipelines(100, (7, 8));
    it.returns(120, second, Outcome::Ok);
    it.returns(130, first, Outcome::Ok);
    it.fetches(140, Some((7, first)));
    assert_eq!(
        it.breaks(),
        "t/3 of g:\n\
         commit 7 (write 1), sent at 100ms, was acknowledged to c1 at 130ms\n\
         commit 8 (write 2), sent at 100ms, was acknowledged to c2 at 120ms\n\
         a fetch sent at 140ms answered 7 (write 1) to c3 at 150ms\n\
         the second came behind the first on the same connection, and is the newer\n"
    );
}

#[test]
fn the_first_may_be_read_before_the_second_is_there_and_after_one_of_them_failed() {
    let mut it = Partition::default();
    let (first, second) = it.pipelines(100, (7, 8));
    it.fetches(105, Some((7, first)));
    it.returns(120, first, Outcome::Ok);
    it.returns(121, second, Outcome::Ok);
    it.fetches(130, Some((8, second)));
    let (first, second) = it.pipelines(200, (9, 10));
    it.returns(220, second, Outcome::Ok);
    it.returns(230, first, Outcome::Unknown);
    it.fetches(240, Some((9, first)));
    it.keeps();
}
