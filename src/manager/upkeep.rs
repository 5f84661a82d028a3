//! What time brings: polls of the assignment, timers of groups, retention, idle groups, requests that
//! have waited long enough.
//!
//! One set of alarms serves all entries, so that a tick costs what is due and not what there is.

use std::collections::BTreeSet;

use super::{
    Core, Manager, Turn,
    entry::{Entry, Store},
    job::Job,
};
use crate::{
    api::{ErrorCode, Request},
    config::Config,
    group::Ticket,
    ids::GroupId,
    note::Note,
    ports::Instant,
};

/// When the broker's own duties are due.
pub(super) struct Poll {
    /// When `assignment.json` and the lease are read next.
    next: Instant,
    is_under_way: bool,
    /// Whether the log has been told that the view is stale.
    pub(super) stale: bool,
    next_retention: Instant,
    /// Whether the broker is about to exit.
    pub(super) is_closing: bool,
    /// ListGroups requests whose survey is under way.
    pub(super) listing: BTreeSet<Ticket>,
}

impl Poll {
    pub(super) fn new(now: Instant, config: &Config) -> Self {
        Self {
            next: now,
            is_under_way: false,
            stale: false,
            is_closing: false,
            next_retention: now + config.offsets.retention_check_interval,
            listing: BTreeSet::new(),
        }
    }

    /// The read that was under way is over.
    pub(super) fn is_over(&mut self) {
        self.is_under_way = false;
    }

    /// The next read is due.
    pub(super) fn at_once(&mut self, now: Instant) {
        self.next = now;
    }
}

impl Manager {
    /// When [`tick`](Self::tick) has something to do.
    pub(crate) fn deadline(&self) -> Instant {
        let core = &self.core;
        let timers = core.timers.first().map(|(at, _)| *at);
        let patience = core.patience.front().map(|(until, _, _)| *until);
        let stale = (!core.poll.stale).then(|| core.coordinator.stale_at());
        let duties = [core.poll.next, core.poll.next_retention, self.txns.deadline()];
        let others = timers.into_iter().chain(patience).chain(stale);
        others.chain(duties).min().expect("there are always duties")
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, turn: &Turn<'_>) {
        self.core.poll_cluster(turn);
        self.note_staleness(turn);
        while let Some((at, group)) = self.core.timers.first().cloned()
            && at <= turn.now
        {
            self.with_entry(&group, turn, |entry, core| entry.tick(core, turn));
        }
        while let Some((until, ticket, group)) = self.core.patience.front().cloned()
            && until <= turn.now
        {
            self.core.patience.pop_front();
            match group {
                Some(group) => {
                    self.with_entry(&group, turn, |it, core| it.give_up(core, turn, ticket))
                }
                None if self.core.poll.listing.remove(&ticket) => self.core.refuse_listing(ticket),
                None => {}
            }
        }
        self.txns.tick(&mut self.core, turn);
        if self.core.poll.next_retention <= turn.now {
            self.core.poll.next_retention =
                turn.now + self.core.config.offsets.retention_check_interval;
            self.retention(turn);
        }
    }

    /// The source may not be used any more: says so, once. Without a first view, what the boot window
    /// brought is nobody's business here and goes at once; under a view it waits for the next read.
    fn note_staleness(&mut self, turn: &Turn<'_>) {
        if self.core.coordinator.is_fresh(turn.now) || self.core.poll.stale {
            return;
        }
        self.core.poll.stale = true;
        self.core.notes.push(Note::ViewStale);
        if self.core.coordinator.view().is_none() {
            self.drop_everything(turn);
        }
    }

    /// Looks for offsets to expire, in memory and on the volume, and for groups that hold nothing.
    pub(crate) fn retention(&mut self, turn: &Turn<'_>) {
        if !self.core.coordinator.is_fresh(turn.now) {
            return;
        }
        let groups: Vec<_> = self.entries.keys().cloned().collect();
        for group in groups {
            self.with_entry(&group, turn, |entry, core| {
                // Again, if that failed when the group was taken over.
                entry.stamp(core, turn);
                entry.write_next(core, turn);
                entry.expire(core, turn);
                entry.ask_about_orphans(core, turn);
                entry.vanish_if_useless(core, turn);
            });
        }
        self.core.jobs.push(Job::FindOverdue {
            wanted: self.core.wanted(),
            unix_ms: turn.unix_ms,
            config: self.core.config.offsets.clone(),
        });
    }

    /// These groups are on the volume and have outlived their retention, it seems: takes over those
    /// that are not in memory, which decides.
    pub(super) fn overdue(&mut self, turn: &Turn<'_>, groups: Vec<GroupId>) {
        // Those for which there is no room are found again in the next round.
        let room = self.core.config.groups_max.saturating_sub(self.entries.len());
        for group in groups.into_iter().take(room) {
            if self.entries.contains_key(&group) || !self.core.coordinator.serves(turn.now, &group)
            {
                continue;
            }
            self.core.serials += 1;
            let entry = Entry::new(group.clone(), self.core.serials, turn.now);
            self.entries.insert(group.clone(), entry);
            self.with_entry(&group, turn, |entry, core| entry.load(core));
        }
    }
}

impl Core {
    fn poll_cluster(&mut self, turn: &Turn<'_>) {
        if self.poll.next > turn.now {
            return;
        }
        self.poll.next = turn.now + self.config.poll_interval;
        // A read that hangs is not repeated: its outcome counts from when it began.
        if !self.poll.is_under_way {
            self.poll.is_under_way = true;
            self.jobs.push(Job::Poll);
        }
    }

    /// Answers a ListGroups that can't be.
    pub(super) fn refuse_listing(&mut self, ticket: Ticket) {
        let error = ErrorCode::CoordinatorNotAvailable;
        let refused = Request::ListGroups { states: Vec::new() }.refused(error);
        self.outbox.push((ticket, refused));
    }
}

impl Entry {
    fn tick(&mut self, core: &mut Core, turn: &Turn<'_>) {
        self.on_group(core, turn, |group, cx| group.tick(cx));
        if self.is_idle() && self.used_at + core.config.idle_max <= turn.now {
            self.put_away(core, turn);
        }
    }

    /// Leaves memory to the groups that are in use.
    fn put_away(&mut self, core: &mut Core, turn: &Turn<'_>) {
        if let Store::Ready { file, .. } = &self.store
            && !file.is_empty()
            && file.empty_since != self.empty_since
        {
            // Retention counts from it, so it must not go with the memory.
            self.used_at = turn.now;
            self.touch(core, turn);
            return;
        }
        core.notes.push(Note::Idle { group: self.id.clone() });
        self.drop_group(core, turn);
    }

    /// `ticket` has waited for the volume long enough; what it asked for may happen all the same.
    fn give_up(&mut self, core: &mut Core, turn: &Turn<'_>, ticket: Ticket) {
        if let Some(at) = self.waiting.iter().position(|(it, _)| *it == ticket) {
            let (_, request) = self.waiting.remove(at).expect("it was found there");
            let answer = request.refused(ErrorCode::CoordinatorLoadInProgress);
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        if let Some(at) = self.verifying.iter().position(|it| it.ticket == ticket) {
            let request = Request::TxnOffsetCommit(self.verifying.remove(at).request);
            let answer = request.refused(ErrorCode::CoordinatorLoadInProgress);
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        let mut reads = self.reads.extract_if(.., |it| it.0 == ticket);
        let mut checking =
            self.checking.iter_mut().flat_map(|it| it.extract_if(.., |it| it.0 == ticket));
        if let Some((_, read)) = reads.next().or_else(|| checking.next()) {
            // REQUEST_TIMED_OUT is no answer to OffsetFetch (KAFKA-17267).
            let answer = read.refused(ErrorCode::CoordinatorNotAvailable);
            core.answer(turn.now, &self.id, ticket, answer);
            return;
        }
        // A change that has not begun must not happen behind the client's back.
        if let Some(at) = self.queue.iter().position(|it| it.ticket == Some(ticket)) {
            let change = self.queue.remove(at).expect("it was found there");
            change.answer(core, turn, &self.id, Err(ErrorCode::RequestTimedOut));
            return;
        }
        let writing = self.writing.iter_mut().flat_map(|it| &mut it.changes);
        if let Some(change) = writing.into_iter().find(|it| it.ticket == Some(ticket)) {
            let answer = change.answer.take().expect("who waits gets an answer");
            change.ticket = None;
            let answer = answer.with_error(ErrorCode::RequestTimedOut);
            core.answer(turn.now, &self.id, ticket, answer);
        }
    }
}
