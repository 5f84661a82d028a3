//! What the volume port says, as checks that any volume must pass.
//!
//! Each check has a directory of its own, so that all may run on one volume.

#![expect(clippy::unwrap_used, reason = "what fails is told by its line, as in a test")]

use std::io::{self, ErrorKind};

use kaas_coordinator::ports::Volume;

/// All of it.
pub(crate) async fn conforms(volume: &impl Volume) {
    a_file_has_what_was_written_last(volume).await;
    what_is_not_there_is_not_found(volume).await;
    a_rename_replaces_and_needs_its_source(volume).await;
    a_directory_is_made_once_and_goes_when_it_is_empty(volume).await;
    names_are_sorted_bytewise(volume).await;
    what_is_staged_in_a_claim_that_is_gone_finds_no_home(volume).await;
}

fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

async fn write(volume: &impl Volume, path: &str, content: &str) -> io::Result<()> {
    volume.write(path, content.as_bytes().to_vec()).await
}

async fn content(volume: &impl Volume, path: &str) -> String {
    let content = volume.read(path).await.unwrap_or_else(|error| panic!("read {path}: {error}"));
    String::from_utf8(content).expect("the checks write UTF-8")
}

/// Writing creates or truncates; the writer reads its own writes at once.
async fn a_file_has_what_was_written_last(volume: &impl Volume) {
    volume.create_dir("write").await.unwrap();
    for text in ["", "long and longer", "short"] {
        write(volume, "write/f", text).await.unwrap();
        assert_eq!(content(volume, "write/f").await, text);
        volume.sync("write/f").await.unwrap();
        volume.sync_dir("write").await.unwrap();
        assert_eq!(content(volume, "write/f").await, text);
    }
    let bytes: Vec<u8> = (0..=255).collect::<Vec<u8>>().repeat(1000);
    volume.write("write/bytes", bytes.clone()).await.unwrap();
    assert!(volume.read("write/bytes").await.unwrap() == bytes, "bytes come back as they were");
    volume.sync_dir("").await.unwrap();
}

/// Whether the name or a directory above it is missing; a file has nothing below it.
async fn what_is_not_there_is_not_found(volume: &impl Volume) {
    volume.create_dir("missing").await.unwrap();
    write(volume, "missing/file", "").await.unwrap();
    for path in ["missing/x", "missing/x/y", "missing/file/x"] {
        let not_found = Some(ErrorKind::NotFound);
        assert_eq!(kind(volume.read(path).await), not_found, "read {path}");
        assert_eq!(kind(volume.sync(path).await), not_found, "sync {path}");
        assert_eq!(kind(volume.remove_file(path).await), not_found, "remove {path}");
        assert_eq!(kind(volume.rename(path, "missing/y").await), not_found, "rename {path}");
        assert!(!volume.exists(path).await.unwrap(), "{path} exists");
    }
    for path in ["missing/x/y", "missing/file/x"] {
        let not_found = Some(ErrorKind::NotFound);
        assert_eq!(kind(write(volume, path, "").await), not_found, "write {path}");
        assert_eq!(kind(volume.create_dir(path).await), not_found, "create {path}");
        assert_eq!(kind(volume.rename("missing/file", path).await), not_found, "to {path}");
    }
    assert_eq!(kind(volume.list("missing/file/x").await), Some(ErrorKind::NotFound));
    for path in ["missing/x", "missing/x/y"] {
        let not_found = Some(ErrorKind::NotFound);
        assert_eq!(kind(volume.list(path).await), not_found, "list {path}");
        assert_eq!(kind(volume.remove_dir(path).await), not_found, "remove {path}");
        assert_eq!(kind(volume.sync_dir(path).await), not_found, "sync {path}");
    }
    assert_eq!(volume.list("missing").await.unwrap(), ["file"]);
}

/// The target is always there, first the old one and then the new one.
async fn a_rename_replaces_and_needs_its_source(volume: &impl Volume) {
    volume.create_dir("rename").await.unwrap();
    volume.create_dir("rename/a").await.unwrap();
    write(volume, "rename/a/new", "new").await.unwrap();
    write(volume, "rename/old", "old").await.unwrap();
    volume.sync("rename/a/new").await.unwrap();
    volume.rename("rename/a/new", "rename/old").await.unwrap();
    volume.sync_dir("rename").await.unwrap();
    assert_eq!(content(volume, "rename/old").await, "new");
    assert_eq!(volume.list("rename/a").await.unwrap(), Vec::<String>::new());
    let again = volume.rename("rename/a/new", "rename/old").await;
    assert_eq!(kind(again), Some(ErrorKind::NotFound));
    assert_eq!(content(volume, "rename/old").await, "new");
}

/// A file or a directory of the name is in the way of another; entries are in the way of a removal.
async fn a_directory_is_made_once_and_goes_when_it_is_empty(volume: &impl Volume) {
    volume.create_dir("dir").await.unwrap();
    volume.create_dir("dir/d").await.unwrap();
    write(volume, "dir/f", "").await.unwrap();
    for path in ["dir", "dir/d", "dir/f"] {
        let result = volume.create_dir(path).await;
        assert_eq!(kind(result), Some(ErrorKind::AlreadyExists), "{path}");
        assert!(volume.exists(path).await.unwrap(), "{path} does not exist");
    }
    write(volume, "dir/d/f", "").await.unwrap();
    assert_eq!(kind(volume.remove_dir("dir/d").await), Some(ErrorKind::DirectoryNotEmpty));
    assert_eq!(kind(volume.remove_dir("dir").await), Some(ErrorKind::DirectoryNotEmpty));
    assert!(volume.remove_file("dir/d").await.is_err(), "a directory is no file");
    assert!(volume.remove_dir("dir/f").await.is_err(), "a file is no directory");
    assert!(volume.list("dir/f").await.is_err(), "a file has no names");
    assert!(volume.read("dir/d").await.is_err(), "a directory has no content");
    assert!(write(volume, "dir/d", "").await.is_err(), "a directory has no content");
    volume.remove_file("dir/d/f").await.unwrap();
    volume.remove_dir("dir/d").await.unwrap();
    assert!(!volume.exists("dir/d").await.unwrap());
    assert_eq!(kind(volume.remove_dir("dir/d").await), Some(ErrorKind::NotFound));
    assert_eq!(volume.list("dir").await.unwrap(), ["f"]);
}

/// Hidden names, odd names and names that begin alike.
async fn names_are_sorted_bytewise(volume: &impl Volume) {
    volume.create_dir("list").await.unwrap();
    assert!(volume.list("list").await.unwrap().is_empty());
    let sorted = [" ", "%2E", ".hidden", "B", "a", "a-1", "a.json", "a10", "a2", "gr\u{fc}n"];
    for name in sorted.iter().rev() {
        write(volume, &format!("list/{name}"), "").await.unwrap();
    }
    volume.create_dir("list/dir").await.unwrap();
    write(volume, "list/dir/deep", "").await.unwrap();
    volume.create_dir("list-2").await.unwrap();
    let mut all: Vec<_> = sorted.into_iter().chain(["dir"]).collect();
    all.sort_unstable();
    assert_eq!(volume.list("list").await.unwrap(), all);
    let root = volume.list("").await.unwrap();
    assert!(root.is_sorted() && root.contains(&"list-2".to_owned()), "{root:?}");
    assert!(volume.exists("").await.unwrap(), "there is a root");
}

/// What fencing is made of.
async fn what_is_staged_in_a_claim_that_is_gone_finds_no_home(volume: &impl Volume) {
    volume.create_dir("claims").await.unwrap();
    volume.create_dir("claims/old").await.unwrap();
    write(volume, "claims/old/1", "stale").await.unwrap();
    volume.create_dir("claims/new").await.unwrap();
    for entry in volume.list("claims/old").await.unwrap() {
        volume.remove_file(&format!("claims/old/{entry}")).await.unwrap();
    }
    let not_found = Some(ErrorKind::NotFound);
    assert_eq!(kind(volume.sync("claims/old/1").await), not_found);
    assert_eq!(kind(volume.rename("claims/old/1", "claims/file").await), not_found);
    volume.remove_dir("claims/old").await.unwrap();
    assert_eq!(kind(write(volume, "claims/old/2", "stale").await), not_found);
    assert_eq!(kind(volume.rename("claims/old/2", "claims/file").await), not_found);
    assert!(!volume.exists("claims/old").await.unwrap());
    assert_eq!(volume.list("claims").await.unwrap(), ["new"]);
}
