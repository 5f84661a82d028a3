//! The simulated volume does what the real one does: they pass the same checks, and whatever one
//! broker does to both of them comes to the same.

use std::io::ErrorKind;

use futures_lite::future::block_on;
use kaas_coordinator::{ports::Volume, volume::PosixVolume};
use proptest::{collection::vec, prelude::*, sample::select};
use sim::volume::{Op, Reply, SharedVolume};

use crate::simulated::Simulated;

#[path = "../../../tests/support/volume_conformance.rs"]
mod volume_conformance;

#[test]
fn the_simulated_volume_conforms() {
    block_on(volume_conformance::conforms(&Simulated::default()));
}

/// Does one operation on any volume; what an error is, as far as the port says.
async fn apply(volume: &impl Volume, op: &Op) -> Result<Reply, Option<ErrorKind>> {
    let nothing = |()| Reply::Nothing;
    let result = match op {
        Op::Read(path) => volume.read(path).await.map(Reply::Content),
        Op::Write(path, content) => volume.write(path, content.clone()).await.map(nothing),
        Op::Sync(path) => volume.sync(path).await.map(nothing),
        Op::SyncDir(path) => volume.sync_dir(path).await.map(nothing),
        Op::Rename(from, to) => volume.rename(from, to).await.map(nothing),
        Op::CreateDir(path) => volume.create_dir(path).await.map(nothing),
        Op::RemoveFile(path) => volume.remove_file(path).await.map(nothing),
        Op::RemoveDir(path) => volume.remove_dir(path).await.map(nothing),
        Op::List(path) => volume.list(path).await.map(Reply::Names),
        Op::Exists(path) => volume.exists(path).await.map(Reply::Flag),
    };
    let told_apart = [ErrorKind::NotFound, ErrorKind::AlreadyExists, ErrorKind::DirectoryNotEmpty];
    result.map_err(|error| Some(error.kind()).filter(|kind| told_apart.contains(kind)))
}

fn op() -> impl Strategy<Value = Op> {
    // Some are files, some directories, as it happens.
    let path = || select(vec!["a", "b", "a/a", "a/b", "b/a", "a/a/a"]).prop_map(Into::into);
    let bytes = vec(any::<u8>(), 0..3);
    prop_oneof![
        2 => path().prop_map(Op::Read),
        4 => (path(), bytes).prop_map(|(path, bytes)| Op::Write(path, bytes)),
        1 => path().prop_map(Op::Sync),
        1 => path().prop_map(Op::SyncDir),
        3 => (path(), path()).prop_map(|(from, to)| Op::Rename(from, to)),
        4 => path().prop_map(Op::CreateDir),
        2 => path().prop_map(Op::RemoveFile),
        2 => path().prop_map(Op::RemoveDir),
        1 => prop_oneof![Just("".into()), path()].prop_map(Op::List),
        1 => path().prop_map(Op::Exists),
    ]
}

/// The port says nothing of renaming a directory, or of the one word for a file where it expects a
/// directory.
fn is_defined(volume: &SharedVolume, op: &Op) -> bool {
    let is_dir = |path: &str| volume.list(path).is_ok();
    let is_file = |path: &str| volume.read(0, path).is_ok();
    match op {
        Op::Rename(from, to) => !is_dir(from) && !is_dir(to),
        Op::SyncDir(path) | Op::RemoveDir(path) => {
            let above = path.match_indices('/').map(|(at, _)| &path[..at]);
            !above.chain([&**path]).any(is_file)
        }
        Op::Read(_)
        | Op::Write(..)
        | Op::Sync(_)
        | Op::CreateDir(_)
        | Op::RemoveFile(_)
        | Op::List(_)
        | Op::Exists(_) => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn both_volumes_answer_alike(ops in vec(op(), 0..40)) {
        let dir = tempfile::TempDir::new().unwrap();
        let (real, simulated) = (PosixVolume::new(dir.path()), Simulated::default());
        for (number, op) in ops.iter().enumerate() {
            if !is_defined(&simulated.state(), op) {
                continue;
            }
            let (expected, actual) =
                block_on(async { (apply(&real, op).await, apply(&simulated, op).await) });
            assert_eq!(actual, expected, "operation {number}, {op:?}, the real one on the right");
        }
    }
}
