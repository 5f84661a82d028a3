//! Who owns a key now: the applied view, its freshness, and the boot window before the first view.
//!
//! A broker starts on a local source that says yes to every key, since with no view there is nobody
//! to ask, and is swapped to the first valid view. A view is applied only if it is newer than the
//! applied one and not older than the controller lease, which never goes backwards. A view that no
//! read has confirmed for [`staleness_max`](crate::config::Config::staleness_max) serves nobody; the
//! boot window ends after the same time. Dropping what a new view takes away is the business of
//! `group_takeover.rs`.

use std::{sync::Arc, time::Duration};

use crate::{
    api::KeyType,
    assignment::{SharedView, View, ViewId},
    ids::{BrokerId, GroupId, TransactionalId},
    ports::Instant,
};

/// One broker's knowledge of who coordinates what.
#[derive(Debug)]
pub struct Coordinator {
    me: BrokerId,
    source: Source,
    /// Since when what the source says is known to be true, by this broker's clock.
    confirmed_at: Instant,
    staleness_max: Duration,
    lease_epoch: i64,
    refused: u64,
}

#[derive(Debug)]
enum Source {
    /// The boot window: every key is mine.
    Local,
    View(SharedView),
}

/// What became of a file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is in force; `prev` was before (`None`: the boot window).
    Applied {
        /// The view before.
        prev: Option<SharedView>,
        /// The view in force.
        next: SharedView,
    },
    /// It is the view in force, still.
    Confirmed,
    /// The view in force stays, unconfirmed.
    Refused {
        /// Why, in a few words.
        reason: &'static str,
    },
}

impl Coordinator {
    /// The coordinator of broker `me`, in its boot window.
    pub fn new(me: BrokerId, now: Instant, staleness_max: Duration) -> Self {
        Self {
            me,
            source: Source::Local,
            confirmed_at: now,
            staleness_max,
            lease_epoch: 0,
            refused: 0,
        }
    }

    /// This broker.
    pub fn me(&self) -> &BrokerId {
        &self.me
    }

    /// The view in force, `None` in the boot window.
    pub fn view(&self) -> Option<&SharedView> {
        match &self.source {
            Source::Local => None,
            Source::View(view) => Some(view),
        }
    }

    /// The epoch under which files are claimed: the view's, or zero in the boot window.
    pub fn view_id(&self) -> ViewId {
        self.view().map_or_else(ViewId::default, |view| view.id())
    }

    /// How many files were read and not applied.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Whether the source may still be used at `now`.
    pub fn is_fresh(&self, now: Instant) -> bool {
        now < self.stale_at()
    }

    /// When the source stops being usable unless it is confirmed.
    pub fn stale_at(&self) -> Instant {
        self.confirmed_at + self.staleness_max
    }

    /// Whether this broker may speak for `group` at `now`.
    pub fn serves(&self, now: Instant, group: &GroupId) -> bool {
        self.is_fresh(now) && self.owns(group)
    }

    /// Whether the source routes `group` here, fresh or not.
    pub fn owns(&self, group: &GroupId) -> bool {
        self.owner(KeyType::Group, group.as_str()) == Some(&self.me)
    }

    /// Whether this broker may speak for a transactional id at `now`.
    pub fn serves_transaction(&self, now: Instant, id: &TransactionalId) -> bool {
        self.is_fresh(now) && self.owner(KeyType::Transaction, id.as_str()) == Some(&self.me)
    }

    /// Who coordinates `key` according to the source, fresh or not.
    pub fn owner(&self, kind: KeyType, key: &str) -> Option<&BrokerId> {
        match &self.source {
            Source::Local => Some(&self.me),
            Source::View(view) => view.owner(kind, key),
        }
    }

    /// The lease was read; an epoch older than a known one is a lagging read and changes nothing.
    pub fn observe_lease(&mut self, epoch: i64) {
        self.lease_epoch = self.lease_epoch.max(epoch);
    }

    /// A read of the file that began at `read_at` found `content`; `None` if it could not be read.
    pub fn offer(&mut self, read_at: Instant, content: Option<&[u8]>) -> Offer {
        let Some(content) = content else {
            return self.refuse("unreadable");
        };
        let view = match View::parse(content) {
            Ok(view) => view,
            Err(invalid) => return self.refuse(invalid.reason()),
        };
        if view.id().epoch < self.lease_epoch {
            return self.refuse("older than the controller lease");
        }
        let prev = match &self.source {
            Source::View(applied) if view.id() < applied.id() => {
                return self.refuse("older than the applied view");
            }
            Source::View(applied) if view.id() == applied.id() => {
                if view != **applied {
                    return self.refuse("another view of the same version");
                }
                self.confirmed_at = self.confirmed_at.max(read_at);
                return Offer::Confirmed;
            }
            Source::View(applied) => Some(Arc::clone(applied)),
            Source::Local => None,
        };
        let next = Arc::new(view);
        self.source = Source::View(Arc::clone(&next));
        self.confirmed_at = read_at;
        Offer::Applied { prev, next }
    }

    fn refuse(&mut self, reason: &'static str) -> Offer {
        self.refused += 1;
        Offer::Refused { reason }
    }
}

#[cfg(test)]
mod tests;
