//! What a broker's notes mean, in the trace's words: short, and as a user of the cluster sees it.
#![expect(clippy::wildcard_enum_match_arm, reason = "what has no words is not told")]

use kaas_coordinator::{
    api::{ErrorCode, Response},
    ids::{GroupId, TopicPartition},
    note::{Note, TxnEvent},
};

use crate::world::count;

/// A note in the trace's words, and the group that it is about.
pub(super) fn of(note: &Note) -> Option<(Option<&GroupId>, String)> {
    Some(match note {
        Note::ViewApplied { epoch, version } => (None, format!("applies view {epoch}.{version}")),
        Note::ViewRefused { reason } => (None, format!("keeps its view: the file is {reason}")),
        Note::ViewStale => (None, "serves nobody: its view is stale".to_owned()),
        Note::ViewFresh => (None, "serves again".to_owned()),
        Note::Loaded { group, offsets, pending, claims_removed } => {
            let pending = match pending {
                0 => String::new(),
                pending => format!(", {} pending", count(*pending, "transaction")),
            };
            let removed = match claims_removed {
                0 => String::new(),
                removed => format!(", {} removed", count(*removed, "claim")),
            };
            (Some(group), format!("loaded {}{pending}{removed}", count(*offsets, "offset")))
        }
        Note::Fenced { group, during } => (Some(group), format!("fenced at {during}")),
        Note::Quarantined { group, reason } => (Some(group), format!("refused: file is {reason}")),
        Note::VolumeFailed { group, operation, reason } => {
            (Some(group), format!("{operation} failed: {reason}"))
        }
        Note::Dropped { group, owner, found_by, parked } => {
            let owner = owner.as_ref().map_or("nobody", |owner| owner.as_str());
            let found = if *found_by == "sweep" { ", found by the sweep" } else { "" };
            let parked = match parked {
                0 => String::new(),
                parked => format!(", {parked} parked answered"),
            };
            (Some(group), format!("dropped: is {owner}'s{found}{parked}"))
        }
        Note::Idle { group } => (Some(group), "put away".to_owned()),
        Note::Expired { group, offsets } => {
            (Some(group), format!("{} expired", count(*offsets, "offset")))
        }
        Note::State { group, state, generation, members } => {
            (Some(group), state_in_words(state, *generation, *members))
        }
        Note::MemberExpired { group, timer } => {
            (Some(group), format!("a member is removed: {timer} timeout"))
        }
        Note::Batched { .. } | Note::ProducerIdsTaken { .. } => return None,
        Note::ProducerIdsRefused { reason } => (None, format!("has no producer ids: {reason}")),
        Note::Transaction { id, event } => (None, format!("{id}: {}", of_transaction(event)?)),
    })
}

/// What has happened to a transactional id; loads and what is put away are routine.
fn of_transaction(event: &TxnEvent) -> Option<String> {
    Some(match event {
        TxnEvent::Loaded { .. } | TxnEvent::Idle => return None,
        TxnEvent::Resumed => "is found waiting".to_owned(),
        TxnEvent::Prepared { transaction, commit: true } => format!("commits {transaction}"),
        TxnEvent::Prepared { transaction, commit: false } => format!("aborts {transaction}"),
        TxnEvent::Completed { transaction, .. } => format!("completes {transaction}"),
        TxnEvent::TimedOut { transaction } => format!("{transaction} is open for too long"),
        TxnEvent::Fenced { during } => format!("fenced at {during}"),
        TxnEvent::Quarantined { reason } => format!("refused: file is {reason}"),
        TxnEvent::VolumeFailed { operation, reason } => format!("{operation} failed: {reason}"),
        TxnEvent::Dropped { owner, .. } => {
            let owner = owner.as_ref().map_or("nobody", |owner| owner.as_str());
            format!("dropped: is {owner}'s")
        }
        TxnEvent::Expired => "expired".to_owned(),
    })
}

fn state_in_words(state: &str, generation: i32, members: usize) -> String {
    let members = count(members, "member");
    match state {
        "PreparingRebalance" => format!("rebalances, has {members}"),
        "CompletingRebalance" => format!("generation {generation} begins, {members}"),
        "Stable" => format!("Stable in generation {generation}, {members}"),
        "Empty" => format!("Empty after generation {generation}"),
        "Dead" => "lets the group go".to_owned(),
        other => other.to_owned(),
    }
}

/// What an answer refuses, and why; none if it does not. That a member is told its id first is no
/// refusal.
pub(super) fn refusal(response: &Response) -> Option<(&'static str, ErrorCode)> {
    let (what, errors): (_, Vec<ErrorCode>) = match response {
        Response::FindCoordinator(found) => ("find", found.iter().map(|it| it.error).collect()),
        Response::JoinGroup(it) => ("join", vec![it.error]),
        Response::SyncGroup(it) => ("sync", vec![it.error]),
        Response::Heartbeat(error) => ("heartbeat", vec![*error]),
        Response::LeaveGroup(it) => ("leave", vec![it.error]),
        Response::OffsetCommit(offsets) => ("commit", offsets.iter().map(|it| it.1).collect()),
        Response::OffsetFetch(it) => {
            let partitions = it.partitions.iter().map(|it| it.error);
            ("fetch", [it.error].into_iter().chain(partitions).collect())
        }
        Response::OffsetDelete(it) => ("delete offsets", vec![it.error]),
        Response::DeleteGroups(groups) => ("delete", groups.iter().map(|it| it.1).collect()),
        Response::ListGroups { error, .. } => ("list", vec![*error]),
        Response::DescribeGroups(groups) => {
            ("describe", groups.iter().map(|it| it.error).collect())
        }
        Response::InitProducerId(it) => ("init", vec![it.error]),
        Response::AddPartitionsToTxn(it) => ("add partitions", it.iter().map(|it| it.1).collect()),
        Response::AddOffsetsToTxn(error) => ("add offsets", vec![*error]),
        Response::EndTxn(error) => ("end", vec![*error]),
        Response::TxnOffsetCommit(it) => {
            ("transactional commit", it.iter().map(|it| it.1).collect())
        }
        Response::VerifyTxn(it) => ("verify", vec![it.error]),
        Response::TxnMarker(error) => ("marker", vec![*error]),
        Response::TxnOutcome(it) => ("outcome", it.err().into_iter().collect()),
    };
    let mut errors = errors.into_iter();
    let error = errors.find(|it| !matches!(it, ErrorCode::None | ErrorCode::MemberIdRequired))?;
    Some((what, error))
}

/// What an answer to a client without a group means to it, by `broker`; none if it is routine.
pub(super) fn success(response: &Response, broker: &str) -> Option<String> {
    match response {
        Response::OffsetCommit(_) => Some(format!("commit acked by {broker}")),
        Response::OffsetFetch(it) => {
            let found = it.partitions.iter().filter(|it| it.offset >= 0);
            let found = positions(found.map(|it| (&it.partition, it.offset)), "at");
            let found = if found.is_empty() { "nothing".to_owned() } else { found };
            Some(format!("reads {found} from {broker}"))
        }
        _ => None,
    }
}

/// Partitions and where they stand, neighbours that stand alike as one: `orders/0-2 from 7`.
pub fn positions<'a>(
    positions: impl IntoIterator<Item = (&'a TopicPartition, i64)>,
    preposition: &str,
) -> String {
    let mut runs: Vec<(&TopicPartition, i32, i64)> = Vec::new();
    for (partition, at) in positions {
        match runs.last_mut() {
            Some((first, last, position))
                if (&first.topic, *position) == (&partition.topic, at)
                    && *last + 1 == partition.partition =>
            {
                *last += 1;
            }
            _ => runs.push((partition, partition.partition, at)),
        }
    }
    let runs = runs.into_iter().map(|(first, last, at)| {
        let range = if first.partition == last { String::new() } else { format!("-{last}") };
        format!("{first}{range} {preposition} {at}")
    });
    runs.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use kaas_coordinator::ids::TopicPartition;

    use super::positions;

    #[test]
    fn neighbours_that_stand_alike_are_one() {
        let of = |them: &[(&str, i64)]| {
            let parse = |name: &str| TopicPartition::parse(name).expect("a partition's name");
            let them: Vec<_> = them.iter().map(|(name, at)| (parse(name), *at)).collect();
            positions(them.iter().map(|(partition, at)| (partition, *at)), "from")
        };
        assert_eq!(of(&[]), "");
        assert_eq!(of(&[("a/0", 7)]), "a/0 from 7");
        assert_eq!(of(&[("a/0", 7), ("a/1", 7), ("b/2", 7)]), "a/0-1 from 7, b/2 from 7");
        assert_eq!(of(&[("a/0", 7), ("a/1", 8), ("a/3", 8)]), "a/0 from 7, a/1 from 8, a/3 from 8");
    }
}
