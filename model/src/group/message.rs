//! What a group is asked and answers: numbers and texts.

use super::{Millis, Ticket};

/// An error code, by Kafka's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Error(pub i16);

#[expect(missing_docs, reason = "the names are Kafka's")]
impl Error {
    pub const UNKNOWN_SERVER_ERROR: Self = Self(-1);
    pub const NONE: Self = Self(0);
    pub const COORDINATOR_NOT_AVAILABLE: Self = Self(15);
    pub const NOT_COORDINATOR: Self = Self(16);
    pub const ILLEGAL_GENERATION: Self = Self(22);
    pub const INCONSISTENT_GROUP_PROTOCOL: Self = Self(23);
    pub const UNKNOWN_MEMBER_ID: Self = Self(25);
    pub const INVALID_SESSION_TIMEOUT: Self = Self(26);
    pub const REBALANCE_IN_PROGRESS: Self = Self(27);
    pub const NON_EMPTY_GROUP: Self = Self(68);
    pub const GROUP_ID_NOT_FOUND: Self = Self(69);
    pub const MEMBER_ID_REQUIRED: Self = Self(79);
    pub const GROUP_MAX_SIZE_REACHED: Self = Self(81);
    pub const FENCED_INSTANCE_ID: Self = Self(82);
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "error {}", self.0)
    }
}

/// A protocol's name and the metadata for it.
pub type Protocol = (String, String);

/// What a coordinator is configured to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Settings {
    /// `group.min.session.timeout.ms`.
    pub session_min: Millis,
    /// `group.max.session.timeout.ms`.
    pub session_max: Millis,
    /// `group.initial.rebalance.delay.ms`.
    pub delay: Millis,
    /// `group.max.size`.
    pub size_max: usize,
    /// How long a new member may wait in its first join phase.
    pub first_join: Millis,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the fields are Kafka's")]
pub enum Ask {
    Join {
        id: String,
        instance: Option<String>,
        session: Millis,
        rebalance: Millis,
        kind: String,
        protocols: Vec<Protocol>,
        version: i16,
    },
    Sync {
        id: String,
        instance: Option<String>,
        generation: i32,
        kind: Option<String>,
        protocol: Option<String>,
        assignments: Vec<(String, String)>,
        version: i16,
    },
    Heartbeat {
        id: String,
        instance: Option<String>,
        generation: i32,
    },
    Leave {
        members: Vec<(String, Option<String>)>,
    },
    /// May this one commit?
    Commit {
        id: String,
        instance: Option<String>,
        generation: i32,
    },
    Describe,
    Delete,
    /// The connection of a withheld request is gone.
    Abandon {
        parked: Ticket,
    },
    /// Another broker takes over.
    Resign,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// To Join.
    Join(JoinAnswer),
    /// To Sync.
    Sync {
        /// The verdict.
        error: Error,
        /// The group's protocol type.
        kind: Option<String>,
        /// The group's protocol.
        protocol: Option<String>,
        /// What the leader gave; empty with an error.
        assignment: String,
    },
    /// To Heartbeat, Commit and Delete.
    Verdict(Error),
    /// To Leave: id, instance and verdict of each.
    Leave(Error, Vec<(String, Option<String>, Error)>),
    /// To Describe.
    Describe(Described),
    /// To a withheld request that Kafka forgets: any error on which the client tries again.
    Retry,
}

/// An answer to Join.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the fields are Kafka's")]
pub struct JoinAnswer {
    pub error: Error,
    pub id: String,
    pub generation: i32,
    pub kind: Option<String>,
    pub protocol: Option<String>,
    pub leader: String,
    /// By id.
    pub members: Vec<Joined>,
    pub skip_assignment: bool,
}

impl JoinAnswer {
    /// A refusal.
    pub fn refused(error: Error, id: &str) -> Self {
        Self {
            error,
            id: id.to_owned(),
            generation: -1,
            kind: None,
            protocol: None,
            leader: String::new(),
            members: Vec::new(),
            skip_assignment: false,
        }
    }
}

/// A member as the leader sees it: id, instance, metadata.
pub type Joined = (String, Option<String>, String);

/// An answer to Describe.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Described {
    /// Kafka's name of the state.
    pub state: String,
    /// The protocol type; empty if there was none.
    pub kind: String,
    /// The protocol; empty unless Stable.
    pub protocol: String,
    /// Id, instance, metadata and assignment, by id; the last two are empty unless Stable.
    pub members: Vec<(String, Option<String>, String, String)>,
}

impl Answer {
    /// A refused Sync.
    pub(super) fn unsynced(error: Error) -> Self {
        Self::Sync { error, kind: None, protocol: None, assignment: String::new() }
    }

    /// Whether an implementation that gives `other` does as this says.
    pub fn admits(&self, other: &Self) -> bool {
        let retriable = [Error::REBALANCE_IN_PROGRESS, Error::UNKNOWN_MEMBER_ID];
        match (self, other) {
            (Self::Retry, Self::Join(JoinAnswer { error, .. }) | Self::Sync { error, .. }) => {
                retriable.contains(error)
            }
            _ => self == other,
        }
    }
}
