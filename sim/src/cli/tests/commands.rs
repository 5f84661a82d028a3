//! What is typed and makes no sense, and the commands that run nothing.

use std::fs;

use super::typed;
use crate::cli::Exit;

#[test]
fn wrong_usage_is_64_and_says_what_would_be_right() {
    for (args, complaint) in [
        ("", "Usage: cargo sim <COMMAND>"),
        ("fly", "unrecognized subcommand 'fly'"),
        ("run --seed 3", "a similar argument exists: '--seeds'"),
        ("run --seeds many", "invalid value 'many' for '--seeds <N>'"),
        ("run --seeds 0", "0 is not in 1.."),
        ("run --jobs 0", "invalid value '0' for '--jobs <J>'"),
        ("run --from beef", "a number, or a commit hash of 7 to 40 hexadecimal digits"),
        ("run --budget 60", "a time is a whole number and a unit: 500ms, 60s, 10m, 2h"),
        ("run --budget 99999999999999999999s", "a time is a whole number and a unit"),
        ("run --profile rude", "[possible values: "),
        ("determinism --from -1", "unexpected argument '-1'"),
        ("one --seed x", "a number, or a commit hash of 7 to 40 hexadecimal digits"),
        ("prove --seeds 0", "0 is not in 1.."),
        ("prove --quick --patch x", "cannot be used with"),
        ("replay", "<SEED|FILE>"),
        ("replay nowhere.scn", "nowhere.scn is neither a file nor a seed: a number, or"),
        ("replay 17 --seed 4", "--seed is for a scenario; 17 is a seed itself"),
    ] {
        let typed = typed(args, "");
        assert_eq!(typed.exit, Exit::Usage, "{args}");
        assert!(typed.err.contains(complaint), "{args}:\n{}", typed.err);
        assert_eq!(typed.out, "", "{args}");
    }
}

#[test]
fn a_scenario_that_does_not_parse_is_65_and_names_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd.scn");
    let replay = format!("replay {}", path.display());

    fs::write(&path, "# A claim.\n\nfrobnicate kaas-0\n").unwrap();
    let bad = typed(&replay, "");
    assert_eq!(bad.exit, Exit::Data, "{}", bad.err);
    assert!(bad.err.starts_with(&format!("error: {}:", path.display())), "{}", bad.err);

    fs::write(&path, b"# A claim.\n# \xff\n").unwrap();
    let bad = typed(&replay, "");
    assert_eq!(bad.exit, Exit::Data);
    assert!(bad.err.contains("odd.scn:2: not UTF-8"), "{}", bad.err);

    let piped = typed("one", "frobnicate kaas-0\n");
    assert_eq!(piped.exit, Exit::Data);
    assert!(piped.err.starts_with("error: standard input:"), "{}", piped.err);
}

#[test]
fn a_file_that_cannot_be_read_is_74() {
    let dir = tempfile::tempdir().unwrap();
    let typed = typed(&format!("replay {}", dir.path().display()), "");
    assert_eq!(typed.exit, Exit::InputOutput);
    assert!(typed.err.starts_with("error: could not read "), "{}", typed.err);
}

#[test]
fn the_vocabulary_fits_the_screen() {
    for command in
        ["promises", "milestones", "verbs", "help", "run --help", "replay --help", "prove --help"]
    {
        let typed = typed(command, "");
        assert_eq!(typed.exit, Exit::Kept, "{command}");
        assert_eq!(typed.err, "", "{command}");
        let is_long = |line: &&str| line.chars().count() > 100;
        let long: Vec<_> = typed.out.lines().filter(is_long).collect();
        assert!(!typed.out.is_empty() && long.is_empty(), "{command}: {long:#?}");
    }
    assert!(typed("promises", "").out.contains("\nno-zombie-commit      a member that is not of"));
    assert!(typed("milestones", "").out.contains("(rare)\n"));
}
