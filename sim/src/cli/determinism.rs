//! `determinism`: each seed in two processes, one of which also tells what happens.
//!
//! Whether promises are kept is not the question here; whether both come to the same is.

use super::{
    Console, Exit, Halt,
    args::{self, DeterminismArgs, profile_flag},
    evidence::{self, Detail, labelled},
    layout::count,
    progress::Progress,
    run::children,
};
use crate::{
    outcome::{Outcome, Verdict},
    runner::{self, Children, Order, Source},
    seed::Seed,
};

/// Runs each seed twice.
struct Twice {
    untold: Children,
    told: Children,
}

impl Source for Twice {
    fn run(&self, seed: Seed) -> Outcome {
        compare(self.untold.run(seed), &self.told.run(seed))
    }

    fn tend(&self) {
        self.untold.tend();
        self.told.tend();
    }
}

pub(super) fn command(args: &DeterminismArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let twice = Twice {
        untold: children(&args.profile, &[])?,
        told: children(&args.profile, &["--told"])?,
    };
    with(&twice, args, console)
}

pub(super) fn with(
    source: &dyn Source,
    args: &DeterminismArgs,
    console: &mut Console<'_>,
) -> Result<Exit, Halt> {
    let (first, jobs) = (args.from, args::jobs(args.jobs));
    let order = Order { first, count: Some(args.seeds), jobs, may_start: &|| true };
    let mut progress = Progress::new(order.count, console);
    let suite = runner::run(order, source, &mut |outcome| progress.arrived(outcome));
    progress.finish();

    let text = match suite.failures.first() {
        None => {
            let same = format!("{} came to the same, told and untold", count(suite.ran, "seed"));
            let digest = format!("{}, which every build must give", suite.digest());
            labelled("kept", [same]) + &labelled("digest", [digest])
        }
        Some(first) => {
            let seeds: Vec<_> = suite.failures.iter().map(|it| it.seed.to_string()).collect();
            let failed =
                format!("{} of {}: {}", seeds.len(), count(suite.ran, "seed"), seeds.join(", "));
            let profile = profile_flag(&args.profile.name);
            let again = format!("cargo sim replay {}{profile} --trace", first.seed);
            labelled("failed", [failed])
                + "\n"
                + &labelled("seed", [first.seed.to_string()])
                + &evidence::failure(&first.outcome, Detail::Full)
                + "\n"
                + &evidence::ending(None, &[again])
        }
    };
    write!(console.out, "{text}")?;
    Ok(suite.verdict().into())
}

/// The verdict on two runs of one plan: kept if they are the same in everything.
pub(super) fn compare(untold: Outcome, told: &Outcome) -> Outcome {
    if untold.verdict == Verdict::Crashed {
        return untold;
    }
    if told.verdict == Verdict::Crashed {
        return told.clone();
    }
    let verdict = if untold == *told { Verdict::Kept } else { Verdict::Diverged };
    let reason = (verdict == Verdict::Diverged).then(|| difference(&untold, told));
    Outcome { verdict, reason, findings: Vec::new(), ..untold }
}

fn difference(untold: &Outcome, told: &Outcome) -> String {
    let line = |label, it: &Outcome| {
        let Outcome { digest, events, micros, .. } = it;
        format!("{label} {digest}, {events} events, {micros}us, {}", evidence::headline(it))
    };
    let what = match untold.digest == told.digest {
        true => "the same digest, but not the same outcome",
        false => "two digests for one plan",
    };
    [what.to_owned(), line("untold", untold), line("told  ", told)].join("\n")
}
