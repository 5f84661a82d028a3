//! What breaks the promise, and the evidence for it.

use super::{
    Fetch, Transactions,
    answer::{Answer, Sign},
    partition::TooOld,
    transaction::{Commit, Txn},
};
use crate::{
    event::{Name, Outcome},
    ledger::Ledger,
    promise::Promise,
};

const PROMISE: Promise = Promise::TxnIsolation;

impl Transactions {
    /// A request to commit the transaction was answered.
    pub(super) fn commit_answered(&mut self, number: u64, outcome: Outcome, ledger: &mut Ledger) {
        let Some(txn) = self.txns.get_mut(&number) else { return };
        match txn.answered(outcome, ledger.now()) {
            Commit::Open => {}
            Commit::Unexplained(sign) => self.must_not_show(number, &sign, ledger),
            Commit::Done(fence) => {
                if self.producers.knows(&txn.id, txn.producer) {
                    ledger.check(PROMISE);
                }
                let now = ledger.now();
                if let Some(fence) = fence {
                    ledger.broke(PROMISE, &txn.id, || {
                        let who = txn.who();
                        let told = format!("the commit of {who} was acknowledged at {now}");
                        vec![told, format!("before it was asked for, {}", fence.sentence())]
                    });
                }
                if let Some(at) = txn.aborted {
                    ledger.broke(PROMISE, &txn.id, || {
                        let who = txn.who();
                        let told = format!("the commit of {who} was acknowledged at {now}");
                        vec![told, format!("its abort was acknowledged at {at}")]
                    });
                    return;
                }
                self.known(number, ledger);
            }
        }
    }

    /// The abort of the transaction was acknowledged.
    pub(super) fn aborted(&mut self, number: u64, ledger: &mut Ledger) {
        let now = ledger.now();
        let Some(txn) = self.txns.get_mut(&number) else { return };
        ledger.check(PROMISE);
        txn.aborted = txn.aborted.or(Some(now));
        for (&place, due) in &txn.writes {
            self.partitions[place].waits_no_more(*due);
        }
        if let Some(at) = txn.committed {
            ledger.broke(PROMISE, &txn.id, || {
                let told = format!("the abort of {} was acknowledged at {now}", txn.who());
                vec![told, format!("its commit was acknowledged at {at}")]
            });
        } else if let Some(sign) = txn.sign().cloned() {
            self.must_not_show(number, &sign, ledger);
        }
    }

    /// Whether the answer may give a write of that transaction.
    pub(super) fn may_be_seen(
        &mut self,
        txn: u64,
        (place, number): (usize, u64),
        answer: &Answer,
        ledger: &mut Ledger,
    ) -> bool {
        let partition = &self.partitions[place];
        let Some(write) = partition.write(number) else { return false };
        if write.is_refused() {
            ledger.check(PROMISE);
            self.refused_but_seen(place, number, answer, ledger);
            return false;
        }
        let appended = write.appended;
        if !self.committed_as_seen(txn, Sign::Answer(answer.clone()), ledger) {
            return false;
        }
        let Some(txn) = self.txns.get(&txn) else { return false };
        let last = txn.writes.get(&place);
        let replaced = last.filter(|last| appended.is_some_and(|by| by.position < last.sent));
        let Some(last) = replaced else { return true };
        let partition = &self.partitions[place];
        ledger.broke(PROMISE, &partition.group, || {
            let mut told = self.about(place, &[number, last.write]);
            told.push(answer.sentence());
            told.push("the later write of the same transaction replaces the other".to_owned());
            told
        });
        false
    }

    /// There is a sign that the transaction has committed. Whether it may have.
    pub(super) fn committed_as_seen(
        &mut self,
        number: u64,
        sign: Sign,
        ledger: &mut Ledger,
    ) -> bool {
        let Some(txn) = self.txns.get_mut(&number) else { return false };
        ledger.check(PROMISE);
        if !txn.may_have_committed() {
            self.must_not_show(number, &sign, ledger);
            return false;
        }
        let place = match &sign {
            Sign::Answer(answer) => Some(answer.partition),
            Sign::Effect { .. } => None,
        };
        txn.show(sign);
        if let Some(place) = place {
            self.in_view(number, place);
        }
        self.known(number, ledger);
        true
    }

    /// A write of the transaction was seen there: its writes to the group's other partitions are
    /// visible as well.
    fn in_view(&mut self, number: u64, seen: usize) {
        let group = self.partitions[seen].group.clone();
        let Some(txn) = self.txns.get_mut(&number) else { return };
        if !txn.groups.insert(group.clone()) {
            return;
        }
        for (&place, due) in &txn.writes {
            let partition = &mut self.partitions[place];
            if partition.group == group && place != seen {
                partition.must_show_to_all(*due);
            }
        }
    }

    /// Whether the answer is as new as what was seen and committed when the fetch was sent.
    pub(super) fn is_new_enough(&mut self, fetch: &Fetch, answer: &Answer, ledger: &mut Ledger) {
        let place = fetch.partition;
        if !self.partitions[place].is_transactional() {
            return;
        }
        let gave = answer.gave.map(|(_, write)| write);
        let bounds = (&fetch.bounds, fetch.stable);
        let (found, compared) = self.partitions[place].too_old(bounds, gave);
        for _ in 0..compared {
            ledger.check(PROMISE);
        }
        if let Some(found) = found {
            let group = &self.partitions[place].group;
            ledger.broke(PROMISE, group, || self.too_old(place, answer, &found));
            return;
        }
        if fetch.stable {
            let sent = fetch.sent.position;
            for (txn, write) in self.partitions[place].overlooked(gave, sent) {
                if let Some(txn) = self.txns.get_mut(&txn) {
                    txn.overlooked.get_or_insert_with(|| (answer.clone(), write));
                }
            }
        }
    }

    /// A stable fetch was refused: something must have been under way since it was sent.
    pub(super) fn refused_as_unstable(&mut self, fetch: &Fetch, ledger: &mut Ledger) {
        let partition = &self.partitions[fetch.partition];
        if !partition.is_transactional() {
            return;
        }
        ledger.check(PROMISE);
        let sent = fetch.sent.position;
        let is_over =
            |txn: u64| self.txns.get(&txn).and_then(|it| it.over).is_some_and(|it| it < sent);
        if partition.is_changing(sent, is_over) {
            return;
        }
        let (now, Fetch { client, sent, .. }) = (ledger.now(), fetch);
        ledger.broke(PROMISE, &partition.group, || {
            vec![
                format!("{} of {}:", partition.name, partition.group),
                format!("a stable fetch of {client}, sent at {}, was refused at {now}", sent.at),
                "no commit was under way any more, and every transaction that wrote there had \
                 ended everywhere"
                    .to_owned(),
            ]
        });
    }

    /// A write in a transaction was refused; nobody may have seen it.
    pub(super) fn refused_though_seen(&self, place: usize, number: u64, ledger: &mut Ledger) {
        let write = self.partitions[place].write(number);
        if let Some(answer) = write.and_then(|write| write.early.as_ref()) {
            ledger.check(PROMISE);
            self.refused_but_seen(place, number, answer, ledger);
        }
    }

    /// A write in a transaction was acknowledged; its producer must not have been fenced when it was
    /// sent.
    pub(super) fn acknowledged_though_fenced(
        &self,
        place: usize,
        number: u64,
        ledger: &mut Ledger,
    ) {
        let partition = &self.partitions[place];
        let Some(write) = partition.write(number) else { return };
        let Some(txn) = write.txn.and_then(|txn| self.txns.get(&txn)) else { return };
        if self.producers.knows(&txn.id, txn.producer) {
            ledger.check(PROMISE);
        }
        if let Some(fence) = &write.fence {
            ledger.broke(PROMISE, &partition.group, || {
                let mut told = self.about(place, &[number]);
                told.push(format!("that is {}", txn.who()));
                told.push(format!("before it was sent, {}", fence.sentence()));
                told
            });
        }
    }

    /// It is certain that the transaction has committed.
    fn known(&mut self, number: u64, ledger: &mut Ledger) {
        let Some(txn) = self.txns.get_mut(&number).filter(|txn| !txn.known) else { return };
        txn.known = true;
        for (&place, due) in &txn.writes {
            let partition = &mut self.partitions[place];
            partition.waits_no_more(*due);
            partition.must_show(*due);
            if txn.over.is_some() {
                partition.must_show_for_good(*due);
            }
        }
        let Some(txn) = self.txns.get(&number) else { return };
        if txn.writes.is_empty() {
            return;
        }
        ledger.check(PROMISE);
        let Some((answer, write)) = &txn.overlooked else { return };
        let place = answer.partition;
        ledger.broke(PROMISE, &self.partitions[place].group, || {
            let mut told = self.about(place, &[*write]);
            told.extend([answer.sentence(), txn.why_known()]);
            told.push("a stable fetch is refused until that write is visible".to_owned());
            told
        });
    }

    /// The transaction can't have committed, and yet there is that sign.
    fn must_not_show(&self, number: u64, sign: &Sign, ledger: &mut Ledger) {
        let Some(txn) = self.txns.get(&number) else { return };
        let subject = self.subject(sign);
        ledger.broke(PROMISE, subject, || {
            let mut told = match sign {
                Sign::Answer(Answer { partition, gave, .. }) => {
                    let write = gave.map(|(_, write)| write);
                    self.about(*partition, write.as_slice())
                }
                Sign::Effect { .. } => vec![format!("by transaction {number}:")],
            };
            told.extend([sign.sentence(), txn.why_not()]);
            told.extend(self.carrier(txn));
            told
        });
    }

    /// The later transaction of the same producer that may have carried this one's writes along.
    fn carrier(&self, txn: &Txn) -> Option<String> {
        let carrier = self.txns.get(self.last_asked.get(&txn.producer)?)?;
        let asked = carrier.asked.filter(|_| carrier.begun > txn.begun)?;
        Some(format!(
            "transaction {} of the same producer may have carried it along: its commit was asked \
             for at {}",
            carrier.number, asked.at
        ))
    }

    fn refused_but_seen(&self, place: usize, number: u64, answer: &Answer, ledger: &mut Ledger) {
        ledger.broke(PROMISE, &self.partitions[place].group, || {
            let mut told = self.about(place, &[number]);
            told.push(answer.sentence());
            told.push("a refused commit must have no effect".to_owned());
            told
        });
    }

    fn too_old(&self, place: usize, answer: &Answer, found: &TooOld) -> Vec<String> {
        let due = match found {
            TooOld::Lost(due)
            | TooOld::Apart(due)
            | TooOld::Over(due)
            | TooOld::Overwrites(due)
            | TooOld::Back(due, ..) => *due,
        };
        let gave = answer.gave.map(|(_, write)| write);
        let writes: Vec<u64> = gave.into_iter().chain([due]).collect();
        let mut told = self.about(place, &writes);
        let partition = &self.partitions[place];
        let txn = partition.write(due).and_then(|write| self.txns.get(&write.txn?));
        match (found, txn.map(|txn| (txn, txn.sign()))) {
            (TooOld::Back(_, client, at), _) => {
                told.push(format!("{client} had been given write {due} at {at}"))
            }
            (TooOld::Apart(_), Some((txn, Some(sign)))) => told.push(format!(
                "{} had come into view in {}: {}",
                txn.who(),
                partition.group,
                sign.sentence()
            )),
            (TooOld::Over(_), Some((txn, _))) => {
                told.push(txn.why_known());
                told.push("before the fetch was sent, its producer was let begin anew".to_owned());
            }
            (TooOld::Lost(_) | TooOld::Apart(_), Some((txn, _))) => told.push(txn.why_known()),
            (TooOld::Overwrites(_), _)
            | (TooOld::Lost(_) | TooOld::Apart(_) | TooOld::Over(_), None) => {}
        }
        told.push(answer.sentence());
        told.push(match gave {
            Some(gave) => format!("write {gave} is certainly older than write {due}"),
            None => format!("write {due} is missing, and nobody deleted it"),
        });
        told
    }

    /// The partition, and these writes to it.
    fn about(&self, place: usize, writes: &[u64]) -> Vec<String> {
        let partition = &self.partitions[place];
        let mut told = vec![format!("{} of {}:", partition.name, partition.group)];
        let known = writes.iter().filter_map(|&number| Some((number, partition.write(number)?)));
        told.extend(known.map(|(number, write)| write.sentence(number)));
        told
    }

    fn subject<'a>(&'a self, sign: &'a Sign) -> &'a Name {
        match sign {
            Sign::Answer(answer) => &self.partitions[answer.partition].group,
            Sign::Effect { group, .. } => group,
        }
    }
}
