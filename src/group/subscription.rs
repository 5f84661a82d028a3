//! The topics in a consumer's protocol metadata.
//!
//! Metadata is opaque to a coordinator, with one exception: OffsetDelete (KIP-496) and retention
//! (KIP-211) must know which topics a group consumes. Every version of the consumer protocol begins
//! with version 0, so that is all this reads: a version, the topics, the user's data. It takes no
//! part in assignment.

use std::collections::BTreeSet;

use crate::ids::Topic;

/// The topics of one subscription; `None` if `metadata` is not one.
pub(super) fn topics(metadata: &[u8]) -> Option<BTreeSet<Topic>> {
    let mut rest = metadata;
    let _version = take_i16(&mut rest)?;
    let count = take_i32(&mut rest)?;
    let mut topics = BTreeSet::new();
    for _ in 0..usize::try_from(count).ok()? {
        let length = usize::try_from(take_i16(&mut rest)?).ok()?;
        let name = rest.split_off(..length)?;
        topics.insert(Topic::from(str::from_utf8(name).ok()?));
    }
    // Null user data has the length -1.
    let length = usize::try_from(take_i32(&mut rest)?).unwrap_or_default();
    rest.split_off(..length)?;
    Some(topics)
}

fn take_i16(rest: &mut &[u8]) -> Option<i16> {
    let (bytes, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(i16::from_be_bytes(*bytes))
}

fn take_i32(rest: &mut &[u8]) -> Option<i32> {
    let (bytes, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(i32::from_be_bytes(*bytes))
}
