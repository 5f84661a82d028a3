//! After the last step: what can heal heals, everything settles, and is looked at once more.
//!
//! Brokers that died for good stay dead, those that are cut off for good stay so, and a file that has
//! rotted is not repaired: what depends on those is not waited for, and the model judges it. Within
//! a bound that follows from the configured timeouts every group must be stable with every partition
//! assigned; then whatever nobody uses must leave memory; then every broker is asked for everything.

use std::{sync::Arc, time::Duration};

use kaas_coordinator::ids::GroupId;

use super::{Event, World};
use crate::{
    client::{
        Client, REQUEST_TIMEOUT,
        consumer::{Consumer, Phase, RESTART},
    },
    config,
    seed::micros,
};

/// How long the end of a transaction may take beyond its timeout.
const TRANSACTION_SLACK: Duration = Duration::from_secs(30);
/// How often the examiner goes round at most.
const EXAMINATIONS: u32 = 3;
/// How often it is looked whether something has come to rest, in microseconds.
const LOOK_AGAIN: u64 = 100_000;

/// Where the settle phase is.
#[derive(Debug, Default)]
pub(super) struct Settle {
    phase: SettlePhase,
    /// Until when this phase may last.
    until: u64,
    /// How often the examiner has been round.
    examinations: u32,
    /// The groups of one-shot clients that can't be served any more.
    set_aside: Vec<(model::Name, GroupId)>,
    pub(super) is_over: bool,
    pub(super) stuck: Option<Stuck>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SettlePhase {
    #[default]
    NotYet,
    /// Views reach everybody.
    Views,
    /// Groups become stable.
    Groups,
    /// Transactions end, and none begins.
    Drain,
    /// What nobody uses leaves memory.
    Idle,
    /// The examiner asks everybody for everything.
    Examine,
}

/// What did not come to rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Who.
    pub who: String,
    /// Why.
    pub why: String,
}

impl World {
    /// The script is over.
    pub(super) fn begin_settling(&mut self) {
        if self.is_settling() {
            return;
        }
        self.script.armed.clear();
        self.heal();
        self.record.settle();
        self.end_rudeness();
        if !self.core().any(|broker| self.brokers[broker].up.is_some()) {
            // Without any broker there is nothing to settle.
            let first = self.core().next();
            self.boot(first.expect("the set is never empty"));
        }
        let config = config::broker();
        // The controller may take that long to notice the last death, and a broker to read of it.
        let views = 6_000_000 + micros(config.staleness_max + config.poll_interval);
        self.enter_phase(SettlePhase::Views, views);
        self.publish_if_changed();
        self.after(0, Event::Look);
    }

    pub(super) fn is_settling(&self) -> bool {
        self.settle.phase != SettlePhase::NotYet
    }

    fn enter_phase(&mut self, phase: SettlePhase, lasts: u64) {
        self.settle.phase = phase;
        self.settle.until = self.now + lasts;
    }

    /// Looks again whether what is waited for has come.
    pub(super) fn look(&mut self) {
        match self.settle.phase {
            SettlePhase::NotYet => {
                self.await_stability();
                return;
            }
            SettlePhase::Views => self.look_at_views(),
            SettlePhase::Groups => self.look_at_groups(),
            SettlePhase::Drain => self.look_at_transactions(),
            SettlePhase::Idle => {
                if self.now >= self.settle.until {
                    self.take_census();
                    self.enter_phase(SettlePhase::Examine, 2 * REQUEST_TIMEOUT);
                    self.examine();
                }
            }
            SettlePhase::Examine => {
                let is_done = match &self.clients.last().expect("the examiner").client {
                    Some(Client::Admin(it)) => it.is_done(),
                    _ => unreachable!("the last client is the examiner"),
                };
                if is_done || self.now >= self.settle.until {
                    // A broker may hear only now, at its first take-over since, that the volume has
                    // moved to its standby; who asks again is served.
                    self.settle.examinations += 1;
                    let is_restless = self.unstable(&[]).is_some();
                    let is_all = !self.lens.misses_an_answer() && !is_restless;
                    if is_all || self.settle.examinations == EXAMINATIONS {
                        self.close_books();
                        return;
                    }
                    if is_restless {
                        // A client that heard late of something has begun anew in the meantime.
                        let bound = self.convergence_bound();
                        self.enter_phase(SettlePhase::Groups, bound);
                    } else {
                        self.enter_phase(SettlePhase::Examine, 2 * REQUEST_TIMEOUT);
                        self.examine();
                    }
                }
            }
        }
        self.after(LOOK_AGAIN, Event::Look);
    }

    /// Sends the examiner round.
    fn examine(&mut self) {
        let examiner = self.clients.len() - 1;
        self.with_client(examiner, |it, cx| {
            let Client::Admin(it) = it else { unreachable!("the last client is the examiner") };
            it.examine(cx);
        });
    }

    fn look_at_views(&mut self) {
        let is_current = self.running().all(|(broker, _, up)| {
            let status = up.broker.status();
            status.is_fresh && status.view.is_some() && status.view == self.controller.shown(broker)
        });
        let is_quiet = self.now >= self.settle.until;
        if is_quiet && is_current {
            self.lens.settled();
            let now = self.now;
            for client in 0..self.clients.len() {
                match &mut self.clients[client].client {
                    Some(Client::OneShot(it)) => it.finish(now),
                    Some(Client::Committer(it)) => it.finish(now),
                    Some(Client::Consumer(_) | Client::Admin(_) | Client::Rude(_)) | None => {}
                }
                self.arm(client);
            }
            let bound = self.convergence_bound();
            self.enter_phase(SettlePhase::Groups, bound);
        } else if self.now >= self.settle.until + 10_000_000 {
            let behind = self
                .running()
                .find(|(broker, _, up)| up.broker.status().view != self.controller.shown(*broker));
            let who = behind.map_or_else(|| "a broker".to_owned(), |it| it.1.name.to_string());
            self.give_up(Stuck { who, why: "has not applied the last view".to_owned() });
        }
    }

    /// How long groups may take: an old session must end, a request on a dead connection must be
    /// given up, a process that was fenced must be started again, members must rejoin, and the first
    /// generation may begin before the last member is back. Each time it may have to look for the
    /// coordinator; whoever looks for longer than its session lasts is no member any more by then,
    /// and joins once more.
    fn convergence_bound(&self) -> u64 {
        let config = config::broker();
        let session = micros(self.plan.longest_session());
        let rebalance = micros(self.plan.longest_rebalance());
        let delay = micros(config.group.initial_rebalance_delay);
        let search = self.search_bound();
        let rounds = if search > 0 { 3 } else { 2 };
        let rejoins = rounds * (rebalance + REQUEST_TIMEOUT + search);
        let members = rejoins + session + RESTART + search + delay + 5_000_000;
        // Who can't read stable offsets waits for the transaction of somebody who is gone.
        members + self.transactions_bound()
    }

    /// How long a transaction may last whose client is gone: its timeout, until its coordinator
    /// looks, and the way of its markers; and whose client is not gone and looks for it.
    fn transactions_bound(&self) -> u64 {
        let timeout = self.plan.longest_transaction();
        timeout.map_or(0, |timeout| micros(timeout + TRANSACTION_SLACK) + self.search_bound())
    }

    /// How long a client may look for a coordinator, beyond the moment that this takes: it asks one
    /// broker after the other, and waits for each that is out of reach as long as for any answer.
    fn search_bound(&self) -> u64 {
        let cut_off = (0..self.brokers.len()).filter(|it| self.net.is_cut_off(*it)).count();
        cut_off as u64 * REQUEST_TIMEOUT
    }

    fn look_at_groups(&mut self) {
        self.set_aside();
        match self.unstable(&[]).or_else(|| self.unserved()) {
            None => {
                for slot in &mut self.clients {
                    if let Some(Client::Consumer(it)) = &mut slot.client {
                        it.drain();
                    }
                }
                // Who is fenced only now begins anew, and its group with it.
                let bound = self.convergence_bound();
                self.enter_phase(SettlePhase::Drain, bound);
            }
            Some(stuck) if self.now >= self.settle.until => self.give_up(stuck),
            Some(_) => {}
        }
    }

    /// All that were begun must end; those of clients that are gone when they time out.
    fn look_at_transactions(&mut self) {
        let consumers = self.clients.iter().filter_map(|slot| match &slot.client {
            Some(Client::Consumer(it)) => Some((slot.name.clone(), it)),
            _ => None,
        });
        let is_gone = |phase| matches!(phase, Phase::Gone | Phase::Failed(_));
        let (gone, there): (Vec<_>, Vec<_>) = consumers.partition(|(_, it)| is_gone(it.phase()));
        let is_late = self.now >= self.settle.until;
        let awaits_timeouts = !gone.is_empty() && self.plan.longest_transaction().is_some();
        let is_waited_for = |it: &Consumer| !self.lens.is_excused(it.group().as_str());
        let mut waited_for = there.iter().filter(|(_, it)| is_waited_for(it));
        let busy = waited_for.find_map(|(name, it)| {
            Some(Stuck { who: name.to_string(), why: it.busy_with()?.to_owned() })
        });
        match busy.or_else(|| self.unstable(&[])) {
            Some(stuck) if is_late => self.give_up(stuck),
            None if !awaits_timeouts || is_late => {
                let idle = micros(config::broker().idle_max) + 2_000_000;
                self.enter_phase(SettlePhase::Idle, idle);
            }
            Some(_) | None => {}
        }
    }

    /// Asks every broker that is not stopped in place what it holds.
    pub(super) fn take_census(&mut self) {
        let census: Vec<_> = self
            .running()
            .filter(|(_, _, up)| up.paused_by.is_empty())
            .map(|(_, slot, up)| {
                (slot.name.clone(), slot.clock.local(self.now), up.broker.status())
            })
            .collect();
        for (name, local, status) in census {
            self.lens.census(&name, local, &status);
        }
    }

    fn close_books(&mut self) {
        let plan = Arc::clone(&self.plan);
        for group in plan.groups().iter() {
            self.tell_of_rot(group);
            let consumers = self.consumers(group);
            let Some((_, first)) = consumers.iter().find(|(_, it)| it.counts()) else { continue };
            let partitions = Arc::clone(first.partitions());
            let held = consumers.iter().map(|(name, it)| {
                (name.clone(), it.owned().map(|it| it.as_str().into()).collect())
            });
            let held = held.collect();
            let pending = self.why_unstable(group).or_else(|| self.why_busy(group));
            let pending = pending.map(|it| format!("{} {}", it.who, it.why));
            self.lens.group_at_end(group, &partitions, held, pending.as_deref());
        }
        self.tell_of_unserved();
        self.lens.processed_at_end();
        self.settle.is_over = true;
    }

    /// Something did not come to rest: the run ends here.
    pub(super) fn give_up(&mut self, stuck: Stuck) {
        self.record.tell(&stuck.who, || format!("does not come to rest: {}", stuck.why));
        self.settle.stuck = Some(stuck);
        self.settle.is_over = true;
    }

    /// Whoever has not been served and is not waited for: its group is judged for that.
    fn tell_of_unserved(&mut self) {
        let committers = self.clients.iter().filter_map(|slot| match &slot.client {
            Some(Client::Committer(it)) => Some((slot.name.clone(), it.waits_for()?.clone())),
            _ => None,
        });
        let unserved: Vec<_> = committers.chain(self.settle.set_aside.drain(..)).collect();
        for (client, group) in unserved {
            let pending = format!("{client} is not served");
            let held = vec![(client, Vec::new())];
            self.lens.group_at_end(group.as_str(), &[], held, Some(&pending));
        }
    }

    fn members(&self, group: &str) -> Vec<(model::Name, &Consumer)> {
        let mut members = self.consumers(group);
        members.retain(|(_, it)| it.counts());
        members
    }

    /// Whoever is or was a member of a group.
    fn consumers(&self, group: &str) -> Vec<(model::Name, &Consumer)> {
        let consumers = self.clients.iter().filter_map(|slot| match &slot.client {
            Some(Client::Consumer(it)) if it.group().as_str() == group => {
                Some((slot.name.clone(), &**it))
            }
            _ => None,
        });
        consumers.collect()
    }

    /// Who is not at rest among the groups (all of them if none is named), and why.
    pub(super) fn unstable(&self, groups: &[String]) -> Option<Stuck> {
        let all = self.plan.groups();
        let groups = if groups.is_empty() { &all[..] } else { groups };
        groups
            .iter()
            .filter(|group| !self.lens.is_excused(group))
            .find_map(|group| self.why_unstable(group))
    }

    /// Who is no member of a group and has not been served since the faults ended.
    fn unserved(&self) -> Option<Stuck> {
        self.clients.iter().find_map(|slot| {
            let group = match slot.client.as_ref()? {
                Client::OneShot(it) => it.waits_for()?,
                Client::Committer(it) => {
                    it.waits_for().filter(|it| !self.lens.is_excused(it.as_str()))?
                }
                Client::Consumer(_) | Client::Admin(_) | Client::Rude(_) => return None,
            };
            let why = format!("is not served for its group {:?}", group.as_str());
            Some(Stuck { who: slot.name.to_string(), why })
        })
    }

    /// One-shot clients go on to groups that can be served.
    fn set_aside(&mut self) {
        for slot in &mut self.clients {
            let Some(Client::OneShot(it)) = &mut slot.client else { continue };
            while it.waits_for().is_some_and(|group| self.lens.is_excused(group.as_str())) {
                self.settle.set_aside.push((slot.name.clone(), it.set_aside(self.now)));
            }
        }
        for client in 0..self.clients.len() {
            self.arm(client);
        }
    }

    /// Which member of a group could not begin a transaction, if any.
    fn why_busy(&self, group: &str) -> Option<Stuck> {
        let members = self.members(group);
        members.iter().find_map(|(name, it)| {
            Some(Stuck { who: name.to_string(), why: it.busy_with()?.to_owned() })
        })
    }

    fn why_unstable(&self, group: &str) -> Option<Stuck> {
        let members = self.members(group);
        let stuck = |who: &str, why: String| Some(Stuck { who: who.to_owned(), why });
        for (name, it) in &members {
            let doing = match it.phase() {
                Phase::Consuming if it.is_heard() => continue,
                Phase::Consuming => "is not answered by its coordinator",
                Phase::Out => "has not joined",
                Phase::Joining => "waits for the answer to its JoinGroup",
                Phase::Syncing => "waits for the answer to its SyncGroup",
                Phase::Fetching => "does not know its committed offsets",
                Phase::Failed(error) => return stuck(name, format!("failed with {error}")),
                Phase::Down => "has no process",
                Phase::Gone => continue,
            };
            return stuck(name, doing.to_owned());
        }
        let (first_name, first) = members.first()?;
        if let Some((name, _)) = members.iter().find(|it| it.1.generation() != first.generation()) {
            return stuck(name, format!("is of another generation than {first_name}"));
        }
        let mut owned: Vec<String> = members.iter().flat_map(|(_, it)| it.owned()).collect();
        owned.sort();
        let mut partitions = first.partitions().to_vec();
        partitions.sort();
        if owned != partitions {
            return stuck(group, "not every partition has one owner".to_owned());
        }
        None
    }
}
