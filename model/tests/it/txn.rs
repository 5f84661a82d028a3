//! Stories of transactions: whose offsets show, and when. And random ones, of implementations honest
//! and not.

mod effects;
mod fate;
mod order;
mod over;
mod producers;
mod random;
mod reference;
mod unstable;

use crate::story::{Story, name};
use model::{
    Outcome,
    Promise::{self, OffsetDurability, TxnIsolation},
    What,
};

/// Producers at work on group `g`; one call is ten milliseconds. A write has the number of its
/// operation.
struct Work {
    story: Story,
    now: u64,
    ops: u64,
}

impl Work {
    fn new() -> Work {
        Work { story: Story::new(), now: 1000, ops: 0 }
    }

    /// Transaction 1 of `c1`, who is producer 5, epoch 0, of `pay`.
    fn begun() -> Work {
        let mut work = Work::new();
        work.ready("c1", 5, 0).begins(1, "c1", 5, 0);
        work
    }

    fn see(&mut self, what: What) -> &mut Work {
        self.now += 10;
        self.story.at(self.now).see(what);
        self
    }

    fn op(&mut self) -> u64 {
        self.ops += 1;
        self.ops
    }

    fn ready_for(&mut self, id: &str, client: &str, producer: i64, epoch: i16) -> &mut Work {
        let (id, client) = (name(id), name(client));
        self.see(What::ProducerReady { id, client, producer, epoch, anew: false })
    }

    fn ready_anew(&mut self, client: &str, producer: i64, epoch: i16) -> &mut Work {
        let (id, client) = (name("pay"), name(client));
        self.see(What::ProducerReady { id, client, producer, epoch, anew: true })
    }

    fn ready(&mut self, client: &str, producer: i64, epoch: i16) -> &mut Work {
        self.ready_for("pay", client, producer, epoch)
    }

    fn begins(&mut self, txn: u64, client: &str, producer: i64, epoch: i16) -> &mut Work {
        let (id, client) = (name("pay"), name(client));
        self.see(What::TxnBegun { txn, id, client, producer, epoch })
    }

    /// The transaction sends a write to the partition.
    fn sends(&mut self, txn: u64, partition: &str, offset: i64) -> u64 {
        let (op, group, partition) = (self.op(), name("g"), name(partition));
        self.see(What::TxnCommitInvoked { op, txn, group, partition, write: op, offset });
        op
    }

    fn returns(&mut self, op: u64, outcome: Outcome) -> &mut Work {
        self.see(What::Returned { op, outcome })
    }

    /// The transaction has a write to the partition acknowledged.
    fn writes(&mut self, txn: u64, partition: &str, offset: i64) -> u64 {
        let op = self.sends(txn, partition, offset);
        self.returns(op, Outcome::Ok);
        op
    }

    /// A commit outside of any transaction is sent.
    fn sends_plain(&mut self, partition: &str, offset: i64) -> u64 {
        let (op, client, group, partition) = (self.op(), name("c9"), name("g"), name(partition));
        self.see(What::CommitInvoked { op, client, group, partition, write: op, offset });
        op
    }

    /// A commit outside of any transaction, acknowledged.
    fn commits(&mut self, partition: &str, offset: i64) -> u64 {
        let op = self.sends_plain(partition, offset);
        self.returns(op, Outcome::Ok);
        op
    }

    fn deletes(&mut self, partition: &str, outcome: Outcome) -> &mut Work {
        let (op, client, group, partition) = (self.op(), name("c9"), name("g"), name(partition));
        self.see(What::DeleteInvoked { op, client, group, partition });
        self.returns(op, outcome)
    }

    fn asks(&mut self, txn: u64) -> &mut Work {
        self.see(What::TxnEndInvoked { txn, commit: true })
    }

    fn hears(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.see(What::TxnEndReturned { txn, commit: true, outcome })
    }

    /// The commit of the transaction is asked for, with that outcome.
    fn ends(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.asks(txn).hears(txn, outcome)
    }

    fn aborts(&mut self, txn: u64, outcome: Outcome) -> &mut Work {
        self.see(What::TxnEndInvoked { txn, commit: false });
        self.see(What::TxnEndReturned { txn, commit: false, outcome })
    }

    /// A plain fetch is sent.
    fn asks_for(&mut self, partition: &str) -> u64 {
        let (op, client, group, partition) = (self.op(), name("c2"), name("g"), name(partition));
        self.see(What::FetchInvoked { op, client, group, partition });
        op
    }

    fn asks_stable(&mut self, partition: &str) -> u64 {
        let op = self.asks_for(partition);
        self.see(What::FetchIsStable { op });
        op
    }

    fn refused(&mut self, op: u64) -> &mut Work {
        self.see(What::FetchUnstable { op })
    }

    /// A stable fetch, refused.
    fn refuses(&mut self, partition: &str) -> &mut Work {
        let op = self.asks_stable(partition);
        self.refused(op)
    }

    fn given(&mut self, op: u64, value: Option<(i64, u64)>) -> &mut Work {
        self.see(What::Fetched { op, value })
    }

    /// A plain fetch, answered.
    fn gets(&mut self, partition: &str, value: Option<(i64, u64)>) -> &mut Work {
        let op = self.asks_for(partition);
        self.given(op, value)
    }

    /// A stable fetch, answered.
    fn gets_stable(&mut self, partition: &str, value: Option<(i64, u64)>) -> &mut Work {
        let op = self.asks_stable(partition);
        self.given(op, value)
    }

    fn counts(&mut self, txn: u64, from: i64, to: i64) -> &mut Work {
        let (group, partition) = (name("g"), name("in/0"));
        self.see(What::EffectCounted { txn, group, partition, from, to })
    }

    fn stands(&mut self, upto: Option<i64>) -> &mut Work {
        let (group, partition) = (name("g"), name("in/0"));
        self.see(What::ProcessedAtEnd { group, partition, upto })
    }

    fn keeps(&self) {
        self.story.keeps(TxnIsolation);
        assert_eq!(self.story.report().undecided, 0);
    }

    /// Only this promise broke; the evidence.
    fn breaks(&self) -> String {
        self.breaks_all(&[TxnIsolation])
    }

    /// offset-durability broke as well; the evidence of both.
    fn breaks_both(&self) -> String {
        self.breaks_all(&[OffsetDurability, TxnIsolation])
    }

    fn breaks_all(&self, promises: &[Promise]) -> String {
        assert_eq!(self.story.breaks(), promises, "{}", self.story.evidence());
        self.story.evidence()
    }

    fn checks(&self) -> u64 {
        self.story.report().checked[&TxnIsolation]
    }
}
