//! The program itself: that its exit codes reach the shell.

use std::process::{Command, Output};

fn sim(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sim"))
        .args(args)
        .output()
        .expect("the program is built and starts")
}

#[test]
fn exit_codes_reach_the_shell() {
    for (args, code) in [
        (&["promises"][..], 0),
        (&["--help"], 0),
        (&["run", "--from", "not-a-seed"], 64),
        (&["replay", "no/such.scn"], 64),
        (&["one"], 65),
        (&["conformance"], 64),
        (&["conformance", "no-such.json"], 74),
        (&["conformance", "Cargo.toml"], 64),
    ] {
        assert_eq!(sim(args).status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn conformance_says_how_many_pass() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("cases.json");
    let case = |ms: u64| {
        format!(
            r#"{{"cases": [{{"id": "N1", "title": "waits", "tags": [],
                "given": [{{"op": "join", "req": "a", "instance": "i"}}],
                "when": {{"op": "advance_ms", "ms": {ms}}},
                "expect": {{"still_parked": ["a"]}}}}]}}"#
        )
    };
    for (content, code, out) in [
        (case(1), 0, "1 passed, 0 failed, 0 skipped\n"),
        (case(3000), 1, "0 passed, 1 failed, 0 skipped\n"),
        ("nothing".to_owned(), 65, ""),
    ] {
        std::fs::write(&path, content).unwrap();
        let output = sim(&["conformance", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code));
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.ends_with(out), "{stdout}");
        assert_eq!(stdout.lines().count(), if code == 1 { 2 } else { usize::from(code == 0) });
    }
}

#[test]
fn results_and_complaints_have_a_stream_each() {
    let good = sim(&["promises"]);
    assert!(good.stdout.starts_with(b"unique-ownership") && good.stderr.is_empty());
    let bad = sim(&["replay", "no/such.scn"]);
    assert!(bad.stdout.is_empty() && bad.stderr.starts_with(b"error: no/such.scn is neither"));
}
