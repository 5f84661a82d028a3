//! The same plan is the same run: whoever watches, whatever the plan went through, and up to the
//! first fault that is another.

use std::time::Duration;

use kaas_coordinator::ports::Entropy;
use sim::{
    draw,
    hub::SimHost,
    net::Net,
    plan::{Plan, Span},
    release::Release,
    run,
    seed::{Seed, Stream, micros},
    text,
};

fn plan_of(seed: u64, profile: &str) -> Plan {
    draw::draw(Seed(seed), profile).expect("there is such a profile")
}

fn printed_and_parsed(plan: &Plan) -> Plan {
    text::parse("drawn.scn", &plan.to_string()).unwrap_or_else(|error| panic!("{error}\n{plan}"))
}

#[test]
fn the_same_plan_has_the_same_digest() {
    for seed in 0..50 {
        let plan = plan_of(seed, "ordinary");
        let (outcome, told) = run::run(&plan, false);
        assert!(told.is_none());
        let (again, told) = run::run(&plan, true);
        assert!(told.is_some());
        assert_eq!(outcome, again, "seed {seed}: that it is told changes nothing");
        let (parsed, _) = run::run(&printed_and_parsed(&plan), false);
        assert_eq!(outcome.digest, parsed.digest, "seed {seed}: a written plan is the same plan");
    }
}

#[test]
fn another_seed_has_another_digest() {
    let plan = plan_of(1, "ordinary");
    let other = Plan { seed: 2, ..plan.clone() };
    assert_ne!(run::run(&plan, false).0.digest, run::run(&other, false).0.digest);
}

#[test]
fn a_written_plan_reads_back_the_same() {
    for (profile, _) in draw::PROFILES {
        for seed in 0..300 {
            let plan = plan_of(seed, profile);
            assert_eq!(printed_and_parsed(&plan), plan, "profile {profile}, seed {seed}");
        }
    }
}

/// A storm has every kind of fault and more of each, an ordinary plan some kinds: what both have is the
/// same, so a kind or a fault more or less moves no other.
#[test]
fn a_kind_of_fault_more_moves_no_fault_of_another() {
    let mut shared = 0;
    for seed in 0..300 {
        let (ordinary, mut storm) = (plan_of(seed, "ordinary"), plan_of(seed, "storm"));
        assert_eq!(
            Plan { steps: Vec::new(), claim: storm.claim.clone(), ..ordinary.clone() },
            Plan { steps: Vec::new(), ..storm.clone() }
        );
        for step in &ordinary.steps {
            let same = storm.steps.iter().position(|it| it == step);
            let same = same.unwrap_or_else(|| panic!("seed {seed}: the storm lacks {step}"));
            storm.steps.remove(same);
            shared += 1;
        }
    }
    assert!(shared > 1000, "only {shared} faults were compared");
}

/// Whatever is removed from a plan, what happens before it would have begun stays the same to the
/// millisecond: every latency, every id, every choice of a client, and the order of tasks.
#[test]
fn without_a_fault_all_is_the_same_before_it() {
    let mut compared = 0;
    for seed in 0..12 {
        let plan = plan_of(seed, "storm");
        let told = lines(&plan);
        // The last step is the wait that keeps the run going.
        for removed in [plan.steps.len() / 3, 2 * plan.steps.len() / 3] {
            let mut less = plan.clone();
            let at = less.steps.remove(removed).at.expect("drawn faults have their times");
            let before = |lines: &[(u64, String)]| -> Vec<(u64, String)> {
                let until = micros(at) / 1000;
                lines.iter().filter(|line| line.0 < until).cloned().collect()
            };
            let expected = before(&told);
            assert_eq!(before(&lines(&less)), expected, "seed {seed}, without step {removed}");
            compared += expected.len();
        }
    }
    assert!(compared > 1000, "most faults are early: {compared} lines were compared");
}

/// What a run tells before it settles, in milliseconds since its start; without how often a line came
/// again, since that may be later. Who did the same is told in one line if it came again as often, so
/// each of them has a line here.
fn lines(plan: &Plan) -> Vec<(u64, String)> {
    let (_, told) = run::run(plan, true);
    let told = told.expect("it was to be told");
    let told = told.lines().take_while(|line| *line != "settle").filter_map(|line| {
        let (millis, what) = line.trim_start().split_once("ms  ")?;
        let what = what.split(" (x").next().unwrap_or(what);
        let (all, what) = what.split_once("  ")?;
        let millis = millis.parse().ok()?;
        Some(all.split(' ').map(move |who| (millis, format!("{who}  {}", what.trim_start()))))
    });
    let mut told: Vec<_> = told.flatten().collect();
    told.sort();
    told
}

/// What is drawn for one link, broker or client does not depend on what was drawn for others.
#[test]
fn draws_of_one_purpose_move_no_other() {
    let span = Span { min: Duration::from_micros(100), max: Duration::from_millis(50) };
    let mut alone = Net::new(7, span);
    let mut among = Net::new(7, span);
    for _ in 0..100 {
        among.latency(4, 0);
        among.latency(3, 1);
        assert_eq!(alone.latency(3, 0), among.latency(3, 0));
    }

    let entropy = |broker: u64, incarnation: u64| {
        let stream = Stream::new(7, "entropy", broker << 32 | incarnation);
        let broker = usize::try_from(broker).expect("a small number");
        SimHost::new(
            Default::default(),
            (broker, incarnation),
            Release::Current,
            Default::default(),
            stream,
        )
    };
    let (first, other, again) = (entropy(0, 1), entropy(0, 2), entropy(0, 1));
    for _ in 0..100 {
        let drawn = first.random();
        assert_ne!(drawn, other.random());
        assert_eq!(drawn, again.random());
    }
}
