//! Spans of the client, recorded by an SDK. The provider is global: the tests look at their own trace only.

use std::sync::LazyLock;
use std::time::Duration;

use muniment::v1::*;
use muniment::{Code, Recalled, fact, subject, write};
use opentelemetry::trace::{FutureExt, SpanId, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue, Value, global};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

use crate::peer::{Answer, Peer, Problem, message};

static RECORDED: LazyLock<(SdkTracerProvider, InMemorySpanExporter)> = LazyLock::new(|| {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    global::set_tracer_provider(provider.clone());
    (provider, exporter)
});

/// A span that is there already, as that of a request being served.
fn request() -> Context {
    let tracer = RECORDED.0.tracer("test");
    Context::new().with_span(tracer.start("request"))
}

fn spans(of: &Context) -> Vec<SpanData> {
    let trace = of.span().span_context().trace_id();
    let all = RECORDED.1.get_finished_spans().unwrap();
    all.into_iter().filter(|span| span.span_context.trace_id() == trace).collect()
}

fn attribute(attributes: &[KeyValue], key: &str) -> String {
    attributes.iter().find(|each| each.key.as_str() == key).map(|each| each.value.to_string()).unwrap_or_default()
}

fn recalled(ids: &[&str]) -> RecallResponse {
    let ranked = |id: &&str| RankedMemory {
        memory: Some(Memory { memory_id: (*id).into(), ..Memory::default() }),
        ..RankedMemory::default()
    };
    RecallResponse {
        recall_id: "recall-1".into(),
        memories: ids.iter().map(ranked).collect(),
        ..RecallResponse::default()
    }
}

async fn recall(client: &muniment::Client) -> Recalled {
    let request = RecallRequest { scope: Some(subject("ada")), query: "tea".into(), ..RecallRequest::default() };
    client.recall(request).await.unwrap()
}

#[tokio::test]
async fn calls_are_spans_of_the_callers_trace() {
    let here = request();
    let peer = Peer::start(|_, call| match call.method.as_str() {
        "MemoryService/Write" => message(&WriteResponse::default()),
        _ => Problem::new(Code::NotFound, "MEMORY_NOT_FOUND", "muniment.dev").answer(),
    })
    .await;
    let client = peer.client();
    async {
        client.write(write(subject("ada"), [fact("a secret")])).await.unwrap();
        let error = client.get_memory(GetMemoryRequest::default()).await.unwrap_err();
        assert_eq!(error.trace_id(), here.span().span_context().trace_id().to_string());
    }
    .with_context(here.clone())
    .await;
    let [written, missed] = spans(&here).try_into().expect("two spans");
    assert_eq!((written.name.as_ref(), written.span_kind.clone()), ("upsert_memory", SpanKind::Client));
    assert_eq!(written.parent_span_id, here.span().span_context().span_id());
    assert_eq!(attribute(&written.attributes, "gen_ai.operation.name"), "upsert_memory");
    assert_eq!(attribute(&written.attributes, "gen_ai.memory.record.count"), "1");
    assert_eq!(attribute(&written.attributes, "server.address"), "127.0.0.1");
    assert_eq!(missed.name, "muniment.v1.MemoryService/GetMemory");
    assert_eq!(attribute(&missed.attributes, "rpc.response.status_code"), "NOT_FOUND");
    assert_eq!(attribute(&missed.attributes, "error.type"), "MEMORY_NOT_FOUND");
    assert!(matches!(missed.status, Status::Error { .. }));
    assert!(!format!("{written:?}{missed:?}").contains("secret"));
    let sent = peer.received();
    let parent = sent[0].header("traceparent");
    assert_eq!(parent.split('-').nth(2), Some(written.span_context.span_id().to_string().as_str()));
}

#[tokio::test]
async fn a_call_that_is_dropped_was_cancelled() {
    let here = request();
    let peer = Peer::start(|_, _| Answer::Hang).await;
    let client = peer.client();
    let call = client.get_memory(GetMemoryRequest::default()).with_context(here.clone());
    assert!(tokio::time::timeout(Duration::from_millis(100), call).await.is_err());
    let [span] = spans(&here).try_into().expect("one span");
    assert_eq!(attribute(&span.attributes, "rpc.response.status_code"), "CANCELLED");
}

#[tokio::test]
async fn model_calls_say_what_entered_the_prompt() {
    let here = request();
    let peer = Peer::start(|_, call| match call.method.as_str() {
        "MemoryService/Recall" => message(&recalled(&["a", "b", "c"])),
        _ => message(&ReportUseResponse::default()),
    })
    .await;
    let client = peer.client();
    async {
        let found = recall(&client).await;
        let call = client.model_call(&[&found]).model("m").outcome(UseOutcome::Helpful);
        let call = call.use_memories(["c", "a"]).unwrap();
        let (answer, not_reported) = call.run(async { Ok::<_, String>(7) }).await.unwrap();
        assert_eq!((answer, not_reported.is_none()), (7, true));
        assert!(client.model_call(&[&found]).use_memories(["z"]).is_err());
        let failed = client.model_call(&[&found]).run(async { Err::<(), _>("no answer") }).await;
        assert_eq!(failed.unwrap_err(), "no answer");
    }
    .with_context(here.clone())
    .await;
    here.span().end();
    let reports: Vec<ReportUseRequest> =
        peer.received().iter().filter(|call| call.method.ends_with("ReportUse")).map(muniment_request).collect();
    let [report] = reports.as_slice() else { panic!("one report") };
    assert_eq!((report.recall_id.as_str(), report.model.as_str()), ("recall-1", "m"));
    assert_eq!(report.memory_ids, ["c", "a"]);
    assert_eq!(report.outcome(), UseOutcome::Helpful);
    let spans = spans(&here);
    let searched = spans.iter().find(|span| span.name == "search_memory").unwrap();
    let stamped = spans.iter().find(|span| span.name == "request").unwrap();
    assert_eq!(attribute(&stamped.attributes, "muniment.recall.id"), "recall-1");
    let links: Vec<SpanId> = stamped.links.iter().map(|link| link.span_context.span_id()).collect();
    assert!(links.contains(&searched.span_context.span_id()));
}

fn muniment_request(call: &crate::peer::Received) -> ReportUseRequest {
    call.request()
}

#[tokio::test]
async fn a_model_call_without_a_span_gets_one() {
    LazyLock::force(&RECORDED);
    let ids: Vec<String> = (0..60).map(|number| format!("m{number}")).collect();
    let peer = Peer::start(move |_, call| match call.method.as_str() {
        "MemoryService/Recall" => message(&recalled(&ids.iter().map(String::as_str).collect::<Vec<_>>())),
        _ => message(&ReportUseResponse::default()),
    })
    .await;
    let client = peer.client();
    let found = recall(&client).await;
    let call = client.model_call(&[&found]);
    let own = call.context().clone();
    call.report().await.unwrap();
    let all = spans(&own);
    let span = all.iter().find(|span| span.name == "muniment.model_call").unwrap();
    assert_eq!(attribute(&span.attributes, "muniment.recall.memory.omitted"), "10");
    let stamped = span.attributes.iter().find(|each| each.key.as_str() == "muniment.recall.memory.ids").unwrap();
    assert!(matches!(&stamped.value, Value::Array(opentelemetry::Array::String(ids)) if ids.len() == 50));
}
