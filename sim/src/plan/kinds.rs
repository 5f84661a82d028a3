//! The choices in actions: how somebody goes, what is wrong, which operations.

/// How a broker goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// The controller marks it draining first; it gives its claims back and closes.
    Graceful,
    /// It dies at once.
    Abrupt,
}

/// What the peers of somebody who dies see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Goodbye {
    /// Their connections end at once.
    Reset,
    /// Nothing: requests go unanswered.
    Silent,
}

/// What is wrong with `assignment.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Damage {
    /// Only its first half is there.
    Torn,
    /// It is not there.
    Missing,
    /// It is some other JSON.
    Foreign,
    /// Reading it fails.
    Unreadable,
}

/// A direction between clients and a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Both.
    Both,
    /// Only what clients send is lost.
    Requests,
    /// Only what the broker sends is lost.
    Answers,
}

/// How the volume fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// EIO.
    Io,
    /// ENOSPC: only what needs space fails.
    Full,
    /// ESTALE: only what uses something that is there fails, and it did not happen.
    Stale,
}

/// A kind of volume operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Any.
    Any,
    /// Reading a file.
    Read,
    /// Writing a file.
    Write,
    /// Making a file's content durable.
    Sync,
    /// Making a directory's entries durable.
    SyncDir,
    /// Renaming a file.
    Rename,
    /// Creating a directory.
    CreateDir,
    /// Removing a file or a directory.
    Remove,
    /// Listing a directory.
    List,
    /// Asking whether something exists.
    Exists,
}
