//! What a run leaves behind: its digest, its milestones, what each fault did, and, if it is to be
//! told, its trace.
//!
//! The digest folds (time, who, what) of everything that crosses a broker's border. It does not depend
//! on whether the run is told.

use std::{collections::BTreeMap, fmt, hash::Hasher};

use kaas_coordinator::{
    api::{ErrorCode, Response},
    ids::GroupId,
    note::{Note, TxnEvent},
};
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::{milestone::Milestone, trace::Trace};

/// A run's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub u128);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Record {
    now: u64,
    hasher: SipHasher13,
    events: u64,
    marks: Vec<u64>,
    effects: BTreeMap<usize, u64>,
    trace: Option<Trace>,
}

impl Record {
    /// An empty record; with a trace if the run is to be told.
    pub fn new(trace: Option<Trace>) -> Self {
        Self {
            now: 0,
            hasher: SipHasher13::new(),
            events: 0,
            marks: vec![0; Milestone::ALL.len()],
            effects: BTreeMap::new(),
            trace,
        }
    }

    /// Sets the world's time, in microseconds.
    pub fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    /// Something crossed a broker's border.
    pub fn fold(&mut self, who: u64, what: u64, value: u64) {
        self.events += 1;
        self.hasher.write_u64(self.now);
        self.hasher.write_u64(who << 8 | what);
        self.hasher.write_u64(value);
    }

    /// A milestone was reached.
    pub fn reach(&mut self, milestone: Milestone) {
        self.marks[milestone as usize] += 1;
    }

    /// A step of the plan had an effect.
    pub fn effect(&mut self, step: usize) {
        *self.effects.entry(step).or_default() += 1;
    }

    /// How many effects a step has had.
    pub fn count_effect(&self, step: usize) -> u64 {
        self.effects.get(&step).copied().unwrap_or(0)
    }

    /// Tells something, if the run is to be told.
    pub fn tell(&mut self, who: &str, what: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.tell(self.now, who, what());
        }
    }

    /// A step begins; what is told from here on is told under it, unless it has a time of its own.
    pub fn enter(&mut self, step: usize) {
        if let Some(trace) = &mut self.trace {
            trace.enter(self.now, step);
        }
    }

    /// A step that was waited for is over.
    pub fn leave(&mut self, step: usize) {
        if let Some(trace) = &mut self.trace {
            trace.leave(self.now, step);
        }
    }

    /// The script is over.
    pub fn settle(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.settle(self.now);
        }
    }

    /// A broker answered something about a group.
    pub fn answered(&mut self, group: &GroupId, response: &Response) {
        if let Some(trace) = &mut self.trace {
            trace.answered(group, response);
        }
    }

    /// A client receives an answer; `ends` are its name and the broker's.
    pub fn received(&mut self, ends: (&str, &str), response: &Response, is_single: bool) {
        if let Some(trace) = &mut self.trace {
            trace.received(self.now, ends, response, is_single);
        }
    }

    /// A client waits for an answer no more.
    pub fn unanswered(&mut self, client: &str, what: &str) {
        if let Some(trace) = &mut self.trace {
            trace.unanswered(self.now, client, what);
        }
    }

    /// How many events were folded.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The fingerprint of all that was folded.
    pub fn digest(&self) -> Digest {
        Digest(self.hasher.finish128().as_u128())
    }

    /// How often each milestone was reached.
    pub fn marks(&self) -> impl Iterator<Item = (Milestone, u64)> {
        Milestone::ALL.iter().copied().zip(self.marks.iter().copied())
    }

    /// The trace, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// An answer was an error.
    pub fn refused(&mut self, error: ErrorCode) {
        let milestone = match error {
            ErrorCode::RequestTimedOut => Milestone::AnsweredTimedOut,
            ErrorCode::CoordinatorLoadInProgress => Milestone::AnsweredLoading,
            ErrorCode::CoordinatorNotAvailable => Milestone::AnsweredNotAvailable,
            ErrorCode::NotCoordinator => Milestone::AnsweredNotCoordinator,
            ErrorCode::IllegalGeneration => Milestone::AnsweredIllegalGeneration,
            ErrorCode::UnknownMemberId => Milestone::AnsweredUnknownMember,
            ErrorCode::RebalanceInProgress => Milestone::AnsweredRebalance,
            ErrorCode::MemberIdRequired => Milestone::AnsweredMemberIdRequired,
            ErrorCode::UnstableOffsetCommit => Milestone::AnsweredUnstable,
            ErrorCode::FencedInstanceId => Milestone::AnsweredFencedInstance,
            ErrorCode::InconsistentGroupProtocol => Milestone::AnsweredInconsistent,
            ErrorCode::GroupMaxSizeReached => Milestone::AnsweredGroupFull,
            ErrorCode::InvalidSessionTimeout => Milestone::AnsweredInvalidSession,
            ErrorCode::None
            | ErrorCode::UnknownServerError
            | ErrorCode::UnknownTopicOrPartition
            | ErrorCode::OffsetMetadataTooLarge
            | ErrorCode::InvalidGroupId
            | ErrorCode::InvalidCommitOffsetSize
            | ErrorCode::InvalidRequest
            | ErrorCode::InvalidProducerEpoch
            | ErrorCode::InvalidTxnState
            | ErrorCode::InvalidProducerIdMapping
            | ErrorCode::InvalidTransactionTimeout
            | ErrorCode::ConcurrentTransactions
            | ErrorCode::NonEmptyGroup
            | ErrorCode::GroupIdNotFound
            | ErrorCode::GroupSubscribedToTopic
            | ErrorCode::ProducerFenced => return,
        };
        self.reach(milestone);
    }

    /// A broker wrote a note.
    pub fn noted(&mut self, broker: usize, name: &str, note: &Note) {
        self.fold(broker as u64, 7, kind_of(note));
        self.mark_note(note);
        if let Some(trace) = &mut self.trace {
            trace.noted(self.now, name, note);
        }
    }

    fn mark_transaction(&mut self, event: &TxnEvent) {
        match event {
            TxnEvent::Loaded { phase: "PrepareCommit" | "PrepareAbort", .. } => {
                self.reach(Milestone::TxnTakenOverPrepared);
            }
            TxnEvent::Loaded { phase: "Ongoing", .. } => self.reach(Milestone::TxnTakenOverOpen),
            TxnEvent::Resumed => self.reach(Milestone::TxnResumed),
            TxnEvent::Prepared { .. } => self.reach(Milestone::TxnPrepared),
            TxnEvent::TimedOut { .. } => self.reach(Milestone::TxnTimedOut),
            TxnEvent::Fenced { .. } => self.reach(Milestone::TxnFenced),
            TxnEvent::VolumeFailed { .. } => self.reach(Milestone::TxnVolumeFailed),
            TxnEvent::Loaded { .. }
            | TxnEvent::Completed { .. }
            | TxnEvent::Quarantined { .. }
            | TxnEvent::Dropped { .. }
            | TxnEvent::Idle
            | TxnEvent::Expired => {}
        }
    }

    fn mark_note(&mut self, note: &Note) {
        match note {
            Note::ViewApplied { .. } => self.reach(Milestone::ViewApplied),
            Note::ViewRefused { reason } => self.reach(match *reason {
                "older than the applied view" => Milestone::ViewOlderRefused,
                "older than the controller lease" => Milestone::ViewBehindLeaseRefused,
                "another view of the same version" => Milestone::ViewTwinRefused,
                _ => Milestone::ViewUnreadable,
            }),
            Note::ViewStale => self.reach(Milestone::ViewStale),
            Note::ViewFresh => self.reach(Milestone::ViewFresh),
            Note::Loaded { offsets, pending, claims_removed, .. } => {
                if *pending > 0 {
                    self.reach(Milestone::LoadedPending);
                }
                let is_new = *offsets == 0;
                self.reach(if is_new { Milestone::LoadedNothing } else { Milestone::Loaded });
                if *claims_removed > 0 {
                    self.reach(Milestone::ClaimRemoved);
                }
            }
            Note::Fenced { during, .. } => self.reach(match *during {
                "take-over" => Milestone::FencedAtTakeOver,
                "write" => Milestone::FencedAtWrite,
                "sync" => Milestone::FencedAtSync,
                "rename" => Milestone::FencedAtRename,
                _ => Milestone::FencedAtRead,
            }),
            Note::Quarantined { .. } | Note::Expired { .. } => {}
            Note::VolumeFailed { operation, .. } => {
                if matches!(*operation, "rename" | "sync directory") {
                    self.reach(Milestone::ChangeInDoubt);
                }
            }
            Note::Batched { .. } => self.reach(Milestone::Batched),
            Note::Dropped { found_by, parked, .. } => {
                let by_diff = *found_by == "diff";
                self.reach(if by_diff {
                    Milestone::DroppedByDiff
                } else {
                    Milestone::DroppedBySweep
                });
                if *parked > 0 {
                    self.reach(Milestone::DroppedWithParked);
                }
            }
            Note::Idle { .. } => self.reach(Milestone::PutAway),
            Note::Transaction { event, .. } => self.mark_transaction(event),
            Note::ProducerIdsTaken { .. } => self.reach(Milestone::ProducerIdsTaken),
            Note::State { state, .. } => match *state {
                "Empty" => self.reach(Milestone::StateEmpty),
                "PreparingRebalance" => self.reach(Milestone::StatePreparing),
                "CompletingRebalance" => self.reach(Milestone::StateCompleting),
                "Stable" => self.reach(Milestone::StateStable),
                _ => {}
            },
            Note::MemberExpired { timer, .. } => match *timer {
                "session" => self.reach(Milestone::SessionExpired),
                "rebalance" => self.reach(Milestone::RebalanceExpired),
                "sync" => self.reach(Milestone::SyncExpired),
                _ => {}
            },
            Note::ProducerIdsRefused { .. } => {}
        }
    }
}

/// A number for what happens to a transactional id, for the digest.
fn kind_of_event(event: &TxnEvent) -> u64 {
    match event {
        TxnEvent::Loaded { transaction, .. } => 1 + (transaction << 8),
        TxnEvent::Resumed => 2,
        TxnEvent::Prepared { transaction, commit } => 3 + u64::from(*commit) + (transaction << 8),
        TxnEvent::Completed { transaction, .. } => 5 + (transaction << 8),
        TxnEvent::TimedOut { transaction } => 6 + (transaction << 8),
        TxnEvent::Fenced { .. } => 7,
        TxnEvent::Quarantined { .. } => 8,
        TxnEvent::VolumeFailed { .. } => 9,
        TxnEvent::Dropped { .. } => 10,
        TxnEvent::Idle => 11,
        TxnEvent::Expired => 12,
    }
}

/// A number for each kind of note, for the digest.
fn kind_of(note: &Note) -> u64 {
    match note {
        Note::ViewApplied { epoch, version } => {
            1 + ((epoch.unsigned_abs() << 32 | version.unsigned_abs()) << 8)
        }
        Note::ViewRefused { .. } => 2,
        Note::ViewStale => 3,
        Note::ViewFresh => 4,
        Note::Loaded { offsets, .. } => 5 + ((*offsets as u64) << 8),
        Note::Fenced { .. } => 6,
        Note::Quarantined { .. } => 7,
        Note::VolumeFailed { .. } => 8,
        Note::Batched { commits, .. } => 9 + ((*commits as u64) << 8),
        Note::Dropped { .. } => 10,
        Note::Idle { .. } => 11,
        Note::Expired { .. } => 12,
        Note::State { generation, members, .. } => {
            13 + ((u64::from(generation.unsigned_abs()) << 16 | *members as u64) << 8)
        }
        Note::MemberExpired { .. } => 14,
        Note::Transaction { event, .. } => 15 + (kind_of_event(event) << 8),
        Note::ProducerIdsTaken { first } => 16 + (first.unsigned_abs() << 8),
        Note::ProducerIdsRefused { .. } => 17,
    }
}
