//! Requests and answers about membership.

use super::{Arc, Duration, ErrorCode, GroupId, InstanceId, MemberId};

/// A protocol a member supports, with the member's metadata for it (opaque to the coordinator,
/// except that a consumer subscription is read for OffsetDelete and retention).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// For example `range`.
    pub name: Arc<str>,
    /// The member's metadata under this protocol.
    pub metadata: Arc<[u8]>,
}

/// JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// The group.
    pub group: GroupId,
    /// Empty to become a member, else who I am.
    pub member_id: MemberId,
    /// Set by static members.
    pub instance: Option<InstanceId>,
    /// The client's name, which begins the ids of its members.
    pub client_id: Arc<str>,
    /// How long the group waits without a sign of life.
    pub session_timeout: Duration,
    /// How long the group waits for this member to rejoin.
    pub rebalance_timeout: Duration,
    /// `consumer`, `connect`, ...
    pub protocol_type: Arc<str>,
    /// In order of preference.
    pub protocols: Vec<Protocol>,
    /// The request's version: 4 and above use MEMBER_ID_REQUIRED, 9 and above `skip_assignment`.
    pub version: i16,
    /// Why the member joins, for the log (KIP-800).
    pub reason: Option<Arc<str>>,
}

/// Answer to [`JoinRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinResponse {
    /// The verdict.
    pub error: ErrorCode,
    /// Who the client is, or the id it sent.
    pub member_id: MemberId,
    /// The generation joined; -1 with an error.
    pub generation: i32,
    /// The protocol chosen by vote.
    pub protocol: Option<Arc<str>>,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The leader's member id; empty with an error.
    pub leader: MemberId,
    /// Every member's metadata; empty for all but the leader.
    pub members: Vec<JoinMember>,
    /// Whether the leader keeps the assignment it had (v9, KIP-814).
    pub skip_assignment: bool,
}

impl JoinResponse {
    /// A refusal; `member_id` is what the client may use from now on.
    pub fn refused(error: ErrorCode, member_id: MemberId) -> Self {
        Self {
            error,
            member_id,
            generation: -1,
            protocol: None,
            protocol_type: None,
            leader: "".into(),
            members: Vec::new(),
            skip_assignment: false,
        }
    }
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its instance id, if it is static.
    pub instance: Option<InstanceId>,
    /// Its metadata for the chosen protocol.
    pub metadata: Arc<[u8]>,
}

/// SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// The group.
    pub group: GroupId,
    /// The generation that was joined.
    pub generation: i32,
    /// Who I am.
    pub member_id: MemberId,
    /// Set by static members.
    pub instance: Option<InstanceId>,
    /// The group's protocol type as the member knows it (v5, KIP-559).
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol as the member knows it (v5).
    pub protocol_name: Option<Arc<str>>,
    /// What each member gets; only the leader's counts.
    pub assignments: Vec<(MemberId, Arc<[u8]>)>,
    /// The request's version: 5 and above must name type and protocol.
    pub version: i16,
}

/// Answer to [`SyncRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncResponse {
    /// The verdict.
    pub error: ErrorCode,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol_name: Option<Arc<str>>,
    /// What the leader gave this member; empty with an error.
    pub assignment: Arc<[u8]>,
}

impl SyncResponse {
    /// A refusal.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, protocol_type: None, protocol_name: None, assignment: Arc::default() }
    }
}

/// Heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// The group.
    pub group: GroupId,
    /// The generation the member is in.
    pub generation: i32,
    /// Who I am.
    pub member_id: MemberId,
    /// Set by static members.
    pub instance: Option<InstanceId>,
}

/// One member that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveIdentity {
    /// Empty to name a static member by its instance alone.
    pub member_id: MemberId,
    /// The instance id, if static.
    pub instance: Option<InstanceId>,
}

/// LeaveGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveRequest {
    /// The group.
    pub group: GroupId,
    /// Who leaves.
    pub members: Vec<LeaveIdentity>,
}

/// Answer to [`LeaveRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveResponse {
    /// A verdict on the whole request.
    pub error: ErrorCode,
    /// One verdict per member, in the order of the request; empty with an error.
    pub members: Vec<LeftMember>,
}

impl LeaveResponse {
    /// A refusal of the whole request.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, members: Vec::new() }
    }
}

/// What became of one member that wanted to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMember {
    /// The member that was removed, or the id of the request.
    pub member_id: MemberId,
    /// The instance id of the request.
    pub instance: Option<InstanceId>,
    /// The verdict.
    pub error: ErrorCode,
}

/// A group in a ListGroups answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedGroup {
    /// The group.
    pub group: GroupId,
    /// Its protocol type, empty for a group that only holds offsets.
    pub protocol_type: Arc<str>,
    /// Its state's name, for example `Stable`.
    pub state: &'static str,
}

/// A group in a DescribeGroups answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedGroup {
    /// The verdict.
    pub error: ErrorCode,
    /// The group.
    pub group: GroupId,
    /// Its state's name; `Dead` if there is no such group, empty with an error.
    pub state: &'static str,
    /// Its protocol type, empty for a group that only holds offsets.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless Stable.
    pub protocol: Arc<str>,
    /// Its members, sorted by id.
    pub members: Vec<DescribedMember>,
}

/// A member in a DescribeGroups answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its instance id, if it is static.
    pub instance: Option<InstanceId>,
    /// Its client's name.
    pub client_id: Arc<str>,
    /// Its metadata for the chosen protocol; empty unless Stable.
    pub metadata: Arc<[u8]>,
    /// Its assignment; empty unless Stable.
    pub assignment: Arc<[u8]>,
}
