//! The error of a call.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use tonic::Code;

use crate::BoxError;
use crate::v1::ErrorReason;

/// One field that breaks its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldViolation {
    /// Path of the field in the request, for example `items[0].content`.
    pub field: String,
    /// Id of the rule.
    pub rule: String,
    /// What is wrong, without the value.
    pub description: String,
}

/// A call failed.
///
/// [`code`](Error::code) is the gRPC status; [`reason`](Error::reason) says exactly what happened and never
/// changes its meaning. No error holds a credential, a query or the content of a memory.
pub struct Error(Box<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) code: i32,
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) domain: String,
    pub(crate) metadata: HashMap<String, String>,
    pub(crate) violations: Vec<FieldViolation>,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) trace_id: String,
    pub(crate) call_id: String,
    pub(crate) local: bool,
    pub(crate) source: Option<BoxError>,
}

impl Error {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Box::new(inner))
    }

    pub(crate) fn of(code: Code, message: &str) -> Self {
        Self::new(Inner { code: code as i32, message: message.to_owned(), ..Inner::default() })
    }

    pub(crate) fn closed() -> Self {
        let mut error = Self::of(Code::FailedPrecondition, "the client is closed");
        error.0.local = true;
        error
    }

    pub(crate) fn credential(source: BoxError) -> Self {
        let mut error = Self::of(Code::Unauthenticated, "the token source gave no usable credential");
        error.0.local = true;
        error.0.source = Some(source);
        error
    }

    pub(crate) fn invalid(field: &str, rule: &str, description: &str) -> Self {
        let mut error = Self::of(Code::InvalidArgument, &format!("{field} {description}"));
        error.0.reason = "INVALID_REQUEST".into();
        error.0.local = true;
        error.0.violations.push(FieldViolation {
            field: field.to_owned(),
            rule: rule.to_owned(),
            description: description.to_owned(),
        });
        error
    }

    /// With the trace of the client's own span, unless the server told one.
    pub(crate) fn traced(mut self, trace_id: &str) -> Self {
        if self.0.trace_id.is_empty() {
            self.0.trace_id = trace_id.to_owned();
        }
        self
    }

    /// The gRPC status code.
    pub fn code(&self) -> Code {
        Code::from_i32(self.0.code)
    }

    /// Name of an [`ErrorReason`] without its prefix, or a newer server's; empty when the transport failed before
    /// the service answered.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The reason, if this client knows it.
    pub fn known_reason(&self) -> Option<ErrorReason> {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", self.0.reason))
    }

    /// What happened, for a person; without content.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Who gave the reason: `muniment.dev`; empty without one.
    pub fn domain(&self) -> &str {
        &self.0.domain
    }

    /// Details of the reason; the keys are documented at [`ErrorReason`].
    pub fn metadata(&self) -> &HashMap<String, String> {
        &self.0.metadata
    }

    /// Fields that break their rules, at most 20.
    pub fn field_violations(&self) -> &[FieldViolation] {
        &self.0.violations
    }

    /// How long the service asks to wait before trying again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// W3C trace id of the call, 32 hex digits; empty if there is none.
    pub fn trace_id(&self) -> &str {
        &self.0.trace_id
    }

    /// The server's id of the call, to be found in its log; empty if it did not answer.
    pub fn call_id(&self) -> &str {
        &self.0.call_id
    }

    /// Whether the client refused the call itself, before anything was sent.
    pub fn is_local(&self) -> bool {
        self.0.local
    }

    /// Nobody else's fault and nobody else's success: no such memory, recall, erasure or ingest in this tenant.
    pub fn is_not_found(&self) -> bool {
        self.code() == Code::NotFound
    }

    /// Somebody else changed it in the meantime: read again, decide again.
    pub fn is_conflict(&self) -> bool {
        self.code() == Code::Aborted
    }
}

/// Name of a status code as gRPC writes it.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = code_name(self.code());
        out.write_str(code)?;
        if !self.0.reason.is_empty() && self.0.reason != code {
            write!(out, " ({})", self.0.reason)?;
        }
        write!(out, ": {}", self.0.message)?;
        // Which of the causes that the message of a refusal names it was.
        let detail = |key: &str| self.0.metadata.get(key).map(String::as_str).unwrap_or_default();
        match self.0.reason.as_str() {
            "PERMISSION_DENIED" if !detail("permission").is_empty() => {
                write!(out, " (missing: {})", detail("permission"))?;
            }
            "SOURCE_NOT_ALLOWED" if !detail("source_type").is_empty() => {
                write!(out, " (refused: {})", detail("source_type").to_lowercase())?;
            }
            _ => {}
        }
        for violation in &self.0.violations {
            write!(out, "\n  {}: {}", violation.field, violation.description)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Error")
            .field("code", &code_name(self.code()))
            .field("reason", &self.0.reason)
            .field("message", &self.0.message)
            .field("field_violations", &self.0.violations)
            .field("retry_after", &self.0.retry_after)
            .field("trace_id", &self.0.trace_id)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, Error, Inner};

    #[test]
    fn a_refusal_says_what_was_missing() {
        for (reason, key, value, said) in [
            ("PERMISSION_DENIED", "permission", "erase", "no (missing: erase)"),
            ("SOURCE_NOT_ALLOWED", "source_type", "TOOL", "no (refused: tool)"),
            ("PERMISSION_DENIED", "other", "x", "PERMISSION_DENIED: no"),
        ] {
            let error = Error::new(Inner {
                code: Code::PermissionDenied as i32,
                reason: reason.into(),
                message: "no".into(),
                metadata: [(key.to_owned(), value.to_owned())].into(),
                ..Inner::default()
            });
            assert!(error.to_string().ends_with(said), "{error}");
        }
    }
}
