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

#[cfg(test)]
mod tests {
    use super::topics;

    #[test]
    fn reads_what_every_version_begins_with() {
        let read = |metadata: &[u8]| {
            let topics = topics(metadata)?;
            Some(topics.iter().map(|topic| topic.as_str()).collect::<Vec<_>>().join(" "))
        };
        let table: [(&str, &[u8], Option<&str>); 12] = [
            ("nothing", b"", None),
            ("half a version", b"\0", None),
            ("only a version", b"\0\0", None),
            ("no topics, null data", b"\0\0\0\0\0\0\xff\xff\xff\xff", Some("")),
            ("no data at all", b"\0\0\0\0\0\0", None),
            ("one topic", b"\0\0\0\0\0\x01\0\x01t\0\0\0\0", Some("t")),
            ("two topics", b"\0\0\0\0\0\x02\0\x01t\0\x02uv\0\0\0\0", Some("t uv")),
            ("version 3 and more", b"\0\x03\0\0\0\x01\0\x01t\0\0\0\x01xmore", Some("t")),
            ("data cut short", b"\0\0\0\0\0\x01\0\x01t\0\0\0\x09x", None),
            ("topic cut short", b"\0\0\0\0\0\x01\0\x05t", None),
            ("null topics", b"\0\0\xff\xff\xff\xff\0\0\0\0", None),
            ("a count that can't be", b"\0\0\x7f\xff\xff\xff\0\x01t\0\0\0\0", None),
        ];
        for (case, metadata, expected) in table {
            assert_eq!(read(metadata).as_deref(), expected, "{case}");
        }
    }
}
