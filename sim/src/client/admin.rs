//! A client that lists the groups of every broker, then describes and reads each group it knows of.
//!
//! It asks every broker, whoever coordinates what: a broker that is not asked can't be caught
//! speaking for a group that is not its own. At the end of a run one of them examines everything
//! once more.

use std::sync::Arc;

use kaas_coordinator::{
    api::{KeyType, OffsetFetchRequest, Request, Response},
    ids::GroupId,
};

use super::{Cx, REQUEST_TIMEOUT};

/// See the [module](self).
#[derive(Debug)]
pub struct Admin {
    groups: Arc<[String]>,
    /// How often; once only, when it is told to, if `None`.
    every: Option<u64>,
    bootstrap: usize,
    act_at: u64,
    round: u64,
    due: Vec<Due>,
}

#[derive(Debug)]
struct Due {
    request: u64,
    broker: usize,
    until: u64,
}

impl Admin {
    /// Looks at `groups` every so many microseconds, from `start` on.
    pub fn new(groups: Arc<[String]>, every: Option<u64>, number: usize, start: u64) -> Self {
        Self { groups, every, bootstrap: number, act_at: start, round: 0, due: Vec::new() }
    }

    /// It is to look at everything once more.
    pub fn examine(&mut self, cx: &mut Cx<'_>) {
        self.act_at = cx.now;
        self.wake(cx);
    }

    /// Whether it waits for nothing.
    pub fn is_done(&self) -> bool {
        self.due.is_empty() && self.act_at == u64::MAX
    }

    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        while let Some(late) = self.due.iter().find(|it| it.until <= cx.now) {
            let broker = late.broker;
            cx.sends.push(super::Send::Close { broker });
            for it in self.due.extract_if(.., |it| it.broker == broker) {
                cx.lens.gave_up(it.request);
            }
        }
        if self.act_at > cx.now {
            return;
        }
        self.act_at = self.every.map_or(u64::MAX, |every| cx.now + every);
        self.round += 1;
        let round = (self.bootstrap as u64) << 32 | self.round;
        let groups: Vec<GroupId> = self.groups.iter().map(|it| it.as_str().into()).collect();
        for broker in 0..cx.brokers {
            cx.lens.begin_round(round);
            self.ask(cx, broker, Request::ListGroups { states: Vec::new() });
            self.ask(cx, broker, Request::DescribeGroups { groups: groups.clone() });
            for group in &groups {
                let fetch = OffsetFetchRequest {
                    group: group.clone(),
                    partitions: None,
                    // The examiner must not miss what is still undecided.
                    require_stable: self.every.is_none(),
                };
                self.ask(cx, broker, Request::OffsetFetch(fetch));
            }
        }
        self.bootstrap += 1;
        let keys: Vec<Arc<str>> = self.groups.iter().map(|it| it.as_str().into()).collect();
        for key_type in [KeyType::Group, KeyType::Transaction] {
            let find = Request::FindCoordinator { key_type: Some(key_type), keys: keys.clone() };
            self.ask(cx, self.bootstrap % cx.brokers, find);
        }
    }

    fn ask(&mut self, cx: &mut Cx<'_>, broker: usize, body: Request) {
        let request = cx.send(broker, body);
        self.due.push(Due { request, broker, until: cx.now + REQUEST_TIMEOUT });
    }

    /// An answer has arrived.
    pub fn answered(&mut self, _: &mut Cx<'_>, request: u64, _: Response) {
        self.due.retain(|it| it.request != request);
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, _: &mut Cx<'_>, request: u64) {
        self.due.retain(|it| it.request != request);
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        self.due.iter().map(|it| it.until).chain([self.act_at]).min().unwrap_or(u64::MAX)
    }
}
