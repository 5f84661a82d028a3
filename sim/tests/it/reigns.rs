//! Many owners of one group, interleaved operation by operation, on a volume that forgets.
//!
//! Each owner takes the group over again and again, publishes and reads. A seed says whose next
//! operation it is, when the server writes down what it was not asked to, when it fails over, and
//! who dies. What the owners saw must be the history of one register.

use std::{
    cell::{Cell, RefCell},
    future::Future,
    pin::Pin,
    rc::Rc,
};

use futures_lite::future::{block_on, poll_once};
use kaas_coordinator::{
    claim::{Outcome, TakeOver},
    ports::Volume,
};
use sim::seed::Stream;

use crate::{
    claims::{CLAIMS, Owner, content, file, offset_of},
    register::History,
    simulated::Simulated,
};

const OWNERS: usize = 3;
/// Operations of the volume in one run.
const STEPS: u64 = 600;

/// What all owners share.
struct Arena {
    volume: Simulated,
    history: RefCell<History>,
    /// The number of operations so far.
    now: Cell<u64>,
    values: Cell<i64>,
    reigns: Cell<u64>,
    version: Cell<i64>,
}

/// One life of an owner; ends only with the owner.
async fn live(arena: Rc<Arena>, broker: usize) {
    loop {
        let reign = arena.reigns.get();
        arena.reigns.set(reign + 1);
        // Now and then a newer view; owners that have the same displace each other.
        arena.version.set(arena.version.get() + i64::from(reign.is_multiple_of(3)));
        let owner = Owner::of_reign(&arena.volume, broker, arena.version.get(), reign);
        match owner.claim.take_over(&owner.volume, None).await {
            TakeOver::Owned { content, .. } => {
                rule(&arena, &owner, offset_of(&file(content)).unwrap_or(-1)).await;
            }
            TakeOver::Fenced | TakeOver::Failed { .. } => {}
        }
    }
}

/// From the take-over to the first outcome that ends the reign.
async fn rule(arena: &Arena, owner: &Owner, mut offset: i64) {
    for nth in 1.. {
        let start = arena.now.get();
        match owner.claim.check(&owner.volume).await {
            Outcome::Done => {
                let read = arena.history.borrow_mut().read(offset, start, arena.now.get());
                read.expect("what is read was written");
            }
            Outcome::Failed(_) => {}
            Outcome::Fenced(_) | Outcome::InDoubt(_) => return,
        }
        let value = arena.values.get() + 1;
        arena.values.set(value);
        arena.history.borrow_mut().write(value, arena.now.get());
        match owner.claim.publish(&owner.volume, nth, content(value)).await {
            Outcome::Done => {
                arena.history.borrow_mut().acknowledged(value, arena.now.get());
                offset = value;
            }
            Outcome::Failed(_) => {}
            Outcome::Fenced(_) | Outcome::InDoubt(_) => return,
        }
    }
}

fn run(seed: u64) -> Result<(), String> {
    let mut stream = Stream::new(seed, "reigns", 0);
    let arena = Rc::new(Arena {
        volume: Simulated::default(),
        history: RefCell::default(),
        now: Cell::new(1),
        values: Cell::new(0),
        reigns: Cell::new(0),
        version: Cell::new(0),
    });
    arena.history.borrow_mut().write(-1, 0);
    arena.history.borrow_mut().acknowledged(-1, 0);
    let born =
        |broker| -> Pin<Box<dyn Future<Output = ()>>> { Box::pin(live(Rc::clone(&arena), broker)) };
    let mut owners: Vec<_> = (0..OWNERS).map(born).collect();
    // A stopped owner is what fencing is for: some are left alone for long.
    let mut patience = 0;
    let mut favourite = 0;
    while arena.now.get() < STEPS {
        arena.now.set(arena.now.get() + 1);
        if patience == 0 {
            favourite = usize::try_from(stream.below(OWNERS as u64)).expect("few");
            patience = stream.between(1, 12);
        }
        patience -= 1;
        match stream.below(100) {
            0 => {
                arena.volume.state().fail_over();
            }
            1..4 => {
                let dirs = ["", "__consumer_offsets", "__consumer_offsets/.claims", CLAIMS];
                let server = arena.volume.seen_by(usize::MAX);
                // What is not there yet, need not be written down.
                let _ = block_on(server.sync_dir(dirs[*stream.pick(&[0, 1, 2, 3])]));
            }
            4 => {
                owners[favourite] = born(favourite);
                arena.volume.state().lose(favourite, &mut stream);
            }
            _ => assert!(block_on(poll_once(&mut owners[favourite])).is_none()),
        }
    }
    arena.history.borrow().check()
}

#[test]
fn whatever_fails_the_reigns_are_one_history() {
    for seed in 0..2_000 {
        run(seed).unwrap_or_else(|contradiction| panic!("seed {seed}: {contradiction}"));
    }
}
