//! One member of a group.
//!
//! Plain data. What depends on more than one member is kept by the roster, which therefore is the
//! only one to park, to unpark and to change protocols.

use std::{sync::Arc, time::Duration};

use super::Ticket;
use crate::{
    api::{JoinRequest, Protocol},
    ids::{InstanceId, MemberId},
    ports::Instant,
};

/// A request of a member whose answer is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parked {
    /// Until the join phase is over.
    Join(Ticket),
    /// Until the leader has sent the assignment.
    Sync(Ticket),
}

impl Parked {
    pub(super) fn ticket(self) -> Ticket {
        match self {
            Self::Join(ticket) | Self::Sync(ticket) => ticket,
        }
    }
}

/// One member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) instance: Option<InstanceId>,
    pub(super) client_id: Arc<str>,
    pub(super) session_timeout: Duration,
    pub(super) rebalance_timeout: Duration,
    pub(super) protocols: Vec<Protocol>,
    /// What the leader gave it last; only meaningful in Stable.
    pub(super) assignment: Arc<[u8]>,
    pub(super) parked: Option<Parked>,
    /// Has not been in a generation yet.
    pub(super) newcomer: bool,
    /// Removed then, if it is not excused.
    pub(super) deadline: Instant,
    /// When its alarm is set; not later than `deadline` unless the member was excused.
    pub(super) alarm: Option<Instant>,
}

impl Member {
    /// A member that never was in a generation.
    pub(super) fn new(id: MemberId, request: &JoinRequest) -> Self {
        Self {
            id,
            instance: request.instance.clone(),
            client_id: Arc::clone(&request.client_id),
            session_timeout: request.session_timeout,
            rebalance_timeout: request.rebalance_timeout,
            protocols: request.protocols.clone(),
            assignment: Arc::default(),
            parked: None,
            newcomer: true,
            deadline: Instant::ZERO,
            alarm: None,
        }
    }

    pub(super) fn id(&self) -> &MemberId {
        &self.id
    }

    pub(super) fn has_joined(&self) -> bool {
        matches!(self.parked, Some(Parked::Join(_)))
    }

    /// Whether its deadline has no effect: a parked member can't send heartbeats. A newcomer is not
    /// excused, or joins whose clients have long given up would pile up (KIP-394).
    pub(super) fn is_excused(&self) -> bool {
        self.parked.is_some() && !self.newcomer
    }

    /// Its metadata for a protocol; empty if it does not support it.
    pub(super) fn metadata(&self, protocol: &str) -> Arc<[u8]> {
        let supported = self.protocols.iter().find(|supported| &*supported.name == protocol);
        supported.map(|supported| Arc::clone(&supported.metadata)).unwrap_or_default()
    }
}
