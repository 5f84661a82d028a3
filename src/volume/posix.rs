//! The volume port over POSIX file calls.
//!
//! Each operation is one closure on the thread pool of `blocking`. A future that is dropped before
//! its closure began takes it along; one that has begun runs to its end, as the port allows.
//!
//! On NFS the client caches attributes and names for up to a minute, also that there is no such
//! name. Nothing here may be answered from that: `read`, `list` and `exists` first have the server
//! asked for the attributes of what they depend on, whereupon the client forgets what is outdated.
//! Opening a file asks by itself (close-to-open consistency), and so does every change.

use std::{
    fs::{self, DirEntry, File, OpenOptions},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use blocking::unblock;

use crate::ports::Volume;

/// How often a file is read that is replaced each time.
const TRIES: u32 = 5;

/// The volume whose root is mounted at a directory.
///
/// Two errors are of a kind of their own: a path that would leave the root, or is not in its
/// shortest form, is `InvalidInput`; a directory with a name that is not UTF-8 is `InvalidData`.
#[derive(Clone, Debug)]
pub struct PosixVolume {
    root: Arc<Path>,
}

impl PosixVolume {
    /// The volume at `root`, which must exist when it is first used.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into().into() }
    }

    /// Where a path of the port is: never outside the root.
    fn resolve(&self, path: &str) -> io::Result<PathBuf> {
        let is_plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
        if path.is_empty() || path.split('/').all(is_plain) {
            return Ok(self.root.join(path));
        }
        Err(io::Error::new(ErrorKind::InvalidInput, format!("{path:?} is no path of the volume")))
    }

    /// Where the directory is that a path is in; the root is in itself.
    fn directory_of(&self, path: &str) -> io::Result<PathBuf> {
        self.resolve(path.rsplit_once('/').map_or("", |(directory, _)| directory))
    }
}

impl Volume for PosixVolume {
    async fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let (directory, path) = (self.directory_of(path)?, self.resolve(path)?);
        unblock(move || {
            ask_server(&directory).map_err(missing)?;
            unless_replaced(|| fs::read(&path)).map_err(missing)
        })
        .await
    }

    async fn write(&self, path: &str, content: Vec<u8>) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || fs::write(path, content).map_err(missing)).await
    }

    /// Reports what went wrong in the background since the file was written, too: an error that
    /// nobody has seen yet waits for the next descriptor (Linux since 4.16).
    async fn sync(&self, path: &str) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || OpenOptions::new().write(true).open(path).map_err(missing)?.sync_all())
            .await
    }

    async fn sync_dir(&self, path: &str) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || File::open(path).map_err(missing)?.sync_all()).await
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (self.resolve(from)?, self.resolve(to)?);
        unblock(move || fs::rename(from, to).map_err(missing)).await
    }

    async fn create_dir(&self, path: &str) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || fs::create_dir(path).map_err(missing)).await
    }

    async fn remove_file(&self, path: &str) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || fs::remove_file(path).map_err(missing)).await
    }

    async fn remove_dir(&self, path: &str) -> io::Result<()> {
        let path = self.resolve(path)?;
        unblock(move || fs::remove_dir(path).map_err(not_empty)).await
    }

    async fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let path = self.resolve(path)?;
        unblock(move || {
            ask_server(&path).map_err(missing)?;
            let names = fs::read_dir(path)?.map(|entry| name(&entry?));
            let mut names = names.collect::<io::Result<Vec<_>>>()?;
            names.sort_unstable();
            Ok(names)
        })
        .await
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        let (directory, path) = (self.directory_of(path)?, self.resolve(path)?);
        unblock(move || {
            let answer = ask_server(&directory).and_then(|()| ask_server(&path));
            match answer.map_err(missing) {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                Err(error) => Err(error),
            }
        })
        .await
    }
}

/// Has the server asked for the attributes of a file or directory, so that the client forgets what
/// it has cached of an older state. Fails if there is none.
#[cfg(target_os = "linux")]
fn ask_server(path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

    let flags = AtFlags::STATX_FORCE_SYNC | AtFlags::SYMLINK_NOFOLLOW;
    statx(CWD, path, flags, StatxFlags::BASIC_STATS)?;
    Ok(())
}

/// Elsewhere nobody can ask that; a mount must do without a cache (`noac`).
#[cfg(not(target_os = "linux"))]
fn ask_server(path: &Path) -> io::Result<()> {
    fs::symlink_metadata(path).map(|_| ())
}

/// Reads again if the file was replaced between being opened and being read, which NFS can't hide.
fn unless_replaced<T>(mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match read() {
            Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => {}
            other => return other,
        }
    }
    read()
}

/// If a directory of the path is a file, there is nothing below it.
fn missing(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::NotADirectory {
        return io::Error::new(ErrorKind::NotFound, error);
    }
    error
}

/// POSIX has two words for a directory that is not empty.
fn not_empty(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::AlreadyExists {
        return io::Error::new(ErrorKind::DirectoryNotEmpty, error);
    }
    error
}

/// A name that is not UTF-8 can't be passed over: what can't be named can't be removed.
fn name(entry: &DirEntry) -> io::Result<String> {
    let not_utf8 = |name| io::Error::new(ErrorKind::InvalidData, format!("{name:?} is not UTF-8"));
    entry.file_name().into_string().map_err(not_utf8)
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::{PosixVolume, TRIES, unless_replaced};

    #[test]
    fn no_path_leads_out_of_the_root() {
        let volume = PosixVolume::new("/root");
        for path in ["/", "/etc", "..", "a/../..", "a//b", "a/", "./a", "a/.", "nul\0"] {
            let error = volume.resolve(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path:?}");
        }
        for (path, whole) in [("", "/root/"), ("a", "/root/a"), ("a/..b/c d", "/root/a/..b/c d")] {
            assert_eq!(volume.resolve(path).unwrap().to_str(), Some(whole));
        }
    }

    #[test]
    fn a_file_that_is_replaced_is_read_again_and_not_for_ever() {
        let read = |mut replaced: u32| {
            unless_replaced(|| match replaced {
                0 => Ok("new"),
                _ => {
                    replaced -= 1;
                    Err(io::Error::from(ErrorKind::StaleNetworkFileHandle))
                }
            })
        };
        assert_eq!(read(TRIES - 1).unwrap(), "new");
        assert_eq!(read(TRIES).unwrap_err().kind(), ErrorKind::StaleNetworkFileHandle);
    }
}
