//! The standard plan, and how fast it runs.

use std::{
    io::{self, Write},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use crate::{
    plan::{Action, Clients, Exit, Failure, Operation, Plan, Span, Step, Topic, Way},
    release::Release,
    run,
    runner::{self, Children, Order, Stopwatch, Suite},
    seed::Seed,
};

/// How many runs each figure is taken from.
const SEEDS: u64 = 100;

/// The plan that speed is measured with: three brokers, twelve groups of three members with six
/// partitions each, a commit a second, a minute, ordinary faults.
pub fn standard(seed: Seed) -> Plan {
    let ms = Duration::from_millis;
    let groups = (0..12).map(|group| Clients::Group {
        name: format!("group-{group}"),
        topic: format!("topic-{group}"),
        members: 3,
        commit_every: ms(1000),
        session: ms(10_000),
        rebalance: ms(20_000),
        heartbeat: ms(3000),
        is_static: false,
        transactions: None,
    });
    Plan {
        claim: vec![format!("The standard plan, seed {seed}.")],
        seed: seed.0,
        brokers: 3,
        release: Release::Current,
        network: Span { min: ms(1), max: ms(5) },
        volume: Span { min: Duration::from_micros(200), max: ms(2) },
        drift_ppm: 200,
        stagger: ms(20),
        group_max: None,
        topics: (0..12)
            .map(|topic| Topic { name: format!("topic-{topic}"), partitions: 6 })
            .collect(),
        clients: groups.collect(),
        steps: faults(),
    }
}

fn faults() -> Vec<Step> {
    let ms = Duration::from_millis;
    let broker = |number| format!("kaas-{number}");
    let at = |at, action| Step { at: Some(ms(at)), when: None, action };
    vec![
        at(15_000, Action::Restart { broker: broker(1), down: ms(3000), exit: Exit::Graceful }),
        at(25_000, Action::Flap { broker: broker(0), duration: ms(2000) }),
        at(
            32_000,
            Action::Cut { broker: broker(2), client: None, way: Way::Both, duration: ms(1500) },
        ),
        at(38_000, Action::Restart { broker: broker(0), down: ms(2000), exit: Exit::Abrupt }),
        at(
            47_000,
            Action::Fail {
                broker: None,
                error: Failure::Io,
                on: Operation::Any,
                percent: 5,
                duration: ms(1000),
            },
        ),
        at(52_000, Action::Pause { broker: broker(1), duration: ms(4000) }),
        Step { at: None, when: None, action: Action::Wait { duration: ms(60_000) } },
    ]
}

/// Measures and prints.
///
/// # Errors
/// If `out` cannot be written to.
pub fn run(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "the standard plan: 3 brokers, 12 groups of 3, 60 s and settling, faults")?;
    for jobs in [1, 2] {
        let program = PathBuf::from("/proc/self/exe");
        let arguments = ["one", "--profile", "standard"].map(Into::into).to_vec();
        let children = Children::new(program, arguments, Duration::from_secs(30));
        let jobs = NonZeroUsize::new(jobs).expect("one or two");
        let order = Order { first: Seed(0), count: Some(SEEDS), jobs, may_start: &|| true };
        let watch = Stopwatch::start();
        let suite = runner::run(order, &children, &mut |_| {});
        report(out, jobs, &suite, watch.elapsed())?;
    }
    writeln!(out, "memory    {} at the most, for one seed", memory(standard(Seed(0))))
}

fn report(
    out: &mut dyn Write,
    jobs: NonZeroUsize,
    suite: &Suite,
    took: Duration,
) -> io::Result<()> {
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    let times_real = suite.micros / 1000 / millis;
    let tenths = suite.ran * 10_000 / millis;
    writeln!(
        out,
        "jobs {jobs}    {}.{} seeds a second, {times_real} times real time, {} events a second",
        tenths / 10,
        tenths % 10,
        suite.events * 1000 / millis,
    )
}

/// The peak of this process' memory after one run in it.
fn memory(plan: Plan) -> String {
    run::run(&plan, false);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}
