//! What brokers ask each other, and the markers that they write to the output.
//!
//! Every question has a connection of its own, so it arrives in any order, and late if a link was
//! cut; whoever asked may be dead by then. What a dead broker has sent arrives all the same.

use std::{collections::BTreeMap, io, sync::Arc};

use kaas_coordinator::api::{Request, Response};
use madsim::task::AbortHandle;
use tokio::sync::oneshot;

use super::{Event, World, moments::moment_of_its_answer};
use crate::{
    hub::{Markers, Post},
    milestone::Milestone,
    plan::{Goodbye, Moment, Plan},
    seed::Stream,
};

/// Where brokers stand among the clients in the streams of the network.
const BROKERS: usize = 1 << 20;

/// How many of a hundred messages between brokers straggle; one of these is drawn for each run.
const STRAGGLERS: [u32; 5] = [0, 1, 3, 10, 40];
/// By how much, in microseconds: a broker waits for five seconds before it sends again.
const STRAGGLES: (u64, u64) = (20_000, 9_000_000);
/// How much later than the first the second of two equal markers is sent, in microseconds.
const ECHOES: (u64, u64) = (20_000, 3_000_000);

/// What brokers have asked each other and not heard yet.
#[derive(Debug)]
pub(super) struct Peers {
    stragglers: Stream,
    /// How many of a hundred messages straggle in this run.
    straggling: u32,
    calls: BTreeMap<u64, PeerCall>,
    /// Messages that a cut keeps from arriving, in order.
    stalled: Vec<Event>,
}

impl Peers {
    /// Nothing has been asked yet. Messages straggle where there are faults at all.
    pub(super) fn new(plan: &Plan) -> Self {
        let has_faults = plan.steps.iter().any(|step| step.action.is_fault());
        let mut stragglers = Stream::new(plan.seed, "stragglers", 0);
        let straggling = *stragglers.pick(&STRAGGLERS);
        Self {
            stragglers,
            straggling: if has_faults && !plan.is_fixed() { straggling } else { 0 },
            calls: BTreeMap::new(),
            stalled: Vec::new(),
        }
    }
}

#[derive(Debug)]
struct PeerCall {
    from: (usize, u64),
    to: usize,
    /// The moment that its answer is, and whom it is about.
    moment: Option<(Moment, Arc<str>)>,
    reply: oneshot::Sender<io::Result<Response>>,
    /// What answers it, while that is at work.
    task: Option<AbortHandle>,
}

impl World {
    /// A broker asks a broker, perhaps itself.
    pub(super) fn peer_asks(
        &mut self,
        from: (usize, u64),
        to: usize,
        body: Box<Request>,
        reply: oneshot::Sender<io::Result<Response>>,
    ) {
        let request = self.next_request();
        let moment = moment_of_its_answer(&body);
        let call = PeerCall { from, to, moment, reply, task: None };
        self.peers.calls.insert(request, call);
        if to >= self.brokers.len() {
            self.peer_refused(request);
            return;
        }
        if from.0 != to && matches!(*body, Request::TxnMarker(_)) {
            self.echo(from, to, &body);
        }
        let latency = self.peer_latency(from.0, to);
        self.after(latency, Event::PeerUp { request, body });
    }

    /// As often as messages straggle, a marker arrives twice, as if its connection had broken and whoever
    /// looks after connections had sent it again. Nobody waits for the second answer.
    fn echo(&mut self, from: (usize, u64), to: usize, body: &Request) {
        if !self.peers.stragglers.percent(self.peers.straggling) {
            return;
        }
        self.record.reach(Milestone::MarkerArrivedTwice);
        let (later, request) =
            (self.peers.stragglers.between(ECHOES.0, ECHOES.1), self.next_request());
        let (reply, _) = oneshot::channel();
        self.peers.calls.insert(request, PeerCall { from, to, moment: None, reply, task: None });
        self.after(later, Event::PeerUp { request, body: Box::new(body.clone()) });
    }

    fn peer_latency(&mut self, from: usize, to: usize) -> u64 {
        let latency = self.net.latency(BROKERS + from, to);
        if from == to {
            return latency;
        }
        // Both ends are slow if they are slow.
        latency + self.net.extra(from) + self.straggles()
    }

    /// Now and then a message between brokers takes so long that it is overtaken by others, or was
    /// sent again before it arrives.
    fn straggles(&mut self) -> u64 {
        if !self.peers.stragglers.percent(self.peers.straggling) {
            return 0;
        }
        self.record.reach(Milestone::PeerMessageStraggled);
        self.peers.stragglers.between(STRAGGLES.0, STRAGGLES.1)
    }

    /// Whether messages between two brokers have to wait for a link to heal.
    fn peers_stall(&mut self, request: u64, is_answer: bool) -> bool {
        let Some(call) = self.peers.calls.get(&request) else { return false };
        let (from, to) = (call.from.0, call.to);
        if from == to {
            return false;
        }
        let Some(step) = self.net.peers_stalled_by(from, to, is_answer) else { return false };
        self.record.effect(step);
        self.record.reach(Milestone::MessageStalled);
        true
    }

    /// A question reaches a broker's machine.
    pub(super) fn peer_up(&mut self, request: u64, body: Box<Request>) {
        if self.peers_stall(request, false) {
            self.peers.stalled.push(Event::PeerUp { request, body });
            return;
        }
        let Some(call) = self.peers.calls.get(&request) else { return };
        let (from, to) = (call.from, call.to);
        if let Some((_, step)) = self.net.black_holes.iter().find(|it| it.0 == to && from.0 != to) {
            self.record.effect(*step);
            self.record.reach(Milestone::ConnectBlackHoled);
            self.peers.calls.remove(&request);
            return;
        }
        let slot = &self.brokers[to];
        let Some(up) = &slot.up else {
            match slot.is_silent {
                true => drop(self.peers.calls.remove(&request)),
                false => self.peer_refused(request),
            }
            return;
        };
        if matches!(*body, Request::TxnMarker(_)) {
            let is_orphan = self.brokers[from.0].incarnation != from.1;
            self.record.reach(match is_orphan {
                true => Milestone::MarkerOutlivedItsCoordinator,
                false => Milestone::MarkerSent,
            });
        }
        let (coordinator, node) = (Arc::clone(&up.broker), up.node.clone());
        let local = slot.clock.local(self.now);
        self.record.fold(to as u64, 1, request ^ ((BROKERS + from.0) as u64) << 40);
        self.lens.peer_asked(request, &self.brokers[from.0].name, &body);
        self.lens.arrived((request, 0), &self.brokers[to].name, local, &body);
        self.moment_of_arrival(to, &body);
        let task = node.spawn(async move {
            let answer = coordinator.call(*body).await;
            coordinator.host().post(Post::Answer(request, answer));
        });
        if let Some(call) = self.peers.calls.get_mut(&request) {
            call.task = Some(task.abort_handle());
        }
        self.endanger(to, request);
        self.touched = true;
    }

    /// Whether a broker has still to answer a broker's question, which has reached it.
    pub(super) fn owes_a_peer(&self, request: u64) -> bool {
        self.peers.calls.get(&request).is_some_and(|call| call.task.is_some())
    }

    /// The task of a broker's question dies, and the connection with it.
    pub(super) fn end_peer_task(&mut self, request: u64) {
        let Some(call) = self.peers.calls.remove(&request) else { return };
        self.lens.void(request);
        if let Some(task) = call.task {
            task.abort();
        }
        // Whoever asked may be dead and not hear of it.
        let _ = call.reply.send(Err(io::ErrorKind::ConnectionReset.into()));
        self.touched = true;
    }

    /// A broker answers a broker; `false` if nobody like that has asked.
    pub(super) fn peer_answered(
        &mut self,
        broker: usize,
        request: u64,
        response: &Response,
    ) -> bool {
        let Some(call) = self.peers.calls.get_mut(&request) else { return false };
        call.task = None;
        let (from, moment) = (call.from.0, call.moment.clone());
        if matches!(response, Response::TxnMarker(error) if !error.is_none()) {
            self.record.reach(Milestone::MarkerRefused);
        }
        let slot = &self.brokers[broker];
        let local = slot.clock.local(self.now);
        self.record.fold(broker as u64, 2, request << 8 ^ crate::lens::verdict_of(response));
        self.lens.answered(request, &slot.name, local, response, &mut self.record);
        if let Some((moment, key)) = moment.filter(|_| response.is_success()) {
            self.moment(moment, broker, &key);
        }
        let latency = self.peer_latency(from, broker);
        let body = Box::new(response.clone());
        self.after(latency, Event::PeerDown { request, body });
        true
    }

    /// An answer reaches the broker that asked.
    pub(super) fn peer_down(&mut self, request: u64, body: Box<Response>) {
        if self.peers_stall(request, true) {
            self.peers.stalled.push(Event::PeerDown { request, body });
            return;
        }
        let Some(call) = self.peers.calls.remove(&request) else { return };
        self.lens.peer_heard(request);
        let slot = &self.brokers[call.from.0];
        if slot.up.is_some() && slot.incarnation == call.from.1 {
            self.touched |= call.reply.send(Ok(*body)).is_ok();
        }
    }

    /// Nobody listens at the other end.
    fn peer_refused(&mut self, request: u64) {
        if let Some(call) = self.peers.calls.remove(&request) {
            let error = io::Error::from(io::ErrorKind::ConnectionRefused);
            self.touched |= call.reply.send(Err(error)).is_ok();
        }
    }

    /// A broker has died: who waits for its answer hears of it, or does not.
    pub(super) fn forget_peer_calls(&mut self, broker: usize, peers: Goodbye) {
        let calls = self.peers.calls.iter().filter(|(_, call)| call.to == broker);
        for request in calls.map(|(request, _)| *request).collect::<Vec<_>>() {
            self.lens.void(request);
            match peers {
                Goodbye::Reset => self.peer_refused(request),
                Goodbye::Silent => drop(self.peers.calls.remove(&request)),
            }
        }
    }

    /// A link has healed: what waited between brokers is sent again.
    pub(super) fn release_peers(&mut self) {
        for event in std::mem::take(&mut self.peers.stalled) {
            self.record.reach(Milestone::StalledMessageDelivered);
            self.after(1, event);
        }
    }

    /// A broker writes markers to the output; they take as long as a message to whoever leads it.
    pub(super) fn write_markers(
        &mut self,
        from: usize,
        markers: Markers,
        wake: oneshot::Sender<()>,
    ) {
        let latency = self.peer_latency(from, from);
        self.after(latency, Event::Mark { markers, wake });
    }

    /// Markers reach the output.
    pub(super) fn mark(&mut self, markers: &Markers, wake: oneshot::Sender<()>) {
        for effect in self.output.mark(markers) {
            self.lens.effect_counted(&effect);
        }
        self.touched |= wake.send(()).is_ok();
    }
}
