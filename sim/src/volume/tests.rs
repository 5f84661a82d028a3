//! What is lost when: unsynced data with its writer, unsynced entries with the server.

use super::{Op, Reply, SharedVolume, Sync};
use crate::seed::Stream;

const A: usize = 0;
const B: usize = 1;

fn do_it(volume: &mut SharedVolume, by: usize, op: Op) {
    volume.apply(by, &op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
}

fn content(volume: &SharedVolume, by: usize, path: &str) -> Option<String> {
    let content = volume.read(by, path).ok()?;
    Some(String::from_utf8(content.to_vec()).unwrap())
}

fn with_dir() -> SharedVolume {
    let mut volume = SharedVolume::default();
    do_it(&mut volume, A, Op::CreateDir("d".into()));
    do_it(&mut volume, A, Op::SyncDir("".into()));
    volume
}

#[test]
fn others_see_a_write_when_it_is_synced() {
    let mut volume = with_dir();
    do_it(&mut volume, A, Op::Write("d/f".into(), b"new".to_vec()));
    assert_eq!(content(&volume, A, "d/f").unwrap(), "new");
    assert_eq!(content(&volume, B, "d/f").unwrap(), "");
    do_it(&mut volume, A, Op::Sync("d/f".into()));
    assert_eq!(content(&volume, B, "d/f").unwrap(), "new");
}

#[test]
fn an_unsynced_write_dies_with_its_writer_even_behind_a_rename() {
    for instance in 0..20 {
        let mut volume = with_dir();
        volume.put("d/g", b"old");
        do_it(&mut volume, A, Op::Write("d/f".into(), b"new".to_vec()));
        do_it(&mut volume, A, Op::Rename("d/f".into(), "d/g".into()));
        assert_eq!(volume.lose(A, &mut Stream::new(1, "test", instance)), 1);
        let left = content(&volume, B, "d/g").unwrap();
        assert!("new".starts_with(&left), "{left}");
    }
}

#[test]
fn a_failover_undoes_what_was_not_synced_and_the_next_sync_says_so() {
    let mut volume = with_dir();
    volume.put("d/g", b"old");
    do_it(&mut volume, A, Op::Write("d/f".into(), b"new".to_vec()));
    do_it(&mut volume, A, Op::Sync("d/f".into()));
    do_it(&mut volume, A, Op::SyncDir("d".into()));
    do_it(&mut volume, A, Op::Rename("d/f".into(), "d/g".into()));
    do_it(&mut volume, B, Op::CreateDir("d/x".into()));
    do_it(&mut volume, B, Op::Write("d/x/y".into(), Vec::new()));
    let sync = |by, at, volume: &SharedVolume| {
        let unheard = Vec::new();
        Sync { by, dir: "d".into(), at, behind: volume.changes(), unheard }
    };
    assert_eq!(volume.fail_over(), 3);
    assert_eq!(content(&volume, B, "d/g").unwrap(), "old");
    assert_eq!(content(&volume, B, "d/f").unwrap(), "new");
    assert_eq!(volume.list("d").unwrap(), ["f", "g"]);
    assert!(volume.dooms(&sync(A, 1, &volume)), "the rename is undone");
    assert!(!volume.dooms(&sync(A, 2, &volume)), "and was the only change of its broker there");
    volume.lose(B, &mut Stream::new(1, "test", 0));
    assert!(!volume.dooms(&sync(B, 3, &volume)), "who died has nothing to hear");
    do_it(&mut volume, A, Op::Rename("d/f".into(), "d/g".into()));
    do_it(&mut volume, A, Op::SyncDir("d".into()));
    assert_eq!(volume.fail_over(), 0);
    assert_eq!(content(&volume, B, "d/g").unwrap(), "new");
}

#[test]
fn names_are_those_directly_inside() {
    let mut volume = with_dir();
    for path in ["d.x", "d/a", "d/b"] {
        do_it(&mut volume, A, Op::CreateDir(path.into()));
    }
    do_it(&mut volume, A, Op::CreateDir("d/a/deep".into()));
    assert_eq!(volume.list("d").unwrap(), ["a", "b"]);
    assert_eq!(volume.list("").unwrap(), ["d", "d.x"]);
    assert_eq!(volume.apply(A, &Op::Exists("d/a/deep".into())).unwrap(), Reply::Flag(true));
    assert!(volume.apply(A, &Op::RemoveDir("d/a".into())).is_err());
}
