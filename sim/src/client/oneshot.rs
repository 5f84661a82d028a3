//! Groups that live for one commit and one read, one after the other; some are deleted then.
//!
//! They show whether a broker forgets what nobody uses, and, with odd ids, whether every group keeps
//! to its own file.

use kaas_coordinator::{
    api::{OffsetFetchRequest, Request, Response},
    ids::{GroupId, TopicPartition},
};

use super::{
    BACKOFF, Cx, REQUEST_TIMEOUT,
    committer::simple_commit,
    rpc::{Answered, Rpc},
};
use crate::{plan::Clients, seed::micros};

/// What is odd about an id: it is no plain file name, or looks like one that is taken.
const ODD: [&str; 10] = [
    "",
    ".",
    "..",
    "a/b",
    "../assignment",
    "nul\0nul",
    "gr\u{fc}ppe-\u{65e5}\u{672c}",
    "%2E",
    "a%2Fb",
    ".claims",
];
/// How often it tries before it goes on to the next group.
const TRIES: u32 = 20;

/// See the [module](self).
#[derive(Debug)]
pub struct OneShot {
    name: String,
    count: u32,
    every: u64,
    odd_ids: bool,
    deletes: bool,
    number: usize,
    round: u32,
    group: GroupId,
    rpc: Rpc<Call>,
    next: Option<Call>,
    tries: u32,
    act_at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Commit,
    Fetch,
    Delete,
}

impl OneShot {
    /// The groups of `spec`, from `start` on.
    pub fn new(spec: &Clients, number: usize, start: u64) -> Self {
        let Clients::OneShot { name, count, every, odd_ids, delete } = spec else {
            unreachable!("only one-shot groups are used once")
        };
        let mut it = Self {
            name: name.clone(),
            count: *count,
            every: micros(*every),
            odd_ids: *odd_ids,
            deletes: *delete,
            number,
            round: 0,
            group: "".into(),
            rpc: Rpc::new("", number),
            next: None,
            tries: 0,
            act_at: u64::MAX,
        };
        it.begin(start);
        it
    }

    fn begin(&mut self, at: u64) {
        if self.round == self.count {
            self.next = None;
            self.act_at = u64::MAX;
            self.rpc.start_at(u64::MAX);
            return;
        }
        let round = self.round as usize;
        self.group = match round % 4 {
            1 if self.odd_ids => ODD[round / 4 % ODD.len()].into(),
            3 if self.odd_ids => {
                // A long id that differs from the one before in its last character only.
                GroupId::from(format!("{}-{}{}", self.name, "x".repeat(300), round))
            }
            _ => GroupId::from(format!("{}-{round}", self.name)),
        };
        self.round += 1;
        self.rpc = Rpc::new(self.group.as_str(), self.number);
        self.rpc.start_at(at);
        self.next = Some(Call::Commit);
        self.tries = 0;
        self.act_at = at;
    }

    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        if !self.rpc.tick(cx).is_empty() {
            self.again(cx);
        }
        self.go_on(cx);
    }

    fn go_on(&mut self, cx: &mut Cx<'_>) {
        let (Some(next), Some(_)) = (self.next, self.rpc.coordinator()) else { return };
        if self.act_at > cx.now {
            return;
        }
        self.act_at = u64::MAX;
        let request = match next {
            Call::Commit => {
                let partition = TopicPartition::new("events", 0);
                simple_commit(cx, &self.group, &[partition], i64::from(self.round))
            }
            Call::Fetch => Request::OffsetFetch(OffsetFetchRequest {
                group: self.group.clone(),
                partitions: Some(vec![TopicPartition::new("events", 0)]),
                require_stable: false,
            }),
            Call::Delete => Request::DeleteGroups { groups: vec![self.group.clone()] },
        };
        self.rpc.call(cx, next, request, REQUEST_TIMEOUT);
    }

    fn again(&mut self, cx: &Cx<'_>) {
        self.tries += 1;
        if self.tries > TRIES {
            self.begin(cx.now + self.every);
        } else {
            self.act_at = cx.now + BACKOFF;
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &mut Cx<'_>, request: u64, response: Response) {
        match self.rpc.answered(cx, request, response) {
            Answered::Stale => {}
            Answered::Find => self.go_on(cx),
            Answered::For(call, response) if response.is_success() => {
                let deletes = self.deletes && self.round.is_multiple_of(3);
                self.next = match call {
                    Call::Commit => Some(Call::Fetch),
                    Call::Fetch if deletes => Some(Call::Delete),
                    Call::Fetch | Call::Delete => None,
                };
                match self.next {
                    Some(_) => self.act_at = cx.now,
                    None => self.begin(cx.now + self.every),
                }
                self.go_on(cx);
            }
            Answered::For(..) => {
                self.rpc.forget_coordinator(cx);
                self.again(cx);
            }
        }
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, cx: &mut Cx<'_>, request: u64) {
        if self.rpc.lost(cx, request).is_some() {
            self.again(cx);
        }
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        let own = if self.rpc.coordinator().is_some() { self.act_at } else { u64::MAX };
        own.min(self.rpc.next_wake())
    }
}
