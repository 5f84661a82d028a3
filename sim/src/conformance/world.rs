//! Brokers that are polled by hand until nothing changes any more.
//!
//! There is one broker at a time that owns everything; when it loses that, the next is another one
//! on the same volume. Nothing runs beside the driver: after every step each future has been polled
//! for as long as it had something to do, so what has no answer then is withheld.

use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{ErrorCode, OffsetFetchRequest, Request, Response, TxnMarkerRequest},
    broker::Broker,
    config::{Config, GroupConfig, OffsetsConfig, TxnConfig},
    group::Inspection,
    ids::GroupId,
};
use serde_json::Value;

use super::{
    host::{Machine, POLL_INTERVAL, Ports},
    step::{Fields, Malformed},
    volume::{Fault, Stage},
};

/// Names a request of a world.
pub(super) type Call = u64;

type Running<T> = Pin<Box<dyn Future<Output = T>>>;

/// Brokers, one after the other, and the requests that wait.
pub(super) struct World {
    ports: Arc<Ports>,
    config: Config,
    broker: Arc<Broker<Machine>>,
    /// The broker's duties, until they end.
    duties: Option<Running<()>>,
    /// Set when a future can go on.
    news: Arc<News>,
    calls: u64,
    waiting: BTreeMap<Call, Running<Response>>,
    answers: Vec<(Call, Response)>,
    /// Markers that no owner has acknowledged yet.
    markers: Vec<TxnMarkerRequest>,
    pub(super) phase: Phase,
}

/// What the coordinator is to the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    Resigned,
    /// Another broker has the groups, and reads nothing yet.
    Loading,
    ShutDown,
}

#[derive(Default)]
struct News(AtomicBool);

impl Wake for News {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl World {
    pub(super) fn new(config: Config) -> Self {
        let ports = Arc::new(Ports::default());
        let broker = broker(&ports, &config);
        let mut world = Self {
            ports,
            config,
            duties: Some(duties(&broker)),
            broker,
            news: Arc::default(),
            calls: 0,
            waiting: BTreeMap::new(),
            answers: Vec::new(),
            markers: Vec::new(),
            phase: Phase::Serving,
        };
        world.boot();
        world
    }

    /// The broker reads its first view; the next read will bring the end of its reign.
    fn boot(&mut self) {
        self.settle();
        self.broker.host().skip_to_next_poll();
        self.settle();
    }

    /// Sends a request; its answer is among those taken next, unless it is withheld.
    pub(super) fn send(&mut self, request: Request) -> Call {
        self.calls += 1;
        let broker = Arc::clone(&self.broker);
        let call = Box::pin(async move { broker.call(request).await });
        self.waiting.insert(self.calls, call);
        self.settle();
        // A load that does not come, and a volume that says nothing, are waited for only so long.
        let waits = self.phase == Phase::Loading && self.waiting.contains_key(&self.calls);
        let hangs = self.ports.stores().hangs();
        if waits || hangs {
            self.advance(self.config.offsets.volume_timeout);
        }
        if hangs {
            self.release_stores();
        }
        self.calls
    }

    /// Polls whatever can go on, until nothing can.
    pub(super) fn settle(&mut self) {
        let waker = Waker::from(Arc::clone(&self.news));
        let mut cx = Context::from_waker(&waker);
        self.news.0.store(true, Ordering::Relaxed);
        while self.news.0.swap(false, Ordering::Relaxed) {
            if self.duties.as_mut().is_some_and(|it| it.as_mut().poll(&mut cx).is_ready()) {
                self.duties = None;
                self.ports.forget_alarm();
            }
            let answers = &mut self.answers;
            self.waiting.retain(|call, it| match it.as_mut().poll(&mut cx) {
                Poll::Ready(response) => {
                    answers.push((*call, response));
                    false
                }
                Poll::Pending => true,
            });
        }
    }

    /// The answers since they were last taken.
    pub(super) fn take_answers(&mut self) -> Vec<(Call, Response)> {
        std::mem::take(&mut self.answers)
    }

    /// Lets time pass, stopping wherever the broker wants to be woken.
    pub(super) fn advance(&mut self, by: Duration) {
        let target = self.ports.now() + by;
        while let Some(alarm) = self.ports.alarm().filter(|alarm| *alarm <= target) {
            self.ports.set_now(alarm);
            self.settle();
        }
        self.ports.set_now(target);
        self.settle();
    }

    pub(super) fn hold_stores(&mut self) {
        self.ports.stores().stores = Stage::Held;
    }

    pub(super) fn release_stores(&mut self) {
        self.ports.stores().release();
        self.settle();
    }

    pub(super) fn fail_next_store(&mut self, fault: Fault) {
        self.ports.stores().fail_next(fault);
    }

    pub(super) fn fails_next(&self) -> bool {
        self.ports.stores().fails_next()
    }

    pub(super) fn expire_offsets(&mut self) {
        self.broker.expire_offsets();
        self.settle();
    }

    /// The broker loses everything to another, which does not serve yet.
    pub(super) fn resign(&mut self) {
        self.ports.depose();
        self.phase = Phase::Resigned;
        self.settle();
    }

    /// The other broker serves; what it needs from the volume does not come.
    pub(super) fn begin_load(&mut self) {
        self.ports.stores().set_loads(Stage::Held);
        self.broker = broker(&self.ports, &self.config);
        self.duties = Some(duties(&self.broker));
        self.phase = Phase::Loading;
        self.boot();
    }

    pub(super) fn end_load(&mut self) {
        self.ports.stores().set_loads(Stage::Open);
        self.phase = Phase::Serving;
        self.settle();
        self.deliver_markers();
    }

    /// The open transaction of a producer ends. Its coordinator repeats the markers until each is
    /// acknowledged.
    pub(super) fn end_txn(&mut self, producer_id: i64, commit: bool) {
        self.markers.extend(self.ports.end_txn(producer_id, commit));
        self.deliver_markers();
    }

    fn deliver_markers(&mut self) {
        if self.phase != Phase::Serving {
            return;
        }
        for marker in std::mem::take(&mut self.markers) {
            let answer = self.ask(Request::TxnMarker(marker.clone()));
            if answer != Response::TxnMarker(ErrorCode::None) {
                self.markers.push(marker);
            }
        }
    }

    pub(super) fn shut_down(&mut self) {
        self.broker.close();
        self.phase = Phase::ShutDown;
        self.settle();
    }

    /// The group, read from the volume if it is not in memory. Only an owner knows of any.
    pub(super) fn inspect(&mut self, group: &GroupId) -> Option<Inspection> {
        if self.phase == Phase::Serving {
            self.ask(Request::DescribeGroups { groups: vec![group.clone()] });
        }
        self.broker.inspect(group)
    }

    /// Every committed offset of the group, as a client sees them.
    pub(super) fn committed(&mut self, group: &GroupId) -> Option<Response> {
        if self.phase != Phase::Serving {
            return None;
        }
        let all =
            OffsetFetchRequest { group: group.clone(), partitions: None, require_stable: false };
        Some(self.ask(Request::OffsetFetch(all)))
    }

    /// A request of our own, which nothing may withhold.
    fn ask(&mut self, request: Request) -> Response {
        let call = self.send(request);
        let at = self.answers.iter().position(|(answered, _)| *answered == call);
        self.answers.remove(at.expect("reading is never withheld from an owner")).1
    }
}

fn broker(ports: &Arc<Ports>, config: &Config) -> Arc<Broker<Machine>> {
    let machine = Machine::new(ports);
    Arc::new(Broker::new(machine.id(), config.clone(), machine))
}

fn duties(broker: &Arc<Broker<Machine>>) -> Running<()> {
    let broker = Arc::clone(broker);
    Box::pin(async move { broker.run().await })
}

/// The configuration that a file asks for. What files know nothing of does not happen: views don't
/// become stale, idle groups stay, retention waits for its step.
pub(super) fn config(json: &Value) -> Result<Config, Malformed> {
    let it = Fields(json);
    Ok(Config {
        txn: TxnConfig { scan_interval: Duration::MAX, ..TxnConfig::default() },
        group: GroupConfig {
            session_timeout_min: it.millis("min_session_timeout_ms")?,
            session_timeout_max: it.millis("max_session_timeout_ms")?,
            initial_rebalance_delay: it.millis("initial_rebalance_delay_ms")?,
            size_max: it.integer("group_max_size")?,
            new_member_join_timeout: it.millis("new_member_join_timeout_ms")?,
            ..GroupConfig::default()
        },
        offsets: OffsetsConfig {
            metadata_max: it.integer("offset_metadata_max")?,
            retention: it.millis("offsets_retention_ms")?,
            retention_check_interval: Duration::MAX,
            txn_orphan_after: Duration::MAX,
            ..OffsetsConfig::default()
        },
        poll_interval: POLL_INTERVAL,
        staleness_max: Duration::MAX,
        idle_max: Duration::MAX,
        ..Config::default()
    })
}
