//! JoinGroup: from first contact to a rejoin.
//!
//! A request is first held against what binds everybody (timeouts, size, protocols), then goes one
//! of three ways: a client without a member id, a client that comes back with the id it was given,
//! a member. Here it is only decided whether there must be a rebalance; how one proceeds is in
//! `rebalance.rs`.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};

use super::{Context, Group, Reply, State, Ticket, member::Member, member::Parked, roster::Seat};
use crate::{
    api::{ErrorCode, JoinMember, JoinRequest, JoinResponse, Protocol},
    config::GroupConfig,
    ids::MemberId,
};

/// Why a JoinGroup to a group that does not exist must not create it; `None` if it may. A client
/// that already has a member id never creates a group.
pub fn refusal_if_absent(request: &JoinRequest, config: &GroupConfig) -> Option<ErrorCode> {
    refusal_of_bounds(request, config)
        .or_else(|| (!request.member_id.is_empty()).then_some(ErrorCode::UnknownMemberId))
}

fn refusal_of_bounds(request: &JoinRequest, config: &GroupConfig) -> Option<ErrorCode> {
    let bounds = config.session_timeout_min..=config.session_timeout_max;
    if !bounds.contains(&request.session_timeout) {
        return Some(ErrorCode::InvalidSessionTimeout);
    }
    let protocols = request.protocols.iter().map(|it| it.name.len() + it.metadata.len());
    let instance = request.instance.as_ref().map_or(0, |it| it.as_str().len());
    let names = request.client_id.len() + request.protocol_type.len() + instance;
    (protocols.sum::<usize>() + names > config.member_bytes_max)
        .then_some(ErrorCode::InvalidRequest)
}

/// A refused JoinGroup: the error, and the member id in the answer.
type Refusal = (ErrorCode, MemberId);

impl Group {
    /// JoinGroup. Answered exactly once with this ticket, now or later.
    pub fn join(&mut self, cx: &mut Context<'_>, request: &JoinRequest, ticket: Ticket) {
        if let Some(error) = refusal_of_bounds(request, cx.config) {
            let response = JoinResponse::refused(error, request.member_id.clone());
            return cx.replies.push(Reply::Join(ticket, response));
        }
        if let Err((error, member_id)) = self.try_join(cx, request, ticket) {
            let response = JoinResponse::refused(error, member_id);
            cx.replies.push(Reply::Join(ticket, response));
        }
        self.try_complete_join(cx);
    }

    fn try_join(
        &mut self,
        cx: &mut Context<'_>,
        request: &JoinRequest,
        ticket: Ticket,
    ) -> Result<(), Refusal> {
        let id = &request.member_id;
        if !self.has_room(cx.config, id) {
            // Who comes too late to a group that has become too large is no member any more.
            if let Some(seat) = self.roster.by_id(id) {
                self.forget(seat);
            }
            self.drop_pending(id);
            return Err((ErrorCode::GroupMaxSizeReached, "".into()));
        }
        if self.state == State::Dead {
            return Err((ErrorCode::CoordinatorNotAvailable, id.clone()));
        }
        if !self.accepts_protocols(request) {
            return Err((ErrorCode::InconsistentGroupProtocol, id.clone()));
        }
        if id.is_empty() {
            return self.join_without_id(cx, request, ticket);
        }
        if self.pending.contains(id) {
            // Only dynamic members are given an id before they join.
            if request.instance.is_some() {
                return Err((ErrorCode::UnknownServerError, "".into()));
            }
            self.add_member(cx, id.clone(), request, ticket);
            return Ok(());
        }
        let identified = self.roster.identify(id, request.instance.as_ref());
        let seat = identified.map_err(|error| (error, id.clone()))?;
        self.rejoin(cx, request, seat, ticket)
    }

    /// A client that is no member yet, or a static one that forgot its member id.
    fn join_without_id(
        &mut self,
        cx: &mut Context<'_>,
        request: &JoinRequest,
        ticket: Ticket,
    ) -> Result<(), Refusal> {
        let known = request.instance.as_ref().and_then(|name| self.roster.by_instance(name));
        if let Some(seat) = known {
            self.replace(cx, request, seat, ticket);
            return Ok(());
        }
        if self.pending.len() + self.roster.newcomers() >= cx.config.newcomers_max {
            return Err((ErrorCode::GroupMaxSizeReached, "".into()));
        }
        let id = new_member_id(request, cx);
        // KIP-394: a client that is told its id first can't leave a nameless member behind when it
        // tries again. Static members are told apart by their instance id.
        if request.instance.is_none() && request.version >= 4 {
            let seat = self.roster.next_seat();
            let until = cx.now + request.session_timeout;
            self.alarms.set(until, seat);
            self.pending.insert(id.clone(), until, seat);
            return Err((ErrorCode::MemberIdRequired, id));
        }
        self.add_member(cx, id, request, ticket);
        Ok(())
    }

    fn add_member(
        &mut self,
        cx: &mut Context<'_>,
        id: MemberId,
        request: &JoinRequest,
        ticket: Ticket,
    ) {
        self.drop_pending(&id);
        if self.state == State::PreparingRebalance && self.generation == 0 {
            self.grown = true;
        }
        if self.roster.is_empty() {
            self.protocol_type = Some(Arc::clone(&request.protocol_type));
        }
        let seat = self.roster.add(Member::new(id, request));
        self.leader.get_or_insert(seat);
        self.roster.park(seat, Parked::Join(ticket));
        self.set_deadline(seat, cx.now + cx.config.new_member_join_timeout);
        self.rebalance(cx);
    }

    fn rejoin(
        &mut self,
        cx: &mut Context<'_>,
        request: &JoinRequest,
        seat: Seat,
        ticket: Ticket,
    ) -> Result<(), Refusal> {
        let same = self.roster.get(seat).protocols == request.protocols;
        let leads = self.leader == Some(seat);
        match self.state {
            State::PreparingRebalance => {}
            // The answer to the first JoinGroup may have been lost.
            State::CompletingRebalance if same => {
                let response = self.joined(seat, leads);
                cx.replies.push(Reply::Join(ticket, response));
                return Ok(());
            }
            // A leader rejoins unchanged when the topics have changed.
            State::Stable if same && !leads => {
                let response = self.joined(seat, false);
                cx.replies.push(Reply::Join(ticket, response));
                return Ok(());
            }
            State::CompletingRebalance | State::Stable => {}
            State::Empty | State::Dead => {
                return Err((ErrorCode::UnknownMemberId, request.member_id.clone()));
            }
        }
        self.roster.update(seat, request);
        let superseded = self.roster.park(seat, Parked::Join(ticket));
        cx.refuse(superseded, ErrorCode::RebalanceInProgress, &request.member_id);
        self.rebalance(cx);
        Ok(())
    }

    /// Whether `group.max.size` (KIP-389) lets this client in. Pending ids don't count, so some may
    /// have been given out in vain; in a join phase, who joins first is in.
    fn has_room(&self, config: &GroupConfig, id: &MemberId) -> bool {
        let seat = self.roster.by_id(id);
        match self.state {
            State::Empty | State::Dead => true,
            State::PreparingRebalance => {
                seat.is_some_and(|seat| self.roster.get(seat).has_joined())
                    || self.roster.joined() < config.size_max
            }
            State::CompletingRebalance | State::Stable => {
                seat.is_some() || self.roster.len() < config.size_max
            }
        }
    }

    /// Whether the type is the group's and all members support one of the protocols. That counts
    /// the old entry of a member that rejoins, so a sole member can't move to a disjoint list
    /// either. A first member is bound by nothing.
    fn accepts_protocols(&self, request: &JoinRequest) -> bool {
        if has_duplicates(&request.protocols) {
            return false;
        }
        match self.state {
            State::Empty => !request.protocol_type.is_empty() && !request.protocols.is_empty(),
            State::PreparingRebalance
            | State::CompletingRebalance
            | State::Stable
            | State::Dead => {
                self.protocol_type.as_ref() == Some(&request.protocol_type)
                    && self.roster.shares(&request.protocols)
            }
        }
    }

    /// The answer to a member of the current generation.
    pub(super) fn joined(&self, seat: Seat, with_members: bool) -> JoinResponse {
        JoinResponse {
            error: ErrorCode::None,
            member_id: self.roster.get(seat).id.clone(),
            generation: self.generation,
            protocol: self.protocol.clone(),
            protocol_type: self.protocol_type.clone(),
            leader: self.leader().cloned().unwrap_or_else(|| "".into()),
            members: if with_members { self.join_members() } else { Vec::new() },
            skip_assignment: false,
        }
    }

    fn join_members(&self) -> Vec<JoinMember> {
        let protocol = self.protocol.as_deref().unwrap_or_default();
        let members = self.roster.iter().map(|(_, member)| JoinMember {
            member_id: member.id.clone(),
            instance: member.instance.clone(),
            metadata: member.metadata(protocol),
        });
        members.collect()
    }
}

/// A list that names a protocol twice can't be counted, hence not be voted on.
fn has_duplicates(protocols: &[Protocol]) -> bool {
    let mut names = BTreeSet::new();
    !protocols.iter().all(|protocol| names.insert(&protocol.name))
}

/// The instance id or the client's name, and a random UUID (version 4): never the same twice.
pub(super) fn new_member_id(request: &JoinRequest, cx: &Context<'_>) -> MemberId {
    const VERSION: u128 = 4 << 76;
    const VARIANT: u128 = 2 << 62;
    let random = (cx.random)() & !(0xf << 76) & !(3 << 62) | VERSION | VARIANT;
    let hex = format!("{random:032x}");
    let mut id =
        String::from(request.instance.as_ref().map_or(&*request.client_id, |i| i.as_str()));
    for part in [0..8, 8..12, 12..16, 16..20, 20..32] {
        write!(id, "-{}", &hex[part]).expect("a string takes everything");
    }
    id.into()
}
