//! The faults of a drawn plan.
//!
//! Each kind has a stream of its own, and each fault of it another, so that a kind more or less moves
//! no fault of another kind. Durations are drawn by magnitude first: most are short, some are long.

use std::time::Duration;

use kaas_coordinator::group_hash::BrokerRing;

use super::{aims, between, millis, small, windows};
use crate::{
    plan::{
        Action, BrokerName, Clients, Damage, Exit, Failure, Goodbye, Operation, Plan, Step, Way,
        When,
    },
    seed::Stream,
};

/// When the first fault may begin, in milliseconds: most groups have had a generation by then.
pub(super) const FIRST: u64 = 4_000;

/// What a kind of fault needs to be drawn.
pub(super) struct Draw<'a> {
    pub(super) plan: &'a Plan,
    pub(super) stream: Stream,
    /// When it begins, in milliseconds.
    pub(super) at: u64,
    pub(super) steps: &'a mut Vec<Step>,
}

/// Draws one fault of a kind.
pub(super) type Kind = fn(&mut Draw<'_>);

/// Every kind, and how many there are of it at most.
const KINDS: &[(&str, Kind, u32)] = &[
    ("restart", restart, 4),
    ("rolling restart", rolling_restart, 1),
    ("death", death, 2),
    ("pause", pause, 3),
    ("flap", flap, 6),
    ("entry", entry, 6),
    ("scale", scale, 2),
    ("depose", depose, 3),
    ("elect", elect, 2),
    ("twin", twin, 2),
    ("damage", damage, 3),
    ("lag", lag, 4),
    ("cut", cut, 4),
    ("black hole", black_hole, 2),
    ("reset", reset, 4),
    ("slow", slow, 2),
    ("fail", fail, 4),
    ("slow volume", slow_volume, 2),
    ("stop in operation", stop_in, 4),
    ("failover", failover, 4),
    ("freeze", freeze, 3),
    ("leave", leave, 2),
];

/// The kinds that are about the processes of members; a swarm of their own.
const PROCESSES: &[(&str, Kind, u32)] = &[("crash", crash, 4), ("duplicate", duplicate, 2)];

/// The faults of a plan that lasts so many milliseconds.
pub(super) fn draw(plan: &Plan, lasts: u64, is_storm: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for (swarm, kinds) in [
        ("swarm", KINDS),
        ("swarm of processes", PROCESSES),
        ("swarm of aims", aims::KINDS),
        ("swarm of windows", windows::KINDS),
    ] {
        let swarm = Stream::new(plan.seed, swarm, 0);
        draw_kinds(swarm, kinds, (plan, lasts, is_storm), &mut steps);
    }
    steps.sort_by_key(|step| step.at);
    steps
}

/// The faults of some kinds, which a swarm chooses from.
fn draw_kinds(
    mut swarm: Stream,
    kinds: &[(&str, Kind, u32)],
    (plan, lasts, is_storm): (&Plan, u64, bool),
    steps: &mut Vec<Step>,
) {
    let density = match swarm.below(100) {
        _ if is_storm => 100,
        0..5 => 0,
        5..15 => 8,
        15..75 => 30,
        75..95 => 55,
        _ => 100,
    };
    for (number, (name, kind, max)) in kinds.iter().enumerate() {
        let is_in = swarm.percent(density);
        let single = density == 8 && swarm.below(kinds.len() as u64) == number as u64;
        if !is_in && !single {
            continue;
        }
        let most = if is_storm { max * 2 } else { *max };
        let count = between(&mut Stream::new(plan.seed, name, 0), 1, most);
        for instance in 1..=u64::from(count) {
            let mut stream = Stream::new(plan.seed, name, instance);
            let at = stream.between(FIRST, lasts - 2000);
            kind(&mut Draw { plan, stream, at, steps });
        }
    }
}

impl Draw<'_> {
    pub(super) fn push(&mut self, action: Action) {
        self.push_at(self.at, action);
    }

    /// From its time on, the action waits for a moment.
    pub(super) fn push_when(&mut self, when: &When, action: Action) {
        let (at, when) = (Some(millis(self.at)), Some(when.clone()));
        self.steps.push(Step { at, when, action });
    }

    pub(super) fn push_at(&mut self, at: u64, action: Action) {
        self.steps.push(Step { at: Some(millis(at)), when: None, action });
    }

    pub(super) fn broker(&mut self) -> BrokerName {
        format!("kaas-{}", small(&mut self.stream, u64::from(self.plan.brokers)))
    }

    /// Some other broker, if there is one.
    pub(super) fn another(&mut self, than: &BrokerName) -> BrokerName {
        let names = (0..self.plan.brokers).map(|it| format!("kaas-{it}"));
        let others: Vec<_> = names.filter(|it| it != than).collect();
        if others.is_empty() { than.clone() } else { self.stream.pick(&others).clone() }
    }

    /// Some duration up to `most` milliseconds, of any magnitude from 50 ms on.
    pub(super) fn duration(&mut self, most: u64) -> Duration {
        let mut top = 50;
        while top < most && self.stream.percent(75) {
            top *= 2;
        }
        millis(self.stream.between(top / 2, top.min(most)))
    }

    /// Half of the time longer than a view that is not confirmed may be used.
    fn outlasting_a_view(&mut self) -> Duration {
        match self.stream.percent(50) {
            true => self.duration(6_000),
            false => millis(self.stream.between(3_200, 12_000)),
        }
    }

    pub(super) fn exit(&mut self) -> Exit {
        if self.stream.percent(50) { Exit::Graceful } else { Exit::Abrupt }
    }

    /// Some member of some group, if there is one.
    pub(super) fn consumer(&mut self) -> Option<String> {
        self.member(|_| true)
    }

    /// Some member of some group that is static or is not, as wanted, if there is one.
    fn member(&mut self, wanted: impl Fn(bool) -> bool) -> Option<String> {
        let groups: Vec<_> = self
            .plan
            .clients
            .iter()
            .filter_map(|it| match it {
                Clients::Group { name, members, is_static, .. } => {
                    wanted(*is_static).then_some((name, *members))
                }
                Clients::Committer { .. }
                | Clients::Reader { .. }
                | Clients::OneShot { .. }
                | Clients::Admin { .. }
                | Clients::Rude { .. } => None,
            })
            .collect();
        if groups.is_empty() {
            return None;
        }
        let (name, members) = *self.stream.pick(&groups);
        Some(format!("{name}.{}", between(&mut self.stream, 1, members)))
    }

    pub(super) fn group(&mut self) -> String {
        let groups = self.plan.groups();
        self.stream.pick(&groups[..]).clone()
    }

    /// Who coordinates a group as long as nothing has happened.
    pub(super) fn owner(&self, group: &str) -> BrokerName {
        let brokers = (0..self.plan.brokers).map(|it| (format!("kaas-{it}").into(), true));
        let ring = BrokerRing::new(brokers);
        ring.pick(group).expect("all are alive").to_string()
    }

    pub(super) fn operation(&mut self) -> Operation {
        *self.stream.pick(&[
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

    pub(super) fn somebody(&mut self) -> Option<BrokerName> {
        if self.stream.percent(50) { Some(self.broker()) } else { None }
    }
}

fn restart(draw: &mut Draw<'_>) {
    let (broker, down, exit) = (draw.broker(), draw.duration(10_000), draw.exit());
    draw.push(Action::Restart { broker, down, exit });
}

fn rolling_restart(draw: &mut Draw<'_>) {
    let exit = draw.exit();
    let gap = draw.stream.between(500, 8000);
    for broker in 0..draw.plan.brokers {
        let broker = format!("kaas-{broker}");
        let down = draw.duration(4000);
        let at = draw.at;
        draw.push_at(at, Action::Restart { broker, down, exit });
        draw.at += gap;
    }
}

fn death(draw: &mut Draw<'_>) {
    let broker = draw.broker();
    let peers = if draw.stream.percent(50) { Goodbye::Reset } else { Goodbye::Silent };
    draw.push(Action::Kill { broker: broker.clone(), peers });
    if draw.stream.percent(60) {
        let back = draw.at + draw.stream.between(300, 20_000);
        draw.push_at(back, Action::Start { broker });
    }
}

fn pause(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), draw.duration(120_000));
    draw.push(Action::Pause { broker, duration });
}

fn flap(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), draw.duration(10_000));
    draw.push(Action::Flap { broker, duration });
}

fn entry(draw: &mut Draw<'_>) {
    let group = draw.group();
    let broker = if draw.stream.percent(70) { Some(draw.broker()) } else { None };
    draw.push(Action::Entry { group, broker, stays: false });
}

fn scale(draw: &mut Draw<'_>) {
    let to = between(&mut draw.stream, 1, draw.plan.brokers + 2);
    draw.push(Action::Scale { to });
}

fn depose(draw: &mut Draw<'_>) {
    let delay = draw.duration(8000);
    draw.push(Action::Depose { delay });
}

fn elect(draw: &mut Draw<'_>) {
    let delay = draw.duration(15_000);
    draw.push(Action::Elect { delay, reset: false });
}

fn twin(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), draw.outlasting_a_view());
    draw.push(Action::Twin { broker, duration });
}

fn damage(draw: &mut Draw<'_>) {
    let kinds = [Damage::Torn, Damage::Missing, Damage::Foreign, Damage::Unreadable];
    let (how, duration) = (*draw.stream.pick(&kinds), draw.outlasting_a_view());
    draw.push(Action::Damage { how, duration });
}

/// A broker that reads an old file does harm only if there is a newer one and it has something to
/// lose: mostly the owner of some group lags, the group moves away meanwhile, and those who talk to it
/// look around.
fn lag(draw: &mut Draw<'_>) {
    let group = draw.group();
    let broker = if draw.stream.percent(70) { draw.owner(&group) } else { draw.broker() };
    // Brokers poll once a second; a shorter lag is none.
    let (back, lasts) = (draw.stream.percent(20), draw.stream.between(1000, 15_000));
    let duration = millis(lasts);
    draw.push(Action::Lag { broker: broker.clone(), duration, back });
    if draw.stream.percent(80) {
        let soon = draw.at + draw.stream.between(1, 200);
        let to = Some(draw.broker());
        draw.push_at(soon, Action::Entry { group, broker: to, stays: false });
        if draw.stream.percent(50) {
            let later = soon + draw.stream.between(500, 3000);
            draw.push_at(later, Action::Reset { broker });
        }
    }
}

fn cut(draw: &mut Draw<'_>) {
    let broker = draw.broker();
    let client = if draw.stream.percent(30) { draw.consumer() } else { None };
    let way = *draw.stream.pick(&[Way::Both, Way::Requests, Way::Answers]);
    let duration = draw.duration(30_000);
    draw.push(Action::Cut { broker, client, way, duration });
}

fn black_hole(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), draw.duration(15_000));
    draw.push(Action::BlackHole { broker, duration });
}

fn reset(draw: &mut Draw<'_>) {
    let broker = draw.broker();
    draw.push(Action::Reset { broker });
}

fn slow(draw: &mut Draw<'_>) {
    let (broker, by, duration) = (draw.broker(), draw.duration(2000), draw.duration(15_000));
    draw.push(Action::Slow { broker, by, duration });
}

/// Most operations are those of a take-over, and fail only if there is one: mostly a group moves to
/// whoever can't do them, once while it can't and perhaps once more.
fn fail(draw: &mut Draw<'_>) {
    let broker = draw.somebody();
    let error = if draw.stream.percent(60) { Failure::Io } else { Failure::Full };
    let on = if error == Failure::Full { Operation::Any } else { draw.operation() };
    let percent = *draw.stream.pick(&[3, 10, 30, 100]);
    let duration = draw.duration(12_000);
    draw.push(Action::Fail { broker: broker.clone(), error, on, percent, duration });
    if draw.stream.percent(70) {
        let group = draw.group();
        let to = broker.unwrap_or_else(|| draw.broker());
        let lasts = u64::try_from(duration.as_millis()).expect("a short time");
        // Who can't read does not hear of a move either, so that must come a little before.
        let soon = draw.at - 1500 + draw.stream.below(lasts + 1501);
        draw.push_at(soon, Action::Entry { group: group.clone(), broker: Some(to), stays: false });
        if draw.stream.percent(50) {
            let back = Some(draw.broker());
            draw.push_at(soon + 1500, Action::Entry { group, broker: back, stays: false });
        }
    }
}

fn slow_volume(draw: &mut Draw<'_>) {
    let (broker, by, duration) = (draw.somebody(), draw.duration(20_000), draw.duration(15_000));
    draw.push(Action::SlowVolume { broker, by, duration });
}

fn stop_in(draw: &mut Draw<'_>) {
    let (broker, on) = (draw.broker(), draw.operation());
    let nth = between(&mut draw.stream, 1, 8);
    let pause = if draw.stream.percent(50) { Some(draw.duration(60_000)) } else { None };
    draw.push(Action::StopIn { broker, on, nth, pause });
}

fn failover(draw: &mut Draw<'_>) {
    draw.push(Action::Failover);
}

fn freeze(draw: &mut Draw<'_>) {
    if let Some(client) = draw.consumer() {
        let duration = draw.duration(60_000);
        draw.push(Action::Freeze { client, duration });
    }
}

fn leave(draw: &mut Draw<'_>) {
    if let Some(client) = draw.consumer() {
        draw.push(Action::Leave { client });
    }
}

/// Mostly of a static member, if there is one: its group then goes on.
fn crash(draw: &mut Draw<'_>) {
    let is_static = draw.stream.percent(70);
    let client = draw.member(|it| it || !is_static).or_else(|| draw.consumer());
    if let Some(client) = client {
        let (down, keeps_id) = (draw.duration(15_000), draw.stream.percent(30));
        draw.push(Action::Crash { client, down, keeps_id, peers: Goodbye::Reset });
    }
}

fn duplicate(draw: &mut Draw<'_>) {
    if let Some(client) = draw.member(|is_static| is_static) {
        // It needs a while until it has joined and the other notices.
        let duration = millis(draw.stream.between(2_000, 15_000));
        draw.push(Action::Duplicate { client, duration });
    }
}
