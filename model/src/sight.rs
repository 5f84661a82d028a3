//! What each broker could know: the files and lease epochs it was shown, and the views it says it
//! applied.
//!
//! A broker polls; nobody outside sees which instants it hits. So this keeps what reading *would*
//! have shown at each instant of the broker's own clock, and the questions asked of it are of the
//! form "is there an instant at which ...". It judges nothing.
//!
//! Always: knowledge does not survive the incarnation; what the file and the lease show does.

use crate::{
    event::{Health, Kind, Micros, Name, ViewId},
    routing::View,
};
use std::collections::BTreeMap;

/// How many changes of the file (or of what was applied) are remembered per incarnation.
const REMEMBERED: usize = 4096;

/// Everything shown to everybody.
#[derive(Debug, Default)]
pub(crate) struct World {
    views: BTreeMap<ViewId, View>,
    latest: Option<ViewId>,
    same_order: BTreeMap<(i64, i64), Vec<ViewId>>,
    brokers: BTreeMap<Name, Sight>,
    nothing: Sight,
}

/// What one incarnation of a broker was shown.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// When it started; a broker whose start was not seen has no boot window.
    started: Option<Micros>,
    shown: Vec<Shown>,
    /// Rising epochs, each with the instant from which on it was the highest one shown.
    lease: Vec<(Micros, i64)>,
    lease_now: Option<i64>,
    applied: Vec<(Micros, (i64, i64))>,
    /// The content applied last, if only one of that order was shown by then.
    pinned: Option<((i64, i64), ViewId)>,
}

/// What the file shows from an instant on.
#[derive(Debug, Clone, Copy)]
struct Shown {
    since: Micros,
    view: Option<ViewId>,
    /// The highest lease epoch shown by then.
    lease: i64,
}

/// A view that may explain what a broker did, with the instants of its clock that make it one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) view: ViewId,
    pub(crate) since: Micros,
    /// `None`: still shown.
    pub(crate) until: Option<Micros>,
    /// The highest lease epoch shown at the first instant that counts.
    pub(crate) lease: i64,
}

impl World {
    pub(crate) fn define(
        &mut self,
        id: ViewId,
        order: (i64, i64),
        brokers: &[(Name, Health)],
        explicit: &[(Name, Name)],
    ) {
        self.latest = Some(id);
        let new = self.views.insert(id, View::new(order, brokers, explicit)).is_none();
        if new {
            self.same_order.entry(order).or_default().push(id);
        }
    }

    pub(crate) fn sight(&self, broker: &str) -> &Sight {
        self.brokers.get(broker).unwrap_or(&self.nothing)
    }

    pub(crate) fn sight_mut(&mut self, broker: &Name) -> &mut Sight {
        if !self.brokers.contains_key(broker) {
            self.brokers.insert(broker.clone(), Sight::default());
        }
        self.brokers.get_mut(broker).expect("inserted above if it was missing")
    }

    /// The view behind an id; a view that was never defined counts as unreadable.
    pub(crate) fn view(&self, id: ViewId) -> Option<&View> {
        self.views.get(&id)
    }

    /// The view that was defined last.
    pub(crate) fn latest(&self) -> Option<&View> {
        self.view(self.latest?)
    }

    /// Whether the file showed the broker a view of that order in this incarnation.
    pub(crate) fn was_shown(&self, broker: &str, order: (i64, i64)) -> bool {
        let ids = self.same_order.get(&order).map_or(&[][..], Vec::as_slice);
        ids.iter().any(|&id| self.sight(broker).ever_shown(id))
    }

    /// Whether this view, or another content of the same order that the broker may have seen first,
    /// routes the key to `to`.
    pub(crate) fn explains(&self, id: ViewId, broker: &str, key: (Kind, &str), to: &str) -> bool {
        let Some(view) = self.view(id) else { return false };
        let pinned = self.sight(broker).pinned.filter(|&(order, _)| order == view.order());
        if let Some((_, first)) = pinned {
            return self.view(first).is_some_and(|view| view.routes_to(key.0, key.1, to));
        }
        if view.routes_to(key.0, key.1, to) {
            return true;
        }
        let twins = self.same_order.get(&view.order()).map_or(&[][..], Vec::as_slice);
        twins.len() > 1
            && twins.iter().any(|&twin| {
                self.sight(broker).ever_shown(twin)
                    && self.view(twin).is_some_and(|view| view.routes_to(key.0, key.1, to))
            })
    }

    /// Notes what the broker says it applied, and gives what it had said before.
    pub(crate) fn apply(
        &mut self,
        broker: &Name,
        local: Micros,
        order: (i64, i64),
    ) -> Option<(i64, i64)> {
        let twins = self.same_order.get(&order).map_or(&[][..], Vec::as_slice);
        let sight = self.brokers.entry(broker.clone()).or_default();
        let mut shown = twins.iter().filter(|&&twin| sight.ever_shown(twin));
        let first = shown.next().copied();
        let view = |it: &ViewId| self.views.get(it);
        let only = first.filter(|first| shown.all(|it| are_alike(view(it), view(first))));
        let before = sight.apply(local, order);
        if before != Some(order) {
            sight.pinned = only.map(|only| (order, only));
        }
        before
    }

    /// The views that a read within `reach` before `at` may have confirmed, newest first.
    pub(crate) fn confirmed(
        &self,
        broker: &str,
        at: Micros,
        reach: Micros,
    ) -> impl Iterator<Item = Span> {
        let sight = self.sight(broker);
        // Another content of the applied order confirms nothing.
        let is_twin = |span: &Span, order| {
            let pinned = sight.pinned.filter(|&(pinned, _)| pinned == order);
            // Nearly always it is the very same, which need not be compared.
            let other = pinned.filter(|&(_, it)| it != span.view);
            other.is_some_and(|(_, it)| !are_alike(self.view(it), self.view(span.view)))
        };
        sight.spans(at, reach).filter(move |span| {
            let view = self.view(span.view);
            view.is_some_and(|view| view.epoch >= span.lease && !is_twin(span, view.order()))
        })
    }

    /// The views that may be the one applied at `at`: all shown that are not older than what was
    /// said to be applied `reach` ago. Newest first.
    pub(crate) fn in_force(
        &self,
        broker: &str,
        at: Micros,
        reach: Micros,
    ) -> impl Iterator<Item = ViewId> {
        let sight = self.sight(broker);
        let floor = sight.applied_by(at.less(reach));
        sight.shown.iter().rev().filter_map(|shown| shown.view).filter(move |&id| {
            self.view(id).is_some_and(|view| floor.is_none_or(|floor| view.order() >= floor))
        })
    }

    /// The view that the broker says it has applied, if it is the one that the file shows it.
    pub(crate) fn agreed(&self, broker: &str) -> Option<ViewId> {
        let sight = self.sight(broker);
        let shown = sight.shown.last().and_then(|shown| shown.view)?;
        let &(_, applied) = sight.applied.last()?;
        self.view(shown).is_some_and(|view| view.order() == applied).then_some(shown)
    }

    /// The view that the broker must have come to once views are settled.
    pub(crate) fn settled(&self, broker: &str) -> Option<ViewId> {
        let sight = self.sight(broker);
        let shown = sight.shown.last().and_then(|shown| shown.view);
        let applied = sight.applied.last().and_then(|&(_, order)| {
            let ids = self.same_order.get(&order)?;
            ids.iter().copied().find(|&id| sight.ever_shown(id))
        });
        let order = |id: &ViewId| self.view(*id).map(View::order);
        [applied, shown].into_iter().flatten().max_by_key(order)
    }
}

impl Sight {
    pub(crate) fn start(&mut self, local: Micros) {
        let view = self.shown.last().and_then(|shown| shown.view);
        let lease = self.lease_now.unwrap_or(i64::MIN);
        self.started = Some(local);
        self.shown = vec![Shown { since: local, view, lease }];
        self.lease = self.lease_now.map(|epoch| (local, epoch)).into_iter().collect();
        self.applied.clear();
        self.pinned = None;
    }

    pub(crate) fn show_file(&mut self, local: Micros, view: Option<ViewId>) {
        let lease = self.lease.last().map_or(i64::MIN, |&(_, epoch)| epoch);
        if self.shown.last().is_some_and(|last| last.view == view) {
            return;
        }
        forget_half_if_long(&mut self.shown);
        self.shown.push(Shown { since: local, view, lease });
    }

    pub(crate) fn show_lease(&mut self, local: Micros, epoch: i64) {
        self.lease_now = Some(epoch);
        if self.lease.last().is_none_or(|&(_, highest)| epoch > highest) {
            self.lease.push((local, epoch));
        }
    }

    fn apply(&mut self, local: Micros, order: (i64, i64)) -> Option<(i64, i64)> {
        let before = self.applied.last().map(|&(_, order)| order);
        if before != Some(order) {
            forget_half_if_long(&mut self.applied);
            self.applied.push((local, order));
        }
        before
    }

    /// Whether `at` is within `reach` after the start, when a broker may still trust itself.
    pub(crate) fn booting(&self, at: Micros, reach: Micros) -> bool {
        self.started.is_some_and(|started| at <= started.plus(reach))
    }

    /// What was said to be applied at the latest by `at`.
    fn applied_by(&self, at: Micros) -> Option<(i64, i64)> {
        self.applied.iter().rev().find(|&&(since, _)| since <= at).map(|&(_, order)| order)
    }

    pub(crate) fn ever_shown(&self, id: ViewId) -> bool {
        self.shown.iter().rev().any(|shown| shown.view == Some(id))
    }

    /// Every span of this incarnation in which the file showed a view, newest first.
    pub(crate) fn all_spans(&self) -> impl Iterator<Item = Span> {
        self.spans(Micros(u64::MAX), Micros(u64::MAX))
    }

    /// Every span in which the file showed a view at an instant of `[at - reach, at]`, newest
    /// first.
    pub(crate) fn spans(&self, at: Micros, reach: Micros) -> impl Iterator<Item = Span> {
        let horizon = at.less(reach);
        let untils =
            std::iter::once(None).chain(self.shown.iter().rev().map(|shown| Some(shown.since)));
        self.shown
            .iter()
            .rev()
            .zip(untils)
            .take_while(move |(_, until)| until.is_none_or(|until| until >= horizon))
            .filter_map(move |(shown, until)| {
                let view = shown.view?;
                let lease = if shown.since >= horizon {
                    shown.lease
                } else {
                    self.highest_lease_before(horizon)
                };
                Some(Span { view, since: shown.since, until, lease })
            })
    }

    fn highest_lease_before(&self, at: Micros) -> i64 {
        let mut newest_first = self.lease.iter().rev();
        newest_first.find(|&&(since, _)| since < at).map_or(i64::MIN, |&(_, epoch)| epoch)
    }
}

fn are_alike(one: Option<&View>, other: Option<&View>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.routes_like(other))
}

fn forget_half_if_long<T>(of: &mut Vec<T>) {
    if of.len() >= REMEMBERED {
        of.drain(..REMEMBERED / 2);
    }
}
