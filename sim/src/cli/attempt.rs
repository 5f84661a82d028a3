//! A run whose crash is an outcome like others, with the assertion that failed as its reason.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{Arc, Mutex},
};

use crate::{outcome::Outcome, runner};

/// Runs, and makes an outcome of a panic; the usual message goes to standard error as well.
pub(super) fn attempt(
    run: impl FnOnce() -> (Outcome, Option<String>),
) -> (Outcome, Option<String>) {
    let first = Arc::new(Mutex::new(None));
    let usual: Arc<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync> = panic::take_hook().into();
    panic::set_hook({
        let (first, usual) = (Arc::clone(&first), Arc::clone(&usual));
        Box::new(move |info| {
            let mut first = first.lock().expect("nothing panics while it holds the message");
            first.get_or_insert_with(|| describe(info));
            drop(first);
            usual(info);
        })
    });
    // What the run has touched goes with it; nothing of it is looked at afterwards.
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    panic::set_hook(Box::new(move |info| usual(info)));
    result.unwrap_or_else(|_| {
        let reason = first.lock().expect("nothing panics while it holds the message").take();
        (runner::crashed(reason.unwrap_or_else(|| "a silent panic".to_owned())), None)
    })
}

/// The place and the message: `sim/src/hub.rs:120: a client is registered once`.
fn describe(info: &panic::PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("a panic without words");
    match info.location() {
        Some(place) => format!("{}:{}: {message}", place.file(), place.line()),
        None => message.to_owned(),
    }
}
