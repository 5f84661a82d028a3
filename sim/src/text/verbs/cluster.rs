//! What brokers do and what is done to them; and waiting.

use super::{Read, Verb};
use crate::{
    plan::Action,
    text::{defaults, value::Count},
};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "wait",
        usage: "wait DURATION [at=TIME]",
        about: "Lets time pass.",
        example: "wait 5s",
        read: Read::Step(|line, _| Ok(Action::Wait { duration: line.value()? })),
    },
    Verb {
        name: "stable",
        usage: "stable [GROUP...] within=DURATION",
        about: "Waits until the groups, or all of them, are stable; that they are is a promise.",
        example: "stable billing within=30s",
        read: Read::Step(|line, draft| {
            let groups =
                line.names().map(|it| draft.consumer_group(it)).collect::<Result<_, _>>()?;
            Ok(Action::Stable { groups, within: line.needed("within")? })
        }),
    },
    Verb {
        name: "restart",
        usage: "restart BROKER down=DURATION [how=graceful|abrupt] [at=TIME]",
        about: "A broker goes and comes back; it drains and closes first, unless it is abrupt.",
        example: "restart kaas-1 down=3s how=abrupt",
        read: Read::Step(|line, draft| {
            Ok(Action::Restart {
                broker: draft.broker(line.name()?)?,
                down: line.needed("down")?,
                exit: line.or("how", defaults::EXIT)?,
            })
        }),
    },
    Verb {
        name: "install",
        usage: "install BROKER release=former|current down=DURATION [how=graceful|abrupt] [at=TIME]",
        about: "A broker goes and comes back as one of another release, as in a rolling upgrade.",
        example: "install kaas-1 release=former down=3s",
        read: Read::Step(|line, draft| {
            Ok(Action::Install {
                broker: draft.broker(line.name()?)?,
                release: line.needed("release")?,
                down: line.needed("down")?,
                exit: line.or("how", defaults::EXIT)?,
            })
        }),
    },
    Verb {
        name: "kill",
        usage: "kill BROKER [peers=reset|silent] [at=TIME]",
        about: "A broker dies and stays away; its peers see their connections end, or nothing.",
        example: "kill kaas-1 peers=silent",
        read: Read::Step(|line, draft| {
            Ok(Action::Kill {
                broker: draft.broker(line.name()?)?,
                peers: line.or("peers", defaults::GOODBYE)?,
            })
        }),
    },
    Verb {
        name: "start",
        usage: "start BROKER [at=TIME]",
        about: "A broker that was killed starts.",
        example: "start kaas-1",
        read: Read::Step(|line, draft| Ok(Action::Start { broker: draft.broker(line.name()?)? })),
    },
    Verb {
        name: "pause",
        usage: "pause BROKER for=DURATION [at=TIME]",
        about: "A broker stops in place and goes on after a while.",
        example: "pause kaas-1 for=15s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            Ok(Action::Pause { broker, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "stop-in",
        usage: "stop-in BROKER on=OPERATION [nth=COUNT] [pause=DURATION] [at=TIME]",
        about: "A broker is paused, or dies, in a volume operation that happens unknown to it.",
        example: "stop-in kaas-1 on=rename nth=2 pause=20s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let on = line.needed("on")?;
            let Count(nth) = line.or("nth", Count(defaults::NTH))?;
            Ok(Action::StopIn { broker, on, nth, pause: line.optional("pause")? })
        }),
    },
];
