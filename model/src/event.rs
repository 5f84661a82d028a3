//! What can be seen of a cluster from outside: the vocabulary of a history.
//!
//! A history is a sequence of [`Event`]s in the order in which they happened in the world. It names
//! what brokers emit, what clients invoke and get back, what the shared volume shows and what
//! changed on it. It is not a log of a broker's inner steps: nothing here needs a look into its
//! memory, except the [`What::Census`], which a broker gives of itself.
//!
//! Always: positions in the sequence are the order of the world; `local` values of one broker never
//! decrease between two starts of it, and `local` values of different brokers are not comparable.

use std::{fmt, sync::Arc};

/// Any name: of a broker, a group, a member, a client, a partition, a path.
pub type Name = Arc<str>;

/// A point in time or a span, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Micros(pub u64);

impl Micros {
    /// So many whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Micros {
        Micros(millis * 1000)
    }

    /// So many whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Micros {
        Micros(secs * 1_000_000)
    }

    /// This minus `other`, or zero if that would be negative.
    #[must_use]
    pub const fn less(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }

    /// This plus `other`.
    #[must_use]
    pub const fn plus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }
}

/// Milliseconds; the fraction only if there is one: `2980ms`, `2980.004ms`.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 % 1000 {
            0 => write!(f, "{}ms", self.0 / 1000),
            fraction => write!(f, "{}.{fraction:03}ms", self.0 / 1000),
        }
    }
}

/// The number a history gives to one content of `assignment.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewId(pub u32);

/// A broker's health as a view states it. Only `Alive` counts for routing by hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Health {
    /// Serves.
    Alive,
    /// About to leave; still part of the full set.
    Draining,
    /// Gone for now; still part of the full set.
    Dead,
}

/// What a key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A consumer group id; explicit entries count.
    Group,
    /// A transactional id; routed by hash only.
    Transaction,
}

/// How an operation on offsets ended, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// Acknowledged.
    Ok,
    /// Refused, and certainly without effect.
    Refused,
    /// Nobody can say: no answer, or one that leaves it open. It may take effect at any later time,
    /// or never.
    Unknown,
}

/// One key in a broker's memory, as its census states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The group id or transactional id.
    pub key: Name,
    /// Which of the two.
    pub kind: Kind,
    /// It has members, parked requests or running ones.
    pub in_use: bool,
    /// How long ago it was last used, on the broker's clock.
    pub idle: Micros,
}

/// Something that happened, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The world's time. Never decreases along a history.
    pub at: Micros,
    /// What happened.
    pub what: What,
}

/// Everything that can happen. A field `local` is the named broker's own monotonic clock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "a field that is not explained at its variant is the thing its name says"
)]
pub enum What {
    /// A new incarnation of the broker begins; nothing it knew before survives, its clock may start
    /// anew. What the file and the lease show stays as it was.
    BrokerStarted { broker: Name, local: Micros },
    /// The broker died or exited. Requests outstanding at it are void.
    BrokerStopped { broker: Name },
    /// The process was stopped in place. Its clock runs on.
    BrokerPaused { broker: Name, local: Micros },
    /// The stopped process runs again.
    BrokerResumed { broker: Name, local: Micros },

    /// A content of `assignment.json`. Must come before the view is shown anywhere. Of several
    /// entries for one group (or one broker) the first counts.
    ViewDefined {
        view: ViewId,
        epoch: i64,
        version: i64,
        brokers: Vec<(Name, Health)>,
        explicit: Vec<(Name, Name)>,
    },
    /// From now on reading the file shows this broker that view; `None`: missing, torn or
    /// unreadable. Brokers may be shown different files at a time.
    FileShows { broker: Name, view: Option<ViewId>, local: Micros },
    /// From now on reading the controller's lease tells this broker that epoch.
    LeaseShows { broker: Name, epoch: i64, local: Micros },
    /// The broker says that it applied this view.
    ViewApplied { broker: Name, epoch: i64, version: i64, local: Micros },

    /// The broker emitted a success that speaks for this key. `what` names the request (`join`,
    /// `commit`, `describe`, ...); `describe` is judged under read-filter.
    Served { broker: Name, local: Micros, key: Name, kind: Kind, what: &'static str },
    /// The broker emitted a successful answer to "who coordinates this key"; `None`: nobody does.
    Located { broker: Name, local: Micros, key: Name, kind: Kind, coordinator: Option<Name> },

    /// A client is about to commit one partition. `write` is unique to this attempt: a retry is
    /// another operation with another number. `op` is unique among all operations.
    CommitInvoked { op: u64, client: Name, group: Name, partition: Name, write: u64, offset: i64 },
    /// The commit `op`, which was just invoked, goes over the same connection as `after`, behind it: of
    /// two that are acknowledged, it is the newer.
    CommitFollows { op: u64, after: u64 },
    /// A client is about to delete the committed offset of one partition (or the whole group, one
    /// op a partition).
    DeleteInvoked { op: u64, client: Name, group: Name, partition: Name },
    /// A commit or delete came back to its client. One that never comes back is `Unknown`.
    Returned { op: u64, outcome: Outcome },
    /// A client is about to fetch the committed offset of one partition.
    FetchInvoked { op: u64, client: Name, group: Name, partition: Name },
    /// The fetch was answered: the offset and the number of the write that carried it, or nothing
    /// committed.
    Fetched { op: u64, value: Option<(i64, u64)> },
    /// The fetch gave no value.
    FetchFailed { op: u64 },

    /// The fetch `op`, which was just invoked, wants to hear nothing rather than an offset that an
    /// open or half-ended transaction may change (KIP-447).
    FetchIsStable { op: u64 },
    /// The stable fetch was refused: the offset may change when a transaction ends, or a commit is
    /// under way.
    FetchUnstable { op: u64 },

    /// A client was told who it is as producer of a transactional id. `epoch` rises under one
    /// `producer`; who has an older one is fenced. `anew`: it named none, so it can't be told again
    /// what somebody was told before.
    ProducerReady { id: Name, client: Name, producer: i64, epoch: i16, anew: bool },
    /// A client begins a transaction as that producer. `txn` numbers the transactions of a run.
    TxnBegun { txn: u64, id: Name, client: Name, producer: i64, epoch: i16 },
    /// A client is about to commit the offset of one partition in its transaction; `Returned` tells
    /// how that ended.
    TxnCommitInvoked { op: u64, txn: u64, group: Name, partition: Name, write: u64, offset: i64 },
    /// A client is about to ask for the end of its transaction; again, if it heard nothing.
    TxnEndInvoked { txn: u64, commit: bool },
    /// The answer: `Ok` decides; `Refused` says that this request decided nothing. Requests for the
    /// same end of a transaction are answered (or given up) in the order in which they were made.
    TxnEndReturned { txn: u64, commit: bool, outcome: Outcome },
    /// What the transaction made of the records `from..to` of an input partition, which the group
    /// consumes, counts from now on: its marker has reached the partition of the output.
    EffectCounted { txn: u64, group: Name, partition: Name, from: i64, to: i64 },
    /// When everything had time to come to rest, the group's committed offset in an input partition,
    /// `None` if there is none.
    ProcessedAtEnd { group: Name, partition: Name, upto: Option<i64> },

    /// The broker told this client a member id, by whatever answer.
    MemberIdIssued { group: Name, client: Name, member: Name },
    /// The leader is about to be told of which static member this is the id: what its list says.
    InstanceListed { group: Name, reign: u64, member: Name, instance: Name },
    /// The broker emitted a success of JoinGroup. `reign` numbers the take-overs of the group,
    /// rising; a group that was removed and begins again begins a new reign. `instance`: the static
    /// identity the client asked with, if any; `session`: the timeout it asked for; `said`: what it
    /// told of itself under that protocol, `None` if it did not offer it. `members`, which the leader
    /// alone is told: who there is, and what each said.
    JoinAnswered {
        broker: Name,
        group: Name,
        reign: u64,
        generation: i32,
        client: Name,
        member: Name,
        instance: Option<Name>,
        session: Micros,
        leader: Name,
        protocol: Name,
        said: Option<Vec<u8>>,
        members: Vec<(Name, Vec<u8>)>,
    },
    /// The broker has told a member that it has left, or somebody that it was made to.
    MemberLeft { group: Name, reign: u64, member: Name },
    /// A JoinGroup that names a member reached a broker.
    JoinSent { group: Name, member: Name },
    /// A SyncGroup request reached the broker, with the assignment if the sender has one to give.
    SyncSent {
        broker: Name,
        group: Name,
        reign: u64,
        generation: i32,
        member: Name,
        assignments: Vec<(Name, Vec<u8>)>,
    },
    /// The broker emitted a success of SyncGroup; `partitions` is what the bytes mean.
    SyncAnswered {
        broker: Name,
        group: Name,
        reign: u64,
        generation: i32,
        member: Name,
        assignment: Vec<u8>,
        partitions: Vec<Name>,
    },
    /// A commit that names a member reached the broker. Of a commit over several partitions any one
    /// op will do.
    CommitArrived { op: u64, broker: Name, group: Name, member: Name, generation: i32 },
    /// The broker emitted a success (for at least one partition) for that commit, in this reign.
    CommitAccepted { op: u64, reign: u64 },

    /// A Heartbeat reached the broker.
    HeartbeatArrived { request: u64, broker: Name, group: Name, member: Name, generation: i32 },
    /// The broker has answered it; `well`: it told the member, in this reign, that all is well.
    HeartbeatAnswered { request: u64, reign: u64, well: bool },

    /// A request reached the broker, which must answer within `bound` of its own clock.
    RequestArrived { request: u64, broker: Name, local: Micros, bound: Micros, what: &'static str },
    /// The broker emitted the answer, success or not.
    RequestAnswered { request: u64, local: Micros },
    /// Nobody waits for the answer any more: the connection is gone.
    RequestVoid { request: u64 },

    /// A broker (never the controller) changed this path of the shared volume. `group`: the id
    /// stored in the new content; `None` if the file was removed or holds no offsets.
    FileChanged { path: Name, group: Option<Name> },
    /// The offset file of a group became unreadable for good, by no broker's doing. A broker that
    /// publishes another in its place has made it good.
    FileLost { group: Name },
    /// From now on nobody reaches this broker, neither clients nor brokers, for good. Views
    /// may go on to say that it is alive.
    Unreachable { broker: Name },

    /// What the broker holds in memory now.
    Census { broker: Name, local: Micros, held: Vec<Held> },
    /// From now on views do not change, and every live broker has had time to see the last one.
    Settled,
    /// The broker emitted an answer to ListGroups. Answers to one question put to all brokers share
    /// `round`; `complete`: it did not say that groups may be missing.
    Listed { broker: Name, local: Micros, round: u64, groups: Vec<Name>, complete: bool },
    /// The state of a group when everything had time to come to rest: its subscribed partitions,
    /// what each client that is or was of it holds, and what it waits for, if it is not stable.
    GroupAtEnd {
        group: Name,
        partitions: Vec<Name>,
        held: Vec<(Name, Vec<Name>)>,
        pending: Option<Name>,
    },
}
