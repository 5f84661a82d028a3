//! Runs one recorded trace: every answer, every late answer and every state must be Kafka's.

use serde_json::{Map, Value};

use crate::{driver::Driver, matching};

/// Runs a trace; the number of its steps, or where it differs from the recording.
pub(crate) fn run(schema: &Value, trace: &Value) -> Result<usize, String> {
    let mut rehearsal = Driver::new(schema, &Value::Null);
    for recorded in trace["steps"].as_array().expect("steps") {
        rehearsal.perform(&recorded["step"])?;
    }
    let mut driver = rehearsal.after_rehearsal(schema);
    let never_answered = never_answered(trace);
    let (mut group, mut committed) = (Value::Null, Value::Null);
    let steps = trace["steps"].as_array().expect("steps");
    for (number, recorded) in steps.iter().enumerate() {
        // What did not change is not recorded again.
        if let Some(changed) = recorded.get("group") {
            group = changed.clone();
        }
        if let Some(changed) = recorded.get("committed") {
            committed = changed.clone();
        }
        let step = &recorded["step"];
        let outcome = run_step(&mut driver, recorded, &never_answered, &group, &committed);
        outcome.map_err(|error| format!("step {number} {step}: {error}"))?;
    }
    Ok(steps.len())
}

fn run_step(
    driver: &mut Driver,
    recorded: &Value,
    never_answered: &Value,
    group: &Value,
    committed: &Value,
) -> Result<(), String> {
    let answer = driver.perform(&recorded["step"])?;
    if let Some(expected) = recorded.get("answer") {
        let expected = driver.resolve(expected);
        matching::matches(&expected, &answer.unwrap_or_default())
            .map_err(|error| format!("answer: {error}"))?;
    }
    let none = Value::Object(Map::new());
    let late = recorded.get("late").unwrap_or(&none);
    driver.check_late(late, never_answered)?;
    let expected = driver.resolve(group);
    matching::matches(&expected, &driver.coordinator.group_summary("g"))
        .map_err(|error| format!("group: {error}"))?;
    let actual = driver.coordinator.committed("g");
    if *committed != actual {
        return Err(format!("committed: expected {committed}, got {actual}"));
    }
    Ok(())
}

/// The requests that were parked and not answered in the recording, which may end early.
fn never_answered(trace: &Value) -> Value {
    let steps = trace["steps"].as_array().expect("steps");
    let parked = steps.iter().filter(|recorded| recorded["answer"]["parked"] == true);
    let labels = parked.map(|recorded| &recorded["step"]["req"]);
    let late = |label: &&Value| {
        let label = label.as_str().expect("a label");
        steps.iter().any(|recorded| recorded["late"].get(label).is_some())
    };
    labels.filter(|label| !late(label)).cloned().collect()
}
