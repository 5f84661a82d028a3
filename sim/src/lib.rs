//! A kaas cluster in one process.

#[cfg(not(madsim))]
compile_error!(
    "the simulator needs `--cfg madsim`: run cargo from the repository and unset RUSTFLAGS, which replaces the setting in .cargo/config.toml"
);

pub mod plan;
pub mod seed;
pub mod text;
pub mod volume;
