//! Each scenario against its snapshot, under eight seeds.
//!
//! `scenarios/x.scn` is a story, `snapshots/x.snap` is what happened. A snapshot must not depend on
//! the seed: otherwise every change would rewrite every snapshot, and people would stop reading them.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use sim::{
    outcome::{Outcome, Verdict},
    run, text,
};

/// How many seeds must tell the same.
const SEEDS: u64 = 8;
/// How long a snapshot may be: a page or two.
const LINES_MAX: usize = 110;

macro_rules! scenarios {
    ($($name:ident)*) => {
        /// All scenarios.
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*
    };
}

scenarios! {
    assignment_flap
    boot_window
    bootless_broker_lets_go
    broker_death
    client_vanishes
    clock_jumps
    clock_stands_still
    closing_broker_answers
    cold_commit_after_failover
    coordinator_dies_after_prepare
    cross_broker_commit
    cut_off_for_good
    deposed_controller
    failover_between_neighbours
    fenced_zombie
    group_moves_mid_transaction
    hangs_up_while_it_waits
    lagging_owner
    late_description
    marker_at_a_former_owner
    never_syncing_leader
    old_lease
    one_shot_storm
    paused_owner_wakes
    regain_after_loss
    request_dies
    rolling_restart
    rolling_upgrade
    scale_out
    silent_death
    stale_handle
    starved_owner
    static_restart
    stranded_follower
    transaction_times_out
    unreadable_file
    volume_full
    zombie_producer_fenced
    zombie_wakes
}

#[track_caller]
fn check(name: &str) {
    let (outcome, told) = tell(name, 0);
    for seed in 1..SEEDS {
        let (_, other) = tell(name, seed);
        if let Some(difference) = first_difference(&told, &other) {
            panic!("{name} depends on the seed; 0 and {seed} first differ in {difference}");
        }
    }
    assert_eq!(outcome.verdict, Verdict::Kept, "{:?} {:?}", outcome.reason, outcome.findings);
    for (verb, fault) in &outcome.faults {
        assert_eq!(fault.planned, fault.effective, "each `{verb}` must have had an effect");
    }
    assert!(told.lines().count() <= LINES_MAX, "{name} is too long a story; make two of it");
    insta::with_settings!({
        snapshot_path => "../../../snapshots",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, { insta::assert_snapshot!(name, told) });
}

/// Runs a scenario under a seed.
#[track_caller]
fn tell(name: &str, seed: u64) -> (Outcome, String) {
    let file = format!("scenarios/{name}.scn");
    let path = in_repository(&file);
    let content = fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut plan = text::parse(&file, &content).unwrap_or_else(|error| panic!("{error}"));
    assert!(plan.is_fixed(), "{file}: latencies are fixed, so that the story is always the same");
    plan.seed = seed;
    let (outcome, told) = run::run(&plan, true);
    (outcome, told.expect("it was to be told"))
}

/// The first line that differs, both ways.
fn first_difference(one: &str, other: &str) -> Option<String> {
    let (mut ones, mut others) = (one.lines(), other.lines());
    for line in 1.. {
        match (ones.next(), others.next()) {
            (None, None) => return None,
            (one, other) if one == other => {}
            (one, other) => {
                let [one, other] = [one, other].map(|it| it.unwrap_or("(the end)"));
                return Some(format!("line {line}:\n  {one}\n  {other}"));
            }
        }
    }
    unreachable!("a text ends")
}

#[test]
fn every_file_is_in_the_list_and_has_its_counterpart() {
    let listed: BTreeSet<String> = NAMES.iter().map(|it| (*it).to_owned()).collect();
    assert_eq!(listed.len(), NAMES.len());
    assert_eq!(stems("scenarios", "scn"), listed, "scenarios/ and the list differ");
    assert_eq!(stems("snapshots", "snap"), listed, "snapshots/ and the list differ");
}

#[test]
fn every_claim_is_a_title_and_a_few_lines() {
    for name in NAMES {
        let file = format!("scenarios/{name}.scn");
        let content = fs::read_to_string(in_repository(&file)).unwrap();
        let plan = text::parse(&file, &content).unwrap_or_else(|error| panic!("{error}"));
        let lines: Vec<&str> = plan.claim.iter().map(|it| it.trim()).collect();
        let [title, "", claim @ ..] = &lines[..] else {
            panic!("{file}: a claim is a title, an empty line, and what must hold")
        };
        assert!(title.ends_with('.') && (2..=5).contains(&claim.len()), "{file}: {claim:?}");
        assert!(claim.iter().all(|it| !it.is_empty()), "{file}: one paragraph");
    }
}

/// The names of the files of a kind in a directory of the repository.
fn stems(directory: &str, extension: &str) -> BTreeSet<String> {
    let entries =
        fs::read_dir(in_repository(directory)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.unwrap_or_else(|error| panic!("{directory}/: {error}"));
    let names = entries.iter().map(|it| it.file_name().to_string_lossy().into_owned());
    let stem = |name: String| {
        let stem = name.strip_suffix(extension).and_then(|it| it.strip_suffix('.'));
        stem.unwrap_or_else(|| panic!("{directory}/{name} does not belong there")).to_owned()
    };
    names.map(stem).collect()
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}
