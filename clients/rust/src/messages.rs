//! Short ways to the messages that every program needs.

use std::time::{Duration, SystemTime};

use crate::v1::property_value::Value;
use crate::v1::scope::Owner;
use crate::v1::{Embedding, MemoryKind, PropertyValue, Scope, WriteItem, WriteRequest};

/// Everything about a subject, for example a user.
pub fn subject(subject: impl Into<String>) -> Scope {
    Scope { owner: Some(Owner::Subject(subject.into())), ..Scope::default() }
}

/// A space that several share.
pub fn space(space: impl Into<String>) -> Scope {
    Scope { owner: Some(Owner::Space(space.into())), ..Scope::default() }
}

/// A request to write items to a scope.
pub fn write(scope: Scope, items: impl IntoIterator<Item = WriteItem>) -> WriteRequest {
    WriteRequest { scope: Some(scope), items: items.into_iter().collect(), ..WriteRequest::default() }
}

/// A fact.
pub fn fact(content: impl Into<String>) -> WriteItem {
    item(MemoryKind::Fact, content)
}

/// A statement of any kind.
pub fn item(kind: MemoryKind, content: impl Into<String>) -> WriteItem {
    WriteItem { kind: kind.into(), content: content.into(), ..WriteItem::default() }
}

/// A filterable value: text, a number (whole ones are exact up to 2 to the 53rd) or a truth value.
pub fn property(value: impl Into<Value>) -> PropertyValue {
    PropertyValue { value: Some(value.into()) }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::StringValue(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::StringValue(text)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::NumberValue(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Value::BoolValue(truth)
    }
}

/// The caller's own data: an object of texts, numbers and so on.
pub fn attributes<K: Into<String>>(fields: impl IntoIterator<Item = (K, prost_types::Value)>) -> prost_types::Struct {
    prost_types::Struct { fields: fields.into_iter().map(|(key, value)| (key.into(), value)).collect() }
}

/// A vector that was computed with the server's own model.
pub fn embedding(model: impl Into<String>, vector: &[f32]) -> Embedding {
    Embedding { model: model.into(), vector: vector.iter().flat_map(|number| number.to_le_bytes()).collect() }
}

/// An instant; the service keeps microseconds.
pub fn timestamp(instant: SystemTime) -> prost_types::Timestamp {
    instant.into()
}

/// A length of time.
pub fn duration(duration: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(0),
    }
}
