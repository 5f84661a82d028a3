//! The command line over sources that run nothing.

mod commands;
mod suites;
mod texts;

use std::{ffi::OsString, time::Duration};

use model::Promise;

use super::{Console, Exit};
use crate::{
    milestone::Milestone,
    outcome::{FaultCount, Finding, Outcome, Verdict},
    plan::{Plan, Span},
    release::Release,
    seed::Seed,
};

/// What a command came to.
#[derive(Debug)]
struct Typed {
    exit: Exit,
    out: String,
    err: String,
}

/// Calls `command` with a console and keeps what it writes.
fn with_console(command: impl FnOnce(&mut Console<'_>) -> Exit, input: &str) -> Typed {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = command(&mut Console {
        input: &mut input.as_bytes(),
        out: &mut out,
        err: &mut err,
        is_terminal: false,
    });
    let [out, err] = [out, err].map(|it| String::from_utf8(it).unwrap());
    Typed { exit, out, err }
}

/// Types `cargo sim` and the arguments.
fn typed(args: &str, input: &str) -> Typed {
    let args = ["sim"].into_iter().chain(args.split_whitespace()).map(OsString::from);
    with_console(|console| super::main(args, console), input)
}

fn kept() -> Outcome {
    Outcome {
        verdict: Verdict::Kept,
        micros: 75_000_000,
        events: 3_214,
        digest: "c7cda96659fc7ac44af483958162e01a".to_owned(),
        checked: Promise::ALL.iter().map(|it| (it.name().to_owned(), 40)).collect(),
        milestones: Milestone::ALL
            .iter()
            .map(|it| (it.name().to_owned(), u64::from(!it.is_rare()) * 3))
            .collect(),
        faults: [("kill".to_owned(), FaultCount { planned: 3, effective: 2 })].into(),
        findings: Vec::new(),
        excused: Vec::new(),
        reason: None,
        undecided: 0,
    }
}

fn broke() -> Outcome {
    let finding = Finding {
        promise: Promise::OffsetDurability.name().to_owned(),
        claim: "a fetch never answers what a later acknowledged commit replaced".to_owned(),
        subject: "payments".to_owned(),
        at: 3_010_000,
        evidence: vec![
            "orders/3 of payments:".to_owned(),
            "  commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms".to_owned(),
            "  a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms".to_owned(),
        ],
    };
    Outcome { verdict: Verdict::Broke, findings: vec![finding], ..kept() }
}

fn stuck() -> Outcome {
    let reason = Some("billing is PreparingRebalance, and waits for billing.2".to_owned());
    Outcome { verdict: Verdict::Stuck, reason, ..kept() }
}

fn crashed() -> Outcome {
    crate::runner::crashed("sim/src/hub.rs:12: a name is given once".to_owned())
}

fn diverged() -> Outcome {
    Outcome { verdict: Verdict::Diverged, ..stuck() }
}

fn plan(seed: Seed) -> Plan {
    Plan {
        claim: vec!["drawn".to_owned()],
        seed: seed.0,
        brokers: 3,
        release: Release::Current,
        network: Span::fixed(Duration::from_millis(1)),
        volume: Span::fixed(Duration::from_millis(1)),
        drift_ppm: 0,
        stagger: Duration::from_millis(1),
        group_max: None,
        topics: Vec::new(),
        clients: Vec::new(),
        steps: Vec::new(),
    }
}
