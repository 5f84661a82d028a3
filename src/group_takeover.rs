//! What a broker drops when another view comes into force.
//!
//! First the difference between the two views, then the orphan sweep: everything in memory that the
//! new view does not route here goes, whatever the difference said. The sweep is what catches a
//! group that was created in the boot window, or loaded by a request that raced with the change.

use std::borrow::Borrow;

use crate::{api::KeyType, assignment::View, ids::BrokerId};

/// Something held, a group or a transactional id, that is another broker's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost<K> {
    /// What.
    pub key: K,
    /// Who coordinates it under the new view, if anybody.
    pub owner: Option<BrokerId>,
    /// Whether the difference named it.
    pub found_by: FoundBy,
}

/// Which of the two passes found what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The previous view routed it here and the next one does not.
    Diff,
    /// Neither view routes it here.
    Sweep,
}

impl FoundBy {
    /// The pass' name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Diff => "diff",
            Self::Sweep => "sweep",
        }
    }
}

/// Which of the `held` keys of one kind broker `me` has lost with the change from `prev` (`None`: the boot
/// window, which routes nothing) to `next`, in the order of `held`.
pub fn lost<'a, K: Borrow<str> + Clone + 'a>(
    me: &BrokerId,
    prev: Option<&View>,
    next: &View,
    kind: KeyType,
    held: impl IntoIterator<Item = &'a K>,
) -> Vec<Lost<K>> {
    let mut lost = Vec::new();
    for key in held {
        let owner = next.owner(kind, key.borrow());
        if owner == Some(me) {
            continue;
        }
        let was_mine = prev.is_some_and(|prev| prev.owner(kind, key.borrow()) == Some(me));
        let found_by = if was_mine { FoundBy::Diff } else { FoundBy::Sweep };
        lost.push(Lost { key: key.clone(), owner: owner.cloned(), found_by });
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::{FoundBy, lost};
    use crate::{
        api::KeyType,
        assignment::View,
        ids::{BrokerId, GroupId},
    };

    fn view(version: i64, dead: &str, entry: Option<&str>) -> View {
        let health = |id: &str| if id == dead { "dead" } else { "alive" };
        let brokers: Vec<_> = ["kaas-0", "kaas-1", "kaas-2"]
            .iter()
            .map(|id| format!(r#"{{"id":"{id}","health":"{}"}}"#, health(id)))
            .collect();
        let entry = entry.map_or_else(String::new, |broker| {
            format!(r#","consumerGroups":[{{"groupId":"payments","broker":"{broker}"}}]"#)
        });
        let text = format!(
            r#"{{"controllerEpoch":1,"assignmentVersion":{version},"brokers":[{}]{entry}}}"#,
            brokers.join(",")
        );
        View::parse(text.as_bytes()).expect("a valid file")
    }

    fn check(me: &str, prev: Option<&View>, next: &View, expected: &[(&str, FoundBy)]) {
        // By hash among three: `payments` and `g` go to kaas-0, `a` to kaas-1, `group-x` to kaas-2.
        let held: Vec<GroupId> = ["a", "g", "group-x", "payments"].map(GroupId::from).into();
        let lost = lost(&BrokerId::from(me), prev, next, KeyType::Group, &held);
        let lost: Vec<_> = lost.iter().map(|it| (it.key.as_str(), it.found_by)).collect();
        assert_eq!(lost, expected);
    }

    #[test]
    fn both_tiers_lose_and_keep() {
        use FoundBy::{Diff, Sweep};
        let all = view(1, "", None);
        let moved = view(2, "", Some("kaas-1"));
        let back = view(3, "", None);
        let dead = view(4, "kaas-1", None);
        check("kaas-0", None, &all, &[("a", Sweep), ("group-x", Sweep)]);
        check(
            "kaas-0",
            Some(&all),
            &moved,
            &[("a", Sweep), ("group-x", Sweep), ("payments", Diff)],
        );
        check(
            "kaas-1",
            Some(&moved),
            &back,
            &[("g", Sweep), ("group-x", Sweep), ("payments", Diff)],
        );
        // With kaas-1 dead, slot 1 falls to kaas-2; kaas-0 gains nothing.
        check("kaas-2", Some(&back), &dead, &[("g", Sweep), ("payments", Sweep)]);
        check("kaas-2", Some(&dead), &back, &[("a", Diff), ("g", Sweep), ("payments", Sweep)]);
    }
}
