//! Groups that live for one commit and one read, one after the other; some are deleted then, and
//! some of those live once more.
//!
//! They show whether a broker forgets what nobody uses, and, with odd ids, whether every group keeps
//! to its own file. A group that was not served is left alone until the faults have ended; then it
//! must be.

use kaas_coordinator::{
    api::{ErrorCode, OffsetFetchRequest, Request, Response},
    ids::{GroupId, TopicPartition},
};

use super::{
    BACKOFF, Cx, REQUEST_TIMEOUT,
    committer::simple_commit,
    rpc::{Answered, Rpc},
};
use crate::{plan::Clients, seed::micros};

/// What is odd about an id: it is no plain file name, or looks like what somebody makes of another.
const ODD: [&str; 12] = [
    "",
    ".",
    "..",
    "a/b",
    "a_b",
    "a:b",
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
    /// How many groups there have been.
    round: u32,
    /// Those that were not served.
    given_up: Vec<u32>,
    /// Whether the faults have ended: those are what is left to do.
    is_finishing: bool,
    /// Whether the group has been deleted before.
    is_reborn: bool,
    /// The group of which round it is, and its id.
    current: u32,
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
            given_up: Vec::new(),
            is_finishing: false,
            is_reborn: false,
            current: 0,
            group: "".into(),
            rpc: Rpc::new("", number),
            next: None,
            tries: 0,
            act_at: u64::MAX,
        };
        it.begin(start);
        it
    }

    /// The faults have ended: no group begins any more, and those that were given up get their turn.
    pub fn finish(&mut self, now: u64) {
        self.is_finishing = true;
        self.tries = 0;
        if self.next.is_none() {
            self.begin(now);
        }
    }

    /// The group that it waits for can't be served any more: it goes on to the next, and returns it.
    pub fn set_aside(&mut self, now: u64) -> GroupId {
        let group = self.group.clone();
        self.number = self.rpc.answered_last().unwrap_or(self.number);
        // Whatever is under way is about a group that is nobody's any more.
        self.rpc = Rpc::new("", self.number);
        self.begin(now);
        group
    }

    /// The group that has not been served yet and must be.
    pub fn waits_for(&self) -> Option<&GroupId> {
        self.next.map(|_| &self.group)
    }

    fn begin(&mut self, at: u64) {
        let next = match self.is_finishing {
            true => self.given_up.pop(),
            false => (self.round < self.count).then_some(self.round),
        };
        let Some(round) = next else {
            self.next = None;
            self.act_at = u64::MAX;
            self.rpc.start_at(u64::MAX);
            return;
        };
        self.current = round;
        self.round = self.round.max(round + 1);
        self.group = self.id_of(round as usize);
        self.is_reborn = false;
        if self.is_finishing {
            // Somebody may be out of reach for good, and no group is to find that out anew.
            self.number = self.rpc.answered_last().unwrap_or(self.number);
        }
        self.rpc = Rpc::new(self.group.as_str(), self.number);
        self.rpc.start_at(at);
        self.next = Some(Call::Commit);
        self.tries = 0;
        self.act_at = at;
    }

    fn id_of(&self, round: usize) -> GroupId {
        match round % 4 {
            1 if self.odd_ids => ODD[round / 4 % ODD.len()].into(),
            3 if self.odd_ids => {
                // A long id that differs from the one before in its last character only.
                GroupId::from(format!("{}-{}{}", self.name, "x".repeat(300), round))
            }
            _ => GroupId::from(format!("{}-{round}", self.name)),
        }
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
                simple_commit(cx, &self.group, &[partition], self.position())
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

    /// What it commits: in its second life something else.
    fn position(&self) -> i64 {
        i64::from(self.current) + if self.is_reborn { 1_001 } else { 1 }
    }

    fn again(&mut self, cx: &Cx<'_>) {
        self.tries += 1;
        if self.tries > TRIES && !self.is_finishing {
            self.given_up.push(self.current);
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
            Answered::For(call, response) if response.is_success() || is_gone(&response) => {
                let deletes = self.deletes && self.current % 3 == 2 && !self.is_reborn;
                self.next = match call {
                    Call::Commit => Some(Call::Fetch),
                    Call::Fetch if deletes => Some(Call::Delete),
                    Call::Delete if self.current.is_multiple_of(2) => {
                        self.is_reborn = true;
                        Some(Call::Commit)
                    }
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

/// Whether a deletion finds nothing: one before it, whose answer was lost, has done it.
fn is_gone(response: &Response) -> bool {
    let Response::DeleteGroups(groups) = response else { return false };
    groups.iter().any(|(_, error)| *error == ErrorCode::GroupIdNotFound)
}
