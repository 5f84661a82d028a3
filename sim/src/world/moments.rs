//! Steps that wait for a moment, and the moments that they wait for.

use std::sync::Arc;

use kaas_coordinator::{api::Request, assignment::ASSIGNMENT_PATH};

use super::{Event, World};
use crate::{
    milestone::Milestone,
    plan::{Moment, When},
    volume::Op,
};

/// A step that waits for its moment.
#[derive(Debug)]
pub(super) struct Armed {
    step: usize,
    when: When,
}

impl World {
    /// A step waits for its moment from here on.
    pub(super) fn arm_step(&mut self, step: usize, when: When) {
        self.script.armed.push(Armed { step, when });
    }

    /// Something has happened at a broker: the steps that waited for it begin, at once.
    pub(super) fn moment(&mut self, moment: Moment, broker: usize, group: &str) {
        let mut armed = std::mem::take(&mut self.script.armed);
        armed.retain_mut(|Armed { step, when }| {
            let is_it = when.moment == moment && when.group.as_deref().is_none_or(|it| it == group);
            if !is_it || when.nth > 1 {
                when.nth -= u32::from(is_it);
                return true;
            }
            let plan = Arc::make_mut(&mut self.plan);
            plan.steps[*step].action.settle_there(&self.brokers[broker].name);
            self.script.open += 1;
            self.record.reach(Milestone::MomentCame);
            self.queue.push(self.now, Event::Begin { step: *step });
            false
        });
        self.script.armed = armed;
    }

    /// A request has reached a broker.
    pub(super) fn moment_of_arrival(&mut self, broker: usize, request: &Request) {
        if self.script.armed.is_empty() {
            return;
        }
        if let Some((moment, _, group)) = moments_of(request) {
            self.moment(moment, broker, &group);
        }
    }

    /// A broker's operation has happened on the volume.
    pub(super) fn moment_of_operation(&mut self, broker: usize, op: &Op) {
        if self.script.armed.is_empty() {
            return;
        }
        if let Some((moment, key)) = moment_of(op) {
            self.moment(moment, broker, key);
        }
    }
}

/// The moment at which a request arrives, the one at which it is answered, and whom it is about.
fn moments_of(request: &Request) -> Option<(Moment, Moment, Arc<str>)> {
    use Moment::{
        CommitAnswered, CommitArrived, DeleteAnswered, DeleteArrived, EndAnswered, EndArrived,
        JoinAnswered, JoinArrived, MarkerAnswered, MarkerArrived, SyncAnswered, SyncArrived,
    };
    Some(match request {
        Request::JoinGroup(it) => (JoinArrived, JoinAnswered, it.group.shared()),
        Request::SyncGroup(it) => (SyncArrived, SyncAnswered, it.group.shared()),
        Request::OffsetCommit(it) => (CommitArrived, CommitAnswered, it.group.shared()),
        Request::TxnOffsetCommit(it) => (CommitArrived, CommitAnswered, it.group.shared()),
        Request::TxnMarker(it) => (MarkerArrived, MarkerAnswered, it.group.shared()),
        Request::DeleteGroups { groups } => {
            (DeleteArrived, DeleteAnswered, groups.first()?.shared())
        }
        Request::EndTxn(it) => {
            (EndArrived, EndAnswered, group_of(&it.transactional_id.shared()).into())
        }
        Request::FindCoordinator { .. }
        | Request::Heartbeat(_)
        | Request::LeaveGroup(_)
        | Request::OffsetFetch(_)
        | Request::OffsetDelete(_)
        | Request::ListGroups { .. }
        | Request::DescribeGroups { .. }
        | Request::InitProducerId(_)
        | Request::AddPartitionsToTxn(_)
        | Request::AddOffsetsToTxn(_)
        | Request::VerifyTxn(_)
        | Request::TxnOutcome(_) => return None,
    })
}

/// The moment at which a request will be answered, and whom it is about.
pub(super) fn moment_of_its_answer(request: &Request) -> Option<(Moment, Arc<str>)> {
    moments_of(request).map(|(_, answered, key)| (answered, key))
}

/// The moment that an operation is, and the group whose file, or whose member's file, it is about.
fn moment_of(op: &Op) -> Option<(Moment, &str)> {
    if **op.path() == *ASSIGNMENT_PATH {
        return Some((Moment::Polled, ""));
    }
    let (directory, rest) = op.path().split_once('/')?;
    let of_group = match directory {
        "__consumer_offsets" => true,
        "__transaction_state" => false,
        _ => return None,
    };
    let in_claims = rest.strip_prefix(".claims/");
    let key = in_claims.map_or(rest, |it| it.split('/').next().unwrap_or(it));
    let key = key.strip_suffix(".json").unwrap_or(key);
    // A file's claims, one of them, something in it.
    let depth = in_claims.map_or(0, |it| it.split('/').count());
    let moment = match (op, depth) {
        (Op::CreateDir(_), 2) if of_group => Moment::Claimed,
        (Op::RemoveDir(_), 2) if of_group => Moment::Unclaimed,
        (Op::Read(_), 0) if of_group => Moment::Loaded,
        (Op::Exists(_), 2) if of_group => Moment::Checked,
        (Op::Write(..), 3) if of_group => Moment::Staged,
        (Op::Write(..), 3) => Moment::StateStaged,
        (Op::Sync(_), 3) if of_group => Moment::Synced,
        (Op::Rename(..), 0) if of_group => Moment::Renamed,
        (Op::Rename(..), 0) => Moment::StateRenamed,
        _ => return None,
    };
    Some((moment, if of_group { key } else { group_of(key) }))
}

/// The group of a transactional id, which is the name of a client, `group.n`.
fn group_of(id: &str) -> &str {
    id.rsplit_once('.').map_or(id, |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::{Moment, moment_of};
    use crate::volume::Op;

    #[test]
    fn an_operation_is_the_moment_of_its_file() {
        let claim = "__consumer_offsets/.claims/payments.json/1.2.kaas-0.1.0";
        let staged = format!("{claim}/7");
        let file = "__consumer_offsets/payments.json";
        let create = Op::CreateDir(claim.into());
        assert_eq!(moment_of(&create), Some((Moment::Claimed, "payments")));
        let write = Op::Write(staged.as_str().into(), Vec::new());
        assert_eq!(moment_of(&write), Some((Moment::Staged, "payments")));
        let publish = Op::Rename(staged.as_str().into(), file.into());
        assert_eq!(moment_of(&publish), Some((Moment::Renamed, "payments")));
        let delete = Op::Rename(file.into(), staged.as_str().into());
        assert_eq!(moment_of(&delete), None);
        let state = Op::Write("__transaction_state/.claims/tx.1.json/1/2".into(), Vec::new());
        assert_eq!(moment_of(&state), Some((Moment::StateStaged, "tx")));
        assert_eq!(moment_of(&Op::Read("assignment.json".into())), Some((Moment::Polled, "")));
        assert_eq!(moment_of(&Op::Exists(claim.into())), Some((Moment::Checked, "payments")));
    }
}
