//! What any coordinator of consumer groups must guarantee, as promises checked over a history.
//!
//! A history is what can be seen of a cluster from outside: answers, requests, the shared volume.
//! It is fed, event by event, to a [`Model`], which keeps just enough of it to judge, and says in
//! sentences what broke. The crate knows nothing of the code it judges: it shares no type and no
//! line with it, and depends on no other crate.
//!
//! Two commits are acknowledged; then a fetch answers the first:
//!
//! ```
//! use model::{Event, Limits, Micros, Model, Name, Outcome, Promise, What};
//!
//! let name = |of: &str| -> Name { of.into() };
//! let commit = |op, offset| What::CommitInvoked {
//!     op,
//!     client: name("c1"),
//!     group: name("payments"),
//!     partition: name("orders/3"),
//!     write: op,
//!     offset,
//! };
//! let history = [
//!     (1000, commit(1, 104)),
//!     (1010, What::Returned { op: 1, outcome: Outcome::Ok }),
//!     (2000, commit(2, 118)),
//!     (2010, What::Returned { op: 2, outcome: Outcome::Ok }),
//!     (3000, What::FetchInvoked {
//!         op: 3,
//!         client: name("c2"),
//!         group: name("payments"),
//!         partition: name("orders/3"),
//!     }),
//!     (3010, What::Fetched { op: 3, value: Some((104, 1)) }),
//! ];
//! let mut model = Model::new(Limits::default());
//! for (millis, what) in history {
//!     model.observe(&Event { at: Micros::from_millis(millis), what });
//! }
//! let report = model.finish();
//! assert_eq!(report.violations[0].promise, Promise::OffsetDurability);
//! assert_eq!(
//!     report.violations[0].to_string(),
//!     "offset-durability broke for payments at 3010ms
//!   orders/3 of payments:
//!   commit 104 (write 1), sent at 1000ms, was acknowledged to c1 at 1010ms
//!   commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms
//!   a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms
//!   the last of these began after the others had ended, and gives what was overwritten"
//! );
//! assert_eq!(report.checked[&Promise::OffsetDurability], 1);
//! ```
//!
//! # Where to read
//!
//! The vocabulary is in `event`, the promises and what becomes of them in `promise`. `routing` is
//! the reference rule for who coordinates a key, `sight` what each broker could know of it. Each
//! promise has its checker:
//!
//! | module | promises |
//! |---|---|
//! | `ownership` | unique-ownership, stable-divisor |
//! | `listing` | read-filter |
//! | `memory` | bounded-memory |
//! | `offsets` | offset-durability |
//! | `generations` | generation-agreement, exclusive-assignment, no-zombie-commit |
//! | `txn` | txn-isolation |
//! | `replies` | reply-bound |
//! | `volume` | volume-confinement |
//! | `ending` | convergence |
//!
//! # What it does not see
//!
//! Whether a member should have been expelled, which error a refusal should carry, how many bytes a
//! broker uses, whether a list is complete, and whether a transaction ends in time.

mod ending;
mod event;
mod generations;
pub mod group;
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
mod txn;
mod volume;

pub use event::{Event, Health, Held, Kind, Micros, Name, Outcome, ViewId, What};
pub use model::Model;
pub use promise::{Excuse, Limits, Promise, Reason, Report, Violation};
