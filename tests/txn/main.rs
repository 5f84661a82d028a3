//! Transactions on real brokers and a real directory.
//!
//! `rig.rs` is a producer; markers are taken down by the wires of `cluster.rs`, and some refused.

mod commits;
mod failover;
mod fight;
mod orphans;
mod producer_ids;
mod rig;

#[path = "../support/cluster.rs"]
mod cluster;
#[path = "../support/host.rs"]
mod host;
