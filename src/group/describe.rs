//! What ListGroups and DescribeGroups say about a group.
//!
//! Which groups are listed, and what is said about a group that does not exist or is not ours, is
//! the manager's business.

use std::sync::Arc;

use super::{Group, State, member::Member};
use crate::api::{DescribedGroup, DescribedMember, ErrorCode, ListedGroup};

impl Group {
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
