//! Those who wait, and what has become of their group meanwhile.

use std::task::{Context, Waker};

use kaas_coordinator::{api::ErrorCode, config::Config, note::Note};

use crate::{
    rig::{
        Call, SECOND, claims, commit, commit_as, error, fetch, give_away, join, joined, leave,
        list, listed, stick, sync,
    },
    still::Still,
};

#[test]
fn a_list_that_waited_leaves_out_what_was_lost_since() {
    let mut still = Still::start(Config::default());
    for group in ["kept", "lost"] {
        assert_eq!(error(&still.call(commit(group))), ErrorCode::None);
    }
    let list = Call::send(&still, list());
    // The broker has answered; its caller looks at it only later.
    still.work();
    give_away(&mut still, 2, &["lost"]);
    assert_eq!(listed(list.answer()), ["kept"]);
}

#[test]
fn who_hung_up_is_in_no_generation() {
    let mut still = Still::start(Config::default());
    let (gone, here) = (Call::send(&still, join("g")), Call::send(&still, join("g")));
    still.work();
    drop(gone);
    still.advance(10 * SECOND);
    let joined = joined(here.answer());
    assert_eq!(joined.members.len(), 1);
    assert_eq!(joined.leader, joined.member_id);
}

#[test]
fn who_waits_for_the_volume_does_so_for_a_bounded_time() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("g"))), ErrorCode::None);
    stick(&still, true);
    let table = [
        (commit("g"), ErrorCode::RequestTimedOut),
        (fetch("g"), ErrorCode::CoordinatorNotAvailable),
        (commit("cold"), ErrorCode::CoordinatorLoadInProgress),
        (join("cold"), ErrorCode::CoordinatorLoadInProgress),
        (list(), ErrorCode::CoordinatorNotAvailable),
    ];
    let mut calls: Vec<_> =
        table.into_iter().map(|(it, expected)| (Call::send(&still, it), expected)).collect();
    still.advance(Config::default().offsets.volume_timeout - SECOND);
    assert!(calls.iter_mut().all(|(call, _)| call.look().is_none()));
    still.advance(SECOND);
    for (call, expected) in calls {
        assert_eq!(error(&call.answer()), expected);
    }
}

#[test]
fn each_who_waits_for_the_volume_has_a_time_of_its_own() {
    for request in [commit, fetch] {
        let mut still = Still::start(Config::default());
        assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
        stick(&still, true);
        let mut calls = Vec::new();
        for _ in 0..3 {
            calls.push(Call::send(&still, request("g")));
            still.advance(SECOND);
        }
        still.advance(SECOND);
        for nth in 0..3 {
            still.advance(SECOND);
            let answered: Vec<_> = calls.iter_mut().map(|it| it.look().is_some()).collect();
            assert_eq!(answered.iter().position(|it| *it), Some(0), "the {nth}th is next");
            assert_eq!(answered.iter().filter(|it| **it).count(), 1, "and it alone");
            calls.remove(0);
        }
    }
}

#[test]
fn a_group_that_was_lost_and_comes_back_hears_nothing_of_its_first_take_over() {
    let mut still = Still::start(Config::default());
    stick(&still, true);
    let before = Call::send(&still, fetch("g"));
    give_away(&mut still, 2, &["g"]);
    assert_eq!(error(&before.answer()), ErrorCode::NotCoordinator);
    give_away(&mut still, 3, &[]);
    let again = Call::send(&still, fetch("g"));
    still.work();
    stick(&still, false);
    still.advance(SECOND);
    assert_eq!(error(&again.answer()), ErrorCode::None);
}

#[test]
fn no_two_claims_of_one_life_share_a_name() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(commit("g"))), ErrorCode::None);
    let first = claims(&still);
    assert_eq!(first.len(), 1);
    still.advance(2 * Config::default().idle_max);
    assert!(claims(&still).is_empty(), "nobody uses the group");
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
    assert_ne!(claims(&still), first);
}

#[test]
fn a_broker_that_closes_answers_everybody_and_gives_its_claims_back() {
    let mut still = Still::start(Config::default());
    let joining = Call::send(&still, join("g"));
    still.work();
    assert_eq!(claims(&still).len(), 1);
    still.broker.close();
    let is_over = still.run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(is_over.is_ready());
    assert_eq!(error(&joining.answer()), ErrorCode::NotCoordinator);
    assert!(claims(&still).is_empty());
    assert_eq!(error(&still.call(list())), ErrorCode::CoordinatorNotAvailable);
}

#[test]
fn what_the_boot_window_brought_goes_if_no_view_comes() {
    let mut still = Still::start_under(Config::default(), None);
    let joining = Call::send(&still, join("g"));
    still.work();
    assert_eq!(still.broker.status().held.len(), 1);
    still.advance(Config::default().staleness_max);
    assert_eq!(error(&joining.answer()), ErrorCode::NotCoordinator);
    assert_eq!(still.broker.status().held, []);
}

#[test]
fn the_log_says_once_that_the_view_is_stale_and_once_that_it_is_fresh() {
    let mut still = Still::start(Config::default());
    let file = still.broker.host().files().files.remove("assignment.json");
    still.advance(10 * SECOND);
    still.broker.host().put("assignment.json", &file.expect("it was there"));
    still.advance(10 * SECOND);
    let notes = still.broker.host().notes.lock().expect("nobody panics");
    let of_freshness = notes.iter().filter(|it| matches!(it, Note::ViewStale | Note::ViewFresh));
    assert_eq!(of_freshness.collect::<Vec<_>>(), [&Note::ViewStale, &Note::ViewFresh]);
}

#[test]
fn a_group_can_be_inspected_while_it_is_in_memory() {
    let mut still = Still::start(Config::default());
    let _joining = Call::send(&still, join("g"));
    still.work();
    let group = still.broker.inspect(&"g".into()).expect("it has a member");
    assert_eq!((group.members.len(), group.parked, group.generation), (1, 1, 0));
    assert_eq!(still.broker.inspect(&"h".into()), None);
}

#[test]
fn who_hangs_up_takes_nobody_along() {
    for is_loaded in [false, true] {
        let mut still = Still::start(Config::default());
        if is_loaded {
            assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
        }
        stick(&still, true);
        let requests = [commit("g"), commit("g"), fetch("g"), fetch("g")];
        let mut calls: Vec<_> = requests.into_iter().map(|it| Call::send(&still, it)).collect();
        drop(calls.remove(2));
        drop(calls.remove(0));
        stick(&still, false);
        still.work();
        for call in calls {
            assert_eq!(error(&call.answer()), ErrorCode::None);
        }
    }
}

#[test]
fn a_commit_that_waited_is_refused_if_its_member_has_left_meanwhile() {
    let mut still = Still::start(Config::default());
    let joining = Call::send(&still, join("g"));
    still.advance(10 * SECOND);
    let member = joined(joining.answer()).member_id;
    still.call(sync("g", &member));
    stick(&still, true);
    let send = |still: &Still| Call::send(still, commit_as("g", &member));
    let (begun, waits) = (send(&still), send(&still));
    still.call(leave("g", &member));
    stick(&still, false);
    still.work();
    assert_eq!(error(&begun.answer()), ErrorCode::None);
    assert_eq!(error(&waits.answer()), ErrorCode::UnknownMemberId);
}

#[test]
fn a_change_goes_on_without_the_client_that_hung_up() {
    let mut still = Still::start(Config::default());
    assert_eq!(error(&still.call(fetch("g"))), ErrorCode::None);
    stick(&still, true);
    let (under_way, waits) = (Call::send(&still, commit("g")), Call::send(&still, commit("g")));
    still.work();
    drop(under_way);
    stick(&still, false);
    still.work();
    assert_eq!(error(&waits.answer()), ErrorCode::None);
}
