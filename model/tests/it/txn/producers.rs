//! Stories of producers: who they are, and what those that were replaced may still do.

use super::Work;
use model::Outcome;

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

/// Who says which producer it is may be told the same again, since its first answer may be lost; a new
/// process that is told what the one before it was told fences nobody.
#[test]
fn a_new_process_is_told_what_the_one_before_it_was() {
    let mut work = Work::new();
    work.ready_anew("c1", 5, 0).ready("c1", 5, 1).ready("c1", 5, 1).ready_anew("c1", 5, 2);
    work.keeps();
    work.ready_anew("c1", 5, 2);
    assert_eq!(
        work.breaks(),
        "c1 was told at 1050ms that it is producer 5, epoch 2, of pay\n\
         c1 had been told the very same at 1040ms\n"
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
