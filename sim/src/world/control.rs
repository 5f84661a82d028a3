//! The controller: what it believes of the brokers, what it publishes, and what the file shows to whom.
//!
//! It plays kaas' controller: it notices deaths and returns after a while, and writes the whole
//! assignment anew on every change. It is no part of what is tested; the faults that begin in here
//! (flaps, twins, late writes, damage, lag) are what a coordinator must live with.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    sync::Arc,
};

use kaas_coordinator::assignment::{AssignedBroker, AssignedGroup, Assignment, Health, ViewId};

use super::World;
use crate::{
    milestone::Milestone,
    plan::{Damage, Plan},
    seed::Stream,
};

/// What the controller knows and what the file shows.
#[derive(Debug)]
pub(super) struct Controller {
    pub(super) epoch: i64,
    version: i64,
    /// What it believes, by ordinal; those not in the set are absent.
    beliefs: BTreeMap<usize, Health>,
    explicit: BTreeMap<String, usize>,
    /// Groups whose entry stays published whatever becomes of the broker it names.
    pub(super) staying: BTreeSet<String>,
    /// Brokers it believes dead whatever they do, and the step behind it.
    pub(super) flapped: BTreeMap<usize, usize>,
    pub(super) draining: BTreeSet<usize>,
    /// While a new controller gathers itself, nothing is published.
    pub(super) is_electing: bool,
    /// While twins fight, nothing else is published.
    pub(super) twin: Option<Twin>,
    /// The step behind the next view: whoever reads it shows that the step had an effect.
    pub(super) cause: Option<usize>,
    file: File,
    /// What the file was before.
    previous: File,
    pub(super) damage: Option<(Damage, usize)>,
    /// Brokers that read an old file, and the step behind it.
    lagging: BTreeMap<usize, (usize, File)>,
    /// Brokers that are told an old lease: the step behind it, and the epoch.
    pub(super) old_leases: BTreeMap<usize, (usize, i64)>,
    /// What was published last, to see whether there is news.
    published: Option<Assignment>,
    views: u32,
    /// Whether nothing is to depend on the seed.
    is_fixed: bool,
    stream: Stream,
}

/// Two controllers of one epoch.
#[derive(Debug)]
pub(super) struct Twin {
    /// The step behind it.
    pub(super) step: usize,
    /// Whether the true one has answered with the same version.
    pub(super) has_answered: bool,
}

/// A content of `assignment.json`.
#[derive(Clone, Debug, Default)]
struct File {
    /// The step behind it.
    cause: Option<usize>,
    content: Option<Arc<[u8]>>,
    view: Option<model::ViewId>,
    id: Option<ViewId>,
}

/// How long the controller takes to notice something, in a scenario, in microseconds.
const NOTICE: u64 = 1_000_000;

impl Controller {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            epoch: 1,
            version: 0,
            beliefs: BTreeMap::new(),
            explicit: BTreeMap::new(),
            staying: BTreeSet::new(),
            flapped: BTreeMap::new(),
            draining: BTreeSet::new(),
            is_electing: false,
            twin: None,
            cause: None,
            previous: File::default(),
            file: File::default(),
            damage: None,
            lagging: BTreeMap::new(),
            old_leases: BTreeMap::new(),
            published: None,
            views: 0,
            is_fixed: plan.is_fixed(),
            stream: Stream::new(plan.seed, "controller", 0),
        }
    }

    fn delay(&mut self, min: u64, max: u64) -> u64 {
        if self.is_fixed { NOTICE } else { self.stream.between(min, max) }
    }

    /// How long until it notices that a broker is up.
    pub(super) fn notices_up_after(&mut self) -> u64 {
        self.delay(200_000, 2_000_000)
    }

    /// How long until it notices that a broker is gone.
    pub(super) fn notices_down_after(&mut self) -> u64 {
        self.delay(100_000, 4_000_000)
    }

    /// The view that the file shows to a broker.
    pub(super) fn shown(&self, broker: usize) -> Option<ViewId> {
        self.file_of(broker).id
    }

    fn file_of(&self, broker: usize) -> &File {
        self.lagging.get(&broker).map_or(&self.file, |(_, file)| file)
    }
}

impl World {
    /// The cluster begins with everybody alive.
    pub(super) fn first_view(&mut self) {
        for broker in 0..self.brokers.len() {
            self.controller.beliefs.insert(broker, Health::Alive);
            self.hub.set_ready(broker, true);
        }
        self.controller.epoch = 0;
        self.take_lease();
        self.publish();
    }

    /// The controller looks at a broker and at the endpoints.
    pub(super) fn notice(&mut self, broker: usize) {
        let slot = &self.brokers[broker];
        let is_up = slot.up.is_some();
        self.hub.set_ready(broker, is_up);
        if !slot.is_member {
            self.controller.beliefs.remove(&broker);
        } else {
            let health = if !is_up || self.controller.flapped.contains_key(&broker) {
                Health::Dead
            } else if self.controller.draining.contains(&broker) {
                Health::Draining
            } else {
                Health::Alive
            };
            self.controller.beliefs.insert(broker, health);
        }
        self.publish_if_changed();
    }

    /// Sets or removes an explicit entry, which may stay whatever becomes of its broker.
    pub(super) fn set_entry(&mut self, group: &str, broker: Option<usize>, stays: bool) {
        self.controller.staying.remove(group);
        if stays && broker.is_some() {
            self.controller.staying.insert(group.to_owned());
        }
        match broker {
            Some(broker) => self.controller.explicit.insert(group.to_owned(), broker),
            None => self.controller.explicit.remove(group),
        };
        self.publish_if_changed();
    }

    pub(super) fn publish_if_changed(&mut self) {
        if self.controller.is_electing || self.controller.twin.is_some() {
            return;
        }
        // Entries on living brokers are the controller's duty, unless its policy is another.
        let Controller { beliefs, staying, explicit, .. } = &mut self.controller;
        explicit
            .retain(|group, it| beliefs.get(it) == Some(&Health::Alive) || staying.contains(group));
        let news = self.assignment(None);
        let is_news = self.controller.published.as_ref().is_none_or(|old| {
            old.brokers != news.brokers || old.consumer_groups != news.consumer_groups
        });
        let is_mine = self.controller.file.id.is_some_and(|id| id.epoch == self.controller.epoch);
        if is_news || !is_mine || self.controller.damage.is_some() {
            self.publish();
        }
    }

    /// Publishes what the controller believes, under the next version.
    pub(super) fn publish(&mut self) {
        self.controller.version += 1;
        let assignment = self.assignment(None);
        self.write_file(&assignment);
        let Controller { beliefs, explicit, version, epoch, .. } = &self.controller;
        if explicit.values().any(|it| beliefs.get(it) != Some(&Health::Alive)) {
            self.record.reach(Milestone::EntryNamesTheDead);
        }
        if *version == 1 && *epoch > 1 {
            self.record.reach(Milestone::VersionsBeganAnew);
        }
        self.controller.published = Some(assignment);
    }

    /// Another controller takes the lease, and publishes when it has gathered itself; perhaps it
    /// knows nothing of the versions before its own.
    pub(super) fn elect(&mut self, reset: bool) {
        self.take_lease();
        self.controller.is_electing = true;
        if reset {
            self.controller.version = 0;
        }
        self.record.tell("controller", || "another takes the lease".to_owned());
    }

    /// The deposed controller writes what it believed, as if nothing had happened.
    pub(super) fn late_write(&mut self, step: usize) {
        let mut assignment = self.assignment(None);
        assignment.controller_epoch -= 1;
        // It has never heard of a death since it was deposed, and believes in one of its own.
        let living = assignment.brokers.iter().filter(|it| it.health == Health::Alive).count();
        if living > 1 {
            let first = assignment.brokers.iter_mut().find(|it| it.health == Health::Alive);
            first.expect("some are alive").health = Health::Dead;
        }
        self.controller.cause = Some(step);
        self.record.reach(Milestone::DeposedControllerWrote);
        self.record.tell("controller", || "the deposed one writes its view".to_owned());
        self.write_file(&assignment);
    }

    /// One of two controllers of the same epoch writes: the true one, or the twin that believes
    /// `dead` to be dead. Both use the same version.
    pub(super) fn twin_write(&mut self, dead: Option<usize>) {
        if dead.is_some() {
            self.controller.version += 1;
        }
        let assignment = self.assignment(dead);
        self.write_file(&assignment);
        self.record.reach(Milestone::TwinControllersWrote);
    }

    fn assignment(&self, dead: Option<usize>) -> Assignment {
        let it = &self.controller;
        let health =
            |broker: usize, health| if dead == Some(broker) { Health::Dead } else { health };
        let brokers = it.beliefs.iter().map(|(broker, known)| AssignedBroker {
            id: (&*self.brokers[*broker].name).into(),
            health: health(*broker, *known),
            last_seen: String::new(),
        });
        let entries = it.explicit.iter().map(|(group, broker)| AssignedGroup {
            group_id: group.as_str().into(),
            broker: (&*self.brokers[*broker].name).into(),
            epoch: 1,
        });
        Assignment {
            controller_epoch: it.epoch,
            assignment_version: it.version,
            generated_at: String::new(),
            controller: String::new(),
            brokers: brokers.collect(),
            consumer_groups: entries.collect(),
        }
    }

    fn write_file(&mut self, assignment: &Assignment) {
        let content = serde_json::to_vec(assignment).expect("an assignment is plain data");
        self.controller.views += 1;
        let view = model::ViewId(self.controller.views);
        self.lens.define_view(view, assignment);
        let id =
            ViewId { epoch: assignment.controller_epoch, version: assignment.assignment_version };
        self.record.fold(99, 6, u64::from(self.controller.views));
        self.record.tell("controller", || describe(assignment));
        let file = File {
            cause: self.controller.cause.take(),
            content: Some(content.into()),
            view: Some(view),
            id: Some(id),
        };
        self.controller.previous = std::mem::replace(&mut self.controller.file, file);
        self.controller.damage = None;
        self.show_file();
    }

    /// The file is damaged until it is mended or written anew.
    pub(super) fn damage_file(&mut self, how: Damage, step: usize) {
        self.controller.damage = Some((how, step));
        self.show_file();
    }

    pub(super) fn mend_file(&mut self, step: usize) {
        if self.controller.damage.is_some_and(|(_, by)| by == step) {
            self.controller.damage = None;
            self.show_file();
        }
    }

    /// A broker goes on reading the file as it is now, or `back`, as it was before.
    pub(super) fn begin_lag(&mut self, broker: usize, step: usize, back: bool) {
        let file = match self.controller.damage {
            Some(_) => File::default(),
            None if back => self.controller.previous.clone(),
            None => self.controller.file_of(broker).clone(),
        };
        self.controller.lagging.insert(broker, (step, file));
        if broker < self.brokers.len() {
            self.show_file_to(broker);
        }
    }

    pub(super) fn end_lag(&mut self, broker: usize, step: usize) {
        if self.controller.lagging.get(&broker).is_some_and(|(by, _)| *by == step) {
            self.controller.lagging.remove(&broker);
            if broker < self.brokers.len() {
                self.show_file_to(broker);
            }
        }
    }

    fn show_file(&mut self) {
        for broker in 0..self.brokers.len() {
            self.show_file_to(broker);
        }
    }

    fn show_file_to(&mut self, broker: usize) {
        let slot = &self.brokers[broker];
        let is_lagging = self.controller.lagging.contains_key(&broker);
        let is_damaged = self.controller.damage.is_some() && !is_lagging;
        let view = self.controller.file_of(broker).view.filter(|_| !is_damaged);
        self.lens.file_shows(&slot.name, view, slot.clock.local(self.now));
    }

    /// A broker that starts sees what there is to see.
    pub(super) fn show_everything(&mut self, broker: usize) {
        if self.controller.file.content.is_none() {
            return;
        }
        self.show_file_to(broker);
        self.show_lease_to(broker);
    }

    /// What a broker reads.
    pub(super) fn read_assignment(&mut self, broker: usize) -> io::Result<Arc<[u8]>> {
        if let Some((step, file)) = self.controller.lagging.get(&broker) {
            if file.id != self.controller.file.id {
                self.record.effect(*step);
                self.record.reach(Milestone::LaggingRead);
            }
            return file.content.clone().ok_or_else(|| ErrorKind::NotFound.into());
        }
        let content = self.controller.file.content.clone().ok_or(ErrorKind::NotFound)?;
        let Some((how, step)) = self.controller.damage else {
            if let Some(cause) = self.controller.file.cause {
                self.record.effect(cause);
            }
            return Ok(content);
        };
        self.record.effect(step);
        self.record.reach(Milestone::DamagedFileRead);
        match how {
            Damage::Torn => Ok(content[..content.len() / 2].into()),
            Damage::Missing => Err(ErrorKind::NotFound.into()),
            Damage::Foreign => Ok(br#"{"offsets":{"orders/0":7}}"#.as_slice().into()),
            Damage::Unreadable => Err(io::Error::other("input/output error")),
        }
    }
}

/// A view in a line: `view 1.3: kaas-0 alive, kaas-1 dead; billing on kaas-0`.
fn describe(assignment: &Assignment) -> String {
    let health = |health| match health {
        Health::Alive => "alive",
        Health::Draining => "draining",
        Health::Dead => "dead",
    };
    let brokers = assignment.brokers.iter().map(|it| format!("{} {}", it.id, health(it.health)));
    let entries = assignment.consumer_groups.iter();
    let entries = entries.map(|it| format!("{} on {}", it.group_id, it.broker));
    let mut text = format!(
        "view {}.{}: {}",
        assignment.controller_epoch,
        assignment.assignment_version,
        brokers.collect::<Vec<_>>().join(", ")
    );
    let entries = entries.collect::<Vec<_>>().join(", ");
    if !entries.is_empty() {
        text.push_str("; ");
        text.push_str(&entries);
    }
    text
}
