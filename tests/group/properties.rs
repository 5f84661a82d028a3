//! What any sequence of requests must leave true.
//!
//! Two groups get the same requests. One is ticked when it asks for it, the other at every step of
//! the clock; they must be the same, or a deadline was late. All times are multiples of that step,
//! and some are zero, which must not make a group spin.

use std::{collections::BTreeSet, time::Duration};

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest},
    group::{Reply, Ticket},
    ids::MemberId,
    note::Note,
};
use proptest::prelude::*;

use crate::rig::{Rig, first_join, protocols, static_join};

/// All times of requests are multiples of this.
const UNIT_MILLIS: u64 = 500;
/// The step of the clock; the group's own shortest timer.
const STEP_MILLIS: u64 = 100;

#[derive(Clone, Debug)]
enum Op {
    Join { who: usize, fresh: bool, instance: Option<u8>, version: i16, list: usize, timeout: u64 },
    Sync { who: usize },
    Heartbeat { who: usize },
    Commit { who: usize },
    Leave { who: usize },
    Abandon { ticket: u64 },
    Advance { units: u64 },
    Dissolve,
}

fn op() -> impl Strategy<Value = Op> {
    let who = 0..6_usize;
    prop_oneof![
        8 => (who.clone(), any::<bool>(), prop::option::of(0..2_u8), prop::sample::select(vec![3, 8, 9]),
              0..4_usize, 0..40_u64)
            .prop_map(|(who, fresh, instance, version, list, timeout)|
                Op::Join { who, fresh, instance, version, list, timeout }),
        6 => who.clone().prop_map(|who| Op::Sync { who }),
        4 => who.clone().prop_map(|who| Op::Heartbeat { who }),
        2 => who.clone().prop_map(|who| Op::Commit { who }),
        2 => who.prop_map(|who| Op::Leave { who }),
        2 => (0..60_u64).prop_map(|ticket| Op::Abandon { ticket }),
        6 => (0..40_u64).prop_map(|units| Op::Advance { units }),
        1 => Just(Op::Dissolve),
    ]
}

/// One of the two groups, and what it was asked.
struct Run {
    rig: Rig,
    eager: bool,
    ids: Vec<MemberId>,
    asked: BTreeSet<Ticket>,
    abandoned: BTreeSet<Ticket>,
}

impl Run {
    fn new(eager: bool, delay: u64) -> Self {
        let mut rig = Rig::new();
        rig.config.initial_rebalance_delay = Duration::from_millis(delay * UNIT_MILLIS);
        rig.config.size_max = 4;
        rig.config.newcomers_max = 5;
        let (asked, abandoned) = (BTreeSet::new(), BTreeSet::new());
        Self { rig, eager, ids: Vec::new(), asked, abandoned }
    }

    fn id(&self, who: usize) -> MemberId {
        self.ids.iter().rev().nth(who).cloned().unwrap_or_else(|| "ghost".into())
    }

    fn perform(&mut self, op: &Op) {
        match op {
            Op::Join { who, fresh, instance, version, list, timeout } => {
                let lists: [&[&str]; 4] = [&["x"], &["x", "y"], &["y", "x"], &["y"]];
                let base = match instance {
                    Some(number) => static_join(&format!("i{number}")),
                    None => first_join("dynamic"),
                };
                let request = JoinRequest {
                    member_id: if *fresh { "".into() } else { self.id(*who) },
                    version: *version,
                    protocols: protocols(lists[*list]),
                    rebalance_timeout: Duration::from_millis(timeout * UNIT_MILLIS),
                    session_timeout: Duration::from_millis(6_000 + timeout * UNIT_MILLIS),
                    ..base
                };
                let ticket = self.rig.join(&request);
                self.asked.insert(ticket);
            }
            Op::Sync { who } => {
                let ticket = self.rig.sync(&self.rig.sync_of(&self.id(*who)));
                self.asked.insert(ticket);
            }
            Op::Heartbeat { who } => {
                self.rig.heartbeat(&self.id(*who));
            }
            Op::Commit { who } => {
                let (id, generation) = (self.id(*who), self.rig.group.generation());
                let verdict = self.rig.with(|g, cx| g.check_commit(cx, generation, &id, None));
                let again = self.rig.group.recheck_commit(generation, &id, None);
                let busy = verdict == Err(ErrorCode::RebalanceInProgress);
                assert!(again == verdict || busy && again.is_ok());
            }
            Op::Leave { who } => {
                self.rig.leave(&self.id(*who));
            }
            Op::Abandon { ticket } => {
                let ticket = Ticket(*ticket);
                if self.asked.contains(&ticket) && self.rig.is_parked(ticket) {
                    self.rig.with(|group, cx| group.abandon(cx, ticket));
                    self.abandoned.insert(ticket);
                }
            }
            Op::Advance { units } => self.advance(*units),
            Op::Dissolve => {
                self.rig.with(|group, cx| group.dissolve(cx));
                self.rig.group = kaas_coordinator::group::Group::new("g".into(), None);
            }
        }
        self.learn_ids();
        self.check();
    }

    fn advance(&mut self, units: u64) {
        if !self.eager {
            return self.rig.advance(units * UNIT_MILLIS);
        }
        // What takes no time is due before the clock moves.
        self.rig.with(|group, cx| group.tick(cx));
        for _ in 0..units * UNIT_MILLIS / STEP_MILLIS {
            self.rig.now = self.rig.now + Duration::from_millis(STEP_MILLIS);
            self.rig.with(|group, cx| group.tick(cx));
        }
    }

    fn learn_ids(&mut self) {
        for reply in self.rig.answers.values() {
            let Reply::Join(_, response) = reply else { continue };
            if !response.member_id.is_empty() && !self.ids.contains(&response.member_id) {
                self.ids.push(response.member_id.clone());
            }
        }
    }

    /// Everything asked is answered, abandoned or parked; and the group can be in this state.
    fn check(&self) {
        let group = &self.rig.group;
        let open =
            |ticket: &&Ticket| self.rig.is_parked(**ticket) && !self.abandoned.contains(*ticket);
        assert_eq!(self.asked.iter().filter(open).count(), group.parked());
        assert!(group.parked() <= group.members());
        assert!(self.rig.group.pending_members() <= self.rig.config.newcomers_max);
        assert_eq!(group.leader().is_some(), group.members() > 0);
        let state = group.state().name();
        assert!(state != "Empty" || group.members() == 0, "an Empty group has no members");
        assert!(group.members() == 0 || group.deadline().is_some(), "somebody watches members");
    }

    fn history(&self) -> (Vec<&Note>, Vec<&Reply>) {
        (self.rig.notes.iter().collect(), self.rig.answers.values().collect())
    }
}

/// Kafka's legal transitions; from `Dead` the next object begins.
fn is_legal(from: &str, to: &str) -> bool {
    to == "Dead"
        || matches!(
            (from, to),
            ("Empty" | "Dead" | "CompletingRebalance" | "Stable", "PreparingRebalance")
                | ("PreparingRebalance", "CompletingRebalance" | "Empty")
                | ("CompletingRebalance", "Stable")
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_requests(ops in prop::collection::vec(op(), 1..60), delay in 0..8_u64) {
        let mut lazy = Run::new(false, delay);
        let mut eager = Run::new(true, delay);
        for op in &ops {
            lazy.perform(op);
            eager.perform(op);
            prop_assert_eq!(lazy.history(), eager.history(), "after {:?}", op);
        }
        let (mut state, mut last) = ("Empty", 0);
        for note in &lazy.rig.notes {
            let Note::State { state: next, generation, .. } = note else { continue };
            prop_assert!(is_legal(state, next), "{} to {}", state, next);
            prop_assert!(*generation >= last || state == "Dead");
            (state, last) = (next, *generation);
        }
        lazy.rig.advance(10_000_000);
        prop_assert_eq!(lazy.rig.group.members(), 0, "without signs of life everybody goes");
        prop_assert_eq!(lazy.rig.group.parked(), 0);
    }
}
