//! The envelope, the older plain map, foreign keys, and files that must be refused.

use super::{Committed, OffsetFile};
use crate::ids::{GroupId, TopicPartition};

fn group() -> GroupId {
    "g".into()
}

fn parse(text: &str) -> Result<OffsetFile, String> {
    OffsetFile::parse(&group(), text.as_bytes()).map_err(|error| error.to_string())
}

fn text(file: &OffsetFile) -> String {
    String::from_utf8(file.to_json(&group())).unwrap()
}

fn offset(file: &OffsetFile, topic: &str, partition: i32) -> i64 {
    file.offsets[&TopicPartition::new(topic, partition)].offset
}

#[test]
fn a_full_file_survives_a_round_trip() {
    let mut file = OffsetFile {
        protocol_type: Some("consumer".into()),
        empty_since: Some(5),
        sequence: 9,
        ..OffsetFile::default()
    };
    for partition in 0..3 {
        let committed = Committed {
            offset: i64::from(partition) - 1,
            leader_epoch: partition - 1,
            metadata: ["", "note", "\"ü\0"][usize::try_from(partition).unwrap()].into(),
            committed_ms: (partition > 0).then_some(i64::from(partition) * 1000),
            expires_ms: (partition == 2).then_some(77),
            position: 0,
        };
        file.offsets.insert(TopicPartition::new("a/b", partition), committed);
    }
    assert_eq!(parse(&text(&file)), Ok(file));
}

#[test]
fn the_kaas_envelope_is_read_and_foreign_keys_survive() {
    let file = parse(r#"{"offsets":{"t/0":5,"t/10":6},"metadata":{"t/0":"m"},"x":[1,{"y":null}]}"#)
        .unwrap();
    assert_eq!((offset(&file, "t", 0), offset(&file, "t", 10)), (5, 6));
    let rewritten = text(&file);
    assert!(rewritten.contains(r#""x":[1,{"y":null}]"#), "{rewritten}");
    assert!(rewritten.contains(r#""offsets":{"t/0":5,"t/10":6},"metadata":{"t/0":"m"}"#));
}

#[test]
fn the_older_plain_map_is_read_and_rewritten() {
    let file = parse(r#"{"t/0":5,"offsets/1":7}"#).unwrap();
    assert_eq!((offset(&file, "t", 0), offset(&file, "offsets", 1)), (5, 7));
    assert!(text(&file).starts_with(r#"{"group":"g","offsets":{"offsets/1":7,"t/0":5}"#));
    assert!(parse("{}").unwrap().is_empty());
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let whole = r#"{"group":"g","offsets":{"t/0":5},"sequence":3}"#;
    for cut in 0..whole.len() {
        assert!(parse(&whole[..cut]).is_err(), "cut at {cut}");
    }
    let check = |text: &str, expected: &str| assert_eq!(parse(text).unwrap_err(), expected);
    check(r#"{"group":"h","offsets":{}}"#, r#"belongs to the group "h""#);
    check(r#"{"offsets":[]}"#, r#"the value of "offsets" is no object"#);
    check(r#"{"offsets":{"t":5}}"#, r#"the entry "t" of "offsets" is malformed"#);
    check(r#"{"offsets":{"t/0":1.5}}"#, r#"the entry "t/0" of "offsets" is malformed"#);
    check(r#"{"offsets":{},"sequence":-1}"#, r#"the value of "sequence" is of another kind"#);
    check("[]", "not a JSON object");
}
