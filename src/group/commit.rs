//! Who may commit offsets.
//!
//! Only the verdict on the sender: metadata, storage and visibility are the offset store's. The
//! rules ask neither whether the member owns the partitions nor whether it was given any.

use super::{Context, Group, State, roster::Seat};
use crate::{
    api::ErrorCode,
    ids::{InstanceId, MemberId},
};

impl Group {
    /// Whether an OffsetCommit may be stored. It is a sign of life of its member.
    ///
    /// A generation below zero is that of a client that does not take part in the group protocol;
    /// it may commit while the group has no members. A member may commit while others are
    /// rejoining, so that it can do so before it gives up its partitions, but not between JoinGroup
    /// and SyncGroup.
    pub fn check_commit(
        &mut self,
        cx: &mut Context<'_>,
        generation: i32,
        member_id: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<(), ErrorCode> {
        match self.committer(generation, member_id, instance)? {
            Committer::Member(seat) => {
                if self.state == State::CompletingRebalance {
                    return Err(ErrorCode::RebalanceInProgress);
                }
                self.refresh(cx.now, seat);
                Ok(())
            }
            Committer::Outsider => self.admit_outsider(),
        }
    }

    /// Whether a TxnOffsetCommit may be stored (KIP-447). No sign of life, and the state of the
    /// group is not consulted. Without an identity it is accepted even of an outsider: older
    /// producers send none.
    pub fn check_txn_commit(
        &self,
        generation: i32,
        member_id: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<(), ErrorCode> {
        self.committer(generation, member_id, instance).map(|_| ())
    }

    /// Whether an OffsetCommit that was accepted, and had to wait since, may still be stored: its
    /// member and its generation must be the same. CompletingRebalance can't be met by a member of
    /// the generation that was, and is no reason to refuse one of the generation that is.
    pub fn recheck_commit(
        &self,
        generation: i32,
        member_id: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<(), ErrorCode> {
        match self.committer(generation, member_id, instance)? {
            Committer::Member(_) => Ok(()),
            Committer::Outsider => self.admit_outsider(),
        }
    }

    fn committer(
        &self,
        generation: i32,
        member_id: &MemberId,
        instance: Option<&InstanceId>,
    ) -> Result<Committer, ErrorCode> {
        if self.state == State::Dead {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        let outside = generation < 0;
        if outside && self.state == State::Empty {
            return Ok(Committer::Outsider);
        }
        if outside && member_id.is_empty() && instance.is_none() {
            return Ok(Committer::Outsider);
        }
        let seat = self.roster.identify(member_id, instance)?;
        if generation != self.generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        Ok(Committer::Member(seat))
    }

    fn admit_outsider(&self) -> Result<(), ErrorCode> {
        match self.state {
            State::Empty => Ok(()),
            State::PreparingRebalance
            | State::CompletingRebalance
            | State::Stable
            | State::Dead => Err(ErrorCode::UnknownMemberId),
        }
    }
}

/// Who wants to commit.
enum Committer {
    /// A member, in the current generation.
    Member(Seat),
    /// A client that names no generation.
    Outsider,
}
