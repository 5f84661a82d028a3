//! When volume operations happen, fail, and get stuck.
//!
//! An operation reaches the volume some time after it was asked for, and happens at one instant; in
//! half of the runs its outcome needs a while for the way back. A broker that dies in between may have
//! its operation happen all the same, at once or late. An operation that fails with EIO may have
//! happened, or happen later.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
    ops::Range,
};

use kaas_coordinator::assignment::ASSIGNMENT_PATH;
use tokio::sync::oneshot;

use super::{Event, World};
use crate::{
    milestone::Milestone,
    plan::{Failure, Goodbye, Operation, Plan, Span},
    seed::Stream,
    volume::{Op, Path, Reply, Sync},
};

/// How late an operation may happen whose broker is dead, or was told that it failed, in microseconds.
const LATE_MAX: u64 = 2_000_000;

/// What is on its way to the volume, and what is wrong with it.
#[derive(Debug)]
pub(super) struct Storage {
    seed: u64,
    /// Whether nothing may depend on the seed.
    is_fixed: bool,
    latency: Span,
    streams: BTreeMap<usize, Stream>,
    faults: Stream,
    /// When the server flushes by itself.
    flushes: Stream,
    /// How much of an operation's time is its outcome's way back; none in some runs.
    ways_back: Option<Stream>,
    /// Outcomes on their way.
    told: BTreeMap<u64, Told>,
    pending: BTreeMap<u64, Pending>,
    /// Operations that failed and happen right behind the next one beside them.
    lurking: Vec<u64>,
    operations: u64,
    pub(super) failing: Vec<Failing>,
    pub(super) slow: Vec<SlowVolume>,
    pub(super) stops: Vec<Stop>,
}

#[derive(Debug)]
struct Pending {
    broker: usize,
    op: Op,
    /// How long its outcome takes to come back, in microseconds.
    back: u64,
    /// If it is of a directory, what it would make durable.
    sync: Option<Sync>,
    /// Whether a failover has undone some of that.
    is_doomed: bool,
    /// Where the outcome goes; nowhere if the broker is dead.
    reply: Option<oneshot::Sender<io::Result<Reply>>>,
}

/// An outcome, and where it goes.
#[derive(Debug)]
struct Told {
    broker: usize,
    /// The changes of directory entries that it made.
    changes: Range<u64>,
    outcome: io::Result<Reply>,
    reply: oneshot::Sender<io::Result<Reply>>,
}

/// Operations that fail.
#[derive(Debug)]
pub(super) struct Failing {
    pub(super) step: usize,
    pub(super) broker: Option<usize>,
    pub(super) error: Failure,
    pub(super) on: Operation,
    pub(super) percent: u32,
}

/// Operations that take longer.
#[derive(Debug)]
pub(super) struct SlowVolume {
    pub(super) step: usize,
    pub(super) broker: Option<usize>,
    pub(super) by: u64,
}

/// A broker that is to stop in the middle of an operation.
#[derive(Debug)]
pub(super) struct Stop {
    pub(super) step: usize,
    pub(super) broker: usize,
    pub(super) on: Operation,
    /// How many operations of the kind go well before.
    pub(super) left: u32,
    /// For how long it is paused, in microseconds; `None` kills it.
    pub(super) pause: Option<u64>,
}

impl Storage {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut ways_back = Stream::new(plan.seed, "volume ways back", 0);
        let has_ways_back = !plan.is_fixed() && ways_back.percent(50);
        Self {
            seed: plan.seed,
            is_fixed: plan.is_fixed(),
            latency: plan.volume,
            streams: BTreeMap::new(),
            faults: Stream::new(plan.seed, "volume faults", 0),
            flushes: Stream::new(plan.seed, "volume flushes", 0),
            ways_back: has_ways_back.then_some(ways_back),
            told: BTreeMap::new(),
            pending: BTreeMap::new(),
            lurking: Vec::new(),
            operations: 0,
            failing: Vec::new(),
            slow: Vec::new(),
            stops: Vec::new(),
        }
    }
}

/// Whether an operation can fail like that.
fn can_fail(op: &Op, error: Failure) -> bool {
    let kind = op.kind();
    match error {
        Failure::Io => true,
        Failure::Full => matches!(kind, Operation::Write | Operation::CreateDir),
        Failure::Stale => kind != Operation::CreateDir,
    }
}

fn is_of_kind(op: &Op, kind: Operation) -> bool {
    kind == Operation::Any || op.kind() == kind
}

impl World {
    /// A broker asks the volume for something.
    pub(super) fn request_operation(
        &mut self,
        broker: usize,
        op: Op,
        reply: oneshot::Sender<io::Result<Reply>>,
    ) {
        let storage = &mut self.storage;
        let (seed, latency) = (storage.seed, storage.latency);
        let stream = storage.streams.entry(broker);
        let stream = stream.or_insert_with(|| Stream::new(seed, "volume", broker as u64));
        let mut takes = stream.micros(latency);
        for slow in storage.slow.iter().filter(|it| it.broker.is_none_or(|it| it == broker)) {
            takes += slow.by;
            self.record.effect(slow.step);
            self.record.reach(Milestone::VolumeSlow);
        }
        let back = storage.ways_back.as_mut().map_or(0, |it| it.below(takes + 1));
        storage.operations += 1;
        let number = storage.operations;
        let sync = (op.kind() == Operation::SyncDir).then(|| {
            let told = storage.told.values().filter(|it| it.broker == broker);
            let unheard = told.map(|it| it.changes.clone()).collect();
            let (dir, behind) = (Path::clone(op.path()), self.volume.changes());
            Sync { by: broker, dir, at: self.now, behind, unheard }
        });
        let is_doomed = sync.as_ref().is_some_and(|it| self.volume.dooms(it));
        let reply = Some(reply);
        storage.pending.insert(number, Pending { broker, op, back, sync, is_doomed, reply });
        self.after(takes - back, Event::Operate { op: number });
    }

    /// An operation reaches the volume.
    pub(super) fn operate(&mut self, number: u64) {
        let Some(it) = self.storage.pending.remove(&number) else { return };
        if !self.storage.is_fixed && self.storage.flushes.percent(1) {
            self.volume.flush_some(&mut self.storage.flushes);
        }
        let Pending { broker, op, back, is_doomed, reply, .. } = it;
        let changes = self.volume.changes();
        // Before it can fail: what begins to lurk with it waits for the next.
        self.rouse(broker, &op);
        let failure = match is_doomed {
            true => {
                let error = io::Error::other("the volume has lost what was not synced");
                Some((error, Happens::Never))
            }
            // What is late has failed already, as far as anybody knows.
            false if reply.is_none() => None,
            false => self.failure(broker, &op),
        };
        let outcome = match failure {
            Some((error, happens)) => {
                match happens {
                    Happens::Never => {}
                    // Its outcome is not told.
                    Happens::Now => drop(self.apply(broker, &op)),
                    Happens::Late => self.happen_late(broker, op.clone()),
                }
                Err(error)
            }
            None => self.apply(broker, &op),
        };
        self.record.fold(broker as u64, 5, number << 1 | u64::from(outcome.is_ok()));
        if self.stop_in(broker, &op) == Some(Fate::Dies) {
            return;
        }
        match reply {
            Some(reply) if back == 0 => self.touched |= reply.send(outcome).is_ok(),
            Some(reply) => {
                let changes = changes..self.volume.changes();
                self.storage.told.insert(number, Told { broker, changes, outcome, reply });
                self.after(back, Event::Told { op: number });
            }
            None => self.record.reach(Milestone::LateOperation),
        }
    }

    /// The outcome of an operation reaches its broker.
    pub(super) fn told(&mut self, number: u64) {
        if let Some(Told { outcome, reply, .. }) = self.storage.told.remove(&number) {
            self.touched |= reply.send(outcome).is_ok();
        }
    }

    /// Lets an operation happen that nobody waits for any more: at some time, or where it hurts most,
    /// between two steps of what its broker does next with the same claim or beside the same file.
    fn happen_late(&mut self, broker: usize, op: Op) {
        let storage = &mut self.storage;
        let late = storage.faults.below(LATE_MAX);
        storage.operations += 1;
        let number = storage.operations;
        let it = Pending { broker, op, back: 0, sync: None, is_doomed: false, reply: None };
        storage.pending.insert(number, it);
        match storage.faults.percent(50) {
            true => storage.lurking.push(number),
            false => self.after(late, Event::Operate { op: number }),
        }
    }

    /// An operation has reached the volume: what lurks beside it follows.
    fn rouse(&mut self, broker: usize, op: &Op) {
        let Storage { lurking, pending, .. } = &mut self.storage;
        let place = |op: &Op| op.path().rsplit_once('/').map(|(place, _)| place.to_owned());
        let (queue, record, now) = (&mut self.queue, &mut self.record, self.now);
        lurking.retain(|number| {
            let Some(it) = pending.get(number) else { return false };
            let follows = it.broker == broker && place(&it.op) == place(op);
            if follows {
                queue.push(now, Event::Operate { op: *number });
                record.reach(Milestone::LurkingOperation);
            }
            !follows
        });
    }

    /// Whether and how an operation fails, and whether it happens all the same.
    fn failure(&mut self, broker: usize, op: &Op) -> Option<(io::Error, Happens)> {
        let storage = &mut self.storage;
        for it in &storage.failing {
            let is_meant = it.broker.is_none_or(|it| it == broker) && is_of_kind(op, it.on);
            if !is_meant || !can_fail(op, it.error) {
                continue;
            }
            if it.percent < 100 && !storage.faults.percent(it.percent) {
                continue;
            }
            self.record.effect(it.step);
            return Some(match it.error {
                Failure::Io => {
                    self.record.reach(Milestone::VolumeFailed);
                    let happens = match it.percent < 100 && storage.faults.percent(50) {
                        false => Happens::Never,
                        true if storage.faults.percent(50) => Happens::Now,
                        true => Happens::Late,
                    };
                    (io::Error::other("input/output error"), happens)
                }
                Failure::Full => {
                    self.record.reach(Milestone::VolumeFull);
                    (ErrorKind::StorageFull.into(), Happens::Never)
                }
                Failure::Stale => {
                    self.record.reach(Milestone::VolumeStale);
                    (ErrorKind::StaleNetworkFileHandle.into(), Happens::Never)
                }
            });
        }
        None
    }

    fn apply(&mut self, broker: usize, op: &Op) -> io::Result<Reply> {
        if let Op::Read(path) = op
            && **path == *ASSIGNMENT_PATH
        {
            let content = self.read_assignment(broker)?;
            self.moment_of_operation(broker, op);
            return Ok(Reply::Content(content.to_vec()));
        }
        let before = self.author_of(op);
        let reply = self.volume.apply(broker, op)?;
        self.releases_meet(broker, op, before);
        self.moment_of_operation(broker, op);
        match op.kind() {
            Operation::Write | Operation::CreateDir | Operation::Remove | Operation::Rename => {
                self.changed(broker, op);
            }
            Operation::Any
            | Operation::Read
            | Operation::Sync
            | Operation::SyncDir
            | Operation::List
            | Operation::Exists => {}
        }
        Ok(reply)
    }

    /// Lets the lens see what a broker has changed.
    fn changed(&mut self, broker: usize, op: &Op) {
        let name = &self.brokers[broker].name;
        self.lens.volume_changed(name, op, &self.volume);
    }

    /// Whether the broker stops here, in the middle of the operation.
    fn stop_in(&mut self, broker: usize, op: &Op) -> Option<Fate> {
        let stops = &mut self.storage.stops;
        let at = stops.iter_mut().position(|it| {
            if it.broker != broker || !is_of_kind(op, it.on) {
                return false;
            }
            it.left = it.left.saturating_sub(1);
            it.left == 0
        })?;
        let stop = stops.remove(at);
        self.brokers[broker].up.as_ref()?;
        self.record.effect(stop.step);
        self.record.reach(Milestone::StoppedInOperation);
        match stop.pause {
            Some(micros) => {
                if self.pause(broker, stop.step) {
                    self.after(micros, Event::End { step: stop.step });
                }
                Some(Fate::Pauses)
            }
            None => {
                self.kill(broker, Goodbye::Reset);
                self.after(RETURN, Event::Boot { broker });
                Some(Fate::Dies)
            }
        }
    }

    /// A broker is dead: some of what it had asked for happens all the same, some of that late.
    pub(super) fn storage_of_dead(&mut self, broker: usize) {
        let storage = &mut self.storage;
        let pending = storage.pending.iter().filter(|(_, it)| it.broker == broker);
        let numbers: Vec<u64> = pending.map(|(number, _)| *number).collect();
        for number in numbers {
            let mut it = storage.pending.remove(&number).expect("it was just seen");
            it.reply = None;
            if storage.is_fixed || storage.faults.percent(50) {
                continue;
            }
            let late = match storage.faults.percent(50) {
                true => storage.faults.below(LATE_MAX),
                false => 0,
            };
            storage.operations += 1;
            let number = storage.operations;
            storage.pending.insert(number, it);
            self.queue.push(self.now + late, Event::Operate { op: number });
        }
    }

    /// The volume is well again: what is stuck on it gets done.
    pub(super) fn heal_storage(&mut self) {
        self.storage.failing.clear();
        self.storage.slow.clear();
        self.storage.stops.clear();
        for op in self.storage.pending.keys().copied().collect::<Vec<_>>() {
            self.after(UNSTUCK, Event::Operate { op });
        }
    }

    /// The volume moves to its standby.
    pub(super) fn fail_over(&mut self, step: usize) {
        let undone = self.volume.fail_over();
        // Nobody hears of one that is late, so it can't tell what is lost.
        for it in self.storage.pending.values_mut().filter(|it| it.reply.is_some()) {
            it.is_doomed |= it.sync.as_ref().is_some_and(|it| self.volume.dooms(it));
        }
        if undone > 0 {
            self.record.effect(step);
            self.record.reach(Milestone::UnsyncedEntriesLost);
        }
        self.record.tell("volume", || format!("failed over, {undone} entries undone"));
    }
}

/// How long an operation that was stuck takes when the volume is well again, in microseconds.
const UNSTUCK: u64 = 10_000;
/// How long a broker that died in an operation stays away, in microseconds.
const RETURN: u64 = 3_000_000;

/// Whether an operation that fails happens all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happens {
    Never,
    Now,
    Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Dies,
    Pauses,
}
