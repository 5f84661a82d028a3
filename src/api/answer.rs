//! Turning requests into refusals and answers into errors, in the shape each API has for that.

use super::{
    DescribedGroup, ErrorCode, FoundCoordinator, InitProducerIdResponse, JoinResponse,
    LeaveResponse, OffsetDeleteResponse, OffsetFetchResponse, Request, Response, SyncResponse,
    VerifyTxnResponse,
};
use crate::ids::{GroupId, TransactionalId};

impl Request {
    /// The group that the request is about; `None` for those about none or several.
    pub fn group(&self) -> Option<&GroupId> {
        match self {
            Self::JoinGroup(request) => Some(&request.group),
            Self::SyncGroup(request) => Some(&request.group),
            Self::Heartbeat(request) => Some(&request.group),
            Self::LeaveGroup(request) => Some(&request.group),
            Self::OffsetCommit(request) => Some(&request.group),
            Self::OffsetFetch(request) => Some(&request.group),
            Self::OffsetDelete(request) => Some(&request.group),
            Self::DeleteGroups { groups } | Self::DescribeGroups { groups } => match &groups[..] {
                [group] => Some(group),
                _ => None,
            },
            Self::TxnOffsetCommit(request) => Some(&request.group),
            Self::TxnMarker(request) => Some(&request.group),
            Self::FindCoordinator { .. }
            | Self::ListGroups { .. }
            | Self::InitProducerId(_)
            | Self::AddPartitionsToTxn(_)
            | Self::AddOffsetsToTxn(_)
            | Self::EndTxn(_)
            | Self::VerifyTxn(_)
            | Self::TxnOutcome(_) => None,
        }
    }

    /// The transactional id whose coordinator the request is for; `None` for those that are for a
    /// group's coordinator or for any broker.
    pub fn transactional_id(&self) -> Option<&TransactionalId> {
        match self {
            Self::InitProducerId(request) => request.transactional_id.as_ref(),
            Self::AddPartitionsToTxn(request) => Some(&request.transactional_id),
            Self::AddOffsetsToTxn(request) => Some(&request.transactional_id),
            Self::EndTxn(request) => Some(&request.transactional_id),
            Self::VerifyTxn(request) => Some(&request.transactional_id),
            Self::TxnOutcome(request) => Some(&request.transactional_id),
            Self::FindCoordinator { .. }
            | Self::JoinGroup(_)
            | Self::SyncGroup(_)
            | Self::Heartbeat(_)
            | Self::LeaveGroup(_)
            | Self::OffsetCommit(_)
            | Self::OffsetFetch(_)
            | Self::OffsetDelete(_)
            | Self::DeleteGroups { .. }
            | Self::ListGroups { .. }
            | Self::DescribeGroups { .. }
            | Self::TxnOffsetCommit(_)
            | Self::TxnMarker(_) => None,
        }
    }

    /// The answer that refuses the whole request with `error`.
    pub fn refused(&self, error: ErrorCode) -> Response {
        match self {
            Self::FindCoordinator { keys, .. } => {
                let refuse =
                    |key: &_| FoundCoordinator { key: Clone::clone(key), error, coordinator: None };
                Response::FindCoordinator(keys.iter().map(refuse).collect())
            }
            Self::JoinGroup(request) => {
                Response::JoinGroup(JoinResponse::refused(error, request.member_id.clone()))
            }
            Self::SyncGroup(_) => Response::SyncGroup(SyncResponse::refused(error)),
            Self::Heartbeat(_) => Response::Heartbeat(error),
            Self::LeaveGroup(_) => Response::LeaveGroup(LeaveResponse::refused(error)),
            Self::OffsetCommit(request) => {
                let offsets = request.offsets.iter();
                Response::OffsetCommit(offsets.map(|it| (it.partition.clone(), error)).collect())
            }
            Self::OffsetFetch(_) => Response::OffsetFetch(OffsetFetchResponse::refused(error)),
            Self::OffsetDelete(_) => Response::OffsetDelete(OffsetDeleteResponse::refused(error)),
            Self::DeleteGroups { groups } => {
                Response::DeleteGroups(groups.iter().map(|it| (it.clone(), error)).collect())
            }
            Self::ListGroups { .. } => Response::ListGroups { error, groups: Vec::new() },
            Self::DescribeGroups { groups } => {
                let refuse = |it: &GroupId| DescribedGroup::refused(error, it.clone());
                Response::DescribeGroups(groups.iter().map(refuse).collect())
            }
            Self::InitProducerId(_) => {
                Response::InitProducerId(InitProducerIdResponse::refused(error))
            }
            Self::AddPartitionsToTxn(request) => {
                let partitions = request.partitions.iter();
                Response::AddPartitionsToTxn(partitions.map(|it| (it.clone(), error)).collect())
            }
            Self::AddOffsetsToTxn(_) => Response::AddOffsetsToTxn(error),
            Self::EndTxn(_) => Response::EndTxn(error),
            Self::TxnOffsetCommit(request) => {
                let offsets = request.offsets.iter();
                Response::TxnOffsetCommit(offsets.map(|it| (it.partition.clone(), error)).collect())
            }
            Self::VerifyTxn(_) => Response::VerifyTxn(VerifyTxnResponse::refused(error)),
            Self::TxnMarker(_) => Response::TxnMarker(error),
            Self::TxnOutcome(_) => Response::TxnOutcome(Err(error)),
        }
    }
}

impl Response {
    /// Whether any part of the answer says that something was done or is so.
    pub fn is_success(&self) -> bool {
        match self {
            Self::FindCoordinator(found) => found.iter().any(|it| it.error.is_none()),
            Self::JoinGroup(response) => response.error.is_none(),
            Self::SyncGroup(response) => response.error.is_none(),
            Self::Heartbeat(error) => error.is_none(),
            Self::LeaveGroup(response) => response.error.is_none(),
            Self::OffsetCommit(partitions) => partitions.iter().any(|(_, error)| error.is_none()),
            Self::OffsetFetch(response) => response.error.is_none(),
            Self::OffsetDelete(response) => response.error.is_none(),
            Self::DeleteGroups(groups) => groups.iter().any(|(_, error)| error.is_none()),
            Self::ListGroups { error, .. } => error.is_none(),
            Self::DescribeGroups(groups) => groups.iter().any(|it| it.error.is_none()),
            Self::InitProducerId(response) => response.error.is_none(),
            Self::AddPartitionsToTxn(partitions) | Self::TxnOffsetCommit(partitions) => {
                partitions.iter().any(|(_, error)| error.is_none())
            }
            Self::AddOffsetsToTxn(error) | Self::EndTxn(error) | Self::TxnMarker(error) => {
                error.is_none()
            }
            Self::VerifyTxn(response) => response.error.is_none(),
            Self::TxnOutcome(outcome) => outcome.is_ok(),
        }
    }

    /// The same answer with `error` in place of every success, and nothing that only a success may
    /// tell.
    #[must_use]
    pub fn with_error(self, error: ErrorCode) -> Self {
        let worse = |old: ErrorCode| if old.is_none() { error } else { old };
        if !self.is_success() {
            return self;
        }
        match self {
            Self::FindCoordinator(found) => Self::FindCoordinator(
                found
                    .into_iter()
                    .map(|it| FoundCoordinator {
                        key: it.key,
                        error: worse(it.error),
                        coordinator: None,
                    })
                    .collect(),
            ),
            Self::JoinGroup(it) => Self::JoinGroup(JoinResponse::refused(error, it.member_id)),
            Self::SyncGroup(_) => Self::SyncGroup(SyncResponse::refused(error)),
            Self::Heartbeat(_) => Self::Heartbeat(error),
            Self::LeaveGroup(_) => Self::LeaveGroup(LeaveResponse::refused(error)),
            Self::OffsetCommit(partitions) => Self::OffsetCommit(
                partitions.into_iter().map(|(it, old)| (it, worse(old))).collect(),
            ),
            Self::OffsetFetch(_) => Self::OffsetFetch(OffsetFetchResponse::refused(error)),
            Self::OffsetDelete(_) => Self::OffsetDelete(OffsetDeleteResponse::refused(error)),
            Self::DeleteGroups(groups) => {
                Self::DeleteGroups(groups.into_iter().map(|(it, old)| (it, worse(old))).collect())
            }
            Self::ListGroups { .. } => Self::ListGroups { error, groups: Vec::new() },
            Self::DescribeGroups(groups) => Self::DescribeGroups(
                groups
                    .into_iter()
                    .map(|it| DescribedGroup::refused(worse(it.error), it.group))
                    .collect(),
            ),
            Self::InitProducerId(_) => Self::InitProducerId(InitProducerIdResponse::refused(error)),
            Self::AddPartitionsToTxn(partitions) => Self::AddPartitionsToTxn(
                partitions.into_iter().map(|(it, old)| (it, worse(old))).collect(),
            ),
            Self::AddOffsetsToTxn(_) => Self::AddOffsetsToTxn(error),
            Self::EndTxn(_) => Self::EndTxn(error),
            Self::TxnOffsetCommit(partitions) => Self::TxnOffsetCommit(
                partitions.into_iter().map(|(it, old)| (it, worse(old))).collect(),
            ),
            Self::VerifyTxn(_) => Self::VerifyTxn(VerifyTxnResponse::refused(error)),
            Self::TxnMarker(_) => Self::TxnMarker(error),
            Self::TxnOutcome(_) => Self::TxnOutcome(Err(error)),
        }
    }
}

impl OffsetFetchResponse {
    /// A refusal of all partitions at once.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, partitions: Vec::new() }
    }
}

impl OffsetDeleteResponse {
    /// A refusal of all partitions at once.
    pub fn refused(error: ErrorCode) -> Self {
        Self { error, partitions: Vec::new() }
    }
}

impl DescribedGroup {
    /// A refusal, or with no error the description of a group that does not exist.
    pub fn refused(error: ErrorCode, group: GroupId) -> Self {
        Self {
            error,
            group,
            state: if error.is_none() { "Dead" } else { "" },
            protocol_type: "".into(),
            protocol: "".into(),
            members: Vec::new(),
        }
    }
}
