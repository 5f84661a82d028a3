//! Member ids that were given out with MEMBER_ID_REQUIRED and not yet used (KIP-394).
//!
//! A pending id is not a member: it has no protocols, no session and no say. It only keeps a join
//! phase from completing early, until the client comes back with it or its alarm goes off.

use std::collections::BTreeMap;

use super::roster::Seat;
use crate::{ids::MemberId, ports::Instant};

/// The pending ids of one group.
#[derive(Debug, Default)]
pub(super) struct Pending {
    by_id: BTreeMap<MemberId, (Instant, Seat)>,
    by_seat: BTreeMap<Seat, MemberId>,
}

impl Pending {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub(super) fn contains(&self, id: &MemberId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Remembers an id whose alarm is set.
    pub(super) fn insert(&mut self, id: MemberId, until: Instant, seat: Seat) {
        self.by_seat.insert(seat, id.clone());
        self.by_id.insert(id, (until, seat));
    }

    /// Forgets an id; returns the alarm to clear.
    pub(super) fn remove(&mut self, id: &MemberId) -> Option<(Instant, Seat)> {
        let alarm = self.by_id.remove(id)?;
        self.by_seat.remove(&alarm.1);
        Some(alarm)
    }

    /// Forgets the id whose alarm went off; false if the alarm is not one of a pending id.
    pub(super) fn expire(&mut self, seat: Seat) -> bool {
        let Some(id) = self.by_seat.remove(&seat) else { return false };
        self.by_id.remove(&id);
        true
    }
}
