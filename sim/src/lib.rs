//! A kaas cluster in one process.

#[cfg(not(madsim))]
compile_error!(
    "the simulator needs `--cfg madsim`: run cargo from the repository and unset RUSTFLAGS, which replaces the setting in .cargo/config.toml"
);

pub mod bench;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod conformance;
pub mod draw;
pub mod hub;
pub mod lens;
pub mod milestone;
pub mod net;
pub mod outcome;
pub mod output;
pub mod plan;
pub mod prove;
pub mod record;
pub mod release;
pub mod run;
pub mod runner;
pub mod seed;
pub mod text;
pub mod trace;
pub mod volume;
pub mod world;
