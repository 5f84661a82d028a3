//! The text of a trace, which is that of a snapshot.

use std::{collections::BTreeMap, fmt::Write};

use super::{COLUMNS, Kind, Line, Section, Trace};
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
            let body = self.body(section);
            let title = match section.step.map(|it| self.plan.steps.get(it)) {
                // Before the first step and behind the last one only what happened is told.
                None | Some(None) if body.is_empty() => continue,
                None => "start".to_owned(),
                Some(None) => "settle".to_owned(),
                Some(Some(step)) => step.to_string(),
            };
            push_line(&mut text, &title);
            // A step under which nothing happened stands together with the next.
            if !body.is_empty() {
                text.push_str(&body);
                text.push('\n');
            }
        }
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        self.push_counts(&mut text);
        push_tail(&mut text, outcome);
        text
    }

    fn body(&self, section: &Section) -> String {
        let mut text = String::new();
        for it in told(&section.lines) {
            push_line(&mut text, &it.to_text());
        }
        let step = section.step.and_then(|it| self.plan.steps.get(it));
        let is_stable = step.is_some_and(|it| matches!(it.action, Action::Stable { .. }));
        match section.took.filter(|_| is_stable) {
            None => {}
            Some(0) => push_line(&mut text, "       ok  already"),
            Some(took) => push_line(&mut text, &format!("       ok  after {took}ms")),
        }
        text
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

/// What is told of a section, in order: equal lines of one place as one, and what is the same in
/// several places at once too.
fn told(lines: &[Line]) -> Vec<Told> {
    let mut lines: Vec<&Line> = lines.iter().filter(|it| it.kind != Kind::Moot).collect();
    // What happened in one place stays in the order in which it happened.
    lines.sort_by_key(|it| (it.millis, it.kind != Kind::Step, &it.who));
    let is_alone = |line: &Line| {
        let same = lines.iter().filter(|it| (it.millis, &it.who) == (line.millis, &line.who));
        same.count() == 1
    };
    let lines = lines.iter().filter(|it| it.kind != Kind::Slight || is_alone(it));
    let mut all: Vec<Told> = Vec::new();
    // By place, the lines that may happen again: the last one, or all refusals since anything else.
    let mut open: BTreeMap<&str, (Kind, Vec<usize>)> = BTreeMap::new();
    for Line { millis, who, what, kind } in lines {
        let (last, open) = open.entry(who).or_insert((*kind, Vec::new()));
        if let Some(same) = open.iter().copied().find(|at| all[*at].what == *what) {
            all[same].times += 1;
            all[same].until = *millis;
            continue;
        }
        if (*last, *kind) != (Kind::Refusal, Kind::Refusal) {
            open.clear();
        }
        *last = *kind;
        open.push(all.len());
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

/// What the run came to: how often each promise was checked, and what was reached,
/// and which groups are at no rest for a reason.
fn push_tail(text: &mut String, outcome: &Outcome) {
    let is_broken = |name: &str| outcome.findings.iter().any(|it| it.promise == name);
    let checked = outcome.checked.iter().filter(|it| *it.1 > 0);
    let (broke, kept): (Vec<_>, Vec<_>) = checked.partition(|it| is_broken(it.0));
    let reached = outcome.milestones.iter().filter(|it| *it.1 > 0);
    push_figures(text, "broke", broke);
    push_figures(text, "kept", kept);
    push_figures(text, "reached", reached);
    for it in &outcome.excused {
        push_line(text, &format!("{:LABEL$}{} for {}", "excused", it.group, it.reason));
        for sentence in &it.evidence {
            push_line(text, &format!("{:LABEL$}{sentence}", ""));
        }
    }
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
