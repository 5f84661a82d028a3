//! The recorded behaviour of Kafka, on whole brokers.

use std::path::Path;

use serde_json::{Value, json};
use sim::conformance::{BadFile, Format, Report};

const CASES: &str = include_str!("../../../tests/data/kafka_conformance.json");
const TRACES: &str = include_str!("../../../tests/data/kafka_traces.jsonl");
const DEFAULTS: &str = include_str!("../../src/conformance/defaults.json");

fn run(format: Format, content: &str) -> Result<Report, BadFile> {
    let mut report = Report::default();
    report.run(format, content).map(|()| report)
}

/// Whether all that applies is as in Kafka, and that is not too little.
#[expect(clippy::print_stdout, reason = "what was skipped, and why, is part of the result")]
fn check(format: Format, content: &str, least: usize) {
    let report = run(format, content).expect("the file is a good one");
    println!("{format:?}: {} passed", report.passed);
    for (reason, count) in &report.skipped {
        println!("{count:6} skipped: {reason}");
    }
    for (reason, count) in &report.differences {
        println!("{count:6} not as in Kafka: {reason}");
    }
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    assert!(report.passed >= least, "only {} ran", report.passed);
}

#[test]
fn cases_hold() {
    check(Format::Cases, CASES, 200);
}

#[test]
fn traces_hold() {
    check(Format::Traces, TRACES, 150);
}

#[test]
fn our_defaults_are_those_of_the_files() {
    let [file, ours]: [Value; 2] = [CASES, DEFAULTS].map(|it| serde_json::from_str(it).unwrap());
    for key in ["config_defaults", "step_defaults"] {
        assert_eq!(file[key], ours[key], "{key}");
    }
}

/// A member that joins alone, in a case with these expectations.
fn joined(expect: &Value, more: &Value) -> String {
    let join = json!({"op": "join", "req": "a", "instance": "i"});
    let mut case = json!({
        "id": "N1",
        "title": "one joins",
        "tags": [],
        "given": [join],
        "when": {"op": "advance_ms", "ms": 3000},
        "expect": expect,
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        case[name] = value.clone();
    }
    json!({"cases": [case]}).to_string()
}

#[test]
fn whatever_is_not_as_expected_is_told() {
    let answered = json!({"a": {"error": "NONE", "generation": 1}});
    let stable = json!({"state": "CompletingRebalance", "generation": 1});
    let good = json!({"completed": answered, "group": stable, "committed": {"t-0": -1}});
    let report = run(Format::Cases, &joined(&good, &json!({}))).unwrap();
    assert_eq!((report.passed, report.failures.len()), (1, 0));

    let table = [
        (
            json!({"completed": {"a": {"generation": 2}}}),
            "when: a: generation: expected 2, observed 1",
        ),
        (json!({"completed": {}}), "when: a: expected no answer, observed {"),
        (json!({"still_parked": ["a"]}), "when: a: expected no answer, observed"),
        (
            json!({"completed": answered, "group": {"state": "Stable"}}),
            "when: group: state: expected \"Stable\", observed \"CompletingRebalance\"",
        ),
        (
            json!({"completed": answered, "group": {"absent": true}}),
            "when: group: absent: expected true, observed false",
        ),
        (
            json!({"completed": answered, "committed": {"t-0": 5}}),
            "when: t-0: expected 5, observed -1",
        ),
    ];
    for (expect, said) in table {
        let report = run(Format::Cases, &joined(&expect, &json!({}))).unwrap();
        let [failure] = report.failures.as_slice() else { panic!("{expect} holds") };
        assert!(failure.starts_with(&format!("N1 (one joins), {said}")), "{failure}");
    }
}

#[test]
fn what_does_not_apply_is_told_by_tag_or_operation() {
    let table = [
        (json!({"tags": ["persistent_members_only"]}), "membership does not outlive"),
        (
            json!({"when": {"op": "topic_delete"}}),
            "a deleted topic is not the coordinator's affair",
        ),
        (json!({"when": {"op": "fly"}}), "an operation that is unknown here"),
        (
            json!({"when": {"op": "store", "mode": "fail", "error": "CORRUPT_MESSAGE"}}),
            "a volume has no such error",
        ),
    ];
    for (more, reason) in table {
        let report = run(Format::Cases, &joined(&json!({"response": 1}), &more)).unwrap();
        assert_eq!(report.passed + report.failures.len(), 0, "{more}");
        let told = report.skipped.keys().next().expect("it is skipped");
        assert!(told.starts_with(reason), "{told}");
    }
}

#[test]
fn what_is_no_file_of_cases_or_traces_is_told() {
    let no_group = json!({"when": {"op": "heartbeat", "req": "h", "generation": "one"}});
    let table = [
        (Format::Cases, "{\n  \"cases\": [\n".to_owned(), "3: EOF"),
        (Format::Cases, "{}".to_owned(), "1: there is no list of cases"),
        (Format::Cases, "{\"cases\": [{}]}".to_owned(), " ? (): given is no list: null"),
        (
            Format::Cases,
            joined(&json!({}), &no_group),
            " N1 (one joins): generation is no number in range: \"one\"",
        ),
        (Format::Traces, "{\"seed\": 1, \"steps\": []}".to_owned(), "1: the first line"),
        (Format::Traces, "{}\n{\"seed\": 1}".to_owned(), " seed 1: steps is no list"),
        (Format::Traces, "{}\n\n{".to_owned(), "3: EOF"),
    ];
    for (format, content, said) in table {
        let BadFile(message) = run(format, &content).expect_err("the file is bad");
        assert!(message.starts_with(said), "{message}");
    }
}

#[test]
fn a_file_is_known_by_its_name() {
    let of = |name| Format::of(Path::new(name));
    assert_eq!(of("a/cases.json"), Some(Format::Cases));
    assert_eq!(of("traces.jsonl"), Some(Format::Traces));
    assert_eq!(of("json"), None);
    assert_eq!(of("cases.txt"), None);
}
