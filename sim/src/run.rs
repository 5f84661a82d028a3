//! One run: a plan, told or not, from its first event to its verdict.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use madsim::{runtime::Runtime, time::sleep};

use crate::{
    outcome::{Excused, FaultCount, Finding, Outcome, Verdict},
    plan::Plan,
    record::Record,
    text,
    trace::Trace,
    world::{Next, World},
};

/// How long the world sleeps, by the runtime's clock, for brokers' tasks to come to rest; the world's
/// own time stands still meanwhile. The runtime's clock moves a little with every turn of a task, so
/// this must be longer than any number of turns: it is good for ten million.
pub const REST: Duration = Duration::from_secs(1);

/// Runs a plan; tells it if `told`.
pub fn run(plan: &Plan, told: bool) -> (Outcome, Option<String>) {
    let plan = Arc::new(plan.clone());
    let runtime = Runtime::with_seed_and_config(plan.seed, madsim::Config::default());
    let record = Record::new(told.then(|| Trace::new(Arc::clone(&plan))));
    let world = runtime.block_on(live(Arc::clone(&plan), record));
    let (record, report, stuck, micros) = world.finish();
    let findings: Vec<_> = report
        .violations
        .iter()
        .map(|it| Finding {
            promise: it.promise.name().to_owned(),
            claim: it.promise.claim().to_owned(),
            subject: it.subject.to_string(),
            at: it.at.0,
            evidence: it.evidence.clone(),
        })
        .collect();
    let verdict = match (&findings[..], &stuck) {
        ([], None) => Verdict::Kept,
        ([], Some(_)) => Verdict::Stuck,
        _ => Verdict::Broke,
    };
    let outcome = Outcome {
        verdict,
        micros,
        events: record.events(),
        digest: record.digest().to_string(),
        checked: report.checked.iter().map(|(it, n)| (it.name().to_owned(), *n)).collect(),
        milestones: record.marks().map(|(it, n)| (it.name().to_owned(), n)).collect(),
        faults: faults(&plan, &record),
        findings,
        excused: report.excused.iter().map(excused).collect(),
        reason: stuck.map(|it| format!("{} {}", it.who, it.why)),
        undecided: report.undecided,
    };
    let text = record.trace().map(|it| it.render(&outcome));
    (outcome, text)
}

fn excused(it: &model::Excuse) -> Excused {
    Excused {
        group: it.group.to_string(),
        reason: it.reason.name().to_owned(),
        evidence: it.evidence.clone(),
    }
}

async fn live(plan: Arc<Plan>, record: Record) -> World {
    let mut world = World::new(plan, record);
    loop {
        // Time stands still until every task has done what it can.
        sleep(REST).await;
        world.rest();
        if world.step() == Next::Over {
            return world;
        }
    }
}

/// How many faults of each kind there were, and how many did anything.
fn faults(plan: &Plan, record: &Record) -> BTreeMap<String, FaultCount> {
    let mut faults: BTreeMap<String, FaultCount> = BTreeMap::new();
    for (step, it) in plan.steps.iter().enumerate() {
        if it.action.is_fault() {
            let count = faults.entry(text::verb_of(&it.action).to_owned()).or_default();
            count.planned += 1;
            count.effective += u64::from(record.count_effect(step) > 0);
        }
    }
    faults
}
