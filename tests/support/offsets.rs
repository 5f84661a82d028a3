//! A client that commits offsets and fetches them.

use std::time::Duration;

use async_io::Timer;
use kaas_coordinator::{
    api::{CommitOffset, ErrorCode, OffsetCommitRequest, OffsetFetchRequest, Request, Response},
    broker::Broker,
    ids::{GroupId, TopicPartition},
    ports::Volume,
};

use super::host::RealHost;

/// Waits, as a client does between two tries.
pub(crate) async fn back_off() {
    Timer::after(Duration::from_millis(1)).await;
}

/// Commits an offset for the first `partitions` partitions of `orders`; the first error, if any.
pub(crate) async fn commit<V: Volume>(
    broker: &Broker<RealHost<V>>,
    group: &str,
    partitions: i32,
    offset: i64,
) -> ErrorCode {
    let offsets = (0..partitions).map(|partition| CommitOffset {
        partition: TopicPartition::new("orders", partition),
        offset,
        leader_epoch: -1,
        metadata: offset.to_string().into(),
    });
    let request = OffsetCommitRequest {
        group: GroupId::from(group),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: offsets.collect(),
        retention_ms: None,
    };
    let Response::OffsetCommit(verdicts) = broker.call(Request::OffsetCommit(request)).await else {
        unreachable!("an answer is of its request's kind")
    };
    let errors = verdicts.into_iter().map(|(_, error)| error);
    errors.fold(ErrorCode::None, |first, error| if first.is_none() { error } else { first })
}

/// Fetches what [`commit`] committed, which is the same for all partitions; -1 if that is nothing.
pub(crate) async fn fetch<V: Volume>(
    broker: &Broker<RealHost<V>>,
    group: &str,
    partitions: i32,
) -> Result<i64, ErrorCode> {
    let all = (0..partitions).map(|partition| TopicPartition::new("orders", partition));
    let request = OffsetFetchRequest {
        group: GroupId::from(group),
        partitions: Some(all.collect()),
        require_stable: false,
    };
    let Response::OffsetFetch(response) = broker.call(Request::OffsetFetch(request)).await else {
        unreachable!("an answer is of its request's kind")
    };
    if !response.error.is_none() {
        return Err(response.error);
    }
    let offset = response.partitions[0].offset;
    for it in &response.partitions {
        assert_eq!(it.offset, offset, "a commit of {group} is there in part: {response:?}");
        let metadata = if offset == -1 { String::new() } else { offset.to_string() };
        assert_eq!(*it.metadata, *metadata, "offset and metadata of {group} are of two commits");
    }
    Ok(offset)
}
