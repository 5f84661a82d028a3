//! Stories of generations: what their members are told, and what each of them gets.

use crate::story::{Story, name, names};
use model::{
    Micros, Name,
    Promise::{ExclusiveAssignment, GenerationAgreement},
    What,
};

/// A member as it joins: `c1:m1` is member `m1` of client `c1`, `c1:m1:i1` also a static one of
/// instance `i1`.
pub(crate) fn joins(
    story: &mut Story,
    generation: (u64, i32),
    who: &str,
    leader: &str,
    members: &str,
) {
    for member in names(members) {
        story.see(What::JoinSent { group: name("g"), member });
    }
    is_told(story, generation, who, leader, members);
}

/// The same, where not everybody in the leader's list need have asked for it.
pub(crate) fn is_told(
    story: &mut Story,
    (reign, generation): (u64, i32),
    who: &str,
    leader: &str,
    members: &str,
) {
    let mut who = who.split(':').map(name);
    story.see(What::JoinAnswered {
        broker: name("a"),
        group: name("g"),
        reign,
        generation,
        client: who.next().expect("a member is written client:id"),
        member: who.next().expect("a member is written client:id"),
        instance: who.next(),
        session: Micros::from_secs(10),
        leader: name(leader),
        protocol: name("range"),
        said: Some(Vec::new()),
        members: listed(members),
    });
}

/// `m1 m2=x`: `m1`, which said nothing of itself, and `m2`, which said `x`.
pub(crate) fn listed(members: &str) -> Vec<(Name, Vec<u8>)> {
    let entry = |entry: &str| {
        let (member, said) = entry.split_once('=').unwrap_or((entry, ""));
        (name(member), said.as_bytes().to_vec())
    };
    members.split_whitespace().map(entry).collect()
}

/// The leader assigns: `m1=p0 m2=p1`. The bytes of an assignment are the partition's name.
fn assigns(story: &mut Story, generation: i32, leader: &str, assignments: &str) {
    let entry = |entry: &str| {
        let (member, partition) =
            entry.split_once('=').expect("an entry is written member=partition");
        (name(member), partition.as_bytes().to_vec())
    };
    let assignments = assignments.split_whitespace().map(entry).collect();
    let (broker, group, reign, member) = (name("a"), name("g"), 1, name(leader));
    story.see(What::SyncSent { broker, group, reign, generation, member, assignments });
}

fn gets(story: &mut Story, generation: i32, member: &str, partition: &str) {
    story.see(What::SyncAnswered {
        broker: name("a"),
        group: name("g"),
        reign: 1,
        generation,
        member: name(member),
        assignment: partition.as_bytes().to_vec(),
        partitions: names(partition),
    });
}

/// Generation 1 of `m1` (who leads) and `m2`, both joined.
fn joined() -> Story {
    let mut story = Story::new();
    story.at(1000);
    joins(&mut story, (1, 1), "c2:m2", "m1", "");
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1 m2");
    story
}

#[test]
fn a_round_as_it_should_be() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    gets(&mut story, 1, "m1", "p0");
    gets(&mut story, 1, "m2", "p1");
    joins(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    joins(&mut story, (1, 2), "c2:m2", "m1", "");
    assigns(&mut story, 2, "m1", "m2=p1");
    gets(&mut story, 2, "m1", "");
    story.keeps(GenerationAgreement);
    story.keeps(ExclusiveAssignment);
}

#[test]
fn two_leaders() {
    let mut story = joined();
    joins(&mut story, (1, 1), "c2:m2", "m2", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert_eq!(
        story.evidence(),
        "a told c2, member m2 of g, generation 1, leader m2\n\
         m2 had been told at 1000ms that the leader is m1\n"
    );
}

#[test]
fn two_protocols() {
    let mut story = joined();
    story.see(What::JoinAnswered {
        broker: name("a"),
        group: name("g"),
        reign: 1,
        generation: 1,
        client: name("c2"),
        member: name("m2"),
        instance: None,
        session: Micros::from_secs(10),
        leader: name("m1"),
        protocol: name("sticky"),
        said: Some(Vec::new()),
        members: Vec::new(),
    });
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn the_leader_does_not_know_a_member() {
    let mut story = joined();
    joins(&mut story, (1, 1), "c3:m3", "m1", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("the leader's list m1, m2 leaves out m3"));

    let mut story = Story::new();
    joins(&mut story, (1, 1), "c3:m3", "m1", "");
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1 m2");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("the leader's list m1, m2 leaves out m3"));
}

#[test]
fn a_generation_goes_back() {
    let mut story = joined();
    joins(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    joins(&mut story, (2, 1), "c1:m9", "m9", "m9");
    story.keeps(GenerationAgreement);
    joins(&mut story, (1, 1), "c2:m2", "m1", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_member_gets_something_else() {
    let mut story = joined();
    assigns(&mut story, 1, "m2", "m2=p0");
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    gets(&mut story, 1, "m1", "p0");
    story.keeps(GenerationAgreement);
    gets(&mut story, 1, "m2", "p2");
    assert_eq!(story.breaks(), [GenerationAgreement]);
    assert!(story.evidence().contains("the leader assigned it something else"));
}

#[test]
fn a_member_that_was_left_out_gets_nothing() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0");
    gets(&mut story, 1, "m2", "");
    story.keeps(GenerationAgreement);
    gets(&mut story, 1, "m1", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_member_that_was_left_out_gets_something() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0");
    gets(&mut story, 1, "m2", "p1");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_follower_does_not_assign() {
    let mut story = joined();
    assigns(&mut story, 1, "m2", "m2=p1");
    gets(&mut story, 1, "m2", "p1");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn an_assignment_that_came_after_the_first_answer_does_not_bind() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    gets(&mut story, 1, "m1", "p0");
    assigns(&mut story, 1, "m1", "m1=p0 m2=p2");
    gets(&mut story, 1, "m2", "p2");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn an_answer_comes_before_the_leader_has_spoken() {
    let mut story = joined();
    gets(&mut story, 1, "m2", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn of_two_assignments_one_binds() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    assigns(&mut story, 1, "m1", "m1=p1 m2=p0");
    gets(&mut story, 1, "m2", "p0");
    assigns(&mut story, 1, "m1", "m1=p9 m2=p9");
    gets(&mut story, 1, "m1", "p1");
    story.keeps(GenerationAgreement);
    gets(&mut story, 1, "m1", "p0");
    assert_eq!(story.breaks(), [GenerationAgreement, ExclusiveAssignment]);
}

#[test]
fn a_member_id_is_told_to_two_clients() {
    let mut story = Story::new();
    let issue = |client: &str| {
        let (group, client, member) = (name("g"), name(client), name("m1"));
        What::MemberIdIssued { group, client, member }
    };
    story.see(issue("c1")).see(issue("c1"));
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1");
    story.keeps(GenerationAgreement);
    story.see(issue("c2"));
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_restarted_static_member_takes_its_own_place() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c1:m1:i1", "m1", "m1 m2");
    joins(&mut story, (1, 1), "c2:m2:i2", "m1", "");
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    gets(&mut story, 1, "m2", "p1");
    gets(&mut story, 1, "m1", "p0");
    joins(&mut story, (1, 1), "c2-again:m3:i2", "m1", "");
    gets(&mut story, 1, "m3", "p1");
    joins(&mut story, (1, 1), "c1-again:m4:i1", "m4", "m3 m4");
    gets(&mut story, 1, "m4", "p0");
    story.keeps(GenerationAgreement);
    story.keeps(ExclusiveAssignment);
    joins(&mut story, (1, 1), "c5:m5:i5", "m4", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_static_leader_is_replaced_before_anybody_saw_its_answer() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c2:m2", "m1", "");
    joins(&mut story, (1, 1), "c1-again:m4:i1", "m4", "m2 m4");
    story.keeps(GenerationAgreement);
}

#[test]
fn a_static_follower_is_replaced_before_anybody_saw_its_answer() {
    let mut story = Story::new();
    joins(&mut story, (1, 1), "c1:m1:i1", "m1", "m1 m2");
    joins(&mut story, (1, 1), "c2-again:m3:i2", "m1", "");
    joins(&mut story, (1, 1), "c1-again:m4:i1", "m4", "m3 m4");
    story.keeps(GenerationAgreement);
    joins(&mut story, (1, 1), "c5:m5:i5", "m4", "");
    assert_eq!(story.breaks(), [GenerationAgreement]);
}

#[test]
fn a_partition_has_two_members() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0 m2=p0");
    gets(&mut story, 1, "m1", "p0");
    gets(&mut story, 1, "m1", "p0");
    story.keeps(ExclusiveAssignment);
    gets(&mut story, 1, "m2", "p0");
    assert_eq!(story.breaks(), [ExclusiveAssignment]);
    assert_eq!(
        story.evidence(),
        "a gave p0 of g to m2 at 1000ms\nm1 has it too, in the same generation 1\n"
    );
}

#[test]
fn a_partition_moves_with_the_generation() {
    let mut story = joined();
    assigns(&mut story, 1, "m1", "m1=p0");
    gets(&mut story, 1, "m1", "p0");
    joins(&mut story, (1, 2), "c1:m1", "m1", "m1 m2");
    joins(&mut story, (1, 2), "c2:m2", "m1", "");
    assigns(&mut story, 2, "m1", "m2=p0");
    gets(&mut story, 2, "m2", "p0");
    story.keeps(ExclusiveAssignment);
}

/// Generation 1 of `m1` (who leads) and a static member whose process died before it was told its
/// id `m2`; another process of it has joined as `m3`. `instance` is what the leader's list says of `m2`.
fn replaced_unseen(instance: &str) -> Story {
    let mut story = Story::new();
    story.at(1000);
    let (member, instance) = (name("m2"), name(instance));
    story.see(What::InstanceListed { group: name("g"), reign: 1, member, instance });
    joins(&mut story, (1, 1), "c1:m1", "m1", "m1 m2");
    assigns(&mut story, 1, "m1", "m1=p0 m2=p1");
    joins(&mut story, (1, 1), "c2:m3:i2", "m1", "");
    gets(&mut story, 1, "m3", "p1");
    story
}

#[test]
fn who_takes_the_place_of_a_listed_static_member_gets_what_was_meant_for_it() {
    replaced_unseen("i2").keeps(GenerationAgreement);
}

#[test]
fn who_takes_the_place_of_another_static_member_gets_nothing_of_it() {
    assert_eq!(replaced_unseen("i7").breaks(), [GenerationAgreement]);
}
