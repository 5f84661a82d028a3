//! Stories of transactions: whose offsets show, and when.

use crate::story::{Story, name};
use model::{
    Outcome,
    Promise::{self, OffsetDurability, TxnIsolation},
    What,
};

/// Producers at work on group `g`; one call is ten milliseconds. A write has the number of its
/// operation.
pub(crate) struct Work {
    pub(crate) story: Story,
    now: u64,
    ops: u64,
}

impl Work {
    fn new() -> Work {
        Work { story: Story::new(), now: 1000, ops: 0 }
    }

    /// Transaction 1 of `c1`, who is producer 5, epoch 0, of `pay`.
    fn begun() -> Work {
        let mut work = Work::new();
        work.ready("c1", 5, 0).begins(1, "c1", 5, 0);
        work
    }

    fn see(&mut self, what: What) -> &mut Work {
        self.now += 10;
        self.story.at(self.now).see(what);
        self
    }

    fn op(&mut self) -> u64 {
        self.ops += 1;
        self.ops
    }

    fn ready_for(&mut self, id: &str, client: &str, producer: i64, epoch: i16) -> &mut Work {
        let (id, client) = (name(id), name(client));
        self.see(What::ProducerReady { id, client, producer, epoch })
    }

    fn ready(&mut self, client: &str, producer: i64, epoch: i16) -> &mut Work {
        self.ready_for("pay", client, producer, epoch)
    }

    fn begins(&mut self, txn: u64, client: &str, producer: i64, epoch: i16) -> &mut Work {
        let (id, client) = (name("pay"), name(client));
        self.see(What::TxnBegun { txn, id, client, producer, epoch })
    }

    /// The transaction sends a write to the partition.
    fn sends(&mut self, txn: u64, partition: &str, offset: i64) -> u64 {
        let (op, group, partition) = (self.op(), name("g"), name(partition));
        self.see(What::TxnCommitInvoked { op, txn, group, partition, write: op, offset });
        op
    }

    fn returns(&mut self, op: u64, outcome: Outcome) -> &mut Work {
        self.see(What::Returned { op, outcome })
    }

    /// The transaction has a write to the partition acknowledged.
    fn writes(&mut self, txn: u64, partition: &str, offset: i64) -> u64 {
        let op = self.sends(txn, partition, offset);
        self.returns(op, Outcome::Ok);
        op
    }

    /// A commit outside of any transaction, acknowledged.
    fn commits(&mut self, partition: &str, offset: i64) -> u64 {
        let (op, client, group, partition) = (self.op(), name("c9"), name("g"), name(partition));
        self.see(What::CommitInvoked { op, client, group, partition, write: op, offset });
        self.returns(op, Outcome::Ok);
        op
    }

    fn deletes(&mut self, partition: &str, outcome: Outcome) -> &mut Work {
        let (op, client, group, partition) = (self.op(), name("c9"), name("g"), name(partition));
        self.see(What::DeleteInvoked { op, client, group, partition });
        self.returns(op, outcome)
    }

    fn asks(&mut self, txn: u64) -> &mut Work {
        self.see(What::TxnEndInvoked { txn, commit: true })
    }

    fn hears(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.see(What::TxnEndReturned { txn, commit: true, outcome })
    }

    /// The commit of the transaction is asked for, with that outcome.
    fn ends(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.asks(txn).hears(txn, outcome)
    }

    fn aborts(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.see(What::TxnEndInvoked { txn, commit: false });
        self.see(What::TxnEndReturned { txn, commit: false, outcome })
    }

    /// A plain fetch is sent.
    fn asks_for(&mut self, partition: &str) -> u64 {
        let (op, client, group, partition) = (self.op(), name("c2"), name("g"), name(partition));
        self.see(What::FetchInvoked { op, client, group, partition });
        op
    }

    fn asks_stable(&mut self, partition: &str) -> u64 {
        let op = self.asks_for(partition);
        self.see(What::FetchIsStable { op });
        op
    }

    fn given(&mut self, op: u64, value: Option<(i64, u64)>) -> &mut Work {
        self.see(What::Fetched { op, value })
    }

    /// A plain fetch, answered.
    fn gets(&mut self, partition: &str, value: Option<(i64, u64)>) -> &mut Work {
        let op = self.asks_for(partition);
        self.given(op, value)
    }

    /// A stable fetch, answered.
    fn gets_stable(&mut self, partition: &str, value: Option<(i64, u64)>) -> &mut Work {
        let op = self.asks_stable(partition);
        self.given(op, value)
    }

    fn counts(&mut self, txn: u64, from: i64, to: i64) -> &mut Work {
        let (group, partition) = (name("g"), name("in/0"));
        self.see(What::EffectCounted { txn, group, partition, from, to })
    }

    fn stands(&mut self, upto: Option<i64>) -> &mut Work {
        let (group, partition) = (name("g"), name("in/0"));
        self.see(What::ProcessedAtEnd { group, partition, upto })
    }

    fn keeps(&self) {
        self.story.keeps(TxnIsolation);
        assert_eq!(self.story.report().undecided, 0);
    }

    /// Only this promise broke; the evidence.
    fn breaks(&self) -> String {
        self.breaks_all(&[TxnIsolation])
    }

    /// offset-durability broke as well; the evidence of both.
    fn breaks_both(&self) -> String {
        self.breaks_all(&[OffsetDurability, TxnIsolation])
    }

    fn breaks_all(&self, promises: &[Promise]) -> String {
        assert_eq!(self.story.breaks(), promises, "{}", self.story.evidence());
        self.story.evidence()
    }

    fn checks(&self) -> u64 {
        self.story.report().checked[&TxnIsolation]
    }
}

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
fn a_fenced_producer_commits() {
    for newer in [(5, 1), (6, 0)] {
        let mut work = Work::begun();
        work.writes(1, "t/0", 104);
        work.asks(1).ready("c3", newer.0, newer.1).hears(1, Outcome::Ok);
        work.keeps();
        work.ends(1, Outcome::Refused);
        work.keeps();
        work.ends(1, Outcome::Ok);
        let evidence = work.breaks();
        let (producer, epoch) = newer;
        let told = format!(
            "before it was asked for, c3 had been told at 1060ms that it is producer {producer}, \
             epoch {epoch}"
        );
        assert!(evidence.contains(&told), "{evidence}");
    }
}

#[test]
fn a_fenced_producer_writes() {
    let mut work = Work::begun();
    let before = work.sends(1, "t/0", 104);
    work.ready("c3", 5, 1).returns(before, Outcome::Ok);
    let after = work.sends(1, "t/0", 110);
    work.returns(after, Outcome::Refused);
    work.keeps();
    work.writes(1, "t/0", 110);
    assert!(work.breaks().contains("before it was sent, c3 had been told at 1040ms"));
}

#[test]
fn only_a_fenced_request_explains_it() {
    for fenced in [false, true] {
        let mut work = Work::begun();
        let one = work.writes(1, "t/0", 104);
        if fenced {
            work.ready("c3", 5, 1);
        }
        work.ends(1, Outcome::Unknown);
        work.gets("t/0", Some((104, one)));
        if fenced {
            assert!(work.breaks().contains("was fenced before its commit was asked for: c3 had"));
        } else {
            work.keeps();
        }
    }
}

#[test]
fn the_same_producer_again_or_an_older_one_fences_nobody() {
    let mut work = Work::new();
    work.ready("c1", 5, 3).begins(1, "c1", 5, 3);
    work.ready("c1", 5, 3).ready("c3", 5, 2);
    work.ready("c4", 4, i16::MAX - 1).ready_for("bill", "c5", 7, 9);
    work.writes(1, "t/0", 104);
    work.ends(1, Outcome::Ok);
    work.keeps();
}

#[test]
fn two_clients_are_told_the_same() {
    let mut work = Work::new();
    work.ready("c1", 5, 0).ready("c1", 5, 0).ready("c2", 5, 1);
    work.keeps();
    work.ready("c2", 5, 0);
    assert_eq!(
        work.breaks(),
        "c2 was told at 1040ms that it is producer 5, epoch 0, of pay\n\
         c1 had been told the very same at 1010ms\n"
    );
}

#[test]
fn a_producer_belongs_to_two_ids() {
    let mut work = Work::new();
    work.ready("c1", 5, 0).ready_for("bill", "c1", 6, 0).ready("c1", 6, 1);
    assert_eq!(
        work.breaks(),
        "c1 was told at 1030ms that it is producer 6, epoch 1, of pay\n\
         that producer id belongs to bill: c1 was told so at 1020ms\n"
    );
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
fn records_count_twice() {
    let mut work = Work::begun();
    work.begins(2, "c1", 5, 0).ends(1, Outcome::Ok).ends(2, Outcome::Ok);
    work.counts(1, 0, 10).counts(2, 10, 15).counts(1, 20, 30).counts(2, 15, 20);
    work.keeps();
    work.counts(2, 5, 25);
    assert_eq!(
        work.breaks(),
        "records 5 to 10 of in/0 count twice for g:\n\
         by transaction 1 since 1080ms\n\
         by transaction 2 since 1120ms\n"
    );
}

#[test]
fn records_count_by_a_transaction_that_did_not_commit() {
    let mut work = Work::begun();
    work.ends(1, Outcome::Unknown).counts(1, 0, 10);
    work.keeps();
    work.aborts(1, Outcome::Ok);
    assert!(work.breaks().contains("records 0 to 10 of in/0 count for g since 1050ms"));

    let mut work = Work::begun();
    work.counts(1, 0, 10);
    assert_eq!(
        work.breaks(),
        "by transaction 1:\n\
         records 0 to 10 of in/0 count for g since 1030ms\n\
         nobody had asked for the commit of transaction 1 of c1 (pay, producer 5, epoch 0)\n"
    );
}

#[test]
fn records_that_count_say_that_the_offsets_must_show() {
    let mut work = Work::begun();
    let one = work.writes(1, "in/0", 10);
    work.ends(1, Outcome::Unknown).counts(1, 0, 10);
    work.gets_stable("in/0", Some((10, one)));
    work.keeps();

    let mut work = Work::begun();
    work.writes(1, "in/0", 10);
    work.ends(1, Outcome::Unknown).counts(1, 0, 10);
    work.gets_stable("in/0", None);
    assert!(work.breaks().contains("was seen to have committed: records 0 to 10 of in/0 count"));
}

#[test]
fn at_the_end_all_that_was_committed_counts() {
    let mut work = Work::begun();
    work.ends(1, Outcome::Ok).counts(1, 10, 20).counts(1, 0, 10).stands(Some(20));
    work.keeps();
    for (upto, told) in [
        (
            Some(25),
            "g has committed 25 in in/0\n\
             records 20 to 25 are passed over: no transaction counts that took them in\n",
        ),
        (
            Some(15),
            "g has committed 15 in in/0\n\
             records 15 to 20 count by transaction 1 since 1050ms, but the offset that was \
             committed with them is lost\n",
        ),
        (
            None,
            "g has committed nothing in in/0\n\
             records 0 to 10 count by transaction 1 since 1060ms, but the offset that was \
             committed with them is lost\n\
             records 10 to 20 count by transaction 1 since 1050ms, but the offset that was \
             committed with them is lost\n",
        ),
    ] {
        let mut work = Work::begun();
        work.ends(1, Outcome::Ok).counts(1, 10, 20).counts(1, 0, 10).stands(upto);
        assert_eq!(work.breaks(), told);
    }
    let mut work = Work::begun();
    work.ends(1, Outcome::Ok).counts(1, 0, 10).counts(1, 15, 20).stands(Some(20));
    assert!(work.breaks().contains("records 10 to 15 are passed over"));
}

#[test]
fn nothing_at_the_end_is_nothing_to_compare() {
    let mut work = Work::new();
    work.stands(None).stands(Some(0));
    assert_eq!((work.story.breaks(), work.checks()), (vec![], 0));
}

#[test]
fn events_about_transactions_that_nobody_began_change_nothing() {
    let mut work = Work::new();
    work.sends(3, "t/0", 104);
    work.ends(3, Outcome::Ok).aborts(3, Outcome::Ok);
    work.gets_stable("t/0", None);
    assert_eq!((work.story.breaks(), work.checks()), (vec![], 0));
}
