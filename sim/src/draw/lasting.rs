//! The faults that last for good: a swarm of their own.
//!
//! They are rare. A run in which one matters has groups that can't come to rest, and says little about
//! whether groups do.

use super::faults::{Draw, FIRST, Kind};
use crate::{
    plan::{Action, Exit, Plan, Step},
    seed::Stream,
};

/// Every kind, and how many of a thousand plans have it.
const KINDS: &[(&str, Kind, u64)] = &[("rot", rot, 5), ("cut off", cut_off, 5)];

/// The faults of a plan that lasts so many milliseconds, added to those it has.
pub(super) fn draw(plan: &Plan, lasts: u64, steps: &mut Vec<Step>) {
    let mut swarm = Stream::new(plan.seed, "swarm of lasting faults", 0);
    for (name, kind, of_a_thousand) in KINDS {
        if swarm.below(1_000) >= *of_a_thousand {
            continue;
        }
        let mut stream = Stream::new(plan.seed, name, 1);
        let at = stream.between(FIRST, lasts - 2000);
        kind(&mut Draw { plan, stream, at, steps });
    }
    steps.sort_by_key(|step| step.at);
}

/// An owner that lives publishes the file anew with its next commit; so mostly it dies just before.
fn rot(draw: &mut Draw<'_>) {
    let group = draw.group();
    if draw.stream.percent(80) {
        let (broker, down) = (draw.owner(&group), draw.duration(10_000));
        draw.push(Action::Restart { broker, down, exit: Exit::Abrupt });
    }
    let soon = draw.at + draw.stream.between(1, 500);
    draw.push_at(soon, Action::Rot { group });
}

fn cut_off(draw: &mut Draw<'_>) {
    let broker = draw.broker();
    draw.push(Action::CutOff { broker });
}
