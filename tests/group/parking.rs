//! Every request is answered once: those that Kafka forgets, and those whose client is gone.

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest},
    group::Ticket,
};

use crate::rig::{Rig, first_join, protocols, rejoin, static_join};

#[test]
fn a_newer_join_of_a_member_answers_the_older() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a", "b"]);
    let older = rig.join(&rejoin(&members[0]));
    let newer = rig.join(&rejoin(&members[0]));
    assert_eq!(rig.joined(older).error, ErrorCode::RebalanceInProgress);
    assert_eq!(rig.joined(older).member_id, members[0]);
    assert!(rig.is_parked(newer));
    assert_eq!(rig.group.parked(), 1);
}

#[test]
fn a_newer_sync_of_a_member_answers_the_older() {
    let mut rig = Rig::new();
    let members = rig.generation_of(&["a", "b"]);
    let older = rig.sync(&rig.sync_of(&members[1]));
    let newer = rig.sync(&rig.sync_of(&members[1]));
    assert_eq!(rig.synced(older).error, ErrorCode::RebalanceInProgress);
    assert!(rig.is_parked(newer));
    rig.sync(&rig.sync_of(&members[0]));
    assert_eq!(&*rig.synced(newer).assignment, members[1].as_str().as_bytes());
}

#[test]
fn a_leaver_and_the_others_hear_different_reasons() {
    let mut rig = Rig::new();
    let members = rig.generation_of(&["a", "b", "c"]);
    let leaver = rig.sync(&rig.sync_of(&members[1]));
    let other = rig.sync(&rig.sync_of(&members[2]));
    assert_eq!(rig.leave(&members[1]), ErrorCode::None);
    assert_eq!(rig.synced(leaver).error, ErrorCode::UnknownMemberId);
    assert_eq!(rig.synced(other).error, ErrorCode::RebalanceInProgress);
    assert_eq!(rig.group.parked(), 0);
}

#[test]
fn a_changed_rejoin_while_a_sync_is_parked_answers_the_sync() {
    let mut rig = Rig::new();
    let members = rig.generation_of(&["a", "b"]);
    let sync = rig.sync(&rig.sync_of(&members[1]));
    let changed = JoinRequest { protocols: protocols(&["range", "other"]), ..rejoin(&members[1]) };
    let join = rig.join(&changed);
    assert_eq!(rig.synced(sync).error, ErrorCode::RebalanceInProgress);
    assert!(rig.is_parked(join));
    assert_eq!(rig.state(), "PreparingRebalance");
}

#[test]
fn a_join_whose_client_is_gone_does_not_count() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a", "b"]);
    let gone = rig.join(&rejoin(&members[0]));
    rig.advance(9_000);
    rig.heartbeat(&members[1]);
    rig.advance(6_000);
    rig.with(|group, cx| group.abandon(cx, gone));
    let other = rig.join(&rejoin(&members[1]));
    assert!(rig.is_parked(other), "the phase waits for the first member");

    rig.advance(9_999);
    assert!(rig.is_parked(other), "whose session runs from when its client went");
    rig.advance(1);
    assert_eq!(rig.joined(other).generation, 2);
    assert_eq!(rig.joined(other).leader, members[1], "the leader's session ended");
    assert!(rig.is_parked(gone), "nobody is there to hear it");
}

#[test]
fn a_client_that_reconnects_in_time_stays() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a", "b"]);
    let gone = rig.join(&rejoin(&members[0]));
    rig.with(|group, cx| group.abandon(cx, gone));
    rig.join(&rejoin(&members[1]));
    rig.advance(5_000);
    let again = rig.join(&rejoin(&members[0]));
    assert_eq!(rig.joined(again).generation, 2);
    assert_eq!(rig.joined(again).members.len(), 2);
}

#[test]
fn a_first_join_whose_client_is_gone_leaves_no_ghost() {
    let mut rig = Rig::new();
    let gone = rig.join(&first_join("a"));
    let here = rig.join(&first_join("b"));
    rig.with(|group, cx| group.abandon(cx, gone));
    rig.advance(6_000);
    assert_eq!(rig.joined(here).members.len(), 1);
    assert_eq!(rig.joined(here).leader, rig.joined(here).member_id);
}

#[test]
fn a_ticket_that_is_not_parked_can_be_abandoned() {
    let mut rig = Rig::new();
    rig.stable_group_of(&["a"]);
    let deadline = rig.group.deadline();
    rig.with(|group, cx| group.abandon(cx, Ticket(999)));
    assert_eq!(rig.group.deadline(), deadline);
}

#[test]
fn a_replaced_static_member_is_fenced_whatever_it_waits_for() {
    let mut rig = Rig::new();
    let older = rig.join(&static_join("i"));
    let newer = rig.join(&static_join("i"));
    assert_eq!(rig.joined(older).error, ErrorCode::FencedInstanceId);
    assert!(rig.is_parked(newer));
    assert_eq!((rig.group.members(), rig.group.parked()), (1, 1));
}
