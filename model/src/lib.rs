//! What any coordinator of consumer groups must guarantee, as promises checked over a history.
//!
//! A history is what can be seen of a cluster from outside: answers, requests, the shared volume. It is fed, event by
//! event, to a [`Model`], which keeps just enough of it to judge, and says in sentences what broke. It knows nothing of
//! the code it judges, shares no type and no line with it, and depends on no other crate.

mod ending;
mod event;
mod generations;
mod ledger;
mod listing;
mod memory;
mod model;
mod offsets;
mod ownership;
mod promise;
mod replies;
pub mod routing;
mod sight;
mod volume;

pub use event::{Event, Health, Held, Kind, Micros, Name, Outcome, ViewId, What};
pub use model::Model;
pub use promise::{Limits, Promise, Report, Violation};
