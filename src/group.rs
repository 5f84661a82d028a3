//! One consumer group.
