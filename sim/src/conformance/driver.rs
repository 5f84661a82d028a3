//! Performs the steps of a case or a trace and remembers what was answered.
//!
//! Knows labels (`req`), references (`@LABEL.field`) and what is still parked; what is answered late
//! is kept for whoever checks the step.

use std::collections::BTreeMap;

use kaas_coordinator::ids::GroupId;
use serde_json::{Value, json};

use super::{
    Reasons, answers,
    matching::matches,
    requests,
    rules::{self, Situation},
    step::{Fields, Malformed, entries, items, merged, nothing, op},
    world::{self, Call, World},
};

/// Stands for an id that the recording knows and nobody was told; matches any.
const UNDISCLOSED: &str = "<undisclosed-0>";

/// Why a step is not as it should be.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The file is no case or trace.
    Malformed(Malformed),
    /// Something else was observed.
    Differs(String),
}

impl From<Malformed> for Trouble {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<String> for Trouble {
    fn from(difference: String) -> Self {
        Self::Differs(difference)
    }
}

/// What the files say of themselves.
#[derive(Clone, Debug)]
pub(super) struct Schema {
    pub(super) config: Value,
    pub(super) steps: Value,
}

/// A request that was sent and is not answered yet.
struct Parked {
    label: String,
    version: i64,
    /// Kafka answers this one at once.
    is_deletion: bool,
}

/// One isolated world and what was seen of it.
pub(super) struct Driver {
    world: World,
    steps: Value,
    parked: BTreeMap<Call, Parked>,
    answers: BTreeMap<String, Value>,
    /// What a rehearsal answered: expectations may name an id that is only disclosed later.
    rehearsed: BTreeMap<String, Value>,
    /// Answered during the last step although parked in an earlier one.
    late: BTreeMap<String, Value>,
    loaded: bool,
    pub(super) differences: Reasons,
}

/// What a step came to.
pub(super) struct Outcome {
    /// The immediate answer, if the step is a request: `{"parked": true}` if it is withheld.
    pub(super) answer: Value,
    /// What the answer must be, whatever Kafka's is.
    pub(super) ours: Option<Value>,
}

impl Driver {
    pub(super) fn new(schema: &Schema, overrides: &Value) -> Result<Self, Malformed> {
        Ok(Self {
            world: World::new(world::config(&merged(&schema.config, overrides))?),
            steps: schema.steps.clone(),
            parked: BTreeMap::new(),
            answers: BTreeMap::new(),
            rehearsed: BTreeMap::new(),
            late: BTreeMap::new(),
            loaded: false,
            differences: Reasons::new(),
        })
    }

    /// The same world from its beginning, which knows what will be answered. Ids repeat.
    pub(super) fn after_rehearsal(self, schema: &Schema) -> Result<Self, Malformed> {
        Ok(Self { rehearsed: self.answers, ..Self::new(schema, &Value::Null)? })
    }

    /// Performs a step.
    pub(super) fn perform(&mut self, step: &Value) -> Result<Outcome, Malformed> {
        self.late.clear();
        let op = op(step)?;
        let full = merged(&self.steps[op], &self.resolve(step));
        let Some(request) = requests::request(op, &full)? else {
            self.event(op, &full)?;
            self.collect(None);
            return Ok(Outcome { answer: Value::Null, ours: None });
        };
        let situation = Situation { phase: self.world.phase, fails: self.world.fails_next() };
        let difference = rules::difference(situation, op, &full);
        let call = self.world.send(request);
        let label = Fields(step).optional("req").unwrap_or_default().to_owned();
        let version = full["api_version"].as_i64().unwrap_or(i64::MAX);
        let is_deletion = rules::is_deletion(op);
        self.parked.insert(call, Parked { label, version, is_deletion });
        let answer = self.collect(Some(call)).unwrap_or_else(|| json!({"parked": true}));
        let ours = difference.map(|(ours, reason)| {
            *self.differences.entry(reason).or_default() += 1;
            ours
        });
        Ok(Outcome { answer, ours })
    }

    /// Takes the answers that have come; the one to `now` is no late one.
    fn collect(&mut self, now: Option<Call>) -> Option<Value> {
        let mut immediate = None;
        for (call, response) in self.world.take_answers() {
            let parked = self.parked.remove(&call).expect("a request is answered once");
            let answer = answers::answer(parked.version, &response);
            self.answers.insert(parked.label.clone(), answer.clone());
            if now == Some(call) {
                immediate = Some(answer);
            } else if parked.is_deletion {
                *self.differences.entry(rules::DURABLE).or_default() += 1;
            } else {
                self.late.insert(parked.label, answer);
            }
        }
        immediate
    }

    fn event(&mut self, op: &str, step: &Value) -> Result<(), Malformed> {
        let it = Fields(step);
        let word = it.optional("event").or(it.optional("mode"));
        let world = &mut self.world;
        match (op, word) {
            ("advance_ms", _) => world.advance(it.millis("ms")?),
            ("offset_expiry_sweep", _) => world.expire_offsets(),
            ("end_txn", _) => {
                let commit = match it.text("result")? {
                    "COMMIT" => true,
                    "ABORT" => false,
                    other => return Err(Malformed(format!("no transaction ends with {other}"))),
                };
                world.end_txn(it.integer("producer_id")?, commit);
            }
            ("store", Some("hold")) => world.hold_stores(),
            // Changes of one group are written in the order of arrival, whatever is acknowledged
            // first.
            ("store", Some("release")) => world.release_stores(),
            ("store", Some("fail")) => {
                let fault = rules::fault(step)?.expect("a step that applies");
                world.fail_next_store(fault);
            }
            ("coordinator", Some("resign")) => world.resign(),
            ("coordinator", Some("load_begin")) => world.begin_load(),
            ("coordinator", Some("load_end")) => {
                self.loaded = true;
                world.end_load();
            }
            ("coordinator", Some("shutdown")) => world.shut_down(),
            (op, word) => return Err(Malformed(format!("there is no {op} {word:?}"))),
        }
        Ok(())
    }

    /// Replaces every `@LABEL.field` by what was answered.
    pub(super) fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('@').and_then(|it| it.split_once('.')) {
                Some((label, field)) => {
                    let answer = self.answers.get(label).or_else(|| self.rehearsed.get(label));
                    answer.map_or_else(|| UNDISCLOSED.into(), |answer| answer[field].clone())
                }
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(fields) => {
                // Ids are field names, too.
                let name = |name: &String| {
                    let resolved = self.resolve(&name.as_str().into());
                    resolved.as_str().unwrap_or(name).to_owned()
                };
                fields.iter().map(|(it, field)| (name(it), self.resolve(field))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Whether a step's answer is the expected one, or ours where that is another.
    pub(super) fn check_answer(
        &mut self,
        expected: &Value,
        outcome: &Outcome,
    ) -> Result<(), String> {
        let mut expected = self.resolve(outcome.ours.as_ref().unwrap_or(expected));
        self.remember(&mut expected, &outcome.answer);
        matches(&expected, &outcome.answer)
    }

    fn remember(&mut self, expected: &mut Value, observed: &Value) {
        if self.loaded
            && let Some(reason) = rules::remembering(expected, observed)
        {
            *self.differences.entry(reason).or_default() += 1;
        }
    }

    /// Whether exactly the expected requests were answered late. Those that Kafka forgets may be
    /// answered at any time, with an error on which a client tries again.
    pub(super) fn check_late(&self, expected: &Value, forgotten: &Value) -> Result<(), String> {
        let expected = self.resolve(expected);
        for (label, response) in entries(&expected) {
            let observed = self.late.get(label);
            let observed = observed
                .ok_or_else(|| format!("{label}: expected {response}, observed no answer"))?;
            matches(response, observed).map_err(|error| format!("{label}: {error}"))?;
        }
        for (label, response) in &self.late {
            let is_forgotten = items(forgotten).any(|other| other == label.as_str());
            let may_end = is_forgotten && rules::is_retriable(response);
            if expected.get(label).is_none() && !may_end {
                return Err(format!("{label}: expected no answer, observed {response}"));
            }
        }
        Ok(())
    }

    /// Whether the group is as expected.
    pub(super) fn check_group(&mut self, expected: &Value) -> Result<(), String> {
        let mut expected = self.resolve(expected);
        let id = expected["id"].as_str().unwrap_or("g").into();
        if let Some(fields) = expected.as_object_mut() {
            fields.remove("id");
        }
        let observed = answers::group(self.world.inspect(&id).as_ref());
        self.remember(&mut expected, &observed);
        matches(&expected, &observed).map_err(|error| format!("group: {error}"))
    }

    /// The committed offsets of a group.
    pub(super) fn committed(&mut self, group: &str) -> Value {
        let response = self.world.committed(&GroupId::from(group));
        response.as_ref().map_or_else(nothing, answers::committed)
    }

    pub(super) fn is_parked(&self, label: &Value) -> bool {
        self.parked.values().any(|parked| label == parked.label.as_str())
    }
}
