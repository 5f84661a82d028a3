//! `run` and `determinism` over outcomes that are made up.

use std::{fs, path::Path};

use clap::Parser;
use quick_junit::{Report, TestCaseStatus};

use super::{Typed, broke, crashed, diverged, kept, plan, stuck, with_console};
use crate::{
    cli::{
        Exit,
        args::{Cli, Command},
        determinism, run,
    },
    outcome::{Excused, Outcome, Verdict},
    runner::Source,
    seed::Seed,
};

/// `cargo sim run` with failures, if any, below `dir`.
fn suite(args: &str, dir: &Path, source: &dyn Source) -> Typed {
    let line = format!("sim run --out {}/failures {args}", dir.display());
    let Command::Run(args) = Cli::try_parse_from(line.split_whitespace()).unwrap().command else {
        panic!("run was typed");
    };
    let plan_of = |seed| Some(plan(seed));
    with_console(|console| run::with(source, &plan_of, &args, console).unwrap(), "")
}

/// The same outcome for seeds that `picks`, and a kept promise for all others.
fn some(outcome: Outcome, picks: impl Fn(u64) -> bool + Sync) -> impl Source {
    move |seed: Seed| if picks(seed.0) { outcome.clone() } else { kept() }
}

#[test]
fn the_exit_code_is_that_of_the_worst_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let exit = |outcomes: &[Outcome]| {
        let at = |seed: Seed| outcomes[usize::try_from(seed.0).unwrap()].clone();
        suite(&format!("--seeds {}", outcomes.len()), dir.path(), &at).exit as u8
    };
    assert_eq!(exit(&[kept()]), 0);
    assert_eq!(exit(&[kept(), broke()]), 1);
    assert_eq!(exit(&[stuck(), kept()]), 2);
    assert_eq!(exit(&[crashed(), kept()]), 3);
    assert_eq!(exit(&[kept(), diverged()]), 4);
    assert_eq!(exit(&[diverged(), stuck(), kept()]), 2);
    assert_eq!(exit(&[diverged(), stuck(), broke()]), 1);
    assert_eq!(exit(&[diverged(), stuck(), crashed(), broke()]), 3);

    let empty = Outcome { checked: Default::default(), ..kept() };
    assert_eq!(exit(&[empty.clone(), empty.clone()]), 5);
    assert_eq!(exit(&[empty, stuck()]), 2, "and vacuous comes last");
}

#[test]
fn a_failure_ends_with_the_commands_to_type_next() {
    let dir = tempfile::tempdir().unwrap();
    let typed = suite("--seeds 30 --from 10", dir.path(), &some(broke(), |seed| seed % 6 == 5));
    assert_eq!(typed.exit, Exit::Broke);
    let out = typed.out.replace(&format!("{}/", dir.path().display()), "");
    let news = &out[out.find("\nfailed ").unwrap() + 1..];
    insta::assert_snapshot!(news, @"
    failed    5 of 30 seeds, in 1 way
              5 × offset-durability broke for a group: 11, 17, 23, 29, 35

    broke     offset-durability
              a fetch never answers what a later acknowledged commit replaced

              payments at 3010ms
              orders/3 of payments:
                commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms
                a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms

    scenario  failures/offset-durability-11.scn
    again     cargo sim replay failures/offset-durability-11.scn
              cargo sim replay 11
    ");

    let mut names: Vec<_> = fs::read_dir(dir.path().join("failures"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [11, 17, 23, 29, 35].map(|seed| format!("offset-durability-{seed}.scn"));
    assert_eq!(names, expected);
    let text = fs::read_to_string(dir.path().join("failures/offset-durability-17.scn")).unwrap();
    let claim: Vec<_> = text.lines().take_while(|line| line.starts_with('#')).collect();
    insta::assert_snapshot!(claim.join("\n"), @"
    # Seed 17: offset-durability broke for payments at 3010ms.
    # orders/3 of payments:
    # commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms
    # a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms
    ");
}

#[test]
fn another_profile_is_part_of_the_command() {
    let dir = tempfile::tempdir().unwrap();
    let Some((profile, _)) = crate::draw::PROFILES.get(1) else { return };
    let typed =
        suite(&format!("--seeds 1 --profile {profile}"), dir.path(), &some(stuck(), |_| true));
    let last = typed.out.lines().last().unwrap().trim();
    assert_eq!(last, format!("cargo sim replay 0 --profile {profile}"));
}

#[test]
fn a_vacuous_suite_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let mut outcome = kept();
    outcome.checked.remove("read-filter");
    outcome.milestones.insert("batched".to_owned(), 0);
    let typed = suite("--seeds 2000", dir.path(), &some(outcome, |_| true));
    assert_eq!(typed.exit, Exit::Vacuous);
    let news = &typed.out[typed.out.find("\nvacuous").unwrap() + 1..];
    insta::assert_snapshot!(news, @"
    vacuous   never checked: read-filter
              2,000 seeds must reach every milestone: batched
    again     cargo sim run --seeds 2000 --from 0
    ");
    assert!(!dir.path().join("failures").exists(), "no run has failed");
}

/// A run in which two groups were excused for one reason.
fn excused() -> Outcome {
    let group = |group: &str| Excused {
        group: group.to_owned(),
        reason: "coordinator-unreachable".to_owned(),
        evidence: Vec::new(),
    };
    Outcome { excused: vec![group("billing"), group("audit")], ..kept() }
}

#[test]
fn a_suite_may_excuse_groups_in_few_of_its_seeds() {
    let dir = tempfile::tempdir().unwrap();
    let typed = suite("--seeds 2000", dir.path(), &some(excused(), |seed| seed % 100 == 0));
    assert_eq!(typed.exit, Exit::Kept);
    let line = typed.out.lines().find(|line| line.starts_with("excused")).unwrap();
    insta::assert_snapshot!(line, @"excused   groups in 20 seeds, 1.00%: coordinator-unreachable 20");

    let path = dir.path().join("report.json");
    let args = format!("--seeds 2000 --json {}", path.display());
    let typed = suite(&args, dir.path(), &some(excused(), |seed| seed % 95 == 0));
    assert_eq!(typed.exit, Exit::Vacuous);
    let news = &typed.out[typed.out.find("\nvacuous").unwrap() + 1..];
    insta::assert_snapshot!(news, @"
    vacuous   1% of seeds may have excused groups, and here 22 seeds, 1.10%: coordinator-unreachable 22
    again     cargo sim run --seeds 2000 --from 0
    ");
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["excused"]["seeds"], 22);
    assert_eq!(report["excused"]["share_ppm"], 11_000);
    assert_eq!(report["excused"]["reasons"]["coordinator-unreachable"], 22);
    assert_eq!(report["vacuous"]["is_excused_too_often"], true);

    let typed = suite("--seeds 1999", dir.path(), &some(excused(), |_| true));
    assert_eq!(typed.exit, Exit::Kept, "so few seeds may have them by chance");
}

#[test]
fn a_log_gets_a_line_of_progress_now_and_then() {
    let dir = tempfile::tempdir().unwrap();
    let typed = suite("--jobs 1", dir.path(), &some(broke(), |seed| seed == 120));
    insta::assert_snapshot!(typed.err, @"
    50 seeds of 200
    100 seeds of 200
    150 seeds of 200, 1 failed
    ");
    let short = suite("--seeds 99", dir.path(), &some(kept(), |_| true));
    assert_eq!(short.err, "");
    let spent = suite("--budget 0s", dir.path(), &some(kept(), |_| true));
    assert!(spent.out.starts_with("seeds     0; then the budget of 0ns was used up\n"));
    assert_eq!(spent.exit, Exit::Vacuous);
}

#[test]
fn json_tells_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let args = format!("--seeds 20 --json {}", path.display());
    suite(&args, dir.path(), &some(broke(), |seed| seed % 10 == 7));
    let report: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(report["verdict"], "broke");
    assert_eq!(report["exit"], 1);
    assert_eq!(report["seeds"], 20);
    assert_eq!(report["simulated_micros"], 20 * 75_000_000);
    assert_eq!(report["promises"]["offset-durability"]["checked"], 20 * 40);
    assert_eq!(report["promises"]["offset-durability"]["broken_in"], 2);
    assert_eq!(report["promises"]["read-filter"]["broken_in"], 0);
    assert_eq!(report["milestones"]["batched"], 60);
    assert_eq!(report["faults"]["kill"]["effective"], 40);
    assert_eq!(report["excused"]["seeds"], 0);
    assert_eq!(report["excused"]["reasons"]["file-lost"], 0);
    assert_eq!(report["vacuous"]["is_failure"], false);
    assert_eq!(report["clusters"][0]["what"], "offset-durability broke for a group");
    assert_eq!(report["clusters"][0]["seeds"], serde_json::json!([7, 17]));
    assert_eq!(report["failures"][1]["seed"], 17);
    let outcome = serde_json::from_value::<Outcome>(report["failures"][1]["outcome"].clone());
    assert_eq!(outcome.unwrap(), broke());
    let scenario = report["failures"][1]["scenario"].as_str().unwrap();
    assert!(Path::new(scenario).ends_with("failures/offset-durability-17.scn"));
}

#[test]
fn junit_has_a_case_for_what_was_asked_and_what_failed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.xml");
    let mut outcome = broke();
    outcome.findings[0].subject = "odd \u{0}\u{1b}[31m & <id>".to_owned();
    let args = format!("--seeds 20 --junit {}", path.display());
    suite(&args, dir.path(), &some(outcome, |seed| seed % 10 == 7));
    let report = Report::deserialize_from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let names: Vec<_> = report.test_suites.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["promises", "milestones", "seeds"]);

    let case = |suite: usize, name: &str| {
        let cases = &report.test_suites[suite].test_cases;
        cases.iter().find(|it| it.name.as_str() == name).unwrap().status.clone()
    };
    assert!(matches!(case(0, "read-filter"), TestCaseStatus::Success { .. }));
    assert!(matches!(case(1, "batched"), TestCaseStatus::Success { .. }));
    assert!(matches!(case(1, "fenced-at-sync"), TestCaseStatus::Skipped { .. }));
    let TestCaseStatus::NonSuccess { message, .. } = case(0, "offset-durability") else {
        panic!("it broke");
    };
    assert_eq!(message.unwrap().as_str(), "broken in 2 seeds");
    let TestCaseStatus::NonSuccess { message, description, .. } = case(2, "17") else {
        panic!("it broke");
    };
    let headline = "offset-durability broke for odd \\u{0}\\u{1b}[31m & <id> at 3010ms";
    assert_eq!(message.unwrap().as_str(), headline);
    assert!(description.unwrap().as_str().trim_end().ends_with("cargo sim replay 17"));
    assert_eq!(report.test_suites[2].test_cases.len(), 2);
}

#[test]
fn determinism_asks_for_sameness_alone() {
    assert_eq!(determinism::compare(kept(), &kept()).verdict, Verdict::Kept);
    assert_eq!(determinism::compare(broke(), &broke()).verdict, Verdict::Kept);
    assert_eq!(determinism::compare(kept(), &crashed()).verdict, Verdict::Crashed);
    assert_eq!(determinism::compare(crashed(), &kept()).verdict, Verdict::Crashed);
    let more = Outcome { events: 1, ..kept() };
    assert_eq!(determinism::compare(kept(), &more).verdict, Verdict::Diverged);

    let other = Outcome { digest: "0".repeat(32), ..kept() };
    let source = |seed: Seed| match seed.0 {
        3 | 5 => determinism::compare(kept(), &other),
        _ => kept(),
    };
    let line = ["sim", "determinism", "--seeds", "8"];
    let Command::Determinism(args) = Cli::try_parse_from(line).unwrap().command else {
        panic!("determinism was typed");
    };
    let typed = with_console(|it| determinism::with(&source, &args, it).unwrap(), "");
    assert_eq!(typed.exit, Exit::Diverged);
    insta::assert_snapshot!(typed.out, @"
    failed    2 of 8 seeds: 3, 5

    seed      3
    diverged  two digests for one plan
              untold c7cda96659fc7ac44af483958162e01a, 3214 events, 75000000us, kept every promise
              told   00000000000000000000000000000000, 3214 events, 75000000us, kept every promise

    again     cargo sim replay 3 --trace
    ");
    let typed = with_console(|it| determinism::with(&|_| kept(), &args, it).unwrap(), "");
    assert_eq!(typed.exit, Exit::Kept);
    insta::assert_snapshot!(typed.out, @"
    kept      8 seeds came to the same, told and untold
    digest    3e8aef73fca91b7ca757979f92da2713, which every build must give
    ");
}
