//! What a broker runs on: a clock that is turned by hand, ids from a counter, a volume in memory.
//!
//! Every wait ends with something that the driver does, so nothing here takes time by itself. A
//! broker owns everything until it is deposed: its `assignment.json` is read once at the start, and
//! the next read, long overdue by the broker's own clock, hangs until there is another owner to be
//! read of.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{Endpoint, ErrorCode, Producer, Request, Response, TxnMarkerRequest, VerifyTxnResponse},
    assignment::{AssignedBroker, Assignment, Health},
    ids::{BrokerId, GroupId, TopicPartition},
    note::Note,
    ports::{Clock, Entropy, Host, Instant, Log, Peers},
};

use super::volume::Stores;

/// How far a broker's clock is ahead once it has read its first view; also how often it reads.
pub(super) const POLL_INTERVAL: Duration = Duration::from_hours(365 * 24);

/// The wall clock when a world begins.
const EPOCH_MS: i64 = 1_700_000_000_000;

/// What all brokers of one world share.
#[derive(Default)]
pub(super) struct Ports {
    state: Mutex<State>,
    pub(super) stores: Mutex<Stores>,
}

#[derive(Default)]
struct State {
    now: Duration,
    /// What the broker that runs sleeps for.
    alarm: Option<Duration>,
    drawn: u128,
    /// The broker that owns everything.
    owner: usize,
    /// Who waits to hear of another owner.
    waiting: Vec<Waker>,
    /// The transactions of each producer id.
    transactions: BTreeMap<i64, Transactions>,
}

/// What the coordinator of transactions knows of a producer id. In the files every transaction is
/// open that a commit is made in.
#[derive(Clone, Debug, Default)]
struct Transactions {
    /// How many are over.
    ended: u64,
    /// The groups that are in the open one, and under which epoch.
    open: BTreeMap<GroupId, i16>,
}

impl Ports {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no step panics")
    }

    pub(super) fn stores(&self) -> MutexGuard<'_, Stores> {
        self.stores.lock().expect("no operation panics")
    }

    pub(super) fn now(&self) -> Duration {
        self.state().now
    }

    pub(super) fn set_now(&self, now: Duration) {
        self.state().now = now;
    }

    /// When the broker wants to be woken.
    pub(super) fn alarm(&self) -> Option<Duration> {
        self.state().alarm
    }

    /// The broker has ended.
    pub(super) fn forget_alarm(&self) {
        self.state().alarm = None;
    }

    /// From here on another broker owns everything.
    pub(super) fn depose(&self) {
        let mut state = self.state();
        state.owner += 1;
        state.waiting.drain(..).for_each(Waker::wake);
    }

    /// The open transaction of a producer ends; gives the markers for the groups in it.
    pub(super) fn end_txn(&self, producer_id: i64, commit: bool) -> Vec<TxnMarkerRequest> {
        let mut state = self.state();
        let transactions = state.transactions.entry(producer_id).or_default();
        transactions.ended += 1;
        let transaction = transactions.ended;
        let open = std::mem::take(&mut transactions.open).into_iter();
        let marker = |(group, epoch)| TxnMarkerRequest {
            group,
            producer: Producer { id: producer_id, epoch },
            transaction,
            commit,
        };
        open.map(marker).collect()
    }

    pub(super) fn owner(&self) -> usize {
        self.state().owner
    }

    /// Resolves when somebody else than `broker` is the owner.
    pub(super) fn poll_deposed(&self, broker: usize, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.owner > broker {
            return Poll::Ready(());
        }
        state.waiting.push(cx.waker().clone());
        Poll::Pending
    }
}

/// The ports of one broker.
pub(super) struct Machine {
    pub(super) ports: Arc<Ports>,
    pub(super) number: usize,
    /// How far its clock is ahead, in microseconds.
    ahead: AtomicU64,
}

impl Machine {
    pub(super) fn new(ports: &Arc<Ports>) -> Self {
        Self { ports: Arc::clone(ports), number: ports.owner(), ahead: AtomicU64::new(0) }
    }

    pub(super) fn id(&self) -> BrokerId {
        name(self.number)
    }

    /// Its next read of the assignment is due.
    pub(super) fn skip_to_next_poll(&self) {
        let ahead = u64::try_from(POLL_INTERVAL.as_micros()).expect("a year");
        self.ahead.store(ahead, Ordering::Relaxed);
    }

    fn ahead(&self) -> Duration {
        Duration::from_micros(self.ahead.load(Ordering::Relaxed))
    }

    /// The assignment that this broker reads for as long as it is not deposed, or when it is.
    pub(super) fn assignment(&self) -> Vec<u8> {
        let owner = self.ports.owner();
        let assignment = Assignment {
            controller_epoch: 1,
            assignment_version: i64::try_from(owner).expect("few owners"),
            generated_at: String::new(),
            controller: String::new(),
            brokers: vec![AssignedBroker {
                id: name(owner),
                health: Health::Alive,
                last_seen: String::new(),
            }],
            consumer_groups: Vec::new(),
        };
        serde_json::to_vec(&assignment).expect("text and numbers")
    }

    /// Whether the first view is read and the next read is the one that hangs.
    pub(super) fn has_view(&self) -> bool {
        !self.ahead().is_zero()
    }
}

fn name(number: usize) -> BrokerId {
    format!("kaas-{number}").into()
}

impl Host for Machine {
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

impl Clock for Machine {
    fn now(&self) -> Instant {
        Instant::ZERO + self.ports.now() + self.ahead()
    }

    fn unix_ms(&self) -> i64 {
        EPOCH_MS + i64::try_from(self.ports.now().as_millis()).expect("a short time")
    }

    async fn sleep_until(&self, deadline: Instant) {
        poll_fn(|_| {
            // The driver polls again whenever it has turned the clock.
            let deadline = deadline.since(Instant::ZERO).saturating_sub(self.ahead());
            let mut state = self.ports.state();
            if deadline <= state.now {
                state.alarm = None;
                return Poll::Ready(());
            }
            state.alarm = Some(deadline);
            Poll::Pending
        })
        .await;
    }
}

impl Entropy for Machine {
    /// The same ids in every run of the same steps.
    fn random(&self) -> u128 {
        let mut state = self.ports.state();
        state.drawn += 1;
        state.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

impl Peers for Machine {
    fn endpoint(&self, _: &BrokerId) -> Option<Endpoint> {
        None
    }

    async fn lease_epoch(&self) -> io::Result<i64> {
        Ok(0)
    }

    /// Every transaction is verified.
    async fn call(&self, _: &BrokerId, request: Request) -> io::Result<Response> {
        let Request::VerifyTxn(it) = request else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut state = self.ports.state();
        let transactions = state.transactions.entry(it.producer.id).or_default();
        transactions.open.insert(it.group, it.producer.epoch);
        let transaction = transactions.ended + 1;
        Ok(Response::VerifyTxn(VerifyTxnResponse { error: ErrorCode::None, transaction }))
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

impl Log for Machine {
    fn note(&self, _: Note) {}
}
