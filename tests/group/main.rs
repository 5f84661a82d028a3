//! The finer points of one group, through its public interface.
//!
//! What Kafka does is tried by the conformance cases and traces. Here is what they can't tell: where
//! the group differs from Kafka on purpose, how it makes free choices, what it bounds, and that it
//! keeps its promises to the caller (`properties.rs`).

mod choices;
mod closing;
mod commits;
mod limits;
mod parking;
mod properties;
mod rig;
mod timers;
