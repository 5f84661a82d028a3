//! The group coordinator of a kaas broker.

pub mod api;
pub mod assignment;
pub mod broker;
pub mod claim;
pub mod config;
pub mod coordinator;
pub mod file_name;
pub mod group;
pub mod group_hash;
pub mod group_takeover;
pub mod ids;
mod manager;
pub mod note;
pub mod offset_store;
pub mod ports;
pub mod survey;
pub mod txn;
pub mod volume;
