//! The protocol by which exactly one broker may publish a file.
//!
//! Rename can't compare-and-swap and a lock does not survive a paused holder, so the right to publish
//! is a directory: `.claims/<file>/<epoch>.<version>.<broker>.<incarnation>.<reign>`. A new owner
//! removes every other claim before it reads the file; a publish is a rename out of the claim's
//! directory and fails if that is gone. So a publish either happens before its claim's removal, and
//! then the new owner reads it, or not at all. Nobody waits, and a holder that was paused for an hour
//! can do no harm. A name is never used twice: a write that is staged in one reign and arrives late
//! finds no home in the next.
//!
//! Each function here is one sequence of volume operations and may stop after any of them. Nothing
//! here decides when it runs or what it means for clients; that is `manager.rs` and
//! `txn.rs`.

use std::{
    io::{self, ErrorKind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{assignment::ViewId, file_name, ids::BrokerId, ports::Volume};

/// How often the directories above a claim are made anew: who gives a claim back removes the last.
const TRIES: u32 = 10;

/// Where a file and its claims are.
#[derive(Debug)]
pub struct Paths {
    /// The directory of the file, right below the root.
    directory: &'static str,
    file: String,
    /// The directory of its claims.
    claims: String,
}

impl Paths {
    /// The paths of the file of `id` in `directory`, which is right below the volume's root.
    pub fn new(directory: &'static str, id: &str) -> Self {
        let name = file_name::encode(id);
        let claims = format!("{}/{name}", all_claims(directory));
        Self { directory, file: format!("{directory}/{name}.json"), claims }
    }
}

/// Where the claims of all files of a directory are.
fn all_claims(directory: &str) -> String {
    format!("{directory}/.claims")
}

/// What makes a claim's name unique, and old or new.
#[derive(Clone, Debug)]
pub struct ClaimId<'a> {
    /// The view under which the claim is made.
    pub view: ViewId,
    /// Who makes it.
    pub broker: &'a BrokerId,
    /// Which life of the broker: random.
    pub incarnation: u128,
    /// Which take-over in that life.
    pub reign: u64,
}

/// A claim, held until somebody removes its directory.
#[derive(Clone, Debug)]
pub struct Claim {
    paths: Arc<Paths>,
    name: Arc<str>,
    /// Set when nobody wants the outcome any more: stop at the next operation.
    abandoned: Arc<AtomicBool>,
}

/// The volume failed at an operation; whether it happened is unknown.
#[derive(Debug)]
pub struct VolumeError {
    /// For example `rename`.
    pub operation: &'static str,
    /// The volume's words.
    pub source: io::Error,
}

/// What became of a take-over.
#[derive(Debug)]
pub enum TakeOver<T = Option<Vec<u8>>> {
    /// The claim is held and this is what the file says.
    Owned {
        /// The file's content, `None` if there is no file.
        content: T,
        /// How many claims had to go.
        removed: usize,
        /// Whether the claim that this broker held before was still there: then nobody else can
        /// have owned the file in between.
        unbroken: bool,
    },
    /// There is a newer claim, or somebody removed this one.
    Fenced,
    /// The volume failed, or nobody wants the outcome any more.
    Failed {
        /// Where.
        error: VolumeError,
        /// Whether this claim was seen to stand beside the one held before.
        unbroken: bool,
    },
}

impl<T> TakeOver<T> {
    /// The same with the content as `read` understands it.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> TakeOver<U> {
        match self {
            Self::Owned { content, removed, unbroken } => {
                TakeOver::Owned { content: read(content), removed, unbroken }
            }
            Self::Fenced => TakeOver::Fenced,
            Self::Failed { error, unbroken } => TakeOver::Failed { error, unbroken },
        }
    }
}

/// What became of an operation under a claim.
#[derive(Debug)]
pub enum Outcome {
    /// It happened, durably.
    Done,
    /// The claim is gone; nothing happened. Says during which operation that was seen.
    Fenced(&'static str),
    /// The volume failed before anything happened that others can see; the claim is as good as
    /// before.
    Failed(VolumeError),
    /// The volume failed and it may have happened, or happen yet: this claim must not be used for
    /// another change, or the late one could undo it.
    InDoubt(VolumeError),
}

fn at(operation: &'static str) -> impl Fn(io::Error) -> VolumeError {
    move |source| VolumeError { operation, source }
}

/// Success, or the absence that some race made harmless.
fn tolerate(kind: ErrorKind, result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == kind => Ok(()),
        other => other,
    }
}

impl Claim {
    /// A claim that is not made yet.
    pub fn new(paths: Arc<Paths>, id: &ClaimId<'_>) -> Self {
        let ViewId { epoch, version } = id.view;
        let broker = file_name::encode(id.broker.as_str());
        let name = format!("{epoch}.{version}.{broker}.{:032x}.{}", id.incarnation, id.reign);
        Self { paths, name: name.into(), abandoned: Arc::default() }
    }

    /// Whether this is the same claim.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name
    }

    /// Nobody wants the outcome of what runs under this claim any more.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    fn go_on(&self) -> Result<(), VolumeError> {
        if self.abandoned.load(Ordering::Acquire) {
            return Err(VolumeError {
                operation: "abandoned",
                source: ErrorKind::Interrupted.into(),
            });
        }
        Ok(())
    }

    fn dir(&self) -> String {
        self.dir_of(&self.name)
    }

    fn dir_of(&self, name: &str) -> String {
        format!("{}/{name}", self.paths.claims)
    }

    /// Where the `nth` publish of this claim is staged. Each has a name of its own, so that a write
    /// which fails and arrives late all the same can't land in a later one.
    fn staged(&self, nth: u64) -> String {
        format!("{}/{}/{nth}", self.paths.claims, self.name)
    }

    /// Makes the claim, removes every other, and reads the file. `previous` is the claim that this
    /// broker held on the file before, if what it read then is still in memory.
    pub async fn take_over(&self, volume: &impl Volume, previous: Option<&Self>) -> TakeOver {
        let mut unbroken = None;
        match self.try_take_over(volume, previous, &mut unbroken).await {
            Ok(outcome) => outcome,
            Err(error) => TakeOver::Failed { error, unbroken: unbroken == Some(true) },
        }
    }

    async fn try_take_over(
        &self,
        volume: &impl Volume,
        previous: Option<&Self>,
        unbroken: &mut Option<bool>,
    ) -> Result<TakeOver, VolumeError> {
        self.make(volume).await?;
        let Some(removed) = self.remove_others(volume, previous, unbroken).await? else {
            return Ok(TakeOver::Fenced);
        };
        let unbroken = *unbroken == Some(true);
        self.make_durable(volume).await?;
        self.go_on()?;
        let content = match volume.read(&self.paths.file).await {
            Ok(content) => Some(content),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(VolumeError { operation: "read", source }),
        };
        Ok(TakeOver::Owned { content, removed, unbroken })
    }

    /// Makes durable what this reign relies on, whoever did it and may have died before: now that
    /// nobody else can publish, what is read next is never taken back.
    async fn make_durable(&self, volume: &impl Volume) -> Result<(), VolumeError> {
        // A removal that the volume forgets would give a fenced broker its right back.
        volume.sync_dir(&self.paths.claims).await.map_err(at("sync claims"))?;
        // A rename that it forgets would take back what is served from here on.
        volume.sync_dir(self.paths.directory).await.map_err(at("sync directory"))?;
        // All files are only as durable as the directory they are in.
        volume.sync_dir("").await.map_err(at("sync root"))
    }

    /// Creates the claim's directory, and those above it the first time.
    async fn make(&self, volume: &impl Volume) -> Result<(), VolumeError> {
        let dir = self.dir();
        for _ in 0..TRIES {
            self.go_on()?;
            match volume.create_dir(&dir).await {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(VolumeError { operation: "claim", source }),
            }
            let all_claims = all_claims(self.paths.directory);
            for parent in [self.paths.directory, &all_claims, &self.paths.claims] {
                tolerate(ErrorKind::AlreadyExists, volume.create_dir(parent).await)
                    .map_err(at("create directory"))?;
            }
        }
        let source = io::Error::other("something is in the place of a directory above it");
        Err(VolumeError { operation: "claim", source })
    }

    /// Removes older and equal claims until none is left. Returns how many there were, `None` if
    /// fenced; notes in `unbroken` whether `previous` was among them at first sight.
    async fn remove_others(
        &self,
        volume: &impl Volume,
        previous: Option<&Self>,
        unbroken: &mut Option<bool>,
    ) -> Result<Option<usize>, VolumeError> {
        let mine = view_of(&self.name);
        let mut removed = 0;
        loop {
            let names = match volume.list(&self.paths.claims).await {
                Ok(names) => names,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(source) => return Err(VolumeError { operation: "list claims", source }),
            };
            self.go_on()?;
            let is_previous = |name: &String| previous.is_some_and(|it| *it.name == **name);
            unbroken.get_or_insert_with(|| names.iter().any(is_previous));
            if !names.iter().any(|name| **name == *self.name) {
                return Ok(None);
            }
            if names.iter().any(|name| view_of(name) > mine) {
                self.remove(volume, &self.name).await?;
                return Ok(None);
            }
            if names.len() == 1 {
                return Ok(Some(removed));
            }
            for name in names.iter().filter(|name| ***name != *self.name) {
                self.go_on()?;
                self.remove(volume, name).await?;
                removed += 1;
            }
        }
    }

    /// Removes one claim of the file: entries first, then the directory. Its holder may stage
    /// another write in between; then the directory stays for the next round.
    async fn remove(&self, volume: &impl Volume, name: &str) -> Result<(), VolumeError> {
        let dir = self.dir_of(name);
        let entries = match volume.list(&dir).await {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(VolumeError { operation: "list claim", source }),
        };
        for entry in entries {
            let path = format!("{dir}/{entry}");
            tolerate(ErrorKind::NotFound, volume.remove_file(&path).await)
                .map_err(at("empty claim"))?;
        }
        let result = tolerate(ErrorKind::NotFound, volume.remove_dir(&dir).await);
        tolerate(ErrorKind::DirectoryNotEmpty, result).map_err(at("remove claim"))
    }

    /// Makes `content` the file, if the claim still stands. `nth` counts the changes made
    /// under this claim.
    pub async fn publish(&self, volume: &impl Volume, nth: u64, content: Vec<u8>) -> Outcome {
        outcome(self.try_publish(volume, nth, content).await)
    }

    async fn try_publish(
        &self,
        volume: &impl Volume,
        nth: u64,
        content: Vec<u8>,
    ) -> Result<(), Stop> {
        let staged = self.staged(nth);
        self.go_on().map_err(Stop::Untouched)?;
        fenced("write", volume.write(&staged, content).await)?;
        self.go_on().map_err(Stop::Untouched)?;
        fenced("sync", volume.sync(&staged).await)?;
        self.go_on().map_err(Stop::Untouched)?;
        match fenced("rename", volume.rename(&staged, &self.paths.file).await) {
            Err(Stop::Untouched(error)) => return Err(Stop::InDoubt(error)),
            other => other?,
        }
        volume.sync_dir(self.paths.directory).await.map_err(at("sync directory"))?;
        Ok(())
    }

    /// Removes the file, if the claim still stands: it is moved into the claim first, since
    /// only a rename is refused when the claim is gone.
    pub async fn delete(&self, volume: &impl Volume, nth: u64) -> Outcome {
        outcome(self.try_delete(volume, nth).await)
    }

    async fn try_delete(&self, volume: &impl Volume, nth: u64) -> Result<(), Stop> {
        let staged = self.staged(nth);
        self.go_on().map_err(Stop::Untouched)?;
        match volume.rename(&self.paths.file, &staged).await {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Either there is no file or no claim.
                return self.try_check(volume).await;
            }
            Err(source) => return Err(Stop::InDoubt(VolumeError { operation: "rename", source })),
        }
        volume.sync_dir(self.paths.directory).await.map_err(at("sync directory"))?;
        tolerate(ErrorKind::NotFound, volume.remove_file(&staged).await).map_err(at("remove"))?;
        Ok(())
    }

    /// Whether the claim still stands, asked of the volume.
    pub async fn check(&self, volume: &impl Volume) -> Outcome {
        outcome(self.try_check(volume).await)
    }

    async fn try_check(&self, volume: &impl Volume) -> Result<(), Stop> {
        let exists = volume.exists(&self.dir()).await.map_err(at("check claim"));
        match exists.map_err(Stop::Untouched)? {
            true => Ok(()),
            false => Err(Stop::Fenced("read")),
        }
    }

    /// Gives the claim back. Failing is harmless: the next owner removes what is left.
    pub async fn relinquish(&self, volume: &impl Volume) {
        if self.remove(volume, &self.name).await.is_ok() {
            // Another claim keeps the directory; without any, it must not pile up.
            let _ = volume.remove_dir(&self.paths.claims).await;
        }
    }
}

/// Why an operation under a claim did not finish.
enum Stop {
    Fenced(&'static str),
    /// Before anything that others can see.
    Untouched(VolumeError),
    /// At or behind the rename: it may have happened, or happen yet.
    InDoubt(VolumeError),
}

impl From<VolumeError> for Stop {
    fn from(error: VolumeError) -> Self {
        Self::InDoubt(error)
    }
}

fn outcome(result: Result<(), Stop>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(Stop::Fenced(during)) => Outcome::Fenced(during),
        Err(Stop::Untouched(error)) => Outcome::Failed(error),
        Err(Stop::InDoubt(error)) => Outcome::InDoubt(error),
    }
}

/// Inside a claim's directory, "not found" means that the directory was emptied or removed.
fn fenced(operation: &'static str, result: io::Result<()>) -> Result<(), Stop> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Stop::Fenced(operation)),
        Err(source) => Err(Stop::Untouched(VolumeError { operation, source })),
    }
}

/// The view under which a claim was made; a name that is no claim's is older than any.
fn view_of(name: &str) -> ViewId {
    let mut fields = name.splitn(3, '.').map(str::parse);
    match (fields.next(), fields.next()) {
        (Some(Ok(epoch)), Some(Ok(version))) => ViewId { epoch, version },
        _ => ViewId { epoch: -1, version: -1 },
    }
}
