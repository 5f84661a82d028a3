//! Planted bugs: whether the simulator would notice, and how soon.
//!
//! A bug is a patch (`bug.rs`). The workshop is a copy of the source that is patched and built, one bug
//! at a time (`workshop.rs`); then the simulator in it runs seeds, and what they come to is the
//! measurement (`measure.rs`). If none of them fails, it is held against what is on record
//! (`records.rs`). What is typed and printed is in `cli/prove.rs`.

mod bug;
mod measure;
mod records;
mod workshop;

pub use self::{
    bug::{Bug, Expected},
    measure::{Measurement, Until, measure},
    records::Differences,
    workshop::{Build, Workshop},
};

/// Why something can't be proved, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A patch is not as it must be.
    Patch(String),
    /// A file or a tool does not work.
    Outside(String),
}

impl Trouble {
    /// What is told.
    pub fn text(self) -> String {
        match self {
            Self::Patch(text) | Self::Outside(text) => text,
        }
    }
}
