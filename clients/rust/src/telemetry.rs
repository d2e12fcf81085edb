//! OpenTelemetry of the client, through the API alone: without an SDK all of this does nothing.
//!
//! One CLIENT span per call. What reads and writes memories follows the GenAI memory conventions (in
//! development, no release yet), the other methods the RPC conventions of `SCHEMA_URL`. Nothing that a caller
//! wrote to remember, and no query, is ever an attribute.

use std::time::Instant;

use opentelemetry::metrics::Histogram;
use opentelemetry::trace::{SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Array, Context, InstrumentationScope, KeyValue, StringValue, Value, global};
use tonic::metadata::{AsciiMetadataValue, MetadataMap};

use crate::error::{Error, code_name};
use crate::methods::{Method, RECALL_ID};
use crate::target::Target;

/// Ids written onto a span; 50 UUIDs stay under the 2 kB at which some trace stores cut values.
pub(crate) const STAMPED_IDS_CAP: usize = 50;

pub(crate) const ERROR_TYPE: &str = "error.type";

const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.44.0";
const RPC_SYSTEM: &str = "rpc.system.name";
const RPC_METHOD: &str = "rpc.method";
// Renamed to rpc.status_code after schema 1.44.0; changes together with SCHEMA_URL.
const RPC_STATUS: &str = "rpc.response.status_code";
const BUCKETS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

pub(crate) struct Telemetry {
    tracer: global::BoxedTracer,
    duration: Histogram<f64>,
    server: Vec<KeyValue>,
}

impl Telemetry {
    /// With the global providers as they are now.
    pub(crate) fn new(target: &Target) -> Self {
        let scope = InstrumentationScope::builder("muniment.client")
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_schema_url(SCHEMA_URL)
            .build();
        let mut server = vec![KeyValue::new("server.address", target.host.clone())];
        server.extend(target.port.map(|port| KeyValue::new("server.port", i64::from(port))));
        Self {
            tracer: global::tracer_with_scope(scope.clone()),
            duration: global::meter_with_scope(scope)
                .f64_histogram("rpc.client.call.duration")
                .with_unit("s")
                .with_description("Duration of outbound calls, retries included.")
                .with_boundaries(BUCKETS.to_vec())
                .build(),
            server,
        }
    }

    /// The span of a call, a child of the current one.
    pub(crate) fn start<Q: Method>(&self, request: &Q) -> CallSpan {
        let method = Q::PATH.trim_start_matches('/');
        let mut attributes = self.server.clone();
        match Q::OPERATION {
            Some(operation) => {
                attributes.push(KeyValue::new("gen_ai.operation.name", operation));
                attributes.push(KeyValue::new("gen_ai.provider.name", "muniment"));
            }
            None => {
                attributes.push(KeyValue::new(RPC_SYSTEM, "grpc"));
                attributes.push(KeyValue::new(RPC_METHOD, method));
            }
        }
        request.describe(&mut attributes);
        let parent = Context::current();
        let span = self.tracer.build_with_context(
            SpanBuilder::from_name(Q::OPERATION.unwrap_or(method))
                .with_kind(SpanKind::Client)
                .with_attributes(attributes),
            &parent,
        );
        CallSpan {
            context: parent.with_span(span),
            method,
            operation: Q::OPERATION.is_some(),
            started: Instant::now(),
            duration: self.duration.clone(),
            labels: self.server.clone(),
            ended: false,
        }
    }

    /// The span that a model call is stamped on when none is there.
    pub(crate) fn model_call(&self) -> Context {
        let parent = Context::current();
        let span = self.tracer.build_with_context(SpanBuilder::from_name("muniment.model_call"), &parent);
        parent.with_span(span)
    }
}

/// The span of one call. Dropped before its end, it was cancelled.
pub(crate) struct CallSpan {
    context: Context,
    method: &'static str,
    operation: bool,
    started: Instant,
    duration: Histogram<f64>,
    labels: Vec<KeyValue>,
    ended: bool,
}

impl CallSpan {
    pub(crate) fn span_context(&self) -> SpanContext {
        self.context.span().span_context().clone()
    }

    /// W3C trace id, empty when nothing is traced.
    pub(crate) fn trace_id(&self) -> String {
        let context = self.span_context();
        if context.is_valid() { context.trace_id().to_string() } else { String::new() }
    }

    /// The W3C trace context as metadata; not the global propagator, which may send baggage, too.
    pub(crate) fn inject(&self, metadata: &mut MetadataMap) {
        let span = self.context.span();
        let context = span.span_context();
        if !context.is_valid() {
            return;
        }
        let parent = format!("00-{}-{}-{:02x}", context.trace_id(), context.span_id(), context.trace_flags().to_u8());
        let mut insert = |key: &'static str, text: String| {
            if let Ok(value) = AsciiMetadataValue::try_from(text) {
                metadata.insert(key, value);
            }
        };
        insert("traceparent", parent);
        let state = context.trace_state().header();
        if !state.is_empty() {
            insert("tracestate", state);
        }
    }

    pub(crate) fn answered(mut self, attributes: Vec<KeyValue>) {
        self.context.span().set_attributes(attributes);
        self.end("OK");
    }

    pub(crate) fn failed(mut self, error: &Error) {
        let code = code_name(error.code());
        let span = self.context.span();
        let reason = error.reason();
        span.set_attribute(KeyValue::new(
            ERROR_TYPE,
            if reason.is_empty() { code.to_owned() } else { reason.to_owned() },
        ));
        if !reason.is_empty() {
            span.set_attribute(KeyValue::new("muniment.error.reason", reason.to_owned()));
        }
        // The text of an error is nobody's business in a trace, so none is recorded.
        span.set_status(Status::error(""));
        self.end(code);
    }

    fn end(&mut self, code: &'static str) {
        self.ended = true;
        let span = self.context.span();
        if !self.operation {
            span.set_attribute(KeyValue::new(RPC_STATUS, code));
        }
        span.end();
        let mut labels = std::mem::take(&mut self.labels);
        labels.push(KeyValue::new(RPC_SYSTEM, "grpc"));
        labels.push(KeyValue::new(RPC_METHOD, self.method));
        labels.push(KeyValue::new(RPC_STATUS, code));
        if code != "OK" {
            labels.push(KeyValue::new(ERROR_TYPE, code));
        }
        self.duration.record(self.started.elapsed().as_secs_f64(), &labels);
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.ended {
            let span = self.context.span();
            span.set_attribute(KeyValue::new(ERROR_TYPE, "CANCELLED"));
            span.set_status(Status::error(""));
            self.end("CANCELLED");
        }
    }
}

/// Attributes that say which memories of a recall entered a prompt.
pub(crate) fn stamp_attributes(recall_id: &str, memory_ids: &[String]) -> Vec<KeyValue> {
    let written = &memory_ids[..memory_ids.len().min(STAMPED_IDS_CAP)];
    let ids = written.iter().map(|id| StringValue::from(id.clone())).collect();
    let mut attributes = vec![
        KeyValue::new(RECALL_ID, recall_id.to_owned()),
        KeyValue::new("muniment.recall.memory.ids", Value::Array(Array::String(ids))),
    ];
    if memory_ids.len() > STAMPED_IDS_CAP {
        let omitted = i64::try_from(memory_ids.len() - STAMPED_IDS_CAP).unwrap_or(i64::MAX);
        attributes.push(KeyValue::new("muniment.recall.memory.omitted", omitted));
    }
    attributes
}

/// Writes a recall and the memories used of it onto a span, and links the span to that of the recall.
pub(crate) fn stamp(target: &Context, recall_id: &str, memory_ids: &[String], recall_span: &SpanContext) {
    let span = target.span();
    if !span.is_recording() {
        return;
    }
    let attributes = stamp_attributes(recall_id, memory_ids);
    span.set_attributes(attributes.clone());
    if recall_span.is_valid() {
        // The link says it again, because a second recall stamped onto the span overwrites the first.
        span.add_link(recall_span.clone(), attributes);
    }
}
