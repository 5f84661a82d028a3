//! convergence: at the end every group is at rest, with every partition at exactly one member, or
//! there is a reason for it that the history itself shows.
//!
//! It compares what the members hold with what they subscribed to. Of a group that is at rest it
//! demands a word of explanation for nothing. Of one that is not, what it waits for is told in the
//! evidence; it does not excuse it. What does is that its file was lost, or that nobody reaches the
//! broker to which the last view routes it, or a transactional id under which one of its clients
//! began a transaction: no member can then do anything about it. When "the end" has come is for the
//! history to say.
//!
//! Always: an excuse rests on events that no broker can bring about, and on the reference rule.

use crate::{
    event::{Kind, Name},
    ledger::Ledger,
    promise::{Excuse, Promise, Reason},
    sight::World,
};
use std::collections::{BTreeMap, BTreeSet};

/// How many partitions of one kind of trouble are named.
const NAMED: usize = 8;

/// What stays broken for good, and whose transactions it may concern.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    lost: BTreeSet<Name>,
    unreachable: BTreeSet<Name>,
    /// The transactional ids under which each client began a transaction.
    producers: BTreeMap<Name, BTreeSet<Name>>,
}

/// The state of a group at the end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupAtEnd<'a> {
    pub(crate) group: &'a Name,
    pub(crate) partitions: &'a [Name],
    pub(crate) held: &'a [(Name, Vec<Name>)],
    pub(crate) pending: Option<&'a Name>,
}

impl Ending {
    /// The group's file became unreadable.
    pub(crate) fn file_lost(&mut self, group: &Name) {
        self.lost.insert(group.clone());
    }

    /// A broker changed a file, to one of that group if any.
    pub(crate) fn file_changed(&mut self, group: Option<&Name>) {
        if let Some(group) = group {
            self.lost.remove(group);
        }
    }

    /// Nobody reaches the broker any more.
    pub(crate) fn unreachable(&mut self, broker: &Name) {
        self.unreachable.insert(broker.clone());
    }

    /// The client begins a transaction under that id.
    pub(crate) fn begins(&mut self, client: &Name, id: &Name) {
        let ids = self.producers.entry(client.clone()).or_default();
        if !ids.contains(id) {
            ids.insert(id.clone());
        }
    }

    /// Judges a group at the end.
    pub(crate) fn group_at_end(&self, it: GroupAtEnd<'_>, world: &World, ledger: &mut Ledger) {
        ledger.check(Promise::Convergence);
        let mut evidence = it.unrest();
        if evidence.is_empty() {
            return;
        }
        let group = it.group;
        match self.reason(it, world) {
            Some((reason, shown)) => {
                evidence.push(shown);
                ledger.excuse(Excuse { group: group.clone(), reason, evidence });
            }
            None => ledger.broke(Promise::Convergence, group, || evidence),
        }
    }

    /// Why the group can't come to rest, and what shows it.
    fn reason(&self, it: GroupAtEnd<'_>, world: &World) -> Option<(Reason, String)> {
        let group = it.group;
        if self.lost.contains(group) {
            let shown = format!("the offset file of {group} is lost, and no broker did that");
            return Some((Reason::FileLost, shown));
        }
        if let Some(shown) = self.beyond_reach(Kind::Group, group, world) {
            return Some((Reason::CoordinatorUnreachable, shown));
        }
        let mut ids = it.held.iter().filter_map(|(client, _)| self.producers.get(client)).flatten();
        let shown = ids.find_map(|id| self.beyond_reach(Kind::Transaction, id, world))?;
        Some((Reason::TransactionsUnreachable, shown))
    }

    /// Says so if nobody reaches the broker to which the last view routes the key.
    fn beyond_reach(&self, kind: Kind, key: &Name, world: &World) -> Option<String> {
        let view = world.latest()?;
        let to = view.route(kind, key).filter(|to| self.unreachable.contains(*to))?;
        Some(format!("{}, and nobody reaches {to}", view.explain(kind, key)))
    }
}

impl GroupAtEnd<'_> {
    /// What is not at rest; nothing if all is well.
    fn unrest(self) -> Vec<String> {
        let GroupAtEnd { group, partitions, held, pending } = self;
        let mut holders: BTreeMap<&Name, Vec<&Name>> = BTreeMap::new();
        for (client, partitions) in held {
            for partition in partitions {
                holders.entry(partition).or_default().push(client);
            }
        }
        let mut told: Vec<String> = Vec::new();
        if let Some(reason) = pending {
            told.push(format!("{group} is not stable: {reason}"));
        }
        let missing = partitions.iter().filter(|partition| !holders.contains_key(partition));
        let missing: Vec<String> = missing.map(|partition| partition.to_string()).collect();
        if !missing.is_empty() {
            told.push(format!("nobody holds {} of {group}", few(&missing)));
        }
        let twice = holders.iter().filter(|(_, clients)| clients.len() > 1);
        let twice = twice.map(|(partition, clients)| {
            let clients: Vec<String> = clients.iter().map(|client| client.to_string()).collect();
            format!("{partition} (by {})", few(&clients))
        });
        let twice: Vec<String> = twice.collect();
        if !twice.is_empty() {
            told.push(format!("held more than once: {}", few(&twice)));
        }
        told
    }
}

/// The first of a list, and how many more there are.
fn few(names: &[String]) -> String {
    let first = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
