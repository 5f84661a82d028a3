//! `run`: many seeds, all failures collected, reports written, the summary last.

use std::{
    env, fs, io, panic,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Console, Exit, Halt,
    args::{self, Profile, RunArgs},
    failures, json, junit,
    one::plan_of,
    progress::Progress,
    summary::Summary,
};
use crate::{
    plan::Plan,
    runner::{self, Children, Order, Source, Stopwatch},
    seed::Seed,
};

/// How many seeds there are if nobody says.
const SEEDS: u64 = 200;

/// How long a seed may take in real time: far more than any does, so that only what hangs is cut.
const SEED_LIMIT: Duration = Duration::from_secs(30);

pub(super) fn command(args: &RunArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let children = children(&args.profile, &[])?;
    let plan_of = |seed| {
        // A plan that can't be drawn was a crash, which is told; here it only has no file.
        panic::catch_unwind(|| plan_of(seed, &args.profile)).ok()
    };
    with(&children, &plan_of, args, console)
}

/// Children of our own program that run a seed of a profile each.
pub(super) fn children(profile: &Profile, flags: &[&str]) -> Result<Children, Halt> {
    let program = own_program().map_err(|error| Halt::program(&error))?;
    let arguments = ["one", "--profile", profile.name.as_str()];
    let arguments = arguments.iter().chain(flags).map(|it| (*it).into()).collect();
    Ok(Children::new(program, arguments, SEED_LIMIT))
}

/// Our own program. Where the system allows it, the very file that is running, though another build
/// may have put a new one in its place: all seeds must run the same code.
fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() { Ok(running.to_owned()) } else { env::current_exe() }
}

/// The command, whatever it is that runs the seeds.
pub(super) fn with(
    source: &dyn Source,
    plan_of: &dyn Fn(Seed) -> Option<Plan>,
    args: &RunArgs,
    console: &mut Console<'_>,
) -> Result<Exit, Halt> {
    let count = args.seeds.or(args.budget.is_none().then_some(SEEDS));
    let jobs = args::jobs(args.jobs);
    let watch = Stopwatch::start();
    let may_start = || args.budget.is_none_or(|budget| watch.elapsed() < budget);
    let order = Order { first: args.from, count, jobs, may_start: &may_start };

    let mut progress = Progress::new(count, console);
    let suite = runner::run(order, source, &mut |outcome| progress.arrived(outcome));
    progress.finish();

    let real = watch.elapsed();
    let files = failures::write(&suite, &args.out, plan_of)?;
    let summary = Summary {
        suite: &suite,
        files: &files,
        shared: &runner::shared(args.from, &suite.failures, plan_of),
        first: args.from,
        profile: &args.profile.name,
        budget: args.budget.filter(|_| count != Some(suite.ran)),
        jobs,
        real,
    };
    // The reports come first: a reader of the output that goes away must not cost them.
    if let Some(path) = &args.json {
        report(path, &json::report(&summary))?;
    }
    if let Some(path) = &args.junit {
        report(path, &junit::report(&summary))?;
    }
    write!(console.out, "{}", summary.text())?;
    Ok(summary.exit())
}

fn report(path: &Path, text: &str) -> Result<(), Halt> {
    fs::write(path, text).map_err(|error| Halt::file("write", path, &error))
}
