//! Whether an answer is what a case or a trace expects.
//!
//! Objects match as subsets and lists of strings as sets; `<new>` and `<undisclosed-n>` stand for
//! any text that is not empty, and `{"any_of": [...]}` for one of several values.

use serde_json::Value;

/// `Err` says what differs.
pub(crate) fn matches(expected: &Value, actual: &Value) -> Result<(), String> {
    let differ = || Err(format!("expected {expected}, got {actual}"));
    match (expected, actual) {
        (Value::Object(expected), _) if expected.contains_key("any_of") => {
            let mut choices = expected["any_of"].as_array().into_iter().flatten();
            if choices.any(|choice| matches(choice, actual).is_ok()) { Ok(()) } else { differ() }
        }
        (Value::Object(fields), Value::Object(actual)) => {
            if fields.is_empty() && !actual.is_empty() {
                return differ();
            }
            fields.iter().try_for_each(|(name, value)| {
                let other = actual.get(name).unwrap_or(&Value::Null);
                matches(value, other).map_err(|error| format!("{name}: {error}"))
            })
        }
        (Value::Array(expected), Value::Array(actual)) => {
            let texts = expected.iter().chain(actual).all(Value::is_string);
            let same = expected.len() == actual.len()
                && if texts {
                    same_set(expected, actual)
                } else {
                    expected.iter().zip(actual).all(|(one, other)| matches(one, other).is_ok())
                };
            if same { Ok(()) } else { differ() }
        }
        (Value::String(expected), Value::String(actual)) if is_wildcard(expected) => {
            if actual.is_empty() { differ() } else { Ok(()) }
        }
        _ => {
            if expected == actual {
                Ok(())
            } else {
                differ()
            }
        }
    }
}

/// Same length is given. Wildcards take what the others leave.
fn same_set(expected: &[Value], actual: &[Value]) -> bool {
    let named = |value: &&Value| !value.as_str().is_some_and(is_wildcard);
    expected.iter().filter(named).all(|value| actual.contains(value))
}

fn is_wildcard(text: &str) -> bool {
    text == "<new>" || text.starts_with("<undisclosed-")
}
