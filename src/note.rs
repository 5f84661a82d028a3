//! Notable events of a broker, for its log.
//!
//! A note says what happened in the words of the design, never how. The simulator prints notes in
//! its trace and counts them as milestones; no decision of the coordinator depends on one.

use crate::ids::{BrokerId, GroupId, TransactionalId};

/// Something notable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A newer view is in force.
    ViewApplied {
        /// Its controller epoch.
        epoch: i64,
        /// Its version.
        version: i64,
    },
    /// `assignment.json` was read and not applied.
    ViewRefused {
        /// Why, in a few words.
        reason: &'static str,
    },
    /// The view has not been confirmed for too long: nothing is served until it is.
    ViewStale,
    /// A stale view was confirmed again.
    ViewFresh,
    /// This broker took over a group: the claim is made and the file is read.
    Loaded {
        /// The group.
        group: GroupId,
        /// How many offsets the file holds.
        offsets: usize,
        /// How many transactions have offsets here that wait for their end.
        pending: usize,
        /// How many older claims were removed.
        claims_removed: usize,
    },
    /// The take-over met a newer claim, or its own claim was removed.
    Fenced {
        /// The group.
        group: GroupId,
        /// When: `take-over`, `write`, `rename`, `read`.
        during: &'static str,
    },
    /// The group's file can't be read or understood; the group is refused and the file is kept.
    Quarantined {
        /// The group.
        group: GroupId,
        /// What is wrong with it.
        reason: String,
    },
    /// The volume failed; the requests concerned were answered with an error.
    VolumeFailed {
        /// The group.
        group: GroupId,
        /// The operation, for example `rename`.
        operation: &'static str,
        /// The volume's own words.
        reason: String,
    },
    /// Several commits were published by one write.
    Batched {
        /// The group.
        group: GroupId,
        /// How many.
        commits: usize,
    },
    /// A group was dropped from memory because another broker coordinates it.
    Dropped {
        /// The group.
        group: GroupId,
        /// Who coordinates it, if anybody.
        owner: Option<BrokerId>,
        /// Whether the view's difference named it (`diff`) or only the sweep found it (`sweep`).
        found_by: &'static str,
        /// How many parked requests were answered NOT_COORDINATOR.
        parked: usize,
    },
    /// An empty group that nobody asked for was put away.
    Idle {
        /// The group.
        group: GroupId,
    },
    /// Offsets went because their retention ended.
    Expired {
        /// The group.
        group: GroupId,
        /// How many.
        offsets: usize,
    },
    /// A group moved to another state.
    State {
        /// The group.
        group: GroupId,
        /// The new state's name.
        state: &'static str,
        /// Its generation.
        generation: i32,
        /// How many members it has.
        members: usize,
    },
    /// A member was removed because a timer fired.
    MemberExpired {
        /// The group.
        group: GroupId,
        /// Which timer: `session`, `rebalance`, `sync`, `join`.
        timer: &'static str,
    },
    /// Something about a transactional id.
    Transaction {
        /// The id.
        id: TransactionalId,
        /// What.
        event: TxnEvent,
    },
    /// This broker may give out a block of producer ids.
    ProducerIdsTaken {
        /// The first of them.
        first: i64,
    },
    /// This broker has no producer ids to give out, for now.
    ProducerIdsRefused {
        /// Why.
        reason: String,
    },
}

/// Something notable about a transactional id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxnEvent {
    /// This broker took it over: the claim is made and the file is read.
    Loaded {
        /// The number of the last transaction.
        transaction: u64,
        /// Where it is; `none` if nobody has initialised the id.
        phase: &'static str,
        /// How many older claims were removed.
        claims_removed: usize,
    },
    /// The search of the volume found it waiting for its coordinator.
    Resumed,
    /// The decision is durable.
    Prepared {
        /// The number of the transaction.
        transaction: u64,
        /// Whether it commits or aborts.
        commit: bool,
    },
    /// All markers are written and that is durable.
    Completed {
        /// The number of the transaction.
        transaction: u64,
        /// `CompleteCommit` or `CompleteAbort`.
        phase: &'static str,
    },
    /// The transaction was open for too long: it aborts, and its producer is fenced.
    TimedOut {
        /// The number of the transaction.
        transaction: u64,
    },
    /// The take-over met a newer claim, or its own claim was removed.
    Fenced {
        /// When: `take-over`, `write`, `rename`, `read`.
        during: &'static str,
    },
    /// The file can't be read or understood; the id is refused and the file is kept.
    Quarantined {
        /// What is wrong with it.
        reason: String,
    },
    /// The volume failed; the requests concerned were answered with an error.
    VolumeFailed {
        /// The operation, for example `rename`.
        operation: &'static str,
        /// The volume's own words.
        reason: String,
    },
    /// It was dropped from memory because another broker coordinates it.
    Dropped {
        /// Who coordinates it, if anybody.
        owner: Option<BrokerId>,
        /// Whether the view's difference named it (`diff`) or only the sweep found it (`sweep`).
        found_by: &'static str,
        /// How many waiting requests were answered NOT_COORDINATOR.
        parked: usize,
    },
    /// Nobody asked for it and no transaction was open: it was put away.
    Idle,
    /// Its file went because nobody has used it for long.
    Expired,
}
