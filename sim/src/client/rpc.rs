//! Requests of one client about one group or transactional id: who the coordinator is, what is due,
//! what is late.

use std::sync::Arc;

use kaas_coordinator::api::{KeyType, Request, Response};

use super::{BACKOFF, Cx, REQUEST_TIMEOUT};

/// Requests of one client about one key. `W` names what a request is for.
#[derive(Debug)]
pub struct Rpc<W> {
    kind: KeyType,
    key: Arc<str>,
    /// Which broker is asked for the coordinator next.
    bootstrap: usize,
    /// Which broker has answered who the coordinator is, at last.
    answered_last: Option<usize>,
    coordinator: Option<usize>,
    finding: Option<Due<()>>,
    /// When the coordinator is looked for; `u64::MAX` if it is known or being looked for.
    find_at: u64,
    due: Vec<Due<W>>,
    /// Whether it stays with the coordinator that it found until that refuses.
    is_loyal: bool,
}

#[derive(Clone, Debug)]
struct Due<W> {
    request: u64,
    broker: usize,
    what: W,
    until: u64,
}

/// What an answer was for.
#[derive(Debug)]
pub enum Answered<W> {
    /// Nothing: it came too late.
    Stale,
    /// The search for the coordinator, which is over or goes on.
    Find,
    /// A request of the client's own.
    For(W, Response),
}

impl<W: Copy + PartialEq> Rpc<W> {
    /// For the group `key`, beginning at broker `bootstrap`.
    pub fn new(key: &str, bootstrap: usize) -> Self {
        Self::of(KeyType::Group, key, bootstrap)
    }

    /// For the transactional id `key`, beginning at broker `bootstrap`.
    pub fn for_transactions(key: &str, bootstrap: usize) -> Self {
        Self::of(KeyType::Transaction, key, bootstrap)
    }

    fn of(kind: KeyType, key: &str, bootstrap: usize) -> Self {
        Self {
            kind,
            key: key.into(),
            bootstrap,
            answered_last: None,
            coordinator: None,
            finding: None,
            find_at: 0,
            due: Vec::new(),
            is_loyal: false,
        }
    }

    /// Does nothing before `start`.
    pub fn start_at(&mut self, start: u64) {
        self.find_at = start;
    }

    /// Stays with the coordinator that it finds until that refuses.
    pub fn be_loyal(&mut self) {
        self.is_loyal = true;
    }

    /// The coordinator, if it is known.
    pub fn coordinator(&self) -> Option<usize> {
        self.coordinator
    }

    /// Who has answered who the coordinator is, at last.
    pub fn answered_last(&self) -> Option<usize> {
        self.answered_last
    }

    /// Whether a request of that kind is under way.
    pub fn is_due(&self, what: W) -> bool {
        self.due.iter().any(|it| it.what == what)
    }

    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        self.due.is_empty()
    }

    /// Whether a request is one of these.
    pub fn knows(&self, request: u64) -> bool {
        let finding = self.finding.iter().map(|it| it.request);
        finding.chain(self.due.iter().map(|it| it.request)).any(|it| it == request)
    }

    /// The process is gone: whatever was under way is nobody's. Looks for the coordinator from
    /// `start` on.
    pub fn forget_everything(&mut self, cx: &mut Cx<'_>, start: u64) {
        for it in std::mem::take(&mut self.due) {
            cx.sends.push(super::Send::Close { broker: it.broker });
            cx.lens.gave_up(it.request);
        }
        if let Some(it) = self.finding.take() {
            cx.sends.push(super::Send::Close { broker: it.broker });
        }
        self.coordinator = None;
        self.find_at = start;
    }

    /// Nothing is known of the coordinator: looks for it, soon.
    pub fn forget_coordinator(&mut self, cx: &Cx<'_>) {
        self.coordinator = None;
        if self.finding.is_none() {
            self.find_at = cx.now + BACKOFF;
        }
    }

    /// Sends a request to the coordinator, which must be known.
    pub fn call(&mut self, cx: &mut Cx<'_>, what: W, body: Request, timeout: u64) -> u64 {
        let broker = self.coordinator.expect("the caller looks first");
        let request = cx.send(broker, body);
        self.due.push(Due { request, broker, what, until: cx.now + timeout });
        request
    }

    /// Looks for the coordinator if it is time to, and gives up requests that are late. Returns what
    /// those were for.
    pub fn tick(&mut self, cx: &mut Cx<'_>) -> Vec<W> {
        let mut late = Vec::new();
        while let Some(broker) = self.due.iter().find(|it| it.until <= cx.now).map(|it| it.broker) {
            // Kafka's client closes a connection on which an answer is late; all others go with it.
            cx.sends.push(super::Send::Close { broker });
            let (gone, left) = self.due.drain(..).partition(|it| it.broker == broker);
            self.due = left;
            let gone: Vec<Due<W>> = gone;
            for it in &gone {
                cx.lens.gave_up(it.request);
            }
            late.extend(gone.into_iter().map(|it| it.what));
            self.forget_coordinator(cx);
        }
        if let Some(it) = self.finding.take_if(|it| it.until <= cx.now) {
            cx.sends.push(super::Send::Close { broker: it.broker });
            self.find_at = cx.now;
        }
        if self.find_at <= cx.now && self.finding.is_none() {
            self.find(cx);
        }
        late
    }

    fn find(&mut self, cx: &mut Cx<'_>) {
        self.find_at = u64::MAX;
        let broker = self.bootstrap % cx.brokers;
        self.bootstrap += 1;
        let keys = vec![Arc::clone(&self.key)];
        let body = Request::FindCoordinator { key_type: Some(self.kind), keys };
        let request = cx.send(broker, body);
        self.finding = Some(Due { request, broker, what: (), until: cx.now + REQUEST_TIMEOUT });
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &Cx<'_>, request: u64, response: Response) -> Answered<W> {
        if let Some(it) = self.finding.take_if(|it| it.request == request) {
            self.answered_last = Some(it.broker);
            self.found(cx, &response);
            return Answered::Find;
        }
        match self.due.iter().position(|it| it.request == request) {
            Some(at) => Answered::For(self.due.remove(at).what, response),
            None => Answered::Stale,
        }
    }

    fn found(&mut self, cx: &Cx<'_>, response: &Response) {
        let Response::FindCoordinator(found) = response else {
            unreachable!("an answer is of its request's kind")
        };
        let coordinator = found.first().and_then(|it| it.coordinator.as_ref());
        let ordinal =
            coordinator.and_then(|(id, _)| id.as_str().strip_prefix("kaas-")?.parse().ok());
        match ordinal {
            Some(ordinal) => self.coordinator = Some(ordinal),
            None => self.find_at = cx.now + BACKOFF,
        }
    }

    /// The connection under a request is gone. Returns what it was for, unless for the search.
    pub fn lost(&mut self, cx: &Cx<'_>, request: u64) -> Option<W> {
        if self.finding.take_if(|it| it.request == request).is_some() {
            self.find_at = cx.now + BACKOFF;
            return None;
        }
        let at = self.due.iter().position(|it| it.request == request)?;
        let it = self.due.remove(at);
        if self.coordinator == Some(it.broker) && !self.is_loyal {
            self.forget_coordinator(cx);
        }
        Some(it.what)
    }

    /// When it has something to do.
    pub fn next_wake(&self) -> u64 {
        let finding = self.finding.iter().map(|it| it.until);
        let due = self.due.iter().map(|it| it.until);
        finding.chain(due).chain([self.find_at]).min().unwrap_or(u64::MAX)
    }
}
