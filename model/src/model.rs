//! The model as its users see it: give it events, ask it what broke.
//!
//! It only hands each event to the checkers concerned. Most promises are judged as the events come;
//! durability of offsets is judged at the end, because a later answer may still explain an earlier
//! one.
//!
//! Always: an event it can make nothing of (an answer to nothing, a view never defined) changes
//! nothing.

use crate::{
    ending::{Ending, GroupAtEnd},
    event::{Event, Micros, Name, What},
    generations::{Generations, Join, Sync},
    ledger::Ledger,
    listing::Rounds,
    memory,
    offsets::Offsets,
    ownership::{Answer, Ownership},
    promise::{Limits, Report, Violation},
    replies::Replies,
    sight::World,
    txn::Transactions,
    volume::Volume,
};

/// Judges one history.
#[derive(Debug)]
pub struct Model {
    limits: Limits,
    ledger: Ledger,
    world: World,
    ownership: Ownership,
    rounds: Rounds,
    offsets: Offsets,
    generations: Generations,
    transactions: Transactions,
    replies: Replies,
    volume: Volume,
    ending: Ending,
    settled: bool,
}

impl Model {
    /// A model that has seen nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Model {
        Model {
            limits,
            ledger: Ledger::new(),
            world: World::default(),
            ownership: Ownership::default(),
            rounds: Rounds::default(),
            offsets: Offsets::default(),
            generations: Generations::default(),
            transactions: Transactions::default(),
            replies: Replies::default(),
            volume: Volume::default(),
            ending: Ending::default(),
            settled: false,
        }
    }

    /// Takes note of the next event. Events come in the order of the world.
    pub fn observe(&mut self, event: &Event) {
        self.ledger.set_now(event.at);
        self.offsets.step();
        self.generations.step();
        let what = &event.what;
        match what {
            What::BrokerStarted { .. }
            | What::BrokerStopped { .. }
            | What::BrokerPaused { .. }
            | What::BrokerResumed { .. }
            | What::ViewDefined { .. }
            | What::FileShows { .. }
            | What::LeaseShows { .. }
            | What::ViewApplied { .. }
            | What::Unreachable { .. } => self.broker(what),
            What::Served { .. }
            | What::Located { .. }
            | What::Listed { .. }
            | What::Census { .. }
            | What::Settled
            | What::RequestArrived { .. }
            | What::RequestAnswered { .. }
            | What::RequestVoid { .. } => self.answer(what),
            What::CommitInvoked { .. }
            | What::CommitFollows { .. }
            | What::DeleteInvoked { .. }
            | What::Returned { .. }
            | What::FetchInvoked { .. }
            | What::Fetched { .. }
            | What::FetchFailed { .. }
            | What::FileChanged { .. }
            | What::FileLost { .. }
            | What::GroupAtEnd { .. } => self.client(what),
            What::FetchIsStable { .. }
            | What::FetchUnstable { .. }
            | What::ProducerReady { .. }
            | What::TxnBegun { .. }
            | What::TxnCommitInvoked { .. }
            | What::TxnEndInvoked { .. }
            | What::TxnEndReturned { .. }
            | What::EffectCounted { .. }
            | What::ProcessedAtEnd { .. } => self.transaction(what),
            What::MemberIdIssued { .. }
            | What::InstanceListed { .. }
            | What::JoinAnswered { .. }
            | What::JoinSent { .. }
            | What::MemberLeft { .. }
            | What::SyncSent { .. }
            | What::SyncAnswered { .. }
            | What::CommitArrived { .. }
            | What::CommitAccepted { .. }
            | What::HeartbeatArrived { .. }
            | What::HeartbeatAnswered { .. } => self.group(what),
        }
        if let Some((broker, local)) = clock_of(what) {
            self.replies.clock(broker, local, &mut self.ledger);
        }
    }

    /// What broke so far, apart from what is judged at the end.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        self.ledger.violations()
    }

    /// Ends the history and judges what can only be judged whole.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.replies.finish(&self.limits, &mut self.ledger);
        self.offsets.finish(&self.limits, &mut self.ledger);
        self.ledger.into_report()
    }
}

/// Each of these takes its share of the vocabulary; `observe` names them all.
impl Model {
    #[expect(clippy::wildcard_enum_match_arm, reason = "its share is named in `observe`")]
    fn broker(&mut self, what: &What) {
        let Model { world, replies, ledger, .. } = self;
        match what {
            What::BrokerStarted { broker, local } => {
                world.sight_mut(broker).start(*local);
                replies.started(broker, *local, ledger.now());
                self.ownership.started(broker);
            }
            What::BrokerStopped { broker } => {
                replies.stopped(broker);
                self.generations.broker_stopped(broker);
            }
            What::BrokerPaused { broker, local } => replies.paused(broker, *local),
            What::BrokerResumed { broker, local } => replies.resumed(broker, *local),
            What::ViewDefined { view, epoch, version, brokers, explicit } => {
                world.define(*view, (*epoch, *version), brokers, explicit);
            }
            What::FileShows { broker, view, local } => {
                world.sight_mut(broker).show_file(*local, *view);
            }
            What::LeaseShows { broker, epoch, local } => {
                world.sight_mut(broker).show_lease(*local, *epoch);
            }
            What::ViewApplied { broker, epoch, version, local } => {
                Ownership::applied(world, broker, *local, (*epoch, *version), ledger);
            }
            What::Unreachable { broker } => self.ending.unreachable(broker),
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "its share is named in `observe`")]
    fn answer(&mut self, what: &What) {
        let Model { limits, ledger, world, replies, settled, .. } = self;
        let now = ledger.now();
        match what {
            What::Served { broker, local, key, kind, what } => {
                let answer = Answer { broker, local: *local, kind: *kind, key, what };
                self.ownership.served(world, limits, answer, ledger);
            }
            What::Located { broker, local, key, kind, coordinator: Some(coordinator) } => {
                let answer = Answer { broker, local: *local, kind: *kind, key, what: "find" };
                self.ownership.located(world, limits, answer, coordinator, ledger);
            }
            What::Listed { broker, local, round, groups, complete: _ } => {
                let (round, by) = ((*round, groups.as_slice()), (broker, *local));
                self.rounds.listed(world, (limits, *settled), by, round, ledger);
            }
            What::Census { broker, local, held } => {
                memory::census(world, limits, *settled, (broker, *local), held, ledger);
            }
            What::Settled => *settled = true,
            What::RequestArrived { request, broker, local, bound, what } => {
                replies.arrived(*request, (broker, *local), *bound, what, now);
            }
            What::RequestAnswered { request, local } => replies.answered(*request, *local, ledger),
            What::RequestVoid { request } => replies.void(*request),
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "its share is named in `observe`")]
    fn client(&mut self, what: &What) {
        let Model { offsets, ledger, world, ending, .. } = self;
        self.transactions.observe(what, ledger);
        let now = ledger.now();
        match what {
            What::CommitFollows { op, after } => offsets.commit_follows(*op, *after),
            What::CommitInvoked { op, client, group, partition, write, offset } => {
                let value = (*write, *offset);
                offsets.commit_invoked(*op, client, (group, partition), value, now);
            }
            What::DeleteInvoked { op, client, group, partition } => {
                offsets.delete_invoked(*op, client, (group, partition), now);
            }
            What::Returned { op, outcome } => {
                offsets.returned(*op, *outcome, now);
                self.generations.commit_returned(*op, *outcome);
            }
            What::FetchInvoked { op, client, group, partition } => {
                offsets.fetch_invoked(*op, client, (group, partition), now);
            }
            What::Fetched { op, value } => offsets.fetched(*op, *value, now),
            What::FetchFailed { op } => offsets.fetch_failed(*op),
            What::FileChanged { path, group } => {
                self.volume.changed(path, group.as_ref(), ledger);
                ending.file_changed(group.as_ref());
            }
            What::FileLost { group } => ending.file_lost(group),
            What::GroupAtEnd { group, partitions, held, pending } => {
                let at_end = GroupAtEnd { group, partitions, held, pending: pending.as_ref() };
                ending.group_at_end(at_end, world, ledger);
            }
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "its share is named in `observe`")]
    fn transaction(&mut self, what: &What) {
        let Model { offsets, ledger, .. } = self;
        self.transactions.observe(what, ledger);
        match what {
            What::TxnBegun { txn, id, client, .. } => {
                offsets.txn_begun(*txn, client);
                self.ending.begins(client, id);
            }
            What::TxnCommitInvoked { op, txn, group, partition, write, offset } => {
                let value = (*write, *offset);
                offsets.txn_commit_invoked(*op, *txn, (group, partition), value, ledger.now());
            }
            What::TxnEndInvoked { txn, commit: true } => {
                offsets.txn_commits(*txn, ledger.now());
            }
            What::FetchUnstable { op } => offsets.fetch_failed(*op),
            _ => {}
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "its share is named in `observe`")]
    fn group(&mut self, what: &What) {
        let Model { limits, generations, ledger, .. } = self;
        match what {
            What::MemberIdIssued { group, client, member } => {
                generations.issued(group, client, member, ledger);
            }
            What::InstanceListed { group, reign, member, instance } => {
                generations.listed((group, *reign), member, instance);
            }
            What::JoinAnswered { reign, .. } => {
                if let Some(join) = Join::of(what) {
                    generations.join_answered(*reign, join, limits, ledger);
                }
            }
            What::SyncSent { broker: _, group, reign, generation, member, assignments } => {
                generations.sync_sent((group, *reign, *generation), member, assignments);
            }
            What::SyncAnswered { reign, .. } => {
                if let Some(sync) = Sync::of(what) {
                    generations.sync_answered(*reign, sync, ledger);
                }
            }
            What::JoinSent { group, member } => generations.join_sent(group, member),
            What::MemberLeft { group, reign, member } => {
                generations.member_left((group, *reign), member, ledger.now());
            }
            What::CommitArrived { op, broker, group, member, generation } => {
                let at = ledger.now();
                generations.commit_arrived(*op, (broker, group), (member, *generation), at);
            }
            What::HeartbeatArrived { request, broker, group, member, generation } => {
                let at = ledger.now();
                let member = (member, *generation);
                generations.heartbeat_arrived(*request, (broker, group), member, at);
            }
            What::HeartbeatAnswered { request, reign, well } => {
                generations.heartbeat_answered(*request, *reign, *well, ledger);
            }
            What::CommitAccepted { op, reign } => {
                generations.commit_accepted(*op, *reign, ledger);
            }
            _ => {}
        }
    }
}

/// The broker whose clock an event reads.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all events with a broker and its clock are named"
)]
fn clock_of(what: &What) -> Option<(&Name, Micros)> {
    match what {
        What::BrokerResumed { broker, local }
        | What::FileShows { broker, local, .. }
        | What::LeaseShows { broker, local, .. }
        | What::ViewApplied { broker, local, .. }
        | What::Served { broker, local, .. }
        | What::Located { broker, local, .. }
        | What::RequestArrived { broker, local, .. }
        | What::Census { broker, local, .. }
        | What::Listed { broker, local, .. } => Some((broker, *local)),
        _ => None,
    }
}
