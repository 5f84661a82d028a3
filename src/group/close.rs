//! The end of a connection, of ownership, of the group.

use super::{Context, Group, State, Ticket, alarms::Alarms, pending::Pending, roster::Roster};
use crate::api::ErrorCode;

impl Group {
    /// The client of a parked request is gone: forgets the ticket, which will not be answered.
    ///
    /// The member stays, as one that is not waiting: it no longer counts as joined, and its session
    /// runs from now. Kafka does not notice, so that a JoinGroup whose client is gone brings a
    /// member into the generation that nobody speaks for.
    pub fn abandon(&mut self, cx: &mut Context<'_>, ticket: Ticket) {
        if let Some(seat) = self.roster.by_ticket(ticket) {
            self.roster.unpark(seat);
            self.refresh(cx.now, seat);
        }
    }

    /// Another broker coordinates the group: answers everything parked with NOT_COORDINATOR. The
    /// clients look for the coordinator and come back there with their member ids.
    pub fn dissolve(&mut self, cx: &mut Context<'_>) {
        if self.state == State::Dead {
            return;
        }
        for seat in self.roster.seats() {
            let parked = self.roster.unpark(seat);
            cx.refuse(parked, ErrorCode::NotCoordinator, &self.roster.get(seat).id);
        }
        self.bury(cx);
    }

    /// DeleteGroups (KIP-229), which is for groups without members. Pending ids don't protect a
    /// group; their clients will be unknown.
    pub fn delete(&mut self, cx: &mut Context<'_>) -> Result<(), ErrorCode> {
        match self.state {
            State::Empty => {
                self.bury(cx);
                Ok(())
            }
            State::PreparingRebalance | State::CompletingRebalance | State::Stable => {
                Err(ErrorCode::NonEmptyGroup)
            }
            State::Dead => Err(ErrorCode::GroupIdNotFound),
        }
    }

    fn bury(&mut self, cx: &mut Context<'_>) {
        self.roster = Roster::default();
        self.pending = Pending::default();
        self.alarms = Alarms::default();
        self.phase = None;
        self.sync_until = None;
        self.leader = None;
        self.unsynced.clear();
        self.enter(cx, State::Dead);
    }
}
