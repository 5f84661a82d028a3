//! A static member that comes back under a new member id (KIP-345).
//!
//! A restarted process knows its instance id and has forgotten its member id. It takes over the
//! place of its predecessor, which is fenced from then on, and in a Stable group keeps the
//! assignment without a rebalance.

use std::mem;

use super::{
    Context, Group, Reply, State, Ticket, join::new_member_id, member::Parked, roster::Seat,
};
use crate::api::{ErrorCode, JoinRequest};

impl Group {
    /// Lets the sender of `request` take over from the member on seat `old`.
    pub(super) fn replace(
        &mut self,
        cx: &mut Context<'_>,
        request: &JoinRequest,
        old: Seat,
        ticket: Ticket,
    ) {
        let leader_before = self.leader().cloned();
        let seat = self.move_to_new_id(cx, request, old);
        // The session begins with the timeout of the predecessor; the new one counts from the next
        // sign of life, as in Kafka.
        self.refresh(cx.now, seat);
        self.roster.update(seat, request);

        let leads = self.leader == Some(seat);
        match self.state {
            State::PreparingRebalance => {
                self.roster.park(seat, Parked::Join(ticket));
            }
            // The leader may already be assigning partitions to the old member id (KAFKA-9801).
            State::CompletingRebalance => {
                self.roster.park(seat, Parked::Join(ticket));
                self.rebalance(cx);
            }
            State::Stable if self.roster.vote() != self.protocol => {
                self.roster.park(seat, Parked::Join(ticket));
                self.rebalance(cx);
            }
            State::Stable => {
                // A restarted leader leads again, but must not compute an assignment that the
                // Stable group would ignore: it is told to skip that (v9, KIP-814), or not to know
                // itself as the leader.
                let can_skip = request.version >= 9;
                let mut response = self.joined(seat, can_skip && leads);
                response.skip_assignment = can_skip && leads;
                if let Some(leader) = leader_before.filter(|_| !can_skip) {
                    response.leader = leader;
                }
                cx.replies.push(Reply::Join(ticket, response));
            }
            State::Empty | State::Dead => unreachable!("there is a member to replace"),
        }
    }

    fn move_to_new_id(&mut self, cx: &mut Context<'_>, request: &JoinRequest, old: Seat) -> Seat {
        let led = self.leader == Some(old);
        let (mut member, parked) = self.roster.remove(old);
        let id = mem::replace(&mut member.id, new_member_id(request, cx));
        cx.refuse(parked, ErrorCode::FencedInstanceId, &id);
        if let Some(alarm) = member.alarm.take() {
            self.alarms.clear(alarm, old);
        }
        let seat = self.roster.add(member);
        if led {
            self.leader = Some(seat);
        }
        seat
    }
}
