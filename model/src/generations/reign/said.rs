//! What members say of themselves as they join, how many may, and with what session timeout.
//!
//! Only dynamic members are judged. A static one may come back to a generation that began without it
//! and in which others have taken the room, and its successor is answered in a generation whose
//! leader heard what the predecessor had said.

use super::{Join, Reign, said};
use crate::{ledger::Ledger, promise::Limits, promise::Promise};

impl Reign {
    /// The protocol is one that the member offered, and the leader hears what it said of itself.
    pub(super) fn as_said(&mut self, join: Join<'_>, ledger: &mut Ledger) {
        let generation = self.generations.get_mut(&join.generation);
        let generation = generation.expect("the caller looked it up or began it");
        let Some(own) = join.said else {
            return ledger.broke(Promise::GenerationAgreement, join.group, || {
                let why = format!("it had not offered protocol {:?}", join.protocol);
                vec![said(join), why]
            });
        };
        if join.instance.is_none() {
            generation.said.insert(join.member.clone(), own.to_vec());
        }
        let is_list = !join.members.is_empty();
        if is_list {
            generation.listed = join.members.iter().cloned().collect();
        }
        let listed = generation.listed.iter();
        let differs = |member, listed| generation.said.get(member).is_some_and(|it| it != listed);
        for (member, _) in listed
            .filter(|(member, _)| is_list || *member == join.member)
            .filter(|(member, listed)| differs(*member, *listed))
        {
            ledger.broke(Promise::GenerationAgreement, join.group, || {
                let why = format!("the leader was told something else of {member} than it said");
                vec![said(join), why]
            });
        }
    }

    /// A generation has no more members than a group may have.
    pub(super) fn few_enough(&self, join: Join<'_>, limits: &Limits, ledger: &mut Ledger) {
        let members = self.generations[&join.generation].said.len();
        if members > limits.members {
            ledger.broke(Promise::GenerationAgreement, join.group, || {
                let why = format!("it is one of {members}, {} are allowed", limits.members);
                vec![said(join), why]
            });
        }
    }
}

/// A member's session timeout is one that brokers allow.
pub(super) fn within_bounds(join: Join<'_>, limits: &Limits, ledger: &mut Ledger) {
    let (shortest, longest) = limits.sessions;
    if join.session < shortest || join.session > longest {
        ledger.broke(Promise::GenerationAgreement, join.group, || {
            let session = join.session;
            let why =
                format!("its session timeout is {session}, allowed are {shortest} to {longest}");
            vec![said(join), why]
        });
    }
}
