//! `prove`: plants bugs, one at a time, and tells how soon each is found.

mod json;
mod table;

use std::fs;

use self::table::{Row, Table};
use super::{
    Console, Exit, Halt,
    args::{self, ProveArgs},
    evidence,
};
use crate::{
    prove::{Bug, Build, Differences, Measurement, Trouble, Until, Workshop, measure},
    runner::Order,
};

/// Where the bugs are, from the root of the source.
const BUGS: &str = "sim/bugs";

pub(super) fn command(args: &ProveArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let given: Result<Vec<_>, _> = args.patches.iter().map(|it| Bug::read(it)).collect();
    let given = given.map_err(Halt::trouble)?;
    let workshop = Workshop::open(args.target_dir.as_deref()).map_err(Halt::trouble)?;
    let bugs = bugs(args, given, &workshop)?;
    check_all(&workshop, &bugs)?;

    writeln!(console.err, "building and running the source without a bug")?;
    let build = workshop.build("the source without a bug does not").map_err(Halt::trouble)?;
    let kept = run(args, &build, Until::Over);
    if let Some(failure) = kept.failures.first() {
        let (seed, what) = (failure.seed, evidence::headline(&failure.outcome));
        let what = format!("the source without a bug does not pass, see seed {seed}: {what}");
        return Err(Halt { exit: Exit::Broke, message: Some(what) });
    }
    let differences = Differences::seen_by(&build.program, workshop.copy());
    let differences = differences.map_err(Halt::trouble)?;
    if !differences.is_none() {
        let what = format!("the source without a bug is not as on record: {}", differences.words());
        return Err(Halt { exit: Exit::Broke, message: Some(what) });
    }
    let table = Table::new(&bugs);
    let commit = workshop.commit().map_err(Halt::trouble)?;
    write!(console.out, "{}", table.head(&commit, args.from, &build, &kept))?;
    let (mut rows, mut troubles) = (Vec::new(), Vec::new());
    for bug in bugs {
        console.out.flush()?;
        let built = match workshop.build_with(&bug) {
            Ok(built) => built,
            Err(trouble) => {
                troubles.push(trouble);
                continue;
            }
        };
        let until = if args.quick { Until::Found } else { Until::Over };
        let measurement = run(args, &built, until);
        let differences = match measurement.is_found() {
            true => Differences::default(),
            false => {
                Differences::seen_by(&built.program, workshop.copy()).map_err(Halt::trouble)?
            }
        };
        let row = Row { measurement, differences, build: built.took, bug };
        write!(console.out, "{}", table.row(&row))?;
        rows.push(row);
    }
    if let Some(path) = &args.json {
        fs::write(path, json::report(args.from, &commit, &kept, &rows))
            .map_err(|error| Halt::file("write", path, &error))?;
    }
    write!(console.out, "{}", table.tail(&rows))?;
    all_of(troubles)?;
    let is_good = rows.iter().all(Row::is_as_expected);
    Ok(if is_good { Exit::Kept } else { Exit::Broke })
}

/// The bugs that were asked for.
fn bugs(args: &ProveArgs, given: Vec<Bug>, workshop: &Workshop) -> Result<Vec<Bug>, Halt> {
    if !given.is_empty() && args.bugs.is_empty() {
        return Ok(given);
    }
    let all = Bug::all(&workshop.root().join(BUGS)).map_err(Halt::trouble)?;
    if args.quick {
        return Ok(all.into_iter().filter(Bug::is_quick).collect());
    }
    let unknown = args.bugs.iter().find(|id| all.iter().all(|it| it.id != **id));
    if let Some(unknown) = unknown {
        let ids: Vec<_> = all.iter().map(|it| it.id.as_str()).collect();
        let ids = ids.join(", ");
        return Err(Halt::usage(format!("there is no bug {unknown} in {BUGS}; there are {ids}")));
    }
    let named = all.into_iter().filter(|it| args.bugs.is_empty() || args.bugs.contains(&it.id));
    Ok(given.into_iter().chain(named).collect())
}

/// Whether all patches apply; if not, all that do not are named at once, before anything is built.
fn check_all(workshop: &Workshop, bugs: &[Bug]) -> Result<(), Halt> {
    all_of(bugs.iter().filter_map(|it| workshop.check(it).err()).collect())
}

fn all_of(mut troubles: Vec<Trouble>) -> Result<(), Halt> {
    if troubles.len() <= 1 {
        return troubles.pop().map_or(Ok(()), |it| Err(Halt::trouble(it)));
    }
    let texts: Vec<_> = troubles.into_iter().map(Trouble::text).collect();
    Err(Halt::trouble(Trouble::Patch(texts.join("\nerror: "))))
}

fn run(args: &ProveArgs, build: &Build, until: Until) -> Measurement {
    let (first, count, jobs) = (args.from, Some(args.seeds), args::jobs(args.jobs));
    measure(&build.program, Order { first, count, jobs, may_start: &|| true }, until)
}
