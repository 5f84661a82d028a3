//! What there is: settings of the run, topics, clients.

use std::time::Duration;

use super::{Read, Verb};
use crate::{
    plan::{Clients, Topic},
    text::{
        defaults,
        draft::new_name,
        value::{Count, Period, Ppm},
    },
};

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "brokers",
        usage: "brokers COUNT [release=former|current]",
        about: "How many brokers there are at first, `kaas-0` and up, and of which release: the \
                current one, or the former with fewer keys in its files.",
        example: "brokers 3",
        read: Read::Setting(|line, draft| {
            let Count(brokers) = line.value()?;
            draft.plan.brokers = brokers;
            draft.plan.release = line.or("release", defaults::RELEASE)?;
            Ok(())
        }),
    },
    Verb {
        name: "seed",
        usage: "seed NUMBER",
        about: "Where the run's randomness comes from, for a story that depends on one schedule.",
        example: "seed 7",
        read: Read::Setting(|line, draft| {
            draft.plan.seed = line.value()?;
            Ok(())
        }),
    },
    Verb {
        name: "network",
        usage: "network latency=DURATION|RANGE",
        about: "How long a message takes: 2ms, unless this says otherwise.",
        example: "network latency=1ms..10ms",
        read: Read::Setting(|line, draft| {
            draft.plan.network = line.needed("latency")?;
            Ok(())
        }),
    },
    Verb {
        name: "volume",
        usage: "volume latency=DURATION|RANGE",
        about: "How long an operation on the volume takes: 1ms, unless this says otherwise.",
        example: "volume latency=500us..20ms",
        read: Read::Setting(|line, draft| {
            draft.plan.volume = line.needed("latency")?;
            Ok(())
        }),
    },
    Verb {
        name: "clocks",
        usage: "clocks drift=DRIFT",
        about: "How fast or slow brokers' clocks may run: just right, unless this says otherwise.",
        example: "clocks drift=200ppm",
        read: Read::Setting(|line, draft| {
            let Ppm(drift) = line.needed("drift")?;
            draft.plan.drift_ppm = drift;
            Ok(())
        }),
    },
    Verb {
        name: "clients",
        usage: "clients stagger=DURATION",
        about: "How far apart clients start: 20ms, unless this says otherwise.",
        example: "clients stagger=1s",
        read: Read::Setting(|line, draft| {
            draft.plan.stagger = line.needed("stagger")?;
            Ok(())
        }),
    },
    Verb {
        name: "group-size",
        usage: "group-size max=COUNT",
        about: "How many members a group may have: any number, unless this says otherwise.",
        example: "group-size max=3",
        read: Read::Setting(|line, draft| {
            let Count(max) = line.needed("max")?;
            draft.plan.group_max = Some(max);
            Ok(())
        }),
    },
    Verb {
        name: "topic",
        usage: "topic NAME partitions=COUNT",
        about: "A topic.",
        example: "topic payments partitions=3",
        read: Read::Declaration(|line, draft| {
            let name = new_name(line.name()?)?;
            let Count(partitions) = line.needed("partitions")?;
            draft.add_topic(Topic { name, partitions })
        }),
    },
    Verb {
        name: "group",
        usage: "group NAME topic=TOPIC members=COUNT [commit-every=DURATION] [session=DURATION] \
                [rebalance=DURATION] [heartbeat=DURATION] [static=yes|no] [transactions=TIMEOUT]",
        about: "A consumer group and its members, `NAME.1` and up; with `transactions` they process \
                what they consume in transactions of that timeout.",
        example: "group audit topic=orders members=2 commit-every=500ms",
        read: Read::Declaration(|line, draft| {
            let period = |key, usual: Duration| line.or(key, Period(usual)).map(|Period(it)| it);
            let commit_every = period("commit-every", defaults::COMMIT_EVERY)?;
            let session = period("session", defaults::SESSION)?;
            let rebalance = period("rebalance", defaults::REBALANCE)?;
            let heartbeat = period("heartbeat", defaults::HEARTBEAT)?;
            let is_static = line.or("static", false)?;
            let transactions = line.optional("transactions")?.map(|Period(it)| it);
            let topic = draft.topic(line.needed_text("topic")?)?;
            let Count(members) = line.needed("members")?;
            let name = new_name(line.name()?)?;
            draft.add_clients(Clients::Group {
                name,
                topic,
                members,
                commit_every,
                session,
                rebalance,
                heartbeat,
                is_static,
                transactions,
            })
        }),
    },
    Verb {
        name: "committer",
        usage: "committer GROUP topic=TOPIC every=DURATION [at-once=COUNT]",
        about: "One client that commits and reads without joining, `GROUP!`; `at-once` of its commits \
                are under way at a time.",
        example: "committer batch topic=orders every=1s at-once=3",
        read: Read::Declaration(|line, draft| {
            let name = new_name(line.name()?)?;
            let topic = draft.topic(line.needed_text("topic")?)?;
            let Period(every) = line.needed("every")?;
            let Count(at_once) = line.or("at-once", Count(defaults::AT_ONCE))?;
            draft.add_clients(Clients::Committer { at_once, name, topic, every })
        }),
    },
    Verb {
        name: "reader",
        usage: "reader GROUP every=DURATION",
        about: "One client, `GROUP~`, that reads offsets and stays with the broker it found.",
        example: "reader billing every=200ms",
        read: Read::Declaration(|line, draft| {
            let Period(every) = line.needed("every")?;
            let name = draft.group(line.name()?)?;
            draft.add_clients(Clients::Reader { name, every })
        }),
    },
    Verb {
        name: "one-shot",
        usage: "one-shot NAME count=COUNT every=DURATION [odd-ids=yes|no] [delete=yes|no]",
        about: "Groups of one commit and one read each, one after the other by `NAME?`.",
        example: "one-shot job count=20 every=500ms odd-ids=yes delete=yes",
        read: Read::Declaration(|line, draft| {
            let name = new_name(line.name()?)?;
            let Count(count) = line.needed("count")?;
            let Period(every) = line.needed("every")?;
            let odd_ids = line.or("odd-ids", false)?;
            let delete = line.or("delete", false)?;
            draft.add_clients(Clients::OneShot { name, count, every, odd_ids, delete })
        }),
    },
    Verb {
        name: "admin",
        usage: "admin NAME every=DURATION",
        about: "One client that lists, describes and fetches everything on every broker.",
        example: "admin ops every=2s",
        read: Read::Declaration(|line, draft| {
            let name = new_name(line.name()?)?;
            let Period(every) = line.needed("every")?;
            draft.add_clients(Clients::Admin { name, every })
        }),
    },
    Verb {
        name: "rude",
        usage: "rude GROUP manner=MANNER every=DURATION [from=DURATION]",
        about: "One more member of a group, `GROUP.MANNER`, which is none as it should be.",
        example: "rude billing manner=never-syncs every=2s",
        read: Read::Declaration(|line, draft| {
            let manner = line.needed("manner")?;
            let Period(every) = line.needed("every")?;
            let from = line.or("from", defaults::FROM)?;
            let group = draft.consumer_group(line.name()?)?;
            draft.add_clients(Clients::Rude { group, manner, every, from })
        }),
    },
];
