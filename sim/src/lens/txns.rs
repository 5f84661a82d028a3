//! Transactions, as clients and the output see them, in the words of the model.

use std::sync::Arc;

use kaas_coordinator::{
    api::{
        EndTxnRequest, ErrorCode, InitProducerIdResponse, Producer, Request, TxnOffsetCommitRequest,
    },
    ids::TopicPartition,
};
use model::{Name, Outcome, What};

use super::{Lens, asked::Asked, outcome_of, write_of};
use crate::output::Effect;

impl Lens {
    /// A client begins a transaction; returns its number in this run.
    pub fn txn_begins(&mut self, client: &Name, producer: Producer) -> u64 {
        self.txns += 1;
        let txn = self.txns;
        self.open_txns.insert(client.clone(), txn);
        self.has_begun(client);
        let (producer, epoch) = (producer.id, producer.epoch);
        // A client is its own transactional id.
        let (id, client) = (client.clone(), client.clone());
        self.see(What::TxnBegun { txn, id, client, producer, epoch });
        txn
    }

    /// A broker asks a broker.
    pub fn peer_asked(&mut self, request: u64, broker: &Name, body: &Request) {
        self.asked.insert(request, Asked::new(broker, body, self.round));
    }

    /// A broker has heard from a broker.
    pub fn peer_heard(&mut self, request: u64) {
        self.asked.remove(&request);
    }

    /// What a transaction made of some records counts from now on.
    pub fn effect_counted(&mut self, effect: &Effect) {
        let partition = self.partition(&effect.partition);
        let known = self.processed.entry(Arc::clone(&effect.group)).or_default();
        known.insert(effect.partition.clone());
        let (txn, group) = (effect.txn, Arc::clone(&effect.group));
        let (from, to) = (effect.from, effect.to);
        self.see(What::EffectCounted { txn, group, partition, from, to });
    }

    pub(super) fn commit_in_txn_sent(&mut self, asked: &mut Asked, it: &TxnOffsetCommitRequest) {
        let Some(&txn) = self.open_txns.get(&asked.client) else { return };
        asked.txn = Some(txn);
        let group = it.group.shared();
        for commit in &it.offsets {
            let op = self.next_op();
            let partition = self.partition(&commit.partition);
            let known = self.committed.entry(Arc::clone(&group)).or_default();
            known.insert(commit.partition.clone());
            asked.ops.push((op, commit.partition.clone()));
            self.see(What::TxnCommitInvoked {
                op,
                txn,
                group: Arc::clone(&group),
                partition,
                write: write_of(&commit.metadata).expect("clients name their writes"),
                offset: commit.offset,
            });
        }
    }

    pub(super) fn end_sent(&mut self, asked: &mut Asked, it: &EndTxnRequest) {
        let Some(&txn) = self.open_txns.get(&asked.client) else { return };
        asked.txn = Some(txn);
        asked.commits = it.commit;
        self.see(What::TxnEndInvoked { txn, commit: it.commit });
    }

    pub(super) fn commit_in_txn_received(
        &mut self,
        asked: &Asked,
        verdicts: &[(TopicPartition, ErrorCode)],
    ) {
        for ((op, _), (_, error)) in asked.ops.iter().zip(verdicts) {
            self.see(What::Returned { op: *op, outcome: outcome_of(*error) });
        }
    }

    pub(super) fn end_received(&mut self, asked: &Asked, error: ErrorCode) {
        let (Some(txn), commit) = (asked.txn, asked.commits) else { return };
        self.see(What::TxnEndReturned { txn, commit, outcome: outcome_of(error) });
    }

    pub(super) fn producer_received(&mut self, asked: &Asked, it: &InitProducerIdResponse) {
        if !it.error.is_none() {
            return;
        }
        let (id, client) = (asked.client.clone(), asked.client.clone());
        let (producer, epoch) = (it.producer.id, it.producer.epoch);
        let anew = !asked.names_producer;
        self.see(What::ProducerReady { id, client, producer, epoch, anew });
    }

    /// An attempt to commit or end came to nothing that the client knows of.
    pub(super) fn txn_unanswered(&mut self, asked: &Asked) {
        match asked.what {
            "txn-commit" => {
                for (op, _) in &asked.ops {
                    self.see(What::Returned { op: *op, outcome: Outcome::Unknown });
                }
            }
            "end" => {
                let Some(txn) = asked.txn else { return };
                let outcome = Outcome::Unknown;
                self.see(What::TxnEndReturned { txn, commit: asked.commits, outcome });
            }
            _ => {}
        }
    }

    /// Whether the examiner has no answer yet about a group of which anything was processed.
    pub fn misses_an_answer(&self) -> bool {
        let mut groups = self.processed.keys().filter(|group| !self.is_excused(group));
        groups.any(|group| !self.answered_to_examiner.contains(group))
    }

    /// What was processed of each input, now that everything has come to rest.
    pub fn processed_at_end(&mut self) {
        for (group, partitions) in std::mem::take(&mut self.processed) {
            if self.is_excused(&group) {
                continue;
            }
            for it in partitions {
                let upto = self.examined.get(&(Arc::clone(&group), it.clone())).copied();
                let partition = self.partition(&it);
                self.see(What::ProcessedAtEnd { group: Arc::clone(&group), partition, upto });
            }
        }
    }
}
