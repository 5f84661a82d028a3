//! The controller's lease, and what brokers are told of it: some lag, and may even go back.

use super::World;
use crate::milestone::Milestone;

impl World {
    /// Another controller takes the lease.
    pub(super) fn take_lease(&mut self) {
        for broker in 0..self.brokers.len() {
            self.notice_old_lease(broker);
        }
        self.controller.epoch += 1;
        for broker in 0..self.brokers.len() {
            if !self.controller.old_leases.contains_key(&broker) {
                self.show_lease_to(broker);
            }
        }
    }

    /// A broker goes on being told the lease as it is now; if it goes `back`, it is told that once, and
    /// from then on what it was before: what it has never heard of it can't forget.
    pub(super) fn begin_old_lease(&mut self, broker: usize, step: usize, back: bool) {
        let epoch = self.controller.epoch - i64::from(back && self.controller.epoch > 1);
        self.controller.old_leases.insert(broker, (step, epoch));
        if broker < self.brokers.len() {
            self.notice_old_lease(broker);
            self.hub.set_lease(broker, self.controller.epoch, epoch);
            self.lens_sees_lease(broker, epoch);
        }
    }

    pub(super) fn end_old_lease(&mut self, broker: usize, step: usize) {
        if self.controller.old_leases.get(&broker).is_some_and(|(by, _)| *by == step) {
            self.notice_old_lease(broker);
            self.controller.old_leases.remove(&broker);
            if broker < self.brokers.len() {
                self.show_lease_to(broker);
            }
        }
    }

    /// From here on a broker that asks is told the lease as it is, or as it was for it.
    pub(super) fn show_lease_to(&mut self, broker: usize) {
        self.notice_old_lease(broker);
        let old = self.controller.old_leases.get(&broker).map(|(_, epoch)| *epoch);
        let epoch = old.unwrap_or(self.controller.epoch);
        self.hub.set_lease(broker, epoch, epoch);
        self.lens_sees_lease(broker, epoch);
    }

    fn lens_sees_lease(&mut self, broker: usize, epoch: i64) {
        let slot = &self.brokers[broker];
        self.lens.lease_shows(&slot.name, epoch, slot.clock.local(self.now));
    }

    /// If a broker was told a lease that is not in force, the step behind that had an effect.
    fn notice_old_lease(&mut self, broker: usize) {
        let Some(told) = self.hub.lease_told(broker) else { return };
        let Some((step, _)) = self.controller.old_leases.get(&broker) else { return };
        if told < self.controller.epoch {
            self.record.effect(*step);
            self.record.reach(Milestone::OldLeaseRead);
        }
    }
}
