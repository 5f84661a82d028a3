//! What clients send, receive and give up, in the words of the model.

use std::sync::Arc;

use kaas_coordinator::{
    api::{ErrorCode, OffsetFetchResponse, Request, Response},
    ids::{GroupId, TopicPartition},
};
use model::{Name, What};

use super::{Lens, asked::Asked, outcome_of, write_of};
use crate::net::ConnId;

impl Lens {
    /// A commit that goes behind another on one connection, which has no answer yet, follows it.
    fn follow(&mut self, (request, conn): (u64, ConnId), client: &Name, asked: &Asked) {
        let before = self.last_commits.insert(client.clone(), (request, conn));
        let Some((before, _)) = before.filter(|it| it.1 == conn) else { return };
        let Some(before) = self.asked.get(&before) else { return };
        let pairs = asked.ops.iter().filter_map(|(op, partition)| {
            let (after, _) = before.ops.iter().find(|it| it.1 == *partition)?;
            Some((*op, *after))
        });
        for (op, after) in pairs.collect::<Vec<_>>() {
            self.see(What::CommitFollows { op, after });
        }
    }

    /// A client sends a request over a connection.
    pub fn sent(&mut self, (request, conn): (u64, ConnId), client: &Name, body: &Request) {
        let mut asked = Asked::new(client, body, self.round);
        let group = body.group().map(GroupId::shared);
        match body {
            Request::OffsetCommit(it) => {
                let group = it.group.shared();
                for commit in &it.offsets {
                    let op = self.next_op();
                    let partition = self.partition(&commit.partition);
                    let known = self.committed.entry(Arc::clone(&group)).or_default();
                    known.insert(commit.partition.clone());
                    asked.ops.push((op, commit.partition.clone()));
                    self.see(What::CommitInvoked {
                        op,
                        client: client.clone(),
                        group: Arc::clone(&group),
                        partition,
                        write: write_of(&commit.metadata).expect("clients name their writes"),
                        offset: commit.offset,
                    });
                }
                self.follow((request, conn), client, &asked);
            }
            Request::OffsetFetch(it) => {
                let wanted = match &it.partitions {
                    Some(partitions) => partitions.clone(),
                    None => self.known(&it.group.shared()),
                };
                self.invoke(&mut asked, group, wanted, false);
                // Who asks for everything is told nothing of what is only pending.
                let is_stable = it.require_stable && it.partitions.is_some();
                for (op, _) in asked.ops.iter().filter(|_| is_stable) {
                    self.see(What::FetchIsStable { op: *op });
                }
            }
            Request::TxnOffsetCommit(it) => self.commit_in_txn_sent(&mut asked, it),
            Request::EndTxn(it) => self.end_sent(&mut asked, it),
            Request::DeleteGroups { groups } => {
                let wanted = groups.iter().flat_map(|it| self.known(&it.shared())).collect();
                self.invoke(&mut asked, group, wanted, true);
            }
            Request::FindCoordinator { .. }
            | Request::JoinGroup(_)
            | Request::SyncGroup(_)
            | Request::Heartbeat(_)
            | Request::LeaveGroup(_)
            | Request::OffsetDelete(_)
            | Request::ListGroups { .. }
            | Request::DescribeGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::VerifyTxn(_)
            | Request::TxnMarker(_)
            | Request::TxnOutcome(_) => {}
        }
        self.asked.insert(request, asked);
    }

    fn known(&self, group: &Name) -> Vec<TopicPartition> {
        self.committed.get(group).map_or_else(Vec::new, |it| it.iter().cloned().collect())
    }

    fn invoke(
        &mut self,
        asked: &mut Asked,
        group: Option<Name>,
        wanted: Vec<TopicPartition>,
        deletes: bool,
    ) {
        let Some(group) = group else { return };
        for it in wanted {
            let (op, partition) = (self.next_op(), self.partition(&it));
            let (client, group) = (asked.client.clone(), Arc::clone(&group));
            asked.ops.push((op, it));
            self.see(match deletes {
                true => What::DeleteInvoked { op, client, group, partition },
                false => What::FetchInvoked { op, client, group, partition },
            });
        }
    }

    /// A client receives an answer.
    pub fn received(&mut self, request: u64, response: &Response) {
        let Some(asked) = self.asked.remove(&request) else { return };
        match response {
            Response::OffsetCommit(partitions) => {
                for ((op, _), (_, error)) in asked.ops.iter().zip(partitions) {
                    self.see(What::Returned { op: *op, outcome: outcome_of(*error) });
                }
            }
            Response::DeleteGroups(groups) => {
                let error = groups.first().map_or(ErrorCode::None, |(_, error)| *error);
                for (op, _) in &asked.ops {
                    self.see(What::Returned { op: *op, outcome: outcome_of(error) });
                }
            }
            Response::OffsetFetch(it) => {
                self.examined(&asked, it);
                for (op, partition) in &asked.ops {
                    let found = it.partitions.iter().find(|it| it.partition == *partition);
                    let error = found.map_or(it.error, |it| it.error);
                    let found = found.filter(|it| it.offset >= 0);
                    let value = found.map(|it| (it.offset, write_of(&it.metadata).unwrap_or(0)));
                    self.see(match error {
                        ErrorCode::None if it.error.is_none() => What::Fetched { op: *op, value },
                        ErrorCode::UnstableOffsetCommit => What::FetchUnstable { op: *op },
                        _ => What::FetchFailed { op: *op },
                    });
                }
            }
            Response::TxnOffsetCommit(verdicts) => self.commit_in_txn_received(&asked, verdicts),
            Response::EndTxn(error) => self.end_received(&asked, *error),
            Response::InitProducerId(it) => self.producer_received(&asked, it),
            Response::FindCoordinator(_)
            | Response::JoinGroup(_)
            | Response::SyncGroup(_)
            | Response::Heartbeat(_)
            | Response::LeaveGroup(_)
            | Response::OffsetDelete(_)
            | Response::ListGroups { .. }
            | Response::DescribeGroups(_)
            | Response::AddPartitionsToTxn(_)
            | Response::AddOffsetsToTxn(_)
            | Response::VerifyTxn(_)
            | Response::TxnMarker(_)
            | Response::TxnOutcome(_) => {}
        }
    }

    /// The examiner keeps what it reads of offsets: it comes when everything is at rest.
    fn examined(&mut self, asked: &Asked, it: &OffsetFetchResponse) {
        if *asked.client != *"examiner" || !it.error.is_none() {
            return;
        }
        let group = asked.groups[0].shared();
        self.answered_to_examiner.insert(Arc::clone(&group));
        for it in it.partitions.iter().filter(|it| it.error.is_none() && it.offset >= 0) {
            self.examined.insert((Arc::clone(&group), it.partition.clone()), it.offset);
        }
    }

    /// A client does not wait for the answer any more; the broker may still give it.
    pub fn gave_up(&mut self, request: u64) {
        let Some(asked) = self.asked.get(&request).cloned() else { return };
        self.txn_unanswered(&asked);
        if asked.is_fetch {
            for (op, _) in asked.ops.clone() {
                self.see(What::FetchFailed { op });
            }
        }
    }

    /// The connection under a request is gone.
    pub fn connection_lost(&mut self, request: u64) {
        self.gave_up(request);
    }
}
