//! Stories of whether a write may show at all.

use super::Work;
use model::Outcome;

#[test]
fn a_transaction_commits_and_shows() {
    let mut work = Work::begun();
    let zero = work.commits("t/0", 90);
    let one = work.writes(1, "t/0", 104);
    work.gets("t/0", Some((90, zero)));
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((90, zero)));
    work.gets("t/0", Some((104, one)));
    work.gets_stable("t/0", Some((104, one)));
    work.keeps();
}

#[test]
fn what_has_no_transaction_is_not_judged() {
    let mut work = Work::new();
    let one = work.commits("t/0", 104);
    work.gets_stable("t/0", Some((104, one)));
    work.deletes("t/0", Outcome::Ok);
    work.gets("t/0", None);
    assert_eq!((work.story.breaks(), work.checks()), (vec![], 0));
}

#[test]
fn a_write_shows_before_its_commit() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.gets("t/0", Some((104, one)));
    let evidence = work.breaks_both();
    assert!(
        evidence.starts_with(
            "t/0 of g:\n\
             commit 104 (write 1) in transaction 1, sent at 1030ms, was acknowledged to c1 at \
             1040ms\n\
             a fetch sent at 1050ms answered 104 (write 1) to c2 at 1060ms\n\
             nobody had asked for the commit of transaction 1 of c1 (pay, producer 5, epoch 0)\n"
        ),
        "{evidence}"
    );
}

#[test]
fn a_write_may_show_as_soon_as_its_commit_was_asked_for() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    let early = work.asks_for("t/0");
    work.asks(1).given(early, Some((104, one))).hears(1, Outcome::Ok);
    work.keeps();
}

#[test]
fn a_write_shows_after_its_abort() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Unknown).aborts(1, Outcome::Ok);
    work.gets("t/0", None);
    work.keeps();
    work.gets("t/0", Some((104, one)));
    assert!(work.breaks().contains(
        "the abort of transaction 1 of c1 (pay, producer 5, epoch 0) was acknowledged at 1080ms"
    ));
}

#[test]
fn an_abort_that_nobody_heard_of_decides_nothing() {
    for outcome in [Outcome::Unknown, Outcome::Refused] {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        work.ends(1, Outcome::Unknown).aborts(1, outcome);
        work.gets("t/0", Some((104, one)));
        work.keeps();
    }
}

#[test]
fn a_write_that_showed_is_aborted() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Unknown);
    work.gets("t/0", Some((104, one)));
    work.keeps();
    work.aborts(1, Outcome::Ok);
    assert!(work.breaks().contains("answered 104 (write 1) to c2"));
}

#[test]
fn every_request_to_commit_is_refused() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Refused).ends(1, Outcome::Refused);
    work.gets("t/0", None);
    work.keeps();
    work.gets("t/0", Some((104, one)));
    assert!(work.breaks().contains(
        "every request to commit transaction 1 of c1 (pay, producer 5, epoch 0) was refused, the \
         last at 1080ms"
    ));
}

#[test]
fn a_request_that_nobody_answered_or_a_later_one_explains_it() {
    for (first, second) in [
        (Outcome::Unknown, Outcome::Refused),
        (Outcome::Refused, Outcome::Unknown),
        (Outcome::Refused, Outcome::Ok),
        (Outcome::Unknown, Outcome::Ok),
    ] {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        work.ends(1, first).ends(1, second);
        work.gets("t/0", Some((104, one)));
        work.keeps();
    }
}

#[test]
fn the_only_request_that_could_explain_it_is_refused_afterwards() {
    for (later, fine) in [(Outcome::Refused, false), (Outcome::Unknown, true), (Outcome::Ok, true)]
    {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        work.asks(1).gets("t/0", Some((104, one)));
        work.hears(1, later);
        // One that was sent after the answer explains nothing.
        work.ends(1, Outcome::Ok);
        if fine {
            work.keeps();
        } else {
            assert!(work.breaks().contains("answered 104 (write 1) to c2"));
        }
    }
}

#[test]
fn one_transaction_is_told_both_ends() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Unknown).aborts(1, Outcome::Ok).ends(1, Outcome::Refused);
    work.keeps();
    work.ends(1, Outcome::Ok);
    assert!(work.breaks().contains("its abort was acknowledged at 1080ms"));

    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Ok).ends(1, Outcome::Ok).aborts(1, Outcome::Refused);
    work.keeps();
    work.aborts(1, Outcome::Ok);
    assert!(work.breaks().contains("its commit was acknowledged at 1060ms"));
}

#[test]
fn a_refused_write_shows() {
    let mut work = Work::begun();
    let op = work.sends(1, "t/0", 104);
    work.returns(op, Outcome::Refused);
    work.ends(1, Outcome::Ok);
    work.gets_stable("t/0", None);
    work.gets("t/0", Some((104, op)));
    assert!(work.breaks_both().contains("a refused commit must have no effect"));
}

#[test]
fn a_write_that_showed_is_refused() {
    for outcome in [Outcome::Refused, Outcome::Unknown, Outcome::Ok] {
        let mut work = Work::begun();
        let op = work.sends(1, "t/0", 104);
        work.ends(1, Outcome::Ok);
        work.gets("t/0", Some((104, op)));
        work.returns(op, outcome);
        if outcome == Outcome::Refused {
            assert!(work.breaks_both().contains("a refused commit must have no effect"));
        } else {
            work.keeps();
        }
    }
}

#[test]
fn an_aborted_write_is_carried_along_by_the_next_transaction() {
    for fine in [false, true] {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        work.aborts(1, Outcome::Ok).begins(2, "c1", 5, 0);
        let two = work.writes(2, "t/1", 7);
        work.ends(2, Outcome::Ok);
        work.gets_stable("t/1", Some((7, two)));
        if fine {
            work.gets_stable("t/0", None);
            work.keeps();
        } else {
            work.gets("t/0", Some((104, one)));
            let evidence = work.breaks_both();
            assert!(
                evidence.contains(
                    "transaction 2 of the same producer may have carried it along: its commit \
                     was asked for at 1100ms"
                ),
                "{evidence}"
            );
        }
    }
}

#[test]
fn events_about_transactions_that_nobody_began_change_nothing() {
    let mut work = Work::new();
    work.sends(3, "t/0", 104);
    work.ends(3, Outcome::Ok).aborts(3, Outcome::Ok);
    work.gets_stable("t/0", None);
    assert_eq!((work.story.breaks(), work.checks()), (vec![], 0));
}
