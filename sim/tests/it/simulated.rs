//! The simulated volume without the world around it: no latency, no faults but those of a test.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_lite::future::yield_now;
use kaas_coordinator::ports::Volume;
use sim::volume::{Op, Reply, SharedVolume, Sync};

/// The volume as one broker sees it. Each operation happens when its future is polled for the
/// second time, so that a test which polls decides the order.
#[derive(Clone, Default)]
pub(crate) struct Simulated {
    shared: Arc<Mutex<SharedVolume>>,
    /// How many operations were asked for; stands in for the time.
    asked: Arc<AtomicU64>,
    broker: usize,
}

impl Simulated {
    /// The same volume as another broker sees it.
    pub(crate) fn seen_by(&self, broker: usize) -> Self {
        Self { shared: Arc::clone(&self.shared), asked: Arc::clone(&self.asked), broker }
    }

    /// The volume itself.
    pub(crate) fn state(&self) -> MutexGuard<'_, SharedVolume> {
        self.shared.lock().expect("no operation panics")
    }

    async fn apply(&self, op: Op) -> io::Result<Reply> {
        let (by, at) = (self.broker, self.asked.fetch_add(1, Ordering::Relaxed));
        let behind = self.state().changes();
        yield_now().await;
        let mut state = self.state();
        if let Op::SyncDir(dir) = &op
            && state.dooms(&Sync { by, dir: dir.clone(), at, behind, unheard: Vec::new() })
        {
            return Err(io::Error::other("a failover has undone what was not synced"));
        }
        state.apply(self.broker, &op)
    }
}

impl Volume for Simulated {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
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
