//! The verbs, a registry: what each is called, says and reads.

use super::{draft::Draft, line::Line};
use crate::plan::Action;

mod client;
mod cluster;
mod control;
mod header;
mod machine;
mod network;
mod volume;

/// A word of the scenario language.
#[derive(Debug)]
pub struct Verb {
    /// What a line with it begins with.
    pub name: &'static str,
    /// The whole line: what is in brackets may be left out.
    pub usage: &'static str,
    /// What it says, in a sentence.
    pub about: &'static str,
    /// A line with it.
    pub example: &'static str,
    pub(super) read: Read,
}

/// How the rest of a line is read.
#[derive(Debug)]
pub(super) enum Read {
    /// Says something about the whole run, once.
    Setting(fn(&mut Line<'_>, &mut Draft) -> Result<(), String>),
    /// Declares a topic or clients.
    Declaration(fn(&mut Line<'_>, &mut Draft) -> Result<(), String>),
    /// Lets something happen.
    Step(fn(&mut Line<'_>, &Draft) -> Result<Action, String>),
}

/// What every step with a time can wait for instead.
const MOMENTS: &[(&str, &str)] = &[("when", "MOMENT"), ("of", "GROUP")];

impl Verb {
    /// The keys of the options that it takes, and what kind of value each has.
    pub(super) fn options(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let words = self.usage.split(' ').map(|word| word.trim_matches(['[', ']']));
        let own = words.filter_map(|word| word.split_once('='));
        let can_wait = self.usage.contains("[at=");
        own.chain(MOMENTS.iter().copied().filter(move |_| can_wait))
    }
}

/// All verbs: what comes first in a scenario first, then by what they act on.
pub fn verbs() -> impl Iterator<Item = &'static Verb> {
    let parts = [
        header::VERBS,
        cluster::VERBS,
        machine::VERBS,
        control::VERBS,
        network::VERBS,
        volume::VERBS,
        client::VERBS,
    ];
    parts.into_iter().flatten()
}
