//! The faults of machines, and those that came after them: a swarm of their own.
//!
//! How many there are of a kind is drawn by magnitude: of most kinds one or two, now and then ten
//! times as many of one.

use super::{
    between,
    faults::{Draw, FIRST, Kind},
    millis,
};
use crate::{
    plan::{Action, Failure, Goodbye, Operation, Plan, Step, Way},
    seed::Stream,
};

/// Every kind, and how many there are of it at most.
const KINDS: &[(&str, Kind, u32)] = &[
    ("starve", starve, 16),
    ("panic", panic, 64),
    ("stale handles", stale, 16),
    ("jump", jump, 32),
    ("stop clock", stop_clock, 16),
    ("long election", long_election, 1),
    ("old lease", old_lease, 8),
    ("entry that stays", entry_that_stays, 16),
    ("vanish", vanish, 16),
    ("swizzle", swizzle, 4),
];

/// The faults of a plan that lasts so many milliseconds, added to those it has.
pub(super) fn draw(plan: &Plan, lasts: u64, is_storm: bool, steps: &mut Vec<Step>) {
    let mut swarm = Stream::new(plan.seed, "swarm of machines", 0);
    let density = match swarm.below(100) {
        _ if is_storm => 100,
        0..40 => 0,
        40..80 => 15,
        80..95 => 40,
        _ => 100,
    };
    for (name, kind, most) in KINDS {
        if !swarm.percent(density) {
            continue;
        }
        let count = magnitude(&mut Stream::new(plan.seed, name, 0), *most, is_storm);
        for instance in 1..=u64::from(count) {
            let mut stream = Stream::new(plan.seed, name, instance);
            let at = stream.between(FIRST, lasts - 2000);
            kind(&mut Draw { plan, stream, at, steps });
        }
    }
    steps.sort_by_key(|step| step.at);
}

/// One or two mostly; with each doubling half as often, up to `most`.
fn magnitude(stream: &mut Stream, most: u32, is_storm: bool) -> u32 {
    let mut top = 2;
    while top < most && stream.percent(if is_storm { 60 } else { 35 }) {
        top *= 2;
    }
    between(stream, top / 2, top).min(most)
}

fn starve(draw: &mut Draw<'_>) {
    let percent = *draw.stream.pick(&[50, 80, 90, 95, 99]);
    let (broker, duration) = (draw.broker(), draw.duration(60_000));
    draw.push(Action::Starve { broker, percent, duration });
}

fn panic(draw: &mut Draw<'_>) {
    let broker = draw.broker();
    let top = 1 << draw.stream.below(7);
    let nth = between(&mut draw.stream, 1, top);
    draw.push(Action::Panic { broker, nth });
}

/// Handles become stale where a take-over or a publish uses them; what moves meets it twice.
fn stale(draw: &mut Draw<'_>) {
    let broker = draw.somebody();
    let kinds = [Operation::Any, Operation::Read, Operation::Rename, Operation::List];
    let on = if draw.stream.percent(50) { *draw.stream.pick(&kinds) } else { draw.operation() };
    let on = if on == Operation::CreateDir { Operation::Write } else { on };
    let percent = *draw.stream.pick(&[3, 10, 30, 100]);
    let duration = draw.duration(12_000);
    draw.push(Action::Fail {
        broker: broker.clone(),
        error: Failure::Stale,
        on,
        percent,
        duration,
    });
    if draw.stream.percent(70) {
        let (group, to) = (draw.group(), broker.unwrap_or_else(|| draw.broker()));
        let soon = draw.at - 1500 + draw.stream.below(3000);
        draw.push_at(soon, Action::Entry { group, broker: Some(to), stays: false });
    }
}

fn jump(draw: &mut Draw<'_>) {
    let (broker, by) = (draw.broker(), draw.duration(120_000));
    draw.push(Action::Jump { broker, by });
}

fn stop_clock(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), draw.duration(30_000));
    draw.push(Action::StopClock { broker, duration });
}

/// Mostly seconds, now and then minutes without a controller.
fn long_election(draw: &mut Draw<'_>) {
    let delay = draw.duration(180_000);
    let reset = draw.stream.percent(60);
    draw.push(Action::Elect { delay, reset });
}

/// Who hears of a lease late, or forgets it, does harm only around an election: mostly there is one, and
/// the next view takes its time.
fn old_lease(draw: &mut Draw<'_>) {
    let (broker, back) = (draw.broker(), draw.stream.percent(70));
    let duration = millis(draw.stream.between(1_000, 10_000));
    draw.push(Action::OldLease { broker, duration, back });
    if draw.stream.percent(70) {
        // It has heard of the new one before it goes back.
        let before = if back { draw.stream.between(1_000, 2_500) } else { 0 };
        let delay = millis(before + draw.stream.between(1_000, 8_000));
        draw.push_at(draw.at - before, Action::Elect { delay, reset: false });
    }
}

/// The entry names somebody who dies, leaves, or is dead by then; mostly the broker comes back or
/// another entry follows.
fn entry_that_stays(draw: &mut Draw<'_>) {
    let (group, broker) = (draw.group(), draw.broker());
    let named = Some(broker.clone());
    draw.push(Action::Entry { group: group.clone(), broker: named, stays: true });
    if draw.stream.percent(60) {
        let (down, exit) = (draw.duration(10_000), draw.exit());
        let soon = draw.at - 2000 + draw.stream.below(6000);
        draw.push_at(soon, Action::Restart { broker, down, exit });
    }
    if draw.stream.percent(60) {
        let later = draw.at + draw.stream.between(500, 15_000);
        let broker = if draw.stream.percent(50) { Some(draw.broker()) } else { None };
        draw.push_at(later, Action::Entry { group, broker, stays: false });
    }
}

fn vanish(draw: &mut Draw<'_>) {
    if let Some(client) = draw.consumer() {
        let (down, keeps_id) = (draw.duration(30_000), draw.stream.percent(30));
        draw.push(Action::Crash { client, down, keeps_id, peers: Goodbye::Silent });
    }
}

/// Some brokers are cut off one after the other, and come back in another order.
fn swizzle(draw: &mut Draw<'_>) {
    let brokers: Vec<_> = (0..draw.plan.brokers).map(|it| format!("kaas-{it}")).collect();
    let mut cut: Vec<_> = brokers.into_iter().filter(|_| draw.stream.percent(60)).collect();
    shuffle(&mut draw.stream, &mut cut);
    let mut heals: Vec<u32> = (0..).take(cut.len()).collect();
    shuffle(&mut draw.stream, &mut heals);
    let (apart, holds) = (draw.duration(4_000), draw.duration(15_000));
    let way = *draw.stream.pick(&[Way::Both, Way::Both, Way::Requests, Way::Answers]);
    let all = draw.plan.brokers;
    for (number, (broker, heal)) in (0..).zip(cut.into_iter().zip(heals)) {
        let begins = millis(draw.at) + apart * number;
        let duration = apart * (all - number + heal) + holds;
        let action = Action::Cut { broker, client: None, way, duration };
        draw.steps.push(Step { at: Some(begins), when: None, action });
    }
}

fn shuffle<T>(stream: &mut Stream, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let other = stream.below(last as u64 + 1);
        items.swap(last, usize::try_from(other).expect("an index into a slice"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Draw, magnitude, swizzle};
    use crate::{
        draw::draw,
        plan::Action,
        seed::{Seed, Stream},
    };

    #[test]
    fn most_kinds_come_once_or_twice_and_some_by_the_dozen() {
        let counts = (0..1000).map(|seed| magnitude(&mut Stream::new(seed, "panic", 0), 64, false));
        let counts: Vec<_> = counts.collect();
        let few = counts.iter().filter(|it| **it <= 2).count();
        let many = counts.iter().filter(|it| **it >= 12).count();
        assert!(few > 600 && many > 20, "{few} of 1000 are few, {many} are many");
        assert!(counts.iter().all(|it| (1..=64).contains(it)));
    }

    #[test]
    fn who_is_cut_off_in_a_swizzle_comes_back_when_all_are() {
        let plan = draw(Seed(3), "quiet").unwrap();
        let mut was_reordered = false;
        for seed in 0..100 {
            let (mut steps, stream) = (Vec::new(), Stream::new(seed, "swizzle", 1));
            swizzle(&mut Draw { plan: &plan, stream, at: 4_000, steps: &mut steps });
            let spans = steps.iter().map(|step| match (&step.action, step.at) {
                (Action::Cut { duration, .. }, Some(at)) => (at, at + *duration),
                (action, at) => panic!("{action:?} at {at:?}"),
            });
            let spans: Vec<(Duration, Duration)> = spans.collect();
            let last = spans.iter().map(|it| it.0).max();
            assert!(spans.is_sorted_by_key(|it| it.0));
            assert!(spans.iter().all(|it| Some(it.1) > last));
            was_reordered |= !spans.is_sorted_by_key(|it| it.1);
        }
        assert!(was_reordered);
    }
}
