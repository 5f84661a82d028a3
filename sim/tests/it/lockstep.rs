//! A production group and the model of one, side by side: every answer, every request that is
//! withheld and every state must be one that the model admits.
//!
//! | file | holds |
//! |---|---|
//! | `plan.rs` | operations, and how they are drawn |
//! | `pair.rs` | both groups, and what of the model's outcomes is left after a step |
//! | `production.rs` | the production group in the model's words |

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    env,
};

use model::group::{Outcome, ROWS, Row};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

mod pair;
mod plan;
mod production;

use pair::Pair;
use plan::Plan;

/// How many sequences are drawn in `cargo test`; the environment may ask for another number.
const SEQUENCES: u32 = 2_000;

/// What all sequences have reached.
#[derive(Debug, Default)]
struct Coverage {
    steps: u64,
    rows: BTreeMap<Row, u64>,
    /// State before, operation, and what came of it.
    triples: BTreeSet<(String, String, String)>,
    /// The most groups that the model held possible at a time.
    beliefs: usize,
}

impl Coverage {
    fn count(&mut self, triple: (String, String, String), left: &[Outcome]) {
        self.steps += 1;
        self.beliefs = self.beliefs.max(left.len());
        for row in &left[0].rows {
            *self.rows.entry(row).or_default() += 1;
        }
        self.triples.insert(triple);
    }

    fn unreached(&self) -> Vec<Row> {
        ROWS.iter().filter(|row| !self.rows.contains_key(*row)).copied().collect()
    }

    #[expect(clippy::print_stdout, reason = "what was reached is part of the result")]
    fn tell(&self, what: &str) {
        println!("{what}, {} steps", self.steps);
        println!("{} distinct (state, operation, result)", self.triples.len());
        println!("the model held at most {} groups possible", self.beliefs);
        println!("{} of {} rows reached, not {:?}", self.rows.len(), ROWS.len(), self.unreached());
    }
}

/// Runs a plan; says where the two differ.
fn run(plan: &Plan, coverage: &RefCell<Coverage>) -> Result<(), String> {
    let mut pair = Pair::new(plan.settings.clone());
    for (number, op) in plan.ops.iter().enumerate() {
        pair.step(op, &mut coverage.borrow_mut())
            .map_err(|difference| format!("operation {number}, {op:?}: {difference}"))?;
    }
    Ok(())
}

#[test]
fn random_sequences_agree() {
    let asked = env::var("KAAS_SEQUENCES").ok();
    let cases = asked.map_or(SEQUENCES, |it| it.parse().expect("KAAS_SEQUENCES is a number"));
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let coverage = RefCell::new(Coverage::default());
    let result = TestRunner::new_with_rng(config, rng)
        .run(&plan::plans(), |plan| run(&plan, &coverage).map_err(TestCaseError::fail));
    if let Err(failure) = result {
        panic!("{failure}");
    }
    let coverage = coverage.into_inner();
    coverage.tell(&format!("{cases} random sequences"));
    let unreached = coverage.unreached();
    let is_rich = unreached.len() <= 3 && coverage.triples.len() >= 1_000;
    assert!(cases < SEQUENCES || is_rich, "the sequences have become poorer: {unreached:?}");
}

#[test]
fn every_short_sequence_agrees() {
    let coverage = RefCell::new(Coverage::default());
    let (alphabet, length) = (plan::alphabet(), 4);
    let mut count = 0;
    for beginning in plan::beginnings() {
        let mut sequences = vec![beginning];
        for _ in 0..length {
            let longer = sequences.iter().flat_map(|sequence| {
                alphabet.iter().map(|op| {
                    let mut longer = sequence.clone();
                    longer.push(op.clone());
                    longer
                })
            });
            sequences = longer.collect();
        }
        // Each has all the shorter ones in it.
        count += sequences.len();
        for ops in sequences {
            let plan = Plan { settings: plan::settings(3_000, 1_000), ops };
            run(&plan, &coverage).unwrap_or_else(|difference| panic!("{difference}\n{plan:#?}"));
        }
    }
    let coverage = coverage.into_inner();
    coverage.tell(&format!("{count} sequences of {length} operations"));
    assert_eq!(count, 6 * 11_usize.pow(4));
}
