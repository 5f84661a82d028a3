//! A stand-in.

use std::time::Duration;

use crate::{
    plan::{Plan, Span},
    seed::Seed,
};

/// The profiles, the default first.
pub const PROFILES: &[(&str, &str)] =
    &[("ordinary", "what a cluster meets in a year"), ("calm", "no faults")];

/// The plan of a seed.
pub fn draw(seed: Seed, profile: &str) -> Option<Plan> {
    PROFILES.iter().find(|(name, _)| *name == profile)?;
    Some(Plan {
        claim: vec!["drawn".to_owned()],
        seed: seed.0,
        brokers: 3,
        network: Span::fixed(Duration::from_millis(1)),
        volume: Span::fixed(Duration::from_millis(1)),
        drift_ppm: 0,
        stagger: Duration::from_millis(1),
        topics: Vec::new(),
        clients: Vec::new(),
        steps: Vec::new(),
    })
}
