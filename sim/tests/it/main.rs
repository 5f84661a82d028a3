//! The simulator from outside.

mod claims;
mod cli;
mod conformance;
mod determinism;
mod lockstep;
mod madsim;
#[path = "../../../tests/support/register.rs"]
mod register;
mod reigns;
mod scenarios;
mod simulated;
mod volume;
