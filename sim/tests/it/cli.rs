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
        (&["prove", "--patch", "no-such.patch"], 74),
        (&["prove", "--quick", "--bug", "one"], 64),
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

/// A patch is refused before anything is built, in words that say what to do.
#[test]
fn what_cannot_be_proved_is_said() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("mine.patch");
    let target = dir.path().join("target");
    let prove = |args: &[&str]| {
        let output = sim(&[&["prove", "--target-dir", target.to_str().unwrap()], args].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let patch = ["--patch", path.to_str().unwrap()];

    std::fs::write(&path, "bug      it is headless\n\n+++ b/src/lib.rs\n").unwrap();
    let (code, told) = prove(&patch);
    assert_eq!(code, Some(65), "{told}");
    assert!(told.contains("mine.patch: its header has no line `idea"), "{told}");

    let header = "bug      a change of what is not there\nidea     a test\nbreaks   nothing\n\n";
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1 +1 @@\n-this stands nowhere\n+nor this\n";
    std::fs::write(&path, format!("{header}diff --git a/src/lib.rs b/src/lib.rs\n{diff}")).unwrap();
    let (code, told) = prove(&patch);
    assert_eq!(code, Some(65), "{told}");
    assert!(told.contains("mine.patch does not apply any more: make the change again"), "{told}");

    let (code, told) = prove(&["--bug", "no-such-bug"]);
    assert_eq!(code, Some(64), "{told}");
    assert!(told.contains("there is no bug no-such-bug in sim/bugs; there are "), "{told}");
    assert!(!target.join("release").exists(), "nothing was built");
}

/// Every bug of ours has a header and applies to the source as it is.
#[test]
fn every_bug_applies() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let bugs = sim::prove::Bug::all(&root.join("sim/bugs")).unwrap();
    assert!(bugs.len() >= 50, "{}", bugs.len());
    let dir = tempfile::TempDir::new().unwrap();
    let workshop = sim::prove::Workshop::open(Some(dir.path())).unwrap();
    let troubles: Vec<_> = bugs.iter().filter_map(|it| workshop.check(it).err()).collect();
    assert_eq!(troubles, []);
}
