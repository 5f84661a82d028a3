//! The manners of rude clients: what a member of a group may do to the others.

/// What a rude client does, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Manner {
    /// Sends its JoinGroup again while it waits for the answer.
    RejoinsParked,
    /// Closes its connection while it waits for the answer to its JoinGroup.
    HangsUp,
    /// Leaves while it waits for the answer to its JoinGroup.
    LeavesParked,
    /// Takes a member id and never comes back with it.
    NeverReturns,
    /// Joins and heartbeats, and never sends SyncGroup.
    NeverSyncs,
    /// Heartbeats on when it is told to rejoin.
    NeverRejoins,
    /// Falls silent and later commits, heartbeats and syncs as of its old generation.
    WakesLate,
    /// Joins with another subscription as soon as a generation has begun.
    ChangesMind,
    /// Joins with a protocol that nobody else knows.
    Disagrees,
    /// Joins a group that is full.
    Crowds,
    /// Joins with session timeouts out of bounds.
    OddSession,
    /// Commits, heartbeats and syncs as of the generation before its own, in which it is a member.
    LivesInThePast,
}

impl Manner {
    /// All of them, and what each is called.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("rejoins-parked", Self::RejoinsParked),
        ("hangs-up", Self::HangsUp),
        ("leaves-parked", Self::LeavesParked),
        ("never-returns", Self::NeverReturns),
        ("never-syncs", Self::NeverSyncs),
        ("never-rejoins", Self::NeverRejoins),
        ("wakes-late", Self::WakesLate),
        ("changes-mind", Self::ChangesMind),
        ("disagrees", Self::Disagrees),
        ("crowds", Self::Crowds),
        ("odd-session", Self::OddSession),
        ("lives-in-the-past", Self::LivesInThePast),
    ];

    /// What it is called.
    pub fn word(self) -> &'static str {
        let (word, _) = Self::ALL.iter().find(|(_, it)| *it == self).expect("all are listed");
        word
    }
}
