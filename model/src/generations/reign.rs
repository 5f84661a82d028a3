//! One reign of a group: its generations, who was told them, who got what.
//!
//! Judges agreement within a generation, the order of generations, and that no partition has two
//! members. Members are compared by identity: a static member's instance, a dynamic member's id.
//!
//! Always: generations are kept in rising order and only the newest few of them.

use super::{Join, Sync};
use crate::{
    event::{Micros, Name},
    ledger::Ledger,
    promise::{Limits, Promise},
};
use std::collections::{BTreeMap, BTreeSet};

mod said;

use said::within_bounds;

/// How many generations of a reign are remembered.
const GENERATIONS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Reign {
    generations: BTreeMap<i32, Generation>,
    /// Static members: id to instance.
    instance_of: BTreeMap<Name, Name>,
    /// The id that each instance was told last.
    current: BTreeMap<Name, Name>,
    /// Ids of static members that a newer one replaced: who and when.
    replaced: BTreeMap<Name, (u64, Name, Micros)>,
    /// The first success of the reign: position, generation, time.
    begun: Option<(u64, i32, Micros)>,
    /// The newest generation answered so far.
    highest: Option<i32>,
    /// Generations up to this one are forgotten.
    forgotten: Option<i32>,
}

#[derive(Debug, Default)]
struct Generation {
    first: Option<First>,
    /// Member id to the position at which it was first told.
    told: BTreeMap<Name, u64>,
    /// The ids that the leader was told, when it was told any.
    list: Option<BTreeSet<Name>>,
    /// What each dynamic member said of itself, and what the leader was told that it said.
    said: BTreeMap<Name, Vec<u8>>,
    listed: BTreeMap<Name, Vec<u8>>,
    /// What the leader sent before the first answer, as far as no answer contradicts it.
    offers: Vec<Vec<(Name, Vec<u8>)>>,
    /// The first member that left: position, who, time.
    left: Option<(u64, Name, Micros)>,
    /// The first answer to a sync.
    synced: Option<Micros>,
    /// Partition to identity.
    holder: BTreeMap<Name, Name>,
}

/// What the first answered join said.
#[derive(Debug)]
struct First {
    position: u64,
    at: Micros,
    member: Name,
    leader: Name,
    protocol: Name,
}

impl Reign {
    /// The generation and time of the first success, if it lies before that position.
    pub(super) fn begun(&self, before: u64) -> Option<(i32, Micros)> {
        self.begun.filter(|begun| begun.0 < before).map(|begun| (begun.1, begun.2))
    }

    /// The newest generation answered before that position, and when.
    pub(super) fn newest(&self, before: u64) -> Option<(i32, Micros)> {
        self.generations.iter().rev().find_map(|(&number, generation)| {
            let first = generation.first.as_ref().filter(|first| first.position < before)?;
            Some((number, first.at))
        })
    }

    /// Whether the member was told the generation before that position.
    pub(super) fn told(&self, generation: i32, member: &Name, before: u64) -> bool {
        let told = self.generations.get(&generation).and_then(|of| of.told.get(member));
        told.is_some_and(|&position| position < before)
    }

    /// A member has left; its last generation is over with that.
    pub(super) fn left(&mut self, member: &Name, (position, at): (u64, Micros)) {
        let newest = self.generations.values_mut().next_back();
        if let Some(newest) = newest.filter(|it| it.told.contains_key(member)) {
            newest.left.get_or_insert_with(|| (position, member.clone(), at));
        }
    }

    /// Who had left that generation before that position, and when.
    pub(super) fn deserter(&self, generation: i32, before: u64) -> Option<(&Name, Micros)> {
        let (position, member, at) = self.generations.get(&generation)?.left.as_ref()?;
        (*position < before).then_some((member, *at))
    }

    /// Whether the generation is too old to be remembered.
    pub(super) fn forgot(&self, generation: i32) -> bool {
        self.forgotten.is_some_and(|last| generation <= last)
    }

    pub(super) fn joined(
        &mut self,
        join: Join<'_>,
        position: u64,
        limits: &Limits,
        ledger: &mut Ledger,
    ) {
        ledger.check(Promise::GenerationAgreement);
        if let Some(instance) = join.instance {
            self.embody(instance, join.member, (position, ledger.now()));
        }
        self.begun.get_or_insert((position, join.generation, ledger.now()));
        self.forwards(join, ledger);
        if self.generation(join.generation).is_none() {
            return;
        }
        self.one_leader_and_protocol(join, position, ledger);
        let generation = self.generations.get_mut(&join.generation);
        let generation = generation.expect("it was looked up or begun above");
        generation.told.entry(join.member.clone()).or_insert(position);
        self.listed(join, ledger);
        self.as_said(join, ledger);
        self.few_enough(join, limits, ledger);
        within_bounds(join, limits, ledger);
    }

    pub(super) fn sync_sent(
        &mut self,
        number: i32,
        member: &Name,
        assignments: &[(Name, Vec<u8>)],
    ) {
        let leader = self.generations.get(&number).and_then(|of| of.first.as_ref());
        let leader = leader.map(|first| first.leader.clone());
        let leads = leader.is_some_and(|leader| self.same(&leader, member));
        let Some(generation) = self.generations.get_mut(&number) else { return };
        if leads && generation.synced.is_none() {
            let known = generation.offers.iter().any(|offer| offer == assignments);
            if !known {
                generation.offers.push(assignments.to_vec());
            }
        }
    }

    pub(super) fn synced(&mut self, sync: Sync<'_>, ledger: &mut Ledger) {
        if self.generation(sync.generation).is_none() {
            return;
        }
        self.as_assigned(sync, ledger);
        self.exclusive(sync, ledger);
    }

    /// The id that took this static member's place before that position, and when.
    pub(super) fn replaced(&self, member: &Name, before: u64) -> Option<(&Name, Micros)> {
        let (position, by, at) = self.replaced.get(member)?;
        (*position < before).then_some((by, *at))
    }

    /// The static member of that instance goes by this id from now on.
    fn embody(&mut self, instance: &Name, member: &Name, (position, at): (u64, Micros)) {
        self.instance_of.insert(member.clone(), instance.clone());
        let before = self.current.insert(instance.clone(), member.clone());
        if let Some(before) = before.filter(|before| before != member) {
            self.replaced.insert(before, (position, member.clone(), at));
        }
    }

    /// The id is that of a static member. It may have been replaced before anybody was told that it
    /// is its own, and the leader's assignment goes to whoever has its place.
    pub(super) fn names(&mut self, member: &Name, instance: &Name) {
        self.instance_of.entry(member.clone()).or_insert_with(|| instance.clone());
    }

    /// Whether the id is known to be that of a static member.
    pub(super) fn is_static(&self, member: &Name) -> bool {
        self.instance_of.contains_key(member)
    }

    /// Who the member is, whatever its id.
    fn identity<'a>(&'a self, member: &'a Name) -> &'a Name {
        self.instance_of.get(member).unwrap_or(member)
    }

    fn same(&self, one: &Name, other: &Name) -> bool {
        one == other || self.identity(one) == self.identity(other)
    }

    /// The generation of that number, unless it is forgotten.
    fn generation(&mut self, number: i32) -> Option<&mut Generation> {
        if self.forgot(number) {
            return None;
        }
        self.generations.entry(number).or_default();
        while self.generations.len() > GENERATIONS {
            self.forgotten = self.generations.pop_first().map(|(number, _)| number);
        }
        self.generations.get_mut(&number)
    }

    fn forwards(&mut self, join: Join<'_>, ledger: &mut Ledger) {
        let highest = self.highest.unwrap_or(join.generation);
        self.highest = Some(highest.max(join.generation));
        if join.generation >= highest {
            return;
        }
        ledger.broke(Promise::GenerationAgreement, join.group, || {
            let why = format!("generation {highest} had been answered before in the same reign");
            vec![said(join), why]
        });
    }

    fn one_leader_and_protocol(&mut self, join: Join<'_>, position: u64, ledger: &mut Ledger) {
        let generation = self.generations.get_mut(&join.generation);
        let generation = generation.expect("the caller looked it up or began it");
        let Some(first) = &generation.first else {
            generation.first = Some(First {
                position,
                at: ledger.now(),
                member: join.member.clone(),
                leader: join.leader.clone(),
                protocol: join.protocol.clone(),
            });
            return;
        };
        if first.protocol != *join.protocol {
            ledger.broke(Promise::GenerationAgreement, join.group, || {
                let other = format!(
                    "{} had been told at {} that its protocol is {}",
                    first.member, first.at, first.protocol
                );
                vec![format!("{}, protocol {}", said(join), join.protocol), other]
            });
        }
        if self.instance_of.get(&first.leader).or(Some(&first.leader))
            == self.instance_of.get(join.leader).or(Some(join.leader))
        {
            return;
        }
        // A static leader may have been replaced before anybody saw an answer to its old id.
        let new = self.instance_of.get(join.leader).cloned();
        let unseen = |member: &Name| {
            !generation.told.contains_key(member) && !self.instance_of.contains_key(member)
        };
        match new {
            Some(instance) if unseen(&first.leader) => {
                self.instance_of.insert(first.leader.clone(), instance);
            }
            Some(_) | None => ledger.broke(Promise::GenerationAgreement, join.group, || {
                let other = format!(
                    "{} had been told at {} that the leader is {}",
                    first.member, first.at, first.leader
                );
                vec![format!("{}, leader {}", said(join), join.leader), other]
            }),
        }
    }

    /// The leader's list and who is told the generation must go together.
    fn listed(&mut self, join: Join<'_>, ledger: &mut Ledger) {
        let generation = &self.generations[&join.generation];
        let fresh: BTreeSet<Name> = join.members.iter().map(|(id, _)| id.clone()).collect();
        let Some(list) = Some(&fresh).filter(|list| !list.is_empty()).or(generation.list.as_ref())
        else {
            return;
        };
        let told: BTreeSet<Name> = generation.told.keys().cloned().collect();
        let left_out = self.left_out(&told, list, generation);
        if !left_out.is_empty() {
            ledger.broke(Promise::GenerationAgreement, join.group, || {
                let list = words(list);
                vec![said(join), format!("the leader's list {list} leaves out {left_out}")]
            });
        }
        let known = generation.list.as_ref().filter(|_| !fresh.is_empty());
        if let Some(known) = known {
            let gone = self.left_out(known, &fresh, generation);
            let new = self.left_out(&fresh, known, generation);
            if !gone.is_empty() || !new.is_empty() {
                ledger.broke(Promise::GenerationAgreement, join.group, || {
                    let lists = format!("members {}, before {}", words(&fresh), words(known));
                    vec![said(join), lists]
                });
            }
        }
        if !fresh.is_empty() && known.is_none() {
            let generation = self.generations.get_mut(&join.generation);
            generation.expect("it was just read").list = Some(fresh);
        }
    }

    /// Who of `all` is not in `list`, by identity, as words.
    ///
    /// Which static member an id stood for is not known if it was replaced before anybody saw an
    /// answer to it. So each such id makes up for one static member.
    fn left_out(
        &self,
        all: &BTreeSet<Name>,
        list: &BTreeSet<Name>,
        generation: &Generation,
    ) -> String {
        let fixed = |id: &&Name| self.instance_of.contains_key(*id);
        let unseen = |id: &&Name| !fixed(id) && !generation.told.contains_key(*id);
        let of_all: BTreeSet<&Name> = all.iter().map(|id| self.identity(id)).collect();
        let of_list: BTreeSet<&Name> = list.iter().map(|id| self.identity(id)).collect();
        let missing = || all.iter().filter(|id| !of_list.contains(self.identity(id)));
        let extra = || list.iter().filter(|id| !of_all.contains(self.identity(id)));
        let strangers = missing().filter(|id| !fixed(id) && !unseen(id));
        let strangers = strangers
            .chain(missing().filter(fixed).skip(extra().filter(unseen).count()))
            .chain(missing().filter(unseen).skip(extra().filter(fixed).count()));
        words(&strangers.cloned().collect())
    }

    /// The answer must be what the leader assigned.
    fn as_assigned(&mut self, sync: Sync<'_>, ledger: &mut Ledger) {
        ledger.check(Promise::GenerationAgreement);
        let identity = self.identity(sync.member).clone();
        let fits = |offer: &[(Name, Vec<u8>)]| {
            let mut mine = offer.iter().filter(|(to, _)| *self.identity(to) == identity).peekable();
            match mine.peek() {
                None => sync.assignment.is_empty(),
                Some(_) => mine.any(|(_, assignment)| *assignment == sync.assignment),
            }
        };
        let generation = &self.generations[&sync.generation];
        let fitting: Vec<bool> = generation.offers.iter().map(|offer| fits(offer)).collect();
        let now = ledger.now();
        if !fitting.contains(&true) {
            ledger.broke(Promise::GenerationAgreement, sync.group, || {
                let why = match generation.offers.as_slice() {
                    [] => "no assignment of its leader had arrived before the first answer",
                    [_] => "the leader assigned it something else",
                    [..] => "no one assignment of the leader fits all answers so far",
                };
                let Sync { broker, group, generation, member, assignment, .. } = sync;
                let got = format!(
                    "{broker} answered at {now} to {member} of {group} an assignment of {} bytes \
                     in generation {generation}",
                    assignment.len()
                );
                vec![got, why.to_owned()]
            });
        }
        let generation = self.generations.get_mut(&sync.generation);
        let generation = generation.expect("it was just read");
        generation.synced.get_or_insert(now);
        if fitting.contains(&true) {
            let mut fitting = fitting.into_iter();
            generation.offers.retain(|_| fitting.next().unwrap_or(true));
        }
    }

    /// No partition may have two members.
    fn exclusive(&mut self, sync: Sync<'_>, ledger: &mut Ledger) {
        let identity = self.identity(sync.member).clone();
        let Some(generation) = self.generations.get_mut(&sync.generation) else { return };
        for partition in sync.partitions {
            ledger.check(Promise::ExclusiveAssignment);
            match generation.holder.get(partition) {
                Some(holder) if *holder == identity => {}
                Some(holder) => {
                    let now = ledger.now();
                    ledger.broke(Promise::ExclusiveAssignment, sync.group, || {
                        let Sync { broker, group, generation, .. } = sync;
                        vec![
                            format!("{broker} gave {partition} of {group} to {identity} at {now}"),
                            format!("{holder} has it too, in the same generation {generation}"),
                        ]
                    });
                }
                None => {
                    generation.holder.insert(partition.clone(), identity.clone());
                }
            }
        }
    }
}

fn words(names: &BTreeSet<Name>) -> String {
    names.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")
}

/// Who was told what.
pub(super) fn said(join: Join<'_>) -> String {
    let Join { broker, group, generation, client, member, .. } = join;
    format!("{broker} told {client}, member {member} of {group}, generation {generation}")
}
