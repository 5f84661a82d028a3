//! offset-durability: the committed offset of each partition is one linearizable register.
//!
//! Every (group, partition) has a history of commits, deletes and fetches as their clients saw
//! them. It is kept whole and judged at the end: is there one order of all operations, each at some
//! instant between its invocation and its return, in which every fetch gives the latest write? A
//! commit of unknown outcome may take effect at any time after it was invoked, or never; a refused
//! one never. Of commits that follow each other on one connection, the later is the newer, even if it
//! did not wait for the other's answer. Commits in transactions have their own entrance, in `txn`.
//!
//! Always: the answer is exact, or counted as undecided.

mod search;
mod txn;
mod zones;

use crate::{
    event::{Micros, Name, Outcome},
    ledger::Ledger,
    promise::{Limits, Promise},
};
use std::collections::BTreeMap;

/// All registers and the operations under way.
#[derive(Debug, Default)]
pub(crate) struct Offsets {
    registers: Vec<Register>,
    by_name: BTreeMap<Name, BTreeMap<Name, usize>>,
    /// Operation to register and place in its history.
    open: BTreeMap<u64, (usize, usize)>,
    position: u64,
    staged: txn::Staged,
}

/// One partition of one group.
#[derive(Debug)]
struct Register {
    group: Name,
    partition: Name,
    ops: Vec<Op>,
}

/// One operation as its client saw it.
#[derive(Debug, Clone)]
struct Op {
    client: Name,
    /// Where in the history it was invoked, and when.
    invoked: u64,
    invoked_at: Micros,
    /// The same for its return. `None`: it may still be under way.
    returned: Option<u64>,
    returned_at: Micros,
    action: Action,
    outcome: Outcome,
    /// The commit in front of it on the same connection, by place in the history.
    after: Option<usize>,
}

/// What an operation does to the register, or saw of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Commit {
        write: u64,
        offset: i64,
    },
    Delete,
    /// The offset and write it gave; `None`: nothing committed.
    Fetch(Option<(i64, u64)>),
}

/// Operations that fit no order, as sentences, and when that showed.
#[derive(Debug)]
struct Contradiction {
    at: Micros,
    told: Vec<String>,
}

/// What became of a register.
#[derive(Debug)]
enum Verdict {
    Linearizable,
    Contradiction(Contradiction),
    Undecided,
}

impl Offsets {
    /// One more event of the history.
    pub(crate) fn step(&mut self) {
        self.position += 1;
    }

    pub(crate) fn commit_invoked(
        &mut self,
        op: u64,
        client: &Name,
        (group, partition): (&Name, &Name),
        (write, offset): (u64, i64),
        at: Micros,
    ) {
        self.invoked(op, client, (group, partition), Action::Commit { write, offset }, at);
    }

    /// A commit goes over the same connection as another, behind it.
    pub(crate) fn commit_follows(&mut self, op: u64, after: u64) {
        let (Some(&(register, op)), Some(&(other, after))) =
            (self.open.get(&op), self.open.get(&after))
        else {
            return;
        };
        if register == other {
            self.registers[register].ops[op].after = Some(after);
        }
    }

    pub(crate) fn delete_invoked(
        &mut self,
        op: u64,
        client: &Name,
        (group, partition): (&Name, &Name),
        at: Micros,
    ) {
        self.invoked(op, client, (group, partition), Action::Delete, at);
    }

    pub(crate) fn fetch_invoked(
        &mut self,
        op: u64,
        client: &Name,
        (group, partition): (&Name, &Name),
        at: Micros,
    ) {
        self.invoked(op, client, (group, partition), Action::Fetch(None), at);
    }

    /// A commit or delete came back.
    pub(crate) fn returned(&mut self, id: u64, outcome: Outcome, at: Micros) {
        self.txn_returned(id, outcome, at);
        let position = self.position;
        if let Some(op) = self.take(id) {
            op.outcome = outcome;
            match outcome {
                Outcome::Ok | Outcome::Refused => {
                    (op.returned, op.returned_at) = (Some(position), at);
                }
                Outcome::Unknown => {}
            }
        }
    }

    /// A fetch came back with an answer.
    pub(crate) fn fetched(&mut self, id: u64, value: Option<(i64, u64)>, at: Micros) {
        let position = self.position;
        if let Some(op) = self.take(id) {
            op.action = Action::Fetch(value);
            op.outcome = Outcome::Ok;
            (op.returned, op.returned_at) = (Some(position), at);
        }
    }

    /// A fetch came back without an answer.
    pub(crate) fn fetch_failed(&mut self, id: u64) {
        self.take(id);
    }

    /// Judges every register.
    pub(crate) fn finish(&self, limits: &Limits, ledger: &mut Ledger) {
        for register in &self.registers {
            let history = register.relevant();
            match register.judge(&history, limits) {
                Verdict::Undecided => ledger.undecided(),
                verdict @ (Verdict::Linearizable | Verdict::Contradiction(_)) => {
                    for _ in history.iter().filter(|op| matches!(op.action, Action::Fetch(_))) {
                        ledger.check(Promise::OffsetDurability);
                    }
                    if let Verdict::Contradiction(found) = verdict {
                        let (group, promise) = (&register.group, Promise::OffsetDurability);
                        ledger.broke_at(found.at, promise, group, || found.told);
                    }
                }
            }
        }
    }

    fn take(&mut self, id: u64) -> Option<&mut Op> {
        let (register, op) = self.open.remove(&id)?;
        self.registers.get_mut(register)?.ops.get_mut(op)
    }

    fn invoked(
        &mut self,
        id: u64,
        client: &Name,
        (group, partition): (&Name, &Name),
        action: Action,
        at: Micros,
    ) {
        let register = self.register(group, partition);
        let ops = &mut self.registers[register].ops;
        self.open.insert(id, (register, ops.len()));
        ops.push(Op {
            client: client.clone(),
            invoked: self.position,
            invoked_at: at,
            returned: None,
            returned_at: at,
            action,
            outcome: Outcome::Unknown,
            after: None,
        });
    }

    fn register(&mut self, group: &Name, partition: &Name) -> usize {
        let known = self.by_name.get(group).and_then(|of| of.get(partition));
        if let Some(&register) = known {
            return register;
        }
        let (group, partition, ops) = (group.clone(), partition.clone(), Vec::new());
        let of = self.by_name.entry(group.clone()).or_default();
        of.insert(partition.clone(), self.registers.len());
        self.registers.push(Register { group, partition, ops });
        self.registers.len() - 1
    }
}

impl Register {
    /// The operations that say something: fetches with an answer, and all writes.
    fn relevant(&self) -> Vec<&Op> {
        let says = |op: &&Op| match op.action {
            Action::Fetch(_) => op.returned.is_some(),
            Action::Commit { .. } | Action::Delete => true,
        };
        self.ops.iter().filter(says).collect()
    }

    fn judge(&self, history: &[&Op], limits: &Limits) -> Verdict {
        let mut writes = BTreeMap::new();
        for (index, op) in history.iter().enumerate() {
            if let Action::Commit { write, .. } = op.action
                && writes.insert(write, index).is_some()
            {
                return Verdict::Undecided;
            }
        }
        let found = self.impossible_answer(history, &writes);
        if let Some(found) = found.or_else(|| self.overtaken(history)) {
            return Verdict::Contradiction(found);
        }
        let refused = |op: &Op| op.outcome == Outcome::Refused;
        let effective: Vec<&Op> = history.iter().copied().filter(|op| !refused(op)).collect();
        let deletes = effective.iter().any(|op| op.action == Action::Delete);
        let absent = effective.iter().any(|op| op.action == Action::Fetch(None));
        if deletes && absent {
            search::judge(self, &effective, limits.search)
        } else {
            zones::judge(self, &effective)
        }
    }

    /// The first answer that names a write nobody made here, or a refused one, or a wrong offset,
    /// or comes too early.
    fn impossible_answer(
        &self,
        history: &[&Op],
        writes: &BTreeMap<u64, usize>,
    ) -> Option<Contradiction> {
        let answers = history.iter().copied().filter(|op| op.value().is_some());
        let mut reads: Vec<&Op> = answers.collect();
        reads.sort_by_key(|op| op.returned);
        reads.into_iter().find_map(|read| {
            let (offset, write) = read.value()?;
            let Some(&index) = writes.get(&write) else {
                let why = format!("nobody ever made write {write} there");
                return Some(self.contradiction(&[read], vec![why]));
            };
            let commit = history[index];
            let why = if commit.outcome == Outcome::Refused {
                "a refused commit must have no effect"
            } else if commit.action != (Action::Commit { write, offset }) {
                "that write carried another offset"
            } else if read.returned < Some(commit.invoked) {
                "the answer came before the commit was sent"
            } else {
                return None;
            };
            Some(self.contradiction(&[commit, read], vec![why.to_owned()]))
        })
    }

    /// The first answer that gives a commit although the one behind it on its connection had been
    /// acknowledged before the fetch was sent.
    fn overtaken(&self, history: &[&Op]) -> Option<Contradiction> {
        let is_ok = |op: &&Op| op.outcome == Outcome::Ok;
        let mut behind = BTreeMap::new();
        for newer in history.iter().copied().filter(is_ok) {
            let older = newer.after.and_then(|it| self.ops.get(it)).filter(is_ok);
            if let Some(Action::Commit { write, .. }) = older.map(|it| it.action) {
                behind.insert(write, (older?, newer));
            }
        }
        if behind.is_empty() {
            return None;
        }
        let mut reads: Vec<&Op> =
            history.iter().copied().filter(|op| op.value().is_some()).collect();
        reads.sort_by_key(|op| op.returned);
        reads.into_iter().find_map(|read| {
            let (_, write) = read.value()?;
            let (older, newer) = behind.get(&write)?;
            if newer.returned? >= read.invoked {
                return None;
            }
            let why = "the second came behind the first on the same connection, and is the newer";
            Some(self.contradiction(&[older, newer, read], vec![why.to_owned()]))
        })
    }

    /// Evidence out of these operations in this order, and what is wrong with them.
    fn contradiction(&self, ops: &[&Op], why: Vec<String>) -> Contradiction {
        let at = ops.iter().map(|op| op.returned_at).max().unwrap_or_default();
        let mut told = vec![format!("{} of {}:", self.partition, self.group)];
        told.extend(ops.iter().map(|op| op.told()));
        told.extend(why);
        Contradiction { at, told }
    }
}

impl Op {
    /// The write whose value a fetch gave.
    fn value(&self) -> Option<(i64, u64)> {
        match self.action {
            Action::Fetch(value) => value,
            Action::Commit { .. } | Action::Delete => None,
        }
    }

    /// What happened, in a sentence.
    fn told(&self) -> String {
        let Op { client, invoked_at, returned_at, .. } = self;
        let ended = match self.outcome {
            Outcome::Ok => format!("was acknowledged to {client} at {returned_at}"),
            Outcome::Refused => format!("was refused to {client} at {returned_at}"),
            Outcome::Unknown => format!("of {client} has an unknown outcome"),
        };
        match self.action {
            Action::Commit { write, offset } => {
                format!("commit {offset} (write {write}), sent at {invoked_at}, {ended}")
            }
            Action::Delete => format!("the delete sent at {invoked_at} {ended}"),
            Action::Fetch(value) => {
                let got = value.map_or("nothing committed".to_owned(), |(offset, write)| {
                    format!("{offset} (write {write})")
                });
                format!("a fetch sent at {invoked_at} answered {got} to {client} at {returned_at}")
            }
        }
    }
}
