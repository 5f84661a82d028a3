//! What a run came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every promise was kept and everything settled.
    Kept,
    /// A promise broke.
    Broke,
    /// When the faults had ended, something did not come to rest.
    Stuck,
    /// An assertion of ours, or the process itself, failed.
    Crashed,
    /// The same plan gave another digest.
    Diverged,
}

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name.
    pub promise: String,
    /// Its claim.
    pub claim: String,
    /// The group, broker or key concerned.
    pub subject: String,
    /// When, in microseconds of simulated time.
    pub at: u64,
    /// What was seen, a sentence each.
    pub evidence: Vec<String>,
}

/// A group that was not at rest at the end, for a reason that the model could show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excused {
    /// The group.
    pub group: String,
    /// The reason's name.
    pub reason: String,
    /// What was not at rest, and what shows the reason, a sentence each.
    pub evidence: Vec<String>,
}

/// How often a kind of fault was planned, and how often it had an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    /// In the plan.
    pub planned: u64,
    /// With an effect.
    pub effective: u64,
}

/// What a run came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Simulated time, in microseconds.
    pub micros: u64,
    /// How many events crossed a broker's border.
    pub events: u64,
    /// The digest, 32 hexadecimal digits.
    pub digest: String,
    /// How often each promise was checked, by name.
    pub checked: BTreeMap<String, u64>,
    /// How often each milestone was reached, by name; all are there.
    pub milestones: BTreeMap<String, u64>,
    /// The faults of the plan, by verb.
    pub faults: BTreeMap<String, FaultCount>,
    /// The broken promises.
    pub findings: Vec<Finding>,
    /// The groups that were not at rest at the end, and need not have been.
    pub excused: Vec<Excused>,
    /// What did not come to rest, or what crashed.
    pub reason: Option<String>,
    /// Registers whose history was too tangled to decide.
    pub undecided: u64,
}
