//! The model's promises, each told as a story that breaks it and a near miss that does not.
//!
//! A story is a small history written by hand; `story` has its words. The judge of offsets is also
//! compared with a judge that tries every order, on every small history. Nothing here knows the
//! production code.

mod absent;
mod convergence;
mod generations;
mod listing;
mod memory;
mod offsets;
mod ownership;
mod ownership_by_instant;
mod replies;
mod routing;
mod said;
mod small_histories;
mod story;
mod txn;
mod volume;
mod zombies;
