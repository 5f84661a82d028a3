//! What a group refuses.

use std::time::Duration;

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest, Protocol, SyncRequest},
    group::refusal_if_absent,
};

use crate::rig::{Rig, first_join, protocols, rejoin, static_join};

#[test]
fn protocol_lists_of_a_first_member() {
    let table: [(&[&str], ErrorCode); 4] = [
        (&["range"], ErrorCode::None),
        (&[], ErrorCode::InconsistentGroupProtocol),
        (&["range", "range"], ErrorCode::InconsistentGroupProtocol),
        (&["range", "rr", "range"], ErrorCode::InconsistentGroupProtocol),
    ];
    for (names, expected) in table {
        let mut rig = Rig::new();
        let ticket = rig.join(&JoinRequest { protocols: protocols(names), ..first_join("a") });
        rig.advance(3_000);
        assert_eq!(rig.joined(ticket).error, expected, "{names:?}");
    }
}

#[test]
fn a_member_that_repeats_a_protocol_is_refused_and_stays() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a"]);
    let twice = JoinRequest { protocols: protocols(&["range", "range"]), ..rejoin(&members[0]) };
    let ticket = rig.join(&twice);
    assert_eq!(rig.joined(ticket).error, ErrorCode::InconsistentGroupProtocol);
    assert_eq!(rig.state(), "Stable");
}

#[test]
fn who_may_create_a_group() {
    let rig = Rig::new();
    let millis = Duration::from_millis;
    let table = [
        ("a new client", first_join("a"), None),
        ("one with an id", rejoin(&"ghost".into()), Some(ErrorCode::UnknownMemberId)),
        (
            "too short a session, which is looked at first",
            JoinRequest { session_timeout: millis(5_999), ..rejoin(&"ghost".into()) },
            Some(ErrorCode::InvalidSessionTimeout),
        ),
        (
            "too long a session",
            JoinRequest { session_timeout: millis(1_800_001), ..first_join("a") },
            Some(ErrorCode::InvalidSessionTimeout),
        ),
        (
            "the longest session",
            JoinRequest { session_timeout: millis(1_800_000), ..first_join("a") },
            None,
        ),
    ];
    for (case, request, expected) in table {
        assert_eq!(refusal_if_absent(&request, &rig.config), expected, "{case}");
    }
}

#[test]
fn pending_ids_and_new_members_are_bounded_together() {
    let mut rig = Rig::new();
    rig.config.newcomers_max = 3;
    let with_id = JoinRequest { version: 4, ..first_join("a") };
    let first = rig.join(&with_id);
    let parked = rig.join(&first_join("b"));
    let last = rig.join(&static_join("i"));
    for request in [&with_id, &first_join("c"), &static_join("j")] {
        let refused = rig.join(request);
        assert_eq!(rig.joined(refused).error, ErrorCode::GroupMaxSizeReached);
    }
    // Who has an id already is one of the three.
    let id = rig.joined(first).member_id.clone();
    let known = rig.join(&rejoin(&id));
    assert!(rig.is_parked(known) && rig.is_parked(parked) && rig.is_parked(last));

    // In a generation they are no longer newcomers.
    rig.advance(9_000);
    assert_eq!(rig.state(), "CompletingRebalance");
    let next = rig.join(&first_join("c"));
    assert!(rig.is_parked(next));
}

#[test]
fn a_static_replacement_is_not_a_newcomer() {
    let mut rig = Rig::new();
    rig.config.newcomers_max = 1;
    rig.join(&static_join("i"));
    let replacement = rig.join(&static_join("i"));
    assert!(rig.is_parked(replacement));
}

#[test]
fn who_leaves_before_its_first_generation_makes_room_for_another() {
    let mut rig = Rig::new();
    rig.config.newcomers_max = 2;
    let _parked = rig.join(&first_join("a"));
    for _ in 0..3 {
        let newcomer = rig.join(&JoinRequest { version: 4, ..first_join("b") });
        let id = rig.joined(newcomer).member_id.clone();
        let parked = rig.join(&rejoin(&id));
        assert!(rig.is_parked(parked));
        assert_eq!(rig.leave(&id), ErrorCode::None);
    }
}

#[test]
fn a_group_of_the_largest_size_takes_nobody_in() {
    let mut rig = Rig::new();
    rig.config.size_max = 2;
    let members = rig.generation_of(&["a", "b"]);
    let refuse = |rig: &mut Rig, state| {
        for request in [first_join("c"), static_join("i"), rejoin(&"ghost".into())] {
            let refused = rig.join(&request);
            assert_eq!(rig.joined(refused).error, ErrorCode::GroupMaxSizeReached);
            assert_eq!(rig.state(), state);
        }
    };
    refuse(&mut rig, "CompletingRebalance");
    for member in members.iter().rev() {
        rig.sync(&rig.sync_of(member));
    }
    refuse(&mut rig, "Stable");
    let member = rig.join(&rejoin(&members[1]));
    assert_eq!(rig.joined(member).error, ErrorCode::None, "its members come and go");
}

#[test]
fn the_type_is_that_of_the_members() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["a"]);
    let other = JoinRequest { protocol_type: "connect".into(), ..first_join("b") };
    let refused = rig.join(&other);
    assert_eq!(rig.joined(refused).error, ErrorCode::InconsistentGroupProtocol);
    assert_eq!(rig.state(), "Stable");
    rig.leave(&members[0]);
    let first = rig.join(&other);
    assert!(rig.is_parked(first), "the type of those who are gone binds nobody");
}

#[test]
fn a_pending_id_that_finds_the_group_full_is_forgotten() {
    let mut rig = Rig::new();
    rig.config.size_max = 1;
    let pending = rig.join(&JoinRequest { version: 4, ..first_join("late") });
    let id = rig.joined(pending).member_id.clone();
    let members = rig.stable_group_of(&["a"]);
    let parked = rig.join(&rejoin(&members[0]));
    assert!(rig.is_parked(parked), "the phase waits for the pending id");
    let refused = rig.join(&rejoin(&id));
    assert_eq!(rig.joined(refused).error, ErrorCode::GroupMaxSizeReached);
    assert_eq!(rig.group.pending_members(), 0);
    assert_eq!(rig.joined(parked).generation, 2, "and does so no longer");
}

#[test]
fn a_member_says_so_much_about_itself() {
    let mut rig = Rig::new();
    rig.config.member_bytes_max = 100;
    let with = |bytes: usize| JoinRequest {
        protocols: vec![Protocol { name: "range".into(), metadata: vec![0; bytes].into() }],
        ..first_join("a")
    };
    let names = "range".len() + "consumer".len() + first_join("a").client_id.len();
    assert_eq!(refusal_if_absent(&with(100 - names), &rig.config), None);
    let refused = Some(ErrorCode::InvalidRequest);
    assert_eq!(refusal_if_absent(&with(101 - names), &rig.config), refused);

    let members = rig.stable_group_of(&["a"]);
    let more = JoinRequest { protocols: with(100).protocols, ..rejoin(&members[0]) };
    let ticket = rig.join(&more);
    assert_eq!(rig.joined(ticket).error, ErrorCode::InvalidRequest);
    assert_eq!(rig.state(), "Stable");
}

#[test]
fn a_leader_assigns_so_much() {
    let mut rig = Rig::new();
    rig.config.assignment_bytes_max = 100;
    let leader = rig.generation_of(&["a"]).remove(0);
    let assign = |bytes: usize| {
        let assignment: std::sync::Arc<[u8]> = vec![0; bytes].into();
        vec![(leader.clone(), assignment)]
    };
    let request = SyncRequest { assignments: assign(100), ..rig.sync_of(&leader) };
    let too_much = rig.sync(&request);
    assert_eq!(rig.synced(too_much).error, ErrorCode::InvalidRequest);
    assert_eq!(rig.state(), "CompletingRebalance", "it may try again");
    let fits = 100 - leader.as_str().len();
    let request = SyncRequest { assignments: assign(fits), ..rig.sync_of(&leader) };
    let ticket = rig.sync(&request);
    assert_eq!(rig.synced(ticket).error, ErrorCode::None);
}
