//! Brokers: how they start, stop, die and are paused, and what their tasks post.

use std::{collections::BTreeSet, sync::Arc};

use kaas_coordinator::{broker::Broker, note::Note};
use madsim::runtime::NodeHandle;

use super::{Event, World, clocks::Timers};
use crate::{
    clock::BrokerClock,
    config,
    hub::{Post, SimHost},
    milestone::Milestone,
    plan::Goodbye,
    release::Release,
    seed::Stream,
};

/// A broker's place in the cluster, whether or not it is there.
pub(super) struct BrokerSlot {
    pub(super) name: model::Name,
    pub(super) clock: Arc<BrokerClock>,
    pub(super) timers: Timers,
    /// The step that keeps the clock from going, and since when.
    pub(super) clock_stopped: Option<(usize, u64)>,
    /// How often it was started; 0 if never.
    pub(super) incarnation: u64,
    /// The release that it is of, or was in its last life.
    pub(super) release: Release,
    /// The release that its next life is of, and the step that says so.
    pub(super) next_release: Option<(Release, usize)>,
    /// The step that made it one of another release, until that has had an effect.
    pub(super) installed_by: Option<usize>,
    pub(super) up: Option<Up>,
    /// Whether its machine is gone too: connections hang instead of being refused.
    pub(super) is_silent: bool,
    /// Whether it is in the full set.
    pub(super) is_member: bool,
    /// Which step keeps it down.
    pub(super) down_by: Option<usize>,
    /// What happens in the middle of one of its volume operations.
    crash_stream: Stream,
}

/// A broker that runs.
pub(super) struct Up {
    pub(super) broker: Arc<Broker<SimHost>>,
    pub(super) node: NodeHandle,
    /// The steps that keep it stopped in place; it runs if there is none.
    pub(super) paused_by: BTreeSet<usize>,
    is_closing: bool,
}

impl World {
    /// Makes room for a broker.
    pub(super) fn add_broker(&mut self, broker: usize) {
        assert_eq!(broker, self.brokers.len(), "brokers are added in order");
        let mut stream = Stream::new(self.plan.seed, "clock", broker as u64);
        let ppm = i64::from(self.plan.drift_ppm);
        let ppm = match ppm {
            0 => 0,
            _ => stream.between(0, 2 * ppm.unsigned_abs()).cast_signed() - ppm,
        };
        let offset = stream.between(10_000_000, 100_000_000);
        let clock = Arc::new(BrokerClock::new(offset, ppm));
        self.brokers.push(BrokerSlot {
            name: format!("kaas-{broker}").into(),
            clock,
            timers: Timers::default(),
            clock_stopped: None,
            incarnation: 0,
            release: self.plan.release,
            next_release: None,
            installed_by: None,
            up: None,
            is_silent: false,
            is_member: true,
            down_by: None,
            crash_stream: Stream::new(self.plan.seed, "crash", broker as u64),
        });
    }

    /// Starts a broker that is not running.
    pub(super) fn boot(&mut self, broker: usize) {
        let slot = &mut self.brokers[broker];
        if slot.up.is_some() || !slot.is_member {
            return;
        }
        let is_another = slot.change_release();
        slot.incarnation += 1;
        slot.is_silent = false;
        slot.down_by = None;
        let instance = (broker as u64) << 32 | slot.incarnation;
        let host = SimHost::new(
            Arc::clone(&self.hub),
            (broker, slot.incarnation),
            slot.release,
            Arc::clone(&slot.clock),
            Stream::new(self.plan.seed, "entropy", instance),
        );
        let id = (&*slot.name).into();
        let config = slot.release.of_config(config::of(&self.plan));
        let coordinator = Arc::new(Broker::new(id, config, host));
        let node = self.handle.create_node().name(format!("{}#{}", slot.name, slot.incarnation));
        let node = node.build();
        let task = Arc::clone(&coordinator);
        node.spawn(async move {
            task.run().await;
            task.host().post(Post::Closed);
        });
        let paused_by = BTreeSet::new();
        slot.up = Some(Up { broker: coordinator, node, paused_by, is_closing: false });
        let local = slot.clock.local(self.now);
        self.record.fold(broker as u64, 3, slot.incarnation);
        self.lens.broker_started(&slot.name, local);
        if slot.incarnation > 1 {
            self.record.reach(Milestone::BrokerCameBack);
            let (name, release) = (slot.name.clone(), slot.release.word());
            self.record.tell(&name, || match is_another {
                true => format!("up, of the {release} release"),
                false => "up".to_owned(),
            });
        }
        self.touched = true;
        self.show_everything(broker);
        let after = self.controller.notices_up_after();
        self.after(after, Event::Notice { broker });
    }

    /// A broker dies.
    pub(super) fn kill(&mut self, broker: usize, peers: Goodbye) {
        let slot = &mut self.brokers[broker];
        let Some(up) = slot.up.take() else { return };
        self.handle.kill(up.node.id());
        slot.timers.clear();
        slot.is_silent = peers == Goodbye::Silent;
        let held = up.broker.status().held.len();
        let name = slot.name.clone();
        let lost = self.volume.lose(broker, &mut slot.crash_stream);
        if lost > 0 {
            self.record.reach(Milestone::UnsyncedWriteLost);
        }
        self.record.fold(broker as u64, 4, held as u64);
        let calls = self.forget_calls(broker);
        self.forget_peer_calls(broker, peers);
        self.storage_of_dead(broker);
        self.lens.broker_stopped(&name);
        if held > 0 {
            self.record.reach(Milestone::BrokerDiedHoldingGroups);
        }
        self.record.tell(&name, || match peers {
            Goodbye::Reset => format!("down, held {}", count(held, "group")),
            Goodbye::Silent => format!("down without a word, held {}", count(held, "group")),
        });
        if let Some(step) = self.brokers[broker].down_by
            && held + calls > 0
        {
            self.record.effect(step);
        }
        match peers {
            Goodbye::Reset => {
                self.reset_conns(broker);
            }
            Goodbye::Silent => self.record.reach(Milestone::BrokerDiedSilently),
        }
        let after = self.controller.notices_down_after();
        self.after(after, Event::Notice { broker });
        self.touched = true;
    }

    /// A broker is asked to close in good order; `Post::Closed` follows.
    pub(super) fn close(&mut self, broker: usize, incarnation: u64) {
        let slot = &mut self.brokers[broker];
        let Some(up) = slot.up.as_mut().filter(|_| slot.incarnation == incarnation) else { return };
        up.is_closing = true;
        up.broker.close();
        self.touched = true;
    }

    /// A broker's process is stopped in place, whatever else stops it. Returns whether there is one.
    pub(super) fn pause(&mut self, broker: usize, step: usize) -> bool {
        let had_a_share = self.is_at_most_starved(broker);
        let is_up = self.halt(broker, step);
        if is_up && had_a_share {
            let name = self.brokers[broker].name.clone();
            self.record.tell(&name, || "paused".to_owned());
        }
        is_up
    }

    /// It goes on, unless another step keeps it from that.
    pub(super) fn resume(&mut self, broker: usize, step: usize) {
        if self.unhalt(broker, step) && self.is_at_most_starved(broker) {
            self.record.reach(Milestone::PausedBrokerWoke);
            let name = self.brokers[broker].name.clone();
            self.record.tell(&name, || "goes on".to_owned());
            self.mark_calls_slept(broker);
        }
    }

    /// One more step keeps a broker's process from running. Returns whether there is one.
    pub(super) fn halt(&mut self, broker: usize, step: usize) -> bool {
        let slot = &mut self.brokers[broker];
        let Some(up) = &mut slot.up else { return false };
        if up.paused_by.is_empty() {
            self.handle.pause(up.node.id());
            self.lens.broker_paused(&slot.name, slot.clock.local(self.now));
        }
        up.paused_by.insert(step);
        true
    }

    /// A step no longer keeps a broker's process from running. Returns whether it did.
    pub(super) fn unhalt(&mut self, broker: usize, step: usize) -> bool {
        let slot = &mut self.brokers[broker];
        let Some(up) = &mut slot.up else { return false };
        let did = up.paused_by.remove(&step);
        if did && up.paused_by.is_empty() {
            self.handle.resume(up.node.id());
            self.lens.broker_resumed(&slot.name, slot.clock.local(self.now));
            self.touched = true;
        }
        did
    }

    /// A broker's task has posted something.
    pub(super) fn posted(&mut self, broker: usize, incarnation: u64, post: Post) {
        let slot = &self.brokers[broker];
        if slot.incarnation != incarnation || slot.up.is_none() {
            return;
        }
        match post {
            Post::Volume(op, reply) => self.request_operation(broker, op, reply),
            Post::Sleep(deadline, wake) => self.set_timer(broker, deadline.as_micros(), wake),
            Post::Call(to, request, reply) => {
                self.peer_asks((broker, incarnation), to, request, reply);
            }
            Post::Markers(markers, wake) => self.write_markers(broker, markers, wake),
            Post::Answer(request, response) => self.answered(broker, request, response),
            Post::Note(note) => self.noted(broker, &note),
            Post::Closed => self.closed(broker),
        }
    }

    fn noted(&mut self, broker: usize, note: &Note) {
        let slot = &self.brokers[broker];
        let local = slot.clock.local(self.now);
        self.lens.noted(&slot.name, local, note);
        self.record.noted(broker, &slot.name, note);
    }

    fn closed(&mut self, broker: usize) {
        let slot = &mut self.brokers[broker];
        if slot.up.as_ref().is_some_and(|up| up.is_closing) {
            self.record.reach(Milestone::BrokerClosedInOrder);
            self.kill(broker, Goodbye::Reset);
            if self.is_settling() {
                // It closed late, and whoever was to start it again has passed by.
                self.after(0, Event::Boot { broker });
            }
        }
    }

    /// The brokers that run.
    pub(super) fn running(&self) -> impl Iterator<Item = (usize, &BrokerSlot, &Up)> {
        let slots = self.brokers.iter().enumerate();
        slots.filter_map(|(at, slot)| Some((at, slot, slot.up.as_ref()?)))
    }
}

/// `1 group`, `2 groups`, `nothing`.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        0 => "nothing".to_owned(),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
