//! What transactions want done outside, and what came of it.

use std::{ops::Range, pin::pin, time::Duration};

use futures_util::future::{Either, select};

use super::{
    STATE_DIR,
    file::{BadFile, parse, parse_any},
    producer_ids::{NoIds, take_block},
    state::State,
};
use crate::{
    api::{KeyType, Producer},
    assignment::SharedView,
    claim::{Claim, Outcome, TakeOver},
    ids::{BrokerId, TopicPartition, TransactionalId},
    ports::{Clock, Host, Instant, Peers},
    survey::survey,
};

/// Something to do on the volume or elsewhere outside.
pub(crate) enum TxnJob {
    /// Claim a transactional id and read its file.
    TakeOver { of: Which, claim: Claim },
    /// Replace its file; `None` removes it.
    Change { of: Which, claim: Claim, nth: u64, content: Option<Vec<u8>> },
    /// See whether a claim still stands.
    Check { of: Which, claim: Claim },
    /// Write the end of a transaction to its partitions, until `give_up`.
    Mark { of: Which, transaction: u64, marker: Marker, give_up: Instant },
    /// Find ids that `view` routes to `me` and that wait for their coordinator.
    Survey { view: SharedView, me: BrokerId, unix_ms: i64, expiration: Duration },
    /// Take a block of producer ids.
    TakeIds { claim: Claim },
}

/// An entry in memory; its serial number tells it from a later one of the same id.
#[derive(Clone, Debug)]
pub(crate) struct Which {
    pub(crate) id: TransactionalId,
    pub(crate) serial: u64,
}

/// What is written to partitions.
pub(crate) struct Marker {
    pub(crate) producer: Producer,
    pub(crate) commit: bool,
    pub(crate) partitions: Vec<TopicPartition>,
}

/// What came of a [`TxnJob`].
pub(crate) enum TxnDone {
    TookOver { of: Which, outcome: TakeOver<Result<Option<State>, BadFile>> },
    Changed { of: Which, outcome: Outcome },
    Checked { of: Which, outcome: Outcome },
    Marked { of: Which, transaction: u64, acknowledged: bool },
    Surveyed(Vec<TransactionalId>),
    TookIds(Result<Range<i64>, NoIds>),
}

/// Does a job.
pub(crate) async fn perform(host: &impl Host, job: TxnJob) -> TxnDone {
    let volume = host.volume();
    match job {
        TxnJob::TakeOver { of, claim } => {
            let outcome = claim.take_over(volume, None).await;
            let parse = |content: Vec<u8>| parse(&of.id, &content);
            let outcome = outcome.map(|content| content.map(parse).transpose());
            TxnDone::TookOver { of, outcome }
        }
        TxnJob::Change { of, claim, nth, content } => {
            let outcome = match content {
                Some(content) => claim.publish(volume, nth, content).await,
                None => claim.delete(volume, nth).await,
            };
            TxnDone::Changed { of, outcome }
        }
        TxnJob::Check { of, claim } => TxnDone::Checked { of, outcome: claim.check(volume).await },
        TxnJob::Mark { of, transaction, marker, give_up } => {
            let Marker { producer, commit, partitions } = &marker;
            let peers = host.peers();
            let write = peers.write_markers(*producer, transaction, *commit, partitions);
            let timer = host.clock().sleep_until(give_up);
            let acknowledged = match select(pin!(write), pin!(timer)).await {
                Either::Left((result, _)) => result.is_ok(),
                Either::Right(((), _)) => false,
            };
            TxnDone::Marked { of, transaction, acknowledged }
        }
        TxnJob::Survey { view, me, unix_ms, expiration } => {
            let wanted = |id: &str| view.owner(KeyType::Transaction, id) == Some(&me);
            let parse = |content: &[u8]| {
                let (id, state) = parse_any(content).ok()?;
                let waits = !state.phase.is_settled() || state.is_expired(expiration, unix_ms);
                waits.then(|| (Some(id.as_str().to_owned()), ()))
            };
            let found = survey(volume, STATE_DIR, wanted, parse).await.unwrap_or_default();
            TxnDone::Surveyed(found.into_iter().map(|(id, ())| id.into()).collect())
        }
        TxnJob::TakeIds { claim } => TxnDone::TookIds(take_block(volume, claim).await),
    }
}
