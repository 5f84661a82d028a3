//! Requests, and callers that can be held back.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    task::{Context, Poll, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{
        CommitOffset, ErrorCode, JoinRequest, JoinResponse, LeaveIdentity, LeaveRequest,
        OffsetCommitRequest, OffsetFetchRequest, Protocol, Request, Response, SyncRequest,
    },
    ids::{MemberId, TopicPartition},
};

use crate::still::Still;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn commit(group: &str) -> Request {
    Request::OffsetCommit(OffsetCommitRequest {
        group: group.into(),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: vec![CommitOffset {
            partition: TopicPartition::new("events", 0),
            offset: 1,
            leader_epoch: -1,
            metadata: "".into(),
        }],
        retention_ms: None,
    })
}

pub(crate) fn fetch(group: &str) -> Request {
    let group = group.into();
    Request::OffsetFetch(OffsetFetchRequest { group, partitions: None, require_stable: false })
}

pub(crate) fn list() -> Request {
    Request::ListGroups { states: Vec::new() }
}

/// Of a version that makes a client a member at once.
pub(crate) fn join(group: &str) -> Request {
    Request::JoinGroup(JoinRequest {
        group: group.into(),
        member_id: "".into(),
        instance: None,
        client_id: "c".into(),
        session_timeout: 10 * SECOND,
        rebalance_timeout: 60 * SECOND,
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: [].into() }],
        version: 3,
        reason: None,
    })
}

pub(crate) fn error(response: &Response) -> ErrorCode {
    match response {
        Response::OffsetCommit(partitions) => partitions[0].1,
        Response::OffsetFetch(it) => it.error,
        Response::JoinGroup(it) => it.error,
        Response::ListGroups { error, .. } => *error,
        _ => panic!("not asked here: {response:?}"),
    }
}

pub(crate) fn joined(response: Response) -> JoinResponse {
    let Response::JoinGroup(it) = response else { panic!("not asked here: {response:?}") };
    it
}

/// A request that has been sent, and waits.
pub(crate) struct Call(Pin<Box<dyn Future<Output = Response>>>);

impl Call {
    pub(crate) fn send(still: &Still, request: Request) -> Self {
        let broker = Arc::clone(&still.broker);
        let mut call = Self(Box::pin(async move { broker.call(request).await }));
        assert_eq!(call.look(), None, "it waits");
        call
    }

    pub(crate) fn look(&mut self) -> Option<Response> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => Some(response),
            Poll::Pending => None,
        }
    }

    pub(crate) fn answer(mut self) -> Response {
        self.look().expect("it is answered")
    }
}

/// From now on these groups are another broker's.
pub(crate) fn give_away(still: &mut Still, version: u32, groups: &[&str]) {
    let entry = |group: &&str| format!(r#"{{"groupId":"{group}","broker":"kaas-1"}}"#);
    let entries = groups.iter().map(entry).collect::<Vec<_>>().join(",");
    let assignment = format!(
        r#"{{"controllerEpoch":1,"assignmentVersion":{version},"consumerGroups":[{entries}],
        "brokers":[{{"id":"kaas-0","health":"alive"}},{{"id":"kaas-1","health":"dead"}}]}}"#
    );
    still.broker.host().put("assignment.json", assignment.as_bytes());
    still.advance(2 * SECOND);
}

pub(crate) fn stick(still: &Still, is_stuck: bool) {
    still.broker.host().is_stuck.store(is_stuck, Ordering::Relaxed);
}

/// The names of the claims that there are.
pub(crate) fn claims(still: &Still) -> Vec<String> {
    let files = still.broker.host().files();
    let claims =
        files.directories.iter().filter_map(|it| it.split_once(".claims/")?.1.split_once('/'));
    claims.map(|(_, claim)| claim.to_owned()).collect()
}

/// A commit of a member, in generation 1.
pub(crate) fn commit_as(group: &str, member: &MemberId) -> Request {
    let Request::OffsetCommit(request) = commit(group) else { unreachable!("it is a commit") };
    let (generation, member_id) = (1, member.clone());
    Request::OffsetCommit(OffsetCommitRequest { generation, member_id, ..request })
}

/// The SyncGroup of the only member of generation 1.
pub(crate) fn sync(group: &str, member: &MemberId) -> Request {
    Request::SyncGroup(SyncRequest {
        group: group.into(),
        generation: 1,
        member_id: member.clone(),
        instance: None,
        protocol_type: None,
        protocol_name: None,
        assignments: Vec::new(),
        version: 3,
    })
}

pub(crate) fn leave(group: &str, member: &MemberId) -> Request {
    let members = vec![LeaveIdentity { member_id: member.clone(), instance: None }];
    Request::LeaveGroup(LeaveRequest { group: group.into(), members })
}

/// The groups of a list, in its order.
pub(crate) fn listed(response: Response) -> Vec<String> {
    let Response::ListGroups { error, groups } = response else { panic!("no list: {response:?}") };
    assert_eq!(error, ErrorCode::None);
    groups.iter().map(|it| it.group.as_str().to_owned()).collect()
}

/// What the volume has of a group.
pub(crate) fn file_of(still: &Still, group: &str) -> Option<String> {
    let files = still.broker.host().files();
    let content = files.files.get(&format!("__consumer_offsets/{group}.json"))?;
    Some(String::from_utf8(content.clone()).expect("text"))
}

/// Puts a file of a group on the volume.
pub(crate) fn put_file(still: &Still, group: &str, content: &str) {
    still.broker.host().files().directories.insert("__consumer_offsets".to_owned());
    still.broker.host().put(&format!("__consumer_offsets/{group}.json"), content.as_bytes());
}
