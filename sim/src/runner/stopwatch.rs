//! Real time: budgets, speed, children that do not end. Nothing that a run comes to depends on it.

use std::time::{Duration, Instant};

/// Measures real time from its start on.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "the runner lives in real time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long ago it was started.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
