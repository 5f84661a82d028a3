//! One case: steps, and what must come of the last.

use serde_json::{Value, json};

use super::{
    Reasons,
    driver::{Driver, Schema, Trouble},
    matching::matches,
    rules,
    step::{Fields, Malformed, entries, items, nothing},
};

/// What one case or trace came to.
pub(super) enum Verdict {
    /// All is as expected, apart from deliberate differences.
    Passed(Reasons),
    /// What was expected and what was observed, and where.
    Failed(String),
    /// It does not apply.
    Skipped(&'static str),
}

/// The name of a case in messages.
pub(super) fn name(case: &Value) -> String {
    let it = Fields(case);
    format!("{} ({})", it.optional("id").unwrap_or("?"), it.optional("title").unwrap_or_default())
}

/// Runs a case.
pub(super) fn run(schema: &Schema, case: &Value) -> Result<Verdict, Malformed> {
    let it = Fields(case);
    let given = it.list("given")?;
    let steps = given.iter().chain([it.get("when")]);
    if let Some(reason) = rules::reason_to_skip(it.get("tags"), steps)? {
        return Ok(Verdict::Skipped(reason));
    }
    let mut driver = Driver::new(schema, it.get("config"))?;
    match try_run(&mut driver, it) {
        Ok(()) => Ok(Verdict::Passed(driver.differences)),
        Err((_, Trouble::Malformed(malformed))) => Err(malformed),
        Err((step, Trouble::Differs(difference))) => {
            Ok(Verdict::Failed(format!("{step}: {difference}")))
        }
    }
}

fn try_run(driver: &mut Driver, case: Fields<'_>) -> Result<(), (String, Trouble)> {
    for (number, step) in items(case.get("given")).enumerate() {
        let at = |trouble| (format!("step {}", number + 1), trouble);
        let outcome = driver.perform(step).map_err(|it| at(it.into()))?;
        if let Some(check) = step.get("check") {
            driver.check_answer(check, &outcome).map_err(|it| at(it.into()))?;
        }
    }
    let at = |trouble| ("when".to_owned(), trouble);
    let outcome = driver.perform(case.get("when")).map_err(|it| at(it.into()))?;
    let expect = Fields(case.get("expect"));
    if let Some(response) = expect.0.get("response") {
        driver.check_answer(response, &outcome).map_err(|it| at(it.into()))?;
    }
    check(driver, expect).map_err(|it| at(it.into()))
}

/// Checks all that is expected after the last step, except its own answer.
fn check(driver: &mut Driver, expect: Fields<'_>) -> Result<(), String> {
    let none = nothing();
    let completed = expect.0.get("completed").unwrap_or(&none);
    driver.check_late(completed, expect.get("unspecified"))?;
    for label in items(expect.get("still_parked")) {
        if !driver.is_parked(label) {
            return Err(format!("{label}: expected no answer, observed one"));
        }
    }
    if let Some(group) = expect.0.get("group") {
        driver.check_group(group)?;
    }
    if let Some(expected) = expect.0.get("committed") {
        let committed = driver.committed("g");
        for (partition, offset) in entries(expected) {
            let observed = committed.get(partition).cloned().unwrap_or_else(|| json!(-1));
            matches(offset, &observed).map_err(|error| format!("{partition}: {error}"))?;
        }
    }
    Ok(())
}
