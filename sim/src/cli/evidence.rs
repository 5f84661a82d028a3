//! What a failure prints: the promise, its claim, who and when, what was seen; then the commands to
//! type next.

use std::path::Path;

use model::Micros;

use super::layout::{WIDTH, count, wrap};
use crate::outcome::{Finding, Outcome, Verdict};

/// The width of the labels in front of the lines.
pub(super) const INDENT: usize = 10;

/// How much of a failure is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// All of it.
    Full,
    /// The first finding, and of that so many lines of evidence.
    Lines(usize),
}

/// Lines with a label in front of the first; long ones are wrapped.
pub(super) fn labelled<S: AsRef<str>>(label: &str, lines: impl IntoIterator<Item = S>) -> String {
    let mut out = String::new();
    for line in lines {
        for line in wrap(line.as_ref(), WIDTH - INDENT) {
            let label = if out.is_empty() { label } else { "" };
            let line = format!("{label:INDENT$}{line}");
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    out
}

/// What went wrong in a run, for a person; empty if nothing did.
pub(super) fn failure(outcome: &Outcome, detail: Detail) -> String {
    let mut blocks = Vec::new();
    if let Some(label) = label(outcome.verdict) {
        let reason = outcome.reason.as_deref();
        let lines = reason.map(|it| excerpt(it.lines(), detail));
        let is_told_by_findings = reason.is_none() && !outcome.findings.is_empty();
        if !is_told_by_findings {
            blocks.push(labelled(label, lines.unwrap_or_else(|| vec!["without a reason".into()])));
        }
    }
    let shown = match detail {
        Detail::Full => outcome.findings.len(),
        Detail::Lines(_) => 1,
    };
    let mut last = None;
    for finding in outcome.findings.iter().take(shown) {
        // The claim of several findings about one promise is read once.
        if last.replace(&finding.promise) != Some(&finding.promise) {
            blocks.push(labelled("broke", [&finding.promise, &finding.claim]));
        }
        blocks.push(seen(finding, detail));
    }
    let rest = outcome.findings.len().saturating_sub(shown);
    if rest > 0 {
        let rest = u64::try_from(rest).expect("a count fits");
        blocks
            .push(labelled("", [format!("and {}, which a replay tells", count(rest, "finding"))]));
    }
    blocks.join("\n")
}

/// One sentence on what went wrong, with who and when.
pub(super) fn headline(outcome: &Outcome) -> String {
    let reason = outcome.reason.as_deref().and_then(|it| it.lines().next());
    let reason = reason.unwrap_or("without a reason");
    match (outcome.verdict, outcome.findings.first()) {
        (Verdict::Broke, Some(it)) => {
            format!("{} broke for {} at {}", it.promise, it.subject, Micros(it.at))
        }
        (Verdict::Broke, None) => format!("a promise broke: {reason}"),
        (Verdict::Stuck, _) => format!("did not settle: {reason}"),
        (Verdict::Crashed, _) => format!("crashed: {reason}"),
        (Verdict::Diverged, _) => format!("diverged: {reason}"),
        (Verdict::Kept, _) => "kept every promise".to_owned(),
    }
}

/// The commands to type next: the plan that was written, if one was, then the others.
pub(super) fn ending(scenario: Option<&Path>, commands: &[String]) -> String {
    let path = scenario.map(|it| it.display().to_string());
    let file = path.iter().map(|it| format!("cargo sim replay {it}"));
    labelled("scenario", &path) + &labelled("again", file.chain(commands.iter().cloned()))
}

/// Who and when, and what was seen.
fn seen(finding: &Finding, detail: Detail) -> String {
    let who = [format!("{} at {}", finding.subject, Micros(finding.at))];
    let evidence = finding.evidence.iter().flat_map(|it| it.lines());
    labelled("", who.into_iter().chain(excerpt(evidence, detail)))
}

fn excerpt<'a>(lines: impl Iterator<Item = &'a str>, detail: Detail) -> Vec<String> {
    let mut lines: Vec<_> = lines.map(str::to_owned).collect();
    if let Detail::Lines(limit) = detail
        && lines.len() > limit
    {
        let rest = u64::try_from(lines.len() - limit).expect("a count fits");
        lines.truncate(limit);
        lines.push(format!("and {}, which a replay tells", count(rest, "line")));
    }
    lines
}

fn label(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Kept => None,
        Verdict::Broke => Some("broke"),
        Verdict::Stuck => Some("unsettled"),
        Verdict::Crashed => Some("crashed"),
        Verdict::Diverged => Some("diverged"),
    }
}
