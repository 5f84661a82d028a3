//! A stand-in: a plan is its claim and its seed.

use std::fmt;

use crate::{draw, plan::Plan, seed::Seed};

/// Why a text is no plan.
#[derive(Debug)]
pub struct ParseError(String);

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a plan.
pub fn parse(file: &str, text: &str) -> Result<Plan, ParseError> {
    let seed = text.lines().find_map(|line| line.strip_prefix("seed ")).and_then(Seed::parse);
    let seed = seed.ok_or_else(|| ParseError(format!("{file}:1: a plan begins with `seed N`")))?;
    let mut plan = draw::draw(seed, "calm").expect("calm is a profile");
    let claim = text.lines().filter_map(|line| line.strip_prefix('#'));
    plan.claim = claim.map(|line| line.trim().to_owned()).collect();
    Ok(plan)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.claim {
            writeln!(f, "# {line}")?;
        }
        writeln!(f, "seed {}", self.seed)
    }
}

/// The language.
pub fn verbs() -> String {
    "seed N    the seed\n".to_owned()
}
