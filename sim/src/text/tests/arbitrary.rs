//! Any plan that means something.

use std::time::Duration;

use proptest::{
    collection::vec,
    option,
    prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof},
    sample::select,
};

use crate::{
    plan::{
        Action, Clients, Damage, Exit, Failure, Goodbye, Manner, Moment, Operation, Plan, Span,
        Step, THERE, Topic, Way, When,
    },
    release::Release,
    text::defaults,
};

/// How many kinds of actions [`kind`] tells apart.
pub(super) const KINDS: usize = 33;

/// A number for each kind of action; those of one verb are of one kind.
pub(super) fn kind(action: &Action) -> usize {
    match action {
        Action::Wait { .. } => 0,
        Action::Stable { .. } => 1,
        Action::Restart { .. } => 2,
        Action::Kill { .. } => 3,
        Action::Start { .. } => 4,
        Action::Pause { .. } => 5,
        Action::Flap { .. } => 6,
        Action::Scale { .. } => 7,
        Action::Entry { .. } => 8,
        Action::Depose { .. } => 9,
        Action::Elect { .. } => 10,
        Action::Twin { .. } => 11,
        Action::Damage { .. } => 12,
        Action::Lag { .. } => 13,
        Action::Cut { .. } | Action::CutOff { .. } => 14,
        Action::BlackHole { .. } => 15,
        Action::Reset { .. } => 16,
        Action::Slow { .. } => 17,
        Action::Fail { .. } => 18,
        Action::SlowVolume { .. } => 19,
        Action::StopIn { .. } => 20,
        Action::Failover => 21,
        Action::Leave { .. } => 22,
        Action::Freeze { .. } => 23,
        Action::Rot { .. } => 24,
        Action::Crash { .. } => 25,
        Action::Duplicate { .. } => 26,
        Action::Starve { .. } => 27,
        Action::Panic { .. } => 28,
        Action::Jump { .. } => 29,
        Action::StopClock { .. } => 30,
        Action::OldLease { .. } => 31,
        Action::Install { .. } => 32,
    }
}

/// Any plan.
pub(super) fn plan() -> impl Strategy<Value = Plan> {
    declarations().prop_flat_map(|plan| {
        let steps = vec(step(&plan), 0..12);
        steps.prop_map(move |steps| Plan { steps, ..plan.clone() })
    })
}

const TOPICS: [&str; 3] = ["orders", "pay_ments.2", "-"];

fn declarations() -> impl Strategy<Value = Plan> {
    let claim = ("[!-~]([ -~]{0,20}[!-~])?", vec("([ -~]{0,20}[!-~])?", 0..3));
    let claim = claim.prop_map(|(first, others)| [vec![first], others].concat());
    let seed = or_usual(defaults::SEED, any::<u64>());
    let release = or_usual(defaults::RELEASE, Just(Release::Former));
    let drift = or_usual(defaults::DRIFT_PPM, 0_u32..1_000_000);
    let numbers = (seed, (1_u32..12, release), drift);
    let times = (
        or_usual(defaults::NETWORK, span()),
        or_usual(defaults::VOLUME, span()),
        or_usual(defaults::STAGGER, duration()),
    );
    let clients = [0, 1, 2, 3].map(|number| option::of(clients(number)));
    let rude =
        option::of((select(Manner::ALL.to_vec()), period(), or_usual(defaults::FROM, duration())));
    let clients = (clients, option::of(period()), rude).prop_map(|(clients, every, rude)| {
        let mut clients: Vec<_> = clients.into_iter().flatten().collect();
        let group = clients.iter().find_map(|it| match it {
            Clients::Group { name, .. } | Clients::Committer { name, .. } => Some(name.clone()),
            Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        let consumed = clients.iter().find_map(|it| match it {
            Clients::Group { name, .. } => Some(name.clone()),
            Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        clients.extend(group.zip(every).map(|(name, every)| Clients::Reader { name, every }));
        clients.extend(consumed.zip(rude).map(|(group, ((_, manner), every, from))| {
            Clients::Rude { group, manner, every, from }
        }));
        clients
    });
    let group_max = option::of(1_u32..50);
    (claim, (numbers, group_max), times, [(); 3].map(|()| 1_u32..100), clients).prop_map(
        |(claim, (numbers, group_max), (network, volume, stagger), partitions, clients)| {
            let (seed, (brokers, release), drift_ppm) = numbers;
            let topics = TOPICS.into_iter().zip(partitions);
            let mut plan = Plan {
                claim,
                seed,
                brokers,
                release,
                network,
                volume,
                drift_ppm,
                stagger,
                group_max,
                topics: topics
                    .map(|(name, partitions)| Topic { name: name.to_owned(), partitions })
                    .collect(),
                clients,
                steps: Vec::new(),
            };
            if plan.longest_transaction().is_some() {
                plan.release = Release::Current;
            }
            plan
        },
    )
}

fn clients(number: usize) -> impl Strategy<Value = Clients> {
    let name = select(vec!["billing", "a.B_", "-", "..", "7"]);
    let name = name.prop_map(move |stem| format!("{stem}{number}"));
    let topic = || select(TOPICS.to_vec()).prop_map(str::to_owned);
    let times = (
        or_usual(defaults::COMMIT_EVERY, period()),
        or_usual(defaults::SESSION, period()),
        or_usual(defaults::REBALANCE, period()),
        or_usual(defaults::HEARTBEAT, period()),
    );
    let group = (topic(), 1_u32..4, times, any::<bool>(), option::of(period()));
    let group = group.prop_map(|(topic, members, times, is_static, transactions)| {
        let (commit_every, session, rebalance, heartbeat) = times;
        Clients::Group {
            name: String::new(),
            topic,
            members,
            commit_every,
            session,
            rebalance,
            heartbeat,
            is_static,
            transactions,
        }
    });
    let at_once = or_usual(defaults::AT_ONCE, 1_u32..9);
    let committer = (topic(), period(), at_once).prop_map(|(topic, every, at_once)| {
        Clients::Committer { at_once, name: String::new(), topic, every }
    });
    let one_shot = (1_u32..40, period(), any::<bool>(), any::<bool>()).prop_map(
        |(count, every, odd_ids, delete)| {
            let name = String::new();
            Clients::OneShot { name, count, every, odd_ids, delete }
        },
    );
    let admin = period().prop_map(|every| Clients::Admin { name: String::new(), every });
    (name, prop_oneof![group, committer, one_shot, admin]).prop_map(|(name, mut clients)| {
        *name_of(&mut clients) = name;
        clients
    })
}

fn name_of(clients: &mut Clients) -> &mut String {
    match clients {
        Clients::Group { name, .. }
        | Clients::Committer { name, .. }
        | Clients::Reader { name, .. }
        | Clients::OneShot { name, .. }
        | Clients::Admin { name, .. }
        | Clients::Rude { group: name, .. } => name,
    }
}

/// What the steps of a plan may name.
struct Names {
    groups: Vec<String>,
    consumer_groups: Vec<String>,
    members: Vec<String>,
    static_members: Vec<String>,
    clients: Vec<String>,
}

impl Names {
    fn of(plan: &Plan) -> Self {
        let mut it = Self {
            groups: vec![],
            consumer_groups: vec![],
            members: vec![],
            static_members: vec![],
            clients: vec![],
        };
        for clients in &plan.clients {
            match clients {
                Clients::Group { name, members, is_static, .. } => {
                    it.groups.push(name.clone());
                    it.consumer_groups.push(name.clone());
                    let members = (1..=*members).map(|member| format!("{name}.{member}"));
                    it.members.extend(members.clone());
                    it.static_members.extend(members.filter(|_| *is_static));
                }
                Clients::Committer { name, .. } => {
                    it.groups.push(name.clone());
                    it.clients.push(format!("{name}!"));
                }
                Clients::Reader { name, .. } => it.clients.push(format!("{name}~")),
                Clients::OneShot { name, .. } => it.clients.push(format!("{name}?")),
                Clients::Admin { name, .. } => it.clients.push(name.clone()),
                Clients::Rude { group, manner, .. } => {
                    it.clients.push(format!("{group}.{}", manner.word()));
                }
            }
        }
        it.clients.extend(it.members.iter().cloned());
        it
    }
}

fn step(plan: &Plan) -> impl Strategy<Value = Step> + use<> {
    let names = Names::of(plan);
    let groups = vec(among(&names.consumer_groups), 0..3);
    let stable = (groups, duration()).prop_map(|(groups, within)| {
        let groups = groups.into_iter().flatten().collect();
        Step { at: None, when: None, action: Action::Stable { groups, within } }
    });
    let others = prop_oneof![
        7 => cluster(plan.brokers),
        1 => install(plan),
        4 => machine(plan.brokers),
        6 => control(plan.brokers),
        3 => network(plan.brokers),
        3 => volume(plan.brokers),
        5 => named(plan.brokers, &names),
        2 => processes(&names),
    ];
    let others = (option::of(duration()), when(&names), others, any::<bool>()).prop_map(
        |(at, when, mut action, is_there)| {
            // Only a step with a moment can name the broker at which it came.
            if when.is_some()
                && is_there
                && let Some(broker) = action.broker_mut()
            {
                THERE.clone_into(broker);
            }
            Step { at, when, action }
        },
    );
    prop_oneof![1 => stable, 20 => others]
}

fn when(names: &Names) -> impl Strategy<Value = Option<When>> + use<> {
    let moments: Vec<_> = Moment::ALL.iter().map(|(_, moment)| *moment).collect();
    let when = (select(moments), 1_u32..9, among(&names.groups));
    option::of(when.prop_map(|(moment, nth, group)| When { moment, nth, group }))
}

fn cluster(brokers: u32) -> impl Strategy<Value = Action> {
    let broker = || broker(brokers);
    let pause = or_usual(None, duration().prop_map(Some));
    let stop = (broker(), operation(), or_usual(defaults::NTH, 1_u32..9), pause);
    prop_oneof![
        duration().prop_map(|duration| Action::Wait { duration }),
        (broker(), duration(), select(vec![Exit::Graceful, Exit::Abrupt]))
            .prop_map(|(broker, down, exit)| Action::Restart { broker, down, exit }),
        (broker(), select(vec![Goodbye::Reset, Goodbye::Silent]))
            .prop_map(|(broker, peers)| Action::Kill { broker, peers }),
        broker().prop_map(|broker| Action::Start { broker }),
        (broker(), duration()).prop_map(|(broker, duration)| Action::Pause { broker, duration }),
        stop.prop_map(|(broker, on, nth, pause)| Action::StopIn { broker, on, nth, pause }),
    ]
}

/// Transactions need the current release everywhere.
fn install(plan: &Plan) -> impl Strategy<Value = Action> + use<> {
    let releases = match plan.longest_transaction() {
        Some(_) => vec![Release::Current],
        None => vec![Release::Former, Release::Current],
    };
    let exit = select(vec![Exit::Graceful, Exit::Abrupt]);
    (broker(plan.brokers), select(releases), duration(), exit)
        .prop_map(|(broker, release, down, exit)| Action::Install { broker, release, down, exit })
}

fn machine(brokers: u32) -> impl Strategy<Value = Action> {
    let broker = || broker(brokers);
    prop_oneof![
        (broker(), 1_u32..=100, duration())
            .prop_map(|(broker, percent, duration)| Action::Starve { broker, percent, duration }),
        (broker(), or_usual(defaults::NTH, 1_u32..9))
            .prop_map(|(broker, nth)| Action::Panic { broker, nth }),
        (broker(), period()).prop_map(|(broker, by)| Action::Jump { broker, by }),
        (broker(), duration())
            .prop_map(|(broker, duration)| Action::StopClock { broker, duration }),
    ]
}

fn control(brokers: u32) -> impl Strategy<Value = Action> {
    let broker = || broker(brokers);
    let damage = select(vec![Damage::Torn, Damage::Missing, Damage::Foreign, Damage::Unreadable]);
    prop_oneof![
        (broker(), duration()).prop_map(|(broker, duration)| Action::Flap { broker, duration }),
        (1_u32..20).prop_map(|to| Action::Scale { to }),
        duration().prop_map(|delay| Action::Depose { delay }),
        (duration(), any::<bool>()).prop_map(|(delay, reset)| Action::Elect { delay, reset }),
        (broker(), duration()).prop_map(|(broker, duration)| Action::Twin { broker, duration }),
        (damage, duration()).prop_map(|(how, duration)| Action::Damage { how, duration }),
        (broker(), duration(), any::<bool>()).prop_map(|(broker, duration, back)| Action::Lag {
            broker,
            duration,
            back,
        }),
        (broker(), duration(), any::<bool>())
            .prop_map(|(broker, duration, back)| { Action::OldLease { broker, duration, back } }),
    ]
}

fn network(brokers: u32) -> impl Strategy<Value = Action> {
    let broker = || broker(brokers);
    prop_oneof![
        (broker(), duration())
            .prop_map(|(broker, duration)| Action::BlackHole { broker, duration }),
        broker().prop_map(|broker| Action::Reset { broker }),
        broker().prop_map(|broker| Action::CutOff { broker }),
        (broker(), duration(), duration()).prop_map(|(broker, by, duration)| Action::Slow {
            broker,
            by,
            duration
        }),
    ]
}

fn volume(brokers: u32) -> impl Strategy<Value = Action> {
    let broker = || option::of(broker(brokers));
    let error = select(vec![Failure::Io, Failure::Full, Failure::Stale]);
    let percent = or_usual(defaults::PERCENT, 1_u32..=100);
    prop_oneof![
        (broker(), error, operation(), percent, duration()).prop_map(
            |(broker, error, on, percent, duration)| {
                Action::Fail { broker, error, on, percent, duration }
            }
        ),
        (broker(), duration(), duration()).prop_map(|(broker, by, duration)| Action::SlowVolume {
            broker,
            by,
            duration
        }),
        Just(Action::Failover),
    ]
}

/// What names a group or a client; if there is none, something else happens.
fn named(brokers: u32, names: &Names) -> impl Strategy<Value = Action> + use<> {
    let way = select(vec![Way::Both, Way::Requests, Way::Answers]);
    let cut = (broker(brokers), among(&names.clients), way, duration());
    let group = among(&names.groups);
    let member = among(&names.members);
    prop_oneof![
        cut.prop_map(|(broker, client, way, duration)| {
            Action::Cut { broker, client, way, duration }
        }),
        (group.clone(), option::of(broker(brokers)), any::<bool>()).prop_map(
            |(group, broker, stays)| {
                group.map_or(Action::Failover, |group| Action::Entry { group, broker, stays })
            }
        ),
        group.prop_map(|group| group.map_or(Action::Failover, |group| Action::Rot { group })),
        member.prop_map(|client| {
            client.map_or(Action::Failover, |client| Action::Leave { client })
        }),
        (among(&names.clients), duration()).prop_map(|(client, duration)| {
            client.map_or(Action::Failover, |client| Action::Freeze { client, duration })
        }),
    ]
}

/// What becomes of the processes of members; if there is none, something else happens.
fn processes(names: &Names) -> impl Strategy<Value = Action> + use<> {
    let peers = or_usual(defaults::GOODBYE, Just(Goodbye::Silent));
    let crash = (among(&names.members), duration(), any::<bool>(), peers);
    let duplicate = (among(&names.static_members), duration());
    prop_oneof![
        crash.prop_map(|(client, down, keeps_id, peers)| match client {
            Some(client) => Action::Crash { client, down, keeps_id, peers },
            None => Action::Failover,
        }),
        duplicate.prop_map(|(client, duration)| {
            client.map_or(Action::Failover, |client| Action::Duplicate { client, duration })
        }),
    ]
}

fn among(names: &[String]) -> BoxedStrategy<Option<String>> {
    match names {
        [] => Just(None).boxed(),
        some => select(some.to_vec()).prop_map(Some).boxed(),
    }
}

fn broker(brokers: u32) -> impl Strategy<Value = String> {
    (0..brokers).prop_map(|ordinal| format!("kaas-{ordinal}"))
}

fn operation() -> impl Strategy<Value = Operation> {
    select(vec![
        Operation::Any,
        Operation::Read,
        Operation::Write,
        Operation::Sync,
        Operation::SyncDir,
        Operation::Rename,
        Operation::CreateDir,
        Operation::Remove,
        Operation::List,
        Operation::Exists,
    ])
}

fn or_usual<T: Clone + std::fmt::Debug>(
    usual: T,
    any: impl Strategy<Value = T>,
) -> impl Strategy<Value = T> {
    prop_oneof![1 => Just(usual), 2 => any]
}

fn span() -> impl Strategy<Value = Span> {
    (duration(), duration()).prop_map(|(a, b)| Span { min: a.min(b), max: a.max(b) })
}

fn period() -> impl Strategy<Value = Duration> {
    duration().prop_map(|it| it.max(Duration::from_micros(1)))
}

/// Any number of any unit, and any number of microseconds.
fn duration() -> impl Strategy<Value = Duration> {
    let unit = select(vec![1_u64, 1_000, 1_000_000, 60_000_000]);
    prop_oneof![
        8 => (0_u64..5_000, unit).prop_map(|(number, unit)| Duration::from_micros(number * unit)),
        1 => any::<u64>().prop_map(Duration::from_micros),
    ]
}
