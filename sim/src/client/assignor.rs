//! What members of a group tell each other through the coordinator, which does not read it: their
//! subscriptions, and who gets which partitions.

use std::sync::Arc;

use kaas_coordinator::{api::JoinResponse, ids::MemberId};

/// The range assignor: members sorted by id, each a run of partitions, the first ones one more.
pub(super) fn assign(partitions: &[String], joined: &JoinResponse) -> Vec<(MemberId, Arc<[u8]>)> {
    let mut members: Vec<_> = joined.members.iter().map(|it| it.member_id.clone()).collect();
    members.sort();
    let (each, more) = (partitions.len() / members.len(), partitions.len() % members.len());
    let mut rest = partitions;
    let assign = |(at, member): (usize, MemberId)| {
        let (run, tail) = rest.split_at(each + usize::from(at < more));
        rest = tail;
        (member, encode_names(run.iter().map(String::as_str)))
    };
    members.into_iter().enumerate().map(assign).collect()
}

/// A ConsumerProtocolSubscription of version 0 for one topic, with some bytes of the user's.
pub(super) fn subscription(topic: &str, user_data: Option<i32>) -> Arc<[u8]> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    let length = i16::try_from(topic.len()).expect("topics have short names");
    bytes.extend(length.to_be_bytes());
    bytes.extend(topic.as_bytes());
    match user_data {
        Some(data) => {
            bytes.extend(4_i32.to_be_bytes());
            bytes.extend(data.to_be_bytes());
        }
        None => bytes.extend((-1_i32).to_be_bytes()),
    }
    bytes.into()
}

/// The bytes of an assignment of the simulated consumers: names, a line each.
pub fn encode_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Arc<[u8]> {
    let names: Vec<&str> = names.into_iter().collect();
    names.join("\n").into_bytes().into()
}

/// The names in such bytes.
pub fn decode_names(bytes: &[u8]) -> Vec<&str> {
    let text = std::str::from_utf8(bytes).expect("only simulated consumers write assignments");
    text.split('\n').filter(|name| !name.is_empty()).collect()
}
