//! Faults that are aimed: several that, each alone, do no harm.

use super::{
    faults::{Draw, Kind},
    millis,
};
use crate::plan::{Action, Clients, Failure, Moment, Operation, THERE, When};

/// Every kind, and how many there are of it at most.
pub(super) const KINDS: &[(&str, Kind, u32)] = &[
    ("blind take-over", blind_take_over, 2),
    ("deaf coordinator", deaf_coordinator, 3),
    ("round trip", round_trip, 3),
    ("unsynced failover", unsynced_failover, 3),
    ("stopped in a look", stopped_in_a_look, 3),
    ("slow deletion", slow_deletion, 3),
];

/// Groups move to a broker that can read only now and then: enough to hear of the move, not enough to
/// take over at the first attempt.
fn blind_take_over(draw: &mut Draw<'_>) {
    let (broker, duration) = (draw.broker(), millis(6_000));
    let (error, on) = (Failure::Io, Operation::Read);
    let named = Some(broker.clone());
    draw.push(Action::Fail { broker: named, error, on, percent: 50, duration });
    for after in [200, 1_400, 2_600, 3_800] {
        let group = draw.group();
        let to = Some(broker.clone());
        draw.push_at(
            draw.at + after,
            Action::Entry { group: group.clone(), broker: to, stays: false },
        );
        let back = Some(draw.broker());
        draw.push_at(draw.at + after + 1_600, Action::Entry { group, broker: back, stays: false });
    }
}

/// The owner of a group and the coordinator of its members' transactions read an old file while the
/// group moves away: markers go where it was.
fn deaf_coordinator(draw: &mut Draw<'_>) {
    let transactional = draw.plan.clients.iter().filter_map(|it| match it {
        Clients::Group { name, transactions: Some(_), .. } => Some(name.clone()),
        Clients::Group { .. }
        | Clients::Committer { .. }
        | Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Admin { .. }
        | Clients::Rude { .. } => None,
    });
    let Some(group) = transactional.into_iter().next() else { return };
    let (owner, coordinator) = (draw.owner(&group), draw.owner(&format!("{group}.1")));
    let duration = millis(draw.stream.between(6_000, 15_000));
    for broker in [owner.clone(), coordinator] {
        draw.push(Action::Lag { broker, duration, back: false });
    }
    let to = Some(draw.broker());
    draw.push_at(draw.at + 100, Action::Entry { group, broker: to, stays: false });
    // Its members look around.
    let soon = draw.at + draw.stream.between(1_200, 2_500);
    draw.push_at(soon, Action::Reset { broker: owner });
}

/// A group goes to another broker and comes back, and its old owner, which has read of neither, then
/// can't say whether it published something.
fn round_trip(draw: &mut Draw<'_>) {
    let group = draw.group();
    let owner = draw.broker();
    let home = Some(owner.clone());
    draw.push_at(
        draw.at - 3_000,
        Action::Entry { group: group.clone(), broker: home.clone(), stays: false },
    );
    let lasts = draw.stream.between(3_000, 8_000);
    let duration = millis(lasts);
    draw.push(Action::Lag { broker: owner.clone(), duration, back: false });
    let away = Some(draw.broker());
    draw.push_at(draw.at + 100, Action::Entry { group: group.clone(), broker: away, stays: false });
    if draw.stream.percent(70) {
        draw.push_at(draw.at + 1_500, Action::Reset { broker: owner.clone() });
    }
    let back = draw.at + lasts - draw.stream.between(200, 1_200);
    draw.push_at(back, Action::Entry { group, broker: home, stays: false });
    let (error, on, percent) = (Failure::Io, Operation::Rename, *draw.stream.pick(&[50, 100]));
    let duration = millis(draw.stream.between(500, 3_000));
    draw.push_at(back, Action::Fail { broker: Some(owner), error, on, percent, duration });
}

/// Directories can't be synced for a while, in which the volume moves to its standby.
fn unsynced_failover(draw: &mut Draw<'_>) {
    let (error, on, percent) = (Failure::Io, Operation::SyncDir, *draw.stream.pick(&[50, 100]));
    let lasts = draw.stream.between(300, 3_000);
    let duration = millis(lasts);
    draw.push(Action::Fail { broker: None, error, on, percent, duration });
    let then = draw.at + draw.stream.between(50, lasts);
    draw.push_at(then, Action::Failover);
}

/// A broker is stopped with the answer to a look in its hands, at the view or at a claim, and what it
/// looked at changes.
fn stopped_in_a_look(draw: &mut Draw<'_>) {
    let moment = *draw.stream.pick(&[Moment::Polled, Moment::Checked]);
    let group = draw.group();
    let of = (moment == Moment::Checked).then(|| group.clone());
    // A moment of the broker that has something to lose.
    let home = Some(draw.broker());
    draw.push_at(
        draw.at - 2_500,
        Action::Entry { group: group.clone(), broker: home, stays: false },
    );
    let when = When { moment, nth: 1, group: of };
    let duration = millis(draw.stream.between(1_200, 6_000));
    draw.push_when(&when, Action::Pause { broker: THERE.to_owned(), duration });
    let to = Some(draw.broker());
    draw.push_when(&when, Action::Entry { group, broker: to, stays: false });
}

/// What deletes a group is under way for so long that the group goes to another broker meanwhile, and
/// may live again.
fn slow_deletion(draw: &mut Draw<'_>) {
    let when = When { moment: Moment::DeleteArrived, nth: 1, group: None };
    let (broker, by) = (Some(THERE.to_owned()), millis(draw.stream.between(8_000, 15_000)));
    draw.push_when(&when, Action::SlowVolume { broker, by, duration: millis(200) });
    let duration = millis(draw.stream.between(10_000, 20_000));
    draw.push_when(&when, Action::Flap { broker: THERE.to_owned(), duration });
}
