//! What is going to happen, in order of time and, within one instant, of scheduling.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A queue of events by time.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: u64,
    order: u64,
    event: T,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { heap: BinaryHeap::new(), scheduled: 0 }
    }

    pub(crate) fn push(&mut self, at: u64, event: T) {
        self.scheduled += 1;
        self.heap.push(Entry { at, order: self.scheduled, event });
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    /// Reversed, since the heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}
