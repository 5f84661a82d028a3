//! Where Kafka picks any, the order of joining decides.

use kaas_coordinator::{api::JoinRequest, ids::MemberId};

use crate::rig::{Rig, first_join, protocols, rejoin};

#[test]
fn votes() {
    let table: [(&str, &[&[&str]], &str); 6] = [
        ("alone", &[&["range", "rr"]], "range"),
        ("most votes", &[&["rr", "range"], &["range", "rr"], &["range", "rr"]], "range"),
        ("a tie goes to the first voter", &[&["rr", "range"], &["range", "rr"]], "rr"),
        ("and not to the alphabet", &[&["range", "rr"], &["rr", "range"]], "range"),
        ("only what all support", &[&["new", "range"], &["range"]], "range"),
        ("second best for all", &[&["a", "x", "z"], &["b", "x", "z"], &["z", "x"]], "x"),
    ];
    for (case, members, chosen) in table {
        let mut rig = Rig::new();
        let join = |list: &&[&str]| JoinRequest { protocols: protocols(list), ..first_join("m") };
        members.iter().for_each(|list| {
            rig.join(&join(list));
        });
        rig.advance(6_000);
        assert_eq!(rig.group.protocol().map(|name| &**name), Some(chosen), "{case}");
    }
}

#[test]
fn the_first_of_the_remaining_succeeds_a_leader() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["z", "y", "x"]);
    rig.leave(&members[0]);
    assert_eq!(rig.group.leader(), Some(&members[1]));
}

#[test]
fn of_those_who_are_there_the_first_leads() {
    let mut rig = Rig::new();
    let members = rig.stable_group_of(&["z", "y", "x"]);
    rig.join(&JoinRequest { protocols: protocols(&["range", "n"]), ..rejoin(&members[2]) });
    rig.join(&rejoin(&members[1]));
    rig.advance(10_000);
    assert_eq!(rig.group.members(), 2);
    assert_eq!(rig.group.leader(), Some(&members[1]));
}

#[test]
fn the_leader_gets_the_members_in_the_order_of_joining() {
    let mut rig = Rig::new();
    let first = rig.join(&first_join("z"));
    rig.join(&first_join("m"));
    rig.join(&first_join("a"));
    rig.advance(6_000);
    let members = rig.joined(first).members.iter();
    let names = members.map(|member| &member.member_id.as_str()[..1]).collect::<String>();
    assert_eq!(names, "zma");
}

#[test]
fn descriptions_are_sorted_by_id() {
    let mut rig = Rig::new();
    rig.stable_group_of(&["z", "m", "a"]);
    let described = rig.group.describe().members;
    let ids: Vec<&MemberId> = described.iter().map(|member| &member.member_id).collect();
    assert!(ids.is_sorted(), "{ids:?}");
}

#[test]
fn member_ids_are_a_name_and_a_uuid() {
    let mut rig = Rig::new();
    let mut previous = MemberId::from("");
    for _ in 0..100 {
        let request = JoinRequest { version: 4, ..first_join("my client") };
        let ticket = rig.join(&request);
        let id = rig.joined(ticket).member_id.clone();
        let uuid = id.as_str().strip_prefix("my client-").expect("the client's name");
        let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
        assert_eq!(&uuid[14..15], "4", "version 4: {uuid}");
        assert!("89ab".contains(&uuid[19..20]), "variant 1: {uuid}");
        assert_ne!(id, previous);
        previous = id;
    }
}
