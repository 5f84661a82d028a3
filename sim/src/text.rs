//! stand-in
use crate::plan::Action;
/// a
pub fn action(action: &Action) -> String { format!("{action:?}") }
/// a
pub fn verb_of(action: &Action) -> String { format!("{action:?}").split(' ').next().unwrap_or("").to_lowercase() }
