//! What a broker acknowledged outlives its process, whenever that is killed.
//!
//! A process runs a broker on a real directory and commits without a pause, for several groups at
//! once. It is killed at some moment and started again on the same directory; what it finds then is
//! the last commit that was acknowledged, or the one that was under way.
//!
//! `KAAS_KILLS` says how often, `KAAS_SEED` when.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc, time::Duration};

use futures_lite::future::block_on;
use futures_util::future::join_all;
use kaas_coordinator::{broker::Broker, config::Config, volume::PosixVolume};
use tempfile::TempDir;

use self::{
    child::{Chance, Child, log, orders, say, setting, wait},
    host::{Alone, RealHost, in_background},
    offsets::{back_off, commit, fetch},
};

#[path = "support/child.rs"]
mod child;
#[path = "support/host.rs"]
mod host;
#[path = "support/offsets.rs"]
mod offsets;

const GROUPS: [&str; 4] = ["billing", "audit", "gr\u{fc}ppe", "../odd"];
const PARTITIONS: i32 = 3;
/// Each life numbers its commits from so many times its own number.
const PER_LIFE: i64 = 1_000_000;
/// How long a child lives if nobody kills it.
const LIFE_MAX: Duration = Duration::from_mins(1);

const ASSIGNMENT: &str = r#"{
    "controllerEpoch": 1,
    "assignmentVersion": 1,
    "brokers": [{ "id": "kaas-0", "health": "alive" }]
}"#;

type RealBroker = Broker<RealHost<PosixVolume>>;

fn start_broker(root: &Path) -> Arc<RealBroker> {
    let note = |note| log(&format!("{note:?}"));
    RealHost::start("kaas-0", Config::default(), PosixVolume::new(root), Alone, note)
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
    let broker = start_broker(root.as_ref());
    let first = life.parse::<i64>().unwrap() * PER_LIFE;
    block_on(join_all(GROUPS.map(|group| commit_for_ever(&broker, group, first))));
}

async fn commit_for_ever(broker: &RealBroker, group: &str, first: i64) {
    say(&format!("found {group} {}", find(broker, group).await));
    for offset in first.. {
        let error = commit(broker, group, PARTITIONS, offset).await;
        if error.is_none() {
            say(&format!("acked {group} {offset}"));
        } else {
            log(&format!("{group} {offset} {error}"));
            say(&format!("failed {group} {offset}"));
            back_off().await;
        }
    }
}

async fn find(broker: &RealBroker, group: &str) -> i64 {
    loop {
        match fetch(broker, group, PARTITIONS).await {
            Ok(offset) => return offset,
            Err(_) => back_off().await,
        }
    }
}

/// What is known of one group's offset.
struct Known {
    /// It is one of these.
    possible: BTreeSet<i64>,
    /// It was this, before what is under way or has failed.
    last: i64,
    /// What the living process commits next, or is committing; unset until it has begun.
    next: Option<i64>,
    acked: u64,
    /// How many commits were found that nobody had been told of.
    unheard: u64,
}

impl Known {
    fn nothing() -> Self {
        Self { possible: BTreeSet::from([-1]), last: -1, next: None, acked: 0, unheard: 0 }
    }

    /// The process found this when it began.
    fn found(&mut self, offset: i64, life: i64) {
        assert!(self.possible.contains(&offset), "found {offset} of {:?}", self.possible);
        self.unheard += u64::from(offset != self.last);
        self.possible = BTreeSet::from([offset]);
        self.last = offset;
        self.next = Some(life * PER_LIFE);
    }

    fn acked(&mut self, offset: i64) {
        self.failed(offset);
        self.possible = BTreeSet::from([offset]);
        self.last = offset;
        self.acked += 1;
    }

    /// An error leaves it open whether the commit happened.
    fn failed(&mut self, offset: i64) {
        assert_eq!(self.next, Some(offset), "commits are sent one after the other");
        self.possible.insert(offset);
        self.next = Some(offset + 1);
    }

    fn killed(&mut self) {
        self.possible.extend(self.next.take());
    }
}

#[test]
fn what_was_acknowledged_outlives_every_kill() {
    let (root, logs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(root.path().join("assignment.json"), ASSIGNMENT).unwrap();
    let mut chance = Chance(setting("KAAS_SEED", 1));
    let mut known = GROUPS.map(|_| Known::nothing());
    for life in 1..=setting("KAAS_KILLS", 40) {
        let life = i64::try_from(life).unwrap();
        for words in live(life, root.path(), &logs.path().join("log"), &mut chance) {
            let [verb, group, offset] = words.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("a child said {words:?}")
            };
            let it = GROUPS.iter().position(|it| *it == group).map(|it| &mut known[it]);
            let (it, offset) = (it.expect("a known group"), offset.parse().unwrap());
            match verb {
                "found" => it.found(offset, life),
                "acked" => it.acked(offset),
                "failed" => it.failed(offset),
                _ => panic!("a child said {words:?}"),
            }
        }
        known.iter_mut().for_each(Known::killed);
    }
    let broker = start_broker(root.path());
    for (group, known) in GROUPS.iter().zip(&mut known) {
        known.found(block_on(find(&broker, group)), 0);
    }
    let [acked, unheard] = [|it: &Known| it.acked, |it: &Known| it.unheard]
        .map(|count| known.iter().map(count).sum::<u64>());
    log(&format!("{acked} commits were acknowledged, {unheard} found that nobody had heard of"));
    assert!(acked > 0 && unheard > 0, "nothing was killed in the middle");
}

/// One life of a broker; what it said.
fn live(life: i64, root: &Path, log: &Path, chance: &mut Chance) -> Vec<String> {
    let orders = format!("{life} {}", root.to_str().expect("a plain path"));
    let (child, _stdin, mut words) = Child::start(&orders, log);
    let mut heard = Vec::new();
    // One in four is killed as it starts, the others some time after their first commit.
    let mut waits = chance.below(4) > 0;
    while waits {
        let Some(word) = words.next() else { panic!("a child has died:\n{}", child.log()) };
        waits = !word.starts_with("acked ");
        heard.push(word);
    }
    wait(chance.duration(40));
    child.kill();
    heard.extend(words);
    heard
}
