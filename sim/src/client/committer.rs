//! A client that commits and reads offsets of a group without being a member of it, as tools and
//! stream processors with their own partition assignment do; or one that only reads.

use std::sync::Arc;

use kaas_coordinator::{
    api::{CommitOffset, OffsetCommitRequest, OffsetFetchRequest, Request, Response},
    ids::{GroupId, TopicPartition},
};

use super::{
    BACKOFF, Cx, REQUEST_TIMEOUT,
    rpc::{Answered, Rpc},
};

/// See the [module](self).
#[derive(Debug)]
pub struct Committer {
    group: GroupId,
    partitions: Vec<TopicPartition>,
    every: u64,
    rpc: Rpc<Call>,
    position: i64,
    act_at: u64,
    /// Whether it reads next, or commits.
    reads: bool,
    only_reads: bool,
    /// How many commits it has under way at once.
    at_once: u32,
    /// How many of them have no answer yet, and whether one has failed.
    under_way: u32,
    has_failed: bool,
    /// Whether it was served since the faults ended.
    is_served: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Commit,
    Fetch,
}

/// The commit of one position to some partitions, outside of any generation.
pub(super) fn simple_commit(
    cx: &mut Cx<'_>,
    group: &GroupId,
    partitions: &[TopicPartition],
    position: i64,
) -> Request {
    let commit = |partition: &TopicPartition| CommitOffset {
        partition: partition.clone(),
        offset: position,
        leader_epoch: 7,
        metadata: cx.lens.next_write(),
    };
    Request::OffsetCommit(OffsetCommitRequest {
        group: group.clone(),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: partitions.iter().map(commit).collect(),
        retention_ms: None,
    })
}

impl Committer {
    /// Commits for `group` every so many microseconds, from `start` on.
    pub fn new(
        group: &str,
        partitions: Arc<[String]>,
        every: u64,
        number: usize,
        start: u64,
    ) -> Self {
        let mut rpc = Rpc::new(group, number);
        rpc.start_at(start);
        let parse = |name: &String| TopicPartition::parse(name).expect("a partition's name");
        Self {
            group: group.into(),
            partitions: partitions.iter().map(parse).collect(),
            every,
            rpc,
            position: 0,
            act_at: start,
            reads: false,
            only_reads: false,
            at_once: 1,
            under_way: 0,
            has_failed: false,
            is_served: false,
        }
    }

    /// The same, with so many commits under way at once, each of a later position.
    pub fn at_once(self, at_once: u32) -> Self {
        Self { at_once, ..self }
    }

    /// Reads the offsets of `group` every so many microseconds, from `start` on.
    pub fn reader(
        group: &str,
        partitions: Arc<[String]>,
        every: u64,
        number: usize,
        start: u64,
    ) -> Self {
        let mut it = Self::new(group, partitions, every, number, start);
        it.rpc.be_loyal();
        Self { reads: true, only_reads: true, ..it }
    }

    /// The faults have ended: it must be served from here on, unless it only reads: such a one stays
    /// with whom it has found.
    pub fn finish(&mut self, now: u64) {
        self.is_served = self.only_reads;
        if !self.only_reads && self.act_at < u64::MAX {
            (self.reads, self.act_at) = (false, now);
        }
    }

    /// The group for which it has not been served.
    pub fn waits_for(&self) -> Option<&GroupId> {
        (!self.is_served).then_some(&self.group)
    }

    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        for late in self.rpc.tick(cx) {
            self.unanswered(cx, late);
        }
        self.go_on(cx);
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) {
        if self.act_at > cx.now || self.rpc.coordinator().is_none() {
            return;
        }
        self.act_at = u64::MAX;
        if self.reads {
            // Now and then it wants no offset that a transaction may change. Of a partition that it
            // does not name it hears nothing while there is no other.
            let require_stable = cx.sometimes();
            let request = Request::OffsetFetch(OffsetFetchRequest {
                group: self.group.clone(),
                partitions: require_stable.then(|| self.partitions.clone()),
                require_stable,
            });
            self.rpc.call(cx, Call::Fetch, request, REQUEST_TIMEOUT);
        } else {
            (self.under_way, self.has_failed) = (self.at_once, false);
            for _ in 0..self.at_once {
                self.position += 1;
                let request = simple_commit(cx, &self.group, &self.partitions, self.position);
                self.rpc.call(cx, Call::Commit, request, REQUEST_TIMEOUT);
            }
        }
    }

    fn again(&mut self, cx: &Cx<'_>, call: Call, after: u64) {
        if self.is_over(call, false) {
            self.reads = call == Call::Fetch;
            self.act_at = cx.now + after;
        }
    }

    /// Whether nothing is under way any more, now that one has come to an end.
    fn is_over(&mut self, call: Call, is_good: bool) -> bool {
        match call {
            Call::Fetch => true,
            Call::Commit => {
                self.under_way -= 1;
                self.has_failed |= !is_good;
                self.under_way == 0
            }
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &mut Cx<'_>, request: u64, response: Response) {
        match self.rpc.answered(cx, request, response) {
            Answered::Stale => {}
            Answered::Find => self.go_on(cx),
            Answered::For(call, response) if response.is_success() => {
                self.is_served |= call == Call::Commit;
                if !self.is_over(call, true) {
                    return;
                }
                let goes_well = call == Call::Commit && !self.has_failed;
                self.reads = self.only_reads || goes_well;
                self.act_at = cx.now + self.every;
                if !self.only_reads && cx.sometimes() {
                    // Kafka's clients look for the coordinator anew when their metadata is old.
                    self.rpc.forget_coordinator(cx);
                }
            }
            Answered::For(call, _) => {
                self.rpc.forget_coordinator(cx);
                self.again(cx, call, BACKOFF);
            }
        }
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, cx: &mut Cx<'_>, request: u64) {
        if let Some(call) = self.rpc.lost(cx, request) {
            self.unanswered(cx, call);
        }
    }

    fn unanswered(&mut self, cx: &mut Cx<'_>, call: Call) {
        let what = match call {
            Call::Commit => "commit",
            Call::Fetch => "fetch",
        };
        cx.record.unanswered(cx.name, what);
        self.again(cx, call, BACKOFF);
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        let own = if self.rpc.coordinator().is_some() { self.act_at } else { u64::MAX };
        own.min(self.rpc.next_wake())
    }
}
