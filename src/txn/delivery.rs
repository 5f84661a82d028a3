//! Markers of a transaction that is decided: who has them, who must be sent them again.
//!
//! A marker is sent until it is acknowledged, to whoever coordinates the group by then. Who has
//! acknowledged is known in memory only: after a take-over all are sent again. A marker carries the
//! number of its transaction, so that one which is late, or of an owner that lost the id, ends
//! nothing but what it was meant for.

use std::collections::BTreeMap;

use super::{
    Cx,
    entry::{Entry, Store},
    job::{Marker, TxnJob, Which},
    state::State,
};
use crate::{
    api::{ErrorCode, KeyType, Request, Response, TxnMarkerRequest},
    ids::GroupId,
    manager::{Because, Job},
    ports::Instant,
};

/// The markers of one transaction.
pub(super) struct Delivery {
    transaction: u64,
    /// One for each group, and under `None` that of all partitions.
    legs: BTreeMap<Option<GroupId>, Leg>,
}

/// Where one marker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leg {
    /// It is to be sent at this time.
    Waiting(Instant),
    /// It is under way.
    Sent,
    /// It is there.
    Acknowledged,
}

impl Delivery {
    fn new(state: &State, now: Instant) -> Self {
        let partitions = (!state.partitions.is_empty()).then_some(None);
        let groups = state.groups.iter().cloned().map(Some);
        let legs = groups.chain(partitions).map(|leg| (leg, Leg::Waiting(now))).collect();
        Self { transaction: state.transaction, legs }
    }

    /// Whether every marker is there.
    pub(super) fn is_done(&self) -> bool {
        self.legs.values().all(|leg| *leg == Leg::Acknowledged)
    }

    /// When a marker is sent next, if none is acknowledged before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let waiting = |leg: &Leg| match leg {
            Leg::Waiting(until) => Some(*until),
            Leg::Sent | Leg::Acknowledged => None,
        };
        self.legs.values().filter_map(waiting).min()
    }
}

impl Entry {
    /// Sends the markers that are due.
    pub(super) fn deliver(&mut self, cx: &mut Cx<'_>) {
        let Store::Ready { state: Some(state), .. } = &self.store else { return };
        let Some(commit) = state.phase.prepared() else {
            self.delivery = None;
            return;
        };
        let transaction = state.transaction;
        if !cx.serves(&self.id) {
            return;
        }
        let (now, backoff) = (cx.turn.now, cx.core.config.txn.retry_backoff);
        let delivery = self
            .delivery
            .take_if(|it| it.transaction == transaction)
            .unwrap_or_else(|| Delivery::new(state, now));
        let delivery = self.delivery.insert(delivery);
        for (to, leg) in &mut delivery.legs {
            if !matches!(leg, Leg::Waiting(until) if *until <= now) {
                continue;
            }
            let of = Which { id: self.id.clone(), serial: self.serial };
            let Some(group) = to else {
                let partitions = state.partitions.iter().cloned().collect();
                // The raised epoch, as in Kafka: the partitions' leaders fence the producer by it.
                let marker = Marker { producer: state.producer, commit, partitions };
                let give_up = now + cx.core.config.offsets.volume_timeout;
                let job = TxnJob::Mark { of, transaction, marker, give_up };
                cx.core.jobs.push(Job::Transaction(job));
                *leg = Leg::Sent;
                continue;
            };
            let Some(broker) = cx.core.coordinator.owner(KeyType::Group, group.as_str()) else {
                *leg = Leg::Waiting(now + backoff);
                continue;
            };
            let request = Request::TxnMarker(TxnMarkerRequest {
                group: group.clone(),
                producer: state.opener(),
                transaction,
                commit,
            });
            let because = Because::Marker { of, transaction, group: group.clone() };
            cx.core.jobs.push(Job::Call { broker: broker.clone(), request, because });
            *leg = Leg::Sent;
        }
    }

    /// A marker has an answer, or has none in time.
    pub(super) fn marked(
        &mut self,
        cx: &mut Cx<'_>,
        transaction: u64,
        to: Option<&GroupId>,
        acknowledged: bool,
    ) {
        let until = cx.turn.now + cx.core.config.txn.retry_backoff;
        let delivery = self.delivery.as_mut().filter(|it| it.transaction == transaction);
        let leg = delivery.and_then(|it| it.legs.get_mut(&to.cloned()));
        if let Some(leg) = leg.filter(|leg| **leg != Leg::Acknowledged) {
            *leg = if acknowledged { Leg::Acknowledged } else { Leg::Waiting(until) };
        }
        self.go_on(cx);
    }
}

/// Whether a group's coordinator has taken a marker.
pub(super) fn is_acknowledged(answer: Option<&Response>) -> bool {
    matches!(answer, Some(Response::TxnMarker(ErrorCode::None)))
}
