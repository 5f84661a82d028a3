//! Performs the steps of a case or a trace and remembers what was answered.
//!
//! Knows labels (`req`), references (`@LABEL.field`) and what is still parked; turns a step with the
//! schema's defaults into a call of the coordinator.

use std::collections::{BTreeMap, BTreeSet};

use kaas_coordinator::{config::GroupConfig, group::Ticket};
use serde_json::{Map, Value};

use crate::{
    coordinator::{Coordinator, Limits},
    matching, requests,
};

/// Stands for an id that the recording knows and nobody was told; matches any.
const UNDISCLOSED: &str = "<undisclosed-0>";

/// One isolated world.
pub(crate) struct Driver {
    pub(crate) coordinator: Coordinator,
    defaults: Value,
    tickets: u64,
    old_joins: BTreeSet<Ticket>,
    parked: BTreeMap<Ticket, String>,
    answers: BTreeMap<String, Value>,
    /// What a rehearsal answered: expectations may name an id that is only disclosed later.
    rehearsed: BTreeMap<String, Value>,
    /// Answered during the last step although parked in an earlier one.
    late: BTreeMap<String, Value>,
}

impl Driver {
    pub(crate) fn new(schema: &Value, overrides: &Value) -> Self {
        let mut config = schema["config_defaults"].clone();
        merge(&mut config, overrides);
        let (group, limits) = read_config(&config);
        Self {
            coordinator: Coordinator::new(group, limits),
            defaults: schema["step_defaults"].clone(),
            tickets: 0,
            old_joins: BTreeSet::new(),
            parked: BTreeMap::new(),
            answers: BTreeMap::new(),
            rehearsed: BTreeMap::new(),
            late: BTreeMap::new(),
        }
    }

    /// The same world from its beginning, which knows what will be answered. Ids repeat, since they
    /// are drawn from a counter.
    pub(crate) fn after_rehearsal(self, schema: &Value) -> Self {
        Self { rehearsed: self.answers, ..Self::new(schema, &Value::Null) }
    }

    /// Performs a step; the immediate answer, if the step is a request.
    pub(crate) fn perform(&mut self, step: &Value) -> Result<Option<Value>, String> {
        self.late.clear();
        let op = step["op"].as_str().expect("op");
        let mut full = self.defaults[op].clone();
        if full.is_null() {
            full = Value::Object(Map::new());
        }
        merge(&mut full, &self.resolve(step));
        let label = step["req"].as_str();
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let answer = requests::perform(&mut self.coordinator, op, &full, ticket)?;
        if op == "join" && full["api_version"].as_i64() < Some(7) {
            self.old_joins.insert(ticket);
        }
        let mut immediate = answer;
        for (answered, mut response) in self.coordinator.take_replies() {
            // The wire can't say null before version 7 of JoinGroup.
            let old = self.old_joins.contains(&answered);
            if old && response["protocol"].is_null() {
                response["protocol"] = "".into();
            }
            if answered == ticket {
                immediate = Some(response);
            } else if let Some(earlier) = self.parked.remove(&answered) {
                self.answers.insert(earlier.clone(), response.clone());
                self.late.insert(earlier, response);
            } else {
                return Err(format!("{answered:?} was answered twice: {response}"));
            }
        }
        let Some(label) = label else { return Ok(None) };
        match &immediate {
            Some(response) => self.answers.insert(label.into(), response.clone()),
            None => self.parked.insert(ticket, label.into()).map(Value::from),
        };
        Ok(Some(immediate.unwrap_or_else(|| serde_json::json!({"parked": true}))))
    }

    /// Replaces every `@LABEL.field` by what was answered.
    pub(crate) fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => match text.strip_prefix('@').and_then(|r| r.split_once('.')) {
                Some((label, field)) => {
                    let answer = self.answers.get(label).or_else(|| self.rehearsed.get(label));
                    answer.map_or_else(|| UNDISCLOSED.into(), |answer| answer[field].clone())
                }
                None => value.clone(),
            },
            Value::Array(items) => items.iter().map(|item| self.resolve(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, field)| (self.name(name), self.resolve(field))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// Ids are field names, too.
    fn name(&self, name: &str) -> String {
        let resolved = self.resolve(&name.into());
        resolved.as_str().unwrap_or(name).to_owned()
    }

    /// Whether exactly the expected requests were answered late. Those that Kafka forgets may be
    /// answered at any time, with an error on which a client tries again.
    pub(crate) fn check_late(&self, expected: &Value, forgotten: &Value) -> Result<(), String> {
        let expected = self.resolve(expected);
        let expected = expected.as_object().expect("labels");
        for (label, response) in expected {
            let actual = self.late.get(label).ok_or_else(|| format!("{label} is not answered"))?;
            matching::matches(response, actual).map_err(|error| format!("{label}: {error}"))?;
        }
        let forgotten =
            |label: &str| forgotten.as_array().into_iter().flatten().any(|other| other == label);
        for (label, response) in &self.late {
            let error = response["error"].as_str().unwrap_or_default();
            let retriable = ["REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"].contains(&error);
            let allowed = expected.contains_key(label) || forgotten(label) && retriable;
            if !allowed {
                return Err(format!("{label} is answered: {response}"));
            }
        }
        Ok(())
    }

    /// Checks the `expect` of a case after its `when`.
    pub(crate) fn check_expectation(
        &self,
        expect: &Value,
        answer: Option<&Value>,
    ) -> Result<(), String> {
        if let Some(response) = expect.get("response") {
            let response = self.resolve(response);
            matching::matches(&response, answer.unwrap_or(&Value::Null))?;
        }
        let none = Value::Object(Map::new());
        let completed = expect.get("completed").unwrap_or(&none);
        self.check_late(completed, &expect["unspecified"])?;
        for label in expect["still_parked"].as_array().into_iter().flatten() {
            if !self.parked.values().any(|parked| label == parked) {
                return Err(format!("{label} is no longer parked"));
            }
        }
        if let Some(group) = expect.get("group") {
            let group = self.resolve(group);
            let id = group["id"].as_str().unwrap_or("g");
            let mut fields = group.clone();
            fields.as_object_mut().expect("a group").remove("id");
            matching::matches(&fields, &self.coordinator.group_summary(id))
                .map_err(|error| format!("group: {error}"))?;
        }
        let committed = self.coordinator.committed("g");
        for (partition, offset) in expect["committed"].as_object().into_iter().flatten() {
            let actual = committed.get(partition).cloned().unwrap_or_else(|| (-1).into());
            matching::matches(offset, &actual).map_err(|error| format!("{partition}: {error}"))?;
        }
        Ok(())
    }
}

pub(crate) fn read_config(config: &Value) -> (GroupConfig, Limits) {
    let millis = |name: &str| requests::millis(&config[name]);
    let group = GroupConfig {
        session_timeout_min: millis("min_session_timeout_ms"),
        session_timeout_max: millis("max_session_timeout_ms"),
        initial_rebalance_delay: millis("initial_rebalance_delay_ms"),
        size_max: requests::size(&config["group_max_size"]),
        new_member_join_timeout: millis("new_member_join_timeout_ms"),
        ..GroupConfig::default()
    };
    let limits = Limits {
        metadata_max: requests::size(&config["offset_metadata_max"]),
        retention: millis("offsets_retention_ms"),
    };
    (group, limits)
}

fn merge(target: &mut Value, source: &Value) {
    let target = target.as_object_mut().expect("an object");
    for (name, value) in source.as_object().into_iter().flatten() {
        target.insert(name.clone(), value.clone());
    }
}
