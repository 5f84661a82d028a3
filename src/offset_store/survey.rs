//! Reading the files of groups that are not in memory, without claiming them.
//!
//! ListGroups must name groups that only exist on the volume, and their retention must end. A list is
//! a snapshot, and retention takes the group over and decides anew.

use std::{io, sync::Arc};

use super::{OFFSETS_DIR, file::OffsetFile};
use crate::{ids::GroupId, ports::Volume};

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
    let wanted = |id: &str| wanted(&id.into());
    let parse = |content: &[u8]| {
        let (stored, file) = OffsetFile::parse_any(content).ok()?;
        Some((stored.map(|it| it.as_str().to_owned()), pick(&file)))
    };
    let found = crate::survey::survey(volume, OFFSETS_DIR, wanted, parse).await?;
    let picked = found.into_iter().filter_map(|(id, what)| Some((id, what?)));
    Ok(picked.map(|(id, what)| Surveyed { group: id.into(), what }).collect())
}

/// The protocol type that a file names, empty for a group that never had members.
pub fn protocol_type(file: &OffsetFile) -> Option<Arc<str>> {
    Some(file.protocol_type.clone().unwrap_or_else(|| "".into()))
}
