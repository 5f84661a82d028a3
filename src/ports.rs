//! What the host must provide: a shared volume, a clock, randomness, the rest of the cluster, a log.
//!
//! Everything a broker does to the world goes through these traits, so one build of the coordinator
//! serves production, tests and the simulator. None of them may block the calling thread for long;
//! whatever waits returns a future.

use std::{
    fmt,
    future::Future,
    io,
    ops::{Add, Sub},
    time::Duration,
};

use crate::{
    api::{Endpoint, Producer, Request, Response},
    ids::{BrokerId, TopicPartition},
    note::Note,
};

/// The host of one broker: all ports together.
pub trait Host: Send + Sync + 'static {
    /// See [`Volume`].
    type Volume: Volume;
    /// See [`Clock`].
    type Clock: Clock;
    /// See [`Entropy`].
    type Entropy: Entropy;
    /// See [`Peers`].
    type Peers: Peers;
    /// See [`Log`].
    type Log: Log;

    /// The shared volume.
    fn volume(&self) -> &Self::Volume;
    /// This broker's clock.
    fn clock(&self) -> &Self::Clock;
    /// This broker's source of randomness.
    fn entropy(&self) -> &Self::Entropy;
    /// The rest of the cluster.
    fn peers(&self) -> &Self::Peers;
    /// Where notable events go.
    fn log(&self) -> &Self::Log;
}

/// The shared read-write-many volume, as POSIX defines it over NFS.
///
/// Paths are relative to the volume's root, which is the empty path, and separated by `/`. Dropping a future does not undo
/// the operation: it may still happen, at any later time. An error other than `NotFound`,
/// `AlreadyExists` and `DirectoryNotEmpty` says nothing about whether it happened.
pub trait Volume: Send + Sync + 'static {
    /// The file's content. `NotFound` if there is no such file.
    fn read(&self, path: &str) -> impl Future<Output = io::Result<Vec<u8>>> + Send;

    /// Creates or truncates the file and writes `content`; durable only after [`Volume::sync`].
    /// `NotFound` if its directory is gone.
    fn write(&self, path: &str, content: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send;

    /// Makes the file's content durable and visible to every client of the volume.
    fn sync(&self, path: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Makes the directory's entries (creations, renames, removals) durable.
    fn sync_dir(&self, path: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Renames a file over another, atomically. `NotFound` if `from` does not exist.
    fn rename(&self, from: &str, to: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Creates one directory. `AlreadyExists` if it is there, `NotFound` if its parent is not.
    fn create_dir(&self, path: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Removes a file. `NotFound` if there is none.
    fn remove_file(&self, path: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// Removes an empty directory. `DirectoryNotEmpty` if it is not.
    fn remove_dir(&self, path: &str) -> impl Future<Output = io::Result<()>> + Send;

    /// The names in a directory, sorted bytewise. `NotFound` if it is not there.
    fn list(&self, path: &str) -> impl Future<Output = io::Result<Vec<String>>> + Send;

    /// Whether there is a file or directory of that name, asked of the volume, never of a cache.
    fn exists(&self, path: &str) -> impl Future<Output = io::Result<bool>> + Send;
}

/// A broker's own clock.
pub trait Clock: Send + Sync + 'static {
    /// Monotonic time; it runs on while the process is stopped (`CLOCK_MONOTONIC`).
    fn now(&self) -> Instant;

    /// Wall-clock time in milliseconds since 1970, for what outlives the process.
    fn unix_ms(&self) -> i64;

    /// Resolves at `deadline` or soon after.
    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send;
}

/// A source of randomness.
pub trait Entropy: Send + Sync + 'static {
    /// 128 random bits, never the same twice among all brokers and restarts.
    fn random(&self) -> u128;
}

/// What the host knows of the rest of the cluster.
pub trait Peers: Send + Sync + 'static {
    /// Where `broker` listens, if it is known to be up.
    fn endpoint(&self, broker: &BrokerId) -> Option<Endpoint>;

    /// The epoch of the controller lease: how often it has changed hands. Must not take long: a view
    /// is confirmed only behind it, and an error leaves the epoch that is known.
    fn lease_epoch(&self) -> impl Future<Output = io::Result<i64>> + Send;

    /// Sends a request to a broker, perhaps this one, and gives its answer. An error says nothing
    /// about whether the request arrived. May take for ever; the caller gives up by dropping the
    /// future.
    fn call(
        &self,
        broker: &BrokerId,
        request: Request,
    ) -> impl Future<Output = io::Result<Response>> + Send;

    /// Writes the end of a transaction to partitions of topics, whoever leads them: the business of
    /// the host's log. An error makes the coordinator repeat it, and a coordinator that was deposed
    /// may come late: `transaction` numbers the transactions of a producer, rising, and a marker
    /// whose number was already written must end nothing.
    fn write_markers(
        &self,
        producer: Producer,
        transaction: u64,
        commit: bool,
        partitions: &[TopicPartition],
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// Where notable events go: a log file in production, the trace in the simulator.
pub trait Log: Send + Sync + 'static {
    /// Something notable happened.
    fn note(&self, note: Note);
}

/// A point in a broker's monotonic time, in microseconds since a start of the host's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// The clock's start.
    pub const ZERO: Self = Self(0);

    /// `micros` microseconds after the clock's start.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// `millis` milliseconds after the clock's start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1000)
    }

    /// Microseconds since the clock's start.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to here, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates: a timeout of `Duration::MAX` means never.
    fn add(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates at the clock's start.
    fn sub(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ms", self.0 / 1000)
    }
}
