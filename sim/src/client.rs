//! The clients: what uses the cluster, as Kafka's clients would.
//!
//! Each is a state machine that is told the time and what arrived, and says what to send and when to
//! be woken. `rpc.rs` finds coordinators and keeps track of requests; `consumer.rs` is a member of a
//! group, `rude.rs` one that misbehaves, `committer.rs` commits without joining, `oneshot.rs` uses many
//! groups once each, `admin.rs` looks at everything. `assignor.rs` is what members tell each other.

use std::collections::BTreeMap;

use kaas_coordinator::api::{ErrorCode, Request, Response};

use crate::{
    lens::Lens,
    net::ConnId,
    output::Output,
    plan::{Clients, Manner, Plan},
    record::Record,
    seed::{Stream, micros},
};

pub mod admin;
pub mod assignor;
pub mod committer;
pub mod consumer;
pub mod oneshot;
pub mod rpc;
pub mod rude;

use self::{admin::Admin, committer::Committer, consumer::Consumer, oneshot::OneShot, rude::Rude};

/// How long a client waits for an answer that is due at once, in microseconds. Kafka's
/// `request.timeout.ms` is 30 s; a shorter one meets more faults in a minute.
pub const REQUEST_TIMEOUT: u64 = 10_000_000;
/// How long a client waits before it tries again, in microseconds (`retry.backoff.ms`).
pub const BACKOFF: u64 = 100_000;

/// A client and what the world keeps of it.
#[derive(Debug)]
pub struct ClientSlot {
    /// Its name.
    pub name: model::Name,
    /// Itself; absent while it takes a step.
    pub client: Option<Client>,
    /// Its own draws.
    pub stream: Stream,
    /// For what time it is in the queue.
    pub armed: u64,
    /// Until when it stands still.
    pub frozen: u64,
    /// The step behind that.
    pub frozen_by: usize,
    /// Its connections, by broker.
    pub conns: BTreeMap<usize, ConnId>,
    /// Requests without an answer, and their connection.
    pub open: Vec<(u64, ConnId)>,
    /// Room for what it sends.
    pub sends: Vec<Send>,
}

impl ClientSlot {
    fn new(seed: u64, number: usize, name: &str, client: Client) -> Self {
        Self {
            name: name.into(),
            client: Some(client),
            stream: Stream::new(seed, "workload", number as u64),
            armed: u64::MAX,
            frozen: 0,
            frozen_by: 0,
            conns: BTreeMap::new(),
            open: Vec::new(),
            sends: Vec::new(),
        }
    }

    /// Until when it stands still, if it does at `now`.
    pub fn frozen_until(&self, now: u64) -> Option<u64> {
        (self.frozen > now).then_some(self.frozen)
    }
}

/// Any client.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is the client of that name")]
pub enum Client {
    Consumer(Box<Consumer>),
    Committer(Box<Committer>),
    OneShot(Box<OneShot>),
    Admin(Box<Admin>),
    Rude(Box<Rude>),
}

/// What a client has to say.
#[derive(Debug)]
pub enum Send {
    /// A request to a broker.
    Request {
        /// To whom.
        broker: usize,
        /// The request's number.
        request: u64,
        /// What is asked.
        body: Box<Request>,
    },
    /// Closes the connection to a broker; answers that are due on it are lost.
    Close {
        /// To whom.
        broker: usize,
    },
}

/// What a client is told, and where it puts what it has to say.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The time, in microseconds.
    pub now: u64,
    /// Its name.
    pub name: &'a model::Name,
    /// Its own draws.
    pub stream: &'a mut Stream,
    /// What it says.
    pub sends: &'a mut Vec<Send>,
    /// The last request's number.
    pub requests: &'a mut u64,
    /// Who watches.
    pub lens: &'a mut Lens,
    /// The trace.
    pub record: &'a mut Record,
    /// Where transactional clients write.
    pub output: &'a mut Output,
    /// How many brokers there are places for.
    pub brokers: usize,
    /// Whether nothing may depend on the seed.
    pub is_fixed: bool,
}

impl Cx<'_> {
    /// Whether to do what some clients do and others don't; in a scenario, always.
    pub fn may(&mut self) -> bool {
        self.is_fixed || self.stream.percent(50)
    }

    /// Whether to do what happens now and then; in a scenario, never.
    pub fn sometimes(&mut self) -> bool {
        !self.is_fixed && self.stream.percent(10)
    }

    /// Sends a request; returns its number.
    pub fn send(&mut self, broker: usize, body: Request) -> u64 {
        *self.requests += 1;
        let request = *self.requests;
        self.sends.push(Send::Request { broker, request, body: Box::new(body) });
        request
    }
}

impl Client {
    /// Its time has come.
    pub fn wake(&mut self, cx: &mut Cx<'_>) {
        match self {
            Self::Consumer(it) => it.wake(cx),
            Self::Committer(it) => it.wake(cx),
            Self::OneShot(it) => it.wake(cx),
            Self::Admin(it) => it.wake(cx),
            Self::Rude(it) => it.wake(cx),
        }
    }

    /// An answer has arrived.
    pub fn answered(&mut self, cx: &mut Cx<'_>, request: u64, response: Response) {
        match self {
            Self::Consumer(it) => it.answered(cx, request, response),
            Self::Committer(it) => it.answered(cx, request, response),
            Self::OneShot(it) => it.answered(cx, request, response),
            Self::Admin(it) => it.answered(cx, request, response),
            Self::Rude(it) => it.answered(cx, request, response),
        }
    }

    /// The connection under a request is gone.
    pub fn lost(&mut self, cx: &mut Cx<'_>, request: u64) {
        match self {
            Self::Consumer(it) => it.lost(cx, request),
            Self::Committer(it) => it.lost(cx, request),
            Self::OneShot(it) => it.lost(cx, request),
            Self::Admin(it) => it.lost(cx, request),
            Self::Rude(it) => it.lost(cx, request),
        }
    }

    /// It is to leave its group and the cluster.
    pub fn leave(&mut self, cx: &mut Cx<'_>) {
        if let Self::Consumer(it) = self {
            it.leave(cx);
        }
    }

    /// When it wants to be woken.
    pub fn next_wake(&self) -> u64 {
        match self {
            Self::Consumer(it) => it.next_wake(),
            Self::Committer(it) => it.next_wake(),
            Self::OneShot(it) => it.next_wake(),
            Self::Admin(it) => it.next_wake(),
            Self::Rude(it) => it.next_wake(),
        }
    }
}

/// All clients of a plan, and at the end the examiner, who looks at everything when it is over.
pub fn all(plan: &Plan) -> Vec<ClientSlot> {
    let mut slots: Vec<ClientSlot> = Vec::new();
    let stagger = micros(plan.stagger);
    for spec in &plan.clients {
        let number = slots.len();
        let start = stagger * (number as u64 + 1);
        match spec {
            Clients::Group { name, members, .. } => {
                for member in 0..*members {
                    let number = number + member as usize;
                    let start = start + stagger * u64::from(member);
                    let client = format!("{name}.{}", member + 1);
                    let consumer = consumer(plan, spec, (&client, &client), (number, start));
                    let consumer = Client::Consumer(Box::new(consumer));
                    slots.push(ClientSlot::new(plan.seed, number, &client, consumer));
                }
            }
            Clients::Committer { name, topic, every, at_once } => {
                let partitions = plan.partitions(topic);
                let it = Committer::new(name, partitions, micros(*every), number, start);
                let it = it.at_once(*at_once);
                let it = Client::Committer(Box::new(it));
                slots.push(ClientSlot::new(plan.seed, number, &format!("{name}!"), it));
            }
            Clients::Reader { name, every } => {
                let partitions = plan.partitions(plan.topic_of(name));
                let it = Committer::reader(name, partitions, micros(*every), number, start);
                let it = Client::Committer(Box::new(it));
                slots.push(ClientSlot::new(plan.seed, number, &format!("{name}~"), it));
            }
            Clients::OneShot { name, .. } => {
                let it = Client::OneShot(Box::new(OneShot::new(spec, number, start)));
                slots.push(ClientSlot::new(plan.seed, number, &format!("{name}?"), it));
            }
            Clients::Admin { name, every } => {
                let it = Admin::new(plan.groups(), Some(micros(*every)), number, start);
                let it = Client::Admin(Box::new(it));
                slots.push(ClientSlot::new(plan.seed, number, name, it));
            }
            Clients::Rude { group, manner, every, from } => {
                let (spec, topic) = group_of(plan, group);
                let how = (*manner, micros(*every));
                let it = Rude::new(how, spec, plan.partitions(topic), number, micros(*from));
                let it = Client::Rude(Box::new(it));
                let name = format!("{group}.{}", manner.word());
                slots.push(ClientSlot::new(plan.seed, number, &name, it));
            }
        }
    }
    for (spec, name) in static_members(plan) {
        // Each has a place, whether it is ever used or not, so that no step moves another client.
        let number = slots.len();
        let client = duplicate_name(&name);
        let it = consumer(plan, spec, (&client, &name), (number, u64::MAX)).as_duplicate();
        let it = Client::Consumer(Box::new(it));
        slots.push(ClientSlot::new(plan.seed, number, &client, it));
    }
    let number = slots.len();
    let examiner = Admin::new(plan.groups(), None, number, u64::MAX);
    let examiner = Client::Admin(Box::new(examiner));
    slots.push(ClientSlot::new(plan.seed, number, "examiner", examiner));
    slots
}

/// A process of a member of the group `spec`, by its own name and the member's.
fn consumer(
    plan: &Plan,
    spec: &Clients,
    (client, member): (&str, &str),
    (number, start): (usize, u64),
) -> Consumer {
    let Clients::Group { name: group, topic, is_static, .. } = spec else {
        unreachable!("only groups have consumers")
    };
    Consumer::new(spec, client, plan.partitions(topic), number, start)
        .with_instance(is_static.then_some(member))
        .with_excuses(excuses(plan, group, *is_static))
}

/// Which errors end the process of a member though nobody but other clients is to blame.
fn excuses(plan: &Plan, group: &str, is_static: bool) -> Vec<ErrorCode> {
    let somebody_disagrees = plan.clients.iter().any(|it| {
        matches!(it, Clients::Rude { group: it, manner: Manner::Disagrees, .. } if it == group)
    });
    let errors = [
        // Besides a duplicate, an old JoinGroup of its own that arrives late can fence it.
        (is_static, ErrorCode::FencedInstanceId),
        (somebody_disagrees, ErrorCode::InconsistentGroupProtocol),
        (plan.group_max.is_some(), ErrorCode::GroupMaxSizeReached),
    ];
    errors.into_iter().filter(|(is_one, _)| *is_one).map(|(_, error)| error).collect()
}

/// A group with members, and its topic.
fn group_of<'a>(plan: &'a Plan, group: &str) -> (&'a Clients, &'a str) {
    let found = plan.clients.iter().find_map(|it| match it {
        Clients::Group { name, topic, .. } if name == group => Some((it, topic.as_str())),
        Clients::Group { .. }
        | Clients::Committer { .. }
        | Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Admin { .. }
        | Clients::Rude { .. } => None,
    });
    found.expect("a plan names groups that it has")
}

/// The static members of all groups, by group and by name.
fn static_members(plan: &Plan) -> impl Iterator<Item = (&Clients, String)> {
    plan.clients.iter().flat_map(|it| {
        let (name, members) = match it {
            Clients::Group { name, members, is_static: true, .. } => (name.as_str(), *members),
            Clients::Group { .. }
            | Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => ("", 0),
        };
        (1..=members).map(move |member| (it, format!("{name}.{member}")))
    })
}

/// What the second process of a member is called.
pub fn duplicate_name(member: &str) -> String {
    format!("{member}*")
}
