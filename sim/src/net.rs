//! The network between clients and brokers: connections that can stall, break, and be half open.
//!
//! Messages of one connection arrive in order; connections overtake each other. A cut link loses
//! nothing at first: what is sent waits for the link to heal, as TCP retransmits, and arrives late.
//! A client that gives up closes its end; what it had sent may still arrive. A broker that dies
//! silently leaves its peers with connections that nobody serves.
//!
//! This file is the state of connections and links and when a message would arrive; the world's
//! queue carries the messages (`world/wires.rs`).

use std::collections::BTreeMap;

use crate::{
    plan::{Span, Way},
    seed::Stream,
};

/// Names a connection.
pub type ConnId = u64;

/// A client's connection to one incarnation of a broker.
#[derive(Debug)]
pub struct Conn {
    /// The client, by number.
    pub client: usize,
    /// The broker, by ordinal.
    pub broker: usize,
    /// The incarnation of the broker that it was opened to; 0 if nobody listened.
    pub incarnation: u64,
    /// Whether the client's end is open.
    pub is_open: bool,
    /// Whether it hangs for ever: nothing that is sent arrives.
    pub is_swallowed: bool,
    /// When the handshake is over.
    pub handshaken: u64,
    /// When the last message to the broker arrives; the next is later.
    pub last_up: u64,
    /// The last request that a cut had kept and that was sent again: when it arrives, and its number.
    pub resent_up: (u64, u64),
    /// When the last message to the client arrives.
    pub last_down: u64,
}

/// What is wrong with the link between a broker and one client or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The broker.
    pub broker: usize,
    /// The client; all if `None`.
    pub client: Option<usize>,
    /// The direction.
    pub way: Way,
    /// Which step does it.
    pub step: usize,
    /// Whether it stays when everything else has healed.
    pub is_for_good: bool,
}

/// All connections and links.
#[derive(Debug)]
pub struct Net {
    seed: u64,
    latency: Span,
    conns: BTreeMap<ConnId, Conn>,
    next: ConnId,
    streams: BTreeMap<(usize, usize), Stream>,
    /// The links that are cut.
    pub cuts: Vec<Cut>,
    /// Brokers that new connections hang at, and the step that does it.
    pub black_holes: Vec<(usize, usize)>,
    /// Brokers whose messages take longer: broker, microseconds, step.
    pub slow: Vec<(usize, u64, usize)>,
}

impl Net {
    /// A network whose messages take `latency`.
    pub fn new(seed: u64, latency: Span) -> Self {
        Self {
            seed,
            latency,
            conns: BTreeMap::new(),
            next: 0,
            streams: BTreeMap::new(),
            cuts: Vec::new(),
            black_holes: Vec::new(),
            slow: Vec::new(),
        }
    }

    /// Opens a connection.
    pub fn open(&mut self, client: usize, broker: usize, incarnation: u64) -> ConnId {
        self.next += 1;
        let conn = Conn {
            client,
            broker,
            incarnation,
            is_open: true,
            is_swallowed: false,
            handshaken: 0,
            last_up: 0,
            resent_up: (0, 0),
            last_down: 0,
        };
        self.conns.insert(self.next, conn);
        self.next
    }

    /// A connection, unless it has been forgotten.
    pub fn conn(&self, id: ConnId) -> Option<&Conn> {
        self.conns.get(&id)
    }

    /// A request that a cut had kept arrives at `at`: those behind it come later.
    pub fn resent_up(&mut self, id: ConnId, at: u64, request: u64) {
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.resent_up = (at, request);
        }
    }

    /// Whether a request that arrives now has overtaken one that was sent again.
    pub fn overtakes(&self, id: ConnId, now: u64, request: u64) -> bool {
        self.conns.get(&id).is_some_and(|it| it.resent_up.0 > now && it.resent_up.1 < request)
    }

    /// The client's end is closed.
    pub fn close(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.is_open = false;
        }
    }

    /// Nothing is sent to the broker before `at`, when the handshake is over.
    pub fn delay_up(&mut self, id: ConnId, at: u64) {
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.handshaken = at;
        }
    }

    /// The connection hangs for ever.
    pub fn swallow(&mut self, id: ConnId) {
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.is_swallowed = true;
        }
    }

    /// Nothing of the connection is left on either side.
    pub fn forget(&mut self, id: ConnId) {
        self.conns.remove(&id);
    }

    /// Whether nobody reaches a broker any more, for good.
    pub fn is_cut_off(&self, broker: usize) -> bool {
        self.cuts.iter().any(|cut| cut.is_for_good && cut.broker == broker)
    }

    /// The connections to a broker.
    pub fn conns_of(&self, broker: usize) -> Vec<ConnId> {
        let conns = self.conns.iter().filter(|(_, conn)| conn.broker == broker);
        conns.map(|(id, _)| *id).collect()
    }

    /// How much longer messages of a broker take, in microseconds.
    pub fn extra(&self, broker: usize) -> u64 {
        self.slow.iter().filter(|it| it.0 == broker).map(|it| it.1).sum()
    }

    /// How long a message between the two takes, in microseconds.
    pub fn latency(&mut self, client: usize, broker: usize) -> u64 {
        let extra = self.extra(broker);
        let (seed, latency) = (self.seed, self.latency);
        let stream = self
            .streams
            .entry((client, broker))
            .or_insert_with(|| Stream::new(seed, "net", (client as u64) << 32 | broker as u64));
        extra + stream.micros(latency)
    }

    /// When a message sent now to the broker arrives.
    pub fn arrival_up(&mut self, id: ConnId, now: u64) -> Option<u64> {
        let (client, broker) = self.ends(id)?;
        let latency = self.latency(client, broker);
        let conn = self.conns.get_mut(&id)?;
        // Behind a handshake the message still has its own way to go.
        conn.last_up = (now.max(conn.handshaken) + latency).max(conn.last_up + 1);
        Some(conn.last_up)
    }

    /// When a message sent now to the client arrives.
    pub fn arrival_down(&mut self, id: ConnId, now: u64) -> Option<u64> {
        let (client, broker) = self.ends(id)?;
        let at = now + self.latency(client, broker);
        let conn = self.conns.get_mut(&id)?;
        conn.last_down = at.max(conn.last_down + 1);
        Some(conn.last_down)
    }

    fn ends(&self, id: ConnId) -> Option<(usize, usize)> {
        self.conns.get(&id).map(|conn| (conn.client, conn.broker))
    }

    /// The step that keeps messages of a connection from arriving, if any does.
    pub fn stalled_by(&self, id: ConnId, to_broker: bool) -> Option<usize> {
        let (client, broker) = self.ends(id)?;
        let blocks = |cut: &&Cut| {
            cut.broker == broker
                && cut.client.is_none_or(|it| it == client)
                && match cut.way {
                    Way::Both => true,
                    Way::Requests => to_broker,
                    Way::Answers => !to_broker,
                }
        };
        self.cuts.iter().find(blocks).map(|cut| cut.step)
    }

    /// The step that keeps a message between two brokers from arriving, if any does: what clients
    /// can't send to a broker, other brokers can't send either, and so for what it sends.
    pub fn peers_stalled_by(&self, from: usize, to: usize, is_answer: bool) -> Option<usize> {
        let blocks = |cut: &&Cut| {
            let is_inbound = (cut.broker == to) != is_answer;
            cut.client.is_none()
                && [from, to].contains(&cut.broker)
                && match cut.way {
                    Way::Both => true,
                    Way::Requests => is_inbound,
                    Way::Answers => !is_inbound,
                }
        };
        self.cuts.iter().find(blocks).map(|cut| cut.step)
    }
}
