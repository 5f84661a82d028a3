//! What groups cost one broker, in time and in memory, on one core.
//!
//! `cargo run --release --example bench_groups`. The volume is in memory and time stands still until
//! it is moved, so only the coordinator itself is measured.

use std::{
    cell::RefCell,
    future::Future,
    io::Write,
    pin::Pin,
    process::Command,
    sync::Arc,
    task::{Context, Waker},
    time::Duration,
};

use kaas_coordinator::{
    api::{
        CommitOffset, HeartbeatRequest, JoinRequest, JoinResponse, OffsetCommitRequest, Protocol,
        Request, Response, SyncRequest,
    },
    config::Config,
    ids::{GroupId, MemberId, TopicPartition},
};

use self::still::Still;

#[path = "../tests/support/still.rs"]
mod still;

/// Members live until a figure is taken.
const SESSION: Duration = Duration::from_mins(30);

/// Each figure, and how it is measured.
const FIGURES: [(&str, fn()); 7] = [
    ("heartbeats", heartbeats),
    ("rebalance", || rebalance(1000)),
    ("memory-of-groups", || memory_of_idle_groups(100_000)),
    ("memory-of-members", || memory_of_members(100_000)),
    ("ticks", ticks),
    ("admin", || admin(10_000)),
    ("one-shots", || one_shots(1_000_000)),
];

/// Each figure is taken in a process of its own: what an allocator has once, it keeps.
fn main() {
    let wanted = std::env::args().nth(1);
    for (name, measure) in FIGURES {
        match &wanted {
            Some(wanted) if *wanted == name => measure(),
            Some(_) => {}
            None => {
                let program = std::env::current_exe().expect("it runs");
                let status = Command::new(program).arg(name).status();
                assert!(status.is_ok_and(|it| it.success()), "{name} could not be measured");
            }
        }
    }
}

/// Idle groups stay for as long as a figure needs them.
fn patient() -> Config {
    Config { idle_max: Duration::from_hours(24), ..Config::default() }
}

fn heartbeats() {
    const MEMBERS: usize = 100;
    const BEATS: u64 = 2_000_000;
    let mut still = Still::start(Config::default());
    let members = form(&mut still, "g", MEMBERS);
    let beat = |member: &MemberId| {
        Request::Heartbeat(HeartbeatRequest {
            group: "g".into(),
            generation: 1,
            member_id: member.clone(),
            instance: None,
        })
    };
    let requests: Vec<_> = members.iter().map(beat).collect();
    let took = cpu(|| {
        for request in requests.iter().cycle().take(usize::try_from(BEATS).expect("it fits")) {
            assert!(still.call(request.clone()).is_success());
        }
    });
    let a_second = u128::from(BEATS) * 1_000_000 / took.as_micros().max(1);
    say(&format!("heartbeats           {a_second} a second, {MEMBERS} members"));
}

fn rebalance(members: usize) {
    let mut still = Still::start(Config::default());
    let ids = form(&mut still, "g", members);
    let took = cpu(|| rejoin(&mut still, &ids));
    say(&format!("rebalance            {} us for {members} members", took.as_micros()));
}

fn memory_of_idle_groups(groups: usize) {
    let mut still = Still::start(patient());
    still.call(commit("warm"));
    let before = resident();
    fill(&mut still, groups);
    let each = (resident() - before).saturating_sub(on_volume(&still)) / groups;
    say(&format!("memory               {each} bytes an idle group with one offset, of {groups}"));
}

fn memory_of_members(members: usize) {
    const IN_A_GROUP: usize = 1000;
    let mut still = Still::start(Config::default());
    form(&mut still, "warm", IN_A_GROUP);
    let before = resident();
    for group in 0..members / IN_A_GROUP {
        form(&mut still, &format!("group-{group}"), IN_A_GROUP);
    }
    let each = (resident() - before) / members;
    say(&format!("memory               {each} bytes a member, of {members}"));
}

/// How much the volume takes, about.
fn on_volume(still: &Still) -> usize {
    /// What an entry of a map takes besides what its key and its value point to.
    const ENTRY: usize = 80;
    let files = still.broker.host().files();
    let contents = files.files.iter().map(|(path, it)| path.len() + it.len() + ENTRY);
    let directories = files.directories.iter().map(|path| path.len() + ENTRY);
    contents.sum::<usize>() + directories.sum::<usize>()
}

fn ticks() {
    for groups in [1_000, 100_000] {
        let mut still = Still::start(patient());
        fill(&mut still, groups);
        let seconds = 200;
        let took = cpu(|| still.advance(Duration::from_secs(seconds)));
        let each = took.as_nanos() / u128::from(seconds);
        say(&format!("tick                 {each} ns a second of life, {groups} idle groups"));
    }
}

fn admin(groups: usize) {
    let mut still = Still::start(patient());
    fill(&mut still, groups);
    let list = || Request::ListGroups { states: Vec::new() };
    let took = cpu(|| assert!(still.call(list()).is_success()));
    say(&format!("ListGroups           {} us for {groups} groups", took.as_micros()));
    let ids: Vec<GroupId> = (0..groups).map(|it| format!("idle-{it}").as_str().into()).collect();
    let took = cpu(|| {
        let described = still.call(Request::DescribeGroups { groups: ids.clone() });
        assert!(described.is_success());
    });
    say(&format!("DescribeGroups       {} us for {groups} groups", took.as_micros()));
}

/// A stream of groups that are used once: what is left when all of them are idle.
fn one_shots(groups: usize) {
    const A_SECOND: usize = 10_000;
    let mut still = Still::start(Config::default());
    let round = |still: &mut Still, from: usize| {
        for number in from..from + A_SECOND {
            let Request::JoinGroup(it) = join(&format!("once-{number}"), "") else {
                unreachable!("it is one")
            };
            let session_timeout = Duration::from_secs(45);
            still.call(Request::JoinGroup(JoinRequest { session_timeout, ..it }));
        }
        still.advance(Duration::from_secs(1));
    };
    // Until as many are held as ever.
    for second in 0..80 {
        round(&mut still, second * A_SECOND);
    }
    let (most, before) = (still.broker.status().held.len(), resident());
    for second in 80..80 + groups / A_SECOND {
        round(&mut still, second * A_SECOND);
    }
    let after = resident();
    still.advance(Duration::from_mins(2));
    let left = still.broker.status().held.len();
    say(&format!(
        "one-shot groups      {} MiB with {most} held; {} MiB after {groups} more; {left} held when idle",
        before >> 20,
        after >> 20,
    ));
}

/// Gives a group members, all in one generation, each with its assignment.
fn form(still: &mut Still, group: &str, members: usize) -> Vec<MemberId> {
    let ids: Vec<MemberId> =
        (0..members).map(|_| joined(&still.call(join(group, ""))).member_id.clone()).collect();
    let joins = ids.iter().map(|id| join(group, id.as_str())).collect();
    let answers = all(still, joins, Duration::from_secs(10));
    sync(still, group, &answers);
    ids
}

/// Everybody joins again and syncs.
fn rejoin(still: &mut Still, ids: &[MemberId]) {
    let joins = ids.iter().map(|id| join("g", id.as_str())).collect();
    let answers = all(still, joins, Duration::ZERO);
    sync(still, "g", &answers);
}

fn sync(still: &mut Still, group: &str, answers: &[Response]) {
    let leader = joined(&answers[0]).leader.clone();
    let everybody = answers.iter().map(|it| joined(it).member_id.clone());
    let assignments: Vec<_> = everybody.map(|id| (id, Arc::from([0; 32]))).collect();
    let syncs = answers.iter().map(|answer| {
        let it = joined(answer);
        Request::SyncGroup(SyncRequest {
            group: group.into(),
            generation: it.generation,
            member_id: it.member_id.clone(),
            instance: None,
            protocol_type: it.protocol_type.clone(),
            protocol_name: it.protocol.clone(),
            assignments: match it.member_id == leader {
                true => assignments.clone(),
                false => Vec::new(),
            },
            version: 5,
        })
    });
    let syncs = syncs.collect();
    assert!(all(still, syncs, Duration::ZERO).iter().all(Response::is_success));
}

/// Asks all at once; they may need some time.
fn all(still: &mut Still, requests: Vec<Request>, needs: Duration) -> Vec<Response> {
    let broker = Arc::clone(&still.broker);
    let mut cx = Context::from_waker(Waker::noop());
    let answers: Vec<_> = requests.iter().map(|_| RefCell::new(None)).collect();
    let calls = requests.into_iter().zip(&answers).map(|(request, answer)| {
        let call = broker.call(request);
        Box::pin(async move { *answer.borrow_mut() = Some(call.await) })
    });
    let mut calls: Vec<Pin<Box<dyn Future<Output = ()>>>> =
        calls.map(|it| it as Pin<Box<dyn Future<Output = ()>>>).collect();
    calls.retain_mut(|it| it.as_mut().poll(&mut cx).is_pending());
    still.work();
    still.advance(needs);
    calls.retain_mut(|it| it.as_mut().poll(&mut cx).is_pending());
    drop(calls);
    answers.into_iter().map(|it| it.into_inner().expect("it is answered")).collect()
}

fn joined(response: &Response) -> &JoinResponse {
    let Response::JoinGroup(it) = response else { panic!("a JoinGroup was asked") };
    it
}

fn join(group: &str, member: &str) -> Request {
    Request::JoinGroup(JoinRequest {
        group: group.into(),
        member_id: member.into(),
        instance: None,
        client_id: "consumer".into(),
        session_timeout: SESSION,
        rebalance_timeout: Duration::from_secs(60),
        protocol_type: "consumer".into(),
        protocols: vec![Protocol { name: "range".into(), metadata: Arc::from([0; 64]) }],
        version: 9,
        reason: None,
    })
}

fn commit(group: &str) -> Request {
    Request::OffsetCommit(OffsetCommitRequest {
        group: group.into(),
        generation: -1,
        member_id: "".into(),
        instance: None,
        offsets: vec![CommitOffset {
            partition: TopicPartition::new("events", 0),
            offset: 1,
            leader_epoch: -1,
            metadata: "".into(),
        }],
        retention_ms: None,
    })
}

/// Groups of one offset each, `idle-0` and up.
fn fill(still: &mut Still, groups: usize) {
    for number in 0..groups {
        assert!(still.call(commit(&format!("idle-{number}"))).is_success());
    }
    // The last requests are no longer remembered.
    still.advance(Duration::from_secs(10));
}

/// How long the processor worked.
fn cpu(work: impl FnOnce()) -> Duration {
    let before = used();
    work();
    used() - before
}

fn used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("not negative");
    Duration::new(seconds, u32::try_from(time.tv_nsec).expect("a part of a second"))
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux machine");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has that");
    let number = line.split_whitespace().next().and_then(|it| it.parse::<usize>().ok());
    number.expect("a number of KiB") * 1024
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
