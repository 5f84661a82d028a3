use std::{
    num::NonZeroUsize,
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use model::Promise;

use super::{Children, Kind, Order, Source, Suite, crashed, run};
use crate::{
    milestone::Milestone,
    outcome::{Finding, Outcome, Verdict},
    seed::Seed,
};

fn jobs(jobs: usize) -> NonZeroUsize {
    NonZeroUsize::new(jobs).unwrap()
}

fn order(first: u64, count: u64, at_a_time: usize) -> Order<'static> {
    Order { first: Seed(first), count: Some(count), jobs: jobs(at_a_time), may_start: &|| true }
}

fn kept(seed: Seed) -> Outcome {
    Outcome {
        verdict: Verdict::Kept,
        digest: format!("{:032x}", seed.0),
        reason: None,
        ..crashed(String::new())
    }
}

fn broke(promise: &str, subject: &str) -> Outcome {
    let finding = Finding {
        promise: promise.to_owned(),
        claim: String::new(),
        subject: subject.to_owned(),
        at: 0,
        evidence: Vec::new(),
    };
    Outcome { verdict: Verdict::Broke, findings: vec![finding], ..kept(Seed(0)) }
}

fn stuck(reason: &str) -> Outcome {
    Outcome { verdict: Verdict::Stuck, ..crashed(reason.to_owned()) }
}

fn failed(suite: &Suite) -> Vec<u64> {
    suite.failures.iter().map(|it| it.seed.0).collect()
}

/// Seed 0 ends only when the outcomes of all others have arrived.
#[test]
fn outcomes_are_merged_in_the_order_of_seeds() {
    let (others_arrived, hears) = mpsc::channel();
    let hears = Mutex::new(hears);
    let source = |seed: Seed| {
        if seed == Seed(0) {
            hears.lock().unwrap().recv().unwrap();
        }
        Outcome { verdict: Verdict::Broke, ..kept(seed) }
    };
    let mut arrived = Vec::new();
    let suite = run(order(0, 10, 2), &source, &mut |it| {
        arrived.push(it.digest.clone());
        if arrived.len() == 9 {
            others_arrived.send(()).unwrap();
        }
    });
    assert_eq!(arrived.len(), 10);
    assert_eq!(arrived[9], format!("{:032x}", 0), "the first seed arrived last");
    assert_eq!(failed(&suite), (0..10).collect::<Vec<_>>());

    let alone = run(order(0, 10, 1), &|seed: Seed| kept(seed), &mut |_| {});
    assert_eq!(suite.digest(), alone.digest(), "whoever finishes first");
    let others = run(order(1, 10, 1), &|seed: Seed| kept(seed), &mut |_| {});
    assert_ne!(suite.digest(), others.digest());
}

#[test]
fn seeds_wrap_around() {
    let source = |seed: Seed| Outcome { verdict: Verdict::Broke, ..kept(seed) };
    let suite = run(order(u64::MAX - 1, 4, 3), &source, &mut |_| {});
    assert_eq!(failed(&suite), [u64::MAX - 1, u64::MAX, 0, 1]);
}

#[test]
fn without_a_number_seeds_start_as_long_as_they_may() {
    let asked = AtomicU64::new(0);
    let may_start = || asked.fetch_add(1, Ordering::Relaxed) < 25;
    let order = Order { first: Seed(0), count: None, jobs: jobs(3), may_start: &may_start };
    let suite = run(order, &|seed: Seed| kept(seed), &mut |_| {});
    assert_eq!(suite.ran, 25, "each that may start is brought to its end");
}

#[test]
fn failures_that_look_alike_are_one_cluster() {
    let mut suite = Suite::default();
    suite.add(Seed(1), broke("offset-durability", "payments"));
    suite.add(Seed(2), stuck("group g1 is Empty after 45s\nand so on"));
    suite.add(Seed(3), broke("bounded-memory", "kaas-11"));
    suite.add(Seed(4), stuck("group g27 is Empty after 9s"));
    suite.add(Seed(5), broke("offset-durability", "kaas-of-tea"));
    suite.add(Seed(6), crashed("hub.rs:12: a name is given once".to_owned()));
    suite.add(Seed(7), broke("volume-confinement", "__consumer_offsets/a.json"));
    suite.add(Seed(8), kept(Seed(8)));
    let clusters = suite.clusters().into_iter();
    let lines: Vec<_> = clusters
        .map(|it| format!("{:?} {} {:?} {:?}", it.verdict, it.what, it.kind, it.seeds))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    Crashed hub.rs:#: a name is given once None [Seed(6)]
    Broke offset-durability Some(Group) [Seed(1), Seed(5)]
    Broke bounded-memory Some(Broker) [Seed(3)]
    Broke volume-confinement Some(File) [Seed(7)]
    Stuck group g# is Empty after #s None [Seed(2), Seed(4)]
    ");
    assert_eq!(suite.verdict(), Verdict::Crashed);
    assert_eq!(suite.broken["offset-durability"], 2);
    assert_eq!(suite.ran, 8);
    assert_eq!(Kind::Broker.to_string(), "a broker");
}

#[test]
fn a_run_that_breaks_a_promise_twice_counts_once() {
    let mut outcome = broke("read-filter", "a");
    outcome.findings.push(outcome.findings[0].clone());
    let mut suite = Suite::default();
    suite.add(Seed(0), outcome);
    assert_eq!(suite.broken["read-filter"], 1);
}

#[test]
fn a_suite_that_checks_too_little_is_vacuous() {
    let checked = Promise::ALL.iter().map(|it| (it.name().to_owned(), 1)).collect();
    let milestones = Milestone::ALL
        .iter()
        .filter(|it| !it.is_rare() && **it != Milestone::Batched)
        .map(|it| (it.name().to_owned(), 1))
        .collect();
    let outcome = Outcome { checked, milestones, ..kept(Seed(0)) };
    let mut suite = Suite::default();
    assert!(suite.vacuum().is_failure(), "nothing is checked by nothing");
    for seed in 0..1_999 {
        suite.add(Seed(seed), outcome.clone());
    }
    let vacuum = suite.vacuum();
    assert!(!vacuum.is_failure(), "so few runs need not reach everything");
    assert!(vacuum.unreached.contains(&Milestone::Batched));
    suite.add(Seed(1_999), outcome);
    let vacuum = suite.vacuum();
    assert!(vacuum.is_failure());
    assert_eq!(
        vacuum.missed().collect::<Vec<_>>(),
        [Milestone::Batched],
        "rare ones may be missed"
    );
}

/// A shell script in place of our program.
fn children(script: &str, limit: Duration) -> Children {
    let arguments = ["-c", script].map(Into::into).to_vec();
    Children::new(PathBuf::from("/bin/sh"), arguments, limit)
}

const NEVER: Duration = Duration::from_secs(3_600);

#[test]
fn a_child_hands_its_outcome_over() {
    let outcome = kept(Seed(7));
    let json = serde_json::to_string(&outcome).unwrap();
    let noisy = format!("echo a warning >&2; echo '{json}'");
    assert_eq!(children(&noisy, NEVER).run(Seed(7)), outcome);

    // The shell takes `--seed` for its own name.
    let dies = format!("echo '{json}'; exit 3");
    let crash = children(&dies, NEVER).run(Seed(7));
    assert_eq!(crash.verdict, Verdict::Crashed, "what it says before it dies does not count");
}

#[test]
fn a_child_without_an_outcome_has_crashed() {
    let reason = |script| children(script, NEVER).run(Seed(7)).reason.unwrap();
    insta::assert_snapshot!(reason("echo seed $1; echo too bad >&2; kill -9 $$"), @"
    ended without an outcome, signal: 9 (SIGKILL)
    seed 7
    too bad
    ");
    insta::assert_snapshot!(reason("for it in 1 2 3 4 5 6 7 8 9; do echo $it; done"), @"
    ended without an outcome, exit status: 0
    2
    3
    4
    5
    6
    7
    8
    9
    ");
    let missing = Children::new("/no/such/program".into(), Vec::new(), NEVER);
    let reason = missing.run(Seed(7)).reason.unwrap();
    assert!(reason.starts_with("could not start /no/such/program: "), "{reason}");
}

#[test]
fn a_child_that_does_not_end_is_ended() {
    let children = children("echo hm; exec sleep 600", Duration::ZERO);
    let outcome = thread::scope(|scope| {
        let run = scope.spawn(|| children.run(Seed(7)));
        while !run.is_finished() {
            children.tend();
            thread::yield_now();
        }
        run.join().unwrap()
    });
    assert_eq!(outcome.verdict, Verdict::Crashed);
    let reason = outcome.reason.unwrap();
    assert!(reason.starts_with("did not end within 0ns of real time"), "{reason}");
}
