//! One step of a file, with the defaults filled in and the references replaced.

use std::time::Duration;

use serde_json::{Map, Value};

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) String);

impl Malformed {
    fn field(name: &str, wanted: &str, found: &Value) -> Self {
        Self(format!("{name} is no {wanted}: {found}"))
    }
}

/// A JSON object that is read field by field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub(super) &'a Value);

impl<'a> Fields<'a> {
    pub(super) fn get(self, name: &str) -> &'a Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    pub(super) fn text(self, name: &str) -> Result<&'a str, Malformed> {
        text(name, self.get(name))
    }

    /// A text that may be null or left out.
    pub(super) fn optional(self, name: &str) -> Option<&'a str> {
        self.get(name).as_str()
    }

    pub(super) fn list(self, name: &str) -> Result<&'a Vec<Value>, Malformed> {
        let value = self.get(name);
        value.as_array().ok_or_else(|| Malformed::field(name, "list", value))
    }

    pub(super) fn integer<T: TryFrom<i64>>(self, name: &str) -> Result<T, Malformed> {
        integer(name, self.get(name))
    }

    pub(super) fn millis(self, name: &str) -> Result<Duration, Malformed> {
        self.integer(name).map(Duration::from_millis)
    }
}

pub(super) fn text<'a>(name: &str, value: &'a Value) -> Result<&'a str, Malformed> {
    value.as_str().ok_or_else(|| Malformed::field(name, "text", value))
}

pub(super) fn integer<T: TryFrom<i64>>(name: &str, value: &Value) -> Result<T, Malformed> {
    let number = value.as_i64().and_then(|it| T::try_from(it).ok());
    number.ok_or_else(|| Malformed::field(name, "number in range", value))
}

/// The step's operation.
pub(super) fn op(step: &Value) -> Result<&str, Malformed> {
    Fields(step).text("op")
}

/// `base` with what `over` says in its place.
pub(super) fn merged(base: &Value, over: &Value) -> Value {
    let mut fields = base.as_object().cloned().unwrap_or_default();
    let over = over.as_object().into_iter().flatten();
    fields.extend(over.map(|(name, value)| (name.clone(), value.clone())));
    Value::Object(fields)
}

/// The elements of a JSON list; none if it is something else.
pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The entries of a JSON object; none if it is something else.
pub(super) fn entries(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

/// An object without fields.
pub(super) fn nothing() -> Value {
    Value::Object(Map::new())
}
