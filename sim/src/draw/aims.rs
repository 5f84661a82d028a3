//! Faults that are aimed: several that, each alone, do no harm.

use std::time::Duration;

use super::{
    between,
    faults::{Draw, Kind},
    millis,
};
use crate::plan::{
    Action, BrokerName, Clients, Exit, Failure, Goodbye, Moment, Operation, Plan, THERE, Way, When,
};

/// Every kind, and how many there are of it at most.
pub(super) const KINDS: &[(&str, Kind, u32)] = &[
    ("blind take-over", blind_take_over, 2),
    ("deaf coordinator", deaf_coordinator, 3),
    ("round trip", round_trip, 3),
    ("unsynced failover", unsynced_failover, 3),
    ("stopped in a look", stopped_in_a_look, 3),
    ("late renames", late_renames, 3),
    ("late writes", late_writes, 3),
    ("slow deletion", slow_deletion, 3),
    ("late letter", late_letter, 3),
    ("orphaned decision", orphaned_decision, 1),
    ("overtaken commit", overtaken_commit, 3),
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

/// The owner of a group, which also coordinates the transactions of its first member, reads an old
/// file while the group moves away: markers go where it was, and nobody there need have noticed.
fn deaf_coordinator(draw: &mut Draw<'_>) {
    let Some((group, members)) = transactional(draw.plan) else { return };
    let owner = draw.owner(&format!("{group}.1"));
    let away = draw.another(&owner);
    let before = draw.at.saturating_sub(draw.stream.between(4_000, 7_000));
    let home = Some(owner.clone());
    draw.push_at(before, Action::Entry { group: group.clone(), broker: home, stays: false });
    let duration = millis(draw.stream.between(8_000, 15_000));
    draw.push(Action::Lag { broker: owner.clone(), duration, back: false });
    // Whoever else asked the old owner would have it look at its claim.
    let others = (2..=members).map(|it| format!("{group}.{it}"));
    for client in onlookers(draw.plan, &group).into_iter().chain(others) {
        draw.push(unheard(&owner, client, duration));
    }
    let to = Some(away);
    draw.push_at(draw.at + 100, Action::Entry { group: group.clone(), broker: to, stays: false });
    // It looks around for the group, and comes back for its transactions.
    let soon = draw.stream.between(800, 2_000);
    draw.push_at(draw.at + 100, unheard(&owner, format!("{group}.1"), millis(soon + 1_000)));
    draw.push_at(draw.at + soon, Action::Reset { broker: owner });
}

/// What a client asks of a broker does not arrive for a while.
fn unheard(broker: &BrokerName, client: String, duration: Duration) -> Action {
    let (broker, way) = (broker.clone(), Way::Requests);
    Action::Cut { broker, client: Some(client), way, duration }
}

/// The clients that ask about a group without being its members.
fn onlookers(plan: &Plan, group: &str) -> Vec<String> {
    let name = |it: &Clients| match it {
        Clients::Reader { name, .. } if name == group => Some(format!("{name}~")),
        Clients::Admin { name, .. } => Some(name.clone()),
        Clients::Rude { group: of, manner, .. } if of == group => {
            Some(format!("{of}.{}", manner.word()))
        }
        Clients::Group { .. }
        | Clients::Committer { .. }
        | Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Rude { .. } => None,
    };
    plan.clients.iter().filter_map(name).collect()
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
    let (group, owner) = (draw.group(), draw.broker());
    // It must have something to lose.
    let home = Some(owner.clone());
    let before = draw.at - 2_500;
    draw.push_at(before, Action::Entry { group: group.clone(), broker: home, stays: false });
    let away = Some(draw.broker());
    if draw.stream.percent(50) {
        // Hardly anything but the view is read.
        let (on, nth) = (Operation::Read, 1);
        let pause = Some(millis(draw.stream.between(3_200, 8_000)));
        draw.push(Action::StopIn { broker: owner, on, nth, pause });
        let soon = draw.at + draw.stream.between(100, 1_500);
        draw.push_at(soon, Action::Entry { group, broker: away, stays: false });
    } else {
        let of = Some(group.clone());
        let when = When { moment: Moment::Checked, nth: 1, group: of };
        let duration = millis(draw.stream.between(1_200, 6_000));
        draw.push_when(&when, Action::Pause { broker: THERE.to_owned(), duration });
        draw.push_when(&when, Action::Entry { group, broker: away, stays: false });
    }
}

/// Some renames fail, and happen later all the same; then the groups move.
fn late_renames(draw: &mut Draw<'_>) {
    let lasts = draw.stream.between(500, 2_000);
    let (error, on, percent) = (Failure::Io, Operation::Rename, 50);
    let duration = millis(lasts);
    draw.push(Action::Fail { broker: None, error, on, percent, duration });
    for group in draw.plan.groups().iter() {
        let away = Some(draw.broker());
        let then = draw.at + lasts + draw.stream.between(1_500, 2_500);
        draw.push_at(then, Action::Entry { group: group.clone(), broker: away, stays: false });
    }
}

/// Some writes fail, and happen all the same between the steps of the next publish; and the groups move,
/// so that what is on the volume is read.
fn late_writes(draw: &mut Draw<'_>) {
    let lasts = draw.stream.between(1_000, 4_000);
    let (error, on, percent) = (Failure::Io, Operation::Write, 50);
    let duration = millis(lasts);
    draw.push(Action::Fail { broker: None, error, on, percent, duration });
    for group in draw.plan.groups().iter() {
        for _ in 0..2 {
            let away = Some(draw.broker());
            let then = draw.at + draw.stream.between(300, lasts + 500);
            let entry = Action::Entry { group: group.clone(), broker: away, stays: false };
            draw.push_at(then, entry);
        }
    }
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

/// While reading takes long, a controller is deposed and writes once more, at once: whoever asked for
/// the lease before it began to read has the old answer beside the late view.
fn late_letter(draw: &mut Draw<'_>) {
    let takes = draw.stream.between(500, 2_000);
    let (by, duration) = (millis(takes), millis(3 * takes));
    draw.push(Action::SlowVolume { broker: None, by, duration });
    let then = draw.at + draw.stream.between(takes / 2, 2 * takes);
    let delay = millis(draw.stream.between(10, takes / 2));
    draw.push_at(then, Action::Depose { delay });
}

/// A transaction's coordinator dies with its decision made and no marker sent, and all who might ask for
/// that transaction again leave.
fn orphaned_decision(draw: &mut Draw<'_>) {
    let Some((group, members)) = transactional(draw.plan) else { return };
    let of = Some(group.clone());
    let when = When { moment: Moment::EndAnswered, nth: 1, group: of };
    let (broker, down) = (THERE.to_owned(), millis(draw.stream.between(6_000, 15_000)));
    draw.push_when(&when, Action::Restart { broker, down, exit: Exit::Abrupt });
    for member in 1..=members {
        draw.push_when(&when, Action::Leave { client: format!("{group}.{member}") });
    }
}

/// The owner of a group writes slowly, and a member with a commit under way begins anew: the end of its
/// transaction comes before the commit is stored.
fn overtaken_commit(draw: &mut Draw<'_>) {
    let Some((group, members)) = transactional(draw.plan) else { return };
    let owner = draw.broker();
    let home = Some(owner.clone());
    draw.push_at(
        draw.at - 2_500,
        Action::Entry { group: group.clone(), broker: home.clone(), stays: false },
    );
    let takes = draw.stream.between(300, 1_500);
    let (by, duration) = (millis(takes), millis(6 * takes));
    draw.push(Action::SlowVolume { broker: home, by, duration });
    let member = between(&mut draw.stream, 1, members);
    let (client, down) = (format!("{group}.{member}"), draw.duration(1_000));
    let then = draw.at + draw.stream.between(takes, 4 * takes);
    draw.push_at(then, Action::Crash { client, down, keeps_id: false, peers: Goodbye::Reset });
}

/// A group that uses transactions, if there is one, and how many members it has.
fn transactional(plan: &Plan) -> Option<(String, u32)> {
    plan.clients.iter().find_map(|it| match it {
        Clients::Group { name, members, transactions: Some(_), .. } => {
            Some((name.clone(), *members))
        }
        Clients::Group { .. }
        | Clients::Committer { .. }
        | Clients::Reader { .. }
        | Clients::OneShot { .. }
        | Clients::Admin { .. }
        | Clients::Rude { .. } => None,
    })
}
