//! What is as usual, and therefore not written down.

use std::time::Duration;

use crate::{
    plan::{Exit, Goodbye, Operation, Plan, Span, Way},
    release::Release,
};

/// The seed of a plan that does not say.
pub const SEED: u64 = 0;
/// The release that brokers begin with.
pub const RELEASE: Release = Release::Current;
/// How long a message takes.
pub const NETWORK: Span = Span::fixed(Duration::from_millis(2));
/// How long an operation on the volume takes.
pub const VOLUME: Span = Span::fixed(Duration::from_millis(1));
/// How far broker clocks drift, in parts per million.
pub const DRIFT_PPM: u32 = 0;
/// How far apart clients start.
pub const STAGGER: Duration = Duration::from_millis(20);
/// How often a member commits.
pub const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// A member's session timeout.
pub const SESSION: Duration = Duration::from_secs(10);
/// A member's rebalance timeout.
pub const REBALANCE: Duration = Duration::from_secs(20);
/// How often a member heartbeats.
pub const HEARTBEAT: Duration = Duration::from_secs(3);
/// How many commits a committer has under way at once.
pub const AT_ONCE: u32 = 1;
/// When a rude client begins.
pub const FROM: Duration = Duration::ZERO;
/// How a broker that restarts goes.
pub const EXIT: Exit = Exit::Graceful;
/// What the peers of a killed broker see.
pub const GOODBYE: Goodbye = Goodbye::Reset;
/// In which direction messages are lost.
pub const WAY: Way = Way::Both;
/// Which volume operations fail.
pub const OPERATION: Operation = Operation::Any;
/// How many of a hundred volume operations fail.
pub const PERCENT: u32 = 100;
/// In the how many-th operation a broker stops.
pub const NTH: u32 = 1;

/// A plan in which nothing has been said yet. It has no claim and no brokers, so it is no plan.
pub(super) fn blank() -> Plan {
    Plan {
        claim: Vec::new(),
        seed: SEED,
        brokers: 0,
        release: RELEASE,
        network: NETWORK,
        volume: VOLUME,
        drift_ppm: DRIFT_PPM,
        stagger: STAGGER,
        group_max: None,
        topics: Vec::new(),
        clients: Vec::new(),
        steps: Vec::new(),
    }
}
