//! A rolling upgrade: brokers of the former release become those of the current one, one after the
//! other.
//!
//! Only where nobody uses transactions, which the former release would forget.

use super::{
    between,
    faults::{Draw, FIRST},
    small,
};
use crate::{
    plan::{Action, Exit, Plan},
    release::Release,
    seed::Stream,
};

/// Of a hundred plans without transactions, how many have an upgrade.
const UPGRADES: u32 = 20;

/// Makes a plan that lasts so many milliseconds an upgrade, or leaves it as it is.
pub(super) fn draw(plan: &mut Plan, lasts: u64) {
    let mut stream = Stream::new(plan.seed, "releases", 0);
    if plan.longest_transaction().is_some() || !stream.percent(UPGRADES) {
        return;
    }
    plan.release = Release::Former;
    let at = stream.between(FIRST, lasts / 2);
    let mut steps = std::mem::take(&mut plan.steps);
    roll(&mut Draw { plan, stream, at, steps: &mut steps });
    steps.sort_by_key(|step| step.at);
    plan.steps = steps;
}

/// Mostly all are installed. Some upgrades end half way, some are taken back in part, perhaps to be
/// done again.
fn roll(draw: &mut Draw<'_>) {
    let exit = draw.exit();
    let all = draw.plan.brokers;
    let (reach, taken_back) = match draw.stream.below(10) {
        0..5 => (all, false),
        5..7 => (between(&mut draw.stream, 1, all), false),
        _ => (all, true),
    };
    let first = small(&mut draw.stream, u64::from(all));
    for number in 0..reach {
        install(draw, (first + number) % all, Release::Current, exit);
    }
    if taken_back {
        let broker = small(&mut draw.stream, u64::from(all));
        install(draw, broker, Release::Former, exit);
        if draw.stream.percent(50) {
            install(draw, broker, Release::Current, exit);
        }
    }
}

/// Installs a release on one broker; the next is due when this one is back, as far as one can tell.
fn install(draw: &mut Draw<'_>, broker: u32, release: Release, exit: Exit) {
    let broker = format!("kaas-{broker}");
    let down = draw.duration(4_000);
    draw.push(Action::Install { broker, release, down, exit });
    let drains = if exit == Exit::Graceful { 3_000 } else { 0 };
    let back = u64::try_from(down.as_millis()).expect("a short time");
    draw.at += drains + back + draw.stream.between(500, 6_000);
}
