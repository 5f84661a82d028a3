//! The writes to one (group, partition) in the order in which they can have been appended, and how
//! far back an answer may lie.
//!
//! A write is certainly older than another if it had been appended (acknowledged, or seen) before
//! the other was sent. What an answer must not be older than is therefore one position: that at
//! which the newest of the writes concerned was sent. Each fetch takes these bounds with it when it
//! is sent.
//!
//! A deletion lifts the bounds of all writes that may have come before it; one of unknown outcome
//! lifts all.
//!
//! Always: a plain write is forgotten once a plain write that was sent later is acknowledged; whoever
//! still gives it breaks offset-durability.

use super::{Moment, answer::Answer, producers::Fence};
use crate::event::{Micros, Name, Outcome};
use std::collections::BTreeMap;

#[derive(Debug)]
pub(super) struct Partition {
    pub(super) group: Name,
    pub(super) name: Name,
    writes: BTreeMap<u64, Write>,
    /// Plain writes by the position of their acknowledgement.
    acknowledged: BTreeMap<u64, u64>,
    /// A transaction has written here.
    transactional: bool,
    bounds: Bounds,
    /// Acknowledged writes of transactions whose end is open, by the position at which each was
    /// sent.
    pending: BTreeMap<u64, Pending>,
    /// Deletions under way or of unknown outcome.
    deletions: usize,
    /// The position at which the last deletion was acknowledged.
    deleted: u64,
}

/// One write.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) client: Name,
    pub(super) offset: i64,
    pub(super) txn: Option<u64>,
    pub(super) sent: Moment,
    /// When it had certainly been appended.
    pub(super) appended: Option<Moment>,
    /// What its client was told, and when.
    pub(super) outcome: Option<(Outcome, Micros)>,
    /// The newer producer that its own was fenced by when it was sent.
    pub(super) fence: Option<Fence>,
    /// The first answer that gave it before its client heard of it.
    pub(super) early: Option<Answer>,
}

/// What an answer must not be older than.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    /// The newest write that an answer gave, and that answer's client and time.
    seen: Option<(Due, Name, Micros)>,
    /// The newest plain write that was acknowledged: no write of a transaction that is older may
    /// take its place.
    plain: Option<Due>,
    /// The newest that stable fetches must give.
    stable: Option<Due>,
    /// The newest that came into view together with another one, so that all fetches must give it.
    together: Option<Due>,
    /// The newest whose transaction had ended everywhere, so that all fetches must give it.
    over: Option<Due>,
}

/// A write, in the order in which writes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) sent: u64,
    pub(super) write: u64,
}

#[derive(Debug)]
struct Pending {
    write: u64,
    txn: u64,
    /// The position of the acknowledgement.
    since: u64,
}

/// Why an answer is too old.
#[derive(Debug)]
pub(super) enum TooOld {
    /// The write's transaction had committed.
    Lost(u64),
    /// The write's transaction had come into view elsewhere in the group.
    Apart(u64),
    /// The write's transaction had ended everywhere.
    Over(u64),
    /// The plain write had been acknowledged.
    Overwrites(u64),
    /// The write had been given to that client at that time.
    Back(u64, Name, Micros),
}

impl Partition {
    pub(super) fn new(group: &Name, name: &Name) -> Partition {
        Partition {
            group: group.clone(),
            name: name.clone(),
            writes: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            transactional: false,
            bounds: Bounds::default(),
            pending: BTreeMap::new(),
            deletions: 0,
            deleted: 0,
        }
    }

    pub(super) fn sends(&mut self, number: u64, write: Write) {
        self.transactional |= write.txn.is_some();
        self.writes.insert(number, write);
    }

    pub(super) fn write(&self, number: u64) -> Option<&Write> {
        self.writes.get(&number)
    }

    pub(super) fn write_mut(&mut self, number: u64) -> Option<&mut Write> {
        self.writes.get_mut(&number)
    }

    /// A plain write came back.
    pub(super) fn plain_returned(&mut self, number: u64, outcome: Outcome, now: Moment) {
        match outcome {
            Outcome::Refused => {
                self.writes.remove(&number);
            }
            Outcome::Unknown => {}
            Outcome::Ok => {
                let Some(write) = self.writes.get_mut(&number) else { return };
                write.outcome = Some((outcome, now.at));
                write.append_by(now);
                let sent = write.sent.position;
                self.bounds.plain = self.bounds.plain.max(Some(Due { sent, write: number }));
                self.acknowledged.insert(now.position, number);
                while let Some(oldest) =
                    self.acknowledged.first_entry().filter(|it| *it.key() < sent)
                {
                    self.writes.remove(&oldest.remove());
                }
            }
        }
    }

    pub(super) fn deletion_sent(&mut self) {
        self.deletions += 1;
    }

    pub(super) fn deletion_returned(&mut self, outcome: Outcome, now: Moment) {
        match outcome {
            Outcome::Ok => (self.deletions, self.deleted) = (self.deletions - 1, now.position),
            Outcome::Refused => self.deletions -= 1,
            Outcome::Unknown => {}
        }
    }

    /// What a fetch that is sent now is held to.
    pub(super) fn bounds(&self) -> Bounds {
        self.bounds.clone()
    }

    /// An answer gave that write.
    pub(super) fn gave(&mut self, number: u64, (client, at): (&Name, Micros)) {
        let Some(write) = self.writes.get(&number) else { return };
        let due = Due { sent: write.sent.position, write: number };
        if self.bounds.seen.as_ref().is_none_or(|(newest, ..)| *newest < due) {
            self.bounds.seen = Some((due, client.clone(), at));
        }
    }

    /// Stable fetches must give this write or a later one.
    pub(super) fn must_show(&mut self, due: Due) {
        self.bounds.stable = self.bounds.stable.max(Some(due));
    }

    /// All fetches must, since another write of the transaction was seen.
    pub(super) fn must_show_to_all(&mut self, due: Due) {
        self.bounds.together = self.bounds.together.max(Some(due));
    }

    /// All fetches must, since the transaction is over.
    pub(super) fn must_show_for_good(&mut self, due: Due) {
        self.bounds.over = self.bounds.over.max(Some(due));
    }

    /// The write waits for the end of its transaction.
    pub(super) fn waits(&mut self, due: Due, txn: u64, now: Moment) {
        let Due { sent, write } = due;
        self.pending.insert(sent, Pending { write, txn, since: now.position });
    }

    pub(super) fn waits_no_more(&mut self, due: Due) {
        self.pending.remove(&due.sent);
    }

    /// Why the answer to a fetch is too old, and how many bounds it was compared with.
    pub(super) fn too_old(
        &self,
        (bounds, stable): (&Bounds, bool),
        gave: Option<u64>,
    ) -> (Option<TooOld>, u64) {
        let mut compared = 0;
        let mut older = |due: &Due| {
            let holds = !self.lifted(due.sent);
            compared += u64::from(holds);
            holds && self.is_older(gave, due.sent)
        };
        let together = bounds.together.filter(&mut older);
        let over = bounds.over.filter(&mut older);
        let due = bounds.stable.filter(|due| stable && older(due));
        let within = |number: u64| self.write(number).is_some_and(|write| write.txn.is_some());
        let seen = bounds
            .seen
            .as_ref()
            .filter(|(due, ..)| (within(due.write) || gave.is_some_and(within)) && older(due));
        let plain = bounds.plain.filter(|due| gave.is_some_and(within) && older(due));
        let found = if let Some(due) = together {
            Some(TooOld::Apart(due.write))
        } else if let Some(due) = over {
            Some(TooOld::Over(due.write))
        } else if let Some(due) = due {
            Some(TooOld::Lost(due.write))
        } else if let Some((due, client, at)) = seen {
            Some(TooOld::Back(due.write, client.clone(), *at))
        } else {
            plain.map(|due| TooOld::Overwrites(due.write))
        };
        (found, compared)
    }

    /// The writes that waited for the end of their transactions when the stable fetch was sent, and
    /// are newer than its answer. Each is given once.
    pub(super) fn overlooked(&mut self, gave: Option<u64>, sent: u64) -> Vec<(u64, u64)> {
        let newer = match gave.map(|number| self.writes.get(&number)) {
            None => 0,
            Some(write) => match write.and_then(|write| write.appended) {
                Some(appended) => appended.position + 1,
                None => return Vec::new(),
            },
        };
        if self.deletions > 0 {
            return Vec::new();
        }
        let candidates = self.pending.range(newer.max(self.deleted + 1)..);
        let waited = candidates.filter(|(_, pending)| pending.since < sent);
        let found: Vec<u64> = waited.map(|(&at, _)| at).collect();
        let taken = found.iter().filter_map(|at| self.pending.remove(at));
        taken.map(|pending| (pending.txn, pending.write)).collect()
    }

    /// Whether anything was under way here at any time since that position, if the transactions are
    /// over for which `is_over` says so.
    pub(super) fn is_changing(&self, since: u64, is_over: impl Fn(u64) -> bool) -> bool {
        self.writes.values().rev().any(|write| match write.txn {
            Some(txn) => !write.is_refused() && !is_over(txn),
            None => write.appended.is_none_or(|by| by.position > since),
        })
    }

    fn is_older(&self, gave: Option<u64>, sent: u64) -> bool {
        match gave {
            None => true,
            Some(number) => {
                let appended = self.write(number).and_then(|write| write.appended);
                appended.is_some_and(|appended| appended.position < sent)
            }
        }
    }

    /// Whether a deletion may have come behind what was sent at that position.
    fn lifted(&self, sent: u64) -> bool {
        self.deletions > 0 || self.deleted >= sent
    }

    /// Whether a transaction has written here, so that there is something to judge.
    pub(super) fn is_transactional(&self) -> bool {
        self.transactional
    }
}

impl Write {
    /// It had been appended by then.
    pub(super) fn append_by(&mut self, now: Moment) {
        self.appended = Some(self.appended.map_or(now, |known| known.min(now)));
    }

    pub(super) fn is_refused(&self) -> bool {
        matches!(self.outcome, Some((Outcome::Refused, _)))
    }

    /// What happened, in a sentence.
    pub(super) fn sentence(&self, number: u64) -> String {
        let Write { client, offset, sent, .. } = self;
        let ended = match self.outcome {
            Some((Outcome::Ok, at)) => format!("was acknowledged to {client} at {at}"),
            Some((Outcome::Refused, at)) => format!("was refused to {client} at {at}"),
            Some((Outcome::Unknown, _)) | None => format!("of {client} has an unknown outcome"),
        };
        let within = self.txn.map_or(String::new(), |txn| format!(" in transaction {txn}"));
        format!("commit {offset} (write {number}){within}, sent at {}, {ended}", sent.at)
    }
}
