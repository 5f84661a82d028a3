//! What the manager wants done outside, and what came of it.

use std::sync::Arc;

use crate::{
    api::{Request, Response},
    assignment::{ASSIGNMENT_PATH, SharedView},
    claim::{Claim, Outcome, TakeOver},
    config::OffsetsConfig,
    group::Ticket,
    ids::{BrokerId, GroupId},
    offset_store::{
        batch::{Retention, Situation, expired},
        file::{BadFile, OffsetFile},
        pending::{PendingTxn, Transaction},
        survey::{Surveyed, protocol_type, survey},
    },
    ports::{Clock, Host, Instant, Peers, Volume},
    txn::{self, TxnDone, TxnJob, Which},
};

/// Something to do on the volume or elsewhere outside.
pub(crate) enum Job {
    /// Read `assignment.json`, then the controller lease's epoch.
    Poll,
    /// Claim a group and read its file.
    TakeOver { group: GroupId, serial: u64, claim: Claim, previous: Option<Claim> },
    /// Replace a group's file; `None` removes it.
    Change { group: GroupId, serial: u64, claim: Claim, nth: u64, content: Option<Vec<u8>> },
    /// See whether a claim still stands.
    Check { group: GroupId, serial: u64, claim: Claim },
    /// Give a claim back.
    Relinquish { claim: Claim },
    /// Read the protocol types of all groups that `view` routes here.
    List { ticket: Ticket, states: Vec<Arc<str>>, wanted: Wanted },
    /// Ask a broker, perhaps this one.
    Call { broker: BrokerId, request: Request, because: Because },
    /// See [`TxnJob`].
    Transaction(TxnJob),
    /// Find groups that have outlived their retention.
    FindOverdue { wanted: Wanted, unix_ms: i64, config: OffsetsConfig },
}

/// What a [`Job::Call`] is for.
pub(crate) enum Because {
    /// A TxnOffsetCommit of this group waits for its transaction to be verified.
    Verify { group: GroupId, serial: u64, ticket: Ticket },
    /// A transaction that this group has had offsets of for long.
    Outcome { group: GroupId, serial: u64, transaction: Transaction },
    /// This group is told how a transaction has ended.
    Marker { of: Which, transaction: u64, group: GroupId },
}

/// Which groups a survey is about: those that a view routes to one broker.
pub(crate) struct Wanted {
    pub(crate) view: Option<SharedView>,
    pub(crate) me: BrokerId,
}

impl Wanted {
    fn contains(&self, group: &GroupId) -> bool {
        self.view.as_ref().is_none_or(|view| view.group_owner(group) == Some(&self.me))
    }
}

/// What came of a [`Job`].
pub(crate) enum Done {
    Polled {
        read_at: Instant,
        content: Option<Vec<u8>>,
        lease: Option<i64>,
    },
    TookOver {
        group: GroupId,
        serial: u64,
        outcome: TakeOver<Result<OffsetFile, BadFile>>,
    },
    Changed {
        group: GroupId,
        serial: u64,
        outcome: Outcome,
    },
    Checked {
        group: GroupId,
        serial: u64,
        outcome: Outcome,
    },
    Relinquished,
    Listed {
        ticket: Ticket,
        states: Vec<Arc<str>>,
        cold: Option<Vec<Surveyed<Arc<str>>>>,
    },
    Overdue(Vec<GroupId>),
    /// See [`TxnDone`].
    Transaction(TxnDone),
    /// `None` if there was no answer in time; then the request may arrive yet.
    Called {
        because: Because,
        answer: Option<Response>,
    },
}

/// Does a job that needs only the host.
pub(crate) async fn perform(host: &impl Host, job: Job) -> Done {
    let volume = host.volume();
    match job {
        Job::Poll => {
            // The content may be as old as the beginning of the read, so that is when it is known
            // to have been true. The lease is read behind it: what a deposed controller wrote in
            // between is then known to be late.
            let read_at = host.clock().now();
            let content = volume.read(ASSIGNMENT_PATH).await.ok();
            let lease = host.peers().lease_epoch().await.ok();
            Done::Polled { read_at, content, lease }
        }
        Job::TakeOver { group, serial, claim, previous } => {
            let outcome = claim.take_over(volume, previous.as_ref()).await;
            let parse = |content: Vec<u8>| OffsetFile::parse(&group, &content);
            let outcome =
                outcome.map(|content| content.map_or_else(|| Ok(OffsetFile::default()), parse));
            Done::TookOver { group, serial, outcome }
        }
        Job::Change { group, serial, claim, nth, content } => {
            let outcome = match content {
                Some(content) => claim.publish(volume, nth, content).await,
                None => claim.delete(volume, nth).await,
            };
            Done::Changed { group, serial, outcome }
        }
        Job::Check { group, serial, claim } => {
            Done::Checked { group, serial, outcome: claim.check(volume).await }
        }
        Job::Relinquish { claim } => {
            claim.relinquish(volume).await;
            Done::Relinquished
        }
        Job::List { ticket, states, wanted } => {
            let cold = survey(volume, |group| wanted.contains(group), protocol_type).await;
            Done::Listed { ticket, states, cold: cold.ok() }
        }
        Job::Transaction(job) => Done::Transaction(txn::perform(host, job).await),
        Job::Call { .. } => unreachable!("calls need a timeout, which the broker has"),
        Job::FindOverdue { wanted, unix_ms, config } => {
            let overdue = |file: &OffsetFile| is_overdue(file, unix_ms, &config).then_some(());
            let found = survey(volume, |group| wanted.contains(group), overdue).await;
            Done::Overdue(found.unwrap_or_default().into_iter().map(|it| it.group).collect())
        }
    }
}

/// Whether retention would remove anything of a group that has no members.
fn is_overdue(file: &OffsetFile, now_ms: i64, config: &OffsetsConfig) -> bool {
    let situation = match file.protocol_type {
        Some(_) => Situation::Empty { since: file.empty_since },
        None => Situation::Standalone,
    };
    // Who had members when its coordinator died has no `empty_since`; its next owner decides.
    let orphaned = file.protocol_type.is_some() && file.empty_since.is_none();
    // Nobody knows how old some of it is; who takes it over says so for the future.
    let lacks_times = config.has_retention() && !file.tells_all_times();
    let is_old = |it: &PendingTxn| it.is_older_than(config.txn_orphan_after, now_ms);
    orphaned
        || lacks_times
        || file.pending.transactions().any(is_old)
        || !expired(file, &Retention { now_ms, keep: config.retention, situation }).is_empty()
}
