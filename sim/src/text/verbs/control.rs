//! What the controller does, believes and writes, and what becomes of its file.

use super::{Read, Verb};
use crate::{plan::Action, text::value::Count};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "flap",
        usage: "flap BROKER for=DURATION [at=TIME]",
        about: "The controller believes a healthy broker dead.",
        example: "flap kaas-1 for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            Ok(Action::Flap { broker, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "scale",
        usage: "scale to=COUNT [at=TIME]",
        about: "The full broker set gets another size.",
        example: "scale to=5",
        read: Read::Step(|line, _| {
            let Count(to) = line.needed("to")?;
            Ok(Action::Scale { to })
        }),
    },
    Verb {
        name: "entry",
        usage: "entry GROUP broker=BROKER|none [stays=yes|no] [at=TIME]",
        about: "The controller names a group's coordinator, or leaves it to the hash again; the entry \
                goes when that broker is not alive, unless it stays until another.",
        example: "entry billing broker=kaas-1",
        read: Read::Step(|line, draft| {
            let group = draft.group(line.name()?)?;
            let broker = match line.needed_text("broker")? {
                "none" => None,
                name => Some(draft.broker(name)?),
            };
            Ok(Action::Entry { group, broker, stays: line.or("stays", false)? })
        }),
    },
    Verb {
        name: "depose",
        usage: "depose delay=DURATION [at=TIME]",
        about: "Another controller takes the lease; the deposed one writes once more, late.",
        example: "depose delay=2s",
        read: Read::Step(|line, _| Ok(Action::Depose { delay: line.needed("delay")? })),
    },
    Verb {
        name: "elect",
        usage: "elect delay=DURATION [reset=yes|no] [at=TIME]",
        about: "Another controller takes the lease and publishes nothing for so long; its versions \
                may begin with 1 again.",
        example: "elect delay=4s",
        read: Read::Step(|line, _| {
            Ok(Action::Elect { delay: line.needed("delay")?, reset: line.or("reset", false)? })
        }),
    },
    Verb {
        name: "twin",
        usage: "twin BROKER for=DURATION [at=TIME]",
        about: "A second controller of the same epoch publishes that the broker is dead.",
        example: "twin kaas-1 for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            Ok(Action::Twin { broker, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "damage",
        usage: "damage how=torn|missing|foreign|unreadable for=DURATION [at=TIME]",
        about: "`assignment.json` is damaged, until the next view is published.",
        example: "damage how=torn for=5s",
        read: Read::Step(|line, _| {
            Ok(Action::Damage { how: line.needed("how")?, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "lag",
        usage: "lag BROKER [back=yes|no] for=DURATION [at=TIME]",
        about: "What a broker reads of `assignment.json` stays as it was, or goes back by one view.",
        example: "lag kaas-1 back=yes for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let back = line.or("back", false)?;
            Ok(Action::Lag { broker, duration: line.needed("for")?, back })
        }),
    },
    Verb {
        name: "old-lease",
        usage: "old-lease BROKER [back=yes|no] for=DURATION [at=TIME]",
        about: "What a broker is told of the controller's lease stays as it was, or goes back by one \
                epoch.",
        example: "old-lease kaas-1 back=yes for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let back = line.or("back", false)?;
            Ok(Action::OldLease { broker, duration: line.needed("for")?, back })
        }),
    },
];
