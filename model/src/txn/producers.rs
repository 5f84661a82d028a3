//! Who was told to be the producer of a transactional id, and who is fenced by that.
//!
//! Under one producer id the higher epoch is newer. Another producer id of the same transactional
//! id is newer if it was told later; not so one whose epochs run out, since an answer that was long
//! under way may tell it after its successor.
//!
//! Always: everything told is remembered, because an old producer may act at any later time.

use super::Moment;
use crate::{
    event::{Micros, Name},
    ledger::Ledger,
    promise::Promise,
};
use std::collections::BTreeMap;

/// From this epoch on a producer id may be given up for another one.
const LAST_EPOCHS: i16 = i16::MAX - 2;

#[derive(Debug, Default)]
pub(super) struct Producers {
    ids: BTreeMap<Name, Lineage>,
    /// Producer id to the transactional id that it was first told for.
    owner: BTreeMap<i64, (Name, Told)>,
}

/// The producers of one transactional id.
#[derive(Debug, Default)]
struct Lineage {
    producers: BTreeMap<i64, Producer>,
    /// The producer id that was the last to be told for the first time, and when that was.
    newest: Option<(u64, i64)>,
}

#[derive(Debug)]
struct Producer {
    /// The position at which it was first told.
    first: u64,
    epochs: BTreeMap<i16, Told>,
}

/// To whom, and when.
#[derive(Debug, Clone)]
struct Told {
    client: Name,
    at: Micros,
}

/// The newer producer that fences an older one.
#[derive(Debug, Clone)]
pub(super) struct Fence {
    producer: i64,
    epoch: i16,
    told: Told,
}

impl Fence {
    /// What fences, in a sentence.
    pub(super) fn sentence(&self) -> String {
        let Fence { producer, epoch, told: Told { client, at } } = self;
        format!("{client} had been told at {at} that it is producer {producer}, epoch {epoch}")
    }
}

impl Producers {
    /// A client was told who it is, `anew` if it had not said who it was.
    pub(super) fn ready(
        &mut self,
        id: &Name,
        (client, anew): (&Name, bool),
        (producer, epoch): (i64, i16),
        now: Moment,
        ledger: &mut Ledger,
    ) {
        let told = Told { client: client.clone(), at: now.at };
        if self.ids.contains_key(id) || self.owner.contains_key(&producer) {
            ledger.check(Promise::TxnIsolation);
        }
        let (owner, first) =
            self.owner.entry(producer).or_insert_with(|| (id.clone(), told.clone()));
        if owner != id {
            ledger.broke(Promise::TxnIsolation, id, || {
                vec![
                    told.sentence(id, (producer, epoch)),
                    format!(
                        "that producer id belongs to {owner}: {} was told so at {}",
                        first.client, first.at
                    ),
                ]
            });
        }
        let lineage = self.ids.entry(id.clone()).or_default();
        let known = lineage.producers.entry(producer).or_insert_with(|| {
            if epoch < LAST_EPOCHS {
                lineage.newest = Some((now.position, producer));
            }
            Producer { first: now.position, epochs: BTreeMap::new() }
        });
        let is_known = known.epochs.contains_key(&epoch);
        let first = known.epochs.entry(epoch).or_insert_with(|| told.clone());
        if first.client != *client || (is_known && anew) {
            ledger.broke(Promise::TxnIsolation, id, || {
                let Told { client, at } = &*first;
                let same = format!("{client} had been told the very same at {at}");
                vec![told.sentence(id, (producer, epoch)), same]
            });
        }
    }

    /// Whether anything was told about this producer, so that it can be compared.
    pub(super) fn knows(&self, id: &Name, producer: i64) -> bool {
        self.ids.get(id).is_some_and(|lineage| lineage.producers.contains_key(&producer))
    }

    /// The newer producer that somebody was already told, if there is one.
    pub(super) fn fence(&self, id: &Name, producer: i64, epoch: i16) -> Option<Fence> {
        let lineage = self.ids.get(id)?;
        let known = lineage.producers.get(&producer)?;
        let (&highest, told) = known.epochs.last_key_value()?;
        if highest > epoch {
            return Some(Fence { producer, epoch: highest, told: told.clone() });
        }
        let (_, newest) = lineage.newest.filter(|&(first, _)| first > known.first)?;
        let (&epoch, told) = lineage.producers.get(&newest)?.epochs.first_key_value()?;
        Some(Fence { producer: newest, epoch, told: told.clone() })
    }
}

impl Told {
    fn sentence(&self, id: &Name, (producer, epoch): (i64, i16)) -> String {
        let Told { client, at } = self;
        format!("{client} was told at {at} that it is producer {producer}, epoch {epoch}, of {id}")
    }
}
