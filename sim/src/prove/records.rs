//! What else would notice a bug that no seed finds: what is on record.
//!
//! Kafka's recorded cases and traces, and the scenarios with their snapshots, are part of the tests.
//! A bug that breaks no promise (a phase that lasts longer than it need, say) may still differ from
//! what they say. The patched simulator looks itself, in a process of its own.

use std::{fs, path::Path, process::Command};

use serde::{Deserialize, Serialize};

use super::Trouble;
use crate::{
    conformance::{Format, Report},
    run, text,
};

/// Kafka's cases and traces, from the root of the source.
const KAFKAS: [&str; 2] = ["tests/data/kafka_conformance.json", "tests/data/kafka_traces.jsonl"];

/// What is not as it is on record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Differences {
    /// Kafka's cases and traces that fail: which, where, how.
    pub cases: Vec<String>,
    /// Scenarios that do not tell their snapshot.
    pub scenarios: Vec<String>,
}

impl Differences {
    /// Looks, with this very program, at the records below `root`.
    pub fn look(root: &Path) -> Result<Self, String> {
        let mut report = Report::default();
        for file in KAFKAS {
            let content = read(&root.join(file))?;
            let format = Format::of(Path::new(file)).expect("both are of a known format");
            report.run(format, &content).map_err(|bad| format!("{file}:{}", bad.0))?;
        }
        let mut scenarios = Vec::new();
        let snapshots = root.join("snapshots");
        let mut names = Vec::new();
        for entry in fs::read_dir(&snapshots).map_err(|it| it.to_string())? {
            names.push(entry.map_err(|it| it.to_string())?.path());
        }
        names.sort();
        for path in names {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let scenario = read(&root.join("scenarios").join(format!("{name}.scn")))?;
            let plan = text::parse(&name, &scenario).map_err(|it| it.to_string())?;
            let (_, told) = run::run(&plan, true);
            if told.as_deref().map(str::trim_end) != Some(body(&read(&path)?)) {
                scenarios.push(name);
            }
        }
        Ok(Self { cases: report.failures, scenarios })
    }

    /// Lets another build of the simulator look.
    pub fn seen_by(program: &Path, root: &Path) -> Result<Self, Trouble> {
        let mut command = Command::new(program);
        let output = command.arg("records").arg(root).output();
        let output = output.map_err(|error| {
            Trouble::Outside(format!("could not run {}: {error}", program.display()))
        })?;
        // What crashes on the way differs, too.
        let crashed = || Self { cases: vec!["crashed".to_owned()], scenarios: Vec::new() };
        Ok(serde_json::from_slice(&output.stdout).unwrap_or_else(|_| crashed()))
    }

    /// Whether all is as it is on record.
    pub fn is_none(&self) -> bool {
        self.cases.is_empty() && self.scenarios.is_empty()
    }

    /// In a few words: `3 cases, 1 scenario`.
    pub fn words(&self) -> String {
        let count = |number: usize, what: &str| match number {
            0 => None,
            1 => Some(format!("1 {what}")),
            _ => Some(format!("{number} {what}s")),
        };
        let parts = [count(self.cases.len(), "case"), count(self.scenarios.len(), "scenario")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A snapshot without the header that its tool puts above it.
fn body(snapshot: &str) -> &str {
    let parts = snapshot.splitn(3, "---\n");
    parts.last().unwrap_or_default().trim_end()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Differences, body};

    #[test]
    fn a_snapshot_has_a_header() {
        assert_eq!(body("---\nsource: x\n---\n0ms  plan\n---\nend\n"), "0ms  plan\n---\nend");
    }

    #[test]
    fn differences_are_counted() {
        let cases = vec!["A1".to_owned(), "A2".to_owned()];
        let it = Differences { cases, scenarios: vec!["broker_death".to_owned()] };
        assert_eq!((it.words().as_str(), it.is_none()), ("2 cases, 1 scenario", false));
        assert!(Differences::default().is_none());
    }
}
