//! From a failed call of the transport to an [`Error`].

use std::error::Error as _;
use std::time::Duration;

use prost::Message;
use tonic::{Code, Status, TimeoutExpired};

use crate::error::{Error, FieldViolation, Inner};

const DOMAIN: &str = "muniment.dev";

/// The messages of `google.rpc`, as far as they are read here.
mod rpc {
    use std::collections::HashMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Status {
        #[prost(message, repeated, tag = "3")]
        pub details: Vec<prost_types::Any>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ErrorInfo {
        #[prost(string, tag = "1")]
        pub reason: String,
        #[prost(string, tag = "2")]
        pub domain: String,
        #[prost(map = "string, string", tag = "3")]
        pub metadata: HashMap<String, String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct FieldViolation {
        #[prost(string, tag = "1")]
        pub field: String,
        #[prost(string, tag = "2")]
        pub description: String,
        #[prost(string, tag = "3")]
        pub reason: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct BadRequest {
        #[prost(message, repeated, tag = "1")]
        pub field_violations: Vec<FieldViolation>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        pub retry_delay: Option<prost_types::Duration>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct RequestInfo {
        #[prost(string, tag = "1")]
        pub request_id: String,
    }
}

/// The error for a failed call.
pub(crate) fn to_error(status: Status) -> Error {
    let mut inner = Inner {
        code: code(&status) as i32,
        message: if status.message().is_empty() { "the call failed".into() } else { status.message().into() },
        call_id: status
            .metadata()
            .get("muniment-request-id")
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .into(),
        ..Inner::default()
    };
    let details = rpc::Status::decode(status.details()).map(|found| found.details).unwrap_or_default();
    for detail in details {
        read(&detail, &mut inner);
    }
    if status.source().is_some() {
        inner.source = Some(Box::new(status));
    }
    Error::new(inner)
}

fn read(detail: &prost_types::Any, inner: &mut Inner) {
    let value = detail.value.as_slice();
    match detail.type_url.rsplit('/').next() {
        Some("google.rpc.ErrorInfo") => {
            // A proxy on the way has reasons of its own.
            if let Ok(info) = rpc::ErrorInfo::decode(value)
                && info.domain == DOMAIN
            {
                inner.reason = info.reason;
                inner.domain = info.domain;
                inner.metadata = info.metadata;
            }
        }
        Some("google.rpc.BadRequest") => {
            if let Ok(bad) = rpc::BadRequest::decode(value) {
                inner.violations = bad
                    .field_violations
                    .into_iter()
                    .map(|each| FieldViolation {
                        field: each.field,
                        rule: each.reason,
                        description: each.description,
                    })
                    .collect();
            }
        }
        Some("google.rpc.RetryInfo") => {
            if let Ok(retry) = rpc::RetryInfo::decode(value) {
                inner.retry_after = retry.retry_delay.and_then(|delay| Duration::try_from(delay).ok());
            }
        }
        Some("google.rpc.RequestInfo") => {
            if let Ok(request) = rpc::RequestInfo::decode(value) {
                inner.trace_id = request.request_id;
            }
        }
        _ => {}
    }
}

/// The code that gRPC has for it: tonic says UNKNOWN or CANCELLED for a connection that broke.
pub(crate) fn code(status: &Status) -> Code {
    let mut source = status.source();
    if source.is_none() {
        return status.code();
    }
    while let Some(error) = source {
        if error.is::<TimeoutExpired>() {
            return Code::DeadlineExceeded;
        }
        if error.is::<std::io::Error>() {
            return Code::Unavailable;
        }
        if let Some(http) = error.downcast_ref::<h2::Error>() {
            return match http.reason() {
                _ if http.is_go_away() || http.is_io() => Code::Unavailable,
                None => Code::Unavailable,
                Some(h2::Reason::REFUSED_STREAM) => Code::Unavailable,
                Some(h2::Reason::CANCEL) => Code::Cancelled,
                Some(h2::Reason::ENHANCE_YOUR_CALM) => Code::ResourceExhausted,
                Some(h2::Reason::INADEQUATE_SECURITY) => Code::PermissionDenied,
                Some(_) => Code::Internal,
            };
        }
        source = error.source();
    }
    match status.code() {
        Code::Unknown | Code::Cancelled => Code::Unavailable,
        other => other,
    }
}

/// For what the generated clients answer.
impl From<Status> for Error {
    fn from(status: Status) -> Self {
        to_error(status)
    }
}
