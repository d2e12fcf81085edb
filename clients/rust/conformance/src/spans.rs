//! Spans as the protocol has them.

use std::sync::OnceLock;

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceState, TracerProvider,
};
use opentelemetry::{Array, Context, KeyValue, Value as Attribute, global};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use serde_json::{Map, Value, json};

static RECORDED: OnceLock<InMemorySpanExporter> = OnceLock::new();
static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

/// Records the spans of clients that are made from now on.
pub fn record() {
    RECORDED.get_or_init(|| {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        global::set_tracer_provider(provider.clone());
        let _ = PROVIDER.set(provider);
        exporter
    });
}

/// A span of the driver's own, if spans are recorded.
pub fn chat(parent: &Context) -> Context {
    use opentelemetry::trace::Tracer;
    match PROVIDER.get() {
        Some(provider) => {
            let tracer = provider.tracer("driver");
            let span = tracer.build_with_context(tracer.span_builder("chat"), parent);
            parent.with_span(span)
        }
        None => parent.clone(),
    }
}

/// The context of a W3C `traceparent`.
pub fn parent(text: Option<&str>) -> Context {
    let parts: Vec<&str> = text.unwrap_or_default().split('-').collect();
    let [_, trace, span, flags] = parts.as_slice() else {
        return Context::new();
    };
    let (Ok(trace), Ok(span), Ok(flags)) =
        (u128::from_str_radix(trace, 16), u64::from_str_radix(span, 16), u8::from_str_radix(flags, 16))
    else {
        return Context::new();
    };
    Context::new().with_remote_span_context(SpanContext::new(
        trace.into(),
        SpanId::from(span),
        TraceFlags::new(flags),
        true,
        TraceState::default(),
    ))
}

fn value(attribute: &Attribute) -> Value {
    match attribute {
        Attribute::Bool(value) => json!(value),
        Attribute::I64(value) => json!(value),
        Attribute::F64(value) => json!(value),
        Attribute::Array(Array::String(values)) => json!(values.iter().map(|each| each.as_str()).collect::<Vec<_>>()),
        other => json!(other.as_str()),
    }
}

fn attributes(list: &[KeyValue]) -> Value {
    Value::Object(list.iter().map(|each| (each.key.to_string(), value(&each.value))).collect::<Map<_, _>>())
}

/// The spans finished since the last time.
pub fn take() -> Value {
    let Some(exporter) = RECORDED.get() else {
        return json!([]);
    };
    let spans = exporter.get_finished_spans().unwrap_or_default();
    exporter.reset();
    spans
        .iter()
        .map(|span| {
            let parent = (span.parent_span_id != SpanId::INVALID).then(|| span.parent_span_id.to_string());
            let links: Vec<Value> = span
                .links
                .iter()
                .map(|link| {
                    json!({
                        "trace_id": link.span_context.trace_id().to_string(),
                        "span_id": link.span_context.span_id().to_string(),
                        "attributes": attributes(&link.attributes),
                    })
                })
                .collect();
            json!({
                "name": span.name,
                "kind": match span.span_kind {
                    SpanKind::Client => "CLIENT",
                    SpanKind::Server => "SERVER",
                    SpanKind::Producer => "PRODUCER",
                    SpanKind::Consumer => "CONSUMER",
                    SpanKind::Internal => "INTERNAL",
                },
                "trace_id": span.span_context.trace_id().to_string(),
                "span_id": span.span_context.span_id().to_string(),
                "parent_span_id": parent,
                "status": match span.status {
                    Status::Unset => "UNSET",
                    Status::Ok => "OK",
                    Status::Error { .. } => "ERROR",
                },
                "attributes": attributes(&span.attributes),
                "links": links,
            })
        })
        .collect()
}
