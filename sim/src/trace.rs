//! A run, told: what happened under each line of its scenario.
//!
//! Times are whole milliseconds since the line above began, so that one line more shifts nothing
//! below; lines are sorted by time, who, and what, so that the order of what happens at once in two
//! places does not matter. Heartbeats and commits that just succeed are counted, not told.
//!
//! This file collects; `words.rs` says what a broker's notes mean, `render.rs` makes the text.
#![expect(clippy::wildcard_enum_match_arm, reason = "what has no column is not counted")]

use std::{
    collections::BTreeMap,
    mem::{self, Discriminant},
    sync::Arc,
};

use kaas_coordinator::{
    api::{ErrorCode, Response},
    ids::GroupId,
    note::Note,
};

use crate::plan::{Clients, Plan, Step};

mod render;
mod words;

pub use self::words::positions;

/// The counters of a group, in the order of the table's columns.
const COLUMNS: [&str; 5] = ["moves", "joins", "commits", "acked", "refused"];

/// How many groups that are used once are told of one by one.
const ONE_SHOTS_MAX: u32 = 60;
/// The row of those that are counted together.
const TOGETHER: &str = "used once";

/// See the [module](self).
#[derive(Debug)]
pub struct Trace {
    plan: Arc<Plan>,
    sections: Vec<Section>,
    counts: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// The last line of each coordinator if it is about a generation that has only begun.
    begun: BTreeMap<String, (usize, usize)>,
    /// By client, what it was told of last when all is well.
    well: BTreeMap<String, Vec<(Discriminant<Response>, String)>>,
    /// The groups that are told of, if others are too many for that.
    known: Option<Arc<[String]>>,
}

#[derive(Debug)]
struct Section {
    /// The step that it is about; `None` before the first.
    step: Option<usize>,
    began: u64,
    lines: Vec<Line>,
    took: Option<u64>,
}

#[derive(Debug)]
struct Line {
    millis: u64,
    who: String,
    what: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A step with a time of its own.
    Step,
    /// What is always told.
    Event,
    /// A client was refused, or not answered.
    Refusal,
    /// What is told unless the same moment tells more of the same place.
    Slight,
    /// What came later made it superfluous.
    Moot,
}

impl Trace {
    /// The trace of a plan that has not begun.
    pub fn new(plan: Arc<Plan>) -> Self {
        let one_shots = plan.clients.iter().filter_map(|it| match it {
            Clients::OneShot { count, .. } => Some(*count),
            _ => None,
        });
        let is_crowd = one_shots.sum::<u32>() > ONE_SHOTS_MAX;
        let known = is_crowd.then(|| plan.groups());
        let start = Section { step: None, began: 0, lines: Vec::new(), took: None };
        Self {
            plan,
            sections: vec![start],
            counts: BTreeMap::new(),
            begun: BTreeMap::new(),
            well: BTreeMap::new(),
            known,
        }
    }

    /// Something happened.
    pub fn tell(&mut self, now: u64, who: &str, what: String) {
        self.push(now, who, what, Kind::Event);
    }

    fn push(&mut self, now: u64, who: &str, what: String, kind: Kind) {
        let section = self.sections.last_mut().expect("there is always a section");
        let millis = to_millis(now - section.began);
        section.lines.push(Line { millis, who: who.to_owned(), what, kind });
    }

    /// A step begins: one in the script's order has a section of its own.
    pub fn enter(&mut self, now: u64, step: usize) {
        if self.plan.steps[step].is_aside() {
            let action = self.plan.steps[step].action.clone();
            self.push(now, "plan", Step { at: None, when: None, action }.to_string(), Kind::Step);
            return;
        }
        self.begin_section(now, step);
    }

    /// A step in the script's order is over.
    pub fn leave(&mut self, now: u64, step: usize) {
        let section = self.sections.iter_mut().rev().find(|it| it.step == Some(step));
        let section = section.expect("it was entered");
        section.took = Some(to_millis(now - section.began));
    }

    /// The script is over: what follows is told under a line of its own.
    pub fn settle(&mut self, now: u64) {
        self.begin_section(now, self.plan.steps.len());
    }

    fn begin_section(&mut self, now: u64, step: usize) {
        let (step, lines) = (Some(step), Vec::new());
        self.sections.push(Section { step, began: now, lines, took: None });
    }

    /// Something routine happened.
    pub fn count(&mut self, group: &str, column: &'static str) {
        let row = self.row(group).to_owned();
        *self.counts.entry(row).or_default().entry(column).or_default() += 1;
    }

    /// Where a group is counted.
    fn row<'a>(&self, group: &'a str) -> &'a str {
        match self.known.as_ref().is_some_and(|it| !it.iter().any(|it| it == group)) {
            true => TOGETHER,
            false => group,
        }
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

    /// A client receives an answer. Refusals are told; successes to a client that has no group
    /// (`is_single`) when they are the first after something else.
    pub fn received(&mut self, now: u64, ends: (&str, &str), response: &Response, is_single: bool) {
        let (client, broker) = ends;
        if let Some((what, error)) = words::refusal(response) {
            self.well.remove(client);
            let what = match response {
                Response::FindCoordinator(_) => format!("finds no coordinator: {error}"),
                _ => format!("{what} refused by {broker}: {error}"),
            };
            self.push(now, client, what, Kind::Refusal);
        } else if is_single && let Some(what) = words::success(response, broker) {
            let kind = mem::discriminant(response);
            let well = self.well.entry(client.to_owned()).or_default();
            let old = well.extract_if(.., |it| it.0 == kind).next();
            well.push((kind, broker.to_owned()));
            if old.is_none_or(|old| old.1 != broker) {
                self.tell(now, client, what);
            }
        }
    }

    /// A client waits for an answer no more.
    pub fn unanswered(&mut self, now: u64, client: &str, what: &str) {
        self.well.remove(client);
        self.push(now, client, format!("{what} unanswered"), Kind::Refusal);
    }

    /// A broker wrote a note.
    pub fn noted(&mut self, now: u64, broker: &str, note: &Note) {
        let Some((group, what)) = words::of(note) else { return };
        let Some(group) = group else { return self.tell(now, broker, what) };
        if self.row(group.as_str()) == TOGETHER
            && matches!(note, Note::Loaded { .. } | Note::Idle { .. } | Note::State { .. })
        {
            if let Note::Loaded { .. } = note {
                self.count(group.as_str(), "moves");
            }
            return;
        }
        let who = format!("{group}@{broker}");
        let mut kind = Kind::Event;
        match note {
            Note::Loaded { .. } => self.count(group.as_str(), "moves"),
            Note::State { state: "Dead", .. } => kind = Kind::Slight,
            Note::State { state: "CompletingRebalance", .. } => {
                let section = self.sections.len() - 1;
                self.begun.insert(who.clone(), (section, self.sections[section].lines.len()));
            }
            Note::State { state, .. } => {
                let begun = self.begun.remove(&who).filter(|_| *state == "Stable");
                if let Some((section, line)) = begun {
                    self.sections[section].lines[line].kind = Kind::Moot;
                }
            }
            _ => {}
        }
        self.push(now, &who, what, kind);
    }
}

/// The nearest whole millisecond.
fn to_millis(micros: u64) -> u64 {
    (micros + 500) / 1000
}
