//! Real brokers of one process on one real directory, which call each other.
//!
//! A broker can be stopped: nothing that it does reaches the volume or another broker any more until
//! it goes on, as if its process were stopped, or dead.

use std::{
    collections::BTreeMap,
    fs, io,
    ops::Deref,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_io::Timer;
use futures_lite::future::block_on;
use kaas_coordinator::{
    api::{Endpoint, ErrorCode, Producer, Request, Response, TxnMarkerRequest},
    assignment::View,
    broker::Broker,
    config::Config,
    ids::{BrokerId, TopicPartition},
    note::{Note, TxnEvent},
    ports::{Peers, Volume},
    volume::PosixVolume,
};

use super::host::RealHost;

/// All brokers and what they share.
pub(crate) struct Cluster {
    root: Arc<Path>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    members: Mutex<BTreeMap<BrokerId, Arc<Member>>>,
    seen: Mutex<Seen>,
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, BTreeMap<BrokerId, Arc<Member>>> {
        self.members.lock().expect("nobody panics while holding it")
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nobody panics while holding it")
    }
}

/// What was observed, and what is to go wrong.
#[derive(Default)]
pub(crate) struct Seen {
    /// Markers that groups were sent, and by which broker they were to be taken.
    pub(crate) markers: Vec<(BrokerId, TxnMarkerRequest)>,
    /// Markers that were written to partitions.
    pub(crate) written: Vec<(Producer, u64, bool, Vec<TopicPartition>)>,
    /// What brokers noted of transactional ids.
    pub(crate) events: Vec<(BrokerId, String, TxnEvent)>,
    /// How many markers to groups are refused from now on.
    pub(crate) refusals: usize,
}

/// A broker of the cluster.
pub(crate) struct Member {
    broker: Arc<Broker<RealHost<Mortal, Wires>>>,
    is_stopped: Switch,
}

impl Deref for Member {
    type Target = Broker<RealHost<Mortal, Wires>>;

    fn deref(&self) -> &Self::Target {
        &self.broker
    }
}

impl Member {
    /// Stops the broker where it is.
    pub(crate) fn stop(&self) {
        self.is_stopped.0.store(true, Ordering::Release);
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) {
        self.is_stopped.0.store(false, Ordering::Release);
    }
}

/// Whether a broker is stopped.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Switch {
    async fn pass(&self) {
        while self.0.load(Ordering::Acquire) {
            Timer::after(Duration::from_millis(5)).await;
        }
    }
}

impl Cluster {
    /// A cluster without brokers on the volume at `root`.
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.into(), shared: Arc::default() }
    }

    /// Publishes an assignment: which brokers there are, and which of them are dead.
    pub(crate) fn assign(&self, version: i64, brokers: &[&str], dead: &[&str]) -> View {
        let health = |id: &&str| if dead.contains(id) { "dead" } else { "alive" };
        let listed = |id: &&str| format!(r#"{{"id":"{id}","health":"{}"}}"#, health(id));
        let brokers = brokers.iter().map(listed).collect::<Vec<_>>().join(",");
        let text = format!(
            r#"{{"controllerEpoch":1,"assignmentVersion":{version},"brokers":[{brokers}]}}"#
        );
        let staged = self.root.join("assignment.new");
        fs::write(&staged, &text).expect("a writable directory");
        fs::rename(&staged, self.root.join("assignment.json")).expect("a writable directory");
        View::parse(text.as_bytes()).expect("a valid file")
    }

    /// Starts a broker. One of the same name that was started before can't be reached any more.
    pub(crate) fn start(&self, id: &str, config: Config) -> Arc<Member> {
        let is_stopped = Switch::default();
        let inner = PosixVolume::new(&*self.root);
        let volume = Mortal { inner, is_stopped: is_stopped.clone() };
        let shared = Arc::clone(&self.shared);
        let peers = Wires { shared: Arc::clone(&shared), is_stopped: is_stopped.clone() };
        let name = BrokerId::from(id);
        let me = name.clone();
        let log = move |note| {
            if let Note::Transaction { id, event } = note {
                let event = (name.clone(), id.as_str().to_owned(), event);
                shared.seen().events.push(event);
            }
        };
        let broker = RealHost::start(id, config, volume, peers, log);
        let member = Arc::new(Member { broker, is_stopped });
        self.shared.members().insert(me, Arc::clone(&member));
        member
    }

    /// Looks at what was observed, or changes what goes wrong.
    pub(crate) fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.shared.seen())
    }

    /// Waits until it has come to this, which must be soon.
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Seen) -> bool) {
        for _ in 0..2000 {
            if self.seen(|seen| is_so(seen)) {
                return;
            }
            block_on(Timer::after(Duration::from_millis(5)));
        }
        panic!("it never came to this: {what}: {:?}", self.seen(|seen| seen.events.clone()));
    }
}

/// The volume as a broker sees it that may be stopped.
pub(crate) struct Mortal {
    inner: PosixVolume,
    is_stopped: Switch,
}

impl Mortal {
    async fn alive<T>(&self, operation: impl Future<Output = T>) -> T {
        self.is_stopped.pass().await;
        let result = operation.await;
        self.is_stopped.pass().await;
        result
    }
}

impl Volume for Mortal {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.alive(self.inner.read(path)).await
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        self.alive(self.inner.write(path, content)).await
    }

    async fn sync(&self, path: &str) -> io::Result<()> {
        self.alive(self.inner.sync(path)).await
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.alive(self.inner.sync_dir(path)).await
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.alive(self.inner.rename(from, to)).await
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        self.alive(self.inner.create_dir(path)).await
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        self.alive(self.inner.remove_file(path)).await
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.alive(self.inner.remove_dir(path)).await
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.alive(self.inner.list(path)).await
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        self.alive(self.inner.exists(path)).await
    }
}

/// What connects the brokers.
pub(crate) struct Wires {
    shared: Arc<Shared>,
    is_stopped: Switch,
}

impl Peers for Wires {
    fn endpoint(&self, _: &BrokerId) -> Option<Endpoint> {
        Some(Endpoint { host: "localhost".into(), port: 9092 })
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(0)
    }

    async fn call(&self, broker: &BrokerId, request: Request) -> io::Result<Response> {
        self.is_stopped.pass().await;
        if let Request::TxnMarker(marker) = &request {
            let mut seen = self.shared.seen();
            if seen.refusals > 0 {
                seen.refusals -= 1;
                return Ok(Response::TxnMarker(ErrorCode::NotCoordinator));
            }
            seen.markers.push((broker.clone(), marker.clone()));
        }
        let member = self.shared.members().get(broker).cloned();
        let member = member.ok_or(io::ErrorKind::ConnectionRefused)?;
        member.is_stopped.pass().await;
        Ok(member.call(request).await)
    }

    async fn write_markers(
        &self,
        producer: Producer,
        transaction: u64,
        commit: bool,
        partitions: &[TopicPartition],
    ) -> io::Result<()> {
        self.is_stopped.pass().await;
        let written = (producer, transaction, commit, partitions.to_vec());
        self.shared.seen().written.push(written);
        Ok(())
    }
}
