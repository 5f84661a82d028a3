//! Kafka's error codes, as far as a group coordinator answers them.

use std::fmt;

/// A verdict of the protocol. `None` is success, as in Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i16)]
pub enum ErrorCode {
    /// Something that has no code of its own.
    UnknownServerError = -1,
    /// Success.
    None = 0,
    /// The topic or partition does not exist.
    UnknownTopicOrPartition = 3,
    /// The volume did not answer in time; the outcome is unknown.
    RequestTimedOut = 7,
    /// The offset's metadata is longer than allowed.
    OffsetMetadataTooLarge = 12,
    /// The group is being loaded; try again here.
    CoordinatorLoadInProgress = 14,
    /// There is no coordinator, or it can't serve this group; try again.
    CoordinatorNotAvailable = 15,
    /// Another broker coordinates this key.
    NotCoordinator = 16,
    /// The generation is not the current one.
    IllegalGeneration = 22,
    /// The member's protocols don't fit the group's.
    InconsistentGroupProtocol = 23,
    /// The group id is not acceptable here.
    InvalidGroupId = 24,
    /// The group does not know this member.
    UnknownMemberId = 25,
    /// The session timeout is out of bounds.
    InvalidSessionTimeout = 26,
    /// The group is rebalancing; rejoin.
    RebalanceInProgress = 27,
    /// The offset record is too large to store.
    InvalidCommitOffsetSize = 28,
    /// The request makes no sense.
    InvalidRequest = 42,
    /// The producer's epoch is not the current one.
    InvalidProducerEpoch = 47,
    /// The transaction is in no state for this.
    InvalidTxnState = 48,
    /// The producer id does not belong to the transactional id.
    InvalidProducerIdMapping = 49,
    /// The transaction timeout is out of bounds.
    InvalidTransactionTimeout = 50,
    /// The previous transaction is still completing.
    ConcurrentTransactions = 51,
    /// The group has members.
    NonEmptyGroup = 68,
    /// There is no such group.
    GroupIdNotFound = 69,
    /// Join again with the member id in this answer (KIP-394).
    MemberIdRequired = 79,
    /// The group has as many members as it may have.
    GroupMaxSizeReached = 81,
    /// Another member has taken over this instance id (KIP-345).
    FencedInstanceId = 82,
    /// A member of the group consumes this topic.
    GroupSubscribedToTopic = 86,
    /// There are offsets whose transaction is undecided (KIP-447).
    UnstableOffsetCommit = 88,
    /// A newer producer has taken over the transactional id.
    ProducerFenced = 90,
}

impl ErrorCode {
    /// Kafka's number.
    pub fn code(self) -> i16 {
        self as i16
    }

    /// Whether this is the absence of an error.
    pub fn is_none(self) -> bool {
        self == Self::None
    }

    /// Kafka's name, upper case.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnknownServerError => "UNKNOWN_SERVER_ERROR",
            Self::None => "NONE",
            Self::UnknownTopicOrPartition => "UNKNOWN_TOPIC_OR_PARTITION",
            Self::RequestTimedOut => "REQUEST_TIMED_OUT",
            Self::OffsetMetadataTooLarge => "OFFSET_METADATA_TOO_LARGE",
            Self::CoordinatorLoadInProgress => "COORDINATOR_LOAD_IN_PROGRESS",
            Self::CoordinatorNotAvailable => "COORDINATOR_NOT_AVAILABLE",
            Self::NotCoordinator => "NOT_COORDINATOR",
            Self::IllegalGeneration => "ILLEGAL_GENERATION",
            Self::InconsistentGroupProtocol => "INCONSISTENT_GROUP_PROTOCOL",
            Self::InvalidGroupId => "INVALID_GROUP_ID",
            Self::UnknownMemberId => "UNKNOWN_MEMBER_ID",
            Self::InvalidSessionTimeout => "INVALID_SESSION_TIMEOUT",
            Self::RebalanceInProgress => "REBALANCE_IN_PROGRESS",
            Self::InvalidCommitOffsetSize => "INVALID_COMMIT_OFFSET_SIZE",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::InvalidProducerEpoch => "INVALID_PRODUCER_EPOCH",
            Self::InvalidTxnState => "INVALID_TXN_STATE",
            Self::InvalidProducerIdMapping => "INVALID_PRODUCER_ID_MAPPING",
            Self::InvalidTransactionTimeout => "INVALID_TRANSACTION_TIMEOUT",
            Self::ConcurrentTransactions => "CONCURRENT_TRANSACTIONS",
            Self::NonEmptyGroup => "NON_EMPTY_GROUP",
            Self::GroupIdNotFound => "GROUP_ID_NOT_FOUND",
            Self::MemberIdRequired => "MEMBER_ID_REQUIRED",
            Self::GroupMaxSizeReached => "GROUP_MAX_SIZE_REACHED",
            Self::FencedInstanceId => "FENCED_INSTANCE_ID",
            Self::GroupSubscribedToTopic => "GROUP_SUBSCRIBED_TO_TOPIC",
            Self::UnstableOffsetCommit => "UNSTABLE_OFFSET_COMMIT",
            Self::ProducerFenced => "PRODUCER_FENCED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
