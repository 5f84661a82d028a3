//! Whether an answer is what a case or a trace expects.
//!
//! Objects match as subsets and lists of strings as sets; `<new>` and `<undisclosed-n>` stand for
//! any text that is not empty, and `{"any_of": [...]}` for one of several values.

use serde_json::Value;

/// `Err` says what differs.
pub(super) fn matches(expected: &Value, observed: &Value) -> Result<(), String> {
    let differ = || Err(format!("expected {expected}, observed {observed}"));
    match (expected, observed) {
        (Value::Object(expected), _) if expected.contains_key("any_of") => {
            let mut choices = expected["any_of"].as_array().into_iter().flatten();
            if choices.any(|choice| matches(choice, observed).is_ok()) { Ok(()) } else { differ() }
        }
        (Value::Object(fields), Value::Object(observed)) => {
            if fields.is_empty() && !observed.is_empty() {
                return differ();
            }
            fields.iter().try_for_each(|(name, value)| {
                let other = observed.get(name).unwrap_or(&Value::Null);
                matches(value, other).map_err(|error| format!("{name}: {error}"))
            })
        }
        (Value::Array(expected), Value::Array(observed)) => {
            let texts = expected.iter().chain(observed).all(Value::is_string);
            let same = expected.len() == observed.len()
                && if texts {
                    same_set(expected, observed)
                } else {
                    expected.iter().zip(observed).all(|(one, other)| matches(one, other).is_ok())
                };
            if same { Ok(()) } else { differ() }
        }
        (Value::String(expected), Value::String(observed)) if is_wildcard(expected) => {
            if observed.is_empty() { differ() } else { Ok(()) }
        }
        _ if expected == observed => Ok(()),
        _ => differ(),
    }
}

/// Same length is given. Wildcards take what the others leave.
fn same_set(expected: &[Value], observed: &[Value]) -> bool {
    let named = |value: &&Value| !value.as_str().is_some_and(is_wildcard);
    expected.iter().filter(named).all(|value| observed.contains(value))
}

fn is_wildcard(text: &str) -> bool {
    text == "<new>" || text.starts_with("<undisclosed-")
}
