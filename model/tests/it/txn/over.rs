//! Stories of transactions that have ended everywhere.

use super::Work;
use model::Outcome;

/// Transaction 1 has written to `t/0`, where write 1 was before, and its commit is asked for.
fn asked() -> Work {
    let mut work = Work::begun();
    work.commits("t/0", 90);
    work.writes(1, "t/0", 104);
    work.asks(1);
    work
}

/// Its producer is let write in the next one.
fn goes_on(work: &mut Work) {
    work.begins(2, "c1", 5, 0).writes(2, "t/1", 105);
}

#[test]
fn what_is_over_shows_to_all() {
    let mut work = asked();
    work.hears(1, Outcome::Ok).gets("t/0", Some((90, 1)));
    work.begins(2, "c1", 5, 0).gets("t/0", Some((90, 1)));
    let refused = work.sends(2, "t/1", 105);
    work.returns(refused, Outcome::Refused).gets("t/0", Some((90, 1)));
    work.keeps();
    work.writes(2, "t/1", 105);
    work.gets("t/0", Some((90, 1)));
    let evidence = work.breaks();
    assert!(
        evidence.contains(
            "the commit of transaction 1 of c1 (pay, producer 5, epoch 0) was acknowledged at \
             1080ms\n\
             before the fetch was sent, its producer was let begin anew\n\
             a fetch sent at "
        ),
        "{evidence}"
    );
    assert!(evidence.contains("\nwrite 1 is certainly older than write 2"), "{evidence}");
}

#[test]
fn a_fetch_that_was_sent_before_need_not_show_it() {
    let mut work = asked();
    work.hears(1, Outcome::Ok);
    let early = work.asks_for("t/0");
    goes_on(&mut work);
    work.given(early, Some((90, 1)));
    work.keeps();
}

#[test]
fn whether_it_has_committed_may_be_known_later() {
    let mut work = asked();
    goes_on(&mut work);
    work.gets("t/0", Some((90, 1)));
    work.keeps();
    work.hears(1, Outcome::Ok).gets("t/0", Some((90, 1)));
    work.breaks();
}

#[test]
fn an_abort_that_is_over_shows_nothing() {
    let mut work = Work::begun();
    work.commits("t/0", 90);
    work.writes(1, "t/0", 104);
    work.aborts(1, Outcome::Ok);
    goes_on(&mut work);
    work.gets("t/0", Some((90, 1)));
    work.keeps();
}

#[test]
fn what_came_behind_it_shows_instead() {
    let mut work = asked();
    work.hears(1, Outcome::Ok);
    let later = work.commits("t/0", 95);
    goes_on(&mut work);
    work.gets("t/0", Some((95, later)));
    work.keeps();
}
