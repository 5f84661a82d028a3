//! The plans of runs that failed, as scenario files: the claim says what broke, the rest replays.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use super::{
    Halt, evidence,
    layout::{WIDTH, wrap},
};
use crate::{
    outcome::{Outcome, Verdict},
    plan::Plan,
    runner::{Failure, Suite},
    seed::Seed,
};

/// How many lines of evidence a claim has.
const EVIDENCE: usize = 12;

/// Writes the plan of each failure to `dir` and returns the files; a seed whose plan can't be drawn
/// has none.
pub(super) fn write(
    suite: &Suite,
    dir: &Path,
    plan_of: &dyn Fn(Seed) -> Option<Plan>,
) -> Result<BTreeMap<Seed, PathBuf>, Halt> {
    let mut files = BTreeMap::new();
    if suite.failures.is_empty() {
        return Ok(files);
    }
    fs::create_dir_all(dir).map_err(|error| Halt::file("create", dir, &error))?;
    for Failure { seed, outcome } in &suite.failures {
        let Some(mut plan) = plan_of(*seed) else { continue };
        plan.claim = claim(*seed, outcome);
        let path = dir.join(format!("{}-{seed}.scn", stem(outcome)));
        fs::write(&path, plan.to_string()).map_err(|error| Halt::file("write", &path, &error))?;
        files.insert(*seed, path);
    }
    Ok(files)
}

/// The promise that broke first, or the verdict.
fn stem(outcome: &Outcome) -> &str {
    match (outcome.verdict, outcome.findings.first()) {
        (Verdict::Broke, Some(finding)) => &finding.promise,
        (Verdict::Broke, None) => "broke",
        (Verdict::Stuck, _) => "unsettled",
        (Verdict::Crashed, _) => "crashed",
        (Verdict::Diverged, _) => "diverged",
        (Verdict::Kept, _) => "kept",
    }
}

fn claim(seed: Seed, outcome: &Outcome) -> Vec<String> {
    let headline = format!("Seed {seed}: {}.", evidence::headline(outcome));
    let evidence = outcome.findings.first().map_or(&[][..], |it| &it.evidence);
    let lines = [headline.as_str()]
        .into_iter()
        .chain(evidence.iter().flat_map(|it| it.lines()).take(EVIDENCE))
        .map(str::trim)
        .filter(|line| !line.is_empty());
    // Two columns go to the comment's `# `.
    lines.flat_map(|line| wrap(line, WIDTH - 2)).collect()
}
