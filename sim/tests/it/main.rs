//! The simulator from outside.

mod cli;
mod scenarios;
