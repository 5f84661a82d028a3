//! The ports of a simulated broker.
//!
//! A broker's tasks never touch the world. What they ask of it (a volume operation, a timer) they
//! post here and wait; what they say (an answer, a note) they post and go on. The world takes the
//! posts when all tasks have come to rest, in the order in which they were made. What the tasks of a
//! dead broker post, while the runtime drops them, is thrown away: the world never hears a
//! destructor.

use std::{
    future::pending,
    io, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use kaas_coordinator::{
    api::{Endpoint, Producer, Request, Response},
    ids::{BrokerId, TopicPartition},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers, Volume},
};
use tokio::sync::oneshot;

use crate::{
    clock::BrokerClock,
    release::Release,
    seed::Stream,
    volume::{Op, Reply},
};

/// Wall-clock time at the start of a run, in milliseconds since 1970.
const EPOCH_MS: i64 = 1_700_000_000_000;

/// What a broker's task posts.
#[derive(Debug)]
pub enum Post {
    /// A volume operation and where its outcome goes.
    Volume(Op, oneshot::Sender<io::Result<Reply>>),
    /// A timer by the broker's own clock.
    Sleep(Instant, oneshot::Sender<()>),
    /// A request to a broker, by ordinal, and where its answer goes.
    Call(usize, Box<Request>, oneshot::Sender<io::Result<Response>>),
    /// Markers for partitions of topics, and where it goes that they are written.
    Markers(Markers, oneshot::Sender<()>),
    /// The answer to a request.
    Answer(u64, Response),
    /// A note for the log.
    Note(Note),
    /// `run` has returned: the broker has closed in good order.
    Closed,
}

/// The end of a transaction, for the partitions that it wrote to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markers {
    /// The producer under which it was open.
    pub producer: Producer,
    /// Its number.
    pub transaction: u64,
    /// Whether it commits.
    pub commit: bool,
    /// The partitions.
    pub partitions: Vec<TopicPartition>,
}

/// A post and who made it: broker, incarnation.
pub type Posted = (usize, u64, Post);

/// Puts posts that were made at one instant in an order that does not depend on which tasks ran
/// first: broker by broker, each broker's answers in the order of the requests.
pub fn in_order(posts: &mut [Posted]) {
    posts.sort_by_key(|(broker, ..)| *broker);
    for posts in posts.chunk_by_mut(|a, b| a.0 == b.0) {
        let posts = posts.iter_mut().map(|it| &mut it.2);
        let mut places: Vec<_> = posts.filter(|it| request_of(it).is_some()).collect();
        let answers = places.iter_mut().map(|it| mem::replace(*it, Post::Closed));
        let mut answers: Vec<_> = answers.collect();
        answers.sort_by_key(request_of);
        for (place, answer) in places.into_iter().zip(answers) {
            *place = answer;
        }
    }
}

fn request_of(post: &Post) -> Option<u64> {
    match post {
        Post::Answer(request, _) => Some(*request),
        Post::Volume(..)
        | Post::Sleep(..)
        | Post::Call(..)
        | Post::Markers(..)
        | Post::Note(_)
        | Post::Closed => None,
    }
}

/// Where brokers and world meet.
#[derive(Debug, Default)]
pub struct Hub {
    now: AtomicU64,
    posts: Mutex<Vec<Posted>>,
    /// Which brokers the endpoint registry knows to be up, by ordinal.
    ready: Mutex<Vec<bool>>,
    /// What each broker is told of the controller's lease, by ordinal.
    leases: Mutex<Vec<Lease>>,
}

/// What a broker is told of the controller's lease.
#[derive(Clone, Copy, Debug, Default)]
struct Lease {
    epoch: i64,
    /// What it is told from the second time on.
    then: i64,
    /// The epoch that it was told last, if it has asked since another was taken note of.
    told: Option<i64>,
}

impl Hub {
    /// Sets the world's time, in microseconds.
    pub fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    /// Sets whether the endpoint registry knows a broker to be up.
    pub fn set_ready(&self, broker: usize, is_ready: bool) {
        let mut ready = self.ready.lock().expect("nothing panics with the lock held");
        if ready.len() <= broker {
            ready.resize(broker + 1, false);
        }
        ready[broker] = is_ready;
    }

    /// Sets the epoch of the controller's lease that a broker is told the next time, and from then on.
    pub fn set_lease(&self, broker: usize, epoch: i64, then: i64) {
        let mut leases = self.leases.lock().expect("nothing panics with the lock held");
        if leases.len() <= broker {
            leases.resize(broker + 1, Lease::default());
        }
        (leases[broker].epoch, leases[broker].then) = (epoch, then);
    }

    /// The epoch that a broker was told since this was asked last.
    pub fn lease_told(&self, broker: usize) -> Option<i64> {
        let mut leases = self.leases.lock().expect("nothing panics with the lock held");
        leases.get_mut(broker)?.told.take()
    }

    fn tell_lease(&self, broker: usize) -> i64 {
        let mut leases = self.leases.lock().expect("nothing panics with the lock held");
        // Before the first controller there is no lease.
        let Some(lease) = leases.get_mut(broker) else { return 0 };
        let epoch = std::mem::replace(&mut lease.epoch, lease.then);
        lease.told = Some(epoch);
        epoch
    }

    /// Takes what was posted since the last time.
    pub fn take_posts(&self, into: &mut Vec<Posted>) {
        let mut posts = self.posts.lock().expect("nothing panics with the lock held");
        std::mem::swap(&mut *posts, into);
    }

    fn is_ready(&self, broker: usize) -> bool {
        let ready = self.ready.lock().expect("nothing panics with the lock held");
        ready.get(broker).copied().unwrap_or(false)
    }
}

/// One incarnation of a simulated broker, as its coordinator sees the world.
#[derive(Debug)]
pub struct SimHost {
    hub: Arc<Hub>,
    broker: usize,
    incarnation: u64,
    /// What its process is of, and so what it makes of files.
    release: Release,
    clock: Arc<BrokerClock>,
    entropy: Mutex<Stream>,
}

impl SimHost {
    /// The host of one incarnation.
    pub fn new(
        hub: Arc<Hub>,
        (broker, incarnation): (usize, u64),
        release: Release,
        clock: Arc<BrokerClock>,
        entropy: Stream,
    ) -> Self {
        Self { hub, broker, incarnation, release, clock, entropy: Mutex::new(entropy) }
    }

    /// Posts something to the world.
    pub fn post(&self, post: Post) {
        let mut posts = self.hub.posts.lock().expect("nothing panics with the lock held");
        posts.push((self.broker, self.incarnation, post));
    }

    async fn operate(&self, op: Op) -> io::Result<Reply> {
        let (sender, receiver) = oneshot::channel();
        self.post(Post::Volume(op, sender));
        match receiver.await {
            Ok(outcome) => outcome,
            // The world does not answer the dead.
            Err(_) => pending().await,
        }
    }
}

/// The ordinal in a broker's name.
fn ordinal(broker: &BrokerId) -> Option<usize> {
    broker.as_str().strip_prefix("kaas-")?.parse().ok()
}

impl Host for SimHost {
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

impl Volume for SimHost {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let content = self.operate(Op::Read(path.into())).await.map(Reply::content)?;
        Ok(self.release.of_file(path, content))
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        let content = self.release.of_file(path, content);
        self.operate(Op::Write(path.into(), content)).await.map(drop)
    }

    async fn sync(&self, path: &str) -> io::Result<()> {
        self.operate(Op::Sync(path.into())).await.map(drop)
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.operate(Op::SyncDir(path.into())).await.map(drop)
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.operate(Op::Rename(from.into(), to.into())).await.map(drop)
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        self.operate(Op::CreateDir(path.into())).await.map(drop)
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        self.operate(Op::RemoveFile(path.into())).await.map(drop)
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.operate(Op::RemoveDir(path.into())).await.map(drop)
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.operate(Op::List(path.into())).await.map(Reply::names)
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        self.operate(Op::Exists(path.into())).await.map(Reply::flag)
    }
}

impl Clock for SimHost {
    fn now(&self) -> Instant {
        Instant::from_micros(self.clock.local(self.hub.now.load(Ordering::Relaxed)))
    }

    fn unix_ms(&self) -> i64 {
        let elapsed = self.clock.elapsed(self.hub.now.load(Ordering::Relaxed)) / 1000;
        EPOCH_MS + i64::try_from(elapsed).expect("runs are shorter than an age")
    }

    async fn sleep_until(&self, deadline: Instant) {
        let (sender, receiver) = oneshot::channel();
        self.post(Post::Sleep(deadline, sender));
        if receiver.await.is_err() {
            pending().await
        }
    }
}

impl Entropy for SimHost {
    fn random(&self) -> u128 {
        let mut stream = self.entropy.lock().expect("nothing panics with the lock held");
        u128::from(stream.bits()) << 64 | u128::from(stream.bits())
    }
}

impl Peers for SimHost {
    fn endpoint(&self, broker: &BrokerId) -> Option<Endpoint> {
        let endpoint = || Endpoint { host: broker.shared(), port: 9092 };
        self.hub.is_ready(ordinal(broker)?).then(endpoint)
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(self.hub.tell_lease(self.broker))
    }

    async fn call(&self, broker: &BrokerId, request: Request) -> io::Result<Response> {
        let to = ordinal(broker).ok_or(io::ErrorKind::NotFound)?;
        let (sender, receiver) = oneshot::channel();
        self.post(Post::Call(to, Box::new(request), sender));
        match receiver.await {
            Ok(answer) => answer,
            // Nobody will answer, and nobody says so.
            Err(_) => pending().await,
        }
    }

    async fn write_markers(
        &self,
        producer: Producer,
        transaction: u64,
        commit: bool,
        partitions: &[TopicPartition],
    ) -> io::Result<()> {
        let (sender, receiver) = oneshot::channel();
        let partitions = partitions.to_vec();
        self.post(Post::Markers(Markers { producer, transaction, commit, partitions }, sender));
        match receiver.await {
            Ok(()) => Ok(()),
            Err(_) => pending().await,
        }
    }
}

impl Log for SimHost {
    fn note(&self, note: Note) {
        self.post(Post::Note(note));
    }
}
