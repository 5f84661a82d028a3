//! `one`: the process of a single seed. Its last line of output is the outcome, as JSON.

use super::{
    Console, Exit, Halt,
    args::{OneArgs, Profile},
    attempt::attempt,
};
use crate::{draw, outcome::Outcome, plan::Plan, run, seed::Seed, text};

pub(super) fn command(args: &OneArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let outcome = match args.seed {
        Some(seed) => outcome_of(|| plan_of(seed, &args.profile), args.told),
        None => {
            let mut scenario = String::new();
            console
                .input
                .read_to_string(&mut scenario)
                .map_err(|error| Halt::data(format!("standard input: {error}")))?;
            let plan = text::parse("standard input", &scenario)
                .map_err(|error| Halt::data(error.to_string()))?;
            outcome_of(|| plan, args.told)
        }
    };
    serde_json::to_writer(&mut *console.out, &outcome).map_err(std::io::Error::from)?;
    writeln!(console.out)?;
    Ok(Exit::Kept)
}

/// Drawing is part of the attempt: it is ours, and can fail as the run can.
fn outcome_of(plan: impl FnOnce() -> Plan, told: bool) -> Outcome {
    attempt(|| run::run(&plan(), told)).0
}

/// The plan a seed draws.
pub(super) fn plan_of(seed: Seed, profile: &Profile) -> Plan {
    draw::draw(seed, &profile.name).expect("the arguments admit only profiles there are")
}
