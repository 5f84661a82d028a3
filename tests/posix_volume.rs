//! The real volume does what the port says.

use std::{fs, io::ErrorKind};

use futures_lite::future::block_on;
use kaas_coordinator::{ports::Volume, volume::PosixVolume};
use tempfile::TempDir;

#[path = "support/volume_conformance.rs"]
mod volume_conformance;

#[test]
fn the_real_volume_conforms() {
    let dir = TempDir::new().unwrap();
    block_on(volume_conformance::conforms(&PosixVolume::new(dir.path())));
}

#[test]
fn nothing_is_touched_outside_of_the_root() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(dir.path().join("secret"), "secret").unwrap();
    let volume = PosixVolume::new(root);
    let absolute = dir.path().join("secret").to_str().unwrap().to_owned();
    block_on(async {
        for path in ["../secret", "./../secret", "a/../../secret", &absolute] {
            let kinds = [
                volume.read(path).await.err(),
                volume.write(path, Vec::new()).await.err(),
                volume.sync(path).await.err(),
                volume.rename(path, "mine").await.err(),
                volume.remove_file(path).await.err(),
                volume.exists(path).await.err(),
            ];
            for error in kinds {
                assert_eq!(error.unwrap().kind(), ErrorKind::InvalidInput, "{path}");
            }
        }
    });
    assert_eq!(fs::read(absolute).unwrap(), b"secret");
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf8_is_reported_and_not_passed_over() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join(OsStr::from_bytes(b"\xff")), "").unwrap();
    let error = block_on(PosixVolume::new(dir.path()).list("")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains("is not UTF-8"), "{error}");
}
