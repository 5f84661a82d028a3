//! Two brokers that both take every id for their own, and producers that ask both.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use kaas_coordinator::{
    api::{ErrorCode, Producer},
    config::Config,
    note::TxnEvent,
};
use tempfile::TempDir;

use crate::{
    cluster::{Cluster, Member},
    host::in_background,
    rig::{BOTH, add_offsets, config, end, pause, try_init},
};

const ROUNDS: usize = 20;

/// What producers were told.
#[derive(Default)]
struct Told {
    /// Every producer that anybody was made.
    made: Mutex<Vec<Producer>>,
    /// Whose transaction was ended, and how.
    ended: Mutex<Vec<(Producer, bool)>>,
    finished: AtomicU64,
}

/// Asks one broker, then the other, until one says more than that it can't tell.
fn insist(brokers: &[Arc<Member>; 2], first: usize, ask: impl Fn(&Member) -> ErrorCode) -> bool {
    for at in first..first + 100 {
        let error = ask(&brokers[at % 2]);
        let is_for_later = [
            ErrorCode::NotCoordinator,
            ErrorCode::CoordinatorNotAvailable,
            ErrorCode::CoordinatorLoadInProgress,
            ErrorCode::ConcurrentTransactions,
        ];
        if !is_for_later.contains(&error) {
            return error.is_none();
        }
        pause();
    }
    false
}

/// Makes itself the producer, again and again, and ends a transaction if the other lets it.
fn produce(brokers: &[Arc<Member>; 2], first: usize, told: &Told) {
    const ID: &str = "fought-for";
    for round in 0..ROUNDS {
        let made = Cell::new(Producer::NONE);
        let init = |broker: &Member| {
            let response = try_init(broker, Some(ID), Duration::from_mins(1), None);
            made.set(response.producer);
            response.error
        };
        if !insist(brokers, first, init) {
            continue;
        }
        let producer = made.get();
        told.made.lock().expect("nobody panics with it").push(producer);
        let commit = round.is_multiple_of(2);
        if insist(brokers, first, |it| add_offsets(it, ID, producer, "g"))
            && insist(brokers, first, |it| end(it, ID, producer, commit))
        {
            told.ended.lock().expect("nobody panics with it").push((producer, commit));
        }
    }
    told.finished.fetch_add(1, Ordering::AcqRel);
}

#[test]
fn whoever_wins_each_transaction_ends_once_and_as_was_said() {
    let root = TempDir::new().unwrap();
    let cluster = Cluster::new(root.path());
    // There is no assignment, so the boot window stays open, and everything is everybody's.
    let config = Config { staleness_max: Duration::MAX, ..config() };
    let brokers = BOTH.map(|id| cluster.start(id, config.clone()));
    let told = Arc::new(Told::default());
    for first in [0, 1] {
        let (brokers, told) = (brokers.clone(), Arc::clone(&told));
        in_background(move || produce(&brokers, first, &told));
    }
    while told.finished.load(Ordering::Acquire) < 2 {
        pause();
    }
    let made = told.made.lock().unwrap();
    let distinct: BTreeSet<_> = made.iter().collect();
    assert_eq!(distinct.len(), made.len(), "a producer was made twice");
    let mut verdicts = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    cluster.seen(|seen| {
        for (_, marker) in &seen.markers {
            let key = (marker.producer.id, marker.transaction);
            let verdict = *verdicts.entry(key).or_insert(marker.commit);
            assert_eq!(verdict, marker.commit, "{key:?} ended in two ways");
            let number = *numbers.entry(marker.producer).or_insert(marker.transaction);
            assert_eq!(number, marker.transaction, "each producer had one transaction");
        }
    });
    let ended = told.ended.lock().unwrap();
    for (producer, commit) in &*ended {
        // Markers of the last one may be under way.
        if let Some(number) = numbers.get(producer) {
            assert_eq!(verdicts[&(producer.id, *number)], *commit, "{producer:?}");
        }
    }
    let fenced = cluster.seen(|seen| {
        seen.events.iter().filter(|it| matches!(it.2, TxnEvent::Fenced { .. })).count()
    });
    assert!(fenced > 0 && !ended.is_empty(), "{fenced} times fenced, {} ended", ended.len());
}
