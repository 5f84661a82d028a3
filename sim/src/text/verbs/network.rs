//! What happens between clients and brokers.

use super::{Read, Verb};
use crate::{
    plan::Action,
    text::{defaults, value::Lasts},
};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "cut",
        usage: "cut BROKER [client=CLIENT] [way=both|requests|answers] for=DURATION|good \
                [at=TIME]",
        about: "Messages between a broker and a client, or all of them, do not arrive. For good means \
                that nobody reaches the broker when all else has healed, as the controller alone does.",
        example: "cut kaas-1 client=billing.1 way=answers for=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let client = line.text("client").map(|it| draft.client(it)).transpose()?;
            let way = line.or("way", defaults::WAY)?;
            match line.needed("for")? {
                Lasts::For(duration) => Ok(Action::Cut { broker, client, way, duration }),
                Lasts::Good if client.is_none() && way == defaults::WAY => {
                    Ok(Action::CutOff { broker })
                }
                Lasts::Good => {
                    Err("for good only a whole broker is cut off, both ways; leave out \
                                    `client` and `way`"
                        .to_owned())
                }
            }
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
