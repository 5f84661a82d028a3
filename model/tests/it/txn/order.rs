//! Stories of what a fetch must give at least: what committed, and what was seen before.

use super::Work;
use crate::story::name;
use model::{Outcome, Promise::OffsetDurability, What};

#[test]
fn a_committed_write_is_lost() {
    for older in [false, true] {
        let mut work = Work::begun();
        let older = older.then(|| (90, work.commits("t/0", 90)));
        work.writes(1, "t/0", 104);
        work.ends(1, Outcome::Ok);
        work.gets("t/0", older);
        work.keeps();
        work.gets_stable("t/0", older);
        let evidence = work.breaks();
        assert!(evidence.contains("the commit of transaction 1 of c1 (pay, "), "{evidence}");
        assert!(evidence.contains("a stable fetch sent at "), "{evidence}");
    }
}

#[test]
fn a_stable_fetch_that_was_sent_before_the_commit_was_heard_of_may_be_refused() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    let early = work.asks_stable("t/0");
    work.ends(1, Outcome::Ok);
    work.see(What::FetchFailed { op: early });
    let late = work.asks_stable("t/0");
    work.see(What::FetchFailed { op: late });
    assert_eq!(work.story.breaks(), []);
}

#[test]
fn a_stable_fetch_overlooks_what_is_pending() {
    let mut work = Work::begun();
    let zero = work.commits("t/0", 90);
    let beside = work.asks_stable("t/0");
    let one = work.writes(1, "t/0", 104);
    // It was sent before the write was acknowledged.
    work.given(beside, Some((90, zero)));
    // It may have been sent after an abort.
    work.gets_stable("t/0", Some((90, zero)));
    work.asks(1);
    assert_eq!(work.story.breaks(), []);
    let mut unheard = Work::begun();
    let zero = unheard.commits("t/0", 90);
    unheard.writes(1, "t/0", 104);
    unheard.gets_stable("t/0", Some((90, zero))).ends(1, Outcome::Unknown);
    assert_eq!(unheard.story.breaks(), []);
    work.hears(1, Outcome::Ok);
    work.gets_stable("t/0", Some((104, one)));
    let evidence = work.breaks();
    assert!(
        evidence.ends_with("a stable fetch is refused until that write is visible\n"),
        "{evidence}"
    );
}

#[test]
fn a_stable_fetch_beside_the_write_may_miss_it() {
    let mut work = Work::begun();
    let zero = work.commits("t/0", 90);
    let op = work.sends(1, "t/0", 104);
    let beside = work.asks_stable("t/0");
    work.returns(op, Outcome::Ok);
    work.given(beside, Some((90, zero)));
    work.ends(1, Outcome::Ok);
    work.keeps();
}

#[test]
fn a_write_of_unknown_outcome_may_be_missing_or_not() {
    let mut work = Work::begun();
    let op = work.sends(1, "t/0", 104);
    work.returns(op, Outcome::Unknown);
    work.ends(1, Outcome::Ok);
    work.gets_stable("t/0", None);
    work.gets_stable("t/0", Some((104, op)));
    work.keeps();
}

#[test]
fn half_a_transaction_shows_elsewhere_in_the_group() {
    for fine in [false, true] {
        let mut work = Work::begun();
        let zero = work.commits("t/0", 90);
        work.writes(1, "t/0", 104);
        let other = work.writes(1, "t/1", 7);
        work.ends(1, Outcome::Unknown);
        let beside = work.asks_for("t/0");
        work.gets("t/1", Some((7, other)));
        if fine {
            work.given(beside, Some((90, zero)));
            work.keeps();
        } else {
            work.gets("t/0", Some((90, zero)));
            assert!(work.breaks().contains(
                "transaction 1 of c1 (pay, producer 5, epoch 0) had come into view in g: a fetch"
            ));
        }
    }
}

#[test]
fn the_other_half_in_another_group_binds_stable_fetches_only() {
    for stable in [false, true] {
        let mut work = Work::begun();
        let other = work.writes(1, "t/1", 7);
        let (op, write, group, partition) = (50, 50, name("h"), name("t/0"));
        let offset = 104;
        work.see(What::TxnCommitInvoked { op, txn: 1, group, partition, write, offset });
        work.returns(50, Outcome::Ok).ends(1, Outcome::Unknown);
        work.gets("t/1", Some((7, other)));
        let (op, client, group, partition) = (51, name("c2"), name("h"), name("t/0"));
        work.see(What::FetchInvoked { op, client, group, partition });
        if stable {
            work.see(What::FetchIsStable { op });
        }
        work.given(op, None);
        if stable {
            assert!(work.breaks().contains("was seen to have committed: a fetch sent at"));
        } else {
            work.keeps();
        }
    }
}

#[test]
fn a_plain_commit_that_came_later_stays() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    let two = work.commits("t/0", 110);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((110, two)));
    work.gets_stable("t/0", Some((110, two)));
    work.keeps();
}

#[test]
fn the_end_of_a_transaction_puts_its_older_write_over_a_plain_commit() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.commits("t/0", 110);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, one)));
    assert!(work.breaks().contains("write 1 is certainly older than write 2"));

    let mut work = Work::begun();
    let op = work.sends(1, "t/0", 104);
    work.commits("t/0", 110);
    work.returns(op, Outcome::Ok);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, op)));
    work.keeps();
}

#[test]
fn of_two_transactions_the_later_write_stays() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.ready_for("bill", "c3", 6, 0).begins(2, "c3", 6, 0);
    let two = work.writes(2, "t/0", 110);
    work.ends(2, Outcome::Ok).ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, one)));
    work.gets_stable("t/0", Some((110, two)));
    work.keeps();
    work.gets("t/0", Some((104, one)));
    assert!(work.breaks_both().contains("c2 had been given write 2 at"));
}

#[test]
fn a_deletion_lifts_what_is_due() {
    for outcome in [Outcome::Ok, Outcome::Unknown] {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        work.ends(1, Outcome::Ok);
        work.gets_stable("t/0", Some((104, one)));
        work.deletes("t/0", outcome).gets_stable("t/0", None);
        work.keeps();
    }
}

#[test]
fn a_deletion_that_ended_before_or_was_refused_lifts_nothing() {
    let mut work = Work::begun();
    work.deletes("t/0", Outcome::Ok).writes(1, "t/0", 104);
    work.ends(1, Outcome::Ok).gets_stable("t/0", None);
    assert!(work.breaks().contains("write 2 is missing, and nobody deleted it"));

    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.deletes("t/0", Outcome::Refused).ends(1, Outcome::Ok).gets_stable("t/0", None);
    assert!(work.breaks().contains("write 1 is missing, and nobody deleted it"));
}

#[test]
fn what_was_seen_goes_back() {
    for fine in [false, true] {
        let mut work = Work::begun();
        let zero = work.commits("t/0", 90);
        let one = work.writes(1, "t/0", 104);
        work.ends(1, Outcome::Unknown);
        let beside = work.asks_for("t/0");
        work.gets("t/0", Some((104, one)));
        if fine {
            work.given(beside, Some((90, zero)));
            work.keeps();
        } else {
            work.gets("t/0", Some((90, zero)));
            assert!(work.breaks_both().contains("write 1 is certainly older than write 2"));
        }
    }
}

#[test]
fn what_was_seen_goes_back_behind_a_plain_commit() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, one)));
    let two = work.commits("t/0", 110);
    work.gets("t/0", Some((110, two)));
    work.keeps();
    work.gets("t/0", Some((104, one)));
    assert!(work.breaks_both().contains("write 1 is certainly older than write 3"));
}

#[test]
fn of_two_writes_of_a_transaction_the_last_shows() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    let two = work.writes(1, "t/0", 110);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((110, two)));
    work.keeps();

    let mut work = Work::begun();
    let three = work.writes(1, "t/0", 104);
    let beside = work.sends(1, "t/0", 110);
    work.returns(beside, Outcome::Unknown).ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, three)));
    work.keeps();

    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.writes(1, "t/0", 110);
    work.ends(1, Outcome::Ok);
    work.gets("t/0", Some((104, one)));
    let evidence = work.breaks();
    assert!(evidence.contains("the later write of the same transaction"), "{evidence}");
}

#[test]
fn for_the_register_a_commit_in_a_transaction_may_happen_from_its_end_on() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    let two = work.sends(1, "t/1", 7);
    work.returns(two, Outcome::Unknown).asks(1);
    work.gets("t/0", Some((104, one))).gets("t/1", Some((7, two)));
    work.story.keeps(OffsetDurability);
    work.gets("t/1", Some((8, two)));
    assert_eq!(
        work.breaks_all(&[OffsetDurability]),
        "t/1 of g:\n\
         commit 7 (write 2), sent at 1070ms, of c1 in transaction 1 has an unknown outcome\n\
         a fetch sent at 1120ms answered 8 (write 2) to c2 at 1130ms\n\
         that write carried another offset\n"
    );
}

#[test]
fn what_is_sent_after_the_commit_was_asked_for_is_not_due() {
    let mut work = Work::begun();
    let one = work.writes(1, "t/0", 104);
    work.asks(1);
    work.writes(1, "t/0", 110);
    work.writes(1, "t/1", 7);
    work.hears(1, Outcome::Ok);
    work.gets_stable("t/0", Some((104, one)));
    work.gets_stable("t/1", None);
    work.keeps();
}

#[test]
fn among_plain_commits_only_the_register_judges() {
    let mut work = Work::begun();
    work.writes(1, "t/0", 104);
    work.aborts(1, Outcome::Ok);
    let before = work.commits("t/0", 90);
    let beside = work.asks_for("t/0");
    work.commits("t/0", 91);
    work.given(beside, Some((90, before)));
    work.keeps();
    work.gets("t/0", None);
    work.breaks_all(&[OffsetDurability]);
}
