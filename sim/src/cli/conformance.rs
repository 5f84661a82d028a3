//! `conformance`: what Kafka does, as recorded, against the production coordinator.

use std::fs;

use super::{Console, Exit, Halt, args::ConformanceArgs};
use crate::conformance::{Format, Reasons, Report};

pub(super) fn command(args: &ConformanceArgs, console: &mut Console<'_>) -> Result<Exit, Halt> {
    let mut report = Report::default();
    for path in &args.files {
        let Some(format) = Format::of(path) else {
            let name = path.display();
            return Err(Halt::usage(format!(
                "{name} is neither .json (cases) nor .jsonl (traces)"
            )));
        };
        let content = fs::read_to_string(path).map_err(|it| Halt::file("read", path, &it))?;
        let told = report.failures.len();
        let result = report.run(format, &content);
        for failure in &report.failures[told..] {
            writeln!(console.out, "{failure}")?;
        }
        result.map_err(|bad| Halt::data(format!("{}:{}", path.display(), bad.0)))?;
    }
    let skipped: usize = report.skipped.values().sum();
    list(console, "skipped", &report.skipped)?;
    list(console, "not as in Kafka", &report.differences)?;
    let failed = report.failures.len();
    writeln!(console.out, "{} passed, {failed} failed, {skipped} skipped", report.passed)?;
    Ok(if failed == 0 { Exit::Kept } else { Exit::Broke })
}

fn list(console: &mut Console<'_>, what: &str, reasons: &Reasons) -> Result<(), Halt> {
    for (reason, count) in reasons {
        writeln!(console.out, "{count:6} {what}: {reason}")?;
    }
    Ok(())
}
