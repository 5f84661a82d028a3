//! A broker's clock: it starts anywhere, runs fast or slow, and can jump forward or stand still.
//!
//! The world changes it while brokers' tasks are at rest; the ports of the broker read it. It never
//! goes backwards. All times are in microseconds.

use std::sync::{Mutex, MutexGuard};

/// One broker's clock, through all of its lives.
#[derive(Debug, Default)]
pub struct BrokerClock {
    /// What it shows at the start of the run.
    start: u64,
    /// How much faster than the world it runs, in parts per million.
    ppm: i64,
    course: Mutex<Course>,
}

/// How the clock goes since it was interfered with last.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    /// When that was, by the world's time.
    since: u64,
    /// What it showed then.
    shown: u64,
    stands_still: bool,
}

impl BrokerClock {
    /// A clock that shows `start` at the start of the run.
    pub fn new(start: u64, ppm: i64) -> Self {
        let course = Course { since: 0, shown: start, stands_still: false };
        Self { start, ppm, course: Mutex::new(course) }
    }

    /// What it shows at the world's time `now`, which is not before anything that was done to it.
    pub fn local(&self, now: u64) -> u64 {
        self.course().at(now, self.ppm)
    }

    /// By how much what it shows at `now` is more than what it showed at the start of the run.
    pub fn elapsed(&self, now: u64) -> u64 {
        self.local(now) - self.start
    }

    /// The first time of the world at which it shows `local` or more, as it goes now; `None` if it
    /// stands still before.
    pub fn world(&self, local: u64) -> Option<u64> {
        let course = *self.course();
        if course.shown >= local {
            return Some(course.since);
        }
        if course.stands_still || local == u64::MAX {
            return None;
        }
        let ahead = u128::from(local - course.shown);
        let rate = u128::try_from(1_000_000 + self.ppm).expect("no clock runs backwards");
        let mut world = course.since + u64::try_from(ahead * 1_000_000 / rate).ok()?;
        while course.at(world, self.ppm) < local {
            world += 1;
        }
        Some(world)
    }

    /// It shows `by` more from `now` on.
    pub fn jump(&self, now: u64, by: u64) {
        self.change(now, |it| it.shown = it.shown.saturating_add(by));
    }

    /// It stands still from `now` on.
    pub fn stop(&self, now: u64) {
        self.change(now, |it| it.stands_still = true);
    }

    /// It goes on from where it stands.
    pub fn go_on(&self, now: u64) {
        self.change(now, |it| it.stands_still = false);
    }

    /// Whether it stands still.
    pub fn stands_still(&self) -> bool {
        self.course().stands_still
    }

    fn change(&self, now: u64, change: impl FnOnce(&mut Course)) {
        let mut course = self.course();
        course.shown = course.at(now, self.ppm);
        course.since = now;
        change(&mut course);
    }

    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().expect("nothing panics with the lock held")
    }
}

impl Course {
    fn at(&self, now: u64, ppm: i64) -> u64 {
        if self.stands_still {
            return self.shown;
        }
        // Runs are shorter than a year and clocks no worse than a tenth, so this can't overflow.
        let went = now - self.since;
        let gain = (went.cast_signed() * ppm).div_euclid(1_000_000);
        (self.shown + went).checked_add_signed(gain).expect("clocks run forwards")
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::BrokerClock;

    #[derive(Clone, Debug)]
    enum Change {
        Jump(u64),
        Stop,
        GoOn,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (0_u64..100_000_000).prop_map(Change::Jump),
            Just(Change::Stop),
            Just(Change::GoOn)
        ]
    }

    proptest! {
        #[test]
        fn it_never_goes_backwards_and_nothing_is_due_early(
            start in 0_u64..100_000_000,
            ppm in -100_000_i64..100_000,
            changes in vec((0_u64..10_000_000, change()), 0..20),
            ahead in 0_u64..60_000_000,
        ) {
            let clock = BrokerClock::new(start, ppm);
            let (mut now, mut shown) = (0, clock.local(0));
            prop_assert_eq!(shown, start);
            for (after, change) in changes {
                now += after;
                let before = clock.local(now);
                prop_assert!(before >= shown);
                match change {
                    Change::Jump(by) => clock.jump(now, by),
                    Change::Stop => clock.stop(now),
                    Change::GoOn => clock.go_on(now),
                }
                shown = clock.local(now);
                let jumped = if let Change::Jump(by) = change { by } else { 0 };
                prop_assert_eq!(shown, before + jumped, "it shows what it showed, and the jump");
                let deadline = shown + ahead;
                match clock.world(deadline) {
                    None => prop_assert!(clock.stands_still() && ahead > 0),
                    Some(at) => {
                        prop_assert!(clock.local(at) >= deadline, "early");
                        prop_assert!(at <= now || clock.local(at - 1) < deadline, "late");
                    }
                }
            }
        }
    }

    #[test]
    fn a_clock_that_goes_on_shows_what_it_showed() {
        let clock = BrokerClock::new(5, 0);
        clock.stop(10);
        assert_eq!((clock.local(10), clock.local(900), clock.world(16)), (15, 15, None));
        clock.go_on(1000);
        assert_eq!((clock.local(1000), clock.local(1001), clock.world(16)), (15, 16, Some(1001)));
        clock.jump(1001, 100);
        assert_eq!((clock.local(1001), clock.elapsed(1001)), (116, 111));
        assert_eq!(clock.world(u64::MAX), None);
    }
}
