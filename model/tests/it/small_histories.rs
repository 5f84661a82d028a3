//! The judge of offsets against one that tries every order, on every history of up to four
//! operations on a partition.
//!
//! An operation is a commit or delete (acknowledged, refused or of unknown outcome) or a fetch (of
//! nothing, or of any of the commits). Operations are numbered as they are invoked; every
//! interleaving of the returns is taken. Longer ones are drawn at random.

use crate::story::name;
use model::{Event, Limits, Micros, Model, Outcome, Promise, What};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Commit(Outcome),
    Delete(Outcome),
    /// What operation's write it gave.
    Fetch(Option<usize>),
}

/// Operations, and for each invocation (`true`) and return in the order of the world whose it is.
#[derive(Debug, Clone)]
struct History {
    ops: Vec<Op>,
    steps: Vec<(bool, usize)>,
}

impl Op {
    fn returns(self) -> bool {
        !matches!(self, Op::Commit(Outcome::Unknown) | Op::Delete(Outcome::Unknown))
    }
}

impl History {
    /// Whether some order of the operations explains the fetches, found by trying.
    fn explained(&self) -> bool {
        self.search(&mut vec![false; self.ops.len()], None)
    }

    fn search(&self, done: &mut Vec<bool>, value: Option<usize>) -> bool {
        let refused =
            |op: Op| matches!(op, Op::Commit(Outcome::Refused) | Op::Delete(Outcome::Refused));
        let due = |op: usize| self.ops[op].returns() && !refused(self.ops[op]);
        if (0..self.ops.len()).all(|op| done[op] || !due(op)) {
            return true;
        }
        for op in 0..self.ops.len() {
            if done[op] || refused(self.ops[op]) || self.must_wait(op, done) {
                continue;
            }
            let value = match self.ops[op] {
                Op::Commit(_) => Some(op),
                Op::Delete(_) => None,
                Op::Fetch(gave) if gave == value => value,
                Op::Fetch(_) => continue,
            };
            done[op] = true;
            let found = self.search(done, value);
            done[op] = false;
            if found {
                return true;
            }
        }
        false
    }

    /// Whether an operation that is not done had returned before this one was invoked.
    fn must_wait(&self, op: usize, done: &[bool]) -> bool {
        let before = self.steps.iter().take_while(|step| **step != (true, op));
        let refused =
            |op: Op| matches!(op, Op::Commit(Outcome::Refused) | Op::Delete(Outcome::Refused));
        let mut returned = before.filter(|(invoked, _)| !invoked).map(|(_, other)| *other);
        returned.any(|other| !done[other] && !refused(self.ops[other]))
    }

    /// Whether the model finds the history in order.
    fn accepted(&self) -> bool {
        let mut model = Model::new(Limits::default());
        let mut at = Micros(0);
        for &(invoked, op) in &self.steps {
            at = at.plus(Micros::from_millis(1));
            let what = if invoked { self.invocation(op) } else { self.answer(op) };
            model.observe(&Event { at, what });
        }
        let report = model.finish();
        assert_eq!(report.undecided, 0);
        assert!(report.violations.iter().all(|found| found.promise == Promise::OffsetDurability));
        report.violations.is_empty()
    }

    fn invocation(&self, index: usize) -> What {
        let (group, partition, client) = (name("g"), name("t/0"), name("c"));
        let op = index as u64;
        match self.ops[index] {
            Op::Commit(_) => {
                What::CommitInvoked { op, client, group, partition, write: op, offset: 7 }
            }
            Op::Delete(_) => What::DeleteInvoked { op, client, group, partition },
            Op::Fetch(_) => What::FetchInvoked { op, client, group, partition },
        }
    }

    fn answer(&self, index: usize) -> What {
        let op = index as u64;
        match self.ops[index] {
            Op::Commit(outcome) | Op::Delete(outcome) => What::Returned { op, outcome },
            Op::Fetch(gave) => What::Fetched { op, value: gave.map(|write| (7, write as u64)) },
        }
    }
}

/// Every choice of so many operations.
fn choices(len: usize) -> Vec<Vec<Op>> {
    let outcomes = [Outcome::Ok, Outcome::Refused, Outcome::Unknown];
    let writes = outcomes.into_iter().flat_map(|o| [Op::Commit(o), Op::Delete(o)]);
    let fetches = (0..len).map(|write| Op::Fetch(Some(write))).chain([Op::Fetch(None)]);
    let any: Vec<Op> = writes.chain(fetches).collect();
    let mut all = vec![Vec::new()];
    for _ in 0..len {
        let longer = |ops: &Vec<Op>| {
            let ops = ops.clone();
            any.iter().map(move |op| ops.iter().copied().chain([*op]).collect())
        };
        all = all.iter().flat_map(longer).collect();
    }
    let of_a_commit = |op: &Op, ops: &[Op]| match op {
        Op::Fetch(Some(write)) => matches!(ops[*write], Op::Commit(_)),
        Op::Fetch(None) | Op::Commit(_) | Op::Delete(_) => true,
    };
    all.retain(|ops: &Vec<Op>| ops.iter().all(|op| of_a_commit(op, ops)));
    all
}

/// Calls `with` for every interleaving of the operations.
fn interleavings(ops: &[Op], steps: &mut Vec<(bool, usize)>, with: &mut impl FnMut(&History)) {
    let invoked = steps.iter().filter(|(invoked, _)| *invoked).count();
    let mut ended = true;
    if invoked < ops.len() {
        ended = false;
        steps.push((true, invoked));
        interleavings(ops, steps, with);
        steps.pop();
    }
    for op in 0..invoked {
        if ops[op].returns() && !steps.contains(&(false, op)) {
            ended = false;
            steps.push((false, op));
            interleavings(ops, steps, with);
            steps.pop();
        }
    }
    if ended {
        with(&History { ops: ops.to_vec(), steps: steps.clone() });
    }
}

#[test]
fn all_histories_of_up_to_four_operations_are_judged_as_by_trying() {
    let (mut right, mut wrong) = (0, 0);
    for len in 1..=4 {
        for ops in choices(len) {
            interleavings(&ops, &mut Vec::new(), &mut |history| {
                let explained = history.explained();
                assert_eq!(history.accepted(), explained, "{history:?}");
                *(if explained { &mut right } else { &mut wrong }) += 1;
            });
        }
    }
    assert_eq!((right, wrong), (139_376, 70_663));
}

/// A history of up to nine operations; fetches prefer commits that exist.
fn longer() -> impl Strategy<Value = History> {
    let op = prop_oneof![
        3 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3), 1 => Just(4), 6 => Just(5)
    ];
    prop::collection::vec((op, any::<prop::sample::Index>(), any::<u8>()), 4..=9).prop_map(
        |draws| {
            let is_commit = |draw: &(u8, _, _)| draw.0 <= 2;
            let commits: Vec<usize> =
                (0..draws.len()).filter(|&index| is_commit(&draws[index])).collect();
            let mut ops = Vec::new();
            for (op, index, _) in &draws {
                ops.push(match op {
                    0 => Op::Commit(Outcome::Ok),
                    1 => Op::Commit(Outcome::Refused),
                    2 => Op::Commit(Outcome::Unknown),
                    3 => Op::Delete(Outcome::Ok),
                    4 => Op::Delete(Outcome::Unknown),
                    _ => {
                        let pick = index.index(commits.len() + 1);
                        Op::Fetch(commits.get(pick).copied())
                    }
                });
            }
            let mut steps = Vec::new();
            let mut open: Vec<usize> = Vec::new();
            for (op, (_, _, when)) in draws.iter().enumerate() {
                steps.push((true, op));
                if ops[op].returns() {
                    open.push(op);
                }
                while !open.is_empty() && (when % 4 != 0 || open.len() > 3) {
                    steps.push((false, open.remove(usize::from(*when) % open.len())));
                    if when % 3 == 0 {
                        break;
                    }
                }
            }
            steps.extend(open.into_iter().map(|op| (false, op)));
            History { ops, steps }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn longer_histories_are_judged_as_by_trying(history in longer()) {
        prop_assert_eq!(history.accepted(), history.explained());
    }
}
