//! What each step begins and ends.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each function begins the actions of one part of the world"
)]

use std::time::Duration;

use super::{
    Event, World,
    control::Twin,
    storage::{Failing, SlowVolume, Stop},
};
use crate::{
    milestone::Milestone,
    net::Cut,
    plan::{Action, Exit, Goodbye, Way},
    seed::micros,
};

/// How long a broker drains before it closes, in microseconds: views must have moved its groups.
const DRAIN: u64 = 3_000_000;
/// How long after it left the set a broker that is scaled away is closed, in microseconds.
const FAREWELL: u64 = 4_000_000;
/// How long twins take to write, one after the other, in microseconds.
const TWIN_WRITES: u64 = 1_300_000;

/// What rot leaves of an offset file.
const ROTTEN: &[u8] = b"{\"offsets\":{\"orders/0\":1\x00";

impl World {
    /// The ordinal of a broker's name.
    pub(super) fn ordinal(name: &str) -> usize {
        let ordinal = name.strip_prefix("kaas-").and_then(|it| it.parse().ok());
        ordinal.expect("a plan names brokers kaas-<ordinal>")
    }

    fn exists(&self, broker: usize) -> bool {
        self.brokers.get(broker).is_some_and(|slot| slot.is_member)
    }

    /// Begins what a step does. Returns after how long it ends, in microseconds; `None` if it is
    /// over at once.
    pub(super) fn begin_action(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Wait { duration } => return Some(micros(*duration)),
            Action::Stable { .. } => unreachable!("the script waits for stability itself"),
            Action::Restart { .. }
            | Action::Install { .. }
            | Action::Kill { .. }
            | Action::Start { .. } => return self.begin_process(step, action),
            Action::Pause { broker, duration } => {
                self.pause(Self::ordinal(broker), step);
                return Some(micros(*duration));
            }
            Action::StopIn { broker, on, nth, pause } => {
                let broker = Self::ordinal(broker);
                let pause = pause.map(micros);
                self.storage.stops.push(Stop { step, broker, on: *on, left: *nth, pause });
            }
            Action::Starve { .. }
            | Action::Panic { .. }
            | Action::Jump { .. }
            | Action::StopClock { .. } => return self.begin_machine(step, action),
            Action::Flap { .. }
            | Action::Scale { .. }
            | Action::Entry { .. }
            | Action::Depose { .. }
            | Action::Elect { .. }
            | Action::Twin { .. }
            | Action::Damage { .. }
            | Action::Lag { .. }
            | Action::OldLease { .. } => return self.begin_control(step, action),
            Action::Cut { .. }
            | Action::CutOff { .. }
            | Action::BlackHole { .. }
            | Action::Reset { .. }
            | Action::Slow { .. } => return self.begin_network(step, action),
            Action::Fail { broker, error, on, percent, duration } => {
                let broker = broker.as_deref().map(Self::ordinal);
                let (error, on, percent) = (*error, *on, *percent);
                self.storage.failing.push(Failing { step, broker, error, on, percent });
                return Some(micros(*duration));
            }
            Action::SlowVolume { broker, by, duration } => {
                let broker = broker.as_deref().map(Self::ordinal);
                self.storage.slow.push(SlowVolume { step, broker, by: micros(*by) });
                return Some(micros(*duration));
            }
            Action::Failover => self.fail_over(step),
            Action::Leave { .. }
            | Action::Freeze { .. }
            | Action::Crash { .. }
            | Action::Duplicate { .. } => return self.begin_client(step, action),
            Action::Rot { group } => self.rot(group, step),
        }
        None
    }

    fn begin_process(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Restart { broker, down, exit } => {
                self.go_away(Self::ordinal(broker), (*down, *exit), Some(step))
            }
            Action::Install { broker, release, down, exit } => {
                let broker = Self::ordinal(broker);
                if self.exists(broker) {
                    self.install(broker, *release, step);
                }
                // It is not the absence that this is about.
                self.go_away(broker, (*down, *exit), None)
            }
            Action::Kill { broker, peers } => {
                let broker = Self::ordinal(broker);
                if self.exists(broker) && self.may_die(broker) {
                    self.brokers[broker].down_by = Some(step);
                    self.kill(broker, *peers);
                }
                None
            }
            Action::Start { broker } => {
                let broker = Self::ordinal(broker);
                if self.exists(broker) {
                    self.boot(broker);
                }
                None
            }
            _ => unreachable!("is no step about processes"),
        }
    }

    /// A broker goes, for so long and in such a way, as an effect of `blamed` if it is one.
    fn go_away(
        &mut self,
        broker: usize,
        (down, exit): (Duration, Exit),
        blamed: Option<usize>,
    ) -> Option<u64> {
        if !self.exists(broker) || self.brokers[broker].up.is_none() {
            return None;
        }
        self.brokers[broker].down_by = blamed;
        match exit {
            Exit::Abrupt => {
                self.kill(broker, Goodbye::Reset);
                Some(micros(down))
            }
            Exit::Graceful => {
                self.controller.draining.insert(broker);
                if blamed.is_some() {
                    self.controller.cause = blamed;
                }
                let name = self.brokers[broker].name.clone();
                self.record.tell(&name, || "drains".to_owned());
                self.after(0, Event::Notice { broker });
                let incarnation = self.brokers[broker].incarnation;
                self.after(DRAIN, Event::Close { broker, incarnation });
                Some(DRAIN + micros(down))
            }
        }
    }

    /// The brokers of the set that can be reached, or will be when everything has healed.
    pub(super) fn core(&self) -> impl Iterator<Item = usize> {
        let members = self.brokers.iter().enumerate().filter(|(_, slot)| slot.is_member);
        members.map(|(broker, _)| broker).filter(|broker| !self.net.is_cut_off(*broker))
    }

    /// Somebody must be left: a cluster without any broker has nothing to promise.
    fn may_die(&self, broker: usize) -> bool {
        self.core().any(|other| other != broker && self.brokers[other].up.is_some())
    }

    fn begin_control(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Flap { broker, duration } => {
                let broker = Self::ordinal(broker);
                self.controller.flapped.insert(broker, step);
                if self.exists(broker) {
                    self.record.reach(Milestone::HealthyBrokerFlapped);
                    self.controller.cause = Some(step);
                    self.notice(broker);
                }
                Some(micros(*duration))
            }
            Action::Scale { to } => {
                self.scale(*to as usize, step);
                None
            }
            Action::Entry { group, broker, stays } => {
                let broker = broker.as_deref().map(Self::ordinal);
                self.controller.cause = Some(step);
                self.set_entry(group, broker.filter(|it| self.exists(*it)), *stays);
                None
            }
            Action::Depose { delay } => {
                self.elect(false);
                self.controller.is_electing = false;
                self.publish();
                Some(micros(*delay))
            }
            Action::Elect { delay, reset } => {
                self.elect(*reset);
                self.controller.cause = Some(step);
                self.record.reach(Milestone::ControllerElected);
                Some(micros(*delay))
            }
            Action::Twin { broker, duration } => {
                let broker = Self::ordinal(broker);
                if self.controller.twin.is_some() || !self.exists(broker) {
                    return None;
                }
                self.controller.twin = Some(Twin { step, has_answered: false });
                self.controller.cause = Some(step);
                self.twin_write(Some(broker));
                self.after(TWIN_WRITES, Event::End { step });
                Some(TWIN_WRITES + micros(*duration))
            }
            Action::Damage { how, duration } => {
                self.damage_file(*how, step);
                Some(micros(*duration))
            }
            Action::Lag { broker, duration, back } => {
                self.begin_lag(Self::ordinal(broker), step, *back);
                Some(micros(*duration))
            }
            Action::OldLease { broker, duration, back } => {
                self.begin_old_lease(Self::ordinal(broker), step, *back);
                Some(micros(*duration))
            }
            _ => unreachable!("is no step about the controller"),
        }
    }

    fn begin_network(&mut self, step: usize, action: &Action) -> Option<u64> {
        match action {
            Action::Cut { broker, client, way, duration } => {
                let client = client.as_deref().and_then(|it| self.client_named(it));
                let broker = Self::ordinal(broker);
                self.net.cuts.push(Cut { broker, client, way: *way, step, is_for_good: false });
                Some(micros(*duration))
            }
            Action::CutOff { broker } => {
                self.cut_off(Self::ordinal(broker), step);
                None
            }
            Action::BlackHole { broker, duration } => {
                self.net.black_holes.push((Self::ordinal(broker), step));
                Some(micros(*duration))
            }
            Action::Reset { broker } => {
                if self.reset_conns(Self::ordinal(broker)) > 0 {
                    self.record.effect(step);
                }
                None
            }
            Action::Slow { broker, by, duration } => {
                self.net.slow.push((Self::ordinal(broker), micros(*by), step));
                Some(micros(*duration))
            }
            _ => unreachable!("is no step about the network"),
        }
    }

    /// Ends what a step began. Returns whether that was all of it.
    pub(super) fn end_action(&mut self, step: usize, action: &Action) -> bool {
        match action {
            Action::Restart { broker, .. } | Action::Install { broker, .. } => {
                let broker = Self::ordinal(broker);
                self.controller.draining.remove(&broker);
                self.boot(broker);
                self.after(0, Event::Notice { broker });
            }
            Action::Pause { broker, .. } => self.resume(Self::ordinal(broker), step),
            Action::StopIn { broker, .. } => {
                // The step itself was over when it was set up.
                self.resume(Self::ordinal(broker), step);
                return false;
            }
            Action::Starve { broker, .. } => self.end_starving(Self::ordinal(broker), step),
            Action::StopClock { broker, .. } => self.start_clock(Self::ordinal(broker), step),
            Action::Flap { broker, .. } => {
                let broker = Self::ordinal(broker);
                if self.controller.flapped.get(&broker) == Some(&step) {
                    self.controller.flapped.remove(&broker);
                }
                if broker < self.brokers.len() {
                    self.notice(broker);
                }
            }
            Action::Depose { .. } => {
                self.late_write(step);
                // The true one notices that the file is not its own.
                let after = self.controller.notices_down_after();
                self.after(after, Event::Publish);
            }
            Action::Elect { .. } => {
                self.controller.is_electing = false;
                self.publish();
            }
            Action::Twin { .. } => return self.end_twin(step),
            Action::Damage { .. } => self.mend_file(step),
            Action::Lag { broker, .. } => self.end_lag(Self::ordinal(broker), step),
            Action::OldLease { broker, .. } => self.end_old_lease(Self::ordinal(broker), step),
            Action::Cut { .. } => {
                self.net.cuts.retain(|cut| cut.step != step);
                self.release();
            }
            Action::BlackHole { .. } => self.net.black_holes.retain(|it| it.1 != step),
            Action::Slow { .. } => self.net.slow.retain(|it| it.2 != step),
            Action::Fail { .. } => self.storage.failing.retain(|it| it.step != step),
            Action::SlowVolume { .. } => self.storage.slow.retain(|it| it.step != step),
            Action::Duplicate { .. } => self.end_client(step, action),
            Action::Wait { .. }
            | Action::Stable { .. }
            | Action::Kill { .. }
            | Action::Start { .. }
            | Action::Panic { .. }
            | Action::Jump { .. }
            | Action::Scale { .. }
            | Action::Entry { .. }
            | Action::CutOff { .. }
            | Action::Reset { .. }
            | Action::Failover
            | Action::Leave { .. }
            | Action::Freeze { .. }
            | Action::Crash { .. }
            | Action::Rot { .. } => {}
        }
        true
    }

    /// First the true controller answers its twin with the same version, then it prevails with the
    /// next.
    fn end_twin(&mut self, step: usize) -> bool {
        let Some(twin) = self.controller.twin.as_mut().filter(|twin| twin.step == step) else {
            return true;
        };
        if !std::mem::replace(&mut twin.has_answered, true) {
            self.twin_write(None);
            return false;
        }
        self.controller.twin = None;
        self.publish();
        true
    }

    fn scale(&mut self, to: usize, step: usize) {
        let to = to.max(1);
        self.controller.cause = Some(step);
        while self.brokers.len() < to {
            self.add_broker(self.brokers.len());
        }
        for broker in 0..self.brokers.len() {
            let slot = &mut self.brokers[broker];
            let was_member = slot.is_member && slot.incarnation > 0;
            slot.is_member = broker < to;
            if broker < to && !was_member {
                self.record.reach(Milestone::ScaledOut);
                self.boot(broker);
            } else if broker >= to && was_member {
                self.record.reach(Milestone::ScaledIn);
                self.after(0, Event::Notice { broker });
                let incarnation = self.brokers[broker].incarnation;
                self.after(FAREWELL, Event::Close { broker, incarnation });
            }
        }
    }

    /// From here on nobody reaches a broker, if that leaves somebody whom they do.
    fn cut_off(&mut self, broker: usize, step: usize) {
        if !self.exists(broker) || !self.may_die(broker) {
            return;
        }
        let (client, way) = (None, Way::Both);
        self.net.cuts.push(Cut { broker, client, way, step, is_for_good: true });
        let name = self.brokers[broker].name.clone();
        self.record.tell(&name, || "cut off for good".to_owned());
    }

    fn rot(&mut self, group: &str, step: usize) {
        let path = path_of(group);
        if self.volume.read(usize::MAX, &path).is_ok() {
            self.volume.put(&path, ROTTEN);
            self.lens.rotten(group);
            self.record.effect(step);
            self.record.reach(Milestone::FileRotted);
            self.record.tell("volume", || format!("the file of {group} rots"));
        }
    }

    /// Whether the file of a group is still as it rotted, if it did.
    pub(super) fn tell_of_rot(&mut self, group: &str) {
        if !self.lens.is_lost(group) {
            return;
        }
        let what = match self.is_rotten(group) {
            true => "as it rotted",
            false => "not as it rotted",
        };
        self.record.tell("volume", || format!("the file of {group} is {what}"));
    }

    fn is_rotten(&self, group: &str) -> bool {
        self.volume.read(usize::MAX, &path_of(group)).is_ok_and(|it| *it == *ROTTEN)
    }

    /// Heals everything that a step could have left behind, but for what is broken for good.
    pub(super) fn heal(&mut self) {
        self.heal_cuts();
        self.net.black_holes.clear();
        self.net.slow.clear();
        self.heal_storage();
        self.release();
        self.controller.staying.clear();
        self.heal_machines();
        let groups = self.plan.groups();
        let lost = groups.iter().filter(|group| self.is_rotten(group));
        self.lens.lost(lost.map(|it| it.as_str().into()).collect());
        for broker in 0..self.brokers.len() {
            let paused_by = self.brokers[broker].up.as_ref().map(|up| up.paused_by.clone());
            for step in paused_by.unwrap_or_default() {
                self.resume(broker, step);
            }
        }
    }

    /// Who is cut off for good stays so, unless the plan has left nobody else.
    fn heal_cuts(&mut self) {
        let has_core = self.core().next().is_some();
        self.net.cuts.retain(|cut| cut.is_for_good && has_core);
        for (broker, slot) in self.brokers.iter().enumerate() {
            if slot.is_member && self.net.is_cut_off(broker) {
                self.record.reach(Milestone::BrokerCutOff);
                self.lens.unreachable(&slot.name);
            }
        }
    }
}

/// Where the offsets of a group are whose name is a plain one.
fn path_of(group: &str) -> String {
    format!("__consumer_offsets/{group}.json")
}
