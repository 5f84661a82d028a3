//! One transaction: what its client asked for and was told, and what was seen of it.
//!
//! It can have committed only by a request to commit it that was not refused and that was sent
//! before anybody was told a newer producer. An abort that was acknowledged decides.

use super::{
    Moment,
    answer::{Answer, Sign},
    partition::Due,
    producers::Fence,
};
use crate::event::{Micros, Name, Outcome};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug)]
pub(super) struct Txn {
    pub(super) number: u64,
    pub(super) id: Name,
    pub(super) client: Name,
    pub(super) producer: i64,
    pub(super) epoch: i16,
    pub(super) begun: Moment,
    /// The newest write to each partition that was acknowledged before the commit was asked for.
    pub(super) writes: BTreeMap<usize, Due>,
    /// When its commit was first asked for.
    pub(super) asked: Option<Moment>,
    /// Requests to commit that have no answer yet.
    open: VecDeque<Attempt>,
    /// How many requests to commit there were.
    attempts: u64,
    /// How many of them may have committed it.
    possible: u64,
    refused: Option<Micros>,
    /// The newer producer that fenced the last request that came too late.
    fenced: Option<Fence>,
    pub(super) committed: Option<Micros>,
    pub(super) aborted: Option<Micros>,
    /// It is certain that it has committed.
    pub(super) known: bool,
    /// The position at which it had certainly ended everywhere.
    pub(super) over: Option<u64>,
    shown: Option<Shown>,
    /// The groups in which one of its writes was seen.
    pub(super) groups: BTreeSet<Name>,
    /// A stable fetch that should have been refused, and the write that was pending.
    pub(super) overlooked: Option<(Answer, u64)>,
}

#[derive(Debug)]
struct Attempt {
    number: u64,
    fence: Option<Fence>,
}

/// The first sign that it has committed.
#[derive(Debug)]
struct Shown {
    sign: Sign,
    /// How many requests to commit it had been sent by then.
    attempts: u64,
    /// How many of these may still be the reason.
    possible: u64,
}

/// What the answer to a request to commit comes to.
#[derive(Debug)]
pub(super) enum Commit {
    /// Nothing new.
    Open,
    /// It has committed, though fenced if so.
    Done(Option<Fence>),
    /// It had been seen, and now there is no request left that could be the reason.
    Unexplained(Sign),
}

impl Txn {
    pub(super) fn new(
        number: u64,
        (id, client): (&Name, &Name),
        (producer, epoch): (i64, i16),
        begun: Moment,
    ) -> Txn {
        Txn {
            number,
            id: id.clone(),
            client: client.clone(),
            producer,
            epoch,
            begun,
            writes: BTreeMap::new(),
            asked: None,
            open: VecDeque::new(),
            attempts: 0,
            possible: 0,
            refused: None,
            fenced: None,
            committed: None,
            aborted: None,
            known: false,
            over: None,
            shown: None,
            groups: BTreeSet::new(),
            overlooked: None,
        }
    }

    /// Its client asks for the commit.
    pub(super) fn ask(&mut self, fence: Option<Fence>, now: Moment) {
        self.asked = self.asked.or(Some(now));
        self.possible += u64::from(fence.is_none());
        if fence.is_some() {
            self.fenced.clone_from(&fence);
        }
        self.open.push_back(Attempt { number: self.attempts, fence });
        self.attempts += 1;
    }

    /// The oldest request to commit that has no answer has one.
    pub(super) fn answered(&mut self, outcome: Outcome, at: Micros) -> Commit {
        let attempt = self.open.pop_front();
        match outcome {
            Outcome::Unknown => Commit::Open,
            Outcome::Ok => {
                let fence = attempt.and_then(|attempt| attempt.fence);
                self.committed = self.committed.or(Some(at));
                // Whatever was thought of the request, it did commit.
                self.possible += 1;
                Commit::Done(fence)
            }
            Outcome::Refused => {
                let Some(Attempt { number, fence }) = attempt else { return Commit::Open };
                self.refused = Some(at);
                if fence.is_some() {
                    return Commit::Open;
                }
                self.possible -= 1;
                let Some(shown) = self.shown.as_mut() else { return Commit::Open };
                if number >= shown.attempts {
                    return Commit::Open;
                }
                shown.possible -= 1;
                match shown.possible {
                    0 => Commit::Unexplained(shown.sign.clone()),
                    _ => Commit::Open,
                }
            }
        }
    }

    /// Whether it can have committed, as far as is known.
    pub(super) fn may_have_committed(&self) -> bool {
        self.aborted.is_none() && self.possible > 0
    }

    /// There is a sign that it has committed, which it may have.
    pub(super) fn show(&mut self, sign: Sign) {
        let (attempts, possible) = (self.attempts, self.possible);
        self.shown.get_or_insert(Shown { sign, attempts, possible });
    }

    pub(super) fn sign(&self) -> Option<&Sign> {
        self.shown.as_ref().map(|shown| &shown.sign)
    }

    /// Which one it is.
    pub(super) fn who(&self) -> String {
        let Txn { number, id, client, producer, epoch, .. } = self;
        format!("transaction {number} of {client} ({id}, producer {producer}, epoch {epoch})")
    }

    /// Why it can't have committed.
    pub(super) fn why_not(&self) -> String {
        let who = self.who();
        match (self.aborted, self.attempts, self.refused, &self.fenced) {
            (Some(at), ..) => format!("the abort of {who} was acknowledged at {at}"),
            (None, 0, ..) => format!("nobody had asked for the commit of {who}"),
            (None, _, _, Some(fence)) => {
                format!("{who} was fenced before its commit was asked for: {}", fence.sentence())
            }
            (None, _, Some(at), None) => {
                format!("every request to commit {who} was refused, the last at {at}")
            }
            (None, _, None, None) => format!("no request to commit {who} came to anything"),
        }
    }

    /// Why it is known to have committed.
    pub(super) fn why_known(&self) -> String {
        let who = self.who();
        match (self.committed, self.sign()) {
            (Some(at), _) => format!("the commit of {who} was acknowledged at {at}"),
            (None, Some(sign)) => format!("{who} was seen to have committed: {}", sign.sentence()),
            (None, None) => format!("{who} has committed"),
        }
    }
}
