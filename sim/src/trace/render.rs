//! The text of a trace, which is that of a snapshot.

use std::{collections::BTreeMap, fmt::Write};

use super::{COLUMNS, Line, Section, Trace, Weight};
use crate::{outcome::Outcome, plan::Action};

/// How wide a line may be.
const WIDTH: usize = 100;
/// How wide the column of names is.
const WHO: usize = 24;
/// The width of the labels of the last lines.
const LABEL: usize = 10;

/// Some equal lines of one place, or of several at once.
struct Told {
    millis: u64,
    who: String,
    what: String,
    times: u32,
    /// When it happened the last time.
    until: u64,
}

impl Trace {
    /// The whole text: what happened, and what it came to.
    pub fn render(&self, outcome: &Outcome) -> String {
        let mut text = String::new();
        for section in &self.sections {
            if section.step.is_none() && section.lines.is_empty() {
                continue;
            }
            let title = match section.step {
                None => "start".to_owned(),
                Some(step) if step == self.plan.steps.len() => "settle".to_owned(),
                Some(step) => self.plan.steps[step].to_string(),
            };
            push_line(&mut text, &title);
            for it in told(&section.lines) {
                push_line(&mut text, &it.to_text());
            }
            if let Some(took) = self.waited(section) {
                push_line(&mut text, &format!("{:>9}  {took}", "ok"));
            }
            text.push('\n');
        }
        self.push_counts(&mut text);
        push_tail(&mut text, outcome);
        text
    }

    /// How long a section waited for stability, if that is what it did.
    fn waited(&self, section: &Section) -> Option<String> {
        let is_stable = |step: usize| {
            let step = self.plan.steps.get(step);
            step.is_some_and(|it| matches!(it.action, Action::Stable { .. }))
        };
        section.step.filter(|it| is_stable(*it))?;
        Some(match section.took? {
            0 => "already".to_owned(),
            took => format!("after {took}ms"),
        })
    }

    fn push_counts(&self, text: &mut String) {
        if self.counts.is_empty() {
            return;
        }
        let width = self.counts.keys().map(String::len).max().unwrap_or(0).max(16);
        let columns: String = COLUMNS.iter().map(|it| format!("  {it:>8}")).collect();
        push_line(text, &format!("{:width$}{columns}", "totals"));
        for (group, counts) in &self.counts {
            let count = |column| counts.get(column).copied().unwrap_or(0);
            let counts: String = COLUMNS.iter().map(|it| format!("  {:>8}", count(it))).collect();
            push_line(text, &format!("  {group:0$}{counts}", width - 2));
        }
        text.push('\n');
    }
}

impl Told {
    fn to_text(&self) -> String {
        let Self { millis, who, what, times, until } = self;
        let times = match times {
            1 => String::new(),
            times => format!(" (x{times}, until {until}ms)"),
        };
        format!("{millis:>7}ms  {who:WHO$}  {what}{times}")
    }
}

/// What is told of a section: a run of equal lines of one place once, and what is the same in several
/// places at once in one line.
fn told(lines: &[Line]) -> Vec<Told> {
    let mut lines: Vec<&Line> = lines.iter().filter(|it| it.weight != Weight::None).collect();
    lines.sort();
    let is_alone = |line: &Line| {
        let same = lines.iter().filter(|it| (it.millis, &it.who) == (line.millis, &line.who));
        same.count() == 1
    };
    let lines = lines.iter().filter(|it| it.weight == Weight::Full || is_alone(it));
    let mut all: Vec<Told> = Vec::new();
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    for Line { millis, who, what, .. } in lines {
        let same = last.get(&**who).map(|at| &mut all[*at]).filter(|it| it.what == *what);
        if let Some(same) = same {
            same.times += 1;
            same.until = *millis;
            continue;
        }
        last.insert(who, all.len());
        let (who, what) = (who.clone(), what.clone());
        all.push(Told { millis: *millis, who, what, times: 1, until: *millis });
    }
    merge(all)
}

fn merge(all: Vec<Told>) -> Vec<Told> {
    let mut merged: Vec<Told> = Vec::new();
    for it in all {
        let same = merged.iter_mut().rev().take_while(|other| other.millis == it.millis);
        let mut same = same.filter(|other| {
            (&other.what, other.times, other.until) == (&it.what, it.times, it.until)
                && other.who.len() + 1 + it.who.len() <= WHO
        });
        if let Some(same) = same.next() {
            same.who = format!("{} {}", same.who, it.who);
        } else {
            merged.push(it);
        }
    }
    merged
}

/// What the run came to: how often each promise was checked, and what was reached.
fn push_tail(text: &mut String, outcome: &Outcome) {
    let is_broken = |name: &str| outcome.findings.iter().any(|it| it.promise == name);
    let checked = outcome.checked.iter();
    let (broke, kept): (Vec<_>, Vec<_>) = checked.partition(|it| is_broken(it.0));
    let reached = outcome.milestones.iter().filter(|it| *it.1 > 0);
    push_figures(text, "broke", broke);
    push_figures(text, "kept", kept);
    push_figures(text, "reached", reached);
}

/// Names and figures under a label, as many in a line as fit.
fn push_figures<'a>(
    text: &mut String,
    label: &str,
    figures: impl IntoIterator<Item = (&'a String, &'a u64)>,
) {
    let mut line = format!("{label:LABEL$}");
    for (name, figure) in figures {
        let figure = format!("{name} {figure}");
        if line.len() + figure.len() > WIDTH {
            push_line(text, &line);
            line = " ".repeat(LABEL);
        }
        write!(line, "{figure}   ").expect("a string takes any text");
    }
    if line.trim() != label || label == "kept" {
        push_line(text, &line);
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}
