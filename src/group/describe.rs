//! What ListGroups and DescribeGroups say about a group, and what they leave out.
//!
//! Which groups are listed, and what is said about a group that does not exist or is not ours, is
//! the manager's business.

use std::sync::Arc;

use super::{Group, State, member::Member};
use crate::{
    api::{DescribedGroup, DescribedMember, ErrorCode, ListedGroup},
    ids::MemberId,
};

/// A group as its coordinator sees it, for metrics and tests. DescribeGroups tells clients less.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Where it is in its life.
    pub state: State,
    /// The generation; 0 if there was none yet.
    pub generation: i32,
    /// Its members, in the order of joining.
    pub members: Vec<MemberId>,
    /// The leader.
    pub leader: Option<MemberId>,
    /// How many member ids were given out with MEMBER_ID_REQUIRED and not yet used.
    pub pending_members: usize,
    /// How many requests are parked.
    pub parked: usize,
    /// What the last vote chose.
    pub protocol: Option<Arc<str>>,
    /// What its members are, or were.
    pub protocol_type: Option<Arc<str>>,
}

impl Group {
    /// Everything about the group that can be told in a few words.
    pub fn inspect(&self) -> Inspection {
        Inspection {
            state: self.state,
            generation: self.generation,
            members: self.member_ids().cloned().collect(),
            leader: self.leader().cloned(),
            pending_members: self.pending_members(),
            parked: self.parked(),
            protocol: self.protocol.clone(),
            protocol_type: self.protocol_type.clone(),
        }
    }

    /// The group in a ListGroups answer.
    pub fn list(&self) -> ListedGroup {
        ListedGroup {
            group: self.id.clone(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            state: self.state.name(),
        }
    }

    /// The group in a DescribeGroups answer. Protocol, metadata and assignments are only told of a
    /// Stable group, since in every other state some of them are about to change. Pending ids are
    /// not listed.
    pub fn describe(&self) -> DescribedGroup {
        let protocol = self.protocol.as_ref().filter(|_| self.state == State::Stable);
        let describe = |member: &Member| DescribedMember {
            member_id: member.id.clone(),
            instance: member.instance.clone(),
            client_id: Arc::clone(&member.client_id),
            metadata: protocol.map(|name| member.metadata(name)).unwrap_or_default(),
            assignment: protocol.map(|_| Arc::clone(&member.assignment)).unwrap_or_default(),
        };
        let mut members: Vec<_> = self.roster.iter().map(|(_, member)| describe(member)).collect();
        members.sort_by(|a, b| a.member_id.cmp(&b.member_id));
        DescribedGroup {
            error: ErrorCode::None,
            group: self.id.clone(),
            state: self.state.name(),
            protocol_type: self.protocol_type.clone().unwrap_or_default(),
            protocol: protocol.map(Arc::clone).unwrap_or_default(),
            members,
        }
    }
}
