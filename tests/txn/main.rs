//! Transactions on real brokers and a real directory.
//!
//! `rig.rs` is a producer; markers to groups of other brokers are taken down by the cluster's wires.

mod commits;
mod rig;

#[path = "../support/cluster.rs"]
mod cluster;
#[path = "../support/host.rs"]
mod host;
