//! Messages between clients and brokers, and what becomes of them on the way.

use std::{collections::BTreeMap, sync::Arc};

use kaas_coordinator::api::{Request, Response};
use madsim::task::AbortHandle;
use tokio::sync::oneshot;

use super::{Event, World, moments::moment_of_its_answer, sluggish::Late};
use crate::{
    client::{self, Client, Cx, Send},
    hub::Post,
    milestone::Milestone,
    net::ConnId,
    plan::Moment,
};

/// What is on its way or being answered.
#[derive(Debug, Default)]
pub(super) struct Wires {
    /// The last request's number.
    requests: u64,
    /// Messages that a cut keeps from arriving, in order.
    stalled: Vec<(ConnId, bool, Event)>,
    /// Of connections to brokers that stood still: whether the last request has begun.
    lines: BTreeMap<ConnId, oneshot::Receiver<()>>,
    /// Requests at brokers.
    calls: BTreeMap<u64, Call>,
}

/// Whether the request in front has begun, and whom to tell that this one has.
type Turn = (Option<oneshot::Receiver<()>>, Option<oneshot::Sender<()>>);

#[derive(Debug)]
struct Call {
    conn: ConnId,
    broker: usize,
    abort: Option<AbortHandle>,
    /// The moment that its answer is, and whom it is about.
    moment: Option<(Moment, Arc<str>)>,
    /// Whether the broker has been stopped in place since.
    has_slept: bool,
}

impl World {
    /// A client acts because its time has come.
    pub(super) fn wake(&mut self, client: usize) {
        if self.clients[client].armed != self.now {
            // It has been woken earlier, and has set another alarm since.
            return;
        }
        self.clients[client].armed = u64::MAX;
        if let Some(until) = self.frozen_until(client) {
            self.clients[client].armed = until;
            self.queue.push(until, Event::Wake { client });
            return;
        }
        self.with_client(client, |it, cx| it.wake(cx));
    }

    /// Until when a client stands still, if it does: then something has to wait for it.
    fn frozen_until(&mut self, client: usize) -> Option<u64> {
        let slot = &self.clients[client];
        let until = slot.frozen_until(self.now)?;
        self.record.effect(slot.frozen_by);
        self.record.reach(Milestone::ClientFroze);
        Some(until)
    }

    /// Runs one step of a client, then sends what it has to say and sets its alarm.
    pub(super) fn with_client(
        &mut self,
        client: usize,
        step: impl FnOnce(&mut client::Client, &mut Cx<'_>),
    ) {
        let slot = &mut self.clients[client];
        let Some(mut it) = slot.client.take() else { return };
        let mut sends = std::mem::take(&mut slot.sends);
        let mut cx = Cx {
            now: self.now,
            name: &slot.name,
            stream: &mut slot.stream,
            sends: &mut sends,
            requests: &mut self.wires.requests,
            output: &mut self.output,
            lens: &mut self.lens,
            record: &mut self.record,
            brokers: self.brokers.len(),
            is_fixed: self.plan.is_fixed(),
        };
        step(&mut it, &mut cx);
        self.clients[client].client = Some(it);
        for send in sends.drain(..) {
            match send {
                Send::Request { broker, request, body } => {
                    self.send(client, broker, request, body);
                }
                Send::Close { broker } => self.hang_up(client, broker),
            }
        }
        self.clients[client].sends = sends;
        self.arm(client);
    }

    /// Makes sure that a client is woken when it wants to be.
    pub(super) fn arm(&mut self, client: usize) {
        let slot = &mut self.clients[client];
        let Some(it) = &slot.client else { return };
        let at = it.next_wake().max(self.now);
        if at < slot.armed {
            slot.armed = at;
            self.queue.push(at, Event::Wake { client });
        }
    }

    fn send(&mut self, client: usize, broker: usize, request: u64, body: Box<Request>) {
        let now = self.now;
        let known = self.clients[client].conns.get(&broker).copied();
        let conn = match known.filter(|id| self.net.conn(*id).is_some_and(|it| it.is_open)) {
            Some(conn) => conn,
            None => self.connect(client, broker),
        };
        self.clients[client].open.push((request, conn));
        self.lens.sent((request, conn), &self.clients[client].name, &body);
        if let Some(at) = self.net.arrival_up(conn, now) {
            self.queue.push(at, Event::Up { conn, request, body });
        }
    }

    /// Opens a connection; the handshake takes two messages before the first of the client's own.
    fn connect(&mut self, client: usize, broker: usize) -> ConnId {
        let incarnation = self.brokers[broker].incarnation;
        let conn = self.net.open(client, broker, incarnation);
        self.clients[client].conns.insert(broker, conn);
        let handshake = 2 * self.net.latency(client, broker);
        self.net.delay_up(conn, self.now + handshake);
        if let Some((_, step)) = self.net.black_holes.iter().find(|it| it.0 == broker) {
            self.record.effect(*step);
            self.record.reach(Milestone::ConnectBlackHoled);
            self.net.swallow(conn);
        }
        conn
    }

    /// A client closes its end; what it has sent goes on.
    pub(super) fn hang_up(&mut self, client: usize, broker: usize) {
        let Some(conn) = self.clients[client].conns.remove(&broker) else { return };
        self.clients[client].open.retain(|(_, it)| *it != conn);
        self.net.close(conn);
        if let Some(at) = self.net.arrival_up(conn, self.now) {
            self.queue.push(at, Event::Fin { conn });
        }
    }

    /// Whether a message has to wait for a link to heal; then it is put aside.
    fn stalls(&mut self, conn: ConnId, to_broker: bool) -> bool {
        let Some(step) = self.net.stalled_by(conn, to_broker) else { return false };
        self.record.effect(step);
        self.record.reach(Milestone::MessageStalled);
        true
    }

    /// A request reaches a broker's machine.
    pub(super) fn up(&mut self, conn: ConnId, request: u64, body: Box<Request>) {
        if self.stalls(conn, true) {
            self.wires.stalled.push((conn, true, Event::Up { conn, request, body }));
            return;
        }
        if self.net.overtakes(conn, self.now, request) {
            if let Some(at) = self.net.arrival_up(conn, self.now) {
                self.net.resent_up(conn, at, request);
                self.queue.push(at, Event::Up { conn, request, body });
            }
            return;
        }
        let Some(it) = self.net.conn(conn) else { return };
        let (client, broker, incarnation) = (it.client, it.broker, it.incarnation);
        if it.is_swallowed {
            return;
        }
        let slot = &self.brokers[broker];
        let Some(up) = &slot.up else {
            if !slot.is_silent {
                self.refuse(conn);
            }
            return;
        };
        if slot.incarnation != incarnation {
            // The machine knows nothing of a connection to the process before.
            self.record.reach(Milestone::OldConnectionRefused);
            self.refuse(conn);
            return;
        }
        let coordinator = Arc::clone(&up.broker);
        let node = up.node.clone();
        for step in &up.paused_by {
            self.record.effect(*step);
        }
        for (_, _, step) in self.net.slow.iter().filter(|it| it.0 == broker) {
            self.record.effect(*step);
        }
        let local = slot.clock.local(self.now);
        self.record.fold(broker as u64, 1, request ^ (client as u64) << 40);
        let lateness = self.sluggish.lateness(&body);
        self.lens.arrived((request, lateness), &self.brokers[broker].name, local, &body);
        self.moment_of_arrival(broker, &body);
        let moment = moment_of_its_answer(&body);
        if lateness > 0 {
            self.record.reach(Milestone::CallerSluggish);
        }
        let (before, begun) = self.stand_in_line(broker, conn);
        let task = node.spawn(async move {
            if let Some(before) = before {
                // One whose task has died lets the next one pass.
                let _ = before.await;
            }
            let call = coordinator.call(*body);
            let answer = match (lateness, &begun) {
                (0, None) => call.await,
                _ => Late::new(call, coordinator.host(), begun, lateness).await,
            };
            coordinator.host().post(Post::Answer(request, answer));
        });
        let abort = Some(task.abort_handle());
        let call = Call { conn, broker, abort, moment, has_slept: false };
        self.wires.calls.insert(request, call);
        self.endanger(broker, request);
        self.touched = true;
    }

    /// Whether a broker has still to answer a client's request.
    pub(super) fn owes(&self, request: u64) -> bool {
        self.wires.calls.contains_key(&request)
    }

    /// Whether a broker has still to answer anything on a connection.
    pub(super) fn owes_on(&self, conn: ConnId) -> bool {
        self.wires.calls.values().any(|call| call.conn == conn)
    }

    /// The task of a client's request dies, and the connection with it.
    pub(super) fn end_task(&mut self, request: u64) {
        let Some(call) = self.wires.calls.remove(&request) else { return };
        self.lens.void(request);
        if let Some(abort) = call.abort {
            abort.abort();
            self.touched = true;
        }
        self.drop_calls(call.conn);
        self.refuse(call.conn);
    }

    /// A broker begins the requests of one connection in order. If it stands still, their tasks would
    /// all run at once when it goes on.
    fn stand_in_line(&mut self, broker: usize, conn: ConnId) -> Turn {
        let before = self.wires.lines.remove(&conn);
        let is_still = self.brokers[broker].up.as_ref().is_some_and(|up| !up.paused_by.is_empty());
        if !is_still {
            return (before, None);
        }
        let (begun, next) = oneshot::channel();
        self.wires.lines.insert(conn, next);
        (before, Some(begun))
    }

    /// Tells a client that nobody serves its connection.
    fn refuse(&mut self, conn: ConnId) {
        if let Some(at) = self.net.arrival_down(conn, self.now) {
            self.queue.push(at, Event::Lost { conn });
        }
    }

    /// The client has closed its end: whatever is parked for it at the broker is given up.
    pub(super) fn fin(&mut self, conn: ConnId) {
        if self.stalls(conn, true) {
            self.wires.stalled.push((conn, true, Event::Fin { conn }));
            return;
        }
        self.drop_calls(conn);
        self.net.forget(conn);
    }

    fn drop_calls(&mut self, conn: ConnId) {
        let calls = self.wires.calls.iter().filter(|(_, call)| call.conn == conn);
        for request in calls.map(|(request, _)| *request).collect::<Vec<_>>() {
            let call = self.wires.calls.remove(&request).expect("it was just seen");
            self.record.reach(Milestone::ClientGoneWhileWaiting);
            self.lens.void(request);
            if let Some(abort) = call.abort {
                abort.abort();
                self.touched = true;
            }
        }
    }

    /// A number for a request that no client makes.
    pub(super) fn next_request(&mut self) -> u64 {
        self.wires.requests += 1;
        self.wires.requests
    }

    /// A broker answers.
    pub(super) fn answered(&mut self, broker: usize, request: u64, response: Response) {
        if self.peer_answered(broker, request, &response) {
            return;
        }
        let Some(call) = self.wires.calls.remove(&request) else { return };
        if call.has_slept && !response.is_success() {
            self.record.reach(Milestone::PausedAnswerRefused);
        }
        if self.is_starved(broker) && response.is_success() {
            self.record.reach(Milestone::StarvedBrokerAnswered);
        }
        let slot = &self.brokers[broker];
        let local = slot.clock.local(self.now);
        self.record.fold(broker as u64, 2, request << 8 ^ crate::lens::verdict_of(&response));
        self.lens.answered(request, &slot.name, local, &response, &mut self.record);
        if let Some((moment, key)) = call.moment.filter(|_| response.is_success()) {
            self.moment(moment, broker, &key);
        }
        if let Some(at) = self.net.arrival_down(call.conn, self.now) {
            let body = Box::new(response);
            self.queue.push(at, Event::Down { conn: call.conn, request, body });
        }
    }

    /// An answer reaches a client's machine.
    pub(super) fn down(&mut self, conn: ConnId, request: u64, body: Box<Response>) {
        if self.stalls(conn, false) {
            self.wires.stalled.push((conn, false, Event::Down { conn, request, body }));
            return;
        }
        let Some(it) = self.net.conn(conn).filter(|it| it.is_open) else { return };
        let (client, broker) = (it.client, it.broker);
        if let Some(until) = self.frozen_until(client) {
            self.queue.push(until, Event::Down { conn, request, body });
            return;
        }
        self.clients[client].open.retain(|(it, _)| *it != request);
        self.lens.received(request, &body);
        self.tell_received(client, broker, &body);
        self.with_client(client, |it, cx| it.answered(cx, request, *body));
    }

    fn tell_received(&mut self, client: usize, broker: usize, body: &Response) {
        let slot = &self.clients[client];
        let is_single = match &slot.client {
            // It asks everybody for everything: that most refuse is routine.
            Some(Client::Admin(_)) if !matches!(body, Response::ListGroups { .. }) => return,
            Some(Client::Committer(_)) => true,
            Some(Client::Consumer(_) | Client::OneShot(_) | Client::Admin(_) | Client::Rude(_))
            | None => false,
        };
        let ends = (&*slot.name, &*self.brokers[broker].name);
        self.record.received(ends, body, is_single);
    }

    /// A client learns that a connection is gone.
    pub(super) fn lost(&mut self, conn: ConnId) {
        if self.stalls(conn, false) {
            self.wires.stalled.push((conn, false, Event::Lost { conn }));
            return;
        }
        let Some(it) = self.net.conn(conn) else { return };
        let (client, broker) = (it.client, it.broker);
        if let Some(until) = self.frozen_until(client) {
            self.queue.push(until, Event::Lost { conn });
            return;
        }
        self.net.forget(conn);
        self.record.reach(Milestone::ConnectionReset);
        let slot = &mut self.clients[client];
        if slot.conns.get(&broker) == Some(&conn) {
            slot.conns.remove(&broker);
        }
        let lost: Vec<u64> =
            slot.open.iter().filter(|(_, it)| *it == conn).map(|(request, _)| *request).collect();
        slot.open.retain(|(_, it)| *it != conn);
        for request in lost {
            self.lens.connection_lost(request);
            self.with_client(client, |it, cx| it.lost(cx, request));
        }
    }

    /// A link has healed: what waited is sent again.
    pub(super) fn release(&mut self) {
        self.release_peers();
        for (conn, to_broker, event) in std::mem::take(&mut self.wires.stalled) {
            if self.net.stalled_by(conn, to_broker).is_some() {
                self.wires.stalled.push((conn, to_broker, event));
                continue;
            }
            let at = if to_broker {
                self.net.arrival_up(conn, self.now)
            } else {
                self.net.arrival_down(conn, self.now)
            };
            if let Some(at) = at {
                if let Event::Up { request, .. } = &event {
                    self.net.resent_up(conn, at, *request);
                }
                self.record.reach(Milestone::StalledMessageDelivered);
                self.queue.push(at, event);
            }
        }
    }

    /// Both ends of all connections to a broker are torn down.
    pub(super) fn reset_conns(&mut self, broker: usize) -> usize {
        let conns = self.net.conns_of(broker);
        for conn in &conns {
            self.drop_calls(*conn);
            self.refuse(*conn);
        }
        conns.len()
    }

    /// The broker goes on after a pause: what it answers from here on is late.
    pub(super) fn mark_calls_slept(&mut self, broker: usize) {
        for call in self.wires.calls.values_mut().filter(|call| call.broker == broker) {
            call.has_slept = true;
        }
    }

    /// The broker is dead: its calls end with it.
    pub(super) fn forget_calls(&mut self, broker: usize) -> usize {
        let calls = self.wires.calls.len();
        self.wires.calls.retain(|_, call| call.broker != broker);
        calls - self.wires.calls.len()
    }
}
