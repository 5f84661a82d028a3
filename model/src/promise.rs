//! The promises by name, what a broken one looks like, and the book that is kept of both.
//!
//! A [`Violation`] is evidence for a person: plain sentences that say what was expected, what was
//! seen, who and when. It is not an error type; a history that breaks a promise is still observed
//! to its end.
//!
//! Always: a promise counts a check only when it really compared something, and a [`Report`] names
//! all promises.

use crate::event::{Micros, Name};
use std::{collections::BTreeMap, fmt};

/// What users may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// A broker speaks only for keys that a confirmed view routes to it.
    UniqueOwnership,
    /// Who owns a key follows from the view by the fixed rule.
    StableDivisor,
    /// Memory holds what is owned and in use, no more.
    BoundedMemory,
    /// Committed offsets are linearizable.
    OffsetDurability,
    /// Old members change nothing.
    NoZombieCommit,
    /// A generation is one and the same for all its members.
    GenerationAgreement,
    /// A partition has one member.
    ExclusiveAssignment,
    /// A transaction shows whole or not at all.
    TxnIsolation,
    /// List and describe know their place.
    ReadFilter,
    /// Everybody gets an answer in time.
    ReplyBound,
    /// No file but one's own.
    VolumeConfinement,
    /// Rest follows trouble.
    Convergence,
}

impl Promise {
    /// All of them, in the order of the documents.
    pub const ALL: [Promise; 12] = [
        Promise::UniqueOwnership,
        Promise::StableDivisor,
        Promise::BoundedMemory,
        Promise::OffsetDurability,
        Promise::NoZombieCommit,
        Promise::GenerationAgreement,
        Promise::ExclusiveAssignment,
        Promise::TxnIsolation,
        Promise::ReadFilter,
        Promise::ReplyBound,
        Promise::VolumeConfinement,
        Promise::Convergence,
    ];

    /// The name by which documents, traces and failures call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Promise::UniqueOwnership => "unique-ownership",
            Promise::StableDivisor => "stable-divisor",
            Promise::BoundedMemory => "bounded-memory",
            Promise::OffsetDurability => "offset-durability",
            Promise::NoZombieCommit => "no-zombie-commit",
            Promise::GenerationAgreement => "generation-agreement",
            Promise::ExclusiveAssignment => "exclusive-assignment",
            Promise::TxnIsolation => "txn-isolation",
            Promise::ReadFilter => "read-filter",
            Promise::ReplyBound => "reply-bound",
            Promise::VolumeConfinement => "volume-confinement",
            Promise::Convergence => "convergence",
        }
    }

    /// What is promised, in one sentence.
    #[must_use]
    pub const fn claim(self) -> &'static str {
        match self {
            Promise::UniqueOwnership => {
                "under one view at most one broker owns a key; a broker that lost a group \
                 answers no success for it more than the staleness bound after the newer view \
                 was published, by its own clock"
            }
            Promise::StableDivisor => {
                "a key changes owner only if its explicit entry, its preferred broker's health, \
                 or (while the preferred is down) the alive set changed, or the full set was \
                 scaled"
            }
            Promise::BoundedMemory => {
                "once views settle, a broker holds nothing for keys it does not own, and what \
                 it holds for its own is bounded by what is in use"
            }
            Promise::OffsetDurability => {
                "after an acknowledged commit every answer to OffsetFetch, by anybody, at any \
                 time, after any crash, is that commit or a later one"
            }
            Promise::NoZombieCommit => {
                "a member that is not of the current generation changes no offset"
            }
            Promise::GenerationAgreement => {
                "all members of a generation agree on leader and protocol, which each of them \
                 offered, and are no more than allowed; the leader hears what each said of itself, \
                 each gets exactly what the leader assigned; generations never go backwards within \
                 one reign; no two clients share a member id"
            }
            Promise::ExclusiveAssignment => "within one generation no partition has two members",
            Promise::TxnIsolation => {
                "offsets of a transaction are visible if and only if it committed, all of them, \
                 exactly once"
            }
            Promise::ReadFilter => {
                "list and describe speak only for owned groups; over all brokers there are no \
                 duplicates and no strangers once views settle"
            }
            Promise::ReplyBound => {
                "every request is answered within the bound that its own timeouts give"
            }
            Promise::VolumeConfinement => {
                "no group id, however odd, changes a file outside its own"
            }
            Promise::Convergence => {
                "when faults end, every group becomes stable with every partition assigned; if \
                 not, the reason is named"
            }
        }
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Evidence that a promise broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which promise.
    pub promise: Promise,
    /// When it showed, in the world's time.
    pub at: Micros,
    /// The group, key, broker or path it is about.
    pub subject: Name,
    /// Sentences: what was seen, and what was expected and why.
    pub evidence: Vec<String>,
}

/// A line for the violation and one for each sentence.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} broke for {} at {}", self.promise, self.subject, self.at)?;
        for sentence in &self.evidence {
            write!(f, "\n  {sentence}")?;
        }
        Ok(())
    }
}

/// Why it is nobody's fault that a group is not at rest at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Its offset file became unreadable, by no broker's doing.
    FileLost,
    /// Nobody reaches the broker that coordinates it.
    CoordinatorUnreachable,
    /// Nobody reaches the broker that coordinates the transactions of one of its members.
    TransactionsUnreachable,
}

impl Reason {
    /// All of them. Of several that hold, the first is given.
    pub const ALL: [Reason; 3] =
        [Reason::FileLost, Reason::CoordinatorUnreachable, Reason::TransactionsUnreachable];

    /// The name by which reports call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::FileLost => "file-lost",
            Reason::CoordinatorUnreachable => "coordinator-unreachable",
            Reason::TransactionsUnreachable => "transactions-unreachable",
        }
    }
}

/// A group that is not at rest at the end, for a reason that the history shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excuse {
    /// Which group.
    pub group: Name,
    /// The reason.
    pub reason: Reason,
    /// Sentences: what is not at rest, and last, what shows the reason.
    pub evidence: Vec<String>,
}

/// What a whole history came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The evidence, in the order in which it was found; see [`Report::suppressed`].
    pub violations: Vec<Violation>,
    /// How often each promise was really checked. All promises are present.
    pub checked: BTreeMap<Promise, u64>,
    /// The groups that were not at rest at the end, and need not have been.
    pub excused: Vec<Excuse>,
    /// Partitions whose offsets could not be decided within [`Limits::search`].
    pub undecided: u64,
    /// Further violations that were counted and not kept: more of the same promise and subject, or
    /// too many.
    pub suppressed: u64,
}

/// The bounds a history is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a view that is no longer confirmed may be acted on, and how long a starting broker
    /// may trust itself.
    pub staleness: Micros,
    /// How long after that a broker may take to drop what it lost.
    pub slack: Micros,
    /// How long an unused key may stay in memory.
    pub idle: Micros,
    /// By how many thousandths a broker's clock may run slower than the world's.
    pub drift_permille: u64,
    /// How many members a group may have.
    pub members: usize,
    /// The shortest and the longest session timeout a member may have.
    pub sessions: (Micros, Micros),
    /// How many states the search for one partition's order may visit before it is given up as
    /// undecided.
    pub search: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            staleness: Micros::from_secs(3),
            slack: Micros::from_secs(2),
            idle: Micros::from_secs(60),
            drift_permille: 100,
            members: usize::MAX,
            sessions: (Micros(0), Micros(u64::MAX)),
            search: 200_000,
        }
    }
}
