//! The coordinator of a key, by hash: pure functions.
//!
//! The same rule serves group ids and transactional ids. It knows nothing of explicit entries; see
//! `coordinator.rs` for the two tiers together. The divisor is the size of the *full* broker set, so
//! a broker that dies or restarts moves its own keys and nobody else's.

use crate::ids::BrokerId;

/// FNV-1a, 32 bits, over the UTF-8 bytes of a key, as kaas hashes them. (The crate `fnv` has the
/// 64-bit variant.)
pub fn fnv1a32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The full broker set, indexed once so that [`BrokerRing::pick`] costs one hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BrokerRing {
    /// Every broker and whether it is alive, sorted bytewise by id.
    sorted: Vec<(BrokerId, bool)>,
    /// Indexes into `sorted` of those alive, in the same order.
    alive: Vec<usize>,
}

impl BrokerRing {
    /// The ring of these brokers; the flag says whether a broker is alive (draining and dead ones
    /// are not, but they count). Ids must be unique.
    pub fn new(brokers: impl IntoIterator<Item = (BrokerId, bool)>) -> Self {
        let mut sorted: Vec<_> = brokers.into_iter().collect();
        sorted.sort();
        let alive = (0..sorted.len()).filter(|&index| sorted[index].1).collect();
        Self { sorted, alive }
    }

    /// The broker that coordinates `key`: the preferred one if it is alive, else the alternate that
    /// its slot gives among the alive ones. `None` if nobody is alive.
    pub fn pick(&self, key: &str) -> Option<&BrokerId> {
        if self.alive.is_empty() {
            return None;
        }
        let slot = fnv1a32(key.as_bytes()) as usize % self.sorted.len();
        let (preferred, is_alive) = &self.sorted[slot];
        if *is_alive {
            return Some(preferred);
        }
        let alternate = self.alive[slot % self.alive.len()];
        Some(&self.sorted[alternate].0)
    }

    /// Whether `pick` answers with another broker than the preferred one.
    pub fn uses_fallback(&self, key: &str) -> bool {
        let slot = fnv1a32(key.as_bytes()) as usize % self.sorted.len().max(1);
        self.sorted.get(slot).is_some_and(|(_, is_alive)| !is_alive)
    }
}

#[cfg(test)]
mod tests;
