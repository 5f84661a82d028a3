//! Exit codes, and what ends a command early.

use std::{path::Path, process::ExitCode};

use crate::{outcome::Verdict, prove::Trouble};

/// What the process ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every promise was kept, or the command did what it was told.
    Kept = 0,
    /// A promise broke.
    Broke = 1,
    /// When the faults had ended, something did not come to rest.
    Stuck = 2,
    /// An assertion of ours, or a process, failed.
    Crashed = 3,
    /// The same plan gave another digest.
    Diverged = 4,
    /// The suite has not checked a promise, or not reached what it should have.
    Vacuous = 5,
    /// The arguments make no sense.
    Usage = 64,
    /// A scenario does not parse, or a patch does not apply.
    Data = 65,
    /// A file could not be read or written.
    InputOutput = 74,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Kept => Self::Kept,
            Verdict::Broke => Self::Broke,
            Verdict::Stuck => Self::Stuck,
            Verdict::Crashed => Self::Crashed,
            Verdict::Diverged => Self::Diverged,
        }
    }
}

/// Why a command ended before it had done its work.
#[derive(Debug)]
pub(super) struct Halt {
    pub(super) exit: Exit,
    pub(super) message: Option<String>,
}

impl Halt {
    /// The arguments make no sense.
    pub(super) fn usage(message: String) -> Self {
        Self { exit: Exit::Usage, message: Some(message) }
    }

    /// A scenario does not parse; the message begins with `file:line:`.
    pub(super) fn data(message: String) -> Self {
        Self { exit: Exit::Data, message: Some(message) }
    }

    /// A file could not be read or written.
    pub(super) fn file(verb: &str, path: &Path, error: &dyn std::fmt::Display) -> Self {
        let message = format!("could not {verb} {}: {error}", path.display());
        Self { exit: Exit::InputOutput, message: Some(message) }
    }

    /// Something can't be proved.
    pub(super) fn trouble(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Patch(message) => Self { exit: Exit::Data, message: Some(message) },
            Trouble::Outside(message) => Self { exit: Exit::InputOutput, message: Some(message) },
        }
    }

    /// Our own program can't be found to run it again.
    pub(super) fn program(error: &std::io::Error) -> Self {
        let message = format!("could not find the program that is running: {error}");
        Self { exit: Exit::Crashed, message: Some(message) }
    }
}
