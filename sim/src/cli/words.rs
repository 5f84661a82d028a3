//! The vocabulary: promises, verbs, milestones.

use std::io;

use model::Promise;

use super::{
    Console, Exit, Halt,
    layout::{WIDTH, wrap},
};
use crate::{
    milestone::Milestone,
    plan::{Moment, THERE},
    text,
};

pub(super) fn promises(console: &mut Console<'_>) -> Result<Exit, Halt> {
    list(console, Promise::ALL.iter().map(|it| (it.name(), it.claim().to_owned())))
}

pub(super) fn verbs(console: &mut Console<'_>) -> Result<Exit, Halt> {
    let verbs: Vec<_> = text::verbs().collect();
    let indent = 2 + verbs.iter().map(|it| it.name.len()).max().unwrap_or_default();
    for verb in verbs {
        describe(console, indent, verb.name, verb.about)?;
        describe(console, indent, "", verb.usage)?;
        writeln!(console.out)?;
    }
    let moments = Moment::ALL.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    let about = format!(
        "Every step that takes `at` can wait for a moment too, `when=MOMENT` or, for the third from \
         then on, `when=MOMENT:3`; of one group only with `of=GROUP`. The broker at which it came is \
         called `{THERE}`. Moments are {moments}."
    );
    describe(console, indent, "when", &about)?;
    Ok(Exit::Kept)
}

pub(super) fn milestones(console: &mut Console<'_>) -> Result<Exit, Halt> {
    let about = |it: Milestone| match it.is_rare() {
        true => format!("{} (rare)", it.about()),
        false => it.about().to_owned(),
    };
    list(console, Milestone::ALL.iter().map(|it| (it.name(), about(*it))))
}

/// Names, and what they mean beside them.
fn list(
    console: &mut Console<'_>,
    words: impl Iterator<Item = (&'static str, String)> + Clone,
) -> Result<Exit, Halt> {
    let indent = 2 + words.clone().map(|(name, _)| name.len()).max().unwrap_or_default();
    for (name, meaning) in words {
        describe(console, indent, name, &meaning)?;
    }
    Ok(Exit::Kept)
}

/// A name, and what it means beside it.
fn describe(console: &mut Console<'_>, indent: usize, name: &str, meaning: &str) -> io::Result<()> {
    for (at, line) in wrap(meaning, WIDTH - indent).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        writeln!(console.out, "{name:indent$}{line}")?;
    }
    Ok(())
}
