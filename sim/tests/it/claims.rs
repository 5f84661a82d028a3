//! Interleavings of the claim protocol with failures of the volume that seeds meet rarely.

use std::{pin::pin, sync::Arc};

use futures_lite::future::{block_on, poll_once};
use kaas_coordinator::{
    api::CommitOffset,
    assignment::ViewId,
    claim::{Claim, ClaimId, Outcome, Paths, TakeOver},
    ids::{BrokerId, GroupId, TopicPartition},
    offset_store::{
        OFFSETS_DIR,
        batch::{Change, apply},
        file::OffsetFile,
    },
    ports::Volume,
};

use crate::simulated::Simulated;

pub(crate) const CLAIMS: &str = "__consumer_offsets/.claims/group";
const FILE: &str = "__consumer_offsets/group.json";

/// A broker that has a claim, or tries to get one.
pub(crate) struct Owner {
    pub(crate) volume: Simulated,
    pub(crate) claim: Claim,
}

impl Owner {
    /// The broker of this number, under the view of this version.
    fn new(shared: &Simulated, broker: usize, version: i64) -> Self {
        Self::of_reign(shared, broker, version, 0)
    }

    /// The same, in one of its reigns.
    pub(crate) fn of_reign(shared: &Simulated, broker: usize, version: i64, reign: u64) -> Self {
        let id = ClaimId {
            view: ViewId { epoch: 1, version },
            broker: &BrokerId::from(format!("kaas-{broker}")),
            incarnation: 0,
            reign,
        };
        let paths = Arc::new(Paths::new(OFFSETS_DIR, "group"));
        Self { volume: shared.seen_by(broker), claim: Claim::new(paths, &id) }
    }

    async fn take_over(&self) -> Option<OffsetFile> {
        match self.claim.take_over(&self.volume, None).await {
            TakeOver::Owned { content, .. } => Some(file(content)),
            TakeOver::Fenced => None,
            other @ TakeOver::Failed { .. } => panic!("{other:?}"),
        }
    }

    fn publish(&self, offset: i64) -> Outcome {
        block_on(self.claim.publish(&self.volume, 1, content(offset)))
    }
}

pub(crate) fn content(offset: i64) -> Vec<u8> {
    let mut file = OffsetFile::default();
    let partition = TopicPartition::new("orders", 0);
    let commit = CommitOffset { partition, offset, leader_epoch: -1, metadata: "".into() };
    apply(&mut file, &Change::Commit { offsets: vec![commit], now_ms: 0, expires_ms: None });
    file.to_json(&GroupId::from("group"))
}

/// The file that was read; whoever owns it never finds it torn.
pub(crate) fn file(content: Option<Vec<u8>>) -> OffsetFile {
    let parse = |content: Vec<u8>| OffsetFile::parse(&GroupId::from("group"), &content);
    content.map_or_else(OffsetFile::default, |content| parse(content).expect("a whole file"))
}

pub(crate) fn offset_of(file: &OffsetFile) -> Option<i64> {
    file.offsets.get(&TopicPartition::new("orders", 0)).map(|it| it.offset)
}

/// Whether anybody has a claim that begins like this.
fn has_claim(shared: &Simulated, begin: &str) -> bool {
    let claims = block_on(shared.list(CLAIMS)).unwrap_or_default();
    claims.iter().any(|name| name.starts_with(begin))
}

#[test]
fn a_removal_by_somebody_else_is_durable_before_it_is_relied_on() {
    let shared = Simulated::default();
    let [first, old, middle, new] = [0, 1, 2, 3]
        .map(|broker| Owner::new(&shared, broker, i64::try_from(broker).expect("small")));
    block_on(first.take_over()).expect("nobody else wants it");
    block_on(old.take_over()).expect("its view is newer");
    assert!(matches!(old.publish(10), Outcome::Done));
    // Some time later the server has written down what there is, asked or not.
    for dir in ["", "__consumer_offsets", "__consumer_offsets/.claims", CLAIMS] {
        block_on(shared.sync_dir(dir)).unwrap();
    }
    // The middle one removes the old claim, then meets a newer one and steps back without having
    // made the removal durable.
    let mut middle_takes = pin!(middle.take_over());
    while has_claim(&shared, "1.1.") {
        assert!(block_on(poll_once(&mut middle_takes)).is_none());
    }
    let mut new_takes = pin!(new.take_over());
    while !has_claim(&shared, "1.3.") {
        assert!(block_on(poll_once(&mut new_takes)).is_none());
    }
    assert_eq!(block_on(middle_takes), None, "there is a newer claim");
    assert_eq!(block_on(new_takes).as_ref().and_then(offset_of), Some(10));
    assert!(matches!(new.publish(20), Outcome::Done));
    shared.state().fail_over();
    // The old one has been stopped all the time; if its claim were back, so would be its right.
    assert!(matches!(block_on(old.claim.check(&old.volume)), Outcome::Fenced(_)));
    assert!(matches!(old.publish(11), Outcome::Fenced(_)));
    let left = shared.state().read(usize::MAX, FILE).unwrap();
    assert_eq!(*left, *content(20), "the last acknowledged commit is there");
}

#[test]
fn what_is_served_after_a_take_over_is_durable() {
    // The failover comes after each of the new owner's operations in turn.
    for operations in 0.. {
        let shared = Simulated::default();
        let (old, new) = (Owner::new(&shared, 1, 1), Owner::new(&shared, 2, 2));
        block_on(old.take_over()).expect("nobody else wants it");
        assert!(matches!(old.publish(10), Outcome::Done));
        // The old owner dies between the rename of its next publish and making that durable.
        let mut publish = pin!(old.claim.publish(&old.volume, 2, content(11)));
        while *shared.state().read(usize::MAX, FILE).unwrap() == *content(10) {
            assert!(block_on(poll_once(&mut publish)).is_none());
        }
        let mut takes = pin!(new.claim.take_over(&new.volume, None));
        let mut outcome = None;
        for _ in 0..operations {
            outcome = outcome.or_else(|| block_on(poll_once(&mut takes)));
        }
        let was_over = outcome.is_some();
        shared.state().fail_over();
        let outcome = outcome.unwrap_or_else(|| block_on(takes));
        if let TakeOver::Owned { content, .. } = outcome {
            let left = shared.state().read(usize::MAX, FILE).ok().map(|it| it.to_vec());
            let (found, left) = (offset_of(&file(content)), offset_of(&file(left)));
            assert_eq!(found, left, "after {operations} operations");
        }
        if was_over {
            return;
        }
    }
}

#[test]
fn the_directory_of_all_offsets_is_durable_whoever_made_it() {
    let shared = Simulated::default();
    let [dead, alive] = [1, 2].map(|broker| Owner::new(&shared, broker, 1));
    let mut takes = pin!(dead.take_over());
    while block_on(shared.list(CLAIMS)).is_err() {
        assert!(block_on(poll_once(&mut takes)).is_none());
    }
    block_on(alive.take_over()).expect("nobody else lives");
    assert!(matches!(alive.publish(10), Outcome::Done));
    shared.state().fail_over();
    let left = shared.state().read(usize::MAX, FILE).unwrap();
    assert_eq!(*left, *content(10), "the last acknowledged commit is there");
}

#[test]
fn a_file_in_the_place_of_a_directory_is_no_reason_to_try_for_ever() {
    let shared = Simulated::default();
    for dir in ["__consumer_offsets", "__consumer_offsets/.claims"] {
        block_on(shared.create_dir(dir)).unwrap();
    }
    shared.state().put(CLAIMS, b"");
    let owner = Owner::new(&shared, 0, 1);
    let outcome = block_on(owner.claim.take_over(&owner.volume, None));
    let TakeOver::Failed { error, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.operation, "claim");
}
