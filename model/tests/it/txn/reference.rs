//! A small and honest implementation of transactions for offsets, and the ways in which it can be
//! made dishonest.
//!
//! A request takes effect in one step. The end of a transaction leaves one marker for each group it
//! has written to and one for its output; these arrive later, in any order.

use model::Outcome;
use std::collections::BTreeMap;

/// A group and a partition of it.
pub(super) type Place = (usize, usize);

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mutant {
    /// The marker reaches one partition of the group; the others lose their writes.
    OnePartition,
    /// An abort shows the writes.
    OnAbort,
    /// An abort leaves the writes to the producer's next transaction.
    CarriedAlong,
    /// A marker is applied again after later commits.
    Reapplied,
    /// A write shows at once.
    AtOnce,
    /// A commit drops the writes.
    Dropped,
    /// A marker does not ask whether there was a later commit.
    LaterCommitLost,
    /// A stable fetch is never refused.
    Unstable,
    /// What has ended goes on to wait.
    Left,
    /// A producer is let go on before what it had begun has ended everywhere.
    GoesOn,
    /// A fenced producer is told that its transaction has committed.
    FencedCommits,
    /// A fenced producer is told that its write was taken.
    FencedWrites,
    /// A new client gets the epoch of the last.
    SameEpoch,
    /// Output counts twice.
    OutputTwice,
    /// Output counts though the transaction is aborted.
    OutputOnAbort,
    /// A commit is acknowledged and then aborted.
    Turned,
}

pub(super) const MUTANTS: [Mutant; 16] = [
    Mutant::OnePartition,
    Mutant::OnAbort,
    Mutant::CarriedAlong,
    Mutant::Reapplied,
    Mutant::AtOnce,
    Mutant::Dropped,
    Mutant::LaterCommitLost,
    Mutant::Unstable,
    Mutant::Left,
    Mutant::GoesOn,
    Mutant::FencedCommits,
    Mutant::FencedWrites,
    Mutant::SameEpoch,
    Mutant::OutputTwice,
    Mutant::OutputOnAbort,
    Mutant::Turned,
];

/// A write, and its place in the order in which writes were appended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    appended: u64,
    pub(super) offset: i64,
    pub(super) write: u64,
}

#[derive(Debug, Default)]
struct Register {
    committed: Option<Value>,
    /// By producer: the transaction and the write.
    pending: BTreeMap<i64, (u64, Value)>,
}

/// Who acts for a transactional id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Producer {
    pub(super) id: usize,
    pub(super) epoch: i16,
}

impl Producer {
    pub(super) fn number(self) -> i64 {
        500 + i64::try_from(self.id).expect("there are two of them")
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Empty,
    Ongoing,
    Ended {
        commit: bool,
    },
}

#[derive(Debug, Default)]
struct Id {
    epoch: i16,
    txn: u64,
    state: State,
    groups: Vec<usize>,
}

/// Records of the input of a group that a transaction took in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effect {
    pub(super) txn: u64,
    pub(super) group: usize,
    pub(super) from: i64,
    pub(super) to: i64,
}

#[derive(Debug, Clone, Copy)]
enum Marker {
    Group {
        id: usize,
        group: usize,
        txn: u64,
        commit: bool,
    },
    Output {
        id: usize,
        effect: Effect,
    },
    /// Only of the mutant that applies markers again.
    Again {
        place: Place,
        value: Value,
    },
}

#[derive(Debug, Default)]
pub(super) struct Reference {
    mutant: Option<Mutant>,
    /// Whether a deletion removes what is pending.
    deletes_pending: bool,
    appended: u64,
    registers: BTreeMap<Place, Register>,
    ids: [Id; 2],
    markers: Vec<Marker>,
}

impl Reference {
    pub(super) fn new(mutant: Option<Mutant>, deletes_pending: bool) -> Reference {
        Reference { mutant, deletes_pending, ..Reference::default() }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn append(&mut self, offset: i64, write: u64) -> Value {
        self.appended += 1;
        Value { appended: self.appended, offset, write }
    }

    pub(super) fn commit(&mut self, place: Place, (offset, write): (i64, u64)) {
        let value = self.append(offset, write);
        self.registers.entry(place).or_default().committed = Some(value);
    }

    pub(super) fn delete(&mut self, place: Place) {
        let register = self.registers.entry(place).or_default();
        register.committed = None;
        if self.deletes_pending {
            register.pending.clear();
        }
    }

    /// The committed value; `Err`: refused.
    pub(super) fn fetch(&mut self, place: Place, stable: bool) -> Result<Option<Value>, ()> {
        let refuses = stable && !self.is(Mutant::Unstable);
        let register = self.registers.entry(place).or_default();
        if refuses && !register.pending.is_empty() { Err(()) } else { Ok(register.committed) }
    }

    /// A new producer for that id, once the last transaction has ended everywhere.
    pub(super) fn init(&mut self, id: usize) -> Option<Producer> {
        if self.ids[id].state == State::Ongoing {
            self.end_of(id, false, None);
        }
        if self.ends(id) {
            return None;
        }
        if !self.is(Mutant::SameEpoch) {
            self.ids[id].epoch += 1;
        }
        Some(Producer { id, epoch: self.ids[id].epoch })
    }

    /// Whether the last transaction of that id is still ending somewhere, as far as is asked.
    fn ends(&self, id: usize) -> bool {
        !self.is(Mutant::GoesOn) && self.markers.iter().any(|it| it.id() == Some(id))
    }

    pub(super) fn write(
        &mut self,
        producer: Producer,
        txn: u64,
        (group, partition): Place,
        (offset, write): (i64, u64),
    ) -> Outcome {
        let Producer { id, epoch } = producer;
        if self.ids[id].epoch != epoch {
            let told = self.is(Mutant::FencedWrites);
            return if told { Outcome::Ok } else { Outcome::Refused };
        }
        if self.ids[id].state != State::Ongoing {
            if txn <= self.ids[id].txn || self.ends(id) {
                return Outcome::Refused;
            }
            self.ids[id] = Id { epoch, txn, state: State::Ongoing, groups: Vec::new() };
        }
        if self.ids[id].txn != txn {
            return Outcome::Refused;
        }
        if !self.ids[id].groups.contains(&group) {
            self.ids[id].groups.push(group);
        }
        let value = self.append(offset, write);
        let at_once = self.is(Mutant::AtOnce);
        let register = self.registers.entry((group, partition)).or_default();
        register.pending.insert(producer.number(), (txn, value));
        if at_once {
            register.committed = Some(value);
        }
        Outcome::Ok
    }

    pub(super) fn end(
        &mut self,
        Producer { id, epoch }: Producer,
        txn: u64,
        commit: bool,
        effect: Option<Effect>,
    ) -> Outcome {
        let known = &self.ids[id];
        if known.epoch != epoch {
            let told = commit && self.is(Mutant::FencedCommits);
            return if told { Outcome::Ok } else { Outcome::Refused };
        }
        if known.txn != txn {
            return Outcome::Refused;
        }
        match known.state {
            State::Empty => Outcome::Refused,
            State::Ended { commit: ended } if ended == commit => Outcome::Ok,
            State::Ended { .. } => Outcome::Refused,
            State::Ongoing => {
                self.end_of(id, commit, effect);
                Outcome::Ok
            }
        }
    }

    fn end_of(&mut self, id: usize, commit: bool, effect: Option<Effect>) {
        self.ids[id].state = State::Ended { commit };
        let txn = self.ids[id].txn;
        let applies = commit && !self.is(Mutant::Turned);
        for group in std::mem::take(&mut self.ids[id].groups) {
            self.markers.push(Marker::Group { id, group, txn, commit: applies });
        }
        if applies || self.is(Mutant::OutputOnAbort) {
            let times = if self.is(Mutant::OutputTwice) { 2 } else { 1 };
            let output = effect.map(|effect| Marker::Output { id, effect });
            self.markers.extend(output.into_iter().cycle().take(times));
        }
    }

    pub(super) fn markers(&self) -> usize {
        self.markers.len()
    }

    /// One of the markers arrives; the effect, if it is the output's.
    pub(super) fn deliver(&mut self, which: usize) -> Option<Effect> {
        match self.markers.remove(which) {
            Marker::Output { effect, .. } => Some(effect),
            Marker::Again { place, value } => {
                self.registers.entry(place).or_default().committed = Some(value);
                None
            }
            Marker::Group { id, group, txn, commit } => {
                self.marked(Producer { id, epoch: 0 }.number(), group, txn, commit);
                None
            }
        }
    }

    fn marked(&mut self, producer: i64, group: usize, txn: u64, commit: bool) {
        let carries = self.is(Mutant::CarriedAlong);
        let shows = (commit && !self.is(Mutant::Dropped)) || self.is(Mutant::OnAbort);
        let one = self.is(Mutant::OnePartition);
        let overwrites = self.is(Mutant::LaterCommitLost);
        let again = self.is(Mutant::Reapplied);
        let left = self.is(Mutant::Left);
        if carries && !commit {
            return;
        }
        let mut shown = 0;
        for (&place, register) in self.registers.range_mut((group, 0)..(group + 1, 0)) {
            let Some(&(of, value)) = register.pending.get(&producer) else { continue };
            if of != txn && !carries {
                continue;
            }
            if !left {
                register.pending.remove(&producer);
            }
            let newer = register.committed.is_none_or(|known| known.appended < value.appended);
            if shows && (newer || overwrites) && !(one && shown > 0) {
                register.committed = Some(value);
            }
            shown += 1;
            if again && commit {
                self.markers.push(Marker::Again { place, value });
            }
        }
    }
}

impl Marker {
    /// The id whose transaction ends with it.
    fn id(&self) -> Option<usize> {
        match self {
            Marker::Group { id, .. } | Marker::Output { id, .. } => Some(*id),
            Marker::Again { .. } => None,
        }
    }
}
