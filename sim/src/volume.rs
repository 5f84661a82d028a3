//! The shared volume: one tree, as its server has it, and what each broker has not flushed yet.
//!
//! - What a broker writes is its own until it syncs the file; others see the file as it was. If the
//!   broker dies first, the write is lost or torn.
//! - Directory entries (creations, renames, removals) are there for everybody at once, and durable
//!   when the directory is synced. A failover of the server undoes those that were not, and the syncs
//!   with which a broker would have made them durable fail (`volume/losses.rs`).
//!
//! This file is the state and what one operation does to it, at one instant. When operations happen,
//! fail, or get stuck is `world/storage.rs`.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind},
    sync::Arc,
};

use self::losses::{Losses, Undone};
use crate::{plan::Operation, seed::Stream};

pub use self::losses::Sync;

mod losses;

/// A path; shared, since events and undo entries hold it too.
pub type Path = Arc<str>;

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the operation of the port that it is named for")]
pub enum Op {
    Read(Path),
    Write(Path, Vec<u8>),
    Sync(Path),
    SyncDir(Path),
    Rename(Path, Path),
    CreateDir(Path),
    RemoveFile(Path),
    RemoveDir(Path),
    List(Path),
    Exists(Path),
}

impl Op {
    /// Its kind.
    pub fn kind(&self) -> Operation {
        match self {
            Self::Read(_) => Operation::Read,
            Self::Write(..) => Operation::Write,
            Self::Sync(_) => Operation::Sync,
            Self::SyncDir(_) => Operation::SyncDir,
            Self::Rename(..) => Operation::Rename,
            Self::CreateDir(_) => Operation::CreateDir,
            Self::RemoveFile(_) | Self::RemoveDir(_) => Operation::Remove,
            Self::List(_) => Operation::List,
            Self::Exists(_) => Operation::Exists,
        }
    }

    /// The path it is about; of a rename, the target.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read(path)
            | Self::Write(path, _)
            | Self::Sync(path)
            | Self::SyncDir(path)
            | Self::Rename(_, path)
            | Self::CreateDir(path)
            | Self::RemoveFile(path)
            | Self::RemoveDir(path)
            | Self::List(path)
            | Self::Exists(path) => path,
        }
    }
}

/// What an operation gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what the operations of that type give back")]
pub enum Reply {
    Nothing,
    Content(Vec<u8>),
    Names(Vec<String>),
    Flag(bool),
}

impl Reply {
    /// The content that was read.
    pub fn content(self) -> Vec<u8> {
        match self {
            Self::Content(content) => content,
            Self::Nothing | Self::Names(_) | Self::Flag(_) => unreachable!("a read gives content"),
        }
    }

    /// The names that were listed.
    pub fn names(self) -> Vec<String> {
        match self {
            Self::Names(names) => names,
            Self::Nothing | Self::Content(_) | Self::Flag(_) => unreachable!("a list gives names"),
        }
    }

    /// Whether it exists.
    pub fn flag(self) -> bool {
        match self {
            Self::Flag(flag) => flag,
            Self::Nothing | Self::Content(_) | Self::Names(_) => {
                unreachable!("exists gives a flag")
            }
        }
    }
}

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Dir,
    File {
        /// What everybody sees.
        flushed: Arc<[u8]>,
        /// What one broker has written and not synced.
        dirty: Option<(usize, Arc<[u8]>)>,
    },
}

/// A change of directory entries that a failover would undo.
#[derive(Debug)]
struct Unsynced {
    /// Its place among all changes.
    order: u64,
    by: usize,
    /// What the entries were before.
    before: Vec<(Path, Option<Node>)>,
}

/// The whole volume.
#[derive(Debug)]
pub struct SharedVolume {
    nodes: BTreeMap<Path, Node>,
    /// By the directory whose sync makes them durable.
    journal: BTreeMap<Path, Vec<Unsynced>>,
    changes: u64,
    losses: Losses,
}

impl Default for SharedVolume {
    fn default() -> Self {
        let nodes = BTreeMap::from([(Path::from(""), Node::Dir)]);
        Self { nodes, journal: BTreeMap::new(), changes: 0, losses: Losses::default() }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn fail<T>(kind: ErrorKind) -> io::Result<T> {
    Err(kind.into())
}

impl SharedVolume {
    /// Does one operation of one broker.
    pub fn apply(&mut self, by: usize, op: &Op) -> io::Result<Reply> {
        match op {
            Op::Read(path) => self.read(by, path).map(|it| Reply::Content(it.to_vec())),
            Op::Write(path, content) => self.write(by, path, content),
            Op::Sync(path) => self.sync(by, path),
            Op::SyncDir(path) => self.sync_dir(path),
            Op::Rename(from, to) => self.rename(by, from, to),
            Op::CreateDir(path) => self.create_dir(by, path),
            Op::RemoveFile(path) => self.remove_file(by, path),
            Op::RemoveDir(path) => self.remove_dir(by, path),
            Op::List(path) => self.list(path).map(Reply::Names),
            Op::Exists(path) => Ok(Reply::Flag(self.nodes.contains_key(path))),
        }
    }

    /// What a broker (or, with a number that is no broker's, anybody else) reads.
    pub fn read(&self, by: usize, path: &str) -> io::Result<Arc<[u8]>> {
        match self.nodes.get(path) {
            Some(Node::File { dirty: Some((writer, content)), .. }) if *writer == by => {
                Ok(Arc::clone(content))
            }
            Some(Node::File { flushed, .. }) => Ok(Arc::clone(flushed)),
            Some(Node::Dir) => fail(ErrorKind::IsADirectory),
            None => fail(ErrorKind::NotFound),
        }
    }

    fn write(&mut self, by: usize, path: &Path, content: &[u8]) -> io::Result<Reply> {
        if !matches!(self.nodes.get(parent(path)), Some(Node::Dir)) {
            return fail(ErrorKind::NotFound);
        }
        let content = Some((by, Arc::from(content)));
        match self.nodes.get_mut(path) {
            Some(Node::File { dirty, .. }) => *dirty = content,
            Some(Node::Dir) => return fail(ErrorKind::IsADirectory),
            None => {
                self.remember(by, parent(path).into(), &[path]);
                let file = Node::File { flushed: [].into(), dirty: content };
                self.nodes.insert(Arc::clone(path), file);
            }
        }
        Ok(Reply::Nothing)
    }

    fn sync(&mut self, by: usize, path: &str) -> io::Result<Reply> {
        match self.nodes.get_mut(path) {
            Some(Node::File { flushed, dirty }) => {
                if let Some((_, content)) = dirty.take_if(|(writer, _)| *writer == by) {
                    *flushed = content;
                }
                Ok(Reply::Nothing)
            }
            Some(Node::Dir) => fail(ErrorKind::IsADirectory),
            None => fail(ErrorKind::NotFound),
        }
    }

    fn sync_dir(&mut self, path: &str) -> io::Result<Reply> {
        if !matches!(self.nodes.get(path), Some(Node::Dir)) {
            return fail(ErrorKind::NotFound);
        }
        self.journal.remove(path);
        Ok(Reply::Nothing)
    }

    fn rename(&mut self, by: usize, from: &Path, to: &Path) -> io::Result<Reply> {
        if !matches!(self.nodes.get(parent(to)), Some(Node::Dir)) {
            return fail(ErrorKind::NotFound);
        }
        match self.nodes.get(from) {
            Some(Node::File { .. }) => {}
            Some(Node::Dir) => return fail(ErrorKind::IsADirectory),
            None => return fail(ErrorKind::NotFound),
        }
        if let Some(Node::Dir) = self.nodes.get(to) {
            return fail(ErrorKind::IsADirectory);
        }
        // Each directory keeps its own entry, as in POSIX.
        if parent(from) == parent(to) {
            self.remember(by, parent(to).into(), &[from, to]);
        } else {
            self.remember(by, parent(from).into(), &[from]);
            self.remember(by, parent(to).into(), &[to]);
        }
        let node = self.nodes.remove(from).expect("it was seen there");
        self.nodes.insert(Arc::clone(to), node);
        Ok(Reply::Nothing)
    }

    fn create_dir(&mut self, by: usize, path: &Path) -> io::Result<Reply> {
        if self.nodes.contains_key(path) {
            return fail(ErrorKind::AlreadyExists);
        }
        if !matches!(self.nodes.get(parent(path)), Some(Node::Dir)) {
            return fail(ErrorKind::NotFound);
        }
        self.remember(by, parent(path).into(), &[path]);
        self.nodes.insert(Arc::clone(path), Node::Dir);
        self.losses.claim_anew(by, path);
        Ok(Reply::Nothing)
    }

    fn remove_file(&mut self, by: usize, path: &Path) -> io::Result<Reply> {
        match self.nodes.get(path) {
            Some(Node::File { .. }) => {}
            Some(Node::Dir) => return fail(ErrorKind::IsADirectory),
            None => return fail(ErrorKind::NotFound),
        }
        self.remember(by, parent(path).into(), &[path]);
        self.nodes.remove(path);
        Ok(Reply::Nothing)
    }

    fn remove_dir(&mut self, by: usize, path: &Path) -> io::Result<Reply> {
        match self.nodes.get(path) {
            Some(Node::Dir) => {}
            Some(Node::File { .. }) => return fail(ErrorKind::NotADirectory),
            None => return fail(ErrorKind::NotFound),
        }
        if self.below(path).next().is_some() {
            return fail(ErrorKind::DirectoryNotEmpty);
        }
        self.remember(by, parent(path).into(), &[path]);
        self.nodes.remove(path);
        Ok(Reply::Nothing)
    }

    /// The names in a directory, sorted.
    pub fn list(&self, path: &str) -> io::Result<Vec<String>> {
        match self.nodes.get(path) {
            Some(Node::Dir) => {}
            Some(Node::File { .. }) => return fail(ErrorKind::NotADirectory),
            None => return fail(ErrorKind::NotFound),
        }
        let skip = if path.is_empty() { 0 } else { path.len() + 1 };
        let names = self.below(path).map(|it| &it[skip..]).filter(|name| !name.contains('/'));
        Ok(names.map(str::to_owned).collect())
    }

    fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Path> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let start = Path::from(prefix.as_str());
        let nodes = self.nodes.range(start..).map(|(path, _)| path);
        nodes.take_while(move |path| path.starts_with(&prefix)).filter(|path| !path.is_empty())
    }

    fn remember(&mut self, by: usize, dir: Path, paths: &[&Path]) {
        let before = paths.iter().map(|path| (Arc::clone(path), self.nodes.get(*path).cloned()));
        let before = before.collect();
        self.changes += 1;
        let entry = Unsynced { order: self.changes, by, before };
        self.journal.entry(dir).or_default().push(entry);
    }

    /// A broker has died: what it had not synced is lost, or a part of it is there.
    pub fn lose(&mut self, broker: usize, stream: &mut Stream) -> usize {
        let mut lost = 0;
        for node in self.nodes.values_mut() {
            let Node::File { flushed, dirty } = node else { continue };
            let Some((_, content)) = dirty.take_if(|(writer, _)| *writer == broker) else {
                continue;
            };
            lost += 1;
            if stream.percent(50) {
                let kept = stream.below(content.len() as u64 + 1);
                let kept = usize::try_from(kept).expect("a part of a length");
                *flushed = content[..kept].into();
            }
        }
        self.losses.forget_broker(broker);
        lost
    }

    /// The server makes the entries of some directory durable by itself.
    pub fn flush_some(&mut self, stream: &mut Stream) {
        if self.journal.is_empty() {
            return;
        }
        let at = usize::try_from(stream.below(self.journal.len() as u64)).expect("an index");
        let dir = self.journal.keys().nth(at).cloned().expect("an index below the length");
        self.journal.remove(&dir);
    }

    /// How many changes of directory entries there were so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a sync of a directory must fail, since a failover has undone what it would make durable.
    pub fn dooms(&mut self, sync: &Sync) -> bool {
        self.losses.doom(sync)
    }

    /// The server fails over to its standby, which has only what was synced. Returns how many
    /// directory entries are undone.
    pub fn fail_over(&mut self) -> usize {
        let journal = std::mem::take(&mut self.journal);
        let of_dir = |(dir, entries): (Path, Vec<Unsynced>)| {
            entries.into_iter().map(move |entry| (Arc::clone(&dir), entry))
        };
        let mut entries: Vec<_> = journal.into_iter().flat_map(of_dir).collect();
        entries.sort_by_key(|(_, entry)| entry.order);
        let undone = entries.len();
        for (dir, entry) in entries.into_iter().rev() {
            self.losses.mourn(Undone { order: entry.order, by: entry.by, dir });
            for (path, node) in entry.before {
                match node {
                    Some(node) => self.nodes.insert(path, node),
                    None => self.nodes.remove(&path),
                };
            }
        }
        // What was in a directory that is gone is gone.
        let orphans: Vec<_> = self
            .nodes
            .keys()
            .filter(|path| !path.is_empty() && !self.nodes.contains_key(parent(path)))
            .cloned()
            .collect();
        for path in orphans {
            self.nodes.remove(&path);
        }
        undone
    }

    /// Puts a file there, durable, as somebody who is no broker does.
    pub fn put(&mut self, path: &str, content: &[u8]) {
        let file = Node::File { flushed: content.into(), dirty: None };
        self.nodes.insert(path.into(), file);
    }

    /// Takes a file away, as somebody who is no broker does.
    pub fn take(&mut self, path: &str) {
        self.nodes.remove(path);
    }
}

#[cfg(test)]
mod tests;
