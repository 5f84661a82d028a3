//! What was seen on the cluster's outside, in the words of the model.
//!
//! This is the only file that knows both vocabularies: Kafka's requests and answers on one side, the
//! model's events on the other. It looks at what clients send and receive, at what brokers are sent
//! and answer, at what changes on the volume, and at what the file of the assignment shows; never
//! into a broker, but for the notes it writes and the census it gives.

#![expect(clippy::wildcard_enum_match_arm, reason = "what has no word in the model is not seen")]

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use kaas_coordinator::{
    api::{ErrorCode, JoinRequest, Request, SyncRequest},
    assignment::{Assignment, Health, View},
    file_name,
    ids::{GroupId, TopicPartition},
    note::Note,
};
use model::{Event, Limits, Micros, Model, Name, Outcome, Report, What};

use crate::{
    config,
    net::ConnId,
    plan::Plan,
    seed::micros,
    volume::{Op, SharedVolume},
};

use self::{asked::Asked, ending::Broken, reigns::Reigns};

mod answers;
mod asked;
mod clients;
mod ending;
mod reigns;
mod txns;

pub use self::answers::verdict_of;

/// Slack of a broker's timers and of what waits for one, in microseconds.
const SLACK: u64 = 200_000;

/// How many operations on the volume an answer may wait for, one after the other, while nothing is
/// wrong: a write that is under way, a take-over, a write of its own.
const OPERATIONS_MAX: u64 = 30;

/// See the [module](self).
#[derive(Debug)]
pub struct Lens {
    now: u64,
    model: Model,
    asked: BTreeMap<u64, Asked>,
    reigns: Reigns,
    /// The names of partitions, made once.
    partitions: BTreeMap<TopicPartition, Name>,
    /// The partitions that anybody ever committed for a group.
    committed: BTreeMap<Name, BTreeSet<TopicPartition>>,
    /// The last commit of each client, and the connection that it went over.
    last_commits: BTreeMap<Name, (u64, ConnId)>,
    ops: u64,
    writes: u64,
    round: u64,
    /// The view that was published last, to tell which rule routes a group.
    view: Option<View>,
    /// How long a join may be parked, in microseconds, in each group with members.
    join_bounds: BTreeMap<Name, u64>,
    volume_timeout: u64,
    /// Until when nothing is wrong, and how long an answer may take until then.
    calm_until: u64,
    prompt_bound: u64,
    /// Brokers that have not applied a view in this life.
    booting: BTreeSet<Name>,
    broken: Broken,
    /// What each static member of each group was told last.
    statics: BTreeMap<(Name, Name), Static>,
    /// How many transactions there were, and which one each client is in.
    txns: u64,
    open_txns: BTreeMap<Name, u64>,
    /// The input partitions of which anything was counted, by group.
    processed: BTreeMap<Name, BTreeSet<TopicPartition>>,
    /// What the examiner read last.
    examined: BTreeMap<(Name, TopicPartition), i64>,
    /// The groups about which it was told anything.
    answered_to_examiner: BTreeSet<Name>,
}

/// The reign, the generation and the member id that a static member was told.
type Static = (u64, i32, Name);

impl Lens {
    /// Nothing has been seen yet.
    pub fn new(plan: &Plan) -> Self {
        let config = config::of(plan);
        let limits = Limits {
            staleness: Micros(micros(config.staleness_max)),
            idle: Micros(micros(config.idle_max) + SLACK),
            members: config.group.size_max,
            sessions: (
                Micros(micros(config.group.session_timeout_min)),
                Micros(micros(config.group.session_timeout_max)),
            ),
            ..Limits::default()
        };
        let shortest = config.group.initial_rebalance_delay;
        let bounds = plan.rebalances().map(|(group, it)| (group.into(), micros(it.max(shortest))));
        let volume_timeout = config.offsets.volume_timeout;
        let prompt_bound = OPERATIONS_MAX * micros(plan.volume.max) + SLACK;
        Self {
            now: 0,
            model: Model::new(limits),
            asked: BTreeMap::new(),
            reigns: Reigns::default(),
            partitions: BTreeMap::new(),
            committed: BTreeMap::new(),
            last_commits: BTreeMap::new(),
            ops: 0,
            writes: 0,
            round: 0,
            view: None,
            join_bounds: bounds.collect(),
            volume_timeout: micros(volume_timeout) + SLACK,
            calm_until: plan.first_trouble().map_or(u64::MAX, micros).saturating_sub(prompt_bound),
            prompt_bound,
            booting: BTreeSet::new(),
            broken: Broken::default(),
            statics: BTreeMap::new(),
            txns: 0,
            open_txns: BTreeMap::new(),
            processed: BTreeMap::new(),
            examined: BTreeMap::new(),
            answered_to_examiner: BTreeSet::new(),
        }
    }

    /// Sets the world's time, in microseconds.
    pub fn set_now(&mut self, now: u64) {
        self.now = now;
    }

    fn see(&mut self, what: What) {
        self.model.observe(&Event { at: Micros(self.now), what });
    }

    /// The metadata of a commit that can be told from all others.
    pub fn next_write(&mut self) -> Arc<str> {
        self.writes += 1;
        format!("w{}", self.writes).into()
    }

    /// The requests to come are one round of questions to all brokers.
    pub fn begin_round(&mut self, round: u64) {
        self.round = round;
    }

    fn next_op(&mut self) -> u64 {
        self.ops += 1;
        self.ops
    }

    fn partition(&mut self, partition: &TopicPartition) -> Name {
        if let Some(name) = self.partitions.get(partition) {
            return Arc::clone(name);
        }
        let name: Name = partition.to_string().into();
        self.partitions.insert(partition.clone(), Arc::clone(&name));
        name
    }

    fn reign(&self, broker: &Name, group: &GroupId) -> u64 {
        self.reigns.of(broker, &file_name::encode(group.as_str()))
    }

    // Brokers.

    /// A broker begins a life.
    pub fn broker_started(&mut self, broker: &Name, local: u64) {
        self.booting.insert(broker.clone());
        self.see(What::BrokerStarted { broker: broker.clone(), local: Micros(local) });
    }

    /// A broker is dead.
    pub fn broker_stopped(&mut self, broker: &Name) {
        self.reigns.died(broker);
        self.see(What::BrokerStopped { broker: broker.clone() });
    }

    /// A broker is stopped in place.
    pub fn broker_paused(&mut self, broker: &Name, local: u64) {
        self.see(What::BrokerPaused { broker: broker.clone(), local: Micros(local) });
    }

    /// A broker that was stopped in place goes on.
    pub fn broker_resumed(&mut self, broker: &Name, local: u64) {
        self.see(What::BrokerResumed { broker: broker.clone(), local: Micros(local) });
    }

    /// The clock of a broker that runs jumps. To its process that is as if it had been stopped for
    /// so long: nothing it could have done in between would have been done in time.
    pub fn clock_jumped(&mut self, broker: &Name, before: u64, after: u64) {
        self.broker_paused(broker, before);
        self.broker_resumed(broker, after);
    }

    /// A broker writes a note.
    pub fn noted(&mut self, broker: &Name, local: u64, note: &Note) {
        match note {
            Note::ViewApplied { epoch, version } => {
                self.booting.remove(broker);
                self.see(What::ViewApplied {
                    broker: broker.clone(),
                    epoch: *epoch,
                    version: *version,
                    local: Micros(local),
                });
            }
            Note::Loaded { group, .. } => {
                self.reigns.taken_over(broker, &file_name::encode(group.as_str()));
            }
            Note::State { group, state: "Dead", .. } => {
                self.reigns.over(broker, &file_name::encode(group.as_str()));
            }
            Note::Idle { group }
            | Note::Dropped { group, .. }
            | Note::Fenced { group, .. }
            | Note::Quarantined { group, .. }
            | Note::VolumeFailed { group, .. } => {
                self.reigns.unloaded(broker, &file_name::encode(group.as_str()));
            }
            _ => {}
        }
    }

    /// A request reaches a broker; the task that serves it runs late by so many microseconds.
    pub fn arrived(
        &mut self,
        (request, lateness): (u64, u64),
        broker: &Name,
        local: u64,
        body: &Request,
    ) {
        let bound = Micros(lateness + self.bound_of(broker, body));
        let (what, local) = (body.api(), Micros(local));
        self.see(What::RequestArrived { request, broker: broker.clone(), local, bound, what });
        match body {
            Request::JoinGroup(it) if !it.member_id.is_empty() => {
                let (group, member) = (it.group.shared(), it.member_id.shared());
                self.see(What::JoinSent { group, member });
            }
            Request::Heartbeat(it) => self.see(What::HeartbeatArrived {
                request,
                broker: broker.clone(),
                group: it.group.shared(),
                member: it.member_id.shared(),
                generation: it.generation,
            }),
            Request::SyncGroup(it) if !it.assignments.is_empty() => {
                let assignments = it.assignments.iter();
                self.see(What::SyncSent {
                    broker: broker.clone(),
                    group: it.group.shared(),
                    reign: self.reign(broker, &it.group),
                    generation: it.generation,
                    member: it.member_id.shared(),
                    assignments: assignments.map(|it| (it.0.shared(), it.1.to_vec())).collect(),
                });
            }
            Request::OffsetCommit(it) if !it.member_id.is_empty() => {
                let Some((op, _)) = self.asked.get(&request).and_then(|it| it.ops.first().cloned())
                else {
                    return;
                };
                self.see(What::CommitArrived {
                    op,
                    broker: broker.clone(),
                    group: it.group.shared(),
                    member: it.member_id.shared(),
                    generation: it.generation,
                });
            }
            _ => {}
        }
    }

    /// How long an answer may take, in microseconds.
    fn bound_of(&self, broker: &Name, body: &Request) -> u64 {
        match body {
            Request::JoinGroup(JoinRequest { group, .. })
            | Request::SyncGroup(SyncRequest { group, .. }) => {
                let parked = self.join_bounds.get(group.as_str()).copied().unwrap_or_default();
                // Only who has to load the group first waits for the volume.
                let is_loaded = self.reigns.is_loaded(broker, &file_name::encode(group.as_str()));
                parked + if is_loaded { SLACK } else { self.volume_timeout }
            }
            Request::FindCoordinator { .. } | Request::Heartbeat(_) | Request::LeaveGroup(_) => {
                SLACK
            }
            Request::OffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::OffsetDelete(_)
            | Request::DeleteGroups { .. }
                if self.now < self.calm_until =>
            {
                self.prompt_bound
            }
            Request::OffsetCommit(_)
            | Request::OffsetFetch(_)
            | Request::OffsetDelete(_)
            | Request::DeleteGroups { .. }
            | Request::ListGroups { .. }
            | Request::DescribeGroups { .. }
            | Request::InitProducerId(_)
            | Request::AddPartitionsToTxn(_)
            | Request::AddOffsetsToTxn(_)
            | Request::EndTxn(_)
            | Request::TxnOffsetCommit(_)
            | Request::VerifyTxn(_)
            | Request::TxnMarker(_)
            | Request::TxnOutcome(_) => self.volume_timeout,
        }
    }

    /// Nobody waits for the answer to a request any more.
    pub fn void(&mut self, request: u64) {
        self.see(What::RequestVoid { request });
    }

    // The volume and the controller.

    /// A broker has changed something on the volume.
    pub fn volume_changed(&mut self, broker: &Name, op: &Op, volume: &SharedVolume) {
        let group = match op {
            Op::CreateDir(path) => {
                self.reigns.created(broker, path, volume);
                None
            }
            // Where it comes from is where it was written to.
            Op::Rename(_, to) => {
                self.mended(to);
                volume.read(usize::MAX, to).ok().and_then(|content| group_inside(&content))
            }
            _ => None,
        };
        self.see(What::FileChanged { path: Arc::clone(op.path()), group });
    }

    /// A view is about to be published.
    pub fn define_view(&mut self, view: model::ViewId, assignment: &Assignment) {
        let health = |health| match health {
            Health::Alive => model::Health::Alive,
            Health::Draining => model::Health::Draining,
            Health::Dead => model::Health::Dead,
        };
        let brokers = assignment.brokers.iter().map(|it| (it.id.shared(), health(it.health)));
        let entries = assignment.consumer_groups.iter();
        let explicit = entries.map(|it| (it.group_id.shared(), it.broker.shared())).collect();
        self.view = View::new(assignment).ok();
        self.see(What::ViewDefined {
            view,
            epoch: assignment.controller_epoch,
            version: assignment.assignment_version,
            brokers: brokers.collect(),
            explicit,
        });
    }

    /// From now on a broker that reads the file finds this view.
    pub fn file_shows(&mut self, broker: &Name, view: Option<model::ViewId>, local: u64) {
        self.see(What::FileShows { broker: broker.clone(), view, local: Micros(local) });
    }

    /// From now on a broker that asks for the lease is told this epoch.
    pub fn lease_shows(&mut self, broker: &Name, epoch: i64, local: u64) {
        self.see(What::LeaseShows { broker: broker.clone(), epoch, local: Micros(local) });
    }

    /// Whether a promise has broken so far.
    pub fn has_violation(&self) -> bool {
        !self.model.violations().is_empty()
    }

    /// What the history has come to.
    pub fn finish(self) -> Report {
        self.model.finish()
    }
}

/// The number in the metadata of a commit, if it is one of ours.
fn write_of(metadata: &str) -> Option<u64> {
    metadata.strip_prefix('w')?.parse().ok()
}

/// What a client may conclude from the verdict on a commit or deletion. Errors that a broker decides
/// on before it asks the volume are certain; the others say nothing about what happened.
fn outcome_of(error: ErrorCode) -> Outcome {
    match error {
        ErrorCode::None => Outcome::Ok,
        ErrorCode::IllegalGeneration
        | ErrorCode::UnknownMemberId
        | ErrorCode::FencedInstanceId
        | ErrorCode::RebalanceInProgress
        | ErrorCode::InvalidGroupId
        | ErrorCode::NonEmptyGroup
        | ErrorCode::GroupIdNotFound
        | ErrorCode::OffsetMetadataTooLarge
        | ErrorCode::ProducerFenced
        | ErrorCode::InvalidProducerEpoch
        | ErrorCode::InvalidProducerIdMapping
        | ErrorCode::InvalidTxnState
        | ErrorCode::ConcurrentTransactions => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

/// The id inside a file, if one is: the former release writes none. In that of a group it is the first
/// thing there, so the rest need not be read.
fn group_inside(content: &[u8]) -> Option<Name> {
    if let Some(rest) = content.strip_prefix(br#"{"group":"#) {
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<String>();
        return values.next()?.ok().map(Name::from);
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Inside {
        group: Option<String>,
        transactional_id: Option<String>,
    }
    let inside = serde_json::from_slice::<Inside>(content).ok()?;
    inside.group.or(inside.transactional_id).map(Name::from)
}
