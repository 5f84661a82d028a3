//! Who may commit, by state of the group and kind of sender.

use kaas_coordinator::{
    api::ErrorCode,
    ids::{InstanceId, MemberId},
};

use crate::rig::{Rig, rejoin};

const OK: Result<(), ErrorCode> = Ok(());
const STRANGER: Result<(), ErrorCode> = Err(ErrorCode::UnknownMemberId);
const OLD: Result<(), ErrorCode> = Err(ErrorCode::IllegalGeneration);
const BUSY: Result<(), ErrorCode> = Err(ErrorCode::RebalanceInProgress);
const DEAD: Result<(), ErrorCode> = Err(ErrorCode::CoordinatorNotAvailable);

/// A group that is in this state, and its member.
fn group_in(state: &str) -> (Rig, MemberId) {
    let mut rig = Rig::new();
    let member = match state {
        "CompletingRebalance" => rig.generation_of(&["a"]).remove(0),
        "Stable" | "Empty" | "Dead" => rig.stable_group_of(&["a"]).remove(0),
        _ => {
            let mut members = rig.stable_group_of(&["a", "b"]);
            rig.join(&rejoin(&members[0]));
            members.remove(0)
        }
    };
    if state == "Empty" || state == "Dead" {
        rig.leave(&member);
    }
    if state == "Dead" {
        rig.with(|group, cx| group.delete(cx)).expect("an empty group");
    }
    assert_eq!(rig.state(), state);
    (rig, member)
}

#[test]
fn commits() {
    // The verdicts: on an OffsetCommit, on a TxnOffsetCommit, on a commit that had to wait.
    let table = [
        ("Empty", "nobody", [OK, OK, OK]),
        ("Empty", "member", [STRANGER, STRANGER, STRANGER]),
        ("Empty", "member without generation", [OK, OK, OK]),
        ("Empty", "stranger of generation 0", [STRANGER, STRANGER, STRANGER]),
        ("PreparingRebalance", "nobody", [STRANGER, OK, STRANGER]),
        ("PreparingRebalance", "member", [OK, OK, OK]),
        ("PreparingRebalance", "stranger", [STRANGER, STRANGER, STRANGER]),
        ("CompletingRebalance", "nobody", [STRANGER, OK, STRANGER]),
        ("CompletingRebalance", "member", [BUSY, OK, OK]),
        ("CompletingRebalance", "old member", [OLD, OLD, OLD]),
        ("Stable", "nobody", [STRANGER, OK, STRANGER]),
        ("Stable", "member", [OK, OK, OK]),
        ("Stable", "old member", [OLD, OLD, OLD]),
        ("Stable", "member without generation", [OLD, OLD, OLD]),
        ("Stable", "stranger", [STRANGER, STRANGER, STRANGER]),
        ("Stable", "unknown instance", [STRANGER, STRANGER, STRANGER]),
        ("Dead", "nobody", [DEAD, DEAD, DEAD]),
        ("Dead", "member", [DEAD, DEAD, DEAD]),
    ];
    for (state, sender, expected) in table {
        let (mut rig, member) = group_in(state);
        let now = rig.group.generation();
        let instance = InstanceId::from("i");
        let (generation, id, instance) = match sender {
            "nobody" => (-1, "".into(), None),
            "member" => (now, member, None),
            "member without generation" => (-1, member, None),
            "old member" => (now - 1, member, None),
            "stranger" => (now, "ghost".into(), None),
            "stranger of generation 0" => (0, "ghost".into(), None),
            _ => (now, member, Some(&instance)),
        };
        let actual = [
            rig.with(|group, cx| group.check_commit(cx, generation, &id, instance)),
            rig.group.check_txn_commit(generation, &id, instance),
            rig.group.recheck_commit(generation, &id, instance),
        ];
        assert_eq!(actual, expected, "{state}, {sender}");
    }
}

#[test]
fn only_a_plain_commit_is_a_sign_of_life() {
    for (plain, alive) in [(true, true), (false, false)] {
        let (mut rig, member) = group_in("Stable");
        rig.advance(9_000);
        let generation = rig.group.generation();
        if plain {
            rig.with(|group, cx| group.check_commit(cx, generation, &member, None)).expect("ok");
        } else {
            rig.group.check_txn_commit(generation, &member, None).expect("ok");
        }
        rig.advance(2_000);
        assert_eq!(rig.group.members() == 1, alive);
    }
}

#[test]
fn a_waiting_commit_does_not_survive_its_generation() {
    let (mut rig, member) = group_in("Stable");
    let generation = rig.group.generation();
    rig.with(|group, cx| group.check_commit(cx, generation, &member, None)).expect("ok");
    rig.join(&rejoin(&member));
    assert_eq!(rig.group.generation(), generation + 1);
    assert_eq!(rig.group.recheck_commit(generation, &member, None), OLD);
}
