//! Operations on a group, and how they are drawn.
//!
//! An operation names members by what they are when its turn comes, so that it still means something
//! when those before it are taken away.

use model::group::{Millis, Protocol, Settings};
use proptest::{collection::vec, prelude::*, sample::select};

/// A configuration and what is done under it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) settings: Settings,
    pub(crate) ops: Vec<Op>,
}

/// Who sends a request.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// No id yet.
    Nobody,
    /// An id that nobody was given.
    Stranger,
    Leader,
    /// The nth member that is not the leader; a stranger if there is none.
    Follower(usize),
    /// The nth member none of whose requests is withheld.
    Idle(usize),
    /// The nth pending id.
    Pending(usize),
    /// The nth of all ids that were ever given out, the last first.
    Once(usize),
}

/// What happens. The numbers choose from the tables below; `instance` 3 is the sender's own, a
/// `generation` is relative to the current one and -100 is outside of any.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Join {
        who: Who,
        instance: usize,
        session: usize,
        rebalance: usize,
        kind: usize,
        /// 0 for what the member said last.
        protocols: usize,
        version: i16,
    },
    Sync {
        who: Who,
        instance: usize,
        generation: i32,
        /// Type and protocol: 0 as they are, 1 none, 2 and 3 with one that is wrong.
        named: usize,
        /// 0 to everybody, 1 to the leader and a stranger, 2 to nobody.
        gives: usize,
        version: i16,
    },
    Heartbeat {
        who: Who,
        instance: usize,
        generation: i32,
    },
    Commit {
        who: Who,
        instance: usize,
        generation: i32,
    },
    Leave {
        members: Vec<(Who, usize)>,
    },
    Describe,
    Delete,
    /// The connection of the nth withheld request is gone.
    Abandon(usize),
    Resign,
    Advance(Millis),
}

impl Op {
    /// The operation without its numbers, but with what decides about its way.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Join { who, instance, version, .. } => {
                let is_static = *instance != 0;
                format!("join by {} {is_static} v{version}", who.label())
            }
            Self::Sync { who, .. } => format!("sync by {}", who.label()),
            Self::Heartbeat { who, .. } => format!("heartbeat by {}", who.label()),
            Self::Commit { who, .. } => format!("commit by {}", who.label()),
            Self::Leave { members } => format!("leave of {}", members.len()),
            Self::Describe => "describe".to_owned(),
            Self::Delete => "delete".to_owned(),
            Self::Abandon(_) => "abandon".to_owned(),
            Self::Resign => "resign".to_owned(),
            Self::Advance(_) => "time passes".to_owned(),
        }
    }
}

impl Who {
    fn label(&self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Stranger => "a stranger",
            Self::Leader => "the leader",
            Self::Follower(_) => "a follower",
            Self::Idle(_) => "an idle member",
            Self::Pending(_) => "a pending id",
            Self::Once(_) => "an id given out once",
        }
    }
}

pub(crate) const SESSIONS: [Millis; 5] = [6_000, 10_000, 1_000_000, 5_999, 1_800_001];
pub(crate) const REBALANCES: [Millis; 5] = [5_000, 60_000, 400_000, 700, 0];
pub(crate) const KINDS: [&str; 3] = ["consumer", "connect", ""];

/// A list of protocols.
pub(crate) fn protocols(choice: usize) -> Vec<Protocol> {
    let pairs: &[(&str, &str)] = match choice {
        0 | 1 => &[("range", "m"), ("rr", "m")],
        2 => &[("rr", "m"), ("range", "m")],
        3 => &[("range", "m")],
        4 => &[("range", "other"), ("rr", "m")],
        5 => &[("rr", "m"), ("sticky", "m")],
        6 => &[("range", "m"), ("rr", "m"), ("range", "m")],
        _ => &[],
    };
    pairs.iter().map(|(name, metadata)| ((*name).to_owned(), (*metadata).to_owned())).collect()
}

pub(crate) fn settings(delay: Millis, size_max: usize) -> Settings {
    Settings { session_min: 6_000, session_max: 1_800_000, delay, size_max, first_join: 300_000 }
}

fn who() -> impl Strategy<Value = Who> {
    prop_oneof![
        1 => Just(Who::Nobody),
        1 => Just(Who::Stranger),
        6 => Just(Who::Leader),
        4 => (0..3_usize).prop_map(Who::Follower),
        8 => (0..3_usize).prop_map(Who::Idle),
        1 => (0..2_usize).prop_map(Who::Pending),
        3 => (0..6_usize).prop_map(Who::Once),
    ]
}

fn joiner() -> impl Strategy<Value = Who> {
    prop_oneof![
        5 => Just(Who::Nobody),
        5 => (0..2_usize).prop_map(Who::Pending),
        6 => who(),
    ]
}

/// Mostly the sender's own.
fn instance() -> impl Strategy<Value = usize> {
    select(vec![3, 3, 3, 3, 3, 3, 0, 1, 2])
}

/// Mostly the current one.
fn generation() -> impl Strategy<Value = i32> {
    select(vec![0, 0, 0, 0, 0, 0, 0, 0, -1, 1, -100])
}

fn usually<T: Clone + std::fmt::Debug + 'static>(
    usual: T,
    else_of: Vec<T>,
) -> impl Strategy<Value = T> {
    prop_oneof![7 => Just(usual), 1 => select(else_of)]
}

fn join() -> impl Strategy<Value = Op> {
    let instance = select(vec![3, 3, 3, 0, 0, 1, 1, 2]);
    let session = prop_oneof![12 => select(vec![0, 1, 1, 2, 2]), 1 => 3..5_usize];
    let rebalance = select(vec![0, 0, 1, 1, 2, 2, 3, 4]);
    let protocols = prop_oneof![6 => Just(0), 3 => 1..6_usize, 1 => 6..8_usize];
    let version = select(vec![3, 4, 8, 9, 9, 9]);
    (joiner(), instance, session, rebalance, usually(0, vec![1, 2]), protocols, version).prop_map(
        |(who, instance, session, rebalance, kind, protocols, version)| Op::Join {
            who,
            instance,
            session,
            rebalance,
            kind,
            protocols,
            version,
        },
    )
}

fn sync() -> impl Strategy<Value = Op> {
    let named = usually(0, vec![1, 2, 3]);
    let gives = select(vec![0, 0, 1, 2]);
    (who(), instance(), generation(), named, gives, select(vec![2, 5, 5])).prop_map(
        |(who, instance, generation, named, gives, version)| Op::Sync {
            who,
            instance,
            generation,
            named,
            gives,
            version,
        },
    )
}

fn wait() -> impl Strategy<Value = Millis> {
    prop_oneof![
        2 => select(vec![0, 1, 700, 2_999, 3_000, 3_001, 5_000, 6_000, 9_999, 10_000]),
        2 => 0..6_000_u64,
        1 => 6_000..70_000_u64,
        1 => select(vec![60_000, 299_999, 300_000, 400_000]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let leavers = vec((who(), select(vec![3, 3, 0, 1, 2])), 1..3);
    prop_oneof![
        30 => join(),
        24 => sync(),
        8 => (who(), instance(), generation())
            .prop_map(|(who, instance, generation)| Op::Heartbeat { who, instance, generation }),
        6 => (who(), instance(), generation())
            .prop_map(|(who, instance, generation)| Op::Commit { who, instance, generation }),
        5 => leavers.prop_map(|members| Op::Leave { members }),
        2 => Just(Op::Describe),
        1 => (0..20_u8).prop_map(|it| match it {
            0 => Op::Resign,
            1..5 => Op::Delete,
            _ => Op::Describe,
        }),
        2 => (0..4_usize).prop_map(Op::Abandon),
        22 => wait().prop_map(Op::Advance),
    ]
}

/// A dynamic member of the usual kind joins.
fn joins(who: Who, instance: usize, version: i16) -> Op {
    Op::Join { who, instance, session: 1, rebalance: 1, kind: 0, protocols: 0, version }
}

fn syncs(who: Who) -> Op {
    Op::Sync { who, instance: 3, generation: 0, named: 0, gives: 0, version: 5 }
}

/// Operations that matter to each other, in whatever order.
pub(crate) fn alphabet() -> Vec<Op> {
    let changed = Op::Join {
        who: Who::Follower(0),
        instance: 3,
        session: 1,
        rebalance: 1,
        kind: 0,
        protocols: 2,
        version: 9,
    };
    vec![
        joins(Who::Nobody, 0, 9),
        joins(Who::Pending(0), 0, 9),
        joins(Who::Nobody, 1, 8),
        joins(Who::Leader, 3, 9),
        changed,
        syncs(Who::Leader),
        syncs(Who::Follower(0)),
        Op::Leave { members: vec![(Who::Leader, 3)] },
        Op::Heartbeat { who: Who::Follower(0), instance: 3, generation: 0 },
        Op::Advance(3_000),
        Op::Advance(10_000),
    ]
}

/// A static member that is not waited for long.
fn hasty(instance: usize) -> Op {
    Op::Join {
        who: Who::Nobody,
        instance,
        session: 1,
        rebalance: 0,
        kind: 0,
        protocols: 0,
        version: 9,
    }
}

/// An empty group; one that grew in its first window and is in its second; two static members in a new
/// generation, one of them parked; a static member alone, that and a dynamic one, two static ones, all
/// Stable.
pub(crate) fn beginnings() -> Vec<Vec<Op>> {
    let growing = vec![hasty(1), joins(Who::Nobody, 0, 3), Op::Advance(3_000)];
    let mut young = vec![hasty(1), hasty(2), Op::Advance(3_000), Op::Advance(3_000)];
    young.push(syncs(Who::Follower(0)));
    let alone = vec![joins(Who::Nobody, 1, 9), Op::Advance(3_000), syncs(Who::Leader)];
    let both = [joins(Who::Leader, 3, 9), syncs(Who::Follower(0)), syncs(Who::Leader)];
    let mut mixed = alone.clone();
    mixed.extend([joins(Who::Nobody, 0, 9), joins(Who::Pending(0), 0, 9)]);
    mixed.extend(both.clone());
    let mut fixed = alone.clone();
    fixed.push(joins(Who::Nobody, 2, 9));
    fixed.extend(both);
    vec![Vec::new(), growing, young, alone, mixed, fixed]
}

/// Plans of up to 60 operations.
pub(crate) fn plans() -> impl Strategy<Value = Plan> {
    let settings = (select(vec![0, 3_000, 3_000, 3_000]), select(vec![1, 2, 1_000, 1_000]))
        .prop_map(|(delay, size_max)| settings(delay, size_max));
    (settings, select(beginnings()), vec(op(), 1..=60)).prop_map(|(settings, mut ops, more)| {
        ops.extend(more);
        ops.truncate(60);
        Plan { settings, ops }
    })
}
