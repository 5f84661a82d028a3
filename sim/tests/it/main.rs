//! The simulator from outside.

mod claims;
mod cli;
mod simulated;
mod volume;
