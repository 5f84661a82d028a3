//! The simulator from outside.

mod claims;
mod cli;
mod conformance;
mod lockstep;
#[path = "../../../tests/support/register.rs"]
mod register;
mod reigns;
mod simulated;
mod volume;
