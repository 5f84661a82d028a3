//! A broker whose time stands still until it is moved, on a volume in memory: no threads, no waiting,
//! the same every time.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Future, poll_fn},
    io::{self, ErrorKind},
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{Endpoint, Producer, Request, Response},
    broker::Broker,
    config::Config,
    ids::{BrokerId, TopicPartition},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers, Volume},
};

/// How far the clock moves at once, in microseconds: the view must be confirmed in between.
const STRIDE: u64 = 1_000_000;

/// The broker and the task that it runs on.
pub(crate) struct Still {
    pub(crate) broker: Arc<Broker<StillHost>>,
    pub(crate) run: Pin<Box<dyn Future<Output = ()>>>,
}

impl Still {
    /// A broker that owns every group.
    pub(crate) fn start(config: Config) -> Self {
        let it = Self::start_under(config, Some(ASSIGNMENT));
        assert!(it.broker.status().view.is_some(), "the assignment is there to be read");
        it
    }

    /// A broker that finds this assignment, if any.
    pub(crate) fn start_under(config: Config, assignment: Option<&[u8]>) -> Self {
        let host = StillHost::default();
        if let Some(assignment) = assignment {
            host.put("assignment.json", assignment);
        }
        let broker = Arc::new(Broker::new("kaas-0".into(), config, host));
        let running = Arc::clone(&broker);
        let run = Box::pin(async move { running.run().await });
        let mut it = Self { broker, run };
        it.work();
        it
    }

    /// Lets the broker do what it can do now.
    pub(crate) fn work(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(self.run.as_mut().poll(&mut cx).is_pending(), "nobody closes the broker");
    }

    /// Lets time pass.
    pub(crate) fn advance(&mut self, by: Duration) {
        let mut left = u64::try_from(by.as_micros()).expect("not that long");
        while left > 0 {
            let stride = left.min(STRIDE);
            self.broker.host().now.fetch_add(stride, Ordering::Relaxed);
            self.work();
            left -= stride;
        }
    }

    /// Asks, and gives the answer, which must not need time.
    pub(crate) fn call(&mut self, request: Request) -> Response {
        let broker = Arc::clone(&self.broker);
        let mut call = pin!(broker.call(request));
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(response) = call.as_mut().poll(&mut cx) {
                return response;
            }
            self.work();
        }
    }
}

const ASSIGNMENT: &[u8] = br#"{
    "controllerEpoch": 1,
    "assignmentVersion": 1,
    "brokers": [{ "id": "kaas-0", "health": "alive" }]
}"#;

/// All ports of the broker, and whether its volume answers.
#[derive(Default)]
pub(crate) struct StillHost {
    now: AtomicU64,
    random: AtomicU64,
    volume: Mutex<Files>,
    pub(crate) notes: Mutex<Vec<Note>>,
    /// Whether operations under `__consumer_offsets` hang.
    pub(crate) is_stuck: AtomicBool,
}

/// What the volume has.
#[derive(Default)]
pub(crate) struct Files {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) directories: BTreeSet<String>,
}

impl StillHost {
    /// Puts a file on the volume.
    pub(crate) fn put(&self, path: &str, content: &[u8]) {
        self.files().files.insert(path.to_owned(), content.to_vec());
    }

    /// The volume.
    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.volume.lock().expect("nobody panics")
    }

    async fn answer<T>(
        &self,
        path: &str,
        operation: impl FnOnce(&mut Files) -> io::Result<T>,
    ) -> io::Result<T> {
        let hangs = path.starts_with("__consumer_offsets");
        poll_fn(|cx| match hangs && self.is_stuck.load(Ordering::Relaxed) {
            true => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            false => Poll::Ready(()),
        })
        .await;
        operation(&mut self.files())
    }
}

impl Files {
    fn has_dir(&self, path: &str) -> bool {
        path.is_empty() || self.directories.contains(path)
    }

    fn need_parent(&self, path: &str) -> io::Result<()> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        if self.has_dir(parent) { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
    }

    fn inside(&self, path: &str) -> Vec<String> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let after = |names: &mut dyn Iterator<Item = &String>| -> Vec<String> {
            let names = names.take_while(|it| it.starts_with(&prefix));
            let rest = names.map(|it| &it[prefix.len()..]);
            rest.filter(|it| !it.contains('/')).map(str::to_owned).collect()
        };
        let mut all = after(&mut self.files.range(prefix.clone()..).map(|it| it.0));
        all.extend(after(&mut self.directories.range(prefix.clone()..)));
        all.sort();
        all
    }
}

impl Volume for StillHost {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let read = |it: &mut Files| it.files.get(path).cloned().ok_or(ErrorKind::NotFound.into());
        self.answer(path, read).await
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        let write = |it: &mut Files| {
            it.need_parent(path)?;
            it.files.insert(path.to_owned(), content);
            Ok(())
        };
        self.answer(path, write).await
    }

    async fn sync(&self, path: &str) -> io::Result<()> {
        self.answer(path, |_| Ok(())).await
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.answer(path, |_| Ok(())).await
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let rename = |it: &mut Files| {
            let content = it.files.remove(from).ok_or(ErrorKind::NotFound)?;
            it.files.insert(to.to_owned(), content);
            Ok(())
        };
        self.answer(from, rename).await
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        let create = |it: &mut Files| {
            it.need_parent(path)?;
            let is_new = it.directories.insert(path.to_owned());
            if is_new { Ok(()) } else { Err(ErrorKind::AlreadyExists.into()) }
        };
        self.answer(path, create).await
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        let remove = |it: &mut Files| match it.files.remove(path) {
            Some(_) => Ok(()),
            None => Err(ErrorKind::NotFound.into()),
        };
        self.answer(path, remove).await
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        let remove = |it: &mut Files| {
            if !it.inside(path).is_empty() {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            let was_there = it.directories.remove(path);
            if was_there { Ok(()) } else { Err(ErrorKind::NotFound.into()) }
        };
        self.answer(path, remove).await
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let list = |it: &mut Files| match it.has_dir(path) {
            true => Ok(it.inside(path)),
            false => Err(ErrorKind::NotFound.into()),
        };
        self.answer(path, list).await
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        let exists = |it: &mut Files| Ok(it.files.contains_key(path) || it.has_dir(path));
        self.answer(path, exists).await
    }
}

impl Clock for StillHost {
    fn now(&self) -> Instant {
        Instant::from_micros(self.now.load(Ordering::Relaxed))
    }

    fn unix_ms(&self) -> i64 {
        i64::try_from(self.now.load(Ordering::Relaxed) / 1000).expect("not that late")
    }

    async fn sleep_until(&self, deadline: Instant) {
        // Whoever moves the clock polls.
        let is_over = |_: &mut Context<'_>| match self.now() >= deadline {
            true => Poll::Ready(()),
            false => Poll::Pending,
        };
        poll_fn(is_over).await;
    }
}

impl Entropy for StillHost {
    fn random(&self) -> u128 {
        let next = u128::from(self.random.fetch_add(1, Ordering::Relaxed));
        next.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

impl Peers for StillHost {
    fn endpoint(&self, _: &BrokerId) -> Option<Endpoint> {
        None
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(0)
    }

    async fn call(&self, _: &BrokerId, _: Request) -> io::Result<Response> {
        Err(ErrorKind::Unsupported.into())
    }

    async fn write_markers(
        &self,
        _: Producer,
        _: u64,
        _: bool,
        _: &[TopicPartition],
    ) -> io::Result<()> {
        Ok(())
    }
}

impl Log for StillHost {
    fn note(&self, note: Note) {
        self.notes.lock().expect("nobody panics").push(note);
    }
}

impl Host for StillHost {
    type Volume = Self;
    type Clock = Self;
    type Entropy = Self;
    type Peers = Self;
    type Log = Self;

    fn volume(&self) -> &Self {
        self
    }

    fn clock(&self) -> &Self {
        self
    }

    fn entropy(&self) -> &Self {
        self
    }

    fn peers(&self) -> &Self {
        self
    }

    fn log(&self) -> &Self {
        self
    }
}
