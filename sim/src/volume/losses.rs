//! What a failover has undone, and which directory syncs fail for it.
//!
//! A broker hears of a loss by the sync that would have prevented it. Which one that is the world can't
//! see: a broker has many operations under way in one directory. So every sync fails that it asked for
//! behind the change, until one that it asked for when it had heard of the change.

use std::ops::Range;

use super::Path;

/// A directory sync that a broker asks for.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The broker.
    pub by: usize,
    /// The directory.
    pub dir: Path,
    /// When, in microseconds.
    pub at: u64,
    /// How many changes of directory entries the volume had seen by then.
    pub behind: u64,
    /// Which of these changes the broker did not know yet to have happened.
    pub unheard: Vec<Range<u64>>,
}

/// A change of directory entries that a failover has undone.
#[derive(Debug)]
pub(super) struct Undone {
    /// Its place among all changes.
    pub(super) order: u64,
    /// The broker that made it.
    pub(super) by: usize,
    /// The directory whose sync would have made it durable.
    pub(super) dir: Path,
}

impl Sync {
    fn is_behind(&self, undone: &Undone) -> bool {
        self.by == undone.by && self.dir == undone.dir && undone.order <= self.behind
    }

    /// Whether it may be the very sync that was to make the change durable.
    fn has_heard_of(&self, undone: &Undone) -> bool {
        !self.unheard.iter().any(|it| it.start < undone.order && undone.order <= it.end)
    }
}

/// Changes that are undone, and whose brokers may not have heard of it.
#[derive(Debug, Default)]
pub(super) struct Losses(Vec<Loss>);

#[derive(Debug)]
struct Loss {
    undone: Undone,
    /// When the first sync was asked for that told of it. What follows a rename at once is asked for
    /// at the same instant.
    told_at: Option<u64>,
}

impl Losses {
    /// A failover has undone this.
    pub(super) fn mourn(&mut self, undone: Undone) {
        self.0.push(Loss { undone, told_at: None });
    }

    /// Whether a sync must fail.
    pub(super) fn doom(&mut self, sync: &Sync) -> bool {
        let mut is_doomed = false;
        self.0.retain_mut(|Loss { undone, told_at }| {
            if !sync.is_behind(undone) {
                return true;
            }
            if told_at.is_some_and(|it| it < sync.at) {
                return false;
            }
            is_doomed = true;
            if told_at.is_none() && !is_of_claims(&undone.dir) && sync.has_heard_of(undone) {
                *told_at = Some(sync.at);
            }
            true
        });
        is_doomed
    }

    /// A broker has made a directory. If that is a claim, nothing that it does from here on relies on
    /// what it lost among the claims beside it.
    pub(super) fn claim_anew(&mut self, by: usize, path: &str) {
        let Some((claims, _)) = path.rsplit_once('/') else { return };
        if is_of_claims(claims) {
            self.0.retain(|it| it.undone.by != by || *it.undone.dir != *claims);
        }
    }

    /// A broker has died: nobody is left to hear of it.
    pub(super) fn forget_broker(&mut self, broker: usize) {
        self.0.retain(|it| it.undone.by != broker);
    }
}

/// Whether a directory holds the claims of one file. Between a change there and the sync behind it a
/// take-over does other things.
fn is_of_claims(dir: &str) -> bool {
    dir.contains("/.claims/")
}

#[cfg(test)]
mod tests {
    use super::{Losses, Sync, Undone};

    fn sync(dir: &str, at: u64, behind: u64) -> Sync {
        Sync { by: 0, dir: dir.into(), at, behind, unheard: Vec::new() }
    }

    fn losses(dir: &str, orders: &[u64]) -> Losses {
        let mut losses = Losses::default();
        for order in orders {
            losses.mourn(Undone { order: *order, by: 0, dir: dir.into() });
        }
        losses
    }

    #[test]
    fn the_sync_behind_a_change_tells_of_it_once() {
        let mut losses = losses("d", &[7]);
        assert!(!losses.doom(&sync("e", 10, 9)), "of another directory");
        assert!(!losses.doom(&Sync { by: 1, ..sync("d", 10, 9) }), "of another broker");
        assert!(losses.doom(&sync("d", 11, 9)));
        assert!(losses.doom(&sync("d", 11, 9)), "either may be the one");
        assert!(!losses.doom(&sync("d", 12, 9)));
    }

    #[test]
    fn a_neighbour_does_not_use_the_loss_up() {
        let mut losses = losses("d", &[7]);
        assert!(!losses.doom(&sync("d", 10, 6)), "it was asked for before the change");
        let neighbour = Sync { unheard: vec![2..3, 6..7], ..sync("d", 11, 7) };
        assert!(losses.doom(&neighbour), "it is behind the change, of which nobody has heard");
        assert!(losses.doom(&sync("d", 12, 7)));
        assert!(!losses.doom(&sync("d", 13, 8)));
    }

    #[test]
    fn whoever_makes_another_claim_relies_on_no_older_one() {
        let mut losses = losses("d/.claims/f", &[7, 8]);
        for at in 10..13 {
            assert!(losses.doom(&sync("d/.claims/f", at, 8)));
        }
        losses.claim_anew(0, "d/.claims/g/2.1");
        losses.claim_anew(1, "d/.claims/f/2.1");
        assert!(losses.doom(&sync("d/.claims/f", 13, 8)));
        losses.claim_anew(0, "d/.claims/f/2.1");
        assert!(!losses.doom(&sync("d/.claims/f", 14, 9)));
    }

    #[test]
    fn the_dead_hear_of_nothing() {
        let mut losses = losses("d", &[7]);
        losses.forget_broker(0);
        assert!(!losses.doom(&sync("d", 10, 9)));
    }
}
