//! txn-isolation: the offsets of a transaction are visible if and only if it committed, all of
//! them, exactly once.
//!
//! A transaction's writes wait until its end reaches the coordinator of their group, which may be
//! long after the end was acknowledged. A plain fetch may give what was there before; a stable one
//! is refused as long as anything waits. Neither holds any longer than that: a producer that is let begin
//! something new shows that what it had begun before waits nowhere. The order of writes is that in which
//! they were appended, not that of the ends: a plain commit that came behind the transaction's stays.
//!
//! Every answer is judged when it comes: whether the transaction of the write that it gives can have
//! committed, and whether the write is too old, given what had been seen and what had committed
//! when the fetch was sent. An answer that comes too early is judged when the transaction's fate is
//! known. What records a transaction took in (its effects) is counted beside.
//!
//! Always: the writes of transactions are remembered, since those that must not be visible must not
//! become so at any later time.

mod answer;
mod effects;
mod judge;
mod partition;
mod producers;
mod transaction;

use crate::{
    event::{Micros, Name, Outcome, What},
    ledger::Ledger,
};
use answer::{Answer, Sign};
use effects::Effects;
use partition::{Bounds, Due, Partition, Write};
use producers::Producers;
use std::collections::BTreeMap;
use transaction::Txn;

/// A place in the history, and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    position: u64,
    at: Micros,
}

/// All transactions, and all they have to do with.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    position: u64,
    producers: Producers,
    txns: BTreeMap<u64, Txn>,
    partitions: Vec<Partition>,
    by_name: BTreeMap<Name, BTreeMap<Name, usize>>,
    open: BTreeMap<u64, Open>,
    effects: Effects,
    /// Producer id to its transaction whose commit was asked for last.
    last_asked: BTreeMap<i64, u64>,
    /// Transactional id to its transactions that may not have ended everywhere.
    under_way: BTreeMap<Name, Vec<u64>>,
}

/// An operation under way.
#[derive(Debug)]
enum Open {
    Write { partition: usize, write: u64 },
    Delete { partition: usize },
    Fetch(Fetch),
}

#[derive(Debug)]
struct Fetch {
    client: Name,
    partition: usize,
    sent: Moment,
    stable: bool,
    bounds: Bounds,
}

impl Transactions {
    /// Takes note of the next event, if it concerns offsets or transactions.
    #[expect(clippy::wildcard_enum_match_arm, reason = "everything else is no concern of this")]
    pub(crate) fn observe(&mut self, what: &What, ledger: &mut Ledger) {
        self.position += 1;
        let now = self.now(ledger);
        match what {
            What::CommitInvoked { op, client, group, partition, write, offset } => {
                let place = self.partition(group, partition);
                self.sends(*op, place, *write, Write::new(client, *offset, now));
            }
            What::DeleteInvoked { op, group, partition, .. } => {
                let partition = self.partition(group, partition);
                self.partitions[partition].deletion_sent();
                self.open.insert(*op, Open::Delete { partition });
            }
            What::Returned { op, outcome } => self.returned(*op, *outcome, ledger),
            What::FetchInvoked { op, client, group, partition } => {
                let (client, partition) = (client.clone(), self.partition(group, partition));
                let bounds = self.partitions[partition].bounds();
                let fetch = Fetch { client, partition, sent: now, stable: false, bounds };
                self.open.insert(*op, Open::Fetch(fetch));
            }
            What::FetchIsStable { op } => {
                if let Some(Open::Fetch(fetch)) = self.open.get_mut(op) {
                    fetch.stable = true;
                }
            }
            What::Fetched { op, value } => {
                if let Some(Open::Fetch(fetch)) = self.open.remove(op) {
                    self.fetched(&fetch, *value, ledger);
                }
            }
            What::FetchFailed { op } => {
                self.open.remove(op);
            }
            What::FetchUnstable { op } => {
                if let Some(Open::Fetch(fetch)) = self.open.remove(op) {
                    self.refused_as_unstable(&fetch, ledger);
                }
            }
            _ => self.transaction(what, ledger),
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "everything else is no concern of this")]
    fn transaction(&mut self, what: &What, ledger: &mut Ledger) {
        let now = self.now(ledger);
        match what {
            What::ProducerReady { id, client, producer, epoch, anew } => {
                let producer = (*producer, *epoch);
                self.producers.ready(id, (client, *anew), producer, now, ledger);
                self.over_before(id, producer, now);
            }
            What::TxnBegun { txn, id, client, producer, epoch } => {
                let begun = Txn::new(*txn, (id, client), (*producer, *epoch), now);
                self.txns.entry(*txn).or_insert(begun);
                self.under_way.entry(id.clone()).or_default().push(*txn);
            }
            What::TxnCommitInvoked { op, txn, group, partition, write, offset } => {
                let place = self.partition(group, partition);
                let Some(of) = self.txns.get(txn) else { return };
                let fence = self.producers.fence(&of.id, of.producer, of.epoch);
                let plain = Write::new(&of.client, *offset, now);
                self.sends(*op, place, *write, Write { txn: Some(*txn), fence, ..plain });
            }
            What::TxnEndInvoked { txn, commit: true } => {
                let Some(txn) = self.txns.get_mut(txn) else { return };
                txn.ask(self.producers.fence(&txn.id, txn.producer, txn.epoch), now);
                self.last_asked.insert(txn.producer, txn.number);
            }
            What::TxnEndReturned { txn, commit: true, outcome } => {
                self.commit_answered(*txn, *outcome, ledger);
            }
            What::TxnEndReturned { txn, commit: false, outcome: Outcome::Ok } => {
                self.aborted(*txn, ledger);
            }
            What::EffectCounted { txn, group, partition, from, to } => {
                self.effects.counted((group, partition), *txn, (*from, *to), ledger);
                let (group, partition) = (group.clone(), partition.clone());
                let sign = Sign::Effect { group, partition, from: *from, to: *to, at: now.at };
                self.committed_as_seen(*txn, sign, ledger);
            }
            What::ProcessedAtEnd { group, partition, upto } => {
                self.effects.at_end((group, partition), *upto, ledger);
            }
            _ => {}
        }
    }

    fn now(&self, ledger: &Ledger) -> Moment {
        Moment { position: self.position, at: ledger.now() }
    }

    fn partition(&mut self, group: &Name, partition: &Name) -> usize {
        let known = self.by_name.get(group).and_then(|of| of.get(partition));
        if let Some(&place) = known {
            return place;
        }
        let place = self.partitions.len();
        self.partitions.push(Partition::new(group, partition));
        let of = self.by_name.entry(group.clone()).or_default();
        of.insert(partition.clone(), place);
        place
    }

    fn sends(&mut self, op: u64, partition: usize, number: u64, write: Write) {
        self.partitions[partition].sends(number, write);
        self.open.insert(op, Open::Write { partition, write: number });
    }

    /// A commit or delete came back.
    fn returned(&mut self, op: u64, outcome: Outcome, ledger: &mut Ledger) {
        let now = self.now(ledger);
        match self.open.remove(&op) {
            Some(Open::Delete { partition }) => {
                self.partitions[partition].deletion_returned(outcome, now);
            }
            Some(Open::Write { partition, write }) => {
                let of = self.partitions[partition].write(write).map(|write| write.txn);
                match of {
                    Some(Some(txn)) => {
                        self.write_returned((partition, write), txn, outcome, ledger);
                    }
                    Some(None) => self.partitions[partition].plain_returned(write, outcome, now),
                    None => {}
                }
            }
            Some(Open::Fetch(_)) | None => {}
        }
    }

    /// A commit in a transaction came back.
    fn write_returned(
        &mut self,
        (place, number): (usize, u64),
        txn: u64,
        outcome: Outcome,
        ledger: &mut Ledger,
    ) {
        let now = self.now(ledger);
        let partition = &mut self.partitions[place];
        let Some(write) = partition.write_mut(number) else { return };
        write.outcome = Some((outcome, now.at));
        match outcome {
            Outcome::Unknown => {}
            Outcome::Refused => self.refused_though_seen(place, number, ledger),
            Outcome::Ok => {
                write.append_by(now);
                let due = Due { sent: write.sent.position, write: number };
                let Some(of) = self.txns.get_mut(&txn) else { return };
                if of.asked.is_none() && of.writes.get(&place).is_none_or(|newest| *newest < due) {
                    if let Some(before) = of.writes.insert(place, due) {
                        partition.waits_no_more(before);
                    }
                    if of.aborted.is_none() {
                        partition.waits(due, txn, now);
                    }
                }
                let (id, producer, begun) = (of.id.clone(), (of.producer, of.epoch), of.begun);
                self.acknowledged_though_fenced(place, number, ledger);
                self.over_before(&id, producer, begun);
            }
        }
    }

    /// The producer was told who it is, or has written in a transaction begun then: its coordinator
    /// lets it do either only when what it had begun before has ended everywhere.
    fn over_before(&mut self, id: &Name, (producer, epoch): (i64, i16), then: Moment) {
        let Some(under_way) = self.under_way.get_mut(id) else { return };
        let (txns, partitions) = (&mut self.txns, &mut self.partitions);
        under_way.retain(|number| {
            let Some(txn) = txns.get_mut(number) else { return false };
            // Of another producer's nothing is said: who has taken it over may have begun since.
            let is_over = txn.producer == producer && txn.epoch <= epoch && txn.begun < then;
            if is_over {
                txn.over = Some(self.position);
                for (&place, due) in txn.writes.iter().filter(|_| txn.known) {
                    partitions[place].must_show_for_good(*due);
                }
            }
            !is_over
        });
    }

    /// A fetch came back with an answer.
    fn fetched(&mut self, fetch: &Fetch, gave: Option<(i64, u64)>, ledger: &mut Ledger) {
        let (now, place) = (self.now(ledger), fetch.partition);
        let answer = Answer {
            client: fetch.client.clone(),
            partition: place,
            stable: fetch.stable,
            sent: fetch.sent.at,
            at: now.at,
            gave,
        };
        let partition = &mut self.partitions[place];
        let number = gave.map(|(_, write)| write);
        if let Some(number) = number {
            let Some(write) = partition.write_mut(number) else { return };
            write.append_by(now);
            if let Some(txn) = write.txn {
                if write.outcome.is_none() && write.early.is_none() {
                    write.early = Some(answer.clone());
                }
                if !self.may_be_seen(txn, (place, number), &answer, ledger) {
                    return;
                }
            }
        }
        self.is_new_enough(fetch, &answer, ledger);
        if let Some(number) = number {
            self.partitions[place].gave(number, (&answer.client, now.at));
        }
    }
}

impl Write {
    /// A plain write.
    fn new(client: &Name, offset: i64, sent: Moment) -> Write {
        Write {
            client: client.clone(),
            offset,
            txn: None,
            sent,
            appended: None,
            outcome: None,
            fence: None,
            early: None,
        }
    }
}
