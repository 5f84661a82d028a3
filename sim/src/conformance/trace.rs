//! One recorded trace: every answer, every late answer and every state must be Kafka's.

use serde_json::Value;

use super::{
    case::Verdict,
    driver::{Driver, Schema, Trouble},
    rules,
    step::{Fields, Malformed, nothing, op},
};

/// The name of a trace in messages.
pub(super) fn name(trace: &Value) -> String {
    format!("seed {}", trace["seed"])
}

/// Runs a trace, as far as its steps can be performed here.
pub(super) fn run(schema: &Schema, trace: &Value) -> Result<Verdict, Malformed> {
    let steps = Fields(trace).list("steps")?;
    let mut end = None;
    for (at, recorded) in steps.iter().enumerate() {
        if let Some(reason) = rules::reason_to_stop(Fields(recorded).get("step"))? {
            end = Some((at, reason));
            break;
        }
    }
    let performed = &steps[..end.map_or(steps.len(), |(at, _)| at)];
    let mut rehearsal = Driver::new(schema, &Value::Null)?;
    for recorded in performed {
        rehearsal.perform(&recorded["step"])?;
    }
    let mut driver = rehearsal.after_rehearsal(schema)?;
    let forgotten = never_answered(steps);
    let (mut group, mut committed) = (Value::Null, Value::Null);
    for (number, recorded) in performed.iter().enumerate() {
        // What did not change is not recorded again.
        if let Some(changed) = recorded.get("group") {
            group = changed.clone();
        }
        if let Some(changed) = recorded.get("committed") {
            committed = changed.clone();
        }
        match run_step(&mut driver, recorded, &forgotten, &group, &committed) {
            Ok(()) => {}
            Err(Trouble::Malformed(malformed)) => return Err(malformed),
            Err(Trouble::Differs(difference)) => {
                let op = op(&recorded["step"])?;
                let label = Fields(&recorded["step"]).optional("req").unwrap_or_default();
                let step = format!("step {} ({op} {label})", number + 1);
                return Ok(Verdict::Failed(format!("{step}: {difference}")));
            }
        }
    }
    Ok(match end {
        Some((_, reason)) => Verdict::Skipped(reason),
        None => Verdict::Passed(driver.differences),
    })
}

fn run_step(
    driver: &mut Driver,
    recorded: &Value,
    forgotten: &Value,
    group: &Value,
    committed: &Value,
) -> Result<(), Trouble> {
    let outcome = driver.perform(&recorded["step"])?;
    if let Some(expected) = recorded.get("answer") {
        driver.check_answer(expected, &outcome).map_err(|error| format!("answer: {error}"))?;
    }
    let none = nothing();
    driver.check_late(recorded.get("late").unwrap_or(&none), forgotten)?;
    driver.check_group(group)?;
    let observed = driver.committed("g");
    if *committed != observed {
        return Err(format!("committed: expected {committed}, observed {observed}").into());
    }
    Ok(())
}

/// The requests that were parked and not answered in the recording, which may end early.
fn never_answered(steps: &[Value]) -> Value {
    let parked = steps.iter().filter(|recorded| recorded["answer"]["parked"] == true);
    let labels = parked.map(|recorded| &recorded["step"]["req"]);
    let is_answered = |label: &Value| {
        let late = |recorded: &Value| recorded["late"].get(label.as_str()?).map(|_| ());
        steps.iter().any(|recorded| late(recorded).is_some())
    };
    labels.filter(|label| !is_answered(label)).cloned().collect()
}
