//! What the simulator relies on in its runtime, each shown by itself: the first to look at when a new
//! version of madsim comes.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use madsim::{
    Config,
    runtime::{Handle, NodeHandle, Runtime},
    task::yield_now,
    time::sleep,
};
use sim::{
    hub::{Hub, Post, SimHost},
    release::Release,
    run::REST,
    seed::Stream,
};
use tokio::sync::oneshot;

fn in_runtime<T>(seed: u64, probe: impl Future<Output = T>) -> T {
    Runtime::with_seed_and_config(seed, Config::default()).block_on(probe)
}

fn node(name: &str) -> NodeHandle {
    Handle::current().create_node().name(name).build()
}

/// Counts what happens to a task.
#[derive(Clone, Debug, Default)]
struct Fate {
    ran: Arc<AtomicU32>,
    dropped: Arc<AtomicU32>,
}

impl Fate {
    /// A task that waits to be woken, then runs.
    async fn task(self, wake: oneshot::Receiver<()>) {
        let dropped = OnDrop(|| {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        });
        if wake.await.is_ok() {
            self.ran.fetch_add(1, Ordering::Relaxed);
        }
        drop(dropped);
    }

    fn ran(&self) -> u32 {
        self.ran.load(Ordering::Relaxed)
    }

    fn dropped(&self) -> u32 {
        self.dropped.load(Ordering::Relaxed)
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn tasks_of_a_paused_node_wait_until_it_goes_on() {
    in_runtime(1, async {
        let (fate, late) = (Fate::default(), Fate::default());
        let (wake, woken) = oneshot::channel();
        let node = node("kaas-0");
        node.spawn(fate.clone().task(woken));
        sleep(REST).await;

        Handle::current().pause(node.id());
        wake.send(()).unwrap();
        let (wake, woken) = oneshot::channel();
        wake.send(()).unwrap();
        node.spawn(late.clone().task(woken));
        sleep(Duration::from_secs(3600)).await;
        assert_eq!((fate.ran(), late.ran()), (0, 0), "neither what was woken nor what is new");

        Handle::current().resume(node.id());
        sleep(REST).await;
        assert_eq!((fate.ran(), late.ran()), (1, 1), "both, and nothing was lost");
    });
}

#[test]
fn an_aborted_task_of_a_paused_node_is_dropped_at_once() {
    in_runtime(1, async {
        let fate = Fate::default();
        let (wake, woken) = oneshot::channel();
        let node = node("kaas-0");
        let task = node.spawn(fate.clone().task(woken));
        sleep(REST).await;
        Handle::current().pause(node.id());
        task.abort();
        sleep(REST).await;
        assert!(wake.send(()).is_err(), "nobody waits");
        assert_eq!((fate.ran(), fate.dropped()), (0, 1));
    });
}

#[test]
fn tasks_of_a_killed_node_are_dropped_and_never_run() {
    in_runtime(1, async {
        let (parked, woken_before) = (Fate::default(), Fate::default());
        let (wake, woken) = oneshot::channel();
        let (wake_before, woken_too) = oneshot::channel();
        let node = node("kaas-0");
        node.spawn(parked.clone().task(woken));
        node.spawn(woken_before.clone().task(woken_too));
        sleep(REST).await;

        wake_before.send(()).unwrap();
        Handle::current().kill(node.id());
        sleep(REST).await;
        assert!(wake.send(()).is_err(), "nobody waits");
        assert_eq!((parked.ran(), parked.dropped()), (0, 1));
        assert_eq!((woken_before.ran(), woken_before.dropped()), (0, 1));

        let late = Fate::default();
        let (wake, woken) = oneshot::channel();
        wake.send(()).unwrap();
        node.spawn(late.clone().task(woken));
        sleep(REST).await;
        assert_eq!(late.ran(), 0, "a handle to a dead node spawns nothing");
    });
}

/// A real process that is killed does nothing more. Here destructors do run, so what the tasks of the
/// dead say must be told from what the living say: the hub keeps who posted, and the world throws
/// away what is not from the broker's present life.
#[test]
fn destructors_run_at_a_kill_and_can_post() {
    in_runtime(1, async {
        let hub = Arc::new(Hub::default());
        let host = |incarnation| {
            let stream = Stream::new(1, "entropy", incarnation);
            SimHost::new(
                Arc::clone(&hub),
                (0, incarnation),
                Release::Current,
                Default::default(),
                stream,
            )
        };
        let (dying, living) = (host(1), host(2));
        let node = node("kaas-0");
        node.spawn(async move {
            let _says_goodbye = OnDrop(|| dying.post(Post::Closed));
            std::future::pending::<()>().await;
        });
        sleep(REST).await;
        Handle::current().kill(node.id());
        sleep(REST).await;
        living.post(Post::Closed);

        let mut posts = Vec::new();
        hub.take_posts(&mut posts);
        let incarnations: Vec<u64> = posts.iter().map(|(_, incarnation, _)| *incarnation).collect();
        assert_eq!(incarnations, [1, 2], "the dead one has posted, under its own name");
    });
}

/// The world takes posts when everybody has come to rest. Each turn moves the runtime's clock, by 50 to
/// 100 ns, so that a short sleep ends while there are tasks that could go on.
#[test]
fn a_rest_is_longer_than_what_tasks_have_to_do() {
    const TASKS: u32 = 8;
    const TURNS: u32 = 20_000;
    in_runtime(1, async {
        let turns = Arc::new(AtomicU32::new(0));
        for broker in 0..TASKS {
            let turns = Arc::clone(&turns);
            node(&format!("kaas-{broker}")).spawn(async move {
                for _ in 0..TURNS {
                    yield_now().await;
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        sleep(Duration::from_millis(1)).await;
        assert!((10_000..20_000).contains(&turns.load(Ordering::Relaxed)), "a millisecond's worth");
        sleep(REST).await;
        assert_eq!(turns.load(Ordering::Relaxed), TASKS * TURNS);
    });
}

#[test]
fn the_seed_decides_who_runs_first() {
    let order = |seed| {
        in_runtime(seed, async {
            let order = Arc::new(Mutex::new(Vec::new()));
            let node = node("kaas-0");
            for task in 0..8 {
                let order = Arc::clone(&order);
                node.spawn(async move { order.lock().unwrap().push(task) });
            }
            sleep(REST).await;
            let order = order.lock().unwrap().clone();
            assert_eq!(order.len(), 8);
            order
        })
    };
    let orders: Vec<Vec<i32>> = (0..8).map(order).collect();
    assert_eq!(orders, (0..8).map(order).collect::<Vec<_>>(), "the same seed, the same order");
    assert!(orders.iter().any(|it| *it != orders[0]), "another seed, another order");
}

#[test]
fn every_life_of_a_broker_is_a_node_of_its_own() {
    in_runtime(1, async {
        let mut lives = Vec::new();
        for life in 1..=3 {
            let node = node(&format!("kaas-0#{life}"));
            let fate = Fate::default();
            let (wake, woken) = oneshot::channel();
            node.spawn(fate.clone().task(woken));
            wake.send(()).unwrap();
            sleep(REST).await;
            assert_eq!(fate.ran(), 1, "life {life} is not hampered by those before it");
            Handle::current().kill(node.id());
            lives.push(node.id());
        }
        lives.sort();
        lives.dedup();
        assert_eq!(lives.len(), 3);
    });
}
