//! The group coordinator of a kaas broker.

pub mod api;
pub mod config;
pub mod group;
pub mod ids;
pub mod note;
pub mod ports;
