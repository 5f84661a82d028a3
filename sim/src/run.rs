//! A stand-in: what a run comes to follows from the last digits of its seed.

use model::Promise;

use crate::{
    milestone::Milestone,
    outcome::{FaultCount, Finding, Outcome, Verdict},
    plan::Plan,
};

/// Runs nothing.
pub fn run(plan: &Plan, told: bool) -> (Outcome, Option<String>) {
    let seed = plan.seed;
    let mut outcome = Outcome {
        verdict: Verdict::Kept,
        micros: 60_000_000 + seed % 1000,
        events: 5_000 + seed % 7,
        digest: format!("{:032x}", u128::from(seed) * 0x1_0000_0001),
        checked: Promise::ALL.iter().map(|it| (it.name().to_owned(), 1_000)).collect(),
        milestones: Milestone::ALL
            .iter()
            .map(|it| {
                (it.name().to_owned(), u64::from(!it.is_rare()) * (it.name().len() as u64 * 31))
            })
            .collect(),
        faults: ["restart", "kill", "black-hole", "fail", "stop-in"]
            .map(|it| (it.to_owned(), FaultCount { planned: 3, effective: 2 }))
            .into(),
        findings: Vec::new(),
        reason: None,
        undecided: 0,
    };
    assert!(seed % 1000 != 666, "a group is created once, not by seed {seed}");
    match seed % 100 {
        17 | 23 => {
            outcome.verdict = Verdict::Broke;
            outcome.findings.push(Finding {
                promise: "offset-durability".to_owned(),
                claim: Promise::OffsetDurability.claim().to_owned(),
                subject: format!("g{}", seed % 4),
                at: 12_345_000 + seed,
                evidence: vec![
                    "orders/3 of payments:".to_owned(),
                    "commit 118 (write 2), sent at 2000ms, was acknowledged to c1 at 2010ms"
                        .to_owned(),
                    "a fetch sent at 3000ms answered 104 (write 1) to c2 at 3010ms".to_owned(),
                ],
            });
        }
        44 => {
            outcome.verdict = Verdict::Stuck;
            outcome.reason = Some(format!("group g{} is PreparingRebalance after 45s", seed % 9));
        }
        _ => {}
    }
    (outcome, told.then(|| "restart kaas-0 down=3s\n    0ms  kaas-0  down\n".to_owned()))
}
