//! The names things have: groups, members, brokers, topics.
//!
//! Each is a cheap-to-clone string of its own type, so that a member id can't be passed where a
//! group id is meant. Any string is a valid id as far as this file is concerned; which ones an API
//! accepts is decided where the API is implemented.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The shared text itself, for a host that keeps names of its own.
            pub fn shared(&self) -> Arc<str> {
                Arc::clone(&self.0)
            }

            /// Whether the id is the empty string, which several Kafka APIs give a meaning.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }
    };
}

id_type!(
    /// A broker's name, `kaas-<ordinal>`; ordered bytewise, so `kaas-10` comes before `kaas-2`.
    BrokerId
);
id_type!(
    /// A consumer group's id; any UTF-8 text.
    GroupId
);
id_type!(
    /// A member's id, given out by the coordinator and never used again; empty means "not yet".
    MemberId
);
id_type!(
    /// A static member's `group.instance.id` (KIP-345).
    InstanceId
);
id_type!(
    /// A `transactional.id`: what a producer calls itself across its restarts.
    TransactionalId
);
id_type!(
    /// A topic's name.
    Topic
);

/// One partition of one topic. Displays as the offset file's key, `topic/partition`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TopicPartition {
    /// The topic.
    pub topic: Topic,
    /// The partition's number.
    pub partition: i32,
}

impl TopicPartition {
    /// Partition `partition` of `topic`.
    pub fn new(topic: impl Into<Topic>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }

    /// Reads `topic/partition`; the last slash separates, since a topic can't end in a number
    /// behind a slash. `None` if there is no slash or no number behind it.
    pub fn parse(key: &str) -> Option<Self> {
        let (topic, partition) = key.rsplit_once('/')?;
        Some(Self::new(topic, partition.parse().ok()?))
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.topic, self.partition)
    }
}
