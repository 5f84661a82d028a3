//! Stories of stable fetches that are refused.

use super::Work;
use model::Outcome;

#[test]
fn a_stable_fetch_is_refused_while_a_transaction_is_open() {
    let mut work = Work::begun();
    work.sends(1, "t/0", 104);
    work.refuses("t/0");
    work.keeps();
}

#[test]
fn the_end_may_take_as_long_as_nothing_shows_that_it_has_come() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Ok);
    work.refuses("t/0");
    work.begins(2, "c1", 5, 0);
    work.refuses("t/0");
    work.keeps();
    work.writes(2, "t/1", 105);
    work.refuses("t/0");
    assert!(work.breaks().contains("t/0 of g:\na stable fetch of c2, sent at "));
}

#[test]
fn a_fetch_that_was_sent_before_may_be_refused() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    let early = work.asks_stable("t/0");
    work.aborts(1, Outcome::Ok).ready("c1", 5, 1);
    work.refused(early);
    work.keeps();
    work.refuses("t/0");
    work.breaks();
}

#[test]
fn a_producer_that_is_told_who_it_is_has_nothing_open() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.ready("c1", 7, 0);
    work.refuses("t/0");
    work.keeps();
    work.ready("c1", 5, 1);
    work.refuses("t/0");
    work.breaks();
}

#[test]
fn a_refused_write_is_no_reason() {
    let mut work = Work::begun();
    let write = work.sends(1, "t/0", 104);
    work.returns(write, Outcome::Refused);
    work.refuses("t/0");
    work.breaks();
}

#[test]
fn a_plain_commit_under_way_is_a_reason() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    let plain = work.sends_plain("t/0", 90);
    work.ready("c1", 5, 1);
    work.refuses("t/0");
    work.returns(plain, Outcome::Ok);
    work.keeps();
    work.refuses("t/0");
    work.breaks();
}
