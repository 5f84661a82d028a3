//! The simulator from outside.

mod cli;
