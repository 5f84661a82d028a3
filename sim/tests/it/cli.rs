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
    ] {
        assert_eq!(sim(args).status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn results_and_complaints_have_a_stream_each() {
    let good = sim(&["promises"]);
    assert!(good.stdout.starts_with(b"unique-ownership") && good.stderr.is_empty());
    let bad = sim(&["replay", "no/such.scn"]);
    assert!(bad.stdout.is_empty() && bad.stderr.starts_with(b"error: no/such.scn is neither"));
}
