//! What the plans of failures share.
//!
//! A plan has features: the kinds of fault and of client in it, and what is special about its size. A
//! feature that failures have more often than plans in general is a hint at what they need. The
//! strongest comes first; the next is looked for among the plans that have it, since kinds of fault
//! come in swarms and would all look suspicious otherwise.

use std::collections::BTreeSet;

use super::Failure;
use crate::{
    plan::{Clients, Plan},
    release::Release,
    seed::Seed,
    text,
};

/// Fewer failures share something by chance.
pub const FAILURES_MIN: usize = 5;

/// How many plans say what is usual.
const PLANS: u64 = 2_000;

/// How many features are named.
const NAMED: usize = 3;

/// How many standard deviations, squared, a feature must stand out by.
const SURE: u128 = 9;

/// A feature that failures have more often than plans have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared {
    /// What it is: the verb of a fault, or a few words.
    pub feature: &'static str,
    /// How many failures have it.
    pub failures: u64,
    /// Of how many.
    pub of_failures: u64,
    /// How many plans have it.
    pub plans: u64,
    /// Of how many.
    pub of_plans: u64,
}

impl Shared {
    /// How many of a hundred plans have it.
    pub fn usual_percent(&self) -> u64 {
        self.plans * 100 / self.of_plans.max(1)
    }

    /// How many times as often failures have it, in tenths.
    pub fn lift_tenths(&self) -> u64 {
        let (k, n) = (u128::from(self.failures), u128::from(self.of_failures));
        let (usual, all) = (u128::from(self.plans), u128::from(self.of_plans));
        u64::try_from(10 * k * all / (n * usual).max(1)).unwrap_or(u64::MAX)
    }

    /// By how many standard deviations, squared, it stands out; 0 if it does not.
    fn weight(&self) -> u128 {
        let (k, n) = (u128::from(self.failures), u128::from(self.of_failures));
        let (usual, all) = (u128::from(self.plans), u128::from(self.of_plans));
        let Some(excess) = (k * all).checked_sub(n * usual) else { return 0 };
        let variance = n * usual * (all - usual);
        // What no other plan has at all is as sure as can be.
        if variance == 0 && excess > 0 { u128::MAX } else { excess.pow(2) / variance.max(1) }
    }
}

/// What the plans of `failures` share, the most telling first; nothing if there are few failures.
pub fn shared(
    first: Seed,
    failures: &[Failure],
    plan_of: &dyn Fn(Seed) -> Option<Plan>,
) -> Vec<Shared> {
    if failures.len() < FAILURES_MIN {
        return Vec::new();
    }
    let features_of = |seed| plan_of(seed).map(|plan| features(&plan));
    let mut failed: Vec<_> = failures.iter().filter_map(|it| features_of(it.seed)).collect();
    let seeds = (0..PLANS).map(|at| super::seed_at(first, at));
    let mut usual: Vec<_> = seeds.filter_map(features_of).collect();
    let mut found: Vec<Shared> = Vec::new();
    while found.len() < NAMED && failed.len() >= FAILURES_MIN {
        let Some(next) = strongest(&failed, &usual) else { break };
        failed.retain(|it| it.contains(next.feature));
        usual.retain(|it| it.contains(next.feature));
        found.push(next);
    }
    found
}

type Features = BTreeSet<&'static str>;

/// The feature by which the failures stand out most.
fn strongest(failed: &[Features], usual: &[Features]) -> Option<Shared> {
    let count = |of: &[Features], feature: &str| {
        u64::try_from(of.iter().filter(|it| it.contains(feature)).count()).expect("a count fits")
    };
    let all = |of: &[Features]| u64::try_from(of.len()).expect("a count fits");
    let candidates: Features = failed.iter().flatten().copied().collect();
    let shared = candidates.into_iter().map(|feature| Shared {
        feature,
        failures: count(failed, feature),
        of_failures: all(failed),
        plans: count(usual, feature),
        of_plans: all(usual),
    });
    shared.filter(|it| it.weight() >= SURE).max_by_key(Shared::weight)
}

/// What there is in a plan.
pub fn features(plan: &Plan) -> BTreeSet<&'static str> {
    let actions = plan.steps.iter().map(|it| &it.action);
    let mut features: BTreeSet<_> =
        actions.filter(|it| it.is_fault()).map(|it| text::verb_of(it)).collect();
    if features.is_empty() {
        features.insert("no fault");
    }
    match plan.brokers {
        1 => drop(features.insert("one broker")),
        2..=5 => {}
        _ => drop(features.insert("many brokers")),
    }
    if plan.release == Release::Former {
        features.insert("former release");
    }
    let moments = plan.steps.iter().filter_map(|it| it.when.as_ref());
    features.extend(moments.map(|it| it.moment.word()));
    for clients in &plan.clients {
        match clients {
            Clients::Rude { manner, .. } => features.extend(["rude members", manner.word()]),
            Clients::Group { members, is_static, transactions, .. } => {
                features.extend(is_static.then_some("static members"));
                features.extend((*members > 1).then_some("several members"));
                features.extend(transactions.map(|_| "transactions"));
            }
            Clients::Committer { .. } => drop(features.insert("committer")),
            Clients::Reader { .. } => drop(features.insert("reader")),
            Clients::OneShot { odd_ids, delete, .. } => {
                features.insert("one-shot groups");
                features.extend(odd_ids.then_some("odd ids"));
                features.extend(delete.then_some("deletions"));
            }
            Clients::Admin { .. } => drop(features.insert("admin")),
        }
    }
    features
}

#[cfg(test)]
mod tests {
    use super::{Shared, features, shared};
    use crate::{
        draw,
        outcome::{Outcome, Verdict},
        runner::{Failure, crashed},
        seed::Seed,
    };

    fn plan_of(seed: Seed) -> Option<crate::plan::Plan> {
        draw::draw(seed, "ordinary")
    }

    /// The seeds below `below` whose plans have all of `needs` fail.
    fn failures(below: u64, needs: &[&str]) -> Vec<Failure> {
        let outcome = Outcome { verdict: Verdict::Broke, ..crashed(String::new()) };
        let fails = |seed: &Seed| {
            let features = features(&plan_of(*seed).unwrap());
            needs.iter().all(|it| features.contains(it))
        };
        let seeds = (0..below).map(Seed).filter(fails);
        seeds.map(|seed| Failure { seed, outcome: outcome.clone() }).collect()
    }

    fn check(below: u64, needs: &[&str]) {
        let failures = failures(below, needs);
        let shared = shared(Seed(0), &failures, &plan_of);
        let mut names: Vec<_> = shared.iter().map(|it| it.feature).collect();
        names.sort_unstable();
        assert_eq!(names, needs, "of {} failures", failures.len());
        assert!(shared.iter().all(|it| it.failures == it.of_failures && it.lift_tenths() > 10));
    }

    #[test]
    fn what_failures_need_is_named_and_nothing_else() {
        check(200, &[]);
        check(200, &["pause"]);
        check(200, &["odd ids"]);
        check(400, &["failover", "pause"]);
    }

    #[test]
    fn two_failures_share_nothing() {
        let two = failures(200, &["pause"]).split_off(0)[..2].to_vec();
        assert_eq!(shared(Seed(0), &two, &plan_of), []);
    }

    #[test]
    fn a_lift_is_how_many_times_as_often() {
        let it = Shared { feature: "", failures: 9, of_failures: 10, plans: 30, of_plans: 100 };
        assert_eq!((it.usual_percent(), it.lift_tenths()), (30, 30));
        assert_eq!(it.weight(), 17);
        assert_eq!(Shared { failures: 3, ..it }.weight(), 0, "as often as usual");
    }
}
