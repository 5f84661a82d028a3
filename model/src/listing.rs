//! read-filter: a list of groups names only what its broker may speak for.
//!
//! Each listed group is judged like an answer that speaks for it. Once views are settled the
//! answers of one round are laid side by side: no group twice from different brokers, none that the
//! settled view routes elsewhere. Whether the union is complete is not promised: brokers that do
//! not answer leave holes.
//!
//! Always: only the last few rounds are remembered.

use crate::{
    event::{Kind, Micros, Name},
    ledger::Ledger,
    ownership::{Answer, judge},
    promise::{Limits, Promise},
    sight::World,
};
use std::collections::BTreeMap;

/// How many rounds are remembered.
const ROUNDS: usize = 8;

/// Who listed what, by round, since views are settled.
#[derive(Debug, Default)]
pub(crate) struct Rounds(BTreeMap<u64, BTreeMap<Name, Name>>);

impl Rounds {
    /// A broker listed its groups.
    pub(crate) fn listed(
        &mut self,
        world: &World,
        (limits, settled): (&Limits, bool),
        (broker, local): (&Name, Micros),
        (round, groups): (u64, &[Name]),
        ledger: &mut Ledger,
    ) {
        if world.sight(broker).booting(local, limits.staleness) {
            return;
        }
        for key in groups {
            let answer = Answer { broker, local, kind: Kind::Group, key, what: "list" };
            let fine = judge(world, limits, answer, Promise::ReadFilter, ledger).is_some();
            if settled && fine {
                stranger(world, answer, ledger);
            }
            if settled {
                self.duplicate(round, key, broker, ledger);
            }
        }
    }

    fn duplicate(&mut self, round: u64, group: &Name, broker: &Name, ledger: &mut Ledger) {
        self.0.entry(round).or_default();
        while self.0.len() > ROUNDS {
            self.0.pop_first();
        }
        let Some(listed) = self.0.get_mut(&round) else { return };
        ledger.check(Promise::ReadFilter);
        match listed.get(group) {
            None => {
                listed.insert(group.clone(), broker.clone());
            }
            Some(first) if first == broker => {}
            Some(first) => ledger.broke(Promise::ReadFilter, group, || {
                vec![
                    format!("{first} and {broker} both list {group} in one round (number {round})"),
                    "views are settled, so one broker at most owns it".to_owned(),
                ]
            }),
        }
    }
}

/// Views are settled: a group that the settled view routes elsewhere is not to be listed.
fn stranger(world: &World, answer: Answer<'_>, ledger: &mut Ledger) {
    let Answer { broker, key, .. } = answer;
    let Some(settled) = world.settled(broker) else { return };
    ledger.check(Promise::ReadFilter);
    if world.explains(settled, broker, (Kind::Group, key), broker) {
        return;
    }
    let now = ledger.now();
    ledger.broke(Promise::ReadFilter, key, || {
        let mut told = vec![format!("{broker} lists {key} at {now}, after views have settled")];
        told.extend(world.view(settled).map(|view| view.explain(Kind::Group, key)));
        told
    });
}
