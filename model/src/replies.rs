//! reply-bound: every request is answered in time.
//!
//! Time is the broker's own, without the spans in which its process was stopped. A missing answer
//! is found at the broker's next sign of life after the deadline, or at the end of the history,
//! where the broker's clock is estimated from the world's (slowed by the permitted drift). Whether
//! the answer is right is not judged here.
//!
//! Always: a request is judged once; one whose broker or connection is gone is not judged at all.

use crate::{
    event::{Micros, Name},
    ledger::Ledger,
    promise::{Limits, Promise},
};
use std::collections::{BTreeMap, BTreeSet};

/// Requests that wait for an answer.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    waiting: BTreeMap<u64, Waiting>,
    brokers: BTreeMap<Name, Desk>,
}

#[derive(Debug)]
struct Waiting {
    broker: Name,
    what: &'static str,
    arrived: Micros,
    bound: Micros,
    /// On the broker's clock without pauses.
    deadline: Micros,
}

/// One broker's clock, and the deadlines of what waits there.
#[derive(Debug, Default)]
struct Desk {
    deadlines: BTreeSet<(Micros, u64)>,
    /// Its clock at its last sign of life, and the world's.
    local: Micros,
    at: Micros,
    /// The total of its pauses, on its clock.
    paused: Micros,
    paused_since: Option<Micros>,
}

impl Replies {
    /// A sign of life of the broker: what is overdue by now is a violation.
    pub(crate) fn clock(&mut self, broker: &Name, local: Micros, ledger: &mut Ledger) {
        let Some(desk) = self.brokers.get_mut(broker) else { return };
        if desk.paused_since.is_some() {
            return;
        }
        (desk.local, desk.at) = (local, ledger.now());
        let active = local.less(desk.paused);
        while let Some((_, request)) = desk.overdue(active) {
            if let Some(waiting) = self.waiting.remove(&request) {
                ledger.check(Promise::ReplyBound);
                waiting.unanswered(request, active, ledger);
            }
        }
    }

    pub(crate) fn started(&mut self, broker: &Name, local: Micros, now: Micros) {
        self.stopped(broker);
        self.brokers.insert(broker.clone(), Desk { local, at: now, ..Desk::default() });
    }

    /// All that waits at the broker is void.
    pub(crate) fn stopped(&mut self, broker: &Name) {
        for (_, request) in self.brokers.remove(broker).unwrap_or_default().deadlines {
            self.waiting.remove(&request);
        }
    }

    pub(crate) fn paused(&mut self, broker: &Name, local: Micros) {
        self.desk(broker).paused_since.get_or_insert(local);
    }

    pub(crate) fn resumed(&mut self, broker: &Name, local: Micros) {
        let desk = self.desk(broker);
        if let Some(since) = desk.paused_since.take() {
            desk.paused = desk.paused.plus(local.less(since));
        }
    }

    pub(crate) fn arrived(
        &mut self,
        request: u64,
        (broker, local): (&Name, Micros),
        bound: Micros,
        what: &'static str,
        now: Micros,
    ) {
        let desk = self.desk(broker);
        (desk.local, desk.at) = (local, now);
        let deadline = local.less(desk.paused).plus(bound);
        desk.deadlines.insert((deadline, request));
        let broker = broker.clone();
        self.waiting.insert(request, Waiting { broker, what, arrived: now, bound, deadline });
    }

    pub(crate) fn answered(&mut self, request: u64, local: Micros, ledger: &mut Ledger) {
        let Some(waiting) = self.take(request) else { return };
        ledger.check(Promise::ReplyBound);
        let paused = self.brokers.get(&waiting.broker).map_or(Micros(0), |desk| desk.paused);
        let active = local.less(paused);
        if active > waiting.deadline {
            let now = ledger.now();
            ledger.broke(Promise::ReplyBound, &waiting.broker, || {
                vec![
                    waiting.told(request),
                    format!(
                        "the answer came at {now}, {} too late by the broker's clock",
                        active.less(waiting.deadline)
                    ),
                ]
            });
        }
        let broker = waiting.broker;
        self.clock(&broker, local, ledger);
    }

    /// Nobody waits for it any more.
    pub(crate) fn void(&mut self, request: u64) {
        self.take(request);
    }

    fn take(&mut self, request: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&request)?;
        if let Some(desk) = self.brokers.get_mut(&waiting.broker) {
            desk.deadlines.remove(&(waiting.deadline, request));
        }
        Some(waiting)
    }

    /// The history ends now.
    pub(crate) fn finish(&mut self, limits: &Limits, ledger: &mut Ledger) {
        let brokers: Vec<Name> = self.brokers.keys().cloned().collect();
        for broker in &brokers {
            let desk = &self.brokers[broker];
            let silent = ledger.now().less(desk.at).0;
            let slowed = silent / 1000 * (1000 - limits.drift_permille.min(1000));
            let local = desk.local.plus(Micros(slowed));
            self.clock(broker, local, ledger);
        }
    }

    fn desk(&mut self, broker: &Name) -> &mut Desk {
        if !self.brokers.contains_key(broker) {
            self.brokers.insert(broker.clone(), Desk::default());
        }
        self.brokers.get_mut(broker).expect("inserted above if it was missing")
    }
}

impl Desk {
    /// Takes the earliest deadline that lies before `active`.
    fn overdue(&mut self, active: Micros) -> Option<(Micros, u64)> {
        let first = *self.deadlines.first().filter(|(deadline, _)| *deadline < active)?;
        self.deadlines.remove(&first);
        Some(first)
    }
}

impl Waiting {
    fn told(&self, request: u64) -> String {
        let Waiting { broker, what, arrived, bound, .. } = self;
        format!(
            "{what} (request {request}) reached {broker} at {arrived}, to be answered in {bound}"
        )
    }

    fn unanswered(&self, request: u64, active: Micros, ledger: &mut Ledger) {
        let now = ledger.now();
        ledger.broke(Promise::ReplyBound, &self.broker, || {
            let late = active.less(self.deadline);
            let told = format!("there is no answer at {now}, {late} after that by its own clock");
            vec![self.told(request), told]
        });
    }
}
