//! What people read.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use super::{broke, crashed, kept, stuck};
use crate::{
    cli::{
        attempt::attempt,
        evidence::{self, Detail},
        layout::{clock, columns, compact, count, ratio, thousands, wrap},
        replay,
        summary::Summary,
    },
    outcome::Verdict,
    runner::Suite,
    seed::Seed,
};

#[test]
fn a_summary_can_be_scanned() {
    let mut suite = Suite::default();
    for seed in 0..240 {
        suite.add(Seed(seed), kept());
    }
    let summary = Summary {
        suite: &suite,
        files: &BTreeMap::new(),
        shared: &[],
        first: Seed(0),
        profile: crate::draw::PROFILES[0].0,
        budget: None,
        jobs: NonZeroUsize::MIN,
        real: Duration::from_millis(2_500),
    };
    let text = summary.text();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The milestones are many, and not the subject.
    let (head, rest) = text.split_once("\nmilestones, ").unwrap();
    let (_, tail) = rest.split_once("\nnot yet").unwrap();
    insta::assert_snapshot!(format!("{head}\n…\nnot yet{tail}"), @"
    seeds     240, 0 to 239
    simulated 5:00:00
    events    771,360
    speed     96 seeds a second, 7,200 times real time, 1 at a time

    promise                   checked   broken
    unique-ownership            9,600
    stable-divisor              9,600
    bounded-memory              9,600
    offset-durability           9,600
    no-zombie-commit            9,600
    generation-agreement        9,600
    exclusive-assignment        9,600
    txn-isolation               9,600
    read-filter                 9,600
    reply-bound                 9,600
    volume-confinement          9,600
    convergence                 9,600

    …
    not yet   fenced-at-sync (rare), marker-outlived-its-coordinator (rare)

    faults, effective/planned
    kill 480/720

    kept      every promise, in 240 seeds
    ");
}

#[test]
fn a_replay_tells_all_and_how_to_do_it_again() {
    let mut outcome = broke();
    let first = outcome.findings[0].clone();
    outcome.findings.extend([first.clone(), first]);
    outcome.findings[1].evidence = vec!["the same promise, told shortly".to_owned()];
    outcome.findings[2].promise = "read-filter".to_owned();
    outcome.findings[2].claim = "list and describe speak only for owned groups".to_owned();
    let again = "cargo sim replay scenarios/rolling_restart.scn";
    insta::assert_snapshot!(replay::verdict(&outcome, again, true), @"
    broke     offset-durability
              a fetch never answers what a later acknowledged commit replaced

              payments at 3010ms
              orders/3 of payments:
                commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms
                a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms

              payments at 3010ms
              the same promise, told shortly

    broke     read-filter
              list and describe speak only for owned groups

              payments at 3010ms
              orders/3 of payments:
                commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms
                a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms

    digest    c7cda96659fc7ac44af483958162e01a
    again     cargo sim replay scenarios/rolling_restart.scn
    ");
    insta::assert_snapshot!(replay::verdict(&stuck(), "cargo sim replay 3 --trace", false), @"
    unsettled billing is PreparingRebalance, and waits for billing.2

    digest    c7cda96659fc7ac44af483958162e01a
    again     cargo sim replay 3 --trace
    ");
    insta::assert_snapshot!(replay::verdict(&kept(), "cargo sim replay 3 --trace", false), @"
    kept      every promise: 480 checks, 121 milestones, 3,214 events, 75.000s of simulated time
    digest    c7cda96659fc7ac44af483958162e01a
    told      cargo sim replay 3 --trace
    ");
}

#[test]
fn a_summary_cuts_long_evidence_short() {
    let mut outcome = broke();
    outcome.findings.push(outcome.findings[0].clone());
    let text = evidence::failure(&outcome, Detail::Lines(1));
    insta::assert_snapshot!(text, @"
    broke     offset-durability
              a fetch never answers what a later acknowledged commit replaced

              payments at 3010ms
              orders/3 of payments:
              and 2 lines, which a replay tells

              and 1 finding, which a replay tells
    ");
    let text = evidence::failure(&crashed(), Detail::Lines(1));
    insta::assert_snapshot!(text, @"crashed   sim/src/hub.rs:12: a name is given once");
}

#[test]
fn a_crash_names_its_place_and_its_words() {
    let (outcome, trace) = attempt(|| panic!("a group is created once"));
    assert_eq!((outcome.verdict, trace), (Verdict::Crashed, None));
    let reason = outcome.reason.unwrap();
    let place = concat!(file!(), ":");
    assert!(reason.starts_with(place) && reason.ends_with(": a group is created once"), "{reason}");
}

#[test]
fn numbers_are_readable() {
    let numbers = [0, 999, 1_000, 12_345_678].map(thousands);
    assert_eq!(numbers, ["0", "999", "1,000", "12,345,678"]);
    let numbers = [0, 9_999, 10_000, 9_999_999, 10_000_000].map(compact);
    assert_eq!(numbers, ["0", "9999", "10k", "9999k", "10M"]);
    assert_eq!([count(1, "seed"), count(2_000, "seed")], ["1 seed", "2,000 seeds"]);
    assert_eq!([ratio(1, 3), ratio(99, 10), ratio(12_345, 1)], ["0.3", "9.9", "12,345"]);
    assert_eq!(ratio(1, 0), "1.0", "nothing took no time");
    let clocks = [0, 59, 3_600, 12_007].map(|it| clock(Duration::from_secs(it)));
    assert_eq!(clocks, ["0:00:00", "0:00:59", "1:00:00", "3:20:07"]);
}

#[test]
fn lines_are_wrapped_under_their_own_indentation() {
    assert_eq!(wrap("  one two three four", 11), ["  one two", "  three", "  four"]);
    assert_eq!(wrap("a  b\n\nc", 11), ["a  b", "", "c"], "what fits stays");
    assert_eq!(wrap("overlong", 3), ["overlong"], "words are never broken");
    assert_eq!(wrap("a\u{7}\tb", 99), ["a\\u{7}\\tb"]);
}

#[test]
fn columns_are_read_from_top_to_bottom() {
    let names = ["alpha", "be", "gamma", "delta", "epsilon"];
    let items: Vec<_> = names.iter().map(|it| (*it, it.len().to_string())).collect();
    assert_eq!(columns(&items), "alpha 5   be 2   gamma 5   delta 5   epsilon 7\n");
    let wide = "x".repeat(40);
    let items: Vec<_> = (0..5).map(|at| (wide.as_str(), at.to_string())).collect();
    let row = |left: u32, right: u32| format!("{wide} {left}   {wide} {right}\n");
    assert_eq!(columns(&items), row(0, 3) + &row(1, 4) + &format!("{wide} 2\n"));
    assert_eq!(columns(&[]), "");
}
