//! What was seen of a transaction: the answer to a fetch, or an effect that counts.

use crate::event::{Micros, Name};

/// The answer to a fetch.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) client: Name,
    /// The partition, by its place.
    pub(super) partition: usize,
    pub(super) stable: bool,
    pub(super) sent: Micros,
    pub(super) at: Micros,
    /// The offset and write it gave; `None`: nothing committed.
    pub(super) gave: Option<(i64, u64)>,
}

/// What shows that a transaction has committed, or should have.
#[derive(Debug, Clone)]
pub(super) enum Sign {
    /// An answer gave one of its writes.
    Answer(Answer),
    /// Records count by it.
    Effect { group: Name, partition: Name, from: i64, to: i64, at: Micros },
}

impl Answer {
    pub(super) fn sentence(&self) -> String {
        let Answer { client, stable, sent, at, gave, .. } = self;
        let kind = if *stable { "stable fetch" } else { "fetch" };
        let gave = gave.map_or("nothing committed".to_owned(), |(offset, write)| {
            format!("{offset} (write {write})")
        });
        format!("a {kind} sent at {sent} answered {gave} to {client} at {at}")
    }
}

impl Sign {
    pub(super) fn sentence(&self) -> String {
        match self {
            Sign::Answer(answer) => answer.sentence(),
            Sign::Effect { group, partition, from, to, at } => {
                format!("records {from} to {to} of {partition} count for {group} since {at}")
            }
        }
    }
}
