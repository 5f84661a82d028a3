//! What Kafka does, as recorded, against the production coordinator.
//!
//! A file is a list of cases or of traces, see [`Format`]. Each runs on whole brokers
//! ([`Broker`](kaas_coordinator::broker::Broker)) over a volume in memory, with a clock that the
//! steps turn. What does not apply is skipped, and what is deliberately not as in Kafka is held
//! against what is done instead, by rules that look at tags and operations, never at names.
//!
//! | file | holds |
//! |---|---|
//! | `case.rs`, `trace.rs` | what is checked, and when |
//! | `rules.rs` | what does not apply, what is deliberately another |
//! | `driver.rs` | steps, labels, references, late answers |
//! | `requests.rs`, `answers.rs`, `step.rs` | JSON to requests, answers to JSON |
//! | `matching.rs` | whether an answer is the expected one |
//! | `world.rs` | brokers that are polled by hand |
//! | `host.rs`, `volume.rs` | what they run on |

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

mod answers;
mod case;
mod driver;
mod host;
mod matching;
mod requests;
mod rules;
mod step;
mod trace;
mod volume;
mod world;

use self::{case::Verdict, driver::Schema, step::Malformed};

/// The configuration and the fields of steps that a file leaves out.
const DEFAULTS: &str = include_str!("conformance/defaults.json");

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.json`: one object with a list of cases.
    Cases,
    /// `.jsonl`: a head, then one trace a line.
    Traces,
}

impl Format {
    /// What a file of this name holds, if anything we read.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "json" => Some(Self::Cases),
            "jsonl" => Some(Self::Traces),
            _ => None,
        }
    }
}

/// Why a file can't be run: where and what, to be put behind the file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile(pub String);

/// Reasons, and how often each applied.
pub type Reasons = BTreeMap<&'static str, usize>;

/// What files came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// How many cases and traces are as in Kafka.
    pub passed: usize,
    /// The others: which, where, what was expected and what was observed.
    pub failures: Vec<String>,
    /// How many do not apply, and why.
    pub skipped: Reasons,
    /// How many answers and states are deliberately not as in Kafka, and why.
    pub differences: Reasons,
}

impl Report {
    /// Runs all that a file holds.
    pub fn run(&mut self, format: Format, content: &str) -> Result<(), BadFile> {
        match format {
            Format::Cases => self.run_cases(content),
            Format::Traces => self.run_traces(content),
        }
    }

    fn run_cases(&mut self, content: &str) -> Result<(), BadFile> {
        let file = parse(content, 0)?;
        let Some(cases) = file["cases"].as_array() else {
            return Err(BadFile("1: there is no list of cases".to_owned()));
        };
        let schema = schema(&file);
        for case in cases {
            let name = case::name(case);
            let verdict = case::run(&schema, case).map_err(|it| bad(&name, &it))?;
            self.count(&name, verdict);
        }
        Ok(())
    }

    fn run_traces(&mut self, content: &str) -> Result<(), BadFile> {
        let mut lines = content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().map_or(Ok(Value::Null), |(at, line)| parse(line, at))?;
        let schema = schema(&head);
        if head.get("steps").is_some() {
            return Err(BadFile("1: the first line must be a head, not a trace".to_owned()));
        }
        for (at, line) in lines {
            let trace = parse(line, at)?;
            let name = trace::name(&trace);
            let verdict = trace::run(&schema, &trace).map_err(|it| bad(&name, &it))?;
            self.count(&name, verdict);
        }
        Ok(())
    }

    fn count(&mut self, name: &str, verdict: Verdict) {
        match verdict {
            Verdict::Passed(differences) => {
                self.passed += 1;
                for (reason, count) in differences {
                    *self.differences.entry(reason).or_default() += count;
                }
            }
            Verdict::Failed(difference) => self.failures.push(format!("{name}, {difference}")),
            Verdict::Skipped(reason) => *self.skipped.entry(reason).or_default() += 1,
        }
    }
}

/// Reads one JSON value that begins behind so many lines.
fn parse(text: &str, before: usize) -> Result<Value, BadFile> {
    let at = |error: serde_json::Error| BadFile(format!("{}: {error}", before + error.line()));
    serde_json::from_str(text).map_err(at)
}

fn bad(name: &str, malformed: &Malformed) -> BadFile {
    BadFile(format!(" {name}: {}", malformed.0))
}

/// The defaults that a file states, or those that all known files do.
fn schema(file: &Value) -> Schema {
    let defaults: Value = serde_json::from_str(DEFAULTS).expect("our own defaults are JSON");
    let stated = |key: &str| file.get(key).unwrap_or(&defaults[key]).clone();
    Schema { config: stated("config_defaults"), steps: stated("step_defaults") }
}
