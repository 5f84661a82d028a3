//! Plans as text: the scenario language.
//!
//! ```text
//! line  = [ verb { name } { key "=" value } ] [ "#" comment ]
//! value = number | duration (500ms, 3s, 2m) | ratio (5%, 200ppm) | range (1ms..10ms) | name
//! ```
//!
//! The comment block at the top is the claim and must be there. Then come the declarations, then
//! the steps. Names stand before options, and what is as usual is not written down. There are no
//! quotes, variables, loops or conditions: whoever needs a loop draws plans from seeds.
//!
//! - `verbs.rs`, `verbs/`: the registry; a verb is one entry: its documentation and its reader.
//! - `line.rs`: one line as words. `value.rs`: kinds of values. `defaults.rs`: what is as usual.
//! - `parse.rs`: a file becomes a plan. `draft.rs`: the plan so far, and what its names mean.
//! - `print.rs`: a plan becomes a file, which parses to the same plan.

use std::fmt;

use crate::plan::Plan;

pub mod defaults;
mod draft;
mod line;
mod parse;
mod print;
mod suggest;
mod value;
mod verbs;

pub use self::{
    print::verb_of,
    verbs::{Verb, verbs},
};

/// A plan and where its steps stand in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The plan.
    pub plan: Plan,
    /// The line of each step, counted from 1.
    pub step_lines: Vec<usize>,
}

/// What is wrong with a scenario, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file, as the caller calls it.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and the cure.
    pub what: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for ParseError {}

/// Reads a scenario; `file` is for errors only.
pub fn parse(file: &str, text: &str) -> Result<Plan, ParseError> {
    read(file, text).map(|scenario| scenario.plan)
}

/// Like [`parse`], and keeps where the steps stand.
pub fn read(file: &str, text: &str) -> Result<Scenario, ParseError> {
    parse::scenario(text).map_err(|(line, what)| ParseError { file: file.to_owned(), line, what })
}

#[cfg(test)]
mod tests;
