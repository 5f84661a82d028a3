//! A run as data: the cluster, its groups and clients, and what happens to them.
//!
//! A plan is what is stored, shrunk, edited and reviewed; a seed is only its author (`draw.rs`). It
//! prints as a scenario file and parses back to the same plan (`text.rs`). Everything random that
//! happens while it runs comes from named streams of its seed, so one step more or less moves no
//! draw of another.

use std::time::Duration;

use crate::release::Release;

mod kinds;
mod lookups;
mod manner;
mod moment;

pub use self::{
    kinds::{Damage, Exit, Failure, Goodbye, Operation, Way},
    manner::Manner,
    moment::{Moment, THERE, When},
};

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the scenario claims: its first comment block, a line each.
    pub claim: Vec<String>,
    /// The seed of the run's streams.
    pub seed: u64,
    /// How many brokers there are at first, `kaas-0` and up.
    pub brokers: u32,
    /// The release that all brokers begin with.
    pub release: Release,
    /// How long a message takes.
    pub network: Span,
    /// How long an operation on the volume takes.
    pub volume: Span,
    /// By how much broker clocks may run fast or slow, in parts per million.
    pub drift_ppm: u32,
    /// When the first clients start and how far apart they are.
    pub stagger: Duration,
    /// How many members a group may have; any number if `None`.
    pub group_max: Option<u32>,
    /// The topics.
    pub topics: Vec<Topic>,
    /// Who uses the cluster.
    pub clients: Vec<Clients>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// A range of durations, drawn from evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The shortest.
    pub min: Duration,
    /// The longest.
    pub max: Duration,
}

impl Span {
    /// Always the same.
    pub const fn fixed(duration: Duration) -> Self {
        Self { min: duration, max: duration }
    }
}

/// A topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u32,
}

/// Some clients of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clients {
    /// A consumer group; its members are `name.1` and up.
    Group {
        /// The group's id.
        name: String,
        /// What it consumes.
        topic: String,
        /// How many consumers.
        members: u32,
        /// How often each commits.
        commit_every: Duration,
        /// Their session timeout.
        session: Duration,
        /// Their rebalance timeout.
        rebalance: Duration,
        /// How often each heartbeats.
        heartbeat: Duration,
        /// Whether they are static: each has an instance id, its name.
        is_static: bool,
        /// The timeout of their transactions, if they process what they consume in those.
        transactions: Option<Duration>,
    },
    /// One more member of a group, which does not do what a member should; until the faults end.
    Rude {
        /// The group, one with members.
        group: String,
        /// What it does.
        manner: Manner,
        /// How long it waits before it does it again.
        every: Duration,
        /// When it begins.
        from: Duration,
    },
    /// One client that commits and reads without joining.
    Committer {
        /// How many commits it has under way at once.
        at_once: u32,
        /// The group it commits for.
        name: String,
        /// What it commits.
        topic: String,
        /// How often.
        every: Duration,
    },
    /// One client that reads the offsets of a group again and again, and stays with the broker that
    /// it found as long as that answers.
    Reader {
        /// The group it reads.
        name: String,
        /// How often.
        every: Duration,
    },
    /// Groups that live for one commit and one read, one after the other. Some have odd ids.
    OneShot {
        /// What their ids begin with.
        name: String,
        /// How many.
        count: u32,
        /// How far apart they begin.
        every: Duration,
        /// Whether every other one has an id that is not a plain file name.
        odd_ids: bool,
        /// Whether every third one deletes its group afterwards.
        delete: bool,
    },
    /// One client that lists, describes and fetches everything on every broker.
    Admin {
        /// Its name.
        name: String,
        /// How often.
        every: Duration,
    },
}

/// One line of what happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// When it begins, since the start of the run. Without it, when the step before is over.
    pub at: Option<Duration>,
    /// What it waits for from then on, if it does; the script goes on meanwhile.
    pub when: Option<When>,
    /// What happens.
    pub action: Action,
}

/// A broker's name, `kaas-<ordinal>`.
pub type BrokerName = String;

/// What can happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing, for so long.
    Wait {
        /// How long.
        duration: Duration,
    },
    /// Waits until the groups (all of them if none is named) are stable.
    Stable {
        /// Which groups.
        groups: Vec<String>,
        /// How long that may take.
        within: Duration,
    },
    /// A broker goes and comes back.
    Restart {
        /// Which.
        broker: BrokerName,
        /// How long it is away.
        down: Duration,
        /// How it goes.
        exit: Exit,
    },
    /// A broker goes and comes back as one of another release.
    Install {
        /// Which.
        broker: BrokerName,
        /// What it is from its next start on.
        release: Release,
        /// How long it is away.
        down: Duration,
        /// How it goes.
        exit: Exit,
    },
    /// A broker dies and does not come back by itself.
    Kill {
        /// Which.
        broker: BrokerName,
        /// What its peers see.
        peers: Goodbye,
    },
    /// A broker that was killed, or is new after `scale`, starts.
    Start {
        /// Which.
        broker: BrokerName,
    },
    /// A broker is stopped in place and goes on after a while.
    Pause {
        /// Which.
        broker: BrokerName,
        /// How long.
        duration: Duration,
    },
    /// A broker gets the processor in short slices only.
    Starve {
        /// Which.
        broker: BrokerName,
        /// How many of a hundred parts of its time it does not get.
        percent: u32,
        /// How long.
        duration: Duration,
    },
    /// The task of a request that has to wait dies in the middle; its connection is reset.
    Panic {
        /// At which broker.
        broker: BrokerName,
        /// The how many-th such request from here on, 1 for the next.
        nth: u32,
    },
    /// A broker's clock jumps forward.
    Jump {
        /// Whose.
        broker: BrokerName,
        /// By how much.
        by: Duration,
    },
    /// A broker's clock stands still, and goes on from where it stood.
    StopClock {
        /// Whose.
        broker: BrokerName,
        /// How long.
        duration: Duration,
    },
    /// The controller believes a healthy broker dead.
    Flap {
        /// Which.
        broker: BrokerName,
        /// How long.
        duration: Duration,
    },
    /// The full broker set gets another size; brokers beyond it stop for good, new ones start.
    Scale {
        /// How many brokers.
        to: u32,
    },
    /// An explicit entry appears, moves, or vanishes.
    Entry {
        /// The group.
        group: String,
        /// Its coordinator; `None` removes the entry.
        broker: Option<BrokerName>,
        /// Whether it stays published while that broker is not alive, until another replaces it.
        stays: bool,
    },
    /// Another controller takes the lease; the deposed one writes a view of its own, late.
    Depose {
        /// How long after.
        delay: Duration,
    },
    /// Another controller takes the lease and needs a while before it publishes.
    Elect {
        /// How long.
        delay: Duration,
        /// Whether its versions begin with 1 again.
        reset: bool,
    },
    /// A second controller of the same epoch publishes another view under the next version.
    Twin {
        /// Which broker it believes dead.
        broker: BrokerName,
        /// How long it goes on.
        duration: Duration,
    },
    /// `assignment.json` is damaged.
    Damage {
        /// How.
        how: Damage,
        /// How long, at most: the next view that is published mends it.
        duration: Duration,
    },
    /// What a broker reads of `assignment.json` stays as it was.
    Lag {
        /// Which.
        broker: BrokerName,
        /// How long.
        duration: Duration,
        /// Whether it even reads what the file was before.
        back: bool,
    },
    /// What a broker is told of the controller's lease stays as it was.
    OldLease {
        /// Which.
        broker: BrokerName,
        /// How long.
        duration: Duration,
        /// Whether it is even told the epoch before.
        back: bool,
    },
    /// Messages between clients and a broker do not arrive.
    Cut {
        /// Which broker.
        broker: BrokerName,
        /// Which client; all if none is named.
        client: Option<String>,
        /// In which direction.
        way: Way,
        /// How long.
        duration: Duration,
    },
    /// Nobody reaches a broker any more, for good: neither clients nor brokers. The controller does.
    CutOff {
        /// Which broker.
        broker: BrokerName,
    },
    /// New connections to a broker hang.
    BlackHole {
        /// Which.
        broker: BrokerName,
        /// How long.
        duration: Duration,
    },
    /// All connections to a broker are reset.
    Reset {
        /// Which.
        broker: BrokerName,
    },
    /// Messages to and from a broker take longer.
    Slow {
        /// Which.
        broker: BrokerName,
        /// By how much.
        by: Duration,
        /// How long.
        duration: Duration,
    },
    /// Operations on the volume fail.
    Fail {
        /// Whose; everybody's if nobody is named.
        broker: Option<BrokerName>,
        /// With what error.
        error: Failure,
        /// Which operations.
        on: Operation,
        /// How many of a hundred.
        percent: u32,
        /// How long.
        duration: Duration,
    },
    /// Operations on the volume take longer.
    SlowVolume {
        /// Whose; everybody's if nobody is named.
        broker: Option<BrokerName>,
        /// By how much.
        by: Duration,
        /// How long.
        duration: Duration,
    },
    /// A broker stops in the middle of a volume operation: it has reached the volume, its answer has
    /// not reached the broker.
    StopIn {
        /// Which.
        broker: BrokerName,
        /// In which operation.
        on: Operation,
        /// In the how many-th from here on, 1 for the next.
        nth: u32,
        /// For how long it is paused; `None` kills it, and it comes back after three seconds.
        pause: Option<Duration>,
    },
    /// The volume moves to its standby: directory entries that were not synced are lost.
    Failover,
    /// A client leaves its group and the cluster.
    Leave {
        /// Which, `group.n`.
        client: String,
    },
    /// A client stops in place, with its connections, and wakes up after a while.
    Freeze {
        /// Which, `group.n`.
        client: String,
        /// How long.
        duration: Duration,
    },
    /// A client's process dies and begins anew after a while, with nothing but its names.
    Crash {
        /// Which, `group.n`.
        client: String,
        /// How long it is away.
        down: Duration,
        /// Whether it still knows its member id.
        keeps_id: bool,
        /// What brokers see of it.
        peers: Goodbye,
    },
    /// A second process runs under the instance id of a static member.
    Duplicate {
        /// Of which, `group.n`.
        client: String,
        /// How long.
        duration: Duration,
    },
    /// An offset file becomes unreadable by bit rot, for good.
    Rot {
        /// Whose.
        group: String,
    },
}

impl Action {
    /// Whether it is a fault, which must have an effect to count as injected.
    pub fn is_fault(&self) -> bool {
        !matches!(
            self,
            Self::Wait { .. } | Self::Stable { .. } | Self::Start { .. } | Self::Leave { .. }
        )
    }
}
