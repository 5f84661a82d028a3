//! A host for real brokers: a real clock, real randomness, threads; no network.

use std::{
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use async_io::Timer;
use futures_lite::future::block_on;
use kaas_coordinator::{
    api::{
        CommitOffset, Endpoint, ErrorCode, OffsetCommitRequest, OffsetFetchRequest, Producer,
        Request, Response,
    },
    broker::Broker,
    config::Config,
    ids::{BrokerId, GroupId, TopicPartition},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers, Volume},
};
use rustix::time::{ClockId, clock_gettime};

/// All ports of one broker.
pub(crate) struct RealHost<V> {
    volume: V,
    log: Box<dyn Fn(Note) + Send + Sync>,
}

impl<V: Volume> RealHost<V> {
    /// Starts a broker, which lives as long as the process or until it is closed.
    pub(crate) fn start(
        id: &str,
        config: Config,
        volume: V,
        log: impl Fn(Note) + Send + Sync + 'static,
    ) -> Arc<Broker<Self>> {
        let host = Self { volume, log: Box::new(log) };
        let broker = Arc::new(Broker::new(BrokerId::from(id), config, host));
        let running = Arc::clone(&broker);
        in_background(move || block_on(running.run()));
        broker
    }
}

impl<V: Volume> Host for RealHost<V> {
    type Volume = V;
    type Clock = Self;
    type Entropy = Self;
    type Peers = Self;
    type Log = Self;

    fn volume(&self) -> &V {
        &self.volume
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

impl<V: Volume> Clock for RealHost<V> {
    fn now(&self) -> Instant {
        now()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn unix_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("1970 is over");
        i64::try_from(since.as_millis()).expect("some time before the year 292278994")
    }

    async fn sleep_until(&self, deadline: Instant) {
        Timer::after(deadline.since(now())).await;
    }
}

impl<V: Volume> Entropy for RealHost<V> {
    fn random(&self) -> u128 {
        let half = || getrandom::u64().expect("the system has randomness");
        u128::from(half()) << 64 | u128::from(half())
    }
}

impl<V: Volume> Peers for RealHost<V> {
    fn endpoint(&self, _: &BrokerId) -> Option<Endpoint> {
        Some(Endpoint { host: "localhost".into(), port: 9092 })
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(0)
    }

    async fn call(&self, _: &BrokerId, _: Request) -> io::Result<Response> {
        Err(io::ErrorKind::Unsupported.into())
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

impl<V: Volume> Log for RealHost<V> {
    fn note(&self, note: Note) {
        (self.log)(note);
    }
}

/// `CLOCK_MONOTONIC`, which all processes of a machine share.
pub(crate) fn now() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).expect("the clock starts at zero");
    let nanos = u64::try_from(now.tv_nsec).expect("a part of a second");
    Instant::from_micros(seconds * 1_000_000 + nanos / 1000)
}

#[expect(clippy::disallowed_methods, reason = "the host owns all threads, and this is the host")]
pub(crate) fn in_background(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

/// Waits, as a client does between two tries.
pub(crate) async fn back_off() {
    Timer::after(Duration::from_millis(1)).await;
}

/// Commits an offset for the first `partitions` partitions of `orders`; the first error, if any.
pub(crate) async fn commit<V: Volume>(
    broker: &Broker<RealHost<V>>,
    group: &str,
    partitions: i32,
    offset: i64,
) -> ErrorCode {
    let offsets = (0..partitions).map(|partition| CommitOffset {
        partition: TopicPartition::new("orders", partition),
        offset,
        leader_epoch: -1,
        metadata: offset.to_string().into(),
    });
    let request = OffsetCommitRequest {
        group: GroupId::from(group),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: offsets.collect(),
        retention_ms: None,
    };
    let Response::OffsetCommit(verdicts) = broker.call(Request::OffsetCommit(request)).await else {
        unreachable!("an answer is of its request's kind")
    };
    let errors = verdicts.into_iter().map(|(_, error)| error);
    errors.fold(ErrorCode::None, |first, error| if first.is_none() { error } else { first })
}

/// Fetches what [`commit`] committed, which is the same for all partitions; -1 if that is nothing.
pub(crate) async fn fetch<V: Volume>(
    broker: &Broker<RealHost<V>>,
    group: &str,
    partitions: i32,
) -> Result<i64, ErrorCode> {
    let all = (0..partitions).map(|partition| TopicPartition::new("orders", partition));
    let request = OffsetFetchRequest {
        group: GroupId::from(group),
        partitions: Some(all.collect()),
        require_stable: false,
    };
    let Response::OffsetFetch(response) = broker.call(Request::OffsetFetch(request)).await else {
        unreachable!("an answer is of its request's kind")
    };
    if !response.error.is_none() {
        return Err(response.error);
    }
    let offset = response.partitions[0].offset;
    for it in &response.partitions {
        assert_eq!(it.offset, offset, "a commit of {group} is there in part: {response:?}");
        let metadata = if offset == -1 { String::new() } else { offset.to_string() };
        assert_eq!(*it.metadata, *metadata, "offset and metadata of {group} are of two commits");
    }
    Ok(offset)
}
