//! Faults that wait for a moment: whatever the latencies of a run, they hit the window in which
//! state is at risk.

use super::{
    faults::{Draw, Kind},
    millis,
};
use crate::plan::{
    Action, BrokerName, Exit, Failure, Goodbye, Moment, Operation, THERE, Way, When,
};

/// Every kind, and how many there are of it at most.
pub(super) const KINDS: &[(&str, Kind, u32)] = &[
    ("die in a window", die, 3),
    ("pause in a window", pause, 4),
    ("move in a window", group_moves, 4),
    ("cut in a window", cut, 2),
    ("fail in a window", fail, 3),
    ("failover in a window", fail_over, 3),
    ("leave in a window", leave, 2),
    ("crash in a window", crash, 4),
];

/// Some moment of a group. Of the many that come in a run, mostly one of the next is meant.
fn some_moment(draw: &mut Draw<'_>) -> When {
    let (_, moment) = *draw.stream.pick(Moment::ALL);
    let mut most = 1;
    while most < 64 && draw.stream.percent(60) {
        most *= 2;
    }
    let nth = u32::try_from(draw.stream.between(1, most)).expect("a small number");
    let group = if draw.stream.percent(50) { Some(draw.group()) } else { None };
    When { moment, nth, group }
}

fn there() -> BrokerName {
    THERE.to_owned()
}

fn die(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    let down = draw.duration(10_000);
    draw.push_when(&when, Action::Restart { broker: there(), down, exit: Exit::Abrupt });
}

/// Who stops and sees nothing is dangerous once another has the group.
fn pause(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    let duration = draw.duration(30_000);
    draw.push_when(&when, Action::Pause { broker: there(), duration });
    if draw.stream.percent(60) {
        let (group, to) = (group_of(draw, &when), Some(draw.broker()));
        draw.push_when(&when, Action::Entry { group, broker: to, stays: false });
    }
}

/// The owner hears of it late, or not for a while.
fn group_moves(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    let (group, to) = (group_of(draw, &when), Some(draw.broker()));
    draw.push_when(&when, Action::Entry { group, broker: to, stays: false });
    if draw.stream.percent(40) {
        let duration = millis(draw.stream.between(500, 6_000));
        draw.push_when(&when, Action::Lag { broker: there(), duration, back: false });
    }
}

fn cut(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    let way = *draw.stream.pick(&[Way::Both, Way::Requests, Way::Answers]);
    let duration = draw.duration(20_000);
    let action = match draw.stream.percent(50) {
        true => Action::Reset { broker: there() },
        false => Action::Cut { broker: there(), client: None, way, duration },
    };
    draw.push_when(&when, action);
}

fn fail(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    let on = draw.operation();
    let percent = *draw.stream.pick(&[30, 100]);
    let (broker, error, duration) = (Some(there()), Failure::Io, draw.duration(4_000));
    draw.push_when(&when, Action::Fail { broker, error, on, percent, duration });
    if on == Operation::Any || draw.stream.percent(30) {
        let (group, to) = (group_of(draw, &when), Some(draw.broker()));
        draw.push_when(&when, Action::Entry { group, broker: to, stays: false });
    }
}

fn fail_over(draw: &mut Draw<'_>) {
    let when = some_moment(draw);
    draw.push_when(&when, Action::Failover);
}

/// A member leaves while its group rebalances.
fn leave(draw: &mut Draw<'_>) {
    let Some(client) = draw.consumer() else { return };
    let moments = [Moment::JoinArrived, Moment::JoinAnswered, Moment::SyncArrived];
    let moment = *draw.stream.pick(&moments);
    let nth = u32::try_from(draw.stream.between(1, 4)).expect("a small number");
    let group = client.rsplit_once('.').map(|(group, _)| group.to_owned());
    draw.push_when(&When { moment, nth, group }, Action::Leave { client });
}

/// A member's process dies in the middle of a commit, or of the end of a transaction.
fn crash(draw: &mut Draw<'_>) {
    let Some(client) = draw.consumer() else { return };
    let moment = *draw.stream.pick(&[
        Moment::CommitArrived,
        Moment::CommitAnswered,
        Moment::Staged,
        Moment::Renamed,
        Moment::EndArrived,
        Moment::EndAnswered,
    ]);
    let nth = u32::try_from(draw.stream.between(1, 4)).expect("a small number");
    let group = client.rsplit_once('.').map(|(group, _)| group.to_owned());
    let (down, peers) = (draw.duration(5_000), Goodbye::Reset);
    let action = Action::Crash { client, down, keeps_id: false, peers };
    draw.push_when(&When { moment, nth, group }, action);
}

/// The group whose moment it is, or some other.
fn group_of(draw: &mut Draw<'_>, when: &When) -> String {
    when.group.clone().unwrap_or_else(|| draw.group())
}
