//! The volume of a world: operations happen at once, except the first of a change while the world
//! holds or fails stores, and the first of a take-over while it holds loads.

use std::{
    future::poll_fn,
    io,
    task::{Poll, Waker},
};

use kaas_coordinator::{
    assignment::ASSIGNMENT_PATH,
    offset_store::{CLAIMS_DIR, OFFSETS_DIR},
    ports::Volume,
};

use super::host::Machine;
use crate::volume::{Op, Reply, SharedVolume};

/// The volume, and what it does not let happen.
#[derive(Default)]
pub(super) struct Stores {
    content: SharedVolume,
    pub(super) stores: Stage,
    pub(super) loads: Stage,
    fail: Option<Fault>,
    waiting: Vec<Waker>,
}

/// Whether something happens when it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Open,
    /// It begins when the stage is open again.
    Held,
}

/// What becomes of the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The volume says no.
    Error,
    /// Another broker has taken the group over.
    Fenced,
    /// The volume says nothing for so long that nobody waits any more, and then no.
    Hangs,
}

impl Stores {
    /// Nothing is held any more.
    pub(super) fn release(&mut self) {
        self.stores = Stage::Open;
        self.wake();
    }

    pub(super) fn set_loads(&mut self, stage: Stage) {
        self.loads = stage;
        self.wake();
    }

    pub(super) fn fail_next(&mut self, fault: Fault) {
        self.fail = Some(fault);
        if fault == Fault::Hangs {
            self.stores = Stage::Held;
        }
    }

    pub(super) fn fails_next(&self) -> bool {
        self.fail.is_some()
    }

    /// Whether a change waits that is going to fail when nobody waits for it any more.
    pub(super) fn hangs(&self) -> bool {
        self.fail == Some(Fault::Hangs) && !self.waiting.is_empty()
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn is_held(&self, op: &Op) -> bool {
        self.loads == Stage::Held && begins_take_over(op)
            || self.stores == Stage::Held && begins_change(op)
    }

    fn apply(&mut self, by: usize, op: &Op) -> io::Result<Reply> {
        if begins_change(op) {
            match self.fail.take() {
                Some(Fault::Error | Fault::Hangs) => return Err(io::Error::other("no space")),
                Some(Fault::Fenced) => self.remove_claim(by, claim_of(op)),
                None => {}
            }
        }
        self.content.apply(by, op)
    }

    fn remove_claim(&mut self, by: usize, claim: &str) {
        let entries = self.content.list(claim).unwrap_or_default();
        for entry in entries {
            let removed =
                self.content.apply(by, &Op::RemoveFile(format!("{claim}/{entry}").into()));
            removed.expect("it was listed");
        }
        let removed = self.content.apply(by, &Op::RemoveDir(claim.into()));
        removed.expect("a change is staged in a claim");
    }
}

/// Whether a publish or a removal of a group's file begins: both are staged in a claim.
fn begins_change(op: &Op) -> bool {
    match op {
        Op::Write(path, _) => path.starts_with(CLAIMS_DIR),
        Op::Rename(from, to) => {
            from.starts_with(OFFSETS_DIR)
                && to.starts_with(CLAIMS_DIR)
                && !from.starts_with(CLAIMS_DIR)
        }
        Op::Read(_)
        | Op::Sync(_)
        | Op::SyncDir(_)
        | Op::CreateDir(_)
        | Op::RemoveFile(_)
        | Op::RemoveDir(_)
        | Op::List(_)
        | Op::Exists(_) => false,
    }
}

/// The claim in which a change is staged.
fn claim_of(op: &Op) -> &str {
    op.path().rsplit_once('/').map_or("", |(claim, _)| claim)
}

/// Whether a claim is made: `.claims/<group>/<claim>`.
fn begins_take_over(op: &Op) -> bool {
    let Op::CreateDir(path) = op else { return false };
    path.strip_prefix(CLAIMS_DIR).is_some_and(|below| below.matches('/').count() == 2)
}

impl Machine {
    async fn apply(&self, op: Op) -> io::Result<Reply> {
        poll_fn(|cx| {
            let mut stores = self.ports.stores();
            if stores.is_held(&op) {
                stores.waiting.push(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(stores.apply(self.number, &op))
        })
        .await
    }
}

impl Volume for Machine {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path == ASSIGNMENT_PATH {
            if self.has_view() {
                poll_fn(|cx| self.ports.poll_deposed(self.number, cx)).await;
            }
            return Ok(self.assignment());
        }
        self.apply(Op::Read(path.into())).await.map(Reply::content)
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        self.apply(Op::Write(path.into(), content)).await.map(|_| ())
    }

    async fn sync(&self, path: &str) -> io::Result<()> {
        self.apply(Op::Sync(path.into())).await.map(|_| ())
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.apply(Op::SyncDir(path.into())).await.map(|_| ())
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.apply(Op::Rename(from.into(), to.into())).await.map(|_| ())
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        self.apply(Op::CreateDir(path.into())).await.map(|_| ())
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        self.apply(Op::RemoveFile(path.into())).await.map(|_| ())
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.apply(Op::RemoveDir(path.into())).await.map(|_| ())
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.apply(Op::List(path.into())).await.map(Reply::names)
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        self.apply(Op::Exists(path.into())).await.map(Reply::flag)
    }
}
