//! Errors as the protocol has them.

use muniment::{Code, ConfigError, Error};
use serde_json::{Value, json};

pub struct Failure(pub Value);

impl Failure {
    fn plain(code: &str, message: String, local: bool) -> Self {
        Self(json!({
            "code": code, "reason": "", "domain": "", "metadata": {}, "violations": [],
            "retry_after_ms": null, "message": message, "local": local,
        }))
    }

    /// The driver cannot do what it is asked for.
    pub fn driver(message: impl Into<String>) -> Self {
        Self::plain("DRIVER", message.into(), true)
    }

    /// Refused before anything was sent.
    pub fn local(message: impl Into<String>) -> Self {
        Self::plain("INVALID_ARGUMENT", message.into(), true)
    }

    pub fn cancelled() -> Self {
        Self::plain("CANCELLED", "cancelled by the caller".into(), false)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::local(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let violations: Vec<Value> =
            error.field_violations().iter().map(|each| json!({"field": each.field, "rule": each.rule})).collect();
        Self(json!({
            "code": code_name(error.code()),
            "reason": error.reason(),
            "domain": error.domain(),
            "metadata": error.metadata(),
            "violations": violations,
            "retry_after_ms": error.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            "message": error.message(),
            "local": error.is_local(),
        }))
    }
}

fn code_name(code: Code) -> String {
    // From the names of the enum: InvalidArgument.
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}
