//! The plan's steps: those with a time begin at it, the others one after the other.

use super::{Event, World, moments::Armed};
use crate::{
    plan::{Action, Step},
    seed::micros,
};

/// Where the script is.
#[derive(Debug, Default)]
pub(super) struct Script {
    cursor: usize,
    /// Steps that have begun and not ended.
    pub(super) open: usize,
    /// Steps that wait for their moment; they are not open, since it may never come.
    pub(super) armed: Vec<Armed>,
    /// Whether the next step waits for the one before.
    is_waiting: bool,
    /// The `stable` step that is waited for, and until when.
    pub(super) awaiting: Option<(usize, u64)>,
}

impl World {
    /// Goes on with the script until a step takes time.
    pub(super) fn run_script(&mut self) {
        self.script.is_waiting = false;
        while let Some(it) = self.plan.steps.get(self.script.cursor).cloned() {
            let Step { at, when, action } = it;
            let step = self.script.cursor;
            self.script.cursor += 1;
            match (at, when) {
                (Some(at), when) => {
                    let at = micros(at).max(self.now);
                    self.script.open += 1;
                    self.queue.push(
                        at,
                        match when {
                            Some(_) => Event::Arm { step },
                            None => Event::Begin { step },
                        },
                    );
                    continue;
                }
                (None, Some(when)) => {
                    self.arm_step(step, when);
                    continue;
                }
                (None, None) => self.script.open += 1,
            }
            self.record.enter(step);
            if let Action::Stable { within, .. } = &action {
                self.script.awaiting = Some((step, self.now + micros(*within)));
                self.script.is_waiting = true;
                self.await_stability();
            } else if let Some(takes) = self.begin_action(step, &action) {
                self.script.is_waiting = true;
                self.after(takes, Event::End { step });
            } else {
                self.script.open -= 1;
            }
            if self.script.is_waiting {
                return;
            }
        }
        self.settle_if_over();
    }

    /// A step with a time of its own begins.
    pub(super) fn begin_step(&mut self, step: usize) {
        let plan = std::sync::Arc::clone(&self.plan);
        self.record.enter(step);
        match self.begin_action(step, &plan.steps[step].action) {
            Some(takes) => self.after(takes, Event::End { step }),
            None => self.step_is_over(step),
        }
    }

    /// From here on a step waits for its moment.
    pub(super) fn arm_later(&mut self, step: usize) {
        self.script.open -= 1;
        let when = self.plan.steps[step].when.clone();
        self.arm_step(step, when.expect("only a step with a moment is armed"));
        self.settle_if_over();
    }

    /// What a step began ends.
    pub(super) fn end_step(&mut self, step: usize) {
        let plan = std::sync::Arc::clone(&self.plan);
        if self.end_action(step, &plan.steps[step].action) {
            self.step_is_over(step);
        }
    }

    pub(super) fn step_is_over(&mut self, step: usize) {
        self.script.open -= 1;
        if !self.plan.steps[step].is_aside() {
            self.record.leave(step);
            self.run_script();
        } else {
            self.settle_if_over();
        }
    }

    fn settle_if_over(&mut self) {
        let is_over = self.script.cursor == self.plan.steps.len() && self.script.open == 0;
        if is_over && !self.script.is_waiting {
            self.begin_settling();
        }
    }

    /// Looks whether the groups that a step waits for are stable.
    pub(super) fn await_stability(&mut self) {
        let Some((step, until)) = self.script.awaiting else { return };
        let Action::Stable { groups, .. } = &self.plan.steps[step].action else {
            unreachable!("only a stable step is waited for")
        };
        let pending = self.unstable(groups);
        match pending {
            None => {
                self.script.awaiting = None;
                self.after(0, Event::End { step });
            }
            Some(stuck) if self.now >= until => self.give_up(stuck),
            Some(_) => self.after(LOOK_EVERY, Event::Look),
        }
    }
}

/// How often stability is looked for, in microseconds.
const LOOK_EVERY: u64 = 20_000;
