//! Stories of the records that transactions took in.

use super::Work;
use model::Outcome;

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
