//! unique-ownership and stable-divisor: who may speak for a key, and whether the rule alone decides
//! it.
//!
//! An answer for a key is legitimate if, within the staleness bound before it (on the broker's
//! clock), there is an instant at which reading the file would have confirmed a view that routes
//! the key to the broker; or if the broker has just started. Naming a coordinator is legitimate if
//! some view that may be in force at the answering broker routes the key there. "Nobody" is a
//! refusal, not another owner, and is not judged.
//!
//! Always: when in doubt which view a broker acted on, every one it could have seen counts in its
//! favour.

use crate::{
    event::{Kind, Micros, Name, ViewId},
    ledger::Ledger,
    promise::{Limits, Promise},
    routing::View,
    sight::{Span, World},
};
use std::collections::{BTreeMap, BTreeSet};

/// How many views are told about in one piece of evidence.
const TOLD: usize = 3;

/// A success that speaks for a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer<'a> {
    pub(crate) broker: &'a Name,
    pub(crate) local: Micros,
    pub(crate) kind: Kind,
    pub(crate) key: &'a Name,
    pub(crate) what: &'a str,
}

/// The owner of each key as last seen.
#[derive(Debug, Default)]
pub(crate) struct Ownership {
    groups: BTreeMap<Name, Seen>,
    transactions: BTreeMap<Name, Seen>,
    /// What each broker served while it had just started, and may have kept.
    at_boot: BTreeMap<Name, BTreeSet<(Kind, Name)>>,
}

#[derive(Debug)]
struct Seen {
    owner: Name,
    view: ViewId,
    at: Micros,
}

impl Ownership {
    /// A broker spoke for a key.
    pub(crate) fn served(
        &mut self,
        world: &World,
        limits: &Limits,
        answer: Answer<'_>,
        ledger: &mut Ledger,
    ) {
        if answer.what == "describe" {
            judge(world, limits, answer, Promise::ReadFilter, ledger);
            return;
        }
        if world.sight(answer.broker).booting(answer.local, limits.staleness) {
            let served = self.at_boot.entry(answer.broker.clone()).or_default();
            served.insert((answer.kind, answer.key.clone()));
            return;
        }
        ledger.check(Promise::StableDivisor);
        let key = (answer.kind, &**answer.key);
        match judge(world, limits, answer, Promise::UniqueOwnership, ledger) {
            Some(view) => self.saw(answer.kind, answer.key, answer.broker, (view, ledger.now())),
            None => {
                let mut spans = world.sight(answer.broker).all_spans();
                let ever =
                    spans.any(|span| world.explains(span.view, answer.broker, key, answer.broker));
                if !ever && !self.kept_from_boot(answer) {
                    self.strange_owner(world, answer, answer.broker, ledger);
                }
            }
        }
    }

    /// A broker starts anew.
    pub(crate) fn started(&mut self, broker: &Name) {
        self.at_boot.remove(broker);
    }

    /// Whether the broker did not pick the key by any rule but kept it from its first moments.
    fn kept_from_boot(&self, answer: Answer<'_>) -> bool {
        let served = self.at_boot.get(answer.broker);
        served.is_some_and(|served| served.contains(&(answer.kind, answer.key.clone())))
    }

    /// A broker named the coordinator of a key.
    pub(crate) fn located(
        &mut self,
        world: &World,
        limits: &Limits,
        answer: Answer<'_>,
        coordinator: &Name,
        ledger: &mut Ledger,
    ) {
        if world.sight(answer.broker).booting(answer.local, limits.staleness) {
            return;
        }
        ledger.check(Promise::StableDivisor);
        let key = (answer.kind, &**answer.key);
        let mut in_force = world.in_force(answer.broker, answer.local, limits.staleness);
        match in_force.find(|&id| world.explains(id, answer.broker, key, coordinator)) {
            Some(view) => self.saw(answer.kind, answer.key, coordinator, (view, ledger.now())),
            None => {
                drop(in_force);
                self.strange_owner(world, answer, coordinator, ledger);
            }
        }
    }

    /// A broker says that it applied a view of this order.
    pub(crate) fn applied(
        world: &mut World,
        broker: &Name,
        local: Micros,
        order: (i64, i64),
        ledger: &mut Ledger,
    ) {
        let before = world.apply(broker, local, order);
        ledger.check(Promise::UniqueOwnership);
        let now = ledger.now();
        let said = || format!("{broker} applied view {}.{} at {now}", order.0, order.1);
        if let Some(before) = before.filter(|&before| before >= order) {
            ledger.broke(Promise::UniqueOwnership, broker, || {
                let newer = format!("it had already applied view {}.{}", before.0, before.1);
                let rule = "within one run of a broker each view is newer than the one before";
                vec![said(), newer, rule.to_owned()]
            });
        }
        if !world.was_shown(broker, order) {
            ledger.broke(Promise::UniqueOwnership, broker, || {
                vec![said(), "the file never showed it such a view since it started".to_owned()]
            });
        }
    }

    fn of(&self, kind: Kind) -> &BTreeMap<Name, Seen> {
        match kind {
            Kind::Group => &self.groups,
            Kind::Transaction => &self.transactions,
        }
    }

    fn saw(&mut self, kind: Kind, key: &Name, owner: &Name, (view, at): (ViewId, Micros)) {
        let of = match kind {
            Kind::Group => &mut self.groups,
            Kind::Transaction => &mut self.transactions,
        };
        match of.get_mut(key) {
            Some(seen) => {
                if seen.owner != *owner {
                    seen.owner = owner.clone();
                }
                (seen.view, seen.at) = (view, at);
            }
            None => {
                of.insert(key.clone(), Seen { owner: owner.clone(), view, at });
            }
        }
    }

    /// No view explains that `owner` coordinates the key.
    fn strange_owner(&self, world: &World, answer: Answer<'_>, owner: &Name, ledger: &mut Ledger) {
        let now = ledger.now();
        let Answer { broker, local, kind, key, .. } = answer;
        ledger.broke(Promise::StableDivisor, key, || {
            let mut told = vec![format!(
                "{broker} answered at {now} ({local} of its clock) that {owner} coordinates {key}"
            )];
            let shown: Vec<Span> = world.sight(broker).all_spans().take(TOLD).collect();
            if shown.is_empty() {
                told.push(format!("no readable view was shown to {broker} since it started"));
            }
            let views = shown.iter().filter_map(|span| world.view(span.view));
            told.extend(views.map(|view| view.explain(kind, key)));
            let Some(last) = self.of(kind).get(key) else { return told };
            told.push(format!("{key} was last seen with {} at {}", last.owner, last.at));
            let newest = shown.first().and_then(|span| world.view(span.view));
            match (world.view(last.view), newest) {
                (Some(then), Some(newest)) if then != newest => {
                    told.push(then.differences(newest, kind, key));
                }
                (Some(then), Some(_)) => told.push(format!("that was under {then} too")),
                (Some(_) | None, _) => {}
            }
            told
        });
    }
}

/// Judges whether the broker may speak for the key; gives the view that lets it.
pub(crate) fn judge(
    world: &World,
    limits: &Limits,
    answer: Answer<'_>,
    promise: Promise,
    ledger: &mut Ledger,
) -> Option<ViewId> {
    let Answer { broker, local, kind, key, .. } = answer;
    if world.sight(broker).booting(local, limits.staleness) {
        return None;
    }
    ledger.check(promise);
    let mut confirmed = world.confirmed(broker, local, limits.staleness);
    let routes_here = |view: &View| view.routes_to(kind, key, broker);
    let by = confirmed.find(|span| world.view(span.view).is_some_and(routes_here));
    if by.is_none() {
        drop(confirmed);
        let now = ledger.now();
        ledger.broke(promise, key, || why_not(world, limits, answer, now));
    }
    by.map(|span| span.view)
}

/// Why no view lets the broker speak for the key.
fn why_not(world: &World, limits: &Limits, answer: Answer<'_>, now: Micros) -> Vec<String> {
    let Answer { broker, local, kind, key, what } = answer;
    let sight = world.sight(broker);
    let mut told =
        vec![format!("{broker} answered {what} for {key} at {now} ({local} of its clock)")];
    for span in sight.spans(local, limits.staleness).take(TOLD) {
        let Some(view) = world.view(span.view) else { continue };
        let mut line =
            format!("{}; the file showed it since {}", view.explain(kind, key), span.since);
        if let Some(until) = span.until {
            line.push_str(&format!(" until {until}"));
        }
        if view.epoch < span.lease {
            line.push_str(&format!(", when the lease already said epoch {}", span.lease));
        }
        told.push(line);
    }
    if told.len() == 1 {
        told.push(format!(
            "the file showed {broker} nothing readable in the {} before",
            limits.staleness
        ));
    }
    let mut spans = sight.all_spans();
    let last = spans.find(|span| world.explains(span.view, broker, (kind, key), broker));
    told.push(match last.and_then(|span| Some((world.view(span.view)?, span.until))) {
        None => format!("no view shown to {broker} since it started routes {key} there"),
        Some((view, Some(until))) if until < local.less(limits.staleness) => format!(
            "the last to route it there, {view}, was shown until {until}: {} ago, {} are allowed",
            local.less(until),
            limits.staleness
        ),
        Some((view, _)) => format!("{view} routes it there but could not be confirmed in time"),
    });
    told
}
