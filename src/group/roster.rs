//! The members of one group, in the order of joining.
//!
//! A member sits on a [`Seat`], a number that grows with every member and is never used twice; so
//! walking the seats is walking in the order of joining, which is how every free choice is made
//! and every list is sorted. A static member that is replaced moves to a new seat. The roster keeps
//! what is derived from all members (who supports which protocol, how many have joined) in step
//! with them, so that no request has to scan for it.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{
    Ticket,
    member::{Member, Parked},
};
use crate::{
    api::{ErrorCode, JoinRequest, Protocol},
    ids::{InstanceId, MemberId},
};

/// Where a member sits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(u64);

/// The members of one group.
#[derive(Debug, Default)]
pub(super) struct Roster {
    members: BTreeMap<Seat, Member>,
    by_id: BTreeMap<MemberId, Seat>,
    by_instance: BTreeMap<InstanceId, Seat>,
    by_ticket: BTreeMap<Ticket, Seat>,
    /// How many members support each protocol; none is zero.
    support: BTreeMap<Arc<str>, usize>,
    joined: usize,
    newcomers: usize,
    seats: u64,
}

impl Roster {
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// How many members have a parked JoinGroup.
    pub(super) fn joined(&self) -> usize {
        self.joined
    }

    /// How many members have not been in a generation yet.
    pub(super) fn newcomers(&self) -> usize {
        self.newcomers
    }

    /// How many requests are parked.
    pub(super) fn parked(&self) -> usize {
        self.by_ticket.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Seat, &Member)> {
        self.members.iter().map(|(seat, member)| (*seat, member))
    }

    /// All seats, for a walk that changes members.
    pub(super) fn seats(&self) -> Vec<Seat> {
        self.members.keys().copied().collect()
    }

    pub(super) fn contains(&self, seat: Seat) -> bool {
        self.members.contains_key(&seat)
    }

    pub(super) fn get(&self, seat: Seat) -> &Member {
        &self.members[&seat]
    }

    pub(super) fn get_mut(&mut self, seat: Seat) -> &mut Member {
        self.members.get_mut(&seat).expect("a seat in use")
    }

    pub(super) fn by_id(&self, id: &MemberId) -> Option<Seat> {
        self.by_id.get(id).copied()
    }

    pub(super) fn by_instance(&self, instance: &InstanceId) -> Option<Seat> {
        self.by_instance.get(instance).copied()
    }

    pub(super) fn by_ticket(&self, ticket: Ticket) -> Option<Seat> {
        self.by_ticket.get(&ticket).copied()
    }

    /// Who sends this request. An instance id, if there is one, must be this member's (KIP-345);
    /// a static member that leaves it out is only known by its member id.
    pub(super) fn identify(
        &self,
        id: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<Seat, ErrorCode> {
        let Some(instance) = instance else {
            return self.by_id(id).ok_or(ErrorCode::UnknownMemberId);
        };
        let seat = self.by_instance(instance).ok_or(ErrorCode::UnknownMemberId)?;
        if self.get(seat).id == *id { Ok(seat) } else { Err(ErrorCode::FencedInstanceId) }
    }

    /// A seat that nobody had before.
    pub(super) fn next_seat(&mut self) -> Seat {
        self.seats += 1;
        Seat(self.seats)
    }

    pub(super) fn add(&mut self, member: Member) -> Seat {
        let seat = self.next_seat();
        debug_assert!(member.parked.is_none(), "parking is counted by the roster");
        self.by_id.insert(member.id.clone(), seat);
        if let Some(instance) = &member.instance {
            self.by_instance.insert(instance.clone(), seat);
        }
        self.newcomers += usize::from(member.newcomer);
        count(&mut self.support, &member.protocols);
        self.members.insert(seat, member);
        seat
    }

    /// Removes a member; whatever it had parked is for the caller to answer.
    pub(super) fn remove(&mut self, seat: Seat) -> (Member, Option<Parked>) {
        let parked = self.unpark(seat);
        let member = self.members.remove(&seat).expect("a seat in use");
        self.by_id.remove(&member.id);
        if let Some(instance) = &member.instance {
            self.by_instance.remove(instance);
        }
        self.newcomers -= usize::from(member.newcomer);
        discount(&mut self.support, &member.protocols);
        (member, parked)
    }

    /// Parks a request; returns the one that it supersedes.
    pub(super) fn park(&mut self, seat: Seat, parked: Parked) -> Option<Parked> {
        let superseded = self.unpark(seat);
        let member = self.get_mut(seat);
        member.parked = Some(parked);
        self.joined += usize::from(member.has_joined());
        self.by_ticket.insert(parked.ticket(), seat);
        superseded
    }

    /// Takes what a member has parked.
    pub(super) fn unpark(&mut self, seat: Seat) -> Option<Parked> {
        let member = self.get_mut(seat);
        let joined = usize::from(member.has_joined());
        let parked = member.parked.take()?;
        self.joined -= joined;
        self.by_ticket.remove(&parked.ticket());
        Some(parked)
    }

    /// Takes what a rejoining member says about itself.
    pub(super) fn update(&mut self, seat: Seat, request: &JoinRequest) {
        let member = self.members.get_mut(&seat).expect("a seat in use");
        discount(&mut self.support, &member.protocols);
        count(&mut self.support, &request.protocols);
        member.protocols.clone_from(&request.protocols);
        member.session_timeout = request.session_timeout;
        member.rebalance_timeout = request.rebalance_timeout;
    }

    /// The member has reached its first generation.
    pub(super) fn settle(&mut self, seat: Seat) {
        let member = self.members.get_mut(&seat).expect("a seat in use");
        self.newcomers -= usize::from(member.newcomer);
        member.newcomer = false;
    }

    /// The longest time any member may take to rejoin.
    pub(super) fn rebalance_timeout(&self) -> Duration {
        self.members.values().map(|member| member.rebalance_timeout).max().unwrap_or_default()
    }

    /// Whether all members support one of `protocols`.
    pub(super) fn shares(&self, protocols: &[Protocol]) -> bool {
        protocols.iter().any(|protocol| self.is_candidate(&protocol.name))
    }

    /// Every member votes for the first protocol in its list that all support. Most votes win; of
    /// equals, the one that was voted for first. `None` without members.
    pub(super) fn vote(&self) -> Option<Arc<str>> {
        let mut votes: Vec<(&Arc<str>, usize)> = Vec::new();
        for member in self.members.values() {
            let names = member.protocols.iter().map(|protocol| &protocol.name);
            let Some(choice) = names.into_iter().find(|name| self.is_candidate(name)) else {
                continue;
            };
            match votes.iter_mut().find(|(name, _)| *name == choice) {
                Some((_, count)) => *count += 1,
                None => votes.push((choice, 1)),
            }
        }
        // `max_by_key` returns the last of equals.
        votes.iter().rev().max_by_key(|(_, count)| *count).map(|(name, _)| Arc::clone(name))
    }

    fn is_candidate(&self, protocol: &str) -> bool {
        self.support.get(protocol).copied().unwrap_or_default() == self.members.len()
    }
}

fn count(support: &mut BTreeMap<Arc<str>, usize>, protocols: &[Protocol]) {
    for protocol in protocols {
        *support.entry(Arc::clone(&protocol.name)).or_default() += 1;
    }
}

fn discount(support: &mut BTreeMap<Arc<str>, usize>, protocols: &[Protocol]) {
    for protocol in protocols {
        let count = support.get_mut(&protocol.name).expect("a member's protocol is counted");
        *count -= 1;
        if *count == 0 {
            support.remove(&protocol.name);
        }
    }
}
