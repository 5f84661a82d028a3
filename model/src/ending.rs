//! convergence: at the end every group is at rest, with every partition at exactly one member.
//!
//! It compares what the members hold with what they subscribed to, and demands a word of
//! explanation for nothing: a reason why a group is not stable is told in the evidence, it does not
//! excuse it. When "the end" has come is for the history to say.

use crate::{event::Name, ledger::Ledger, promise::Promise};
use std::collections::BTreeMap;

/// How many partitions of one kind of trouble are named.
const NAMED: usize = 8;

/// The state of a group at the end.
pub(crate) fn group_at_end(
    group: &Name,
    partitions: &[Name],
    held: &[(Name, Vec<Name>)],
    pending: Option<&Name>,
    ledger: &mut Ledger,
) {
    ledger.check(Promise::Convergence);
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
    if !told.is_empty() {
        ledger.broke(Promise::Convergence, group, || told);
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
