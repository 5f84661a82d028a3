//! What can be typed.

use std::{num::NonZeroUsize, path::PathBuf, thread, time::Duration};

use clap::{Args, Parser, Subcommand, builder::PossibleValuesParser};

use crate::{draw, seed::Seed};

/// What a seed looks like.
pub(super) const SEED_SYNTAX: &str =
    "a seed: a number, or a commit hash of 7 to 40 hexadecimal digits";

const EXAMPLES: &str = "\
Examples:
  cargo sim run                                   200 seeds
  cargo sim run --from $(git rev-parse HEAD)      200 others, for each commit its own
  cargo sim run --budget 10m --out found          as many as fit into ten minutes
  cargo sim replay 17 --trace                     one of them again, told
  cargo sim replay scenarios/rolling_restart.scn  a scenario, told
  cargo sim prove --quick                         whether bugs would be noticed

Exit codes:
  0 kept   1 a promise broke   2 did not settle   3 crashed   4 diverged   5 vacuous
  64 wrong usage   65 a scenario does not parse   74 a file can't be read or written";

/// A kaas cluster in one process: every fault from one seed, every promise checked.
#[derive(Debug, Parser)]
#[command(name = "cargo sim", bin_name = "cargo sim", after_help = EXAMPLES)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Draws a plan for each of many seeds, runs them all and says what they come to
    Run(RunArgs),
    /// Runs one seed or one scenario again and tells what happened
    Replay(ReplayArgs),
    /// Runs each seed in two processes, one of them told, and compares
    Determinism(DeterminismArgs),
    /// Runs recorded behaviour of Kafka against the production coordinator
    Conformance(ConformanceArgs),
    /// Plants bugs in a copy of the source, one at a time, and times the finds
    Prove(ProveArgs),
    /// What a cluster promises
    Promises,
    /// The words of a scenario
    Verbs,
    /// Situations that many runs must have reached
    Milestones,
    /// How fast the simulator and the coordinator are
    Bench,
    /// Runs one seed, or the scenario on standard input, and prints its outcome as JSON
    #[command(hide = true)]
    One(OneArgs),
    /// Holds the coordinator against Kafka's cases and the scenarios' snapshots, and prints as JSON
    /// what differs
    #[command(hide = true)]
    Records(RecordsArgs),
}

/// Which plan a seed draws.
#[derive(Clone, Debug, Args)]
pub(super) struct Profile {
    /// What kind of plans to draw
    #[arg(long = "profile", value_name = "P", default_value = draw::PROFILES[0].0)]
    #[arg(hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(draw::PROFILES.iter().map(|(name, _)| *name)))]
    pub(super) name: String,
}

#[derive(Debug, Args)]
#[command(after_help = profiles())]
pub(super) struct RunArgs {
    /// How many seeds; 200 by default, and with --budget as many as fit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: Option<u64>,
    /// The first seed; the others follow it
    #[arg(long, value_name = "SEED|COMMIT", default_value = "0", value_parser = seed)]
    pub(super) from: Seed,
    /// How many at a time; by default one for each core
    #[arg(long, value_name = "J")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// After this time no further seed starts: 60s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) budget: Option<Duration>,
    #[command(flatten)]
    pub(super) profile: Profile,
    /// Where to write a JUnit report
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Where to write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Where to write the plans that failed
    #[arg(long, value_name = "DIR", default_value = "failures")]
    pub(super) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_help = profiles())]
pub(super) struct ReplayArgs {
    /// A seed (a number, or a commit hash of 7 to 40 digits) or a scenario file
    #[arg(value_name = "SEED|FILE")]
    pub(super) what: String,
    /// Tell what happened; a scenario is always told
    #[arg(long)]
    pub(super) trace: bool,
    #[command(flatten)]
    pub(super) profile: Profile,
    /// Run a scenario file under this seed instead of its own
    #[arg(long, value_name = "SEED", value_parser = seed)]
    pub(super) seed: Option<Seed>,
}

#[derive(Debug, Args)]
pub(super) struct DeterminismArgs {
    /// How many seeds
    #[arg(long, value_name = "N", default_value = "50")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: u64,
    /// The first seed; the others follow it
    #[arg(long, value_name = "SEED|COMMIT", default_value = "0", value_parser = seed)]
    pub(super) from: Seed,
    /// How many at a time; by default one for each core
    #[arg(long, value_name = "J")]
    pub(super) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(super) profile: Profile,
}

#[derive(Debug, Args)]
pub(super) struct ConformanceArgs {
    /// Cases (.json) or traces (.jsonl)
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
}

const BUGS: &str = "\
A bug is a patch with a header; sim/src/prove/bug.rs says what stands there. A new one begins as a
change of the source:
  git diff >> my.patch && git stash    behind the lines `bug`, `idea` and `breaks`
  cargo sim prove --patch my.patch     whether, and how soon, it is found

Exit codes: 0 all as expected, 1 a bug was missed or a control found, 65 a patch does not apply";

#[derive(Debug, Args)]
#[command(after_help = BUGS)]
pub(super) struct ProveArgs {
    /// Only this bug of sim/bugs; may be given several times
    #[arg(long = "bug", value_name = "ID")]
    pub(super) bugs: Vec<String>,
    /// A bug that is somewhere else; may be given several times
    #[arg(long = "patch", value_name = "FILE")]
    pub(super) patches: Vec<PathBuf>,
    /// A few bugs from all over the source, each only to its first failure
    #[arg(long, conflicts_with_all = ["bugs", "patches"])]
    pub(super) quick: bool,
    /// How many seeds for each bug
    #[arg(long, value_name = "N", default_value = "200")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) seeds: u64,
    /// The first seed; the others follow it
    #[arg(long, value_name = "SEED|COMMIT", default_value = "0", value_parser = seed)]
    pub(super) from: Seed,
    /// How many at a time; by default one for each core
    #[arg(long, value_name = "J")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Where to write everything as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
    /// Where to copy the source to and to build; target/prove by default
    #[arg(long, value_name = "DIR")]
    pub(super) target_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct OneArgs {
    /// The seed; without it, a scenario is read from standard input
    #[arg(long, value_name = "SEED", value_parser = seed)]
    pub(super) seed: Option<Seed>,
    #[command(flatten)]
    pub(super) profile: Profile,
    /// Make the trace as well, and throw it away
    #[arg(long)]
    pub(super) told: bool,
}

#[derive(Debug, Args)]
pub(super) struct RecordsArgs {
    /// The root of the source
    pub(super) root: PathBuf,
}

/// As many jobs as were asked for, or one for each core.
pub(super) fn jobs(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The arguments by which a seed's plan is drawn again; none for the default profile.
pub(super) fn profile_flag(profile: &str) -> String {
    if profile == draw::PROFILES[0].0 { String::new() } else { format!(" --profile {profile}") }
}

/// The profiles, for the help of the commands that take one.
fn profiles() -> String {
    let width = draw::PROFILES.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let line = |(name, about): &(&str, &str)| format!("\n  {name:width$}  {about}");
    "Profiles:".to_owned() + &draw::PROFILES.iter().map(line).collect::<String>()
}

fn seed(text: &str) -> Result<Seed, String> {
    Seed::parse(text).ok_or_else(|| format!("it is not {SEED_SYNTAX}"))
}

fn duration(text: &str) -> Result<Duration, String> {
    let parse = || {
        let unit = text.find(|it: char| !it.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit);
        let number: u64 = number.parse().ok()?;
        match unit {
            "ms" => Some(Duration::from_millis(number)),
            "s" => Some(Duration::from_secs(number)),
            "m" => number.checked_mul(60).map(Duration::from_secs),
            "h" => number.checked_mul(3_600).map(Duration::from_secs),
            _ => None,
        }
    };
    parse().ok_or_else(|| "a time is a whole number and a unit: 500ms, 60s, 10m, 2h".to_owned())
}
