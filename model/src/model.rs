//! The model as its users see it: give it events, ask it what broke.

use crate::{
    event::Event,
    ledger::Ledger,
    promise::{Limits, Report, Violation},
};

/// Judges one history.
#[derive(Debug)]
pub struct Model {
    #[expect(dead_code, reason = "the checkers that read it come next")]
    limits: Limits,
    ledger: Ledger,
}

impl Model {
    /// A model that has seen nothing yet.
    #[must_use]
    pub fn new(limits: Limits) -> Model {
        Model { limits, ledger: Ledger::new() }
    }

    /// Takes note of the next event. Events come in the order of the world.
    pub fn observe(&mut self, event: &Event) {
        self.ledger.set_now(event.at);
    }

    /// What broke so far.
    #[must_use]
    pub fn violations(&self) -> &[Violation] {
        self.ledger.violations()
    }

    /// Ends the history and judges what can only be judged whole.
    #[must_use]
    pub fn finish(self) -> Report {
        self.ledger.into_report()
    }
}
