//! The order of views, the lease, staleness and the boot window.

use std::time::Duration;

use super::{Coordinator, Offer};
use crate::ports::Instant;

const STALENESS: Duration = Duration::from_secs(3);

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1000)
}

fn file(epoch: i64, version: i64, owner_of_g: &str) -> String {
    format!(
        r#"{{"controllerEpoch":{epoch},"assignmentVersion":{version},"brokers":[{{"id":"kaas-0","health":"alive"}},{{"id":"kaas-1","health":"alive"}}],"consumerGroups":[{{"groupId":"g","broker":"{owner_of_g}"}}]}}"#
    )
}

fn offer(coordinator: &mut Coordinator, now: Instant, text: &str) -> Offer {
    coordinator.offer(now, Some(text.as_bytes()))
}

fn refusal(offer: Offer) -> &'static str {
    match offer {
        Offer::Refused { reason } => reason,
        Offer::Applied { .. } | Offer::Confirmed => "",
    }
}

#[test]
fn the_boot_window_serves_everything_and_ends() {
    let mut it = Coordinator::new("kaas-0".into(), at(10), STALENESS);
    assert!(it.serves(at(12), &"anything".into()));
    assert!(!it.serves(at(13), &"anything".into()));
    offer(&mut it, at(20), &file(1, 1, "kaas-1"));
    assert!(!it.serves(at(20), &"g".into()));
}

#[test]
fn only_newer_views_are_applied() {
    let mut it = Coordinator::new("kaas-0".into(), at(0), STALENESS);
    assert!(matches!(offer(&mut it, at(1), &file(1, 5, "kaas-0")), Offer::Applied { .. }));
    assert_eq!(
        refusal(offer(&mut it, at(2), &file(1, 4, "kaas-1"))),
        "older than the applied view"
    );
    assert_eq!(
        refusal(offer(&mut it, at(2), &file(0, 9, "kaas-1"))),
        "older than the applied view"
    );
    assert_eq!(
        refusal(offer(&mut it, at(2), &file(1, 5, "kaas-1"))),
        "another view of the same version"
    );
    assert!(it.owns(&"g".into()));
    assert_eq!(it.refused(), 3);
    assert!(matches!(offer(&mut it, at(3), &file(2, 1, "kaas-1")), Offer::Applied { .. }));
    assert!(!it.owns(&"g".into()));
}

#[test]
fn a_refused_file_confirms_nothing() {
    let mut it = Coordinator::new("kaas-0".into(), at(0), STALENESS);
    offer(&mut it, at(1), &file(1, 5, "kaas-0"));
    offer(&mut it, at(3), &file(1, 4, "kaas-0"));
    it.offer(at(3), None);
    offer(&mut it, at(3), "{");
    assert!(it.serves(at(3), &"g".into()));
    assert!(!it.serves(at(4), &"g".into()));
    assert_eq!(offer(&mut it, at(5), &file(1, 5, "kaas-0")), Offer::Confirmed);
    assert!(it.serves(at(5), &"g".into()));
}

#[test]
fn the_lease_epoch_never_goes_backwards() {
    let mut it = Coordinator::new("kaas-0".into(), at(0), STALENESS);
    offer(&mut it, at(1), &file(1, 5, "kaas-0"));
    it.observe_lease(3);
    it.observe_lease(1);
    for text in [file(1, 5, "kaas-0"), file(2, 9, "kaas-0")] {
        assert_eq!(refusal(offer(&mut it, at(2), &text)), "older than the controller lease");
    }
    assert!(matches!(offer(&mut it, at(2), &file(3, 1, "kaas-0")), Offer::Applied { .. }));
}
