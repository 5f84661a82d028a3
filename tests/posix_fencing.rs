//! Two processes, each sure that a group is its own, and one directory: fencing keeps its offsets.
//!
//! Each process runs a broker that reads an assignment of its own, which always names itself; the
//! parent raises the version of one or the other, lets both have the same, stops one in the middle
//! of whatever it is doing, or kills it. Both commit and fetch for the same groups all the time.
//! What all of them saw must be a history of one register per group: no acknowledged commit is
//! lost, or overwritten by an older owner, and no fetch gives what was overwritten before it began.
//!
//! `KAAS_ROUNDS` says how often the group changes hands, `KAAS_SEED` when.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write as _},
    path::Path,
    process::ChildStdin,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

use futures_lite::future::block_on;
use futures_util::future::join_all;
use kaas_coordinator::{
    assignment::ASSIGNMENT_PATH, broker::Broker, config::Config, note::Note, ports::Volume,
    volume::PosixVolume,
};
use rustix::process::Signal;
use tempfile::TempDir;

use self::{
    child::{Chance, Child, log, orders, say, setting, wait},
    host::{Alone, RealHost, in_background, now},
    offsets::{back_off, commit, fetch},
    register::History,
};

#[path = "support/child.rs"]
mod child;
#[path = "support/host.rs"]
mod host;
#[path = "support/offsets.rs"]
mod offsets;
#[path = "support/register.rs"]
mod register;

const GROUPS: usize = 3;
const PARTITIONS: i32 = 2;
/// Each life numbers its commits from so many times its own number.
const PER_LIFE: i64 = 1_000_000;
/// How long a child lives if nobody kills it.
const LIFE_MAX: Duration = Duration::from_mins(10);

fn group(number: usize) -> String {
    format!("group-{number}")
}

/// The shared volume, except for the assignment: that is this process's own.
struct OwnAssignment {
    shared: PosixVolume,
    version: Arc<AtomicI64>,
}

impl Volume for OwnAssignment {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        if path != ASSIGNMENT_PATH {
            return self.shared.read(path).await;
        }
        let version = self.version.load(Ordering::Relaxed);
        let brokers = r#"[{ "id": "kaas-0", "health": "alive" }]"#;
        let file = format!(
            r#"{{ "controllerEpoch": 1, "assignmentVersion": {version}, "brokers": {brokers} }}"#
        );
        Ok(file.into_bytes())
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        self.shared.write(path, content).await
    }

    async fn sync(&self, path: &str) -> io::Result<()> {
        self.shared.sync(path).await
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.shared.sync_dir(path).await
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.shared.rename(from, to).await
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        self.shared.create_dir(path).await
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        self.shared.remove_file(path).await
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.shared.remove_dir(path).await
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.shared.list(path).await
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        self.shared.exists(path).await
    }
}

/// The other test runs this in a process of its own, with orders; without any there is nothing to do.
#[test]
fn child() {
    let Some(orders) = orders() else { return };
    in_background(|| {
        wait(LIFE_MAX);
        std::process::abort();
    });
    let (life, root) = orders.split_once(' ').expect("a number and a directory");
    let version = Arc::new(AtomicI64::new(0));
    let volume = OwnAssignment { shared: PosixVolume::new(root), version: Arc::clone(&version) };
    in_background(move || {
        for line in io::stdin().lines() {
            let line = line.expect("the parent speaks UTF-8");
            version.store(line.parse().expect("a version"), Ordering::Relaxed);
        }
    });
    let config = Config { poll_interval: Duration::from_millis(2), ..Config::default() };
    let broker = RealHost::start("kaas-0", config, volume, Alone, note);
    let first = life.parse::<i64>().unwrap() * PER_LIFE;
    block_on(async {
        let writers = join_all((0..GROUPS).map(|group| commit_for_ever(&broker, group, first)));
        let readers = join_all((0..GROUPS).map(|group| fetch_for_ever(&broker, group)));
        futures_lite::future::zip(writers, readers).await
    });
}

/// Tells the parent what its hand-overs came to.
fn note(note: Note) {
    if let Note::Loaded { claims_removed, .. } = &note {
        let over = if *claims_removed > 0 { " over another claim" } else { "" };
        say(&format!("notes loaded{over}"));
    } else if let Note::Fenced { during, .. } = &note {
        say(&format!("notes fenced during {during}"));
    }
    log(&format!("{note:?}"));
}

type RealBroker = Broker<RealHost<OwnAssignment>>;

async fn commit_for_ever(broker: &RealBroker, number: usize, first: i64) {
    for offset in first.. {
        say(&format!("writes {number} {offset} {}", now().as_micros()));
        let error = commit(broker, &group(number), PARTITIONS, offset).await;
        if error.is_none() {
            say(&format!("acked {number} {offset} {}", now().as_micros()));
        } else {
            back_off().await;
        }
    }
}

async fn fetch_for_ever(broker: &RealBroker, number: usize) {
    loop {
        let start = now().as_micros();
        if let Ok(offset) = fetch(broker, &group(number), PARTITIONS).await {
            say(&format!("reads {number} {offset} {start} {}", now().as_micros()));
        }
        back_off().await;
    }
}

/// The processes that fight, and all that they have said.
struct Arena<'a> {
    root: &'a Path,
    logs: &'a Path,
    lives: i64,
    version: i64,
    fighters: Vec<Fighter>,
    sender: Sender<(i64, String)>,
    receiver: Receiver<(i64, String)>,
    said: Vec<String>,
}

struct Fighter {
    life: i64,
    process: Child,
    stdin: ChildStdin,
}

impl<'a> Arena<'a> {
    fn new(root: &'a Path, logs: &'a Path) -> Self {
        let (sender, receiver) = mpsc::channel();
        let (fighters, said) = (Vec::new(), Vec::new());
        let mut it = Self { root, logs, lives: 0, version: 0, fighters, sender, receiver, said };
        for _ in 0..2 {
            let fighter = it.start();
            it.fighters.push(fighter);
        }
        it
    }

    fn start(&mut self) -> Fighter {
        self.lives += 1;
        let (life, sender) = (self.lives, self.sender.clone());
        let orders = format!("{life} {}", self.root.to_str().expect("a plain path"));
        let log = self.logs.join(life.to_string());
        let (process, stdin, words) = Child::start(&orders, &log);
        // What is said when it is over, nobody needs to hear.
        in_background(move || {
            words.map(|words| sender.send((life, words))).take_while(Result::is_ok).for_each(drop);
        });
        Fighter { life, process, stdin }
    }

    /// Gives one of them a newer view than the other has.
    fn give_to(&mut self, winner: usize) {
        self.version += 1;
        self.fighters[winner].tell(self.version);
    }

    /// Listens until one of them has committed something.
    fn await_commits(&mut self, by: usize) {
        let mut left = GROUPS;
        while left > 0 {
            let fighter = &self.fighters[by];
            let Ok((life, words)) = self.receiver.recv_timeout(PATIENCE) else {
                panic!("who owns the groups does not commit:\n{}", fighter.process.log())
            };
            left -= usize::from(life == fighter.life && words.starts_with("acked"));
            self.said.push(words);
        }
    }

    fn round(&mut self, chance: &mut Chance) {
        let winner = usize::from(chance.below(2) == 0);
        let loser = 1 - winner;
        match chance.below(8) {
            0 => {
                let successor = self.start();
                std::mem::replace(&mut self.fighters[loser], successor).process.kill();
                self.give_to(loser);
                self.await_commits(loser);
            }
            1 | 2 => {
                self.fighters[loser].process.signal(Signal::STOP);
                self.give_to(winner);
                self.await_commits(winner);
                wait(chance.duration(20));
                self.fighters[loser].process.signal(Signal::CONT);
            }
            3 | 4 => {
                self.version += 1;
                self.fighters.iter_mut().for_each(|it| it.tell(self.version));
            }
            _ => {
                self.give_to(winner);
                self.await_commits(winner);
            }
        }
        wait(chance.duration(30));
    }

    /// Ends it; all that was said.
    fn end(mut self) -> Vec<String> {
        for fighter in self.fighters {
            fighter.process.kill();
        }
        drop(self.sender);
        self.said.extend(self.receiver.iter().map(|(_, words)| words));
        self.said
    }
}

impl Fighter {
    fn tell(&mut self, version: i64) {
        writeln!(self.stdin, "{version}").expect("it listens");
    }
}

/// How long nothing may happen.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn only_histories_of_one_register_are_accepted() {
    /// Writes and reads of a value, each with its start and end.
    type Operations = (Vec<(i64, u64, u64)>, Vec<(i64, u64, u64)>);
    let check = |(writes, reads): Operations| {
        let mut history = History::default();
        for (value, start, end) in writes {
            history.write(value, start);
            if end != NEVER {
                history.acknowledged(value, end);
            }
        }
        for (value, start, end) in reads {
            history.read(value, start, end)?;
        }
        history.check()
    };
    let accepted: [Operations; 6] = [
        (vec![(1, 0, 1), (2, 2, 3)], vec![(1, 1, 3), (2, 3, 4)]),
        // Operations at the same time happen in some order.
        (vec![(1, 0, 9), (2, 0, 9)], vec![(2, 1, 2), (1, 3, 4)]),
        (vec![(1, 0, 1), (2, 2, 9)], vec![(1, 3, 4), (2, 5, 6), (2, 10, 11)]),
        // Nobody knows whether a write without an end happened.
        (vec![(1, 0, 1), (2, 2, NEVER)], vec![(1, 3, 4), (1, 8, 9)]),
        (vec![(1, 0, 1), (2, 2, NEVER)], vec![(1, 3, 4), (2, 8, 9)]),
        (vec![(1, 0, 1), (2, 2, NEVER), (3, 5, 6)], vec![(3, 7, 8), (2, 9, 10)]),
    ];
    for operations in accepted {
        assert_eq!(check(operations.clone()), Ok(()), "{operations:?}");
    }
    let rejected: [Operations; 6] = [
        (vec![(1, 0, 1)], vec![(2, 2, 3)]),
        (vec![(1, 4, 5)], vec![(1, 2, 3)]),
        // Lost: what was acknowledged is not there, or goes back.
        (vec![(1, 0, 1), (2, 2, 3)], vec![(1, 4, 5)]),
        (vec![(1, 0, 1), (2, 2, 9)], vec![(2, 3, 4), (1, 5, 6)]),
        // Overwritten by an older one, which then can't have been there before.
        (vec![(1, 0, 1), (2, 2, 3)], vec![(2, 4, 5), (1, 6, 7)]),
        (vec![(1, 0, 1), (2, 2, NEVER)], vec![(2, 3, 4), (1, 5, 6), (2, 7, 8)]),
    ];
    for operations in rejected {
        assert!(check(operations.clone()).is_err(), "{operations:?}");
    }
}

/// The end of a write that nobody has heard of.
const NEVER: u64 = u64::MAX;

#[test]
fn two_owners_of_one_directory_keep_one_history() {
    let (root, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut chance = Chance(setting("KAAS_SEED", 1));
    let mut arena = Arena::new(root.path(), logs.path());
    for _ in 0..setting("KAAS_ROUNDS", 60) {
        arena.round(&mut chance);
    }
    let said = arena.end();
    for number in 0..GROUPS {
        if let Err(contradiction) = history(&said, number).and_then(|it| it.check()) {
            panic!("{}: {contradiction}\n{}", group(number), evidence(&said, &contradiction));
        }
    }
    let tally = tally(&said);
    log(&format!("{tally:?}"));
    for milestone in ["acked", "reads", "loaded over another claim", "fenced during rename"] {
        assert!(tally.contains_key(milestone), "{milestone}: never, {tally:?}");
    }
}

/// What all of them saw of one group.
fn history(said: &[String], group: usize) -> Result<History, String> {
    let mut history = History::default();
    history.write(-1, 0);
    history.acknowledged(-1, 0);
    let events = said.iter().filter_map(|words| Event::parse(words)).filter(|it| it.0 == group);
    let events: Vec<_> = events.collect();
    // A read may be heard of before the write.
    for (_, event) in &events {
        if let Event::Writes { offset, start } = *event {
            history.write(offset, start);
        }
    }
    for (_, event) in events {
        match event {
            Event::Writes { .. } => {}
            Event::Acked { offset, end } => history.acknowledged(offset, end),
            Event::Reads { offset, start, end } => history.read(offset, start, end)?,
        }
    }
    Ok(history)
}

/// What a child says of a group, in microseconds of the clock that all share.
enum Event {
    Writes { offset: i64, start: u64 },
    Acked { offset: i64, end: u64 },
    Reads { offset: i64, start: u64, end: u64 },
}

impl Event {
    /// The group's number and what happened; `None` for what is no event of a group.
    fn parse(words: &str) -> Option<(usize, Self)> {
        let words: Vec<_> = words.split(' ').collect();
        let offset = || words[2].parse().expect("an offset");
        let time = |at: usize| words[at].parse().expect("a time");
        let event = match words[0] {
            "writes" => Self::Writes { offset: offset(), start: time(3) },
            "acked" => Self::Acked { offset: offset(), end: time(3) },
            "reads" => Self::Reads { offset: offset(), start: time(3), end: time(4) },
            "notes" => return None,
            other => panic!("a child said {other}"),
        };
        Some((words[1].parse().expect("a group's number"), event))
    }
}

/// How often each kind of thing was said.
fn tally(said: &[String]) -> BTreeMap<&str, usize> {
    let mut tally = BTreeMap::new();
    for words in said {
        let (verb, rest) = words.split_once(' ').expect("more than a verb");
        *tally.entry(if verb == "notes" { rest } else { verb }).or_default() += 1;
    }
    tally
}

/// The lines that have a word with the contradiction in common.
fn evidence(said: &[String], contradiction: &str) -> String {
    let suspects: BTreeSet<_> = contradiction.split(' ').filter(|it| it.len() > 1).collect();
    let is_evidence = |words: &&String| words.split(' ').any(|word| suspects.contains(word));
    said.iter().filter(is_evidence).map(|it| format!("{it}\n")).collect()
}
