//! unique-ownership against its definition taken literally: every state that the file and the lease
//! were in, one after the other, and whether any of them lies within the staleness bound.
//!
//! Times are multiples of 500ms, so that events often coincide with each other and with the bound.

use crate::story::{Story, three};
use model::Promise::UniqueOwnership;
use proptest::prelude::*;

const STALENESS: u64 = 3000;

/// A change of what `a` is shown.
#[derive(Debug, Clone, Copy)]
enum Change {
    File(Option<u32>),
    Lease(i64),
    Start,
}

/// What reading shows from `since` on.
#[derive(Debug, Clone, Copy)]
struct State {
    since: u64,
    started: Option<u64>,
    view: Option<u32>,
    lease: i64,
    highest: i64,
}

/// Views by number: epoch, version, and who is dead. The odd ones route `g` to `a`.
const VIEWS: [(u32, (i64, i64), &str); 4] =
    [(1, (7, 1), ""), (2, (7, 2), "a"), (3, (8, 3), ""), (4, (8, 4), "a")];

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => prop::option::weighted(0.8, 1u32..=4).prop_map(Change::File),
        3 => (6i64..=8).prop_map(Change::Lease),
        1 => Just(Change::Start),
    ]
}

fn states(changes: &[(u64, Change)]) -> Vec<State> {
    let mut now = State { since: 0, started: None, view: None, lease: i64::MIN, highest: i64::MIN };
    let mut all = vec![now];
    for &(since, change) in changes {
        now.since = since;
        match change {
            Change::File(view) => now.view = view,
            Change::Lease(epoch) => {
                now.lease = epoch;
                now.highest = now.highest.max(epoch);
            }
            Change::Start => {
                (now.started, now.highest) = (Some(since), now.lease);
                all.clear();
            }
        }
        all.push(now);
    }
    all
}

fn legitimate(states: &[State], at: u64) -> bool {
    let fresh = |until: u64| until + STALENESS >= at;
    let ends = states.iter().skip(1).map(|next| next.since).chain([at]);
    states.iter().zip(ends).any(|(state, until)| {
        let confirms = state.view.is_some_and(|view| {
            let (_, (epoch, _), dead) = VIEWS[view as usize - 1];
            epoch >= state.highest && dead.is_empty()
        });
        let boots = state.started.is_some_and(|started| started + STALENESS >= at);
        boots || (confirms && fresh(until))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn an_answer_is_legitimate_as_its_definition_says(
        changes in prop::collection::vec((0u64..24, change()), 0..8),
        at in 0u64..30,
    ) {
        let mut changes: Vec<(u64, Change)> =
            changes.into_iter().map(|(since, change)| (since * 500, change)).collect();
        changes.sort_by_key(|change| change.0);
        let at = changes.last().map_or(0, |last| last.0).max(at * 500);
        let mut story = Story::new();
        for (id, order, dead) in VIEWS {
            story.view(id, order, three(dead));
        }
        for &(since, change) in &changes {
            story.at(since);
            match change {
                Change::File(view) => story.shows("a", view),
                Change::Lease(epoch) => story.lease("a", epoch),
                Change::Start => story.starts("a"),
            };
        }
        story.at(at).serves("a", "g", "heartbeat");
        let broken = story.breaks().contains(&UniqueOwnership);
        prop_assert_eq!(!broken, legitimate(&states(&changes), at));
    }
}
