//! A stand-in: a plan is its claim and its seed.

use std::fmt;

use crate::{
    draw,
    plan::{Action, Plan},
    seed::Seed,
};

/// A word of the scenario language.
#[derive(Debug)]
pub struct Verb {
    /// What a line with it begins with.
    pub name: &'static str,
    /// The whole line: what is in brackets may be left out.
    pub usage: &'static str,
    /// What it says, in a sentence.
    pub about: &'static str,
    /// A line with it.
    pub example: &'static str,
}

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
    let mut plan = draw::draw(seed, draw::PROFILES[0].0).expect("there is a first profile");
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

/// All verbs.
pub fn verbs() -> impl Iterator<Item = &'static Verb> {
    const VERBS: &[Verb] = &[Verb {
        name: "restart",
        usage: "restart BROKER down=DURATION [how=graceful|abrupt] [at=TIME]",
        about: "A broker goes and comes back; it drains and closes first, unless it is abrupt.",
        example: "restart kaas-1 down=3s how=abrupt",
    }];
    VERBS.iter()
}

/// A step as a line.
pub fn action(action: &Action) -> String {
    format!("{action:?}")
}

/// The verb of a step.
pub fn verb_of(action: &Action) -> String {
    format!("{action:?}").split(' ').next().unwrap_or("").to_lowercase()
}
