//! A host for real brokers: a real clock, real randomness, threads; the network is the caller's.

use std::{
    io,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use async_io::Timer;
use futures_lite::future::block_on;
use kaas_coordinator::{
    api::{Endpoint, Producer, Request, Response},
    broker::Broker,
    config::Config,
    ids::{BrokerId, TopicPartition},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers, Volume},
};
use rustix::time::{ClockId, clock_gettime};

/// All ports of one broker.
pub(crate) struct RealHost<V, P = Alone> {
    volume: V,
    peers: P,
    log: Box<dyn Fn(Note) + Send + Sync>,
}

/// The peers of a broker that is the only one.
pub(crate) struct Alone;

impl<V: Volume, P: Peers> RealHost<V, P> {
    /// Starts a broker, which lives as long as the process or until it is closed.
    pub(crate) fn start(
        id: &str,
        config: Config,
        volume: V,
        peers: P,
        log: impl Fn(Note) + Send + Sync + 'static,
    ) -> Arc<Broker<Self>> {
        let host = Self { volume, peers, log: Box::new(log) };
        let broker = Arc::new(Broker::new(BrokerId::from(id), config, host));
        let running = Arc::clone(&broker);
        in_background(move || block_on(running.run()));
        broker
    }
}

impl<V: Volume, P: Peers> Host for RealHost<V, P> {
    type Volume = V;
    type Clock = Self;
    type Entropy = Self;
    type Peers = P;
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

    fn peers(&self) -> &P {
        &self.peers
    }

    fn log(&self) -> &Self {
        self
    }
}

impl<V: Volume, P: Peers> Clock for RealHost<V, P> {
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

impl<V: Volume, P: Peers> Entropy for RealHost<V, P> {
    fn random(&self) -> u128 {
        let half = || getrandom::u64().expect("the system has randomness");
        u128::from(half()) << 64 | u128::from(half())
    }
}

impl Peers for Alone {
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

impl<V: Volume, P: Peers> Log for RealHost<V, P> {
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
