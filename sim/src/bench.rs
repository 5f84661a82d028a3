//! The standard plan, and how fast it runs.

use std::{
    io::{self, Write},
    time::Duration,
};

use crate::{
    plan::{Action, Clients, Plan, Span, Step, Topic},
    seed::Seed,
};

/// The plan that speed is measured with: three brokers, twelve groups of three members with six
/// partitions each, a commit a second, a minute.
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
    });
    Plan {
        claim: vec!["The standard plan.".to_owned()],
        seed: seed.0,
        brokers: 3,
        network: Span { min: ms(1), max: ms(5) },
        volume: Span { min: Duration::from_micros(200), max: ms(2) },
        drift_ppm: 200,
        stagger: ms(20),
        topics: (0..12)
            .map(|topic| Topic { name: format!("topic-{topic}"), partitions: 6 })
            .collect(),
        clients: groups.collect(),
        steps: vec![Step { at: None, action: Action::Wait { duration: ms(60_000) } }],
    }
}

/// A stand-in.
///
/// # Errors
/// If `out` cannot be written to.
pub fn run(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "nothing to measure")
}
