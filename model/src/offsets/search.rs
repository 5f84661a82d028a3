//! Linearizability of a register by search, for histories in which several writers may be behind
//! "nothing committed".
//!
//! The history is walked from one end to the other with the set of states it may be in: the current
//! value, and which of the operations under way have already taken effect. When an operation
//! returns, only states in which it has taken effect go on. A fetch takes effect as soon as the
//! value is the one it gave, which loses nothing. Deletes of unknown outcome are alike, so they are
//! a number: how many were used.
//!
//! Always: visits at most a given number of states, and then says that it does not know.

use super::{Action, Op, Register, Verdict};
use crate::event::Outcome;
use std::collections::BTreeMap;

/// The state that a prefix of the history may leave: the write whose value holds (`None`: nothing
/// committed), and the slots of operations under way that have taken effect.
type State = (Option<u64>, u64);
/// Each possible state with the fewest uncertain deletes that lead to it.
type States = BTreeMap<State, usize>;

/// How many operations may be under way at a time.
const SLOTS: usize = 64;

/// How many states each operation adds to the budget: long histories are not undecided for length.
const STATES_PER_STEP: usize = 16;

/// What the walk knows at a point of the history.
struct Walk<'a> {
    states: States,
    /// Operations under way, by slot.
    slots: [Option<&'a Op>; SLOTS],
    /// Deletes of unknown outcome invoked so far.
    uncertain: usize,
    /// How many more states may be visited.
    budget: usize,
}

/// Why a walk ended early.
enum Stop {
    /// No state is left in which the operation can return.
    Stuck,
    /// The budget is used up, or too much is under way at once.
    TooMuch,
}

pub(super) fn judge(register: &Register, history: &[&Op], budget: usize) -> Verdict {
    let mut walk = Walk {
        states: BTreeMap::from([((None, 0), 0)]),
        slots: [None; SLOTS],
        uncertain: 0,
        budget: budget + STATES_PER_STEP * history.len(),
    };
    for (_, op, returns) in steps(history) {
        let done = if returns { walk.returned(op) } else { walk.invoked(op) };
        match done {
            Ok(()) => {}
            Err(Stop::TooMuch) => return Verdict::Undecided,
            Err(Stop::Stuck) => return stuck(register, history, op),
        }
    }
    Verdict::Linearizable
}

/// Invocations and returns in the order of the world. A commit of unknown outcome that was fetched
/// has returned when the first such fetch has; one that never was is left out.
fn steps<'a>(history: &[&'a Op]) -> Vec<(u64, &'a Op, bool)> {
    let mut first_fetch: BTreeMap<u64, u64> = BTreeMap::new();
    for &op in history {
        if let (Some((_, write)), Some(returned)) = (op.value(), op.returned) {
            let first = first_fetch.entry(write).or_insert(returned);
            *first = returned.min(*first);
        }
    }
    let mut steps = Vec::new();
    for &op in history {
        let returned = match op.action {
            Action::Commit { write, .. } => op.returned.or(first_fetch.get(&write).copied()),
            Action::Delete | Action::Fetch(_) => op.returned,
        };
        if returned.is_some() || op.action == Action::Delete {
            steps.push((op.invoked, op, false));
        }
        steps.extend(returned.map(|returned| (returned, op, true)));
    }
    steps.sort_by_key(|&(position, op, returns)| (position, returns, op.invoked));
    steps
}

impl<'a> Walk<'a> {
    fn invoked(&mut self, op: &'a Op) -> Result<(), Stop> {
        if op.action == Action::Delete && op.outcome == Outcome::Unknown {
            self.uncertain += 1;
            return Ok(());
        }
        let slot = self.slots.iter().position(Option::is_none).ok_or(Stop::TooMuch)?;
        self.slots[slot] = Some(op);
        if matches!(op.action, Action::Fetch(_)) {
            let states = std::mem::take(&mut self.states);
            for (state, used) in states {
                self.keep(with_fetches(&self.slots, state), used);
            }
        }
        Ok(())
    }

    fn returned(&mut self, op: &Op) -> Result<(), Stop> {
        let same = |under_way: &Option<&Op>| under_way.is_some_and(|o| o.invoked == op.invoked);
        let slot = self.slots.iter().position(same).ok_or(Stop::Stuck)?;
        let bit = 1 << slot;
        let mut open: Vec<(State, usize)> = std::mem::take(&mut self.states).into_iter().collect();
        let mut visited = States::new();
        while let Some((state, used)) = open.pop() {
            if visited.get(&state).is_some_and(|&fewest| fewest <= used) {
                continue;
            }
            visited.insert(state, used);
            self.budget = self.budget.checked_sub(1).ok_or(Stop::TooMuch)?;
            if state.1 & bit != 0 {
                self.keep((state.0, state.1 & !bit), used);
            } else {
                self.next(state, used, &mut open);
            }
        }
        self.slots[slot] = None;
        if self.states.is_empty() { Err(Stop::Stuck) } else { Ok(()) }
    }

    /// Every state that one more write can lead to.
    fn next(&self, (value, done): State, used: usize, open: &mut Vec<(State, usize)>) {
        for (slot, op) in self.slots.iter().enumerate() {
            let bit = 1 << slot;
            let Some(op) = op.filter(|_| done & bit == 0) else { continue };
            let value = match op.action {
                Action::Commit { write, .. } => Some(write),
                Action::Delete => None,
                Action::Fetch(_) => continue,
            };
            open.push((with_fetches(&self.slots, (value, done | bit)), used));
        }
        if used < self.uncertain && value.is_some() {
            open.push((with_fetches(&self.slots, (None, done)), used + 1));
        }
    }

    fn keep(&mut self, state: State, used: usize) {
        let fewest = self.states.entry(state).or_insert(used);
        *fewest = used.min(*fewest);
    }
}

/// The state after every fetch under way that gave its value has taken effect.
fn with_fetches(slots: &[Option<&Op>; SLOTS], (value, mut done): State) -> State {
    for (slot, op) in slots.iter().enumerate() {
        if let Some(Action::Fetch(gave)) = op.map(|op| op.action)
            && gave.map(|(_, write)| write) == value
        {
            done |= 1 << slot;
        }
    }
    (value, done)
}

/// Evidence: the operation that could not return, after the last few that could.
fn stuck(register: &Register, history: &[&Op], op: &Op) -> Verdict {
    let mut before: Vec<&Op> = history
        .iter()
        .copied()
        .filter(|o| o.returned.is_some_and(|at| Some(at) < op.returned))
        .collect();
    before.sort_by_key(|op| op.returned);
    let from = before.len().saturating_sub(3);
    let mut ops = before.split_off(from);
    ops.push(op);
    let why = "no order of the commits and deletes explains all answers up to the last of these";
    Verdict::Contradiction(register.contradiction(&ops, vec![why.to_owned()]))
}
