//! One transactional id in a broker's memory: its state, what waits for it, and what it must do.
//!
//! Requests have their turn in the order of arrival, and while one is being written the others wait:
//! Kafka answers those with CONCURRENT_TRANSACTIONS, whereupon the producer asks again a little
//! later; to wait is quicker, and who repeats an EndTxn hears what became of it. Each is judged by a
//! state that the volume has. An answer that changes nothing is given when the volume has said that
//! the claim stood after it was judged, since a broker that has lost an id without knowing must tell
//! nobody that a transaction is over, or that its producer is fenced.

use std::{collections::VecDeque, time::Duration};

use super::{
    Cx,
    delivery::Delivery,
    file::to_json,
    job::{TxnJob, Which},
    rules::{Verdict, judge},
    state::State,
};
use crate::{
    api::{ErrorCode, Request, Response},
    claim::Claim,
    group::Ticket,
    ids::TransactionalId,
    manager::Job,
    note::TxnEvent,
    ports::Instant,
};

/// See the [module](self).
pub(super) struct Entry {
    pub(super) id: TransactionalId,
    pub(super) serial: u64,
    pub(super) used_at: Instant,
    /// When this entry is looked at next; kept equal to the set of timers.
    pub(super) alarm: Option<Instant>,
    pub(super) store: Store,
    /// Requests that wait for the file or for their turn.
    pub(super) queue: VecDeque<(Ticket, Request)>,
    /// Answers that wait for a check of the claim which begins after they were made.
    pub(super) answers: Vec<Judged>,
    /// Answers whose check is under way.
    pub(super) checking: Option<Checking>,
    /// The change that is being written.
    pub(super) writing: Option<Writing>,
    /// The markers of the transaction that is prepared.
    pub(super) delivery: Option<Delivery>,
    /// A failed duty is not tried again before then.
    pub(super) retry_at: Option<Instant>,
    /// Whether it must be loaded although nobody asks for it.
    pub(super) resumes: bool,
}

/// What the entry knows of the volume.
pub(super) enum Store {
    /// Nothing.
    Unloaded,
    /// The take-over is under way.
    Loading { claim: Claim },
    /// The claim was made and the state is what the volume has; `None` if there is no file.
    Ready { claim: Claim, state: Option<Box<State>>, changes: u64 },
    /// The file is none; it is not touched, and looked at again with the next request after `until`.
    Unreadable { claim: Claim, until: Instant },
    /// The entry is about to be removed.
    Gone,
}

/// Answers that are given if the claim stands.
pub(super) struct Checking {
    pub(super) claim: Claim,
    pub(super) answers: Vec<Judged>,
}

/// A request that changes nothing, and what it came to.
pub(super) struct Judged {
    pub(super) ticket: Ticket,
    pub(super) request: Request,
    pub(super) answer: Response,
}

/// A change that is being written.
pub(super) struct Writing {
    /// Who waits for it, and the answer if it is done.
    pub(super) answer: Option<(Ticket, Response)>,
    /// The state when it is done; `None` removes the file.
    pub(super) next: Option<Box<State>>,
    pub(super) why: Why,
}

/// Why a state changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// A producer has asked for it.
    Asked,
    /// The transaction was open for too long.
    Overdue,
    /// All markers are written.
    Delivered,
    /// Nobody has used the id for long.
    Expired,
}

impl Entry {
    pub(super) fn new(id: TransactionalId, serial: u64, now: Instant) -> Self {
        Self {
            id,
            serial,
            used_at: now,
            alarm: None,
            store: Store::Unloaded,
            queue: VecDeque::new(),
            answers: Vec::new(),
            checking: None,
            writing: None,
            delivery: None,
            retry_at: None,
            resumes: false,
        }
    }

    pub(super) fn which(&self) -> Which {
        Which { id: self.id.clone(), serial: self.serial }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.store, Store::Gone)
    }

    /// The state, if it is known and there is one.
    pub(super) fn state(&self) -> Option<&State> {
        match &self.store {
            Store::Ready { state, .. } => state.as_deref(),
            Store::Unloaded | Store::Loading { .. } | Store::Unreadable { .. } | Store::Gone => {
                None
            }
        }
    }

    /// Nobody waits and no transaction is open or about to end.
    pub(super) fn is_idle(&self) -> bool {
        let has_duties = match &self.store {
            Store::Ready { state, .. } => state.as_ref().is_some_and(|it| !it.phase.is_settled()),
            Store::Loading { .. } => true,
            Store::Unloaded => self.resumes,
            Store::Unreadable { .. } | Store::Gone => false,
        };
        !has_duties
            && self.queue.is_empty()
            && self.answers.is_empty()
            && self.checking.is_none()
            && self.writing.is_none()
    }

    /// Takes a request in; its answer comes now or later.
    pub(super) fn handle(&mut self, cx: &mut Cx<'_>, ticket: Ticket, request: Request) {
        if let Store::Unreadable { until, .. } = self.store
            && cx.turn.now < until
        {
            cx.answer(&self.id, ticket, request.refused(ErrorCode::CoordinatorNotAvailable));
            return;
        }
        cx.be_patient(ticket, &self.id);
        let is_read = matches!(request, Request::VerifyTxn(_) | Request::TxnOutcome(_));
        match &self.store {
            // Who only asks need not wait for what is being written.
            Store::Ready { state, .. } if is_read => {
                let verdict = judge(state.as_deref(), &request, cx.turn.unix_ms, || None);
                let Verdict::Answer(answer) = verdict else { unreachable!("it changes nothing") };
                self.answers.push(Judged { ticket, request, answer });
            }
            Store::Ready { .. }
            | Store::Unloaded
            | Store::Loading { .. }
            | Store::Unreadable { .. }
            | Store::Gone => self.queue.push_back((ticket, request)),
        }
        self.load(cx);
        self.go_on(cx);
    }

    /// Does whatever can be done now.
    pub(super) fn go_on(&mut self, cx: &mut Cx<'_>) {
        self.deliver(cx);
        while self.writing.is_none() && self.begin_next(cx) {}
        self.check_next(cx);
    }

    /// Begins what is next; whether there may be more to begin.
    fn begin_next(&mut self, cx: &mut Cx<'_>) -> bool {
        let Store::Ready { state, .. } = &self.store else { return false };
        if let Some((next, why)) = self.duty(cx) {
            self.write(cx, Writing { answer: None, next, why });
            return false;
        }
        let Some((ticket, request)) = self.queue.pop_front() else { return false };
        let ids = &mut cx.shared.ids;
        match judge(state.as_deref(), &request, cx.turn.unix_ms, || ids.take()) {
            Verdict::Answer(answer) => {
                self.answers.push(Judged { ticket, request, answer });
                true
            }
            Verdict::Change(next, answer) => {
                let answer = Some((ticket, answer));
                self.write(cx, Writing { answer, next: Some(next), why: Why::Asked });
                false
            }
            Verdict::NeedsId => {
                self.queue.push_front((ticket, request));
                ids.want(cx.core, cx.turn, &self.id);
                false
            }
        }
    }

    /// What must change without being asked for.
    fn duty(&self, cx: &Cx<'_>) -> Option<(Option<Box<State>>, Why)> {
        if self.retry_at.is_some_and(|at| cx.turn.now < at) || !cx.serves(&self.id) {
            return None;
        }
        let (state, now_ms) = (self.state()?, cx.turn.unix_ms);
        if let Some(commit) = state.phase.prepared() {
            let is_done = self.delivery.as_ref().is_some_and(Delivery::is_done);
            return is_done
                .then(|| (Some(Box::new(state.completed(commit, now_ms))), Why::Delivered));
        }
        if state.overdue_at().is_some_and(|at| at <= now_ms) {
            return Some((Some(Box::new(state.fenced(now_ms))), Why::Overdue));
        }
        let is_expired = state.is_expired(cx.core.config.txn.id_expiration, now_ms);
        (is_expired && self.is_idle()).then_some((None, Why::Expired))
    }

    fn write(&mut self, cx: &mut Cx<'_>, writing: Writing) {
        let of = self.which();
        let Store::Ready { claim, changes, .. } = &mut self.store else {
            unreachable!("only under a claim is anything written")
        };
        *changes += 1;
        let content = writing.next.as_ref().map(|next| to_json(&self.id, next));
        let job = TxnJob::Change { of, claim: claim.clone(), nth: *changes, content };
        cx.core.jobs.push(Job::Transaction(job));
        self.writing = Some(writing);
    }

    /// Begins to check the claim for the answers that wait, unless a check is under way.
    pub(super) fn check_next(&mut self, cx: &mut Cx<'_>) {
        let Store::Ready { claim, .. } = &self.store else { return };
        if self.checking.is_some() || self.answers.is_empty() {
            return;
        }
        let answers = std::mem::take(&mut self.answers);
        self.checking = Some(Checking { claim: claim.clone(), answers });
        let job = TxnJob::Check { of: self.which(), claim: claim.clone() };
        cx.core.jobs.push(Job::Transaction(job));
    }

    /// No producer id can be had: who waits for one is refused.
    pub(super) fn refuse_id(&mut self, cx: &mut Cx<'_>) {
        if let Some((_, Request::InitProducerId(_))) = self.queue.front() {
            let (ticket, request) = self.queue.pop_front().expect("it was just looked at");
            cx.answer(&self.id, ticket, request.refused(ErrorCode::CoordinatorNotAvailable));
        }
        self.go_on(cx);
    }

    /// The caller is gone. What has begun goes on; what has not is forgotten.
    pub(super) fn abandon(&mut self, ticket: Ticket) {
        self.queue.retain(|(waiting, _)| *waiting != ticket);
        self.answers.retain(|it| it.ticket != ticket);
    }

    /// `ticket` has waited for the volume long enough; a change that has begun may happen all the
    /// same.
    pub(super) fn give_up(&mut self, cx: &mut Cx<'_>, ticket: Ticket) {
        if let Some(at) = self.queue.iter().position(|(it, _)| *it == ticket) {
            let (_, request) = self.queue.remove(at).expect("it was found there");
            let error = match &self.store {
                Store::Ready { .. } if self.writing.is_some() => ErrorCode::ConcurrentTransactions,
                Store::Ready { .. }
                | Store::Unloaded
                | Store::Loading { .. }
                | Store::Unreadable { .. }
                | Store::Gone => ErrorCode::CoordinatorLoadInProgress,
            };
            cx.answer(&self.id, ticket, request.refused(error));
            return;
        }
        let checking = self.checking.as_mut().map(|it| &mut it.answers);
        for answers in checking.into_iter().chain([&mut self.answers]) {
            if let Some(at) = answers.iter().position(|it| it.ticket == ticket) {
                let refused =
                    answers.remove(at).request.refused(ErrorCode::CoordinatorNotAvailable);
                cx.answer(&self.id, ticket, refused);
                return;
            }
        }
        let answer = self.writing.as_mut().and_then(|it| it.answer.take_if(|it| it.0 == ticket));
        if let Some((ticket, answer)) = answer {
            let answer = answer.with_error(ErrorCode::CoordinatorNotAvailable);
            cx.answer(&self.id, ticket, answer);
        }
    }

    /// The id goes from memory. Whoever waits is told NOT_COORDINATOR; the claim is given back.
    /// Returns how many waited.
    pub(super) fn drop_entry(&mut self, cx: &mut Cx<'_>) -> usize {
        let parked = self.refuse_all(cx, ErrorCode::NotCoordinator);
        let store = std::mem::replace(&mut self.store, Store::Gone);
        match store {
            Store::Loading { claim }
            | Store::Ready { claim, .. }
            | Store::Unreadable { claim, .. } => {
                claim.abandon();
                cx.core.jobs.push(Job::Relinquish { claim });
            }
            Store::Unloaded | Store::Gone => {}
        }
        parked
    }

    /// Answers everything that waits with an error; returns how many that were.
    pub(super) fn refuse_all(&mut self, cx: &mut Cx<'_>, error: ErrorCode) -> usize {
        let checking = self.checking.take().map_or_else(Vec::new, |it| it.answers);
        let judged = std::mem::take(&mut self.answers).into_iter().chain(checking);
        let queued = std::mem::take(&mut self.queue).into_iter();
        let waiting = queued.chain(judged.map(|it| (it.ticket, it.request)));
        let written = self.writing.take().and_then(|it| it.answer);
        let refused: Vec<_> = waiting
            .map(|(ticket, request)| (ticket, request.refused(error)))
            .chain(written.map(|(ticket, answer)| (ticket, answer.with_error(error))))
            .collect();
        let parked = refused.len();
        for (ticket, answer) in refused {
            cx.answer(&self.id, ticket, answer);
        }
        parked
    }

    /// When this entry is looked at next, if nothing happens before.
    pub(super) fn deadline(&self, cx: &Cx<'_>) -> Option<Instant> {
        let (now, backoff) = (cx.turn.now, cx.core.config.txn.retry_backoff);
        let idle = self.is_idle().then(|| self.used_at + cx.core.config.idle_max);
        let duty = match &self.store {
            Store::Unloaded => Some(self.retry_at.unwrap_or(now)),
            Store::Ready { state: Some(state), .. } if self.writing.is_none() => {
                let remains = |at: i64| at.saturating_sub(cx.turn.unix_ms).max(0).unsigned_abs();
                let overdue = state.overdue_at().map(|at| now + Duration::from_millis(remains(at)));
                let delivery = match &self.delivery {
                    Some(delivery) if !delivery.is_done() => delivery.deadline(),
                    Some(_) | None => state.phase.prepared().map(|_| now),
                };
                overdue.into_iter().chain(delivery).min()
            }
            Store::Ready { .. }
            | Store::Loading { .. }
            | Store::Unreadable { .. }
            | Store::Gone => None,
        };
        // What is due and was not done just now has to wait.
        let retry = self.retry_at.filter(|at| *at > now).unwrap_or(now + backoff);
        let duty = duty.map(|at| if at > now { at } else { retry });
        idle.into_iter().chain(duty).min()
    }

    /// Time has come to this entry.
    pub(super) fn tick(&mut self, cx: &mut Cx<'_>) {
        if self.is_idle() && self.used_at + cx.core.config.idle_max <= cx.turn.now {
            cx.note(&self.id, TxnEvent::Idle);
            self.drop_entry(cx);
            return;
        }
        if self.resumes {
            self.load(cx);
        }
        self.go_on(cx);
    }
}
