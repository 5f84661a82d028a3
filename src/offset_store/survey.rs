//! Reading the files of groups that are not in memory, without claiming them.
//!
//! ListGroups must name groups that only exist on the volume, and their retention must end. What a
//! survey says may be outdated by the time it is used: a list is a snapshot, and retention takes the
//! group over and decides anew.

use std::{io, sync::Arc};

use futures_util::{StreamExt, stream};

use super::{OFFSETS_DIR, file::OffsetFile, file_name};
use crate::{ids::GroupId, ports::Volume};

/// How many files are read at a time.
const CONCURRENCY: usize = 32;

/// A group as its file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Surveyed<T> {
    /// The group.
    pub group: GroupId,
    /// What was wanted of its file.
    pub what: T,
}

/// Reads the files of all groups that are `wanted` and keeps what `pick` wants of each. Files that
/// can't be read or understood are passed over: whoever asks for their group hears of it.
pub async fn survey<T>(
    volume: &impl Volume,
    wanted: impl Fn(&GroupId) -> bool,
    pick: impl Fn(&OffsetFile) -> Option<T>,
) -> io::Result<Vec<Surveyed<T>>> {
    let names = match volume.list(OFFSETS_DIR).await {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for name in names {
        let Some(stem) = name.strip_suffix(".json") else { continue };
        // The name of a very long id holds only a part of it; the file must be asked.
        let group = file_name::decode(stem);
        if group.as_ref().is_none_or(&wanted) {
            files.push((stem.to_owned(), group));
        }
    }
    let reads: Vec<_> = files.into_iter().map(|(stem, group)| read(volume, stem, group)).collect();
    let mut reads = stream::iter(reads).buffered(CONCURRENCY);
    let mut found = Vec::new();
    while let Some(read) = reads.next().await {
        let Some((group, file)) = read else { continue };
        if let (true, Some(what)) = (wanted(&group), pick(&file)) {
            found.push(Surveyed { group, what });
        }
    }
    found.sort_by(|a, b| a.group.cmp(&b.group));
    Ok(found)
}

/// One file and whose it is.
async fn read(
    volume: &impl Volume,
    stem: String,
    group: Option<GroupId>,
) -> Option<(GroupId, OffsetFile)> {
    let content = volume.read(&format!("{OFFSETS_DIR}/{stem}.json")).await.ok()?;
    let (stored, file) = OffsetFile::parse_any(&content).ok()?;
    let group = group.or(stored)?;
    (file_name::encode(&group) == stem).then_some((group, file))
}

/// The protocol type that a file names, empty for a group that never had members.
pub fn protocol_type(file: &OffsetFile) -> Option<Arc<str>> {
    Some(file.protocol_type.clone().unwrap_or_else(|| "".into()))
}
