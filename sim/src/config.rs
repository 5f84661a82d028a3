//! How simulated brokers are configured: Kafka's and kaas' defaults, except that what takes minutes
//! or days in production takes seconds, so that a run of a minute meets it.

use std::time::Duration;

use kaas_coordinator::config::{Config, OffsetsConfig};

use crate::plan::Plan;

/// Every simulated broker's configuration, but for what a plan says.
pub fn broker() -> Config {
    let offsets = OffsetsConfig {
        retention_check_interval: Duration::from_secs(30),
        ..OffsetsConfig::default()
    };
    Config { idle_max: Duration::from_secs(10), offsets, ..Config::default() }
}

/// The configuration of the brokers of a plan.
pub fn of(plan: &Plan) -> Config {
    let mut config = broker();
    if let Some(max) = plan.group_max {
        config.group.size_max = max as usize;
    }
    config
}
