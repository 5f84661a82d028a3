//! The group state machine against Kafka 3.7.1: conformance cases and recorded traces.
//!
//! Both files under `tests/data` describe themselves in their heads. The cases state one rule each;
//! the traces are random requests with everything Kafka 3.7.1 answered, late answers included, and
//! the group's state after each step. `coordinator.rs` is the least that a group needs around it:
//! a map of groups and a plain store of offsets, transactional ones too. What needs more is skipped by
//! a rule that looks at the steps, never by name, and is tried on whole brokers by the simulator.

use std::collections::BTreeMap;

use serde_json::Value;

mod coordinator;
mod driver;
#[path = "../../sim/src/conformance/matching.rs"]
mod matching;
mod offsets;
mod requests;
mod traces;

use driver::Driver;

const CASES: &str = include_str!("../data/kafka_conformance.json");
const TRACES: &str = include_str!("../data/kafka_traces.jsonl");

/// Why a case is not for this driver; `None` if it is.
fn reason_to_skip(case: &Value) -> Option<&'static str> {
    let tagged = |tag| case["tags"].as_array().into_iter().flatten().any(|other| other == tag);
    if tagged("persistent_members_only") {
        return Some("membership does not outlive the coordinator here");
    }
    let given = case["given"].as_array().expect("steps");
    let steps = || given.iter().chain([&case["when"]]);
    if steps().any(|step| step["op"] == "store") {
        return Some("the test's offsets are stored at once");
    }
    let ops: Vec<_> = steps().map(|step| &step["op"]).collect();
    let deleted = ops.iter().position(|op| **op == "offset_delete");
    if deleted.is_some_and(|at| ops[at..].iter().any(|op| **op == "coordinator")) {
        return Some("what a deletion leaves for the next load is the store's affair");
    }
    let event = given.iter().rev().find(|step| step["op"] == "coordinator");
    if event.is_some_and(|step| step["event"] != "load_end") {
        return Some("answered by the ownership gate");
    }
    None
}

fn run_case(schema: &Value, case: &Value) -> Result<(), String> {
    let mut driver = Driver::new(schema, &case["config"]);
    for step in case["given"].as_array().expect("steps") {
        let answer = driver.perform(step).map_err(|error| format!("{error} in {step}"))?;
        if let Some(check) = step.get("check") {
            let check = driver.resolve(check);
            matching::matches(&check, &answer.unwrap_or_default())
                .map_err(|error| format!("set-up {step}: {error}"))?;
        }
    }
    let answer = driver.perform(&case["when"])?;
    driver.check_expectation(&case["expect"], answer.as_ref())
}

#[test]
#[expect(clippy::print_stdout, reason = "what was skipped, and why, is part of the result")]
fn cases_hold() {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let mut passed = 0;
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failed = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        if let Some(reason) = reason_to_skip(case) {
            *skipped.entry(reason).or_default() += 1;
            continue;
        }
        match run_case(&file, case) {
            Ok(()) => passed += 1,
            Err(error) => failed.push(format!("{} {}: {error}", case["id"], case["title"])),
        }
    }
    println!("cases: {passed} passed, {} failed", failed.len());
    for (reason, count) in skipped {
        println!("cases: {count} skipped: {reason}");
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed >= 150, "only {passed} cases ran");
}

#[test]
#[expect(clippy::print_stdout, reason = "how much ran is part of the result")]
fn traces_hold() {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let mut steps = 0;
    let mut failed = Vec::new();
    let lines: Vec<&str> = TRACES.lines().skip(1).collect();
    for line in &lines {
        let trace: Value = serde_json::from_str(line).unwrap();
        match traces::run(&file, &trace) {
            Ok(count) => steps += count,
            Err(error) => failed.push(format!("trace {}: {error}", trace["seed"])),
        }
    }
    println!(
        "traces: {} passed with {steps} steps, {} failed",
        lines.len() - failed.len(),
        failed.len()
    );
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(steps >= 12_000, "only {steps} steps ran");
}
