//! A step with all its outcomes: it is taken again for every way in which its choices can fall.

use std::collections::{BTreeMap, BTreeSet};

use super::{Answer, Group, Millis, ROWS, Row, Ticket};

/// One of the things that may come of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome {
    /// The group after it.
    pub group: Group,
    /// What was answered, to this request or to withheld ones.
    pub answers: BTreeMap<Ticket, Answer>,
    /// The rows of the tables that were applied.
    pub rows: BTreeSet<Row>,
}

/// One way through a step.
#[derive(Debug, Default)]
pub(super) struct Turn {
    answers: BTreeMap<Ticket, Answer>,
    rows: BTreeSet<Row>,
    /// The choices of this way: which was taken, of how many.
    choices: Vec<(usize, usize)>,
    made: usize,
}

impl Turn {
    pub(super) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let before = self.answers.insert(ticket, answer);
        assert_eq!(before, None, "the model answers {ticket} twice");
    }

    pub(super) fn answer_if(&mut self, ticket: Ticket, answer: Option<Answer>) {
        if let Some(answer) = answer {
            self.answer(ticket, answer);
        }
    }

    /// A row of the tables applies.
    pub(super) fn row(&mut self, row: Row) {
        debug_assert!(ROWS.contains(&row), "{row} is not listed");
        self.rows.insert(row);
    }

    /// One of `of`, which must not be empty.
    pub(super) fn choose<T>(&mut self, mut of: Vec<T>) -> T {
        if of.len() == 1 {
            return of.remove(0);
        }
        if self.made == self.choices.len() {
            self.choices.push((0, of.len()));
        }
        let (taken, _) = self.choices[self.made];
        self.made += 1;
        of.swap_remove(taken)
    }

    /// The choices of the next way, in the order of counting.
    fn next(mut choices: Vec<(usize, usize)>) -> Option<Vec<(usize, usize)>> {
        while let Some((taken, of)) = choices.pop() {
            if taken + 1 < of {
                choices.push((taken + 1, of));
                return Some(choices);
            }
        }
        None
    }
}

impl Outcome {
    pub(super) fn unchanged(group: &Group) -> Self {
        Self { group: group.clone(), answers: BTreeMap::new(), rows: BTreeSet::new() }
    }

    /// All that may come of another step.
    pub(super) fn then(&self, step: impl Fn(&mut Group, &mut Turn)) -> Vec<Self> {
        let mut outcomes = Vec::new();
        let mut way = Some(Vec::new());
        while let Some(choices) = way {
            let mut group = self.group.clone();
            let mut turn =
                Turn { answers: self.answers.clone(), rows: self.rows.clone(), choices, made: 0 };
            step(&mut group, &mut turn);
            way = Turn::next(turn.choices);
            let Turn { answers, rows, .. } = turn;
            outcomes.push(Self { group, answers, rows });
        }
        outcomes
    }
}

impl Group {
    /// Everything that may come of the time until `to`, with every timer that is due by then fired
    /// in order; those of one instant in any order.
    pub fn wait_until(&self, to: Millis) -> Vec<Outcome> {
        let mut open = BTreeSet::from([Outcome::unchanged(self)]);
        let mut done = BTreeSet::new();
        while let Some(mut outcome) = open.pop_first() {
            let due = outcome.group.due(to);
            for (at, timer) in &due {
                open.extend(outcome.then(|group, turn| {
                    group.now = *at;
                    group.fire(turn, timer);
                }));
            }
            if due.is_empty() {
                outcome.group.now = to;
                done.insert(outcome);
            }
        }
        done.into_iter().collect()
    }
}
