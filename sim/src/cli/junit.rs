//! `run --junit`: a case for each promise and each milestone, and one for each seed that failed.
//!
//! Seeds that kept every promise have no case: a night's run has a million of them. Milestones that
//! are not reached, and need not be, are skipped cases.

use model::Promise;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    evidence::{self, Detail},
    layout::{count, printable},
    summary::Summary,
};
use crate::{milestone::Milestone, outcome::Verdict, runner::Failure};

pub(super) fn report(summary: &Summary<'_>) -> String {
    let mut report = Report::new("cargo sim run");
    report.set_time(summary.real);
    report.add_test_suites([promises(summary), milestones(summary), seeds(summary)]);
    report.to_string().expect("a report without a time of day is XML")
}

fn promises(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("promises");
    let unchecked = summary.suite.vacuum().unchecked;
    for promise in Promise::ALL {
        let status = match summary.suite.broken.get(promise.name()) {
            Some(seeds) => failed(&format!("broken in {}", count(*seeds, "seed"))),
            None if unchecked.contains(&promise) => failed("vacuous: never checked"),
            None => TestCaseStatus::success(),
        };
        suite.add_test_case(TestCase::new(promise.name(), status));
    }
    suite
}

fn milestones(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("milestones");
    let vacuum = summary.suite.vacuum();
    for milestone in Milestone::ALL {
        let status = if vacuum.missed().any(|it| it == *milestone) {
            failed("vacuous: not reached")
        } else if vacuum.unreached.contains(milestone) {
            TestCaseStatus::skipped()
        } else {
            TestCaseStatus::success()
        };
        suite.add_test_case(TestCase::new(milestone.name(), status));
    }
    suite
}

fn seeds(summary: &Summary<'_>) -> TestSuite {
    let mut suite = TestSuite::new("seeds");
    suite.set_time(summary.real);
    for Failure { seed, outcome } in &summary.suite.failures {
        let kind = match outcome.verdict {
            Verdict::Crashed => NonSuccessKind::Error,
            Verdict::Kept | Verdict::Broke | Verdict::Stuck | Verdict::Diverged => {
                NonSuccessKind::Failure
            }
        };
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(printable(&evidence::headline(outcome)));
        status.set_description(
            evidence::failure(outcome, Detail::Full) + "\n" + &summary.ending(*seed),
        );
        suite.add_test_case(TestCase::new(seed.to_string(), status));
    }
    suite
}

fn failed(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    status.set_message(message);
    status
}
