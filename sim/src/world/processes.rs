//! What each step does to single clients, and the end of all rudeness.

#![expect(clippy::wildcard_enum_match_arm, reason = "other steps are about other things")]

use super::World;
use crate::{
    client::{Client, consumer::Consumer, duplicate_name},
    milestone::Milestone,
    plan::{Action, Goodbye},
    seed::micros,
};

impl World {
    /// Begins what a step does to a client. Returns after how long it ends, in microseconds.
    pub(super) fn begin_client(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Leave { client } => {
                self.client_leaves(client, step);
                None
            }
            Action::Freeze { client, duration } => {
                self.freeze(client, micros(*duration), step);
                Some(micros(*duration))
            }
            Action::Crash { client, down, keeps_id, peers } => {
                let client = self.client_named(client)?;
                let mut was_up = false;
                self.with_consumer(client, |it, _| was_up = it.may_crash());
                if was_up {
                    self.record.effect(step);
                    self.record.reach(Milestone::ClientCrashed);
                    if *peers == Goodbye::Silent {
                        self.vanish(client);
                    }
                    let down = micros(*down);
                    self.with_consumer(client, |it, cx| it.crash(cx, down, *keeps_id));
                    // Whatever stood still with it is gone, too.
                    self.clients[client].frozen = 0;
                    self.hang_up_all(client);
                }
                None
            }
            Action::Duplicate { client, duration } => {
                let original = self.client_named(client)?;
                let duplicate = self.client_named(&duplicate_name(client))?;
                let mut may_start = true;
                self.with_consumer(duplicate, |it, _| may_start = !it.is_up());
                if !may_start {
                    return None;
                }
                self.with_consumer(original, |it, _| {
                    it.take_fenced();
                });
                self.with_consumer(duplicate, |it, cx| it.start(cx));
                Some(micros(*duration))
            }
            _ => unreachable!("is no step about a client"),
        }
    }

    /// Ends what a step began.
    pub(super) fn end_client(&mut self, step: usize, action: &Action) {
        match action {
            Action::Duplicate { client, .. } => {
                let original = self.client_named(client).expect("a plan names clients it has");
                let duplicate = self.client_named(&duplicate_name(client));
                let duplicate = duplicate.expect("it was started");
                let mut is_fenced = false;
                for it in [original, duplicate] {
                    self.with_consumer(it, |it, _| is_fenced |= it.take_fenced());
                }
                if is_fenced {
                    self.record.effect(step);
                }
                self.with_consumer(duplicate, |it, cx| it.die(cx));
                self.hang_up_all(duplicate);
            }
            _ => unreachable!("is no step that lasts and is about a client"),
        }
    }

    /// The faults are over: rude clients stay away from now on.
    pub(super) fn end_rudeness(&mut self) {
        for client in 0..self.clients.len() {
            self.with_client(client, |it, cx| {
                if let Client::Rude(it) = it {
                    it.stop(cx);
                }
            });
        }
    }

    fn hang_up_all(&mut self, client: usize) {
        let brokers: Vec<_> = self.clients[client].conns.keys().copied().collect();
        for broker in brokers {
            self.hang_up(client, broker);
        }
    }

    /// A client's machine dies before its process can say so: brokers go on serving connections that
    /// have no other end.
    fn vanish(&mut self, client: usize) {
        let slot = &mut self.clients[client];
        slot.open.clear();
        for conn in std::mem::take(&mut slot.conns).into_values() {
            self.net.close(conn);
            if self.owes_on(conn) {
                self.record.reach(Milestone::ClientVanishedWhileWaiting);
            }
        }
    }

    fn with_consumer(
        &mut self,
        client: usize,
        step: impl FnOnce(&mut Consumer, &mut crate::client::Cx<'_>),
    ) {
        self.with_client(client, |it, cx| {
            let Client::Consumer(it) = it else { unreachable!("a member is a consumer") };
            step(it, cx);
        });
    }

    /// The number of a client.
    pub(super) fn client_named(&self, name: &str) -> Option<usize> {
        self.clients.iter().position(|slot| *slot.name == *name)
    }

    fn client_leaves(&mut self, name: &str, step: usize) {
        if let Some(client) = self.client_named(name) {
            self.record.effect(step);
            self.with_client(client, |it, cx| it.leave(cx));
        }
    }

    fn freeze(&mut self, name: &str, micros: u64, step: usize) {
        if let Some(client) = self.client_named(name) {
            self.clients[client].frozen = self.now + micros;
            self.clients[client].frozen_by = step;
            let name = self.clients[client].name.clone();
            self.record.tell(&name, || "stops in place".to_owned());
        }
    }
}
