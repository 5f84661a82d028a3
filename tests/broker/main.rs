//! What a broker owes to its clients and to its memory, on a clock that stands still until it is moved.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test knows what it has asked")]

mod keeping;
mod rig;
#[path = "../support/still.rs"]
mod still;
mod waiting;
