//! bounded-memory: what a broker holds is its own, and what it holds of its own is in use.
//!
//! While a broker lags behind, it may hold what some view routed to it a short while ago; once it
//! says that it has applied what the file shows it, only what that view routes to it, and after views
//! have settled nothing that was left unused for long. A starting broker may hold anything for a
//! moment. How many bytes that is, nobody outside can see.
//!
//! Always: it judges what a broker says of itself, so a census that hides something hides it from
//! here.

use crate::{
    event::{Held, Micros, Name, ViewId},
    ledger::Ledger,
    promise::{Limits, Promise},
    sight::World,
};

/// A broker says what it holds.
pub(crate) fn census(
    world: &World,
    limits: &Limits,
    settled: bool,
    (broker, local): (&Name, Micros),
    held: &[Held],
    ledger: &mut Ledger,
) {
    let reach = limits.staleness.plus(limits.slack);
    let sight = world.sight(broker);
    let agreed = world.agreed(broker);
    if sight.booting(local, reach) && agreed.is_none() {
        return;
    }
    let views: Vec<ViewId> = if settled {
        world.settled(broker).into_iter().collect()
    } else if let Some(agreed) = agreed {
        vec![agreed]
    } else {
        let recent = sight.spans(local, reach).map(|span| span.view);
        recent.chain(world.in_force(broker, local, reach)).collect()
    };
    for held in held {
        if !views.is_empty() {
            ledger.check(Promise::BoundedMemory);
            owned(world, &views, (broker, local), held, ledger);
        }
        if settled && !held.in_use {
            ledger.check(Promise::BoundedMemory);
            used(limits, broker, held, ledger);
        }
    }
}

fn owned(
    world: &World,
    views: &[ViewId],
    (broker, local): (&Name, Micros),
    held: &Held,
    ledger: &mut Ledger,
) {
    let key = (held.kind, &*held.key);
    if views.iter().any(|&view| world.explains(view, broker, key, broker)) {
        return;
    }
    let now = ledger.now();
    ledger.broke(Promise::BoundedMemory, &held.key, || {
        let mut told = vec![format!(
            "{broker} holds {} in memory at {now} ({local} of its clock), unused for {}",
            held.key, held.idle
        )];
        let mut views: Vec<ViewId> = views.to_vec();
        views.dedup();
        let views = views.iter().take(3).filter_map(|&id| world.view(id));
        told.extend(views.map(|view| view.explain(held.kind, &held.key)));
        let mut spans = world.sight(broker).all_spans();
        let last = spans.find(|span| world.explains(span.view, broker, key, broker));
        told.push(match last.and_then(|span| Some((world.view(span.view)?, span.until?))) {
            None => format!("no view shown to {broker} since it started routes it there"),
            Some((view, until)) => {
                format!("the last to route it there, {view}, was shown until {until}")
            }
        });
        told
    });
}

fn used(limits: &Limits, broker: &Name, held: &Held, ledger: &mut Ledger) {
    if held.idle <= limits.idle {
        return;
    }
    let now = ledger.now();
    ledger.broke(Promise::BoundedMemory, &held.key, || {
        vec![
            format!("{broker} still holds {} in memory at {now}", held.key),
            format!("it was last used {} ago, {} are allowed", held.idle, limits.idle),
        ]
    });
}
