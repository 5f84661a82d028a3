//! Producer ids, unique for ever among all brokers and their restarts.
//!
//! A broker takes blocks from one file, which says what the next block begins with. The file is
//! fenced like any other: the broker takes it over, reads it, publishes the end of its block, and
//! only then uses the block. What is lost on the way, to another broker or to a failure, is never
//! given to anybody. Kafka's controller gives out blocks of the same size (KIP-730).

use std::{
    collections::{BTreeSet, VecDeque},
    io::ErrorKind,
    ops::Range,
};

use serde_json::{Map, Value, json};

use super::{STATE_DIR, job::TxnJob};
use crate::{
    api::{ErrorCode, InitProducerIdResponse, Producer, Response},
    claim::{Claim, Outcome, Paths, TakeOver, VolumeError},
    group::Ticket,
    ids::TransactionalId,
    manager::{Core, Job, Turn},
    note::Note,
    ports::{Instant, Volume},
};

/// The directory of the file.
const IDS_DIR: &str = "__producer_ids";
/// The file's name, without `.json`.
const NAME: &str = "next";
/// The file's one key that is ours.
const KEY: &str = "next";
/// How many ids a broker takes at a time.
const BLOCK: i64 = 1000;

/// Why there is no block.
#[derive(Debug)]
pub(crate) enum NoIds {
    /// Another broker was quicker, or the volume has failed: try again a little later.
    NotNow(String),
    /// Which ids were given out can't be known: nobody gets any.
    Unknown(String),
}

/// The ids at hand and who waits for some.
#[derive(Debug)]
pub(super) struct ProducerIds {
    free: Range<i64>,
    is_under_way: bool,
    /// Not before then.
    retry_at: Option<Instant>,
    /// Producers that are idempotent only.
    waiting: VecDeque<Ticket>,
    /// Transactional ids whose InitProducerId waits.
    wanting: BTreeSet<TransactionalId>,
}

impl ProducerIds {
    pub(super) fn new() -> Self {
        Self {
            free: 0..0,
            is_under_way: false,
            retry_at: None,
            waiting: VecDeque::new(),
            wanting: BTreeSet::new(),
        }
    }

    /// An id that was never given to anybody, if one is at hand.
    pub(super) fn take(&mut self) -> Option<i64> {
        self.free.next()
    }

    /// A transactional id waits for an id.
    pub(super) fn want(&mut self, core: &mut Core, turn: &Turn<'_>, id: &TransactionalId) {
        self.wanting.insert(id.clone());
        self.refill(core, turn);
    }

    /// InitProducerId without a transactional id. Returns whether it has to wait.
    pub(super) fn give(&mut self, core: &mut Core, turn: &Turn<'_>, ticket: Ticket) -> bool {
        let Some(id) = self.take() else {
            self.waiting.push_back(ticket);
            self.refill(core, turn);
            return true;
        };
        core.outbox.push((ticket, given(id)));
        false
    }

    /// `ticket` waits no more; whether it was an idempotent producer that did.
    pub(super) fn forget(&mut self, ticket: Ticket) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|it| *it != ticket);
        self.waiting.len() < before
    }

    /// When to try again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.retry_at.filter(|_| self.is_wanted())
    }

    fn is_wanted(&self) -> bool {
        !self.waiting.is_empty() || !self.wanting.is_empty()
    }

    /// Takes another block, unless that is under way or was tried just now.
    pub(super) fn refill(&mut self, core: &mut Core, turn: &Turn<'_>) {
        if self.is_under_way || self.retry_at.is_some_and(|at| turn.now < at) || !self.is_wanted() {
            return;
        }
        self.is_under_way = true;
        self.retry_at = None;
        let claim = core.name_claim(Paths::new(IDS_DIR, NAME));
        core.jobs.push(Job::Transaction(TxnJob::TakeIds { claim }));
    }

    /// A block is here, or not. Returns the transactional ids that may go on, and whether all that
    /// they wait for is to be refused.
    pub(super) fn refilled(
        &mut self,
        core: &mut Core,
        turn: &Turn<'_>,
        outcome: Result<Range<i64>, NoIds>,
    ) -> (BTreeSet<TransactionalId>, bool) {
        self.is_under_way = false;
        let reason = match outcome {
            Ok(block) => {
                core.notes.push(Note::ProducerIdsTaken { first: block.start });
                self.free = block;
                while let Some(ticket) = self.waiting.pop_front() {
                    let Some(id) = self.take() else {
                        self.waiting.push_front(ticket);
                        break;
                    };
                    core.outbox.push((ticket, given(id)));
                }
                let wanting = std::mem::take(&mut self.wanting);
                self.refill(core, turn);
                return (wanting, false);
            }
            Err(NoIds::NotNow(reason)) => {
                core.notes.push(Note::ProducerIdsRefused { reason });
                // Brokers that displace each other must not go on in step.
                let backoff = core.config.txn.retry_backoff;
                let part = u32::try_from((turn.random)() % 256).expect("less than 256");
                self.retry_at = Some(turn.now + backoff / 4 + backoff / 256 * part);
                return (BTreeSet::new(), false);
            }
            Err(NoIds::Unknown(reason)) => reason,
        };
        core.notes.push(Note::ProducerIdsRefused { reason });
        self.retry_at = Some(turn.now + core.config.txn.retry_backoff);
        self.refuse(core);
        (std::mem::take(&mut self.wanting), true)
    }

    /// Answers every idempotent producer that waits.
    pub(super) fn refuse(&mut self, core: &mut Core) {
        for ticket in std::mem::take(&mut self.waiting) {
            let refused = InitProducerIdResponse::refused(ErrorCode::CoordinatorNotAvailable);
            core.outbox.push((ticket, Response::InitProducerId(refused)));
        }
    }
}

fn given(id: i64) -> Response {
    let producer = Producer { id, epoch: 0 };
    Response::InitProducerId(InitProducerIdResponse { error: ErrorCode::None, producer })
}

/// Takes a block from the file; the claim is given back at once.
pub(super) async fn take_block(volume: &impl Volume, claim: Claim) -> Result<Range<i64>, NoIds> {
    let result = try_take_block(volume, &claim).await;
    claim.relinquish(volume).await;
    result
}

async fn try_take_block(volume: &impl Volume, claim: &Claim) -> Result<Range<i64>, NoIds> {
    let displaced = || NoIds::NotNow("another broker takes ids".to_owned());
    let content = match claim.take_over(volume, None).await {
        TakeOver::Owned { content, .. } => content,
        TakeOver::Fenced => return Err(displaced()),
        TakeOver::Failed { error, .. } => return Err(failed(&error)),
    };
    let mut file = match content {
        Some(content) => parse(&content)?,
        None => nothing_given(volume).await?,
    };
    let first = file.get(KEY).and_then(Value::as_i64).filter(|next| *next >= 0);
    let (Some(first), Some(end)) = (first, first.and_then(|it| it.checked_add(BLOCK))) else {
        return Err(NoIds::Unknown("the file does not say which ids are left".to_owned()));
    };
    file.insert(KEY.to_owned(), json!(end));
    let content = serde_json::to_vec(&file).expect("text keys and plain values");
    match claim.publish(volume, 1, content).await {
        Outcome::Done => Ok(first..end),
        Outcome::Fenced(_) => Err(displaced()),
        Outcome::Failed(error) | Outcome::InDoubt(error) => Err(failed(&error)),
    }
}

fn failed(error: &VolumeError) -> NoIds {
    NoIds::NotNow(format!("{} failed: {}", error.operation, error.source))
}

fn parse(content: &[u8]) -> Result<Map<String, Value>, NoIds> {
    serde_json::from_slice(content).map_err(|error| NoIds::Unknown(format!("not JSON: {error}")))
}

/// There is no file: ids begin at zero if nobody can have been given any. Whoever has a state was.
async fn nothing_given(volume: &impl Volume) -> Result<Map<String, Value>, NoIds> {
    let names = match volume.list(STATE_DIR).await {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(NoIds::NotNow(format!("list failed: {error}"))),
    };
    if names.iter().any(|name| name.ends_with(".json")) {
        return Err(NoIds::Unknown("the file is gone, and ids have been given out".to_owned()));
    }
    Ok(Map::from_iter([(KEY.to_owned(), json!(0))]))
}
