//! How far a suite is: a bar for whoever watches, a line now and then for a log.

use std::{fmt, io::Write};

use indicatif::{ProgressBar, ProgressStyle};

use super::{
    Console,
    layout::{count, thousands},
};
use crate::outcome::{Outcome, Verdict};

/// Suites smaller than this are over before a line of progress is read.
const WORTH_A_LINE: u64 = 100;

/// How far a suite is.
pub(super) struct Progress<'a> {
    total: Option<u64>,
    done: u64,
    failed: u64,
    shape: Shape<'a>,
}

enum Shape<'a> {
    Bar(ProgressBar),
    Lines(&'a mut dyn Write),
}

impl<'a> Progress<'a> {
    /// Nothing is done yet of `total` seeds, or of as many as fit.
    pub(super) fn new(total: Option<u64>, console: &'a mut Console<'_>) -> Self {
        let shape = match console.is_terminal {
            true => Shape::Bar(bar(total)),
            false => Shape::Lines(&mut *console.err),
        };
        Self { total, done: 0, failed: 0, shape }
    }

    /// One more seed is done.
    pub(super) fn arrived(&mut self, outcome: &Outcome) {
        self.done += 1;
        self.failed += u64::from(outcome.verdict != Verdict::Kept);
        let failed =
            if self.failed > 0 { format!(", {} failed", self.failed) } else { String::new() };
        let is_due = self.is_due();
        match &mut self.shape {
            Shape::Bar(bar) => {
                bar.set_message(failed);
                bar.inc(1);
            }
            Shape::Lines(err) if is_due => {
                let of = self.total.map(|it| format!(" of {}", thousands(it))).unwrap_or_default();
                // A log that can't be written to is no reason to stop.
                drop(writeln!(err, "{}{of}{failed}", count(self.done, "seed")));
            }
            Shape::Lines(_) => {}
        }
    }

    /// Takes the bar away.
    pub(super) fn finish(self) {
        match self.shape {
            Shape::Bar(bar) => bar.finish_and_clear(),
            Shape::Lines(_) => {}
        }
    }

    /// Whether a log gets a line: at each quarter, or, without an end in sight, at each doubling.
    fn is_due(&self) -> bool {
        match self.total {
            Some(total) => {
                let quarter = |done: u64| u128::from(done) * 4 / u128::from(total);
                total >= WORTH_A_LINE
                    && self.done < total
                    && quarter(self.done) > quarter(self.done - 1)
            }
            None => self.done >= WORTH_A_LINE && self.done.is_power_of_two(),
        }
    }
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Progress({} of {:?})", self.done, self.total)
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let template = match total {
        Some(_) => "{wide_bar} {pos} of {len} seeds{msg}, {eta} to go",
        None => "{spinner} {pos} seeds in {elapsed}{msg}",
    };
    let style =
        ProgressStyle::with_template(template).expect("the templates above are well-formed");
    total.map_or_else(ProgressBar::new_spinner, ProgressBar::new).with_style(style)
}
