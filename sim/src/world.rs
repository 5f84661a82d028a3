//! The world: one queue of events, and everything that they happen to.
//!
//! Time is the queue's: it stands still while brokers' tasks run and jumps to the next event when
//! they have come to rest. Clients, network, volume and controller are plain state machines in here;
//! only brokers are tasks, on the runtime's nodes, which gives them random scheduling, pauses in the
//! middle of an await, and deaths.
//!
//! | file | holds |
//! |---|---|
//! | `queue.rs` | the queue |
//! | `wires.rs` | messages between clients and brokers |
//! | `sluggish.rs` | callers that run late |
//! | `peers.rs` | messages between brokers, and markers to the output |
//! | `brokers.rs` | starting, stopping, killing and pausing brokers; what they post |
//! | `storage.rs` | when volume operations happen, fail and get stuck |
//! | `control.rs` | the controller, its file, and what goes wrong with both |
//! | `script.rs` | the plan's steps, one after the other |
//! | `moments.rs` | steps that wait until something has happened |
//! | `faults.rs` | what each step begins and ends |
//! | `machines.rs` | little time for brokers, tasks that die |
//! | `clocks.rs` | brokers' timers, and what happens to their clocks |
//! | `processes.rs` | what steps do to single clients |
//! | `lease.rs` | the controller's lease, and what brokers are told of it |
//! | `releases.rs` | of which release a broker is, and when two meet in a file |
//! | `settle.rs` | after the last step: heal, settle, look at everything once more |

use std::sync::Arc;

use kaas_coordinator::api::{Request, Response};
use madsim::runtime::Handle;
use tokio::sync::oneshot;

use crate::{
    client::{self, ClientSlot},
    hub::{self, Hub, Markers, Posted},
    lens::Lens,
    net::{ConnId, Net},
    output::Output,
    plan::Plan,
    record::Record,
    volume::SharedVolume,
};

use self::{
    brokers::BrokerSlot, control::Controller, machines::Machines, peers::Peers, queue::Queue,
    script::Script, settle::Settle, sluggish::Sluggish, storage::Storage, wires::Wires,
};

mod brokers;
mod clocks;
mod control;
mod faults;
mod lease;
mod machines;
mod moments;
mod peers;
mod processes;
mod queue;
mod releases;
mod script;
mod settle;
mod sluggish;
mod storage;
mod wires;

pub(crate) use brokers::count;
pub use settle::Stuck;

/// How often brokers are asked what they hold, in microseconds; falls into no step with their polls.
const CENSUS_EVERY: u64 = 730_000;

/// Everything there is.
pub struct World {
    now: u64,
    queue: Queue<Event>,
    plan: Arc<Plan>,
    handle: Handle,
    hub: Arc<Hub>,
    net: Net,
    wires: Wires,
    sluggish: Sluggish,
    peers: Peers,
    output: Output,
    volume: SharedVolume,
    storage: Storage,
    brokers: Vec<BrokerSlot>,
    controller: Controller,
    machines: Machines,
    clients: Vec<ClientSlot>,
    lens: Lens,
    script: Script,
    settle: Settle,
    record: Record,
    posts: Vec<Posted>,
    /// Whether a broker's task has been woken since they last came to rest.
    touched: bool,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Something that is going to happen.
#[derive(Debug)]
enum Event {
    /// A request reaches a broker.
    Up { conn: ConnId, request: u64, body: Box<Request> },
    /// The end of a client's side reaches the broker.
    Fin { conn: ConnId },
    /// An answer reaches a client.
    Down { conn: ConnId, request: u64, body: Box<Response> },
    /// A client learns that its connection is gone.
    Lost { conn: ConnId },
    /// A broker's question reaches a broker.
    PeerUp { request: u64, body: Box<Request> },
    /// Its answer reaches who asked.
    PeerDown { request: u64, body: Box<Response> },
    /// Markers reach the output.
    Mark { markers: Markers, wake: oneshot::Sender<()> },
    /// A client wants to act.
    Wake { client: usize },
    /// A volume operation happens.
    Operate { op: u64 },
    /// The outcome of a volume operation reaches its broker.
    Told { op: u64 },
    /// A broker's timer fires, if it is still set.
    Timer { broker: usize, timer: u64 },
    /// A broker that gets little of its processor's time is stopped, or runs again.
    Slice { step: usize },
    /// The task of a request is to die, if the request still waits in the broker.
    Panic { broker: usize, request: u64 },
    /// The controller notices what it is to know of a broker.
    Notice { broker: usize },
    /// The controller publishes what it knows.
    Publish,
    /// A broker starts.
    Boot { broker: usize },
    /// A broker that is told to close does so now.
    Close { broker: usize, incarnation: u64 },
    /// A step waits for its moment from here on.
    Arm { step: usize },
    /// A step begins.
    Begin { step: usize },
    /// What a step began ends.
    End { step: usize },
    /// The settle phase looks again.
    Look,
    /// Every broker is asked what it holds.
    Census,
}

/// What the world wants after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Brokers' tasks must run before time goes on.
    Run,
    /// The run is over.
    Over,
}

impl World {
    /// The world of a plan, at time zero. Must be called inside the runtime.
    pub fn new(plan: Arc<Plan>, record: Record) -> Self {
        let hub = Arc::new(Hub::default());
        let mut world = Self {
            now: 0,
            queue: Queue::new(),
            handle: Handle::current(),
            net: Net::new(plan.seed, plan.network),
            wires: Wires::default(),
            sluggish: Sluggish::new(&plan),
            peers: Peers::new(&plan),
            output: Output::default(),
            volume: SharedVolume::default(),
            storage: Storage::new(&plan),
            brokers: Vec::new(),
            controller: Controller::new(&plan),
            machines: Machines::new(&plan),
            clients: client::all(&plan),
            lens: Lens::new(&plan),
            script: Script::default(),
            settle: Settle::default(),
            record,
            posts: Vec::new(),
            touched: false,
            hub,
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for broker in 0..self.plan.brokers {
            self.add_broker(broker as usize);
            self.boot(broker as usize);
        }
        self.first_view();
        self.after(CENSUS_EVERY, Event::Census);
        for client in 0..self.clients.len() {
            self.arm(client);
        }
        self.run_script();
    }

    /// Lets events happen until brokers' tasks have something to do, or the run is over.
    pub fn step(&mut self) -> Next {
        loop {
            if self.settle.is_over {
                return Next::Over;
            }
            let (at, event) = self.queue.pop().expect("brokers poll as long as the run goes on");
            assert!(at >= self.now, "nothing happens in the past");
            if at > self.now {
                self.now = at;
                self.hub.set_now(at);
                self.record.set_now(at);
                self.lens.set_now(at);
            }
            self.happen(event);
            if std::mem::take(&mut self.touched) {
                return Next::Run;
            }
        }
    }

    /// Takes what the brokers' tasks posted; they have come to rest.
    pub fn rest(&mut self) {
        loop {
            let mut posts = std::mem::take(&mut self.posts);
            self.hub.take_posts(&mut posts);
            if posts.is_empty() {
                self.posts = posts;
                return;
            }
            if self.plan.is_fixed() {
                hub::in_order(&mut posts);
            }
            for (broker, incarnation, post) in posts.drain(..) {
                self.posted(broker, incarnation, post);
            }
            self.posts = posts;
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Up { conn, request, body } => self.up(conn, request, body),
            Event::Fin { conn } => self.fin(conn),
            Event::Down { conn, request, body } => self.down(conn, request, body),
            Event::Lost { conn } => self.lost(conn),
            Event::PeerUp { request, body } => self.peer_up(request, body),
            Event::PeerDown { request, body } => self.peer_down(request, body),
            Event::Mark { markers, wake } => self.mark(&markers, wake),
            Event::Wake { client } => self.wake(client),
            Event::Operate { op } => self.operate(op),
            Event::Told { op } => self.told(op),
            Event::Timer { broker, timer } => self.fire(broker, timer),
            Event::Slice { step } => self.next_slice(step),
            Event::Panic { broker, request } => self.panic_in(broker, request),
            Event::Notice { broker } => self.notice(broker),
            Event::Publish => self.publish_if_changed(),
            Event::Boot { broker } => self.boot(broker),
            Event::Close { broker, incarnation } => self.close(broker, incarnation),
            Event::Arm { step } => self.arm_later(step),
            Event::Begin { step } => self.begin_step(step),
            Event::End { step } => self.end_step(step),
            Event::Look => self.look(),
            Event::Census => {
                self.take_census();
                self.after(CENSUS_EVERY, Event::Census);
            }
        }
    }

    fn after(&mut self, micros: u64, event: Event) {
        self.queue.push(self.now.saturating_add(micros), event);
    }

    /// What the run has come to, and what it left in the record.
    pub fn finish(self) -> (Record, model::Report, Option<Stuck>, u64) {
        (self.record, self.lens.finish(), self.settle.stuck, self.now)
    }
}
