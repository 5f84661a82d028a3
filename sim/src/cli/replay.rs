//! `replay`: one seed or one scenario again, told.

use std::{fs, io::ErrorKind, path::Path};

use super::{
    Console, Exit, Halt,
    args::{ReplayArgs, SEED_SYNTAX, profile_flag},
    attempt::attempt,
    evidence::{self, Detail, labelled},
    layout::{count, printable, thousands},
    one::plan_of,
};
use crate::{
    draw,
    outcome::{Outcome, Verdict},
    plan::Plan,
    run,
    seed::Seed,
    text,
};

/// What is replayed.
enum Subject {
    Seed(Seed),
    Scenario(Plan),
}

pub(super) fn command(args: &ReplayArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let subject = subject(args)?;
    let is_scenario = matches!(subject, Subject::Scenario(_));
    let is_told = args.trace || is_scenario;
    let (outcome, trace) = attempt(|| {
        let plan = match subject {
            Subject::Seed(seed) => plan_of(seed, &args.profile),
            Subject::Scenario(plan) => plan,
        };
        run::run(&plan, is_told)
    });
    if let Some(trace) = trace {
        writeln!(console.out, "{}\n", trace.trim_end())?;
    }
    write!(console.out, "{}", verdict(&outcome, &again(args, is_scenario), is_told))?;
    Ok(outcome.verdict.into())
}

/// A number is a seed, even if there is a file of that name: `./17` is the file.
fn subject(args: &ReplayArgs) -> Result<Subject, Halt> {
    let what = args.what.as_str();
    if let Some(seed) = Seed::parse(what) {
        return match args.seed {
            None => Ok(Subject::Seed(seed)),
            Some(_) => {
                Err(Halt::usage(format!("--seed is for a scenario; {what} is a seed itself")))
            }
        };
    }
    if args.profile.name != draw::PROFILES[0].0 {
        return Err(Halt::usage(format!("--profile is for a seed; {what} is a plan already")));
    }
    let path = Path::new(what);
    let bytes = fs::read(path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            let what = printable(what);
            return Halt::usage(format!("{what} is neither a file nor {SEED_SYNTAX}"));
        }
        Halt::file("read", path, &error)
    })?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|it| **it == b'\n').count();
        Halt::data(format!("{what}:{line}: not UTF-8; a scenario is plain text"))
    })?;
    let mut plan = text::parse(what, text).map_err(|error| Halt::data(error.to_string()))?;
    if let Some(seed) = args.seed {
        plan.seed = seed.0;
    }
    Ok(Subject::Scenario(plan))
}

/// The command that does the same again, with the trace.
fn again(args: &ReplayArgs, is_scenario: bool) -> String {
    let mut command = format!("cargo sim replay {}", args.what);
    command += &profile_flag(&args.profile.name);
    if let Some(seed) = args.seed {
        command += &format!(" --seed {seed}");
    }
    if !is_scenario {
        command += " --trace";
    }
    command
}

pub(super) fn verdict(outcome: &Outcome, again: &str, is_told: bool) -> String {
    let digest = labelled("digest", [&outcome.digest]);
    match outcome.verdict {
        Verdict::Kept => {
            let checks = outcome.checked.values().sum();
            let reached = outcome.milestones.values().filter(|it| **it > 0).count();
            let figures = format!(
                "every promise: {}, {reached} milestones, {}, {} of simulated time",
                count(checks, "check"),
                count(outcome.events, "event"),
                seconds(outcome.micros),
            );
            let hint = if is_told { String::new() } else { labelled("told", [again]) };
            labelled("kept", [figures]) + &digest + &hint
        }
        Verdict::Broke | Verdict::Stuck | Verdict::Crashed | Verdict::Diverged => {
            let failure = evidence::failure(outcome, Detail::Full);
            failure + "\n" + &digest + &evidence::ending(None, &[again.to_owned()])
        }
    }
}

fn seconds(micros: u64) -> String {
    format!("{}.{:03}s", thousands(micros / 1_000_000), micros / 1_000 % 1_000)
}
