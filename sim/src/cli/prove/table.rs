//! What `prove` prints: a row for each bug as soon as it is measured, then what it all comes to.

use std::time::Duration;

use crate::{
    cli::{
        evidence::labelled,
        layout::{count, ratio, thousands},
        summary::sharing,
    },
    prove::{Bug, Build, Differences, Expected, Measurement},
    seed::Seed,
};

/// How wide the other columns are.
const FIGURES: &str = "found      seeds   p95     time  promise";

/// A bug and what came of it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) bug: Bug,
    pub(super) build: Duration,
    pub(super) measurement: Measurement,
    /// From what is on record, if no seed failed.
    pub(super) differences: Differences,
}

impl Row {
    pub(super) fn is_as_expected(&self) -> bool {
        let is_found = (self.measurement.is_found(), !self.differences.is_none());
        is_found
            == match self.bug.expected() {
                Expected::Found => (true, false),
                Expected::OnRecord => (false, true),
                Expected::Missed | Expected::Nothing => (false, false),
            }
    }

    /// Whether what failed is none of the promises that should.
    fn is_by_another(&self) -> bool {
        let breaks = self.bug.breaks();
        let named = |(promise, _): &(&str, u64)| breaks.contains(promise);
        self.measurement.is_found() && !self.measurement.promises().iter().any(named)
    }
}

/// The table's shape.
#[derive(Debug)]
pub(super) struct Table {
    width: usize,
}

impl Table {
    pub(super) fn new(bugs: &[Bug]) -> Self {
        let widths = bugs.iter().map(|it| it.id.len());
        Self { width: widths.max().unwrap_or_default().max(3) }
    }

    /// What was copied, that it passes, and the names of the columns.
    pub(super) fn head(
        &self,
        commit: &str,
        from: Seed,
        build: &Build,
        kept: &Measurement,
    ) -> String {
        let last = from.0.wrapping_add(kept.seeds - 1);
        let seeds = format!("{}, {from} to {last}, all kept", thousands(kept.seeds));
        labelled("source", [commit])
            + &labelled("seeds", [format!("{seeds}, in {}", seconds(kept.took))])
            + &labelled("built", [format!("in {}", seconds(build.took))])
            + &format!("\n{:1$}  {FIGURES}\n", "bug", self.width)
    }

    /// One bug.
    pub(super) fn row(&self, row: &Row) -> String {
        let Row { bug, measurement: it, differences, .. } = row;
        let figure = |number: Option<u64>| number.map(|it| it.to_string()).unwrap_or_default();
        let time = it.median().map(|median| seconds(it.time_of(median))).unwrap_or_default();
        let found = match (it.is_found(), bug.expected()) {
            (true, _) => format!("{}/{}", it.failures.len(), it.seeds),
            (false, _) if !differences.is_none() => "records".to_owned(),
            (false, Expected::Nothing) => "not".to_owned(),
            (false, Expected::Found | Expected::OnRecord | Expected::Missed) => "missed".to_owned(),
        };
        let mark = if row.is_as_expected() { "" } else { " !" };
        let promise = it.promises().first().map(|(promise, _)| (*promise).to_owned());
        let promise = promise.unwrap_or_else(|| differences.words());
        let by_another = if row.is_by_another() { " (another)" } else { "" };
        let line = format!(
            "{:width$}  {found:8}{:>8}{:>6}{time:>9}  {promise}{by_another}{mark}",
            bug.id,
            figure(it.median()),
            figure(it.p95()),
            width = self.width,
        );
        line.trim_end().to_owned() + "\n"
    }

    /// What failing plans need, and how many bugs came to what they should.
    pub(super) fn tail(&self, rows: &[Row]) -> String {
        let needs = rows.iter().filter(|it| !it.measurement.shared.is_empty());
        let needs = needs.map(|it| needs_of(it, self.width)).collect::<String>();
        let needs =
            if needs.is_empty() { needs } else { format!("\nwhat failures share\n{needs}") };
        let missed = rows.iter().filter(|it| !it.is_as_expected()).map(|it| it.bug.id.as_str());
        let missed: Vec<_> = missed.collect();
        let (all, good) = (rows.len(), rows.len() - missed.len());
        let building: Duration = rows.iter().map(|it| it.build).sum();
        let each = building.checked_div(u32::try_from(all).unwrap_or(u32::MAX)).unwrap_or_default();
        let good = format!("{good} of {all} as expected; a build took {}", seconds(each));
        needs
            + "\n"
            + &labelled("proved", [good])
            + &labelled("not", missed)
            + &labelled("slow", slow(rows))
    }
}

/// Bugs whose median is beyond 50 seeds.
fn slow(rows: &[Row]) -> Option<String> {
    let slow = rows.iter().filter(|it| it.measurement.median().is_some_and(|it| it > 50));
    let slow: Vec<_> = slow.map(|it| it.bug.id.as_str()).collect();
    let number = u64::try_from(slow.len()).expect("a count fits");
    (number > 0).then(|| format!("{} beyond 50 seeds: {}", count(number, "bug"), slow.join(", ")))
}

fn needs_of(row: &Row, width: usize) -> String {
    let lines = sharing(&row.measurement.shared).enumerate().map(|(at, line)| {
        let id = if at == 0 { row.bug.id.as_str() } else { "" };
        format!("{id:width$}  {line}\n")
    });
    lines.collect()
}

/// `0.4s`, `37s`.
fn seconds(time: Duration) -> String {
    ratio(time.as_millis(), 1_000) + "s"
}
