//! Committed offsets: one JSON file per group on the shared volume, fenced by claim directories.
//!
//! - `file.rs`: the file's content in memory, reading and writing it.
//! - `batch.rs`: what queued changes do to a file's content.
//! - `pending.rs`: offsets that wait for the end of their transaction.
//! - `survey.rs`: reading the files of groups that are not in memory, for lists and retention.
//!
//! Names and the protocol on the volume are those of every file here: `file_name.rs`, `claim.rs`.
//! The store knows nothing of members or ownership; `manager.rs` decides when its protocols run.
//! The invariant that all of it serves: memory follows the volume and never leads it.

pub mod batch;
pub mod file;
pub mod pending;
pub mod survey;

/// The directory of the offset files.
pub const OFFSETS_DIR: &str = "__consumer_offsets";
/// The directory of the claims, one directory per group inside.
pub const CLAIMS_DIR: &str = "__consumer_offsets/.claims";
