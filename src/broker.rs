//! One broker's coordinator, put together: what a host needs to run it.
//!
//! The host calls [`Broker::call`] for each request and polls [`Broker::run`] once, for the broker's
//! life. All work on the volume is done by `run`, so a caller that goes away leaves nothing half
//! done. Nothing here spawns, sleeps or reads a clock except through the ports.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Mutex, MutexGuard},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    StreamExt,
    future::{Either, join_all, select},
    stream::FuturesUnordered,
    task::AtomicWaker,
};
use tokio::sync::oneshot;

use crate::{
    api::{ErrorCode, Request, Response},
    assignment::ViewId,
    config::Config,
    group::{Inspection, Ticket},
    ids::{BrokerId, GroupId, TransactionalId},
    manager::{Done, Job, Manager, Turn, perform},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers},
};

/// One broker's coordinator; shared by all of its connections.
pub struct Broker<H: Host> {
    host: H,
    state: Mutex<State>,
    /// Woken when there is something for `run` to do.
    waker: AtomicWaker,
}

struct State {
    manager: Manager,
    tickets: u64,
    callers: BTreeMap<Ticket, oneshot::Sender<Response>>,
    /// What `run` last knew to be due; an earlier deadline must wake it.
    alarm: Instant,
    closing: bool,
}

/// A timer of the clock, and for when it is set.
type Alarm<'a> = (Instant, Pin<Box<dyn Future<Output = ()> + Send + 'a>>);

/// A group in a broker's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The group.
    pub group: GroupId,
    /// Whether it has members or anything waits for it.
    pub in_use: bool,
    /// For how long nobody has asked for it.
    pub idle: Duration,
}

/// A transactional id in a broker's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldTxn {
    /// The id.
    pub id: TransactionalId,
    /// Whether a transaction is open or about to end, or anything waits for it.
    pub in_use: bool,
    /// For how long nobody has asked for it.
    pub idle: Duration,
}

/// What a broker knows and holds, for metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The view in force; `None` in the boot window.
    pub view: Option<ViewId>,
    /// Whether the view may be served from.
    pub is_fresh: bool,
    /// How many reads of `assignment.json` found nothing to apply or confirm.
    pub refused_views: u64,
    /// The groups in memory, sorted.
    pub held: Vec<Held>,
    /// The transactional ids in memory, sorted.
    pub transactions: Vec<HeldTxn>,
}

impl<H: Host> std::fmt::Debug for Broker<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker").field("id", self.lock().manager.coordinator().me()).finish()
    }
}

impl<H: Host> Broker<H> {
    /// The coordinator of broker `id`, in its boot window: until `run` has read a first view, it
    /// takes every key for its own.
    pub fn new(id: BrokerId, config: Config, host: H) -> Self {
        let now = host.clock().now();
        let manager = Manager::new(id, host.entropy().random(), now, config);
        let state =
            State { manager, tickets: 0, callers: BTreeMap::new(), alarm: now, closing: false };
        Self { host, state: Mutex::new(state), waker: AtomicWaker::new() }
    }

    /// The host it was made with.
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Answers one request. May wait as long as the request's own timeouts say; dropping the future
    /// tells the coordinator that the client is gone.
    pub async fn call(&self, request: Request) -> Response {
        if let Request::FindCoordinator { key_type, keys } = &request {
            let now = self.host.clock().now();
            return self.lock().manager.find(now, *key_type, keys, self.host.peers());
        }
        if let Request::DeleteGroups { groups } = request {
            let single = |group| Request::DeleteGroups { groups: vec![group] };
            let answers = self.call_each(groups, single).await;
            return Response::DeleteGroups(answers.flat_map(deleted).collect());
        }
        if let Request::DescribeGroups { groups } = request {
            let single = |group| Request::DescribeGroups { groups: vec![group] };
            let answers = self.call_each(groups, single).await;
            return Response::DescribeGroups(answers.flat_map(described).collect());
        }
        self.call_one(request).await
    }

    /// Answers the same request about each of several groups. The first answer waits for the last,
    /// and may have lost its worth by then.
    async fn call_each(
        &self,
        groups: Vec<GroupId>,
        single: impl Fn(GroupId) -> Request,
    ) -> impl Iterator<Item = Response> {
        let calls = groups.iter().map(|group| self.call_one(single(group.clone())));
        let answers = join_all(calls).await;
        groups.into_iter().zip(answers).map(|(group, it)| self.recheck(&Key::Group(group), it))
    }

    /// Answers a request about at most one group or transactional id.
    async fn call_one(&self, request: Request) -> Response {
        let key = Key::of(&request);
        let (ticket, mut receiver) = self.submit(request);
        // Most answers are there at once.
        if let Ok(response) = receiver.try_recv() {
            return response;
        }
        let guard = Caller { broker: self, waits: Some((ticket, key.clone())) };
        let Ok(response) = receiver.await else {
            unreachable!("every ticket is answered while its caller waits")
        };
        guard.served();
        self.recheck(&key, response)
    }

    /// The process may have been stopped between the answer and here: a success that waited is worth
    /// something only while the group or transactional id is ours.
    fn recheck(&self, key: &Key, response: Response) -> Response {
        let now = self.host.clock().now();
        let state = self.lock();
        let coordinator = state.manager.coordinator();
        let serves = match key {
            Key::Group(group) => coordinator.serves(now, group),
            Key::Transaction(id) => coordinator.serves_transaction(now, id),
            // A producer id is unique whoever gives it.
            Key::None => true,
        };
        if !serves {
            return response.with_error(ErrorCode::NotCoordinator);
        }
        let Response::ListGroups { error, mut groups } = response else { return response };
        if !coordinator.is_fresh(now) {
            let error = ErrorCode::CoordinatorNotAvailable;
            return Response::ListGroups { error, groups: Vec::new() };
        }
        groups.retain(|it| coordinator.owns(&it.group));
        Response::ListGroups { error, groups }
    }

    fn submit(&self, request: Request) -> (Ticket, oneshot::Receiver<Response>) {
        let (sender, receiver) = oneshot::channel();
        let ticket = self.step(|state, turn| {
            state.tickets += 1;
            let ticket = Ticket(state.tickets);
            state.callers.insert(ticket, sender);
            state.manager.submit(turn, ticket, request);
            ticket
        });
        (ticket, receiver)
    }

    /// The broker's duties: reads the assignment, fires timers, works on the volume. Ends when the
    /// work that [`Broker::close`] leaves is done, else never. Must be polled by one task only.
    pub async fn run(&self) {
        let mut jobs = FuturesUnordered::new();
        let mut alarm = None;
        poll_fn(|cx| {
            self.waker.register(cx.waker());
            loop {
                for job in self.due() {
                    jobs.push(self.perform(job));
                }
                if let Poll::Ready(Some(done)) = jobs.poll_next_unpin(cx) {
                    self.quiet_step(|state, turn| state.manager.complete(turn, done));
                    continue;
                }
                let closing = self.lock().closing;
                if closing && jobs.is_empty() {
                    return Poll::Ready(());
                }
                if closing || self.sleep(&mut alarm, cx).is_pending() {
                    return Poll::Pending;
                }
            }
        })
        .await;
    }

    async fn perform(&self, job: Job) -> Done {
        let Job::Call { broker, request, because } = job else {
            return perform(&self.host, job).await;
        };
        let answer = self.call_broker(&broker, request).await;
        Done::Called { because, answer }
    }

    /// Asks a broker and gives up after a while.
    async fn call_broker(&self, broker: &BrokerId, request: Request) -> Option<Response> {
        let timeout = self.lock().manager.core().config.offsets.volume_timeout;
        let timer = self.host.clock().sleep_until(self.host.clock().now() + timeout);
        let answer = self.host.peers().call(broker, request);
        match select(pin!(answer), pin!(timer)).await {
            Either::Left((answer, _)) => answer.ok(),
            Either::Right(((), _)) => None,
        }
    }

    /// Waits for the next deadline, reusing the timer if that has not moved.
    fn sleep<'a>(&'a self, alarm: &mut Option<Alarm<'a>>, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.lock().alarm;
        if alarm.as_ref().is_none_or(|(at, _)| *at != due) {
            *alarm = Some((due, Box::pin(self.host.clock().sleep_until(due))));
        }
        let (_, timer) = alarm.as_mut().expect("it was just set");
        let fired = timer.as_mut().poll(cx);
        if fired.is_ready() {
            *alarm = None;
        }
        fired
    }

    /// Does what is due and takes what must be done outside.
    fn due(&self) -> Vec<Job> {
        self.quiet_step(|state, turn| {
            if state.manager.deadline() <= turn.now && !state.closing {
                state.manager.tick(turn);
            }
            state.alarm = state.manager.deadline();
            std::mem::take(&mut state.manager.core().jobs)
        })
    }

    /// Begins an orderly end: answers everything that waits with NOT_COORDINATOR and gives all claims
    /// back. `run` returns when that is done.
    pub fn close(&self) {
        self.step(|state, turn| {
            state.closing = true;
            state.manager.close(turn);
        });
        self.waker.wake();
    }

    /// What the broker knows and holds.
    pub fn status(&self) -> Status {
        let now = self.host.clock().now();
        let state = self.lock();
        let coordinator = state.manager.coordinator();
        let held = state.manager.census(now).into_iter();
        let transactions = state.manager.census_of_transactions(now).into_iter();
        Status {
            view: coordinator.view().map(|view| view.id()),
            is_fresh: coordinator.is_fresh(now),
            refused_views: coordinator.refused(),
            held: held.map(|(group, in_use, idle)| Held { group, in_use, idle }).collect(),
            transactions: transactions
                .map(|(id, in_use, idle)| HeldTxn { id, in_use, idle })
                .collect(),
        }
    }

    /// A group in memory, for metrics; `None` if, as far as is known here, there is no such group.
    pub fn inspect(&self, group: &GroupId) -> Option<Inspection> {
        self.lock().manager.inspect(group)
    }

    /// Looks for offsets that have outlived their retention now, and not only when
    /// `retention_check_interval` has passed.
    pub fn expire_offsets(&self) {
        self.step(|state, turn| state.manager.retention(turn));
    }

    /// One step of the manager; `run` is woken if there is something new for it.
    fn step<T>(&self, step: impl FnOnce(&mut State, &Turn<'_>) -> T) -> T {
        let (result, is_news) = self.quiet_step(|state, turn| {
            let result = step(state, turn);
            let has_jobs = !state.manager.core().jobs.is_empty();
            (result, has_jobs || state.manager.deadline() < state.alarm)
        });
        if is_news {
            self.waker.wake();
        }
        result
    }

    /// One step of the manager, by `run` itself; then its answers and notes go out.
    fn quiet_step<T>(&self, step: impl FnOnce(&mut State, &Turn<'_>) -> T) -> T {
        let random = || self.host.entropy().random();
        let turn = Turn {
            now: self.host.clock().now(),
            unix_ms: self.host.clock().unix_ms(),
            random: &random,
        };
        let mut state = self.lock();
        let result = step(&mut state, &turn);
        for (ticket, response) in std::mem::take(&mut state.manager.core().outbox) {
            if let Some(caller) = state.callers.remove(&ticket) {
                // A caller that is gone does not need its answer.
                let _ = caller.send(response);
            }
        }
        let notes: Vec<Note> = std::mem::take(&mut state.manager.core().notes);
        drop(state);
        for note in notes {
            self.host.log().note(note);
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a step that panics leaves no broker to go on with")
    }
}

/// A caller that waits; dropped before it is served, it tells the coordinator so. This changes
/// memory only: what was asked of the volume is done all the same.
struct Caller<'a, H: Host> {
    broker: &'a Broker<H>,
    waits: Option<(Ticket, Key)>,
}

/// What a request is about.
#[derive(Clone)]
enum Key {
    Group(GroupId),
    Transaction(TransactionalId),
    None,
}

impl Key {
    fn of(request: &Request) -> Self {
        let group = request.group().cloned().map(Self::Group);
        let transaction = || request.transactional_id().cloned().map(Self::Transaction);
        group.or_else(transaction).unwrap_or(Self::None)
    }
}

impl<H: Host> Caller<'_, H> {
    fn served(mut self) {
        self.waits = None;
    }
}

impl<H: Host> Drop for Caller<'_, H> {
    fn drop(&mut self) {
        if let Some((ticket, key)) = self.waits.take() {
            self.broker.step(|state, turn| {
                state.callers.remove(&ticket);
                match key {
                    Key::Group(group) => state.manager.abandon(turn, ticket, &group),
                    Key::Transaction(id) => state.manager.abandon_transaction(turn, ticket, &id),
                    Key::None => {}
                }
            });
        }
    }
}

fn deleted(response: Response) -> Vec<(GroupId, ErrorCode)> {
    let Response::DeleteGroups(groups) = response else {
        unreachable!("an answer is of its request's kind")
    };
    groups
}

fn described(response: Response) -> Vec<crate::api::DescribedGroup> {
    let Response::DescribeGroups(groups) = response else {
        unreachable!("an answer is of its request's kind")
    };
    groups
}
