//! Requests and answers about committed offsets.

use super::{Arc, ErrorCode, GroupId, InstanceId, MemberId, TopicPartition};

/// One offset of an OffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitOffset {
    /// What it belongs to.
    pub partition: TopicPartition,
    /// The offset; any value, Kafka checks none.
    pub offset: i64,
    /// The leader epoch of the last consumed record, -1 for none (KIP-320).
    pub leader_epoch: i32,
    /// The client's note; none is the same as empty.
    pub metadata: Arc<str>,
}

/// OffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommitRequest {
    /// The group.
    pub group: GroupId,
    /// Below zero for a commit outside of any generation.
    pub generation: i32,
    /// Who commits; empty outside of a membership.
    pub member_id: MemberId,
    /// Set by static members.
    pub instance: Option<InstanceId>,
    /// The offsets.
    pub offsets: Vec<CommitOffset>,
    /// Keep the offsets for so many milliseconds instead of the group's retention (v2 to v4).
    pub retention_ms: Option<i64>,
}

/// OffsetFetch of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchRequest {
    /// The group.
    pub group: GroupId,
    /// The partitions asked for, or all that have a committed offset.
    pub partitions: Option<Vec<TopicPartition>>,
    /// Whether to withhold offsets whose transaction is undecided (KIP-447).
    pub require_stable: bool,
}

/// Answer to [`OffsetFetchRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetFetchResponse {
    /// A verdict on the whole request.
    pub error: ErrorCode,
    /// One answer per partition: in the order of the request, or sorted if all were asked for.
    pub partitions: Vec<FetchedOffset>,
}

/// A committed offset, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedOffset {
    /// The partition.
    pub partition: TopicPartition,
    /// The offset, -1 if none is committed.
    pub offset: i64,
    /// The leader epoch, -1 for none.
    pub leader_epoch: i32,
    /// The client's note.
    pub metadata: Arc<str>,
    /// The verdict on this partition.
    pub error: ErrorCode,
}

/// OffsetDelete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetDeleteRequest {
    /// The group.
    pub group: GroupId,
    /// The partitions to forget.
    pub partitions: Vec<TopicPartition>,
}

/// Answer to [`OffsetDeleteRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetDeleteResponse {
    /// A verdict on the whole request.
    pub error: ErrorCode,
    /// One verdict per partition, in the order of the request; empty with an error.
    pub partitions: Vec<(TopicPartition, ErrorCode)>,
}
