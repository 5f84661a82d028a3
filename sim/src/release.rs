//! The releases of the broker that can live together in one run, and what the former makes of a file.
//!
//! Both know the claims and the API. They differ in the offset file: the former release has the
//! offsets and their metadata only. It passes over other keys when it reads, so they are gone when it
//! writes; and since it does not know when an offset was committed, it never expires one.
//!
//! A simulated broker of the former release is the one coordinator there is, with this between it and
//! the volume (`hub.rs`).

use std::time::Duration;

use kaas_coordinator::{
    config::Config,
    offset_store::{CLAIMS_DIR, OFFSETS_DIR},
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::volume::Op;

/// A release of the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Release {
    /// The one before the file got further keys.
    Former,
    /// The one in `src/`.
    Current,
}

impl Release {
    /// All of them, and what each is called.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("former", Self::Former), ("current", Self::Current)];

    /// What it is called.
    pub fn word(self) -> &'static str {
        let (word, _) = Self::ALL.iter().find(|(_, it)| *it == self).expect("all are listed");
        word
    }

    /// What a broker of this release reads of a file, or writes of it.
    pub fn of_file(self, path: &str, content: Vec<u8>) -> Vec<u8> {
        let is_offsets = || path.strip_prefix(OFFSETS_DIR).is_some_and(|it| it.starts_with('/'));
        match self {
            Self::Former if is_offsets() => former(&content).unwrap_or(content),
            Self::Former | Self::Current => content,
        }
    }

    /// How a broker of this release is configured, if one of the current is like that.
    pub fn of_config(self, mut config: Config) -> Config {
        if self == Self::Former {
            config.offsets.retention = Duration::MAX;
            config.offsets.retention_check_interval = Duration::MAX;
        }
        config
    }

    /// The release whose broker wrote an offset file; `None` if that is no such file.
    pub fn that_wrote(content: &[u8]) -> Option<Self> {
        if content.starts_with(br#"{"group":"#) {
            return Some(Self::Current);
        }
        let is_whole = content.starts_with(br#"{"offsets":{"#) && content.ends_with(b"}}");
        is_whole.then_some(Self::Former)
    }
}

/// What the former release has of the content of an offset file; `None` if it is no envelope.
fn former(content: &[u8]) -> Option<Vec<u8>> {
    #[derive(Serialize)]
    struct Envelope {
        offsets: Map<String, Value>,
        #[serde(skip_serializing_if = "Map::is_empty")]
        metadata: Map<String, Value>,
    }
    let mut map: Map<String, Value> = serde_json::from_slice(content).ok()?;
    let mut take = |key| match map.remove(key) {
        Some(Value::Object(column)) => Some(column),
        Some(_) | None => None,
    };
    let envelope =
        Envelope { offsets: take("offsets")?, metadata: take("metadata").unwrap_or_default() };
    Some(serde_json::to_vec(&envelope).expect("text keys and plain values"))
}

/// The offset file that an operation reads or publishes, if it does.
pub fn file_of(op: &Op) -> Option<&str> {
    let (Op::Read(path) | Op::Rename(_, path)) = op else { return None };
    let is_file = path.starts_with(OFFSETS_DIR) && !path.starts_with(CLAIMS_DIR);
    is_file.then_some(path)
}

#[cfg(test)]
mod tests {
    use kaas_coordinator::{ids::GroupId, offset_store::file::OffsetFile};

    use super::{Op, Release, file_of};

    const FILE: &str = "__consumer_offsets/billing.json";
    const WHOLE: &str = r#"{"group":"billing","offsets":{"orders/0":7,"orders/1":9},
        "metadata":{"orders/1":"w3"},"leaderEpochs":{"orders/0":7},"committedMs":{"orders/0":5},
        "protocolType":"consumer","emptySinceMs":8,"sequence":4,"colour":"red"}"#;
    const KEPT: &str = r#"{"offsets":{"orders/0":7,"orders/1":9},"metadata":{"orders/1":"w3"}}"#;

    #[track_caller]
    fn check(path: &str, content: &str, expected: &str) {
        let of = |release: Release, content: &str| release.of_file(path, content.into());
        assert_eq!(String::from_utf8(of(Release::Former, content)).unwrap(), expected);
        assert_eq!(of(Release::Former, expected), expected.as_bytes(), "once is enough");
        assert_eq!(of(Release::Current, content), content.as_bytes());
    }

    #[test]
    fn the_former_release_has_offsets_and_metadata() {
        check(FILE, WHOLE, KEPT);
        check("__consumer_offsets/.claims/billing/1.2.kaas-0.1.0/3", WHOLE, KEPT);
        check(FILE, r#"{"group":"g","offsets":{},"sequence":1}"#, r#"{"offsets":{}}"#);
    }

    #[test]
    fn what_is_no_envelope_stays_as_it_is() {
        let plain = r#"{"orders/0":7}"#;
        for other in [plain, "{}", "", r#"{"offsets":{"orders/0":1"#, r#"{"offsets":7}"#, "[1]"] {
            check(FILE, other, other);
        }
        check("__transaction_state/billing.1.json", WHOLE, WHOLE);
        check("assignment.json", WHOLE, WHOLE);
    }

    #[test]
    fn who_wrote_a_file_shows() {
        let (_, file) = OffsetFile::parse_any(WHOLE.as_bytes()).unwrap();
        let content = file.to_json(&GroupId::from("billing"));
        assert_eq!(Release::that_wrote(&content), Some(Release::Current));
        let content = Release::Former.of_file(FILE, content);
        assert_eq!(Release::that_wrote(&content), Some(Release::Former));
        for other in [r#"{"orders/0":7}"#, r#"{"offsets":{"orders/0":7"#] {
            assert_eq!(Release::that_wrote(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_publish_is_of_a_file_and_a_deletion_is_not() {
        let staged = || "__consumer_offsets/.claims/billing/1.2.kaas-0.1.0/3".into();
        assert_eq!(file_of(&Op::Rename(staged(), FILE.into())), Some(FILE));
        assert_eq!(file_of(&Op::Read(FILE.into())), Some(FILE));
        assert_eq!(file_of(&Op::Rename(FILE.into(), staged())), None);
        assert_eq!(file_of(&Op::Write(staged(), Vec::new())), None);
        assert_eq!(file_of(&Op::Read("assignment.json".into())), None);
    }
}
