//! Moments: what a step can wait for instead of a time, so that a fault finds the window in which it
//! hurts whatever the latencies are.

use super::{Action, BrokerName, Step};

/// The name that a step gives to the broker at which its moment came.
pub const THERE: &str = "there";

/// When a step begins, if not at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// What must have happened.
    pub moment: Moment,
    /// For the how many-th time since the step was armed, 1 for the next.
    pub nth: u32,
    /// For which group; for any if `None`.
    pub group: Option<String>,
}

/// Something that happens to one broker, for one group or transactional id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A JoinGroup has reached the coordinator.
    JoinArrived,
    /// A SyncGroup has.
    SyncArrived,
    /// An OffsetCommit or TxnOffsetCommit has.
    CommitArrived,
    /// A DeleteGroups has.
    DeleteArrived,
    /// An EndTxn has.
    EndArrived,
    /// A marker has.
    MarkerArrived,
    /// A JoinGroup was answered with success.
    JoinAnswered,
    /// A SyncGroup was.
    SyncAnswered,
    /// An OffsetCommit or TxnOffsetCommit was.
    CommitAnswered,
    /// An EndTxn was.
    EndAnswered,
    /// A DeleteGroups was.
    DeleteAnswered,
    /// A marker was acknowledged.
    MarkerAnswered,
    /// A claim to a group was created, and nothing of the others removed yet.
    Claimed,
    /// A claim to a group was removed by its next owner.
    Unclaimed,
    /// A group's offset file was read.
    Loaded,
    /// Whether a claim still stands was asked, and answered by the volume.
    Checked,
    /// The assignment was read.
    Polled,
    /// A commit is staged: written, not durable.
    Staged,
    /// It is durable, not renamed.
    Synced,
    /// It is renamed, and the rename not durable.
    Renamed,
    /// A transaction's state is staged.
    StateStaged,
    /// It is renamed.
    StateRenamed,
}

impl Moment {
    /// All of them, and what each is called.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("join-arrived", Self::JoinArrived),
        ("sync-arrived", Self::SyncArrived),
        ("commit-arrived", Self::CommitArrived),
        ("delete-arrived", Self::DeleteArrived),
        ("end-arrived", Self::EndArrived),
        ("marker-arrived", Self::MarkerArrived),
        ("join-answered", Self::JoinAnswered),
        ("sync-answered", Self::SyncAnswered),
        ("commit-answered", Self::CommitAnswered),
        ("end-answered", Self::EndAnswered),
        ("delete-answered", Self::DeleteAnswered),
        ("marker-answered", Self::MarkerAnswered),
        ("claimed", Self::Claimed),
        ("unclaimed", Self::Unclaimed),
        ("loaded", Self::Loaded),
        ("checked", Self::Checked),
        ("polled", Self::Polled),
        ("staged", Self::Staged),
        ("synced", Self::Synced),
        ("renamed", Self::Renamed),
        ("state-staged", Self::StateStaged),
        ("state-renamed", Self::StateRenamed),
    ];
}

impl Moment {
    /// What it is called.
    pub fn word(self) -> &'static str {
        let (word, _) = Self::ALL.iter().find(|(_, it)| *it == self).expect("all are listed");
        word
    }
}

impl Step {
    /// Whether the script goes on without it: it has a time or a moment of its own.
    pub fn is_aside(&self) -> bool {
        self.at.is_some() || self.when.is_some()
    }
}

impl Action {
    /// Puts a broker wherever the action names the one [`THERE`].
    pub fn settle_there(&mut self, there: &str) {
        if let Some(broker) = self.broker_mut()
            && broker == THERE
        {
            there.clone_into(broker);
        }
    }

    /// The broker that it names, if it names one.
    pub fn broker_mut(&mut self) -> Option<&mut BrokerName> {
        match self {
            Self::Restart { broker, .. }
            | Self::Install { broker, .. }
            | Self::Kill { broker, .. }
            | Self::Start { broker }
            | Self::Pause { broker, .. }
            | Self::Starve { broker, .. }
            | Self::Panic { broker, .. }
            | Self::Jump { broker, .. }
            | Self::StopClock { broker, .. }
            | Self::Flap { broker, .. }
            | Self::Twin { broker, .. }
            | Self::Lag { broker, .. }
            | Self::OldLease { broker, .. }
            | Self::Cut { broker, .. }
            | Self::CutOff { broker }
            | Self::BlackHole { broker, .. }
            | Self::Reset { broker }
            | Self::Slow { broker, .. }
            | Self::StopIn { broker, .. } => Some(broker),
            Self::Entry { broker, .. }
            | Self::Fail { broker, .. }
            | Self::SlowVolume { broker, .. } => broker.as_mut(),
            Self::Wait { .. }
            | Self::Stable { .. }
            | Self::Scale { .. }
            | Self::Depose { .. }
            | Self::Elect { .. }
            | Self::Damage { .. }
            | Self::Failover
            | Self::Leave { .. }
            | Self::Freeze { .. }
            | Self::Crash { .. }
            | Self::Duplicate { .. }
            | Self::Rot { .. } => None,
        }
    }
}
