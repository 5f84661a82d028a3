//! One consumer group: Kafka's classic group protocol as a synchronous state machine.
//!
//! A [`Group`] is told the time and a request and returns what to answer; a request whose answer
//! must wait is parked under the [`Ticket`] its caller chose, and comes back later as a [`Reply`].
//! The caller asks [`Group::deadline`] when to look again and then calls [`Group::tick`]. There is
//! no clock, no task and no randomness in here, and nothing is stored: membership lives and dies
//! with the object. Who owns the group, whether it exists, and its offsets are the manager's
//! business.
//!
//! | file | holds |
//! |---|---|
//! | `join.rs` | JoinGroup, from first contact to a rejoin |
//! | `replace.rs` | a static member that comes back under a new member id (KIP-345) |
//! | `rebalance.rs` | the join phase: how it begins, is extended, and ends in a generation |
//! | `sync.rs` | SyncGroup: the leader's assignment reaches everybody |
//! | `liveness.rs` | Heartbeat, sessions and what happens when a timer fires |
//! | `leave.rs` | LeaveGroup and every other way a member goes |
//! | `close.rs` | the end of a connection, of ownership, of the group |
//! | `commit.rs` | who may commit offsets |
//! | `describe.rs` | ListGroups, DescribeGroups, metrics |
//! | `roster.rs`, `member.rs` | the members, in the order of joining |
//! | `pending.rs` | member ids given out and not yet used (KIP-394) |
//! | `alarms.rs` | when to look at whom |
//! | `subscription.rs` | the topics in a consumer's metadata |
//!
//! # Where this differs from Kafka 3.7
//!
//! - Every request is answered. Kafka forgets a JoinGroup or SyncGroup that a newer one of the same
//!   member supersedes, and the parked SyncGroup of a member that leaves; here the first two get
//!   REBALANCE_IN_PROGRESS, on which clients retry, and the last UNKNOWN_MEMBER_ID.
//! - A JoinGroup that names a protocol twice is refused with INCONSISTENT_GROUP_PROTOCOL; Kafka's
//!   vote finds no candidate then, and the group hangs.
//! - Kafka doesn't notice that the client of a parked request is gone; see [`Group::abandon`].
//! - The members of no generation yet are bounded; see
//!   [`GroupConfig::newcomers_max`](crate::config::GroupConfig::newcomers_max).
//! - Where Kafka picks any member (a new leader, a tied vote), this picks in the order of joining.

use std::{collections::BTreeSet, fmt, sync::Arc};

use crate::{
    api::{ErrorCode, JoinResponse, SyncResponse},
    config::GroupConfig,
    ids::{GroupId, MemberId, Topic},
    note::Note,
    ports::Instant,
};

use self::{
    alarms::Alarms,
    member::Parked,
    pending::Pending,
    rebalance::JoinPhase,
    roster::{Roster, Seat},
};

mod alarms;
mod close;
mod commit;
mod describe;
mod join;
mod leave;
mod liveness;
mod member;
mod pending;
mod rebalance;
mod replace;
mod roster;
mod subscription;
mod sync;

pub use describe::Inspection;
pub use join::refusal_if_absent;
pub use sync::refusal_before_gate;

/// Names one parked request. The caller chooses it; no two requests of a broker share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// An answer to a JoinGroup or SyncGroup, now or after it was parked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer to the JoinGroup with this ticket.
    Join(Ticket, JoinResponse),
    /// The answer to the SyncGroup with this ticket.
    Sync(Ticket, SyncResponse),
}

/// What the state machine is told, and where it puts what must be sent.
pub struct Context<'a> {
    /// The time.
    pub now: Instant,
    /// Limits and timers.
    pub config: &'a GroupConfig,
    /// 128 random bits for a member id.
    pub random: &'a dyn Fn() -> u128,
    /// Answers to parked requests and to this one, in the order they are to be sent.
    pub replies: &'a mut Vec<Reply>,
    /// What the log should say.
    pub notes: &'a mut Vec<Note>,
}

impl Context<'_> {
    /// Answers what a member had parked, if anything, with an error.
    fn refuse(&mut self, parked: Option<Parked>, error: ErrorCode, member_id: &MemberId) {
        self.replies.extend(parked.map(|parked| match parked {
            Parked::Join(ticket) => {
                Reply::Join(ticket, JoinResponse::refused(error, member_id.clone()))
            }
            Parked::Sync(ticket) => Reply::Sync(ticket, SyncResponse::refused(error)),
        }));
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Where a group is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No members; it may hold offsets.
    Empty,
    /// Members join; their requests are parked until the phase is over.
    PreparingRebalance,
    /// A generation has begun and its leader has not yet sent the assignment.
    CompletingRebalance,
    /// Everybody may have its assignment.
    Stable,
    /// The object is of no more use.
    Dead,
}

impl State {
    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::PreparingRebalance => "PreparingRebalance",
            Self::CompletingRebalance => "CompletingRebalance",
            Self::Stable => "Stable",
            Self::Dead => "Dead",
        }
    }
}

/// One consumer group. See the [module](self).
#[derive(Debug)]
pub struct Group {
    id: GroupId,
    state: State,
    /// Goes up by one whenever a join phase completes, with or without members.
    generation: i32,
    /// The type of the members, kept when they are gone.
    protocol_type: Option<Arc<str>>,
    /// What the last vote chose.
    protocol: Option<Arc<str>>,
    leader: Option<Seat>,
    roster: Roster,
    pending: Pending,
    /// What the members of the generation subscribe to; `None` if that can't be told.
    subscription: Option<BTreeSet<Topic>>,
    /// The join phase; there is one exactly in PreparingRebalance.
    phase: Option<JoinPhase>,
    /// A member was added to a group that never had a generation; see [`JoinPhase::Initial`].
    grown: bool,
    /// Who has not sent SyncGroup in this generation. A seat that was given up by a static
    /// replacement stays, as in Kafka: the generation then ends at `sync_until`.
    unsynced: BTreeSet<Seat>,
    /// When the unsynced are removed (KAFKA-12890); `None` if there are none.
    sync_until: Option<Instant>,
    alarms: Alarms,
    empty_since: Option<Instant>,
}

impl Group {
    /// A group without members, in generation 0. `protocol_type` is what its earlier members were,
    /// if that is known: it is described and matters to retention, but binds no new member.
    pub fn new(id: GroupId, protocol_type: Option<Arc<str>>) -> Self {
        Self {
            id,
            state: State::Empty,
            generation: 0,
            protocol_type,
            protocol: None,
            leader: None,
            roster: Roster::default(),
            pending: Pending::default(),
            subscription: None,
            phase: None,
            grown: false,
            unsynced: BTreeSet::new(),
            sync_until: None,
            alarms: Alarms::default(),
            empty_since: None,
        }
    }

    /// Its id.
    pub fn id(&self) -> &GroupId {
        &self.id
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// The generation; 0 if there was none yet.
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// `consumer`, `connect`, ..., or `None` for a group that only ever held offsets.
    pub fn protocol_type(&self) -> Option<&Arc<str>> {
        self.protocol_type.as_ref()
    }

    /// The protocol that the last vote chose; `None` before the first and in an Empty group.
    pub fn protocol(&self) -> Option<&Arc<str>> {
        self.protocol.as_ref()
    }

    /// The leader's member id.
    pub fn leader(&self) -> Option<&MemberId> {
        self.leader.map(|seat| self.roster.get(seat).id())
    }

    /// The ids of the members, in the order of joining.
    pub fn member_ids(&self) -> impl Iterator<Item = &MemberId> {
        self.roster.iter().map(|(_, member)| member.id())
    }

    /// How many members it has.
    pub fn members(&self) -> usize {
        self.roster.len()
    }

    /// How many member ids were given out with MEMBER_ID_REQUIRED and not yet used.
    pub fn pending_members(&self) -> usize {
        self.pending.len()
    }

    /// How many requests are parked.
    pub fn parked(&self) -> usize {
        self.roster.parked()
    }

    /// Nobody is here and nobody is expected: the object holds nothing that is of use to a client.
    pub fn is_idle(&self) -> bool {
        self.roster.is_empty() && self.pending.is_empty()
    }

    /// Since when the group is Empty, if it became so in the life of this object.
    pub fn empty_since(&self) -> Option<Instant> {
        self.empty_since
    }

    /// Whether a member of the generation subscribes to `topic`; `None` if that can't be told,
    /// because there was no generation yet, or the members are no consumers, or the metadata of one
    /// can't be read. Kafka then takes every topic for subscribed (OffsetDelete) and lets no offset
    /// expire.
    pub fn is_subscribed(&self, topic: &Topic) -> Option<bool> {
        self.subscription.as_ref().map(|topics| topics.contains(topic))
    }

    /// When to call [`tick`](Self::tick) next. May be early, since a sign of life does not move an
    /// alarm that is already set; is never late.
    pub fn deadline(&self) -> Option<Instant> {
        let phase = self.phase.as_ref().map(JoinPhase::until);
        [self.alarms.first(), phase, self.sync_until].into_iter().flatten().min()
    }

    fn enter(&mut self, cx: &mut Context<'_>, state: State) {
        self.state = state;
        self.empty_since = (state == State::Empty).then_some(cx.now);
        cx.notes.push(Note::State {
            group: self.id.clone(),
            state: state.name(),
            generation: self.generation,
            members: self.roster.len(),
        });
    }
}
