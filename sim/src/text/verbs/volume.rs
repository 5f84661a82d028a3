//! What happens to the shared volume.

use super::{Read, Verb};
use crate::{
    plan::Action,
    text::{defaults, value::Percent},
};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "fail",
        usage: "fail [broker=BROKER] error=io|full|stale [on=OPERATION] [percent=SHARE] for=DURATION \
                [at=TIME]",
        about: "Operations on the volume fail: all of them, unless this says otherwise.",
        example: "fail broker=kaas-1 error=io on=rename percent=30% for=10s",
        read: Read::Step(|line, draft| {
            let Percent(percent) = line.or("percent", Percent(defaults::PERCENT))?;
            Ok(Action::Fail {
                broker: line.text("broker").map(|it| draft.broker(it)).transpose()?,
                error: line.needed("error")?,
                on: line.or("on", defaults::OPERATION)?,
                percent,
                duration: line.needed("for")?,
            })
        }),
    },
    Verb {
        name: "slow-volume",
        usage: "slow-volume [broker=BROKER] by=DURATION for=DURATION [at=TIME]",
        about: "Operations on the volume take longer.",
        example: "slow-volume broker=kaas-1 by=200ms for=5s",
        read: Read::Step(|line, draft| {
            Ok(Action::SlowVolume {
                broker: line.text("broker").map(|it| draft.broker(it)).transpose()?,
                by: line.needed("by")?,
                duration: line.needed("for")?,
            })
        }),
    },
    Verb {
        name: "failover",
        usage: "failover [at=TIME]",
        about: "The volume moves to its standby: directory entries that were not synced are lost.",
        example: "failover",
        read: Read::Step(|_, _| Ok(Action::Failover)),
    },
    Verb {
        name: "rot",
        usage: "rot GROUP [at=TIME]",
        about: "A group's offset file becomes unreadable, for good.",
        example: "rot billing",
        read: Read::Step(|line, draft| Ok(Action::Rot { group: draft.group(line.name()?)? })),
    },
];
