//! Commits in transactions, as the register sees them: when the commit of the transaction is asked
//! for, each of its writes becomes a commit of unknown outcome, which may take effect at any later
//! time or never.
//!
//! What a transaction that nobody asked to commit has written is no write to the register.

use super::{Action, Offsets, Op};
use crate::event::{Micros, Name, Outcome};
use std::collections::BTreeMap;

/// The transactions and their writes.
#[derive(Debug, Default)]
pub(super) struct Staged {
    txns: BTreeMap<u64, Txn>,
    /// Writes under way: to which transaction they belong, and their place in the register's
    /// history if they have one.
    open: BTreeMap<u64, (u64, Option<(usize, usize)>)>,
}

#[derive(Debug)]
struct Txn {
    /// By whom, in the words of the evidence.
    client: Name,
    /// By operation: the register, the write and its offset.
    writes: BTreeMap<u64, (usize, Action)>,
    asked: bool,
}

impl Offsets {
    /// A client begins a transaction.
    pub(crate) fn txn_begun(&mut self, txn: u64, client: &Name) {
        let client = format!("{client} in transaction {txn}").into();
        let begun = Txn { client, writes: BTreeMap::new(), asked: false };
        self.staged.txns.entry(txn).or_insert(begun);
    }

    /// A client sends a commit in its transaction.
    pub(crate) fn txn_commit_invoked(
        &mut self,
        op: u64,
        txn: u64,
        (group, partition): (&Name, &Name),
        (write, offset): (u64, i64),
        at: Micros,
    ) {
        let register = self.register(group, partition);
        let action = Action::Commit { write, offset };
        let Some(staged) = self.staged.txns.get_mut(&txn) else { return };
        if staged.asked {
            let client = staged.client.clone();
            let place = self.enters(register, &client, action, at);
            self.staged.open.insert(op, (txn, Some(place)));
        } else {
            staged.writes.insert(op, (register, action));
            self.staged.open.insert(op, (txn, None));
        }
    }

    /// The commit of a transaction is asked for.
    pub(crate) fn txn_commits(&mut self, txn: u64, at: Micros) {
        let Some(staged) = self.staged.txns.get_mut(&txn) else { return };
        staged.asked = true;
        let client = staged.client.clone();
        for (op, (register, action)) in std::mem::take(&mut staged.writes) {
            let place = self.enters(register, &client, action, at);
            if let Some((_, entered)) = self.staged.open.get_mut(&op) {
                *entered = Some(place);
            }
        }
    }

    /// A commit in a transaction came back: one that was refused has no effect.
    pub(super) fn txn_returned(&mut self, op: u64, outcome: Outcome, at: Micros) {
        let Some((txn, entered)) = self.staged.open.remove(&op) else { return };
        if outcome != Outcome::Refused {
            return;
        }
        match entered {
            None => {
                if let Some(txn) = self.staged.txns.get_mut(&txn) {
                    txn.writes.remove(&op);
                }
            }
            Some((register, place)) => {
                let op = &mut self.registers[register].ops[place];
                (op.outcome, op.returned_at) = (outcome, at);
                op.returned = Some(self.position);
            }
        }
    }

    /// The write is one of unknown outcome from now on.
    fn enters(
        &mut self,
        register: usize,
        client: &Name,
        action: Action,
        at: Micros,
    ) -> (usize, usize) {
        // Operations of one register are told apart by where they were invoked.
        self.position += 1;
        let ops = &mut self.registers[register].ops;
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
        (register, ops.len() - 1)
    }
}
