//! Signs of life, the deadline that the caller sees, and phases that must not spin.

use std::time::Duration;

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest},
    note::Note,
    ports::Instant,
};

use crate::rig::{Rig, first_join, rejoin, static_join};

fn timers(rig: &Rig) -> Vec<&'static str> {
    let timer = |note: &Note| {
        if let Note::MemberExpired { timer, .. } = note { Some(*timer) } else { None }
    };
    rig.notes.iter().filter_map(timer).collect()
}

#[test]
fn a_heartbeat_leaves_the_alarm_and_moves_the_deadline() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a"]);
    let alarm = rig.group.deadline().expect("a session");
    rig.advance(5_000);
    assert_eq!(rig.heartbeat(&members[0]), ErrorCode::None);
    assert_eq!(rig.group.deadline(), Some(alarm), "early, never late");

    let session_end = rig.now + Duration::from_secs(10);
    rig.advance(9_999);
    assert_eq!(rig.group.members(), 1, "the alarm was early");
    assert_eq!(rig.group.deadline(), Some(session_end));
    rig.advance(1);
    assert_eq!(rig.group.members(), 0);
    assert_eq!(timers(&rig), ["session"]);
}

#[test]
fn a_heartbeat_shortens_the_wait_of_a_new_member() {
    let mut rig = Rig::new();
    rig.config.initial_rebalance_delay = Duration::from_secs(200);
    let ticket = rig.join(&JoinRequest { version: 4, ..first_join("a") });
    let id = rig.joined(ticket).member_id.clone();
    let parked = rig.join(&rejoin(&id));
    rig.heartbeat(&id);
    rig.advance(9_999);
    assert!(rig.is_parked(parked));
    rig.advance(1);
    assert_eq!(rig.joined(parked).error, ErrorCode::UnknownMemberId);
    assert_eq!(timers(&rig), ["join"]);
}

#[test]
fn nobody_who_is_parked_expires() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a", "b"]);
    let parked = rig.join(&rejoin(&members[0]));
    for _ in 0..7 {
        rig.advance(8_000);
        rig.heartbeat(&members[1]);
    }
    assert!(rig.is_parked(parked));
    rig.advance(4_000);
    assert_eq!(rig.joined(parked).members.len(), 1);
    assert_eq!(timers(&rig), ["rebalance"]);
}

#[test]
fn who_never_syncs_is_removed() {
    let mut rig = Rig::new();
    let members = rig.generation_of(&["a", "b"]);
    rig.sync(&rig.sync_of(&members[0]));
    for _ in 0..10 {
        rig.advance(6_000);
        rig.heartbeat(&members[0]);
        rig.heartbeat(&members[1]);
    }
    assert_eq!(timers(&rig), ["sync"]);
    assert_eq!(rig.group.member_ids().collect::<Vec<_>>(), [&members[0]]);
    assert_eq!(rig.state(), "PreparingRebalance");
}

#[test]
fn a_phase_that_nobody_joins_does_not_spin() {
    let mut rig = Rig::new();
    // Two static members come back with a rebalance timeout of zero, and vanish.
    let join = |instance, seconds| JoinRequest {
        rebalance_timeout: Duration::from_secs(seconds),
        session_timeout: Duration::from_secs(100),
        ..static_join(instance)
    };
    rig.join(&join("i", 60));
    rig.join(&join("j", 60));
    rig.advance(6_000);
    for instance in ["i", "j"] {
        let parked = rig.join(&join(instance, 0));
        rig.with(|group, cx| group.abandon(cx, parked));
    }
    assert_eq!(rig.state(), "PreparingRebalance");
    let mut ticks = 0;
    while let Some(deadline) = rig.group.deadline() {
        rig.now = deadline;
        rig.with(|group, cx| group.tick(cx));
        ticks += 1;
    }
    assert_eq!(rig.state(), "Empty");
    assert!((10..500).contains(&ticks), "{ticks} ticks in 40 s");
}

#[test]
fn an_initial_window_of_nothing_is_over_at_once() {
    let mut rig = Rig::new();
    rig.config.initial_rebalance_delay = Duration::ZERO;
    let ticket = rig.join(&first_join("a"));
    assert_eq!(rig.joined(ticket).generation, 1);
}

#[test]
fn a_late_tick_fires_everything_that_is_due() {
    let mut rig = Rig::new();
    rig.stable_group_of(&["a", "b"]);
    rig.now = rig.now + Duration::from_hours(1);
    rig.with(|group, cx| group.tick(cx));
    assert_eq!(rig.state(), "Empty");
    assert_eq!(rig.group.deadline(), None);
}

#[test]
fn an_empty_group_knows_since_when() {
    let mut rig = Rig::new();
    assert_eq!(rig.group.empty_since(), None);
    let members = rig.stable_group_of(&["a"]);
    assert_eq!(rig.group.empty_since(), None);
    rig.leave(&members[0]);
    assert_eq!(rig.group.empty_since(), Some(Instant::from_millis(6_000)));
}
