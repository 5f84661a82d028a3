//! What a host may configure, with Kafka's and kaas' defaults.

use std::time::Duration;

/// A broker's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Limits and timers of groups.
    pub group: GroupConfig,
    /// Limits and timers of committed offsets.
    pub offsets: OffsetsConfig,
    /// Limits and timers of transactions.
    pub txn: TxnConfig,
    /// How often `assignment.json` and the controller lease are read; kaas: 1 s.
    pub poll_interval: Duration,
    /// How long a view may be used without being confirmed by a read; kaas fences produce requests
    /// after the same 3 s.
    pub staleness_max: Duration,
    /// How long an empty group, or a transactional id without a transaction, stays in memory without
    /// requests.
    pub idle_max: Duration,
    /// How many groups may be in memory; a request that needs one more is refused with
    /// COORDINATOR_NOT_AVAILABLE (Kafka has no bound).
    pub groups_max: usize,
}

/// Limits and timers of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `group.min.session.timeout.ms`.
    pub session_timeout_min: Duration,
    /// `group.max.session.timeout.ms`.
    pub session_timeout_max: Duration,
    /// `group.initial.rebalance.delay.ms` (KIP-134).
    pub initial_rebalance_delay: Duration,
    /// `group.max.size` (KIP-389).
    pub size_max: usize,
    /// How many member ids a group may have handed out to clients that are in no generation yet, so
    /// that joining over and over can't exhaust the broker (Kafka has no bound).
    pub newcomers_max: usize,
    /// How long a new member may wait in its first join phase (a constant in Kafka).
    pub new_member_join_timeout: Duration,
    /// How many bytes a group id may have, else INVALID_GROUP_ID; what Kafka's wire format can say.
    pub id_bytes_max: usize,
    /// How many bytes a member may say about itself, all its protocols together, else
    /// INVALID_REQUEST (Kafka: as much as fits into a request and a record).
    pub member_bytes_max: usize,
    /// How many bytes a leader may assign to its group, else INVALID_REQUEST (Kafka: as much as fits
    /// into a record).
    pub assignment_bytes_max: usize,
}

/// Limits and timers of committed offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetsConfig {
    /// `offset.metadata.max.bytes`; Kafka counts UTF-16 units.
    pub metadata_max: usize,
    /// `offsets.retention.minutes` (KIP-211); [`Duration::MAX`] keeps offsets for ever.
    pub retention: Duration,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_interval: Duration,
    /// `offsets.commit.timeout.ms`: how long a request waits for the volume.
    pub volume_timeout: Duration,
    /// How many requests of one group may wait for the volume; one more is refused and may be
    /// retried, with COORDINATOR_LOAD_IN_PROGRESS while the group is loaded, then with
    /// COORDINATOR_NOT_AVAILABLE (Kafka has no bound).
    pub waiting_max: usize,
    /// How many partitions a group may have offsets of; a commit of one more is refused with
    /// INVALID_COMMIT_OFFSET_SIZE (Kafka has no bound).
    pub partitions_max: usize,
    /// How long offsets may wait for the end of their transaction before its coordinator is asked
    /// what became of it; `transaction.max.timeout.ms`, since until then it may be open.
    pub txn_orphan_after: Duration,
}

/// Limits and timers of transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxnConfig {
    /// `transaction.max.timeout.ms`.
    pub timeout_max: Duration,
    /// `transactional.id.expiration.ms`: how long an id is kept that nobody uses.
    pub id_expiration: Duration,
    /// How often the volume is searched for transactions that nobody asks for. Kafka looks for those
    /// that are open for too long as often
    /// (`transaction.abort.timed.out.transaction.cleanup.interval.ms`).
    pub scan_interval: Duration,
    /// How long a marker waits that was not acknowledged, and a write that has failed.
    pub retry_backoff: Duration,
}

impl OffsetsConfig {
    /// Whether offsets expire at all.
    pub fn has_retention(&self) -> bool {
        self.retention < Duration::MAX
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            group: GroupConfig::default(),
            offsets: OffsetsConfig::default(),
            txn: TxnConfig::default(),
            poll_interval: Duration::from_secs(1),
            staleness_max: Duration::from_secs(3),
            idle_max: Duration::from_mins(1),
            groups_max: 1_000_000,
        }
    }
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            session_timeout_min: Duration::from_secs(6),
            session_timeout_max: Duration::from_mins(30),
            initial_rebalance_delay: Duration::from_secs(3),
            size_max: i32::MAX.unsigned_abs() as usize,
            newcomers_max: 10_000,
            new_member_join_timeout: Duration::from_mins(5),
            id_bytes_max: 32_767,
            member_bytes_max: 1 << 20,
            assignment_bytes_max: 16 << 20,
        }
    }
}

impl Default for OffsetsConfig {
    fn default() -> Self {
        Self {
            metadata_max: 4096,
            retention: Duration::from_hours(7 * 24),
            retention_check_interval: Duration::from_mins(10),
            volume_timeout: Duration::from_secs(5),
            waiting_max: 10_000,
            partitions_max: 100_000,
            txn_orphan_after: Duration::from_mins(15),
        }
    }
}

impl Default for TxnConfig {
    fn default() -> Self {
        Self {
            timeout_max: Duration::from_mins(15),
            id_expiration: Duration::from_hours(7 * 24),
            scan_interval: Duration::from_secs(10),
            retry_backoff: Duration::from_millis(500),
        }
    }
}
