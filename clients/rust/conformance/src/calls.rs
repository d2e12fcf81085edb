//! The methods of the contract, by name.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use muniment::v1::*;
use muniment::{Client, Error, Pages};
use prost::Message;
use serde_json::{Value, json};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic_prost::ProstCodec;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::json::{parse, show};

/// A list as a stream.
struct Items<T>(VecDeque<T>);

impl<T: Unpin> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.pop_front())
    }
}

async fn raw_unary<Q, R>(to: &Connection, method: &str, message: Q, timeout: Option<Duration>) -> Result<R, Failure>
where
    Q: Message + 'static,
    R: Message + Default + 'static,
{
    let mut grpc = Grpc::new(to.channel.clone());
    grpc.ready().await.map_err(|error| Error::from(tonic::Status::from_error(error.into())))?;
    let path = PathAndQuery::try_from(format!("/muniment.v1.{method}")).expect("a known method");
    let answer = grpc.unary(to.raw(message, timeout), path, ProstCodec::<Q, R>::default()).await;
    Ok(answer.map_err(Error::from)?.into_inner())
}

async fn items<T: Message + Unpin>(mut pages: Pages<T>, name: &str, take: usize) -> Result<Value, Failure> {
    let mut all = Vec::new();
    while all.len() < take {
        match pages.next().await {
            Some(item) => all.push(show(name, &item?)?),
            None => break,
        }
    }
    Ok(Value::Array(all))
}

fn timeout(request: &Value) -> Option<Duration> {
    request["timeout_ms"].as_u64().map(Duration::from_millis)
}

/// Calls a method and gives its answer as proto JSON.
pub async fn call(to: &Connection, request: &Value) -> Result<Value, Failure> {
    let method = request["method"].as_str().unwrap_or_default();
    let raw = request["raw"].as_bool().unwrap_or_default();
    let take = request["take"].as_u64().map_or(usize::MAX, |number| number as usize);
    let client = match timeout(request) {
        Some(limit) => to.client.with_timeout(limit),
        None => to.client.clone(),
    };
    let message = &request["request"];

    /// One request, one answer.
    macro_rules! unary {
        ($name:ident, $request:ident, $response:ident) => {{
            let parsed: $request = parse(stringify!($request), message)?;
            let answer: $response = if raw {
                raw_unary(to, method, parsed, timeout(request)).await?
            } else {
                client.$name(parsed).await?
            };
            show(stringify!($response), &answer)
        }};
    }
    /// A list in pages: all of it, or one page as it comes.
    macro_rules! paged {
        ($name:ident, $page:ident, $request:ident, $response:ident, $item:ident) => {{
            if request["all_pages"].as_bool().unwrap_or_default() {
                let parsed: $request = parse(stringify!($request), message)?;
                return items(client.$name(parsed), stringify!($item), take).await;
            }
            unary!($page, $request, $response)
        }};
    }
    /// A streamed answer.
    macro_rules! streamed {
        ($name:ident, $request:ident, $response:ident) => {{
            let parsed: $request = parse(stringify!($request), message)?;
            let mut all = Vec::new();
            let mut stream = client.$name(parsed).await?;
            while all.len() < take {
                match stream.next().await {
                    Some(part) => all.push(show(stringify!($response), &part?)?),
                    None => break,
                }
            }
            Ok(Value::Array(all))
        }};
    }

    match method {
        "MemoryService/Write" => unary!(write, WriteRequest, WriteResponse),
        "MemoryService/Recall" => {
            let parsed: RecallRequest = parse("RecallRequest", message)?;
            let answer = if raw {
                raw_unary(to, method, parsed, timeout(request)).await?
            } else {
                client.recall(parsed).await?.into_inner()
            };
            show("RecallResponse", &answer)
        }
        "MemoryService/Supersede" => unary!(supersede, SupersedeRequest, SupersedeResponse),
        "MemoryService/Erase" => unary!(erase, EraseRequest, EraseResponse),
        "MemoryService/GetErasure" => unary!(get_erasure, GetErasureRequest, GetErasureResponse),
        "MemoryService/GetMemory" => unary!(get_memory, GetMemoryRequest, GetMemoryResponse),
        "MemoryService/ListMemories" => {
            paged!(list_memories, list_memories_page, ListMemoriesRequest, ListMemoriesResponse, Memory)
        }
        "MemoryService/ReportUse" => unary!(report_use, ReportUseRequest, ReportUseResponse),
        "MemoryService/Ingest" => unary!(ingest, IngestRequest, IngestResponse),
        "MemoryService/StreamIngest" => {
            let messages: Result<VecDeque<StreamIngestRequest>, Failure> = request["stream"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|each| parse("StreamIngestRequest", each))
                .collect();
            show("StreamIngestResponse", &client.stream_ingest(Items(messages?)).await?)
        }
        "MemoryService/GetIngest" => unary!(get_ingest, GetIngestRequest, GetIngestResponse),
        "MemoryService/Restore" => unary!(restore, RestoreRequest, RestoreResponse),
        "MemoryService/Retract" => unary!(retract, RetractRequest, RetractResponse),
        "MemoryService/UndoWrite" => unary!(undo_write, UndoWriteRequest, UndoWriteResponse),
        "MemoryService/Audit" => paged!(audit, audit_page, AuditRequest, AuditResponse, AuditEvent),
        "AuditService/GetRecall" => unary!(get_recall, GetRecallRequest, GetRecallResponse),
        "AuditService/ExportAudit" => streamed!(export_audit, ExportAuditRequest, ExportAuditResponse),
        "ReviewService/ListReviews" => {
            paged!(list_reviews, list_reviews_page, ListReviewsRequest, ListReviewsResponse, Review)
        }
        "ReviewService/DecideReview" => unary!(decide_review, DecideReviewRequest, DecideReviewResponse),
        "SubjectService/SetConsent" => unary!(set_consent, SetConsentRequest, SetConsentResponse),
        "SubjectService/GetConsent" => unary!(get_consent, GetConsentRequest, GetConsentResponse),
        "SubjectService/DescribeSubject" => {
            unary!(describe_subject, DescribeSubjectRequest, DescribeSubjectResponse)
        }
        "SubjectService/ExportMemories" => {
            streamed!(export_memories, ExportMemoriesRequest, ExportMemoriesResponse)
        }
        "SubjectService/ImportMemories" => {
            unary!(import_memories, ImportMemoriesRequest, ImportMemoriesResponse)
        }
        _ => Err(Failure::driver(format!("no method {method}"))),
    }
}

/// Recalls, and runs the helper for model calls around a block that does nothing.
pub async fn model_call(client: &Client, request: &Value) -> Result<Value, Failure> {
    let recalled = client.recall(parse("RecallRequest", &request["request"])?).await?;
    let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
    let mut call = client.model_call(&[&recalled]).model(text("model")).prompt_ref(text("prompt_ref"));
    if let Some(outcome) = UseOutcome::from_str_name(&text("outcome")) {
        call = call.outcome(outcome);
    }
    if let Some(used) = request["used"].as_array() {
        call = call.use_memories(used.iter().filter_map(Value::as_str))?;
    }
    let memory_ids = call.memory_ids();
    let fail = request["fail"].as_bool().unwrap_or_default();
    let body = async { if fail { Err("the model failed") } else { Ok(()) } };
    let reported = matches!(call.run(body).await, Ok(((), None)));
    let memory_ids = if reported { memory_ids } else { Vec::new() };
    Ok(json!({"recallId": recalled.recall_id, "memoryIds": memory_ids, "reported": reported}))
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

fn figures(mut micros: Vec<f64>, errors: usize, seconds: f64) -> Value {
    micros.sort_by(f64::total_cmp);
    json!({
        "calls": micros.len(), "errors": errors, "seconds": seconds,
        "per_second": micros.len() as f64 / seconds,
        "p50_us": percentile(&micros, 0.5), "p90_us": percentile(&micros, 0.9), "p99_us": percentile(&micros, 0.99),
    })
}

/// Makes calls and measures them.
pub async fn bench(to: &Connection, request: &Value) -> Result<Value, Failure> {
    let number = |field: &str, fallback: u64| request[field].as_u64().unwrap_or(fallback) as usize;
    let (count, warmup) = (number("count", 100), number("warmup", 20));
    let (concurrency, compare) = (number("concurrency", 1).max(1), request["compare"].as_bool().unwrap_or_default());
    let once = |raw: bool| {
        let mut request = request.clone();
        request["raw"] = json!(raw);
        let to = to.clone();
        async move {
            let started = Instant::now();
            let failed = call(&to, &request).await.is_err();
            (started.elapsed().as_secs_f64() * 1e6, failed)
        }
    };
    let kinds = if compare { vec![false, true] } else { vec![false] };
    for _ in 0..warmup {
        for &raw in &kinds {
            once(raw).await;
        }
    }
    let started = Instant::now();
    let workers: Vec<_> = (0..concurrency)
        .map(|worker| {
            let share = count / concurrency + usize::from(worker < count % concurrency);
            let calls: Vec<_> = (0..share).flat_map(|_| &kinds).map(|&raw| (raw, once(raw))).collect();
            tokio::spawn(async move {
                let mut measured = Vec::new();
                for (raw, call) in calls {
                    measured.push((raw, call.await));
                }
                measured
            })
        })
        .collect();
    let mut measured = Vec::new();
    for worker in workers {
        measured.extend(worker.await.map_err(|error| Failure::driver(error.to_string()))?);
    }
    let seconds = started.elapsed().as_secs_f64();
    let of = |wanted: bool| {
        let own: Vec<_> = measured.iter().filter(|(raw, _)| *raw == wanted).map(|(_, result)| *result).collect();
        let errors = own.iter().filter(|(_, failed)| *failed).count();
        // Turn by turn: each side had its share of the time.
        let share = if compare {
            own.iter().map(|(micros, _)| micros).sum::<f64>() / 1e6 / concurrency as f64
        } else {
            seconds
        };
        figures(own.into_iter().map(|(micros, _)| micros).collect(), errors, share)
    };
    let mut answer = json!({"layer": of(false)});
    if compare {
        answer["raw"] = of(true);
    }
    Ok(answer)
}
