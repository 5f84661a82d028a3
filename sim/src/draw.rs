//! From a seed to a plan.
//!
//! Which kinds of fault exist at all is drawn first (a swarm): some runs have none, some one kind
//! only, few have all, so that every pair of kinds meets without the others. Every draw comes from a
//! stream of its own purpose; `faults.rs` and `machines.rs` draw the single faults, `windows.rs` those
//! that wait for a moment, `aims.rs` some that do harm only together, `rude.rs` who is static or rude,
//! `lasting.rs` what does not heal, `releases.rs` a rolling upgrade.

use std::time::Duration;

use crate::{
    bench,
    plan::{Action, Clients, Plan, Span, Step, Topic},
    release::Release,
    seed::{Seed, Stream},
};

mod aims;
mod faults;
mod lasting;
mod machines;
mod releases;
mod rude;
mod windows;

/// The profiles that plans can be drawn with: name and what it is for. The first is the default.
pub const PROFILES: &[(&str, &str)] = &[
    ("ordinary", "a swarm of faults of every kind, on clusters of 1 to 12 brokers"),
    ("quiet", "no fault at all: what breaks here breaks by itself"),
    ("storm", "every kind of fault, many of each"),
    ("standard", "the plan that speed is measured with: 3 brokers, 12 groups, ordinary faults"),
];

/// The plan of a seed; `None` if there is no such profile.
pub fn draw(seed: Seed, profile: &str) -> Option<Plan> {
    PROFILES.iter().find(|(name, _)| *name == profile)?;
    if profile == "standard" {
        return Some(bench::standard(seed));
    }
    let mut stream = Stream::new(seed.0, "topology", 0);
    let brokers = size(&mut stream);
    let mut plan = Plan {
        claim: vec![format!("Drawn from seed {seed}, profile {profile}.")],
        seed: seed.0,
        brokers,
        release: Release::Current,
        network: span(&mut stream, 500, 20_000),
        volume: span(&mut stream, 100, 10_000),
        drift_ppm: small(&mut stream, 500),
        stagger: millis(stream.between(1, 200)),
        group_max: None,
        topics: Vec::new(),
        clients: Vec::new(),
        steps: Vec::new(),
    };
    draw_clients(&mut plan, &mut Stream::new(seed.0, "clients", 0));
    rude::draw_static(&mut plan);
    draw_transactions(&mut plan, &mut Stream::new(seed.0, "transactions", 0));
    let lasts = Stream::new(seed.0, "length", 0).between(20, 60) * 1000;
    if profile != "quiet" {
        rude::draw_rude(&mut plan);
        let is_storm = profile == "storm";
        let mut steps = faults::draw(&plan, lasts, is_storm);
        machines::draw(&plan, lasts, is_storm, &mut steps);
        lasting::draw(&plan, lasts, &mut steps);
        plan.steps = steps;
        releases::draw(&mut plan, lasts);
    }
    plan.steps.push(Step {
        at: None,
        when: None,
        action: Action::Wait { duration: millis(lasts) },
    });
    Some(plan)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn small(stream: &mut Stream, below: u64) -> u32 {
    u32::try_from(stream.below(below)).expect("a small number")
}

fn between(stream: &mut Stream, min: u32, max: u32) -> u32 {
    min + small(stream, u64::from(max - min) + 1)
}

/// Three brokers usually; sometimes one, sometimes a dozen.
fn size(stream: &mut Stream) -> u32 {
    match stream.below(100) {
        0..5 => 1,
        5..15 => 2,
        15..70 => 3,
        70..90 => between(stream, 4, 5),
        _ => between(stream, 6, 12),
    }
}

/// Some span within these bounds, in microseconds.
fn span(stream: &mut Stream, min: u64, max: u64) -> Span {
    let (a, b) = (stream.between(min, max), stream.between(min, max));
    Span { min: Duration::from_micros(a.min(b)), max: Duration::from_micros(a.max(b) + 1) }
}

fn draw_clients(plan: &mut Plan, stream: &mut Stream) {
    for group in 0..between(stream, 1, 4) {
        let topic = format!("topic-{group}");
        plan.topics.push(Topic { name: topic.clone(), partitions: between(stream, 1, 8) });
        let session = stream.between(6000, 10_000);
        plan.clients.push(Clients::Group {
            name: format!("group-{}", small(stream, 1000)),
            topic,
            members: between(stream, 1, 5),
            commit_every: millis(stream.between(100, 2000)),
            session: millis(session),
            rebalance: millis(stream.between(5000, 15_000)),
            heartbeat: millis(session / 3),
            is_static: false,
            transactions: None,
        });
    }
    for committer in 0..small(stream, 3) {
        let topic = format!("direct-{committer}");
        plan.topics.push(Topic { name: topic.clone(), partitions: between(stream, 1, 3) });
        let mut pipelining = Stream::new(plan.seed, "pipelining", u64::from(committer));
        let at_once = if pipelining.percent(50) { between(&mut pipelining, 2, 5) } else { 1 };
        plan.clients.push(Clients::Committer {
            at_once,
            name: format!("tool-{}", small(stream, 1000)),
            topic,
            every: millis(stream.between(100, 2000)),
        });
    }
    for group in plan.groups().iter() {
        if stream.percent(60) {
            let every = millis(stream.between(50, 500));
            plan.clients.push(Clients::Reader { name: group.clone(), every });
        }
    }
    if stream.percent(50) {
        plan.clients.push(Clients::OneShot {
            name: "once".to_owned(),
            count: between(stream, 4, 60),
            every: millis(stream.between(50, 1000)),
            odd_ids: stream.percent(70),
            delete: stream.percent(50),
        });
    }
    if stream.percent(70) {
        let every = millis(stream.between(1000, 6000));
        plan.clients.push(Clients::Admin { name: "admin".to_owned(), every });
    }
    // Two groups of one name would be one group with two topics, which nobody has.
    let mut seen = std::collections::BTreeSet::new();
    plan.clients.retain(|clients| match clients {
        Clients::Group { name, .. } | Clients::Committer { name, .. } => seen.insert(name.clone()),
        Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Admin { .. }
        | Clients::Rude { .. } => true,
    });
}

/// In some runs some groups process what they consume in transactions, some of which time out soon.
fn draw_transactions(plan: &mut Plan, stream: &mut Stream) {
    if !stream.percent(50) {
        return;
    }
    for clients in &mut plan.clients {
        if let Clients::Group { transactions, .. } = clients
            && stream.percent(60)
        {
            *transactions = Some(millis(stream.between(1000, 15_000)));
        }
    }
}
