//! What happens to the machines under brokers: their processors, their tasks, their clocks.

use super::{Read, Verb};
use crate::{
    plan::Action,
    text::{
        defaults,
        value::{Count, Percent, Period},
    },
};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "starve",
        usage: "starve BROKER share=SHARE for=DURATION [at=TIME]",
        about: "A broker runs in short slices only: for this share of its time it stands still.",
        example: "starve kaas-1 share=90% for=10s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let Percent(percent) = line.needed("share")?;
            Ok(Action::Starve { broker, percent, duration: line.needed("for")? })
        }),
    },
    Verb {
        name: "panic",
        usage: "panic BROKER [nth=COUNT] [at=TIME]",
        about: "The task of a request that has to wait dies in the middle; its connection is reset.",
        example: "panic kaas-1 nth=3",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let Count(nth) = line.or("nth", Count(defaults::NTH))?;
            Ok(Action::Panic { broker, nth })
        }),
    },
    Verb {
        name: "jump",
        usage: "jump BROKER by=DURATION [at=TIME]",
        about: "A broker's clock jumps forward.",
        example: "jump kaas-1 by=5s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            let Period(by) = line.needed("by")?;
            Ok(Action::Jump { broker, by })
        }),
    },
    Verb {
        name: "stop-clock",
        usage: "stop-clock BROKER for=DURATION [at=TIME]",
        about: "A broker's clock stands still for a while and goes on from where it stood.",
        example: "stop-clock kaas-1 for=3s",
        read: Read::Step(|line, draft| {
            let broker = draft.broker(line.name()?)?;
            Ok(Action::StopClock { broker, duration: line.needed("for")? })
        }),
    },
];
