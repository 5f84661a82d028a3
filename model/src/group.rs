//! One consumer group, as the decision tables of Kafka 3.7's classic protocol have it.
//!
//! The tables row by row, in the plainest way: members and ids in maps, every timer a number that is
//! looked for when time passes, no structure that is kept in step with another. It knows nothing of
//! offsets, of ownership, or of groups that do not exist.
//!
//! Kafka leaves some choices open: which member leads when the leader is gone, which of several
//! protocols with as many votes wins, which of several timers of one instant fires first. So a step
//! has [all its outcomes](Group::ask), and an implementation is right if it takes one of them.
//!
//! Four things are asked of an implementation beyond Kafka: a request that is superseded, or whose
//! member has left, is [answered all the same](Answer::Retry); a JoinGroup that names a protocol twice
//! is refused; a connection that is gone [is noticed](Ask::Abandon); and a join phase that waits again
//! for absent static members waits [for a while](WAIT_MIN) even if they want no time.

use std::collections::{BTreeMap, BTreeSet};

mod admin;
mod join;
mod leave;
mod message;
mod outcome;
mod phase;
mod rows;
mod sync;
mod timer;

pub use message::{Answer, Ask, Described, Error, JoinAnswer, Joined, Protocol, Settings};
pub use outcome::Outcome;
pub use rows::{ROWS, Row};

use outcome::Turn;

/// Milliseconds since some beginning.
pub type Millis = u64;

/// The least time for which a join phase waits again; Kafka spins if all rebalance timeouts are 0.
pub const WAIT_MIN: Millis = 100;

/// Names a request.
pub type Ticket = u64;

/// Where a group is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are Kafka's")]
pub enum State {
    Empty,
    PreparingRebalance,
    CompletingRebalance,
    Stable,
    Dead,
}

/// One group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    settings: Settings,
    now: Millis,
    state: State,
    generation: i32,
    kind: Option<String>,
    protocol: Option<String>,
    leader: Option<String>,
    members: BTreeMap<String, Member>,
    /// Ids given out with MEMBER_ID_REQUIRED, and when they are dropped.
    pending: BTreeMap<String, Millis>,
    /// The join phase, in PreparingRebalance.
    phase: Option<Phase>,
    /// Somebody was added in a PreparingRebalance of generation 0.
    added: bool,
    /// Ids of this generation that have not sent SyncGroup.
    unsynced: BTreeSet<String>,
    /// When the unsynced are removed.
    sync_end: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Member {
    instance: Option<String>,
    session: Millis,
    rebalance: Millis,
    protocols: Vec<Protocol>,
    assignment: String,
    joining: Option<Ticket>,
    syncing: Option<Ticket>,
    /// Was in no generation yet.
    is_new: bool,
    /// When its session ends or, while it is new, its first join is given up.
    until: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// From Empty: `window` is the length of the window that ends at `end`.
    Initial {
        end: Millis,
        window: Millis,
        remaining: Millis,
    },
    Rejoin {
        end: Millis,
    },
}

impl Group {
    /// A group without members that never had any.
    pub fn new(settings: Settings, now: Millis) -> Self {
        Self {
            settings,
            now,
            state: State::Empty,
            generation: 0,
            kind: None,
            protocol: None,
            leader: None,
            members: BTreeMap::new(),
            pending: BTreeMap::new(),
            phase: None,
            added: false,
            unsynced: BTreeSet::new(),
            sync_end: None,
        }
    }

    /// Where it is in its life.
    pub fn state(&self) -> State {
        self.state
    }

    /// The generation.
    pub fn generation(&self) -> i32 {
        self.generation
    }

    /// Who leads.
    pub fn leader(&self) -> Option<&str> {
        self.leader.as_deref()
    }

    /// What the members are, or were.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// What the last vote chose.
    pub fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// Who is a member.
    pub fn members(&self) -> BTreeSet<&str> {
        self.members.keys().map(String::as_str).collect()
    }

    /// Which members have no request that is withheld.
    pub fn idle(&self) -> BTreeSet<&str> {
        let idle = self.members.iter().filter(|(_, it)| (it.joining, it.syncing) == (None, None));
        idle.map(|(id, _)| id.as_str()).collect()
    }

    /// Which ids were given out and not used.
    pub fn pending(&self) -> BTreeSet<&str> {
        self.pending.keys().map(String::as_str).collect()
    }

    /// Which requests are withheld.
    pub fn parked(&self) -> BTreeSet<Ticket> {
        self.members.values().flat_map(|it| [it.joining, it.syncing]).flatten().collect()
    }

    /// Everything that may come of a request, which is named `ticket`. If a new member id is to be
    /// made up, it is `fresh`.
    pub fn ask(&self, ticket: Ticket, ask: &Ask, fresh: &str) -> Vec<Outcome> {
        Outcome::unchanged(self).then(|group, turn| match ask {
            Ask::Join { .. } => group.join(turn, ticket, ask, fresh),
            Ask::Sync { .. } => {
                let answer = group.sync(turn, ticket, ask);
                turn.answer_if(ticket, answer);
            }
            Ask::Heartbeat { id, instance, generation } => {
                let error = group.heartbeat(turn, id, instance.as_deref(), *generation);
                turn.answer(ticket, Answer::Verdict(error));
            }
            Ask::Leave { members } => {
                let answer = group.leave(turn, members);
                turn.answer(ticket, answer);
            }
            Ask::Commit { id, instance, generation } => {
                let error = group.commit(turn, id, instance.as_deref(), *generation);
                turn.answer(ticket, Answer::Verdict(error));
            }
            Ask::Describe => {
                let answer = group.describe(turn);
                turn.answer(ticket, answer);
            }
            Ask::Delete => {
                let error = group.delete(turn);
                turn.answer(ticket, Answer::Verdict(error));
            }
            Ask::Abandon { parked } => group.abandon(*parked),
            Ask::Resign => group.resign(turn),
        })
    }

    /// `M(id, inst)` of the tables.
    fn check(&self, turn: &mut Turn, id: &str, instance: Option<&str>) -> Result<(), Error> {
        if let Some(instance) = instance {
            let Some(holder) = self.holder(instance) else {
                turn.row("M: instance unmapped");
                return Err(Error::UNKNOWN_MEMBER_ID);
            };
            if holder != id {
                turn.row("M: instance mapped to another");
                return Err(Error::FENCED_INSTANCE_ID);
            }
        }
        if !self.members.contains_key(id) {
            turn.row("M: no member");
            return Err(Error::UNKNOWN_MEMBER_ID);
        }
        turn.row("M: ok");
        Ok(())
    }

    /// The member of an instance id.
    fn holder(&self, instance: &str) -> Option<&str> {
        let mut members = self.members.iter();
        let found = members.find(|(_, it)| it.instance.as_deref() == Some(instance));
        found.map(|(id, _)| id.as_str())
    }

    /// A sign of life.
    fn refresh(&mut self, id: &str) {
        let now = self.now;
        let member = self.member(id);
        member.until = Some(now + member.session);
    }

    fn member(&mut self, id: &str) -> &mut Member {
        self.members.get_mut(id).expect("a member")
    }

    /// The longest rebalance timeout; 0 without members.
    fn rebalance_timeout(&self) -> Millis {
        self.members.values().map(|it| it.rebalance).max().unwrap_or(0)
    }

    /// Whether a protocol is supported by all members.
    fn is_candidate(&self, name: &str) -> bool {
        self.members.values().all(|it| it.protocols.iter().any(|(other, _)| other == name))
    }
}
