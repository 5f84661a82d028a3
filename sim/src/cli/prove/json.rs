//! `prove --json`: the table and what it leaves out.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::table::Row;
use crate::{
    cli::json::SharedRow,
    prove::{Differences, Measurement},
    seed::Seed,
};

#[derive(Serialize)]
struct Report<'a> {
    commit: &'a str,
    from: u64,
    unpatched: Unpatched,
    bugs: Vec<BugRow<'a>>,
}

#[derive(Serialize)]
struct Unpatched {
    seeds: u64,
    failed: usize,
    millis: u64,
}

#[derive(Serialize)]
struct BugRow<'a> {
    id: &'a str,
    bug: &'a str,
    idea: &'a str,
    breaks: Vec<&'a str>,
    expected: String,
    is_as_expected: bool,
    found: bool,
    broke: &'a BTreeMap<String, u64>,
    seeds: u64,
    failed: Vec<u64>,
    seeds_median: Option<u64>,
    seeds_p95: Option<u64>,
    millis_median: Option<u64>,
    millis_p95: Option<u64>,
    millis_all: u64,
    millis_build: u64,
    needs: Vec<SharedRow>,
    /// What is not as on record, if no seed failed.
    differences: &'a Differences,
}

pub(super) fn report(from: Seed, commit: &str, kept: &Measurement, rows: &[Row]) -> String {
    let unpatched =
        Unpatched { seeds: kept.seeds, failed: kept.failures.len(), millis: millis(kept.took) };
    let bugs = rows.iter().map(bug).collect();
    let text = serde_json::to_string_pretty(&Report { commit, from: from.0, unpatched, bugs });
    text.expect("strings and numbers, with names as keys, are JSON") + "\n"
}

fn bug(row: &Row) -> BugRow<'_> {
    let Row { bug, build, measurement: it, differences } = row;
    let time_of = |seeds: Option<u64>| seeds.map(|seeds| millis(it.time_of(seeds)));
    BugRow {
        id: &bug.id,
        bug: bug.says("bug"),
        idea: bug.says("idea"),
        breaks: bug.breaks(),
        expected: format!("{:?}", bug.expected()).to_lowercase(),
        is_as_expected: row.is_as_expected(),
        found: it.is_found(),
        broke: &it.broke,
        seeds: it.seeds,
        failed: it.failures.iter().map(|it| it.seed.0).collect(),
        seeds_median: it.median(),
        seeds_p95: it.p95(),
        millis_median: time_of(it.median()),
        millis_p95: time_of(it.p95()),
        millis_all: millis(it.took),
        millis_build: millis(*build),
        needs: it.shared.iter().map(Into::into).collect(),
        differences,
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
