//! The end of ownership and of the group.

use kaas_coordinator::{api::ErrorCode, group::State};

use crate::rig::{Rig, first_join, rejoin};

#[test]
fn parked_joins_hear_that_the_coordinator_moved() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a", "b"]);
    let parked = rig.join(&rejoin(&members[0]));
    rig.with(|group, cx| group.dissolve(cx));
    assert_eq!(rig.joined(parked).error, ErrorCode::NotCoordinator);
    assert_eq!(rig.joined(parked).member_id, members[0]);
    assert_eq!(rig.group.state(), State::Dead);
    assert!(rig.group.is_idle());
    assert_eq!(rig.group.deadline(), None);
}

#[test]
fn parked_syncs_hear_that_the_coordinator_moved() {
    let mut rig = Rig::new();
    let members = rig.generation_of(&["a", "b"]);
    let parked = rig.sync(&rig.sync_of(&members[1]));
    rig.with(|group, cx| group.dissolve(cx));
    assert_eq!(rig.synced(parked).error, ErrorCode::NotCoordinator);
}

#[test]
fn a_dead_group_serves_nobody() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a"]);
    rig.with(|group, cx| group.dissolve(cx));
    let notes = rig.notes.len();
    rig.with(|group, cx| group.dissolve(cx));
    assert_eq!(rig.notes.len(), notes, "it dies once");

    let unavailable = ErrorCode::CoordinatorNotAvailable;
    let join = rig.join(&first_join("a"));
    assert_eq!(rig.joined(join).error, unavailable);
    let sync = rig.sync(&rig.sync_of(&members[0]));
    assert_eq!(rig.synced(sync).error, unavailable);
    assert_eq!(rig.heartbeat(&members[0]), unavailable);
    assert_eq!(rig.with(|group, cx| group.delete(cx)), Err(ErrorCode::GroupIdNotFound));
}

#[test]
fn only_an_empty_group_can_be_deleted() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a"]);
    assert_eq!(rig.with(|group, cx| group.delete(cx)), Err(ErrorCode::NonEmptyGroup));
    rig.leave(&members[0]);
    assert_eq!(rig.with(|group, cx| group.delete(cx)), Ok(()));
    assert_eq!(rig.group.state(), State::Dead);
}

#[test]
fn who_keeps_a_group_from_being_idle() {
    let mut rig = Rig::new();
    assert!(rig.group.is_idle());
    let pending = rig.join(&kaas_coordinator::api::JoinRequest { version: 4, ..first_join("a") });
    assert!(!rig.group.is_idle(), "a pending id");
    let id = rig.joined(pending).member_id.clone();
    rig.leave(&id);
    assert!(rig.group.is_idle());
    let members = rig.stable_group_of(&["a"]);
    assert!(!rig.group.is_idle(), "a member");
    rig.leave(&members[0]);
    assert!(rig.group.is_idle());
}
