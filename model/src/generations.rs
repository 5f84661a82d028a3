//! generation-agreement, exclusive-assignment and no-zombie-commit: the history of each group, by
//! reign.
//!
//! It follows what brokers answer to JoinGroup, SyncGroup and Heartbeat, and which commits with a
//! member identity they accept. A static member that was replaced keeps its identity under a new id, so
//! everything is compared by identity. When a generation begins is not judged; who is listed in it
//! must have asked for it.
//!
//! Always: only the last few reigns of a group and the last few generations of a reign are
//! remembered; a commit that would need an older one is not judged.

mod reign;

use crate::{
    event::{Micros, Name, Outcome, What},
    ledger::Ledger,
    promise::{Limits, Promise},
};
use reign::{Reign, said};
use std::collections::BTreeMap;

/// How many reigns of a group are remembered.
const REIGNS: usize = 8;

/// A success of JoinGroup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Join<'a> {
    pub(crate) broker: &'a Name,
    pub(crate) group: &'a Name,
    pub(crate) generation: i32,
    pub(crate) client: &'a Name,
    pub(crate) member: &'a Name,
    pub(crate) instance: Option<&'a Name>,
    pub(crate) session: Micros,
    pub(crate) leader: &'a Name,
    pub(crate) protocol: &'a Name,
    pub(crate) said: Option<&'a [u8]>,
    pub(crate) members: &'a [(Name, Vec<u8>)],
}

/// A success of SyncGroup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sync<'a> {
    pub(crate) broker: &'a Name,
    pub(crate) group: &'a Name,
    pub(crate) generation: i32,
    pub(crate) member: &'a Name,
    pub(crate) assignment: &'a [u8],
    pub(crate) partitions: &'a [Name],
}

impl<'a> Join<'a> {
    /// The event as one, if it is one.
    pub(crate) fn of(what: &'a What) -> Option<Join<'a>> {
        let What::JoinAnswered {
            broker,
            group,
            reign: _,
            generation,
            client,
            member,
            instance,
            session,
            leader,
            protocol,
            said,
            members,
        } = what
        else {
            return None;
        };
        Some(Join {
            broker,
            group,
            generation: *generation,
            client,
            member,
            instance: instance.as_ref(),
            session: *session,
            leader,
            protocol,
            said: said.as_deref(),
            members,
        })
    }
}

impl<'a> Sync<'a> {
    /// The event as one, if it is one.
    pub(crate) fn of(what: &'a What) -> Option<Sync<'a>> {
        let What::SyncAnswered {
            broker,
            group,
            reign: _,
            generation,
            member,
            assignment,
            partitions,
        } = what
        else {
            return None;
        };
        Some(Sync { broker, group, generation: *generation, member, assignment, partitions })
    }
}

/// The groups, and the commits that wait for their answer.
#[derive(Debug, Default)]
pub(crate) struct Generations {
    groups: BTreeMap<Name, Group>,
    commits: BTreeMap<u64, Arrival>,
    heartbeats: BTreeMap<u64, Arrival>,
    /// How many events were observed: the position in the history.
    position: u64,
}

#[derive(Debug, Default)]
struct Group {
    reigns: BTreeMap<u64, Reign>,
    client_of: BTreeMap<Name, Name>,
    told: BTreeMap<Name, Told>,
    /// Reigns up to this one are forgotten.
    forgotten: Option<u64>,
}

/// What a member was told last, and whether it asks for more.
#[derive(Debug, Default)]
struct Told {
    /// How many of its requests have not been answered with success. One that was refused may have had
    /// its effect all the same, so it counts on.
    asks: u32,
    /// The reign and the generation.
    last: Option<(u64, i32)>,
}

/// A commit or a heartbeat as it reached its broker.
#[derive(Debug)]
struct Arrival {
    broker: Name,
    group: Name,
    member: Name,
    generation: i32,
    position: u64,
    at: Micros,
}

impl Generations {
    /// One more event of the history.
    pub(crate) fn step(&mut self) {
        self.position += 1;
    }

    /// A client was told a member id.
    pub(crate) fn issued(
        &mut self,
        group: &Name,
        client: &Name,
        member: &Name,
        ledger: &mut Ledger,
    ) {
        ledger.check(Promise::GenerationAgreement);
        let known = &mut self.group(group).client_of;
        match known.get(member) {
            Some(first) if first == client => {}
            Some(first) => {
                let now = ledger.now();
                ledger.broke(Promise::GenerationAgreement, group, || {
                    vec![
                        format!("{client} was told at {now} that it is member {member} of {group}"),
                        format!("that id was already given to {first}"),
                    ]
                });
            }
            None => {
                known.insert(member.clone(), client.clone());
            }
        }
    }

    /// The leader's list says which static member an id stands for.
    pub(crate) fn listed(&mut self, (group, reign): (&Name, u64), member: &Name, instance: &Name) {
        if let Some(reign) = self.reign(group, reign) {
            reign.names(member, instance);
        }
    }

    pub(crate) fn join_answered(
        &mut self,
        reign: u64,
        join: Join<'_>,
        limits: &Limits,
        ledger: &mut Ledger,
    ) {
        self.issued(join.group, join.client, join.member, ledger);
        let position = self.position;
        self.all_have_asked(reign, join, ledger);
        if let Some(reign) = self.reign(join.group, reign) {
            reign.joined(join, position, limits, ledger);
        }
    }

    /// A member asks for the next generation.
    pub(crate) fn join_sent(&mut self, group: &Name, member: &Name) {
        self.group(group).told.entry(member.clone()).or_default().asks += 1;
    }

    /// A member has left: the generation it was in is over.
    pub(crate) fn member_left(&mut self, (group, reign): (&Name, u64), member: &Name, at: Micros) {
        let position = self.position;
        if let Some(reign) = self.reign(group, reign) {
            reign.left(member, (position, at));
        }
    }

    /// Whoever is in a generation has asked for it; static members may be away.
    fn all_have_asked(&mut self, number: u64, join: Join<'_>, ledger: &mut Ledger) {
        let this = (number, join.generation);
        let group = self.group(join.group);
        let told = group.told.entry(join.member.clone()).or_default();
        (told.asks, told.last) = (told.asks.saturating_sub(1), Some(this));
        let reign = group.reigns.get(&number);
        let is_static = |member: &Name| reign.is_some_and(|it| it.is_static(member));
        for (member, _) in join.members.iter().filter(|(member, _)| !is_static(member)) {
            let told = group.told.get(member).filter(|it| it.asks == 0);
            let Some(last) = told.and_then(|it| it.last).filter(|it| *it != this) else { continue };
            ledger.broke(Promise::GenerationAgreement, join.group, || {
                let why = format!(
                    "its member {member} has not asked for another since it was told generation {}",
                    last.1
                );
                vec![said(join), why]
            });
        }
    }

    pub(crate) fn sync_sent(
        &mut self,
        (group, reign, generation): (&Name, u64, i32),
        member: &Name,
        assignments: &[(Name, Vec<u8>)],
    ) {
        if let Some(reign) = self.reign(group, reign) {
            reign.sync_sent(generation, member, assignments);
        }
    }

    pub(crate) fn sync_answered(&mut self, reign: u64, sync: Sync<'_>, ledger: &mut Ledger) {
        if let Some(reign) = self.reign(sync.group, reign) {
            reign.synced(sync, ledger);
        }
    }

    pub(crate) fn commit_arrived(
        &mut self,
        op: u64,
        (broker, group): (&Name, &Name),
        (member, generation): (&Name, i32),
        at: Micros,
    ) {
        let arrival = self.arrival((broker, group), (member, generation), at);
        self.commits.insert(op, arrival);
    }

    fn arrival(
        &self,
        (broker, group): (&Name, &Name),
        (member, generation): (&Name, i32),
        at: Micros,
    ) -> Arrival {
        Arrival {
            broker: broker.clone(),
            group: group.clone(),
            member: member.clone(),
            generation,
            position: self.position,
            at,
        }
    }

    pub(crate) fn heartbeat_arrived(
        &mut self,
        request: u64,
        (broker, group): (&Name, &Name),
        (member, generation): (&Name, i32),
        at: Micros,
    ) {
        let arrival = self.arrival((broker, group), (member, generation), at);
        self.heartbeats.insert(request, arrival);
    }

    /// Nobody is told that all is well in a generation that is over in the same reign.
    pub(crate) fn heartbeat_answered(
        &mut self,
        request: u64,
        reign: u64,
        well: bool,
        ledger: &mut Ledger,
    ) {
        let Some(arrival) = self.heartbeats.remove(&request).filter(|_| well) else { return };
        let Some(group) = self.groups.get(&arrival.group) else { return };
        if group.forgotten.is_some_and(|last| reign <= last) {
            return;
        }
        ledger.check(Promise::GenerationAgreement);
        // Who has been deposed and can't know it yet says so, too; that harms no offset.
        let why = group.outdated(reign, &arrival).or_else(|| group.deserted(reign, &arrival));
        let Some(why) = why else { return };
        let now = ledger.now();
        ledger.broke(Promise::GenerationAgreement, &arrival.group, || {
            let Arrival { broker, member, generation, group, at, .. } = &arrival;
            let told = format!(
                "{broker} told {member} of {group} at {now} (reign {reign}) that all is well in \
                 generation {generation}; its heartbeat had arrived at {at}"
            );
            vec![told, why]
        });
    }

    /// The broker emitted a success for a commit with an identity.
    pub(crate) fn commit_accepted(&mut self, op: u64, reign: u64, ledger: &mut Ledger) {
        let Some(arrival) = self.commits.remove(&op) else { return };
        let nothing = Group::default();
        let group = self.groups.get(&arrival.group).unwrap_or(&nothing);
        if group.forgotten.is_some_and(|last| reign <= last) {
            return;
        }
        ledger.check(Promise::NoZombieCommit);
        let Some(why) = group.zombie(reign, &arrival) else { return };
        let now = ledger.now();
        ledger.broke(Promise::NoZombieCommit, &arrival.group, || {
            let Arrival { broker, member, generation, group, at, .. } = &arrival;
            vec![
                format!(
                    "{broker} accepted at {now} a commit to {group} (op {op}, reign {reign}) of \
                     {member} as of generation {generation}, which had arrived at {at}"
                ),
                why,
            ]
        });
    }

    /// A commit has its answer, so it is not accepted again.
    pub(crate) fn commit_returned(&mut self, op: u64, outcome: Outcome) {
        match outcome {
            Outcome::Ok | Outcome::Refused => {
                self.commits.remove(&op);
            }
            Outcome::Unknown => {}
        }
    }

    /// A dead broker accepts nothing any more.
    pub(crate) fn broker_stopped(&mut self, broker: &Name) {
        self.commits.retain(|_, arrival| arrival.broker != *broker);
        self.heartbeats.retain(|_, arrival| arrival.broker != *broker);
    }

    fn group(&mut self, group: &Name) -> &mut Group {
        if !self.groups.contains_key(group) {
            self.groups.insert(group.clone(), Group::default());
        }
        self.groups.get_mut(group).expect("inserted above if it was missing")
    }

    /// The group's reign of that number, unless it is forgotten.
    fn reign(&mut self, group: &Name, number: u64) -> Option<&mut Reign> {
        let group = self.group(group);
        if group.forgotten.is_some_and(|last| number <= last) {
            return None;
        }
        group.reigns.entry(number).or_default();
        while group.reigns.len() > REIGNS {
            group.forgotten = group.reigns.pop_first().map(|(number, _)| number);
        }
        group.reigns.get_mut(&number)
    }
}

impl Group {
    /// Why the commit should not have been accepted, if so.
    fn zombie(&self, number: u64, arrival: &Arrival) -> Option<String> {
        let before = arrival.position;
        let later = self.reigns.range(number.saturating_add(1)..);
        let mut later = later.filter_map(|(number, reign)| Some((number, reign.begun(before)?)));
        if let Some((later, (generation, at))) = later.next() {
            return Some(format!(
                "reign {later} had already answered a join of generation {generation} at {at}"
            ));
        }
        self.outdated(number, arrival)
    }

    /// Who had left the generation before, so that all others must form another.
    fn deserted(&self, number: u64, arrival: &Arrival) -> Option<String> {
        let reign = self.reigns.get(&number)?;
        let (member, at) = reign.deserter(arrival.generation, arrival.position)?;
        Some(format!("{member} had left at {at}, so another has to begin"))
    }

    /// Why it is not of the current generation of that reign, if so.
    fn outdated(&self, number: u64, arrival: &Arrival) -> Option<String> {
        let before = arrival.position;
        let Some(reign) = self.reigns.get(&number) else {
            return Some(format!("nobody was told any generation in reign {number}"));
        };
        if let Some((newest, at)) = reign.newest(before)
            && newest > arrival.generation
        {
            return Some(format!("generation {newest} had already been answered at {at}"));
        }
        if let Some((by, at)) = reign.replaced(&arrival.member, before) {
            return Some(format!("{by} had taken the place of {} at {at}", arrival.member));
        }
        if reign.forgot(arrival.generation)
            || reign.told(arrival.generation, &arrival.member, before)
        {
            return None;
        }
        Some(format!(
            "{} was never told generation {} in reign {number}",
            arrival.member, arrival.generation
        ))
    }
}
