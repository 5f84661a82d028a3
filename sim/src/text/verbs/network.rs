//! What happens between clients and brokers.

use super::{Read, Verb};
use crate::{plan::Action, text::defaults};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "cut",
        usage: "cut BROKER [client=CLIENT] [way=both|requests|answers] for=DURATION [at=TIME]",
        about: "Messages between a broker and a client, or all of them, do not arrive.",
        example: "cut kaas-1 client=billing.1 way=answers for=5s",
        read: Read::Step(|line, draft| {
            Ok(Action::Cut {
                broker: draft.broker(line.name()?)?,
                client: line.text("client").map(|it| draft.client(it)).transpose()?,
                way: line.or("way", defaults::WAY)?,
                duration: line.needed("for")?,
            })
        }),
    },
    Verb {
        name: "black-hole",
        usage: "black-hole BROKER for=DURATION [at=TIME]",
        about: "New connections to a broker hang.",
        example: "black-hole kaas-1 for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            Ok(Action::BlackHole { broker, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "reset",
        usage: "reset BROKER [at=TIME]",
        about: "All connections to a broker are reset.",
        example: "reset kaas-1",
        read: Read::Step(|line, draft| Ok(Action::Reset { broker: draft.broker(line.name()?)? })),
    },
    Verb {
        name: "slow",
        usage: "slow BROKER by=DURATION for=DURATION [at=TIME]",
        about: "Messages to and from a broker take longer.",
        example: "slow kaas-1 by=300ms for=5s",
        read: Read::Step(|line, draft| {
            Ok(Action::Slow {
                broker: draft.broker(line.name()?)?,
                by: line.needed("by")?,
                duration: line.needed("for")?,
            })
        }),
    },
];
