//! What single clients do.

use super::{Read, Verb};
use crate::{plan::Action, text::defaults};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "leave",
        usage: "leave MEMBER [at=TIME]",
        about: "A member leaves its group and the cluster.",
        example: "leave billing.1",
        read: Read::Step(|line, draft| Ok(Action::Leave { client: draft.member(line.name()?)? })),
    },
    Verb {
        name: "crash",
        usage: "crash MEMBER down=DURATION [keeps-id=yes|no] [peers=reset|silent] [at=TIME]",
        about: "A member's process dies and begins anew after a while; it knows its names, perhaps its \
                id. If silent, its machine dies too, and brokers do not see its connections end.",
        example: "crash billing.1 down=2s",
        read: Read::Step(|line, draft| {
            let client = draft.member(line.name()?)?;
            let keeps_id = line.or("keeps-id", false)?;
            let peers = line.or("peers", defaults::GOODBYE)?;
            Ok(Action::Crash { client, down: line.needed("down")?, keeps_id, peers })
        }),
    },
    Verb {
        name: "freeze",
        usage: "freeze CLIENT for=DURATION [at=TIME]",
        about: "A client stops in place, with its connections, and wakes up after a while.",
        example: "freeze billing.1 for=15s",
        read: Read::Step(|line, draft| {
            let client = draft.client(line.name()?)?;
            Ok(Action::Freeze { client, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "duplicate",
        usage: "duplicate MEMBER for=DURATION [at=TIME]",
        about: "A second process, `MEMBER*`, runs under the instance id of a static member.",
        example: "duplicate billing.1 for=10s",
        read: Read::Step(|line, draft| {
            let client = draft.static_member(line.name()?)?;
            Ok(Action::Duplicate { client, duration: line.needed("for")? })
        }),
    },
];
