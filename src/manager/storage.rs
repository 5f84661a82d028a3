//! Take-overs of one entry, and what becomes of operations under its claim.

use super::{
    Core, Job, Turn,
    entry::{Entry, Read, Store},
};
use crate::{
    api::ErrorCode,
    claim::{Claim, Outcome, Paths, TakeOver, VolumeError},
    group::{Group, Ticket},
    note::Note,
    offset_store::{
        OFFSETS_DIR,
        batch::Change,
        file::{BadFile, OffsetFile},
    },
};

impl Entry {
    /// Begins a take-over, unless one is under way or done.
    pub(super) fn load(&mut self, core: &mut Core) {
        let previous = match &self.store {
            Store::Unloaded { previous } => previous.clone(),
            Store::Unreadable { claim, .. } => Some(claim.clone()),
            Store::Loading { .. } | Store::Ready { .. } | Store::Gone => return,
        };
        let claim = core.name_claim(Paths::new(OFFSETS_DIR, self.id.as_str()));
        core.jobs.push(Job::TakeOver {
            group: self.id.clone(),
            serial: self.serial,
            claim: claim.clone(),
            previous: previous.clone(),
        });
        self.store = Store::Loading { claim, previous };
    }

    /// A take-over is over.
    pub(super) fn took_over(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        outcome: TakeOver<Result<OffsetFile, BadFile>>,
    ) {
        let store = std::mem::replace(&mut self.store, Store::Gone);
        let Store::Loading { claim, previous } = store else {
            unreachable!("only a loading entry takes over")
        };
        match outcome {
            TakeOver::Owned { content: Ok(file), removed, unbroken } => {
                self.forget_members_unless(core, turn, previous.is_none() || unbroken);
                core.notes.push(Note::Loaded {
                    group: self.id.clone(),
                    offsets: file.offsets.len(),
                    pending: file.pending.transactions().count(),
                    claims_removed: removed,
                });
                self.owned(core, turn, claim, file);
            }
            TakeOver::Owned { content: Err(bad), .. } => {
                self.forget_members_unless(core, turn, previous.is_none());
                self.quarantine(core, turn, claim, &bad);
            }
            TakeOver::Fenced => {
                self.store = Store::Loading { claim, previous };
                self.fenced(core, turn, "take-over");
            }
            TakeOver::Failed { error, unbroken } => {
                core.note_failure(self, &error);
                // Whoever was seen beside the previous claim stands in for it from here on.
                let previous = if unbroken { Some(claim) } else { previous };
                self.store = Store::Unloaded { previous };
                self.refuse_all(core, turn, ErrorCode::CoordinatorNotAvailable);
            }
        }
    }

    /// The members joined under the previous claim; if somebody else may have owned the group since,
    /// they are not its members any more.
    fn forget_members_unless(&mut self, core: &mut Core, turn: &Turn<'_>, nobody_else: bool) {
        if nobody_else {
            return;
        }
        if let Some(mut group) = self.group.take() {
            core.on_group(turn, &mut group, |group, cx| group.dissolve(cx));
        }
        self.empty_since = None;
    }

    fn owned(&mut self, core: &mut Core, turn: &Turn<'_>, claim: Claim, file: OffsetFile) {
        if self.group.is_none() && !file.is_empty() {
            self.group = Some(Group::new(self.id.clone(), file.protocol_type.clone()));
            let had_members = file.protocol_type.is_some();
            self.empty_since = file.empty_since.or(had_members.then_some(turn.unix_ms));
        }
        self.store = Store::Ready { claim, file, changes: 0 };
        self.stamp(core, turn);
        for (ticket, request) in std::mem::take(&mut self.waiting) {
            self.handle(core, turn, ticket, request);
        }
        self.expire(core, turn);
        self.ask_about_orphans(core, turn);
        self.write_next(core, turn);
        self.check_next(core);
    }

    fn quarantine(&mut self, core: &mut Core, turn: &Turn<'_>, claim: Claim, bad: &BadFile) {
        core.notes.push(Note::Quarantined { group: self.id.clone(), reason: bad.to_string() });
        let until = turn.now + core.config.poll_interval;
        self.store = Store::Unreadable { claim, until };
        self.refuse_all(core, turn, ErrorCode::CoordinatorNotAvailable);
    }

    /// Another broker has the right to publish: nothing here is true any more.
    fn fenced(&mut self, core: &mut Core, turn: &Turn<'_>, during: &'static str) {
        core.notes.push(Note::Fenced { group: self.id.clone(), during });
        self.drop_group(core, turn);
    }

    /// A change is over.
    pub(super) fn changed(&mut self, core: &mut Core, turn: &Turn<'_>, outcome: Outcome) {
        match outcome {
            Outcome::Done => self.written(core, turn),
            Outcome::Fenced(during) => self.fenced(core, turn, during),
            Outcome::Failed(error) => {
                core.note_failure(self, &error);
                self.fail_batch(core, turn);
                self.write_next(core, turn);
            }
            Outcome::InDoubt(error) => {
                core.note_failure(self, &error);
                self.fail_batch(core, turn);
                if let Store::Ready { claim, .. } = &self.store {
                    self.store = Store::Unloaded { previous: Some(claim.clone()) };
                }
                // Only the file itself can say what happened, and only under a claim of another
                // name, in which what is late can't happen any more.
                self.load(core);
            }
        }
    }

    fn fail_batch(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let writing = self.writing.take().expect("a change was under way");
        for change in writing.changes {
            change.answer(core, turn, &self.id, Err(ErrorCode::CoordinatorNotAvailable));
        }
    }

    /// The batch is on the volume: memory follows, then whoever waits hears of it.
    fn written(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let writing = self.writing.take().expect("a change was under way");
        let Store::Ready { file, .. } = &mut self.store else {
            unreachable!("only under a claim is anything written")
        };
        let holds_nothing = writing.next.is_empty();
        // Without offsets there is no file, so nothing that stood in it is to be remembered.
        *file = if holds_nothing { OffsetFile::default() } else { writing.next };
        let mut removes_group = false;
        for change in writing.changes {
            removes_group |= match change.what {
                Change::DeleteGroup | Change::DeleteOffsets(_) | Change::Expire(_) => true,
                // As in Kafka, a group without anything stays until the retention task comes by.
                Change::CommitInTxn { .. } | Change::EndTxn { .. } => false,
                Change::Commit { .. } | Change::Stamp { .. } | Change::Touch => false,
            };
            change.answer(core, turn, &self.id, Ok(()));
        }
        if removes_group && holds_nothing && self.queue.is_empty() {
            self.vanish(core, turn);
        }
        self.write_next(core, turn);
    }

    /// A group that is Empty and holds nothing has nothing to tell: the retention task ends it, and
    /// with it the member ids that nobody has come back with, as in Kafka.
    pub(super) fn vanish_if_useless(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let holds_nothing = matches!(&self.store, Store::Ready { file, .. } if file.is_empty());
        if holds_nothing && self.writing.is_none() && self.queue.is_empty() {
            self.vanish(core, turn);
        }
    }

    /// A group without members and offsets is no group. One that got members while its deletion was
    /// written stays.
    fn vanish(&mut self, core: &mut Core, turn: &Turn<'_>) {
        let deleted = self
            .group
            .as_mut()
            .map(|group| core.on_group(turn, group, |group, cx| group.delete(cx)));
        if let Some(Ok(())) = deleted {
            self.group = None;
            self.empty_since = None;
        }
    }

    /// A check of the claim is over.
    pub(super) fn checked(&mut self, core: &mut Core, turn: &Turn<'_>, outcome: Outcome) {
        let reads = self.checking.take().unwrap_or_default();
        match outcome {
            Outcome::Done => {
                if !self.is_ready() {
                    // The claim stood, and has been given up for another since: ask again.
                    self.reads.splice(0..0, reads);
                    self.load(core);
                    return;
                }
                for (ticket, read) in reads {
                    self.read(core, turn, ticket, &read);
                }
                self.check_next(core);
            }
            Outcome::Fenced(during) => {
                self.checking = Some(reads);
                self.fenced(core, turn, during);
            }
            Outcome::Failed(error) | Outcome::InDoubt(error) => {
                core.note_failure(self, &error);
                for (ticket, read) in reads {
                    let answer = read.refused(ErrorCode::CoordinatorNotAvailable);
                    core.answer(turn.now, &self.id, ticket, answer);
                }
                self.check_next(core);
            }
        }
    }

    fn read(&mut self, core: &mut Core, turn: &Turn<'_>, ticket: Ticket, read: &Read) {
        match (read, &self.store) {
            (Read::Fetch(request), Store::Ready { file, .. }) => {
                let answer = self.fetched(file, request);
                core.answer(turn.now, &self.id, ticket, answer);
            }
            (Read::Marker(request), _) => self.checked_marker(core, turn, ticket, request),
            (Read::Fetch(_), _) => unreachable!("is read only from what is loaded"),
        }
    }

    /// Gives back whatever claim there is and stops what runs under it.
    pub(super) fn give_claims_back(&mut self, core: &mut Core) {
        let (claim, previous) = match &self.store {
            Store::Unloaded { previous } => (None, previous.clone()),
            Store::Loading { claim, previous } => (Some(claim.clone()), previous.clone()),
            Store::Ready { claim, .. } | Store::Unreadable { claim, .. } => {
                (Some(claim.clone()), None)
            }
            Store::Gone => (None, None),
        };
        for claim in claim.into_iter().chain(previous) {
            claim.abandon();
            core.jobs.push(Job::Relinquish { claim });
        }
    }
}

impl Core {
    fn note_failure(&mut self, entry: &Entry, error: &VolumeError) {
        self.notes.push(Note::VolumeFailed {
            group: entry.id.clone(),
            operation: error.operation,
            reason: error.source.to_string(),
        });
    }
}
