//! How simulated brokers are configured: Kafka's and kaas' defaults, except that what takes minutes
//! or days in production takes seconds, so that a run of a minute meets it.

use std::time::Duration;

use kaas_coordinator::config::{Config, OffsetsConfig};

/// Every simulated broker's configuration.
pub fn broker() -> Config {
    let offsets = OffsetsConfig {
        retention_check_interval: Duration::from_secs(30),
        ..OffsetsConfig::default()
    };
    Config { idle_max: Duration::from_secs(10), offsets, ..Config::default() }
}
