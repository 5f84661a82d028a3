//! The shared volume of production: a directory that every broker of the cluster has mounted.

mod posix;

pub use posix::PosixVolume;
