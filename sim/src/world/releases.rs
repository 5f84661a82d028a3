//! Of which release a broker is, and when two releases meet in an offset file.

use super::{World, brokers::BrokerSlot};
use crate::{
    milestone::Milestone,
    release::{self, Release},
    volume::Op,
};

impl BrokerSlot {
    /// A life begins, of the release that is installed by now. Returns whether that is another one.
    pub(super) fn change_release(&mut self) -> bool {
        let Some((release, step)) = self.next_release.take() else { return false };
        let is_another = release != self.release;
        self.release = release;
        self.installed_by = is_another.then_some(step);
        is_another
    }
}

impl World {
    /// From its next start on, whatever causes that, a broker is of this release.
    pub(super) fn install(&mut self, broker: usize, release: Release, step: usize) {
        self.brokers[broker].next_release = Some((release, step));
    }

    /// Of which release the offset file is that an operation reads or replaces.
    pub(super) fn author_of(&self, op: &Op) -> Option<Release> {
        let content = self.volume.read(usize::MAX, release::file_of(op)?).ok()?;
        Release::that_wrote(&content)
    }

    /// An operation has happened; `before` is what it found.
    pub(super) fn releases_meet(&mut self, broker: usize, op: &Op, before: Option<Release>) {
        if release::file_of(op).is_none() {
            return;
        }
        if let Some(step) = self.brokers[broker].installed_by.take() {
            self.record.effect(step);
        }
        let (me, is_read) = (self.brokers[broker].release, matches!(op, Op::Read(_)));
        match (me, before) {
            (Release::Current, Some(Release::Former)) if is_read => {
                self.record.reach(Milestone::FormerFileRead);
            }
            (Release::Former, Some(Release::Current)) if !is_read => {
                self.record.reach(Milestone::CurrentFileRewritten);
            }
            _ => {}
        }
    }
}
