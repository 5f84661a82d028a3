//! FindCoordinator, ListGroups and DescribeGroups: they speak only for what this broker owns.

use std::sync::Arc;

use super::{
    Core, Manager, Turn,
    entry::Entry,
    job::{Job, Wanted},
};
use crate::{
    api::{DescribedGroup, ErrorCode, FoundCoordinator, KeyType, ListedGroup, Response},
    group::{State, Ticket},
    offset_store::survey::Surveyed,
    ports::{Instant, Peers},
};

impl Manager {
    /// FindCoordinator; any broker may answer, but not from a stale view.
    pub(crate) fn find(
        &self,
        now: Instant,
        key_type: Option<KeyType>,
        keys: &[Arc<str>],
        peers: &impl Peers,
    ) -> Response {
        let coordinator = &self.core.coordinator;
        let find = |key: &Arc<str>| {
            let refused =
                |error| FoundCoordinator { key: Arc::clone(key), error, coordinator: None };
            let Some(kind) = key_type else { return refused(ErrorCode::InvalidRequest) };
            let owner = coordinator.owner(kind, key).filter(|_| coordinator.is_fresh(now));
            let found = owner.and_then(|owner| Some((owner.clone(), peers.endpoint(owner)?)));
            match found {
                Some(found) => FoundCoordinator {
                    key: Arc::clone(key),
                    error: ErrorCode::None,
                    coordinator: Some(found),
                },
                None => refused(ErrorCode::CoordinatorNotAvailable),
            }
        };
        Response::FindCoordinator(keys.iter().map(find).collect())
    }

    /// ListGroups: what is in memory and what is only on the volume.
    pub(super) fn list(&mut self, turn: &Turn<'_>, ticket: Ticket, states: Vec<Arc<str>>) {
        if self.core.poll.is_closing || !self.core.coordinator.is_fresh(turn.now) {
            self.core.refuse_listing(ticket);
            return;
        }
        self.core.be_patient(turn.now, ticket, None);
        self.core.poll.listing.insert(ticket);
        let wanted = self.core.wanted();
        self.core.jobs.push(Job::List { ticket, states, wanted });
    }

    /// The files are read: adds the groups in memory, whose state is the newer one.
    pub(super) fn listed(
        &mut self,
        turn: &Turn<'_>,
        ticket: Ticket,
        states: &[Arc<str>],
        cold: Option<Vec<Surveyed<Arc<str>>>>,
    ) {
        if !self.core.poll.listing.remove(&ticket) {
            return;
        }
        let coordinator = &self.core.coordinator;
        let (Some(cold), true) = (cold, coordinator.is_fresh(turn.now)) else {
            self.core.refuse_listing(ticket);
            return;
        };
        let in_memory =
            self.entries.values().filter_map(|entry| Some(entry.group.as_ref()?.list()));
        let is_known = |it: &Surveyed<_>| {
            self.entries
                .get(&it.group)
                .is_some_and(|entry| entry.group.is_some() || entry.is_ready())
        };
        let on_volume = cold.into_iter().filter(|it| !is_known(it)).map(|it| ListedGroup {
            group: it.group,
            protocol_type: it.what,
            state: State::Empty.name(),
        });
        let mut groups: Vec<_> = in_memory
            .chain(on_volume)
            .filter(|it| coordinator.owns(&it.group))
            .filter(|it| states.is_empty() || states.iter().any(|state| **state == *it.state))
            .collect();
        groups.sort_by(|a, b| a.group.cmp(&b.group));
        let response = Response::ListGroups { error: ErrorCode::None, groups };
        self.core.outbox.push((ticket, response));
    }
}

impl Entry {
    /// DescribeGroups of this group.
    pub(super) fn describe(&self) -> Response {
        let group = self.group.as_ref();
        let description = group.map_or_else(
            || DescribedGroup::refused(ErrorCode::None, self.id.clone()),
            |group| group.describe(),
        );
        Response::DescribeGroups(vec![description])
    }
}

impl Core {
    /// What a survey must look for: the groups that are ours.
    pub(super) fn wanted(&self) -> Wanted {
        Wanted { view: self.coordinator.view().cloned(), me: self.coordinator.me().clone() }
    }
}
