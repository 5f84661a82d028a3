//! What a plan says about itself: names, partitions, the longest timeouts.

use std::{sync::Arc, time::Duration};

use super::{Action, Clients, Plan, Span};
use crate::release::Release;

impl Plan {
    /// Whether nothing that happens may depend on the seed: a scenario, whose trace is a snapshot.
    pub fn is_fixed(&self) -> bool {
        let is_fixed = |span: Span| span.min == span.max;
        is_fixed(self.network) && is_fixed(self.volume) && self.drift_ppm == 0
    }

    /// Whether any broker may be of the former release.
    pub fn knows_former(&self) -> bool {
        let is_former =
            |action: &Action| matches!(action, Action::Install { release: Release::Former, .. });
        self.release == Release::Former || self.steps.iter().any(|it| is_former(&it.action))
    }

    /// When the first thing happens that may disturb anybody; at once if a step has no time.
    pub fn first_trouble(&self) -> Option<Duration> {
        let troubles = self.steps.iter().filter(|it| !matches!(it.action, Action::Wait { .. }));
        troubles.map(|it| it.at.unwrap_or_default()).min()
    }

    /// The partitions of a topic, `topic/n`.
    pub fn partitions(&self, topic: &str) -> Arc<[String]> {
        let count = self.topics.iter().find(|it| it.name == topic).map_or(0, |it| it.partitions);
        (0..count).map(|partition| format!("{topic}/{partition}")).collect()
    }

    /// The topic that a group consumes; empty if there is no such group.
    pub fn topic_of(&self, group: &str) -> &str {
        let topics = self.clients.iter().filter_map(|clients| match clients {
            Clients::Group { name, topic, .. } | Clients::Committer { name, topic, .. } => {
                Some((name, topic))
            }
            Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        let mut topics = topics.filter(|(name, _)| *name == group);
        topics.next().map_or("", |(_, topic)| topic.as_str())
    }

    /// The groups that are there for the whole run: those of consumers and committers.
    pub fn groups(&self) -> Arc<[String]> {
        let names = self.clients.iter().filter_map(|clients| match clients {
            Clients::Group { name, .. } | Clients::Committer { name, .. } => Some(name.clone()),
            Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        names.collect()
    }

    /// The longest rebalance timeout of any consumer.
    pub fn longest_rebalance(&self) -> Duration {
        self.rebalances().map(|(_, it)| it).max().unwrap_or_default()
    }

    /// Each group of consumers, and its rebalance timeout.
    pub fn rebalances(&self) -> impl Iterator<Item = (&str, Duration)> {
        self.clients.iter().filter_map(|it| match it {
            Clients::Group { name, rebalance, .. } => Some((name.as_str(), *rebalance)),
            Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        })
    }

    /// The longest session timeout of any consumer.
    pub fn longest_session(&self) -> Duration {
        let sessions = self.clients.iter().filter_map(|it| match it {
            Clients::Group { session, .. } => Some(*session),
            Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        sessions.max().unwrap_or_default()
    }

    /// The longest timeout of any transaction; `None` if nobody uses any.
    pub fn longest_transaction(&self) -> Option<Duration> {
        let timeouts = self.clients.iter().filter_map(|it| match it {
            Clients::Group { transactions, .. } => *transactions,
            Clients::Committer { .. }
            | Clients::Reader { .. }
            | Clients::OneShot { .. }
            | Clients::Admin { .. }
            | Clients::Rude { .. } => None,
        });
        timeouts.max()
    }
}
