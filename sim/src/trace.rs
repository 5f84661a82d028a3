//! A run, told: what happened under each line of its scenario.
//!
//! Times are whole milliseconds since the line above began, so that one line more shifts nothing
//! below; lines are sorted by time, who, and what, so that the order of what happens at once in two
//! places does not matter. Heartbeats and commits that just succeed are counted, not told.

#![expect(clippy::wildcard_enum_match_arm, reason = "what has no column is not counted")]

use std::{collections::BTreeMap, fmt::Write, sync::Arc};

use kaas_coordinator::{
    api::{ErrorCode, Response},
    ids::GroupId,
    note::Note,
};

use crate::plan::{Plan, Step};

/// The counters of a group, in the order of the table's columns.
const COLUMNS: [&str; 5] = ["moves", "joins", "commits", "acked", "refused"];

/// See the [module](self).
#[derive(Debug)]
pub struct Trace {
    plan: Arc<Plan>,
    sections: Vec<Section>,
    counts: BTreeMap<String, BTreeMap<&'static str, u64>>,
}

#[derive(Debug)]
struct Section {
    /// The step that it is about; `None` before the first.
    step: Option<usize>,
    began: u64,
    lines: Vec<Line>,
    took: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    millis: u64,
    who: String,
    what: String,
}

impl Trace {
    /// The trace of a plan that has not begun.
    pub fn new(plan: Arc<Plan>) -> Self {
        let start = Section { step: None, began: 0, lines: Vec::new(), took: None };
        Self { plan, sections: vec![start], counts: BTreeMap::new() }
    }

    /// Something happened.
    pub fn tell(&mut self, now: u64, who: &str, what: String) {
        let section = self.sections.last_mut().expect("there is always a section");
        let millis = (now - section.began + 500) / 1000;
        section.lines.push(Line { millis, who: who.to_owned(), what });
    }

    /// A step begins: one in the script's order has a section of its own.
    pub fn enter(&mut self, now: u64, step: usize) {
        if self.plan.steps[step].at.is_some() {
            let action = self.plan.steps[step].action.clone();
            self.tell(now, "plan", Step { at: None, action }.to_string());
            return;
        }
        self.sections.push(Section { step: Some(step), began: now, lines: Vec::new(), took: None });
    }

    /// A step in the script's order is over.
    pub fn leave(&mut self, now: u64, step: usize) {
        let section = self.sections.iter_mut().rev().find(|it| it.step == Some(step));
        let section = section.expect("it was entered");
        section.took = Some((now - section.began + 500) / 1000);
    }

    /// The script is over: what follows is told under a line of its own.
    pub fn settle(&mut self, now: u64) {
        let step = Some(self.plan.steps.len());
        self.sections.push(Section { step, began: now, lines: Vec::new(), took: None });
    }

    /// Something routine happened.
    pub fn count(&mut self, group: &str, column: &'static str) {
        *self.counts.entry(group.to_owned()).or_default().entry(column).or_default() += 1;
    }

    /// A broker answered a client.
    pub fn answered(&mut self, group: &GroupId, response: &Response) {
        let group = group.as_str();
        match response {
            Response::JoinGroup(it) if it.error.is_none() => self.count(group, "joins"),
            Response::OffsetCommit(partitions) => {
                self.count(group, "commits");
                let is_acked = partitions.iter().all(|(_, error)| *error == ErrorCode::None);
                self.count(group, if is_acked { "acked" } else { "refused" });
            }
            _ => {}
        }
    }

    /// A broker wrote a note.
    pub fn noted(&mut self, now: u64, broker: &str, note: &Note) {
        let Some((group, what)) = describe(note) else { return };
        match group {
            Some(group) => {
                if matches!(note, Note::Loaded { .. }) {
                    self.count(group.as_str(), "moves");
                }
                self.tell(now, &format!("{group}@{broker}"), what);
            }
            None => self.tell(now, broker, what),
        }
    }

    /// The text of a snapshot, without totals.
    pub fn render(&self) -> String {
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
            writeln!(text, "{title}").expect("a string takes any text");
            render_lines(&mut text, section);
            text.push('\n');
        }
        self.render_counts(&mut text);
        text
    }

    fn render_counts(&self, text: &mut String) {
        if self.counts.is_empty() {
            return;
        }
        let width = self.counts.keys().map(String::len).max().unwrap_or(0).max(16);
        write!(text, "{:width$}", "totals").expect("a string takes any text");
        for column in COLUMNS {
            write!(text, "  {column:>8}").expect("a string takes any text");
        }
        text.push('\n');
        for (group, counts) in &self.counts {
            write!(text, "  {group:0$}", width - 2).expect("a string takes any text");
            for column in COLUMNS {
                let count = counts.get(column).copied().unwrap_or(0);
                write!(text, "  {count:>8}").expect("a string takes any text");
            }
            text.push('\n');
        }
    }
}

fn render_lines(text: &mut String, section: &Section) {
    let mut lines: Vec<&Line> = section.lines.iter().collect();
    lines.sort();
    let mut lines = lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let mut times = 1;
        while lines.next_if_eq(&line).is_some() {
            times += 1;
        }
        let times = if times > 1 { format!(" (x{times})") } else { String::new() };
        writeln!(text, "{:>7}ms  {:24}  {}{times}", line.millis, line.who, line.what)
            .expect("a string takes any text");
    }
    match section.took {
        Some(0) => text.push_str("       ok  already\n"),
        Some(took) => {
            writeln!(text, "       ok  after {took}ms").expect("a string takes any text");
        }
        None => {}
    }
}

/// A note in the trace's words, and the group that it is about.
fn describe(note: &Note) -> Option<(Option<&GroupId>, String)> {
    Some(match note {
        Note::ViewApplied { epoch, version } => (None, format!("applies view {epoch}.{version}")),
        Note::ViewRefused { reason } => (None, format!("keeps its view: the file is {reason}")),
        Note::ViewStale => (None, "serves nobody: its view is stale".to_owned()),
        Note::ViewFresh => (None, "serves again".to_owned()),
        Note::Loaded { group, offsets, claims_removed } => {
            let removed = match claims_removed {
                0 => String::new(),
                removed => format!(", {} removed", crate::world::count(*removed, "claim")),
            };
            (Some(group), format!("loaded {}{removed}", crate::world::count(*offsets, "offset")))
        }
        Note::Fenced { group, during } => (Some(group), format!("fenced at {during}")),
        Note::Quarantined { group, reason } => (Some(group), format!("refused: file is {reason}")),
        Note::VolumeFailed { group, operation, reason } => {
            (Some(group), format!("{operation} failed: {reason}"))
        }
        Note::Dropped { group, owner, parked, .. } => {
            let owner = owner.as_ref().map_or("nobody", |owner| owner.as_str());
            let parked = match parked {
                0 => String::new(),
                parked => format!(", {parked} parked answered"),
            };
            (Some(group), format!("dropped: is {owner}'s{parked}"))
        }
        Note::Idle { group } => (Some(group), "put away".to_owned()),
        Note::Expired { group, offsets } => (Some(group), format!("{offsets} offsets expired")),
        Note::State { group, state, generation, members } => {
            let members = crate::world::count(*members, "member");
            (Some(group), format!("{state}  generation {generation}, {members}"))
        }
        Note::MemberExpired { group, timer } => {
            (Some(group), format!("a member is removed: {timer} timeout"))
        }
        Note::Batched { .. } => return None,
    })
}
