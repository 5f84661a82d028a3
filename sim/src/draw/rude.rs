//! Which groups of a drawn plan are static, and who is rude to whom.
//!
//! Every choice has a stream of its own, so that a rude client more or less moves no other draw.

use super::{between, millis};
use crate::{
    plan::{Clients, Manner, Plan},
    seed::Stream,
};

/// Of a hundred groups, how many are static.
const STATIC: u32 = 30;

/// Makes some groups static.
pub(super) fn draw_static(plan: &mut Plan) {
    let seed = plan.seed;
    for (number, clients) in (0..).zip(&mut plan.clients) {
        if let Clients::Group { is_static, .. } = clients {
            *is_static = Stream::new(seed, "static", number).percent(STATIC);
        }
    }
}

/// Adds rude clients: a swarm as faults are, some plans with none, some with one manner, few with all.
pub(super) fn draw_rude(plan: &mut Plan) {
    let mut swarm = Stream::new(plan.seed, "swarm of manners", 0);
    let density = match swarm.below(100) {
        0..50 => 0,
        50..75 => 10,
        75..95 => 30,
        _ => 100,
    };
    for (word, manner) in Manner::ALL {
        if !swarm.percent(density) {
            continue;
        }
        let mut stream = Stream::new(plan.seed, word, 0);
        let groups = sizes(plan);
        let (group, size) = match manner {
            // Only one that is as large as allowed can be crowded.
            Manner::Crowds => groups.into_iter().max_by_key(|it| it.1).expect("there is a group"),
            Manner::RejoinsParked
            | Manner::HangsUp
            | Manner::LeavesParked
            | Manner::NeverReturns
            | Manner::NeverSyncs
            | Manner::NeverRejoins
            | Manner::WakesLate
            | Manner::ChangesMind
            | Manner::Disagrees
            | Manner::OddSession
            | Manner::LivesInThePast => stream.pick(&groups).clone(),
        };
        let every = match manner {
            // Sometimes it wakes while it still is a member.
            Manner::WakesLate => between(&mut stream, 4_000, 25_000),
            Manner::ChangesMind => between(&mut stream, 3_000, 12_000),
            // Many are wasted in the time in which one expires.
            Manner::NeverReturns => between(&mut stream, 500, 1_500),
            Manner::RejoinsParked
            | Manner::HangsUp
            | Manner::LeavesParked
            | Manner::NeverSyncs
            | Manner::NeverRejoins
            | Manner::Disagrees
            | Manner::Crowds
            | Manner::OddSession
            | Manner::LivesInThePast => between(&mut stream, 500, 8_000),
        };
        if *manner == Manner::Crowds {
            plan.group_max = Some(size);
        }
        // Who is there first leads.
        let from = if stream.percent(50) { 0 } else { stream.below(15_000) };
        let (manner, every, from) = (*manner, millis(u64::from(every)), millis(from));
        plan.clients.push(Clients::Rude { group, manner, every, from });
    }
}

/// The groups with members, and how many those are.
fn sizes(plan: &Plan) -> Vec<(String, u32)> {
    let groups = plan.clients.iter().filter_map(|it| match it {
        Clients::Group { name, members, .. } => Some((name.clone(), *members)),
        Clients::Committer { .. }
        | Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Admin { .. }
        | Clients::Rude { .. } => None,
    });
    groups.collect()
}
