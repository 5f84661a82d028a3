//! Reading all files of a directory that are of interest, without claiming them.
//!
//! What a survey says may be outdated by the time it is used: whoever acts on it takes the file over
//! and decides anew.

use std::io;

use futures_util::{StreamExt, stream};

use crate::{file_name, ports::Volume};

/// How many files are read at a time.
const CONCURRENCY: usize = 32;

/// Reads the files of `directory` whose id is `wanted` and gives what `parse` makes of each, with the
/// id, sorted by it. `parse` also tells the id that stands inside a file, if one does: the name of a
/// very long id holds only a part of it. Files that can't be read or understood are passed over.
pub async fn survey<T>(
    volume: &impl Volume,
    directory: &str,
    wanted: impl Fn(&str) -> bool,
    parse: impl Fn(&[u8]) -> Option<(Option<String>, T)>,
) -> io::Result<Vec<(String, T)>> {
    let names = match volume.list(directory).await {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut reads = Vec::new();
    for name in names {
        let Some(stem) = name.strip_suffix(".json").map(str::to_owned) else { continue };
        let id = file_name::decode(&stem);
        if id.as_deref().is_none_or(&wanted) {
            reads.push(async move {
                let content = volume.read(&format!("{directory}/{name}")).await;
                (stem, id, content)
            });
        }
    }
    let mut reads = stream::iter(reads).buffered(CONCURRENCY);
    let mut found = Vec::new();
    while let Some((stem, id, content)) = reads.next().await {
        let Some((stored, file)) = content.ok().and_then(|it| parse(&it)) else { continue };
        let Some(id) = id.or(stored) else { continue };
        if file_name::encode(&id) == stem && wanted(&id) {
            found.push((id, file));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}
