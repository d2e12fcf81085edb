//! What the client sends, and what it makes of answers.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use muniment::v1::consistency::Requirement;
use muniment::v1::export_audit_response::Part;
use muniment::v1::*;
use muniment::{BoxError, Code, Error, fact, subject, write};

use crate::peer::{Answer, KEY, Peer, Problem, message, unavailable};

fn recall() -> RecallRequest {
    RecallRequest { scope: Some(subject("ada")), query: "tea".into(), ..RecallRequest::default() }
}

fn written(token: &str) -> Answer {
    message(&WriteResponse {
        consistency_token: Some(ConsistencyToken { token: token.into(), ..ConsistencyToken::default() }),
        ..WriteResponse::default()
    })
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.split('-').map(str::len).eq([8, 4, 4, 4, 12])
}

#[tokio::test]
async fn metadata_and_deadline() {
    let peer = Peer::start(|_, _| message(&RecallResponse::default())).await;
    let client = peer.builder().client_name("bot/1").build().unwrap();
    client.recall(recall()).await.unwrap();
    let call = &peer.received()[0];
    assert_eq!(call.method, "MemoryService/Recall");
    assert_eq!(call.header("authorization"), format!("Bearer {KEY}"));
    assert_eq!(call.header("muniment-tenant"), "dev");
    assert_eq!(call.header("muniment-client"), "bot/1 (muniment-rust/0.1.0)");
    assert!(call.header("user-agent").starts_with("muniment-rust/0.1.0"));
    let timeout = call.header("grpc-timeout");
    let number: u64 = timeout[..timeout.len() - 1].parse().unwrap();
    let micros = if timeout.ends_with('u') { number } else { number / 1000 };
    assert!((1_500_000..=2_000_000).contains(&micros), "{timeout}");
}

#[tokio::test]
async fn a_token_source_is_asked_for_every_call() {
    let peer = Peer::start(|_, _| message(&RecallResponse::default())).await;
    let count = std::sync::atomic::AtomicUsize::new(0);
    let builder = muniment::Client::builder().target(&peer.target).tenant("dev").token_source(move || {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move {
            match number {
                2 => Err(BoxError::from("the vault is closed")),
                _ => Ok(format!("jwt-{number}")),
            }
        }
    });
    let client = builder.build().unwrap();
    client.recall(recall()).await.unwrap();
    client.recall(recall()).await.unwrap();
    let refused = client.recall(recall()).await.unwrap_err();
    assert_eq!((refused.code(), refused.is_local()), (Code::Unauthenticated, true));
    let sent: Vec<_> = peer.received().iter().map(|call| call.header("authorization").to_owned()).collect();
    assert_eq!(sent, ["Bearer jwt-0", "Bearer jwt-1"]);
}

#[tokio::test]
async fn unavailable_is_repeated_with_the_same_request_id() {
    let peer = Peer::start(|number, _| if number < 3 { unavailable() } else { written("t") }).await;
    peer.client().write(write(subject("ada"), [fact("x")])).await.unwrap();
    let ids: Vec<_> = peer.received().iter().map(|call| call.request::<WriteRequest>().request_id).collect();
    assert_eq!(ids.len(), 4);
    assert!(is_uuid(&ids[0]) && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[tokio::test]
async fn after_four_attempts_it_gives_up() {
    let peer = Peer::start(|_, _| unavailable()).await;
    let started = Instant::now();
    let error = peer.client().recall(recall()).await.unwrap_err();
    assert_eq!((error.code(), error.reason()), (Code::Unavailable, "DATABASE_UNAVAILABLE"));
    assert_eq!(peer.received().len(), 4);
    assert!(started.elapsed() >= Duration::from_millis(500));
}

#[tokio::test]
async fn an_own_request_id_is_kept_and_other_errors_are_not_repeated() {
    let peer = Peer::start(|_, _| Answer::Fail(tonic::Status::internal("a fault"))).await;
    let mut request = write(subject("ada"), [fact("x")]);
    request.request_id = "0190a6de-0000-4000-8000-000000000000".into();
    let error = peer.client().write(request.clone()).await.unwrap_err();
    assert_eq!((error.code(), error.reason(), error.message()), (Code::Internal, "", "a fault"));
    assert_eq!(peer.received().len(), 1);
    assert_eq!(peer.received()[0].request::<WriteRequest>().request_id, request.request_id);
}

#[tokio::test]
async fn what_the_service_asks_to_wait_is_waited() {
    // The attempts of the first round are used up; RetryInfo begins another.
    let peer = Peer::start(|number, _| match number {
        0..4 => Problem::new(Code::Unavailable, "SHUTTING_DOWN", "muniment.dev").retry_after(300).answer(),
        _ => written("t"),
    })
    .await;
    let started = Instant::now();
    peer.client().write(write(subject("ada"), [fact("x")])).await.unwrap();
    assert_eq!(peer.received().len(), 5);
    assert!(started.elapsed() >= Duration::from_millis(800), "{:?}", started.elapsed());
}

#[tokio::test]
async fn pushback_forbids() {
    let peer = Peer::start(|_, _| {
        let mut status = tonic::Status::unavailable("no");
        status.metadata_mut().insert("grpc-retry-pushback-ms", "-1".parse().unwrap());
        Answer::Fail(status)
    })
    .await;
    assert_eq!(peer.client().recall(recall()).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(peer.received().len(), 1);
}

#[tokio::test]
async fn a_broken_connection_is_repeated() {
    let peer = Peer::start(|number, _| if number == 0 { Answer::Break } else { written("t") }).await;
    peer.client().write(write(subject("ada"), [fact("x")])).await.unwrap();
    assert_eq!(peer.received().len(), 2);
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let client = muniment::Client::builder().target("127.0.0.1:1").tenant("dev").api_key(KEY).build().unwrap();
    let error = client.recall(recall()).await.unwrap_err();
    assert_eq!((error.code(), error.reason()), (Code::Unavailable, ""));
}

#[tokio::test]
async fn errors_carry_what_the_service_says() {
    let peer = Peer::start(|number, _| match number {
        0 => Problem::new(Code::InvalidArgument, "INVALID_REQUEST", "muniment.dev")
            .violating("items[0].content", "string.min_len")
            .answer(),
        1 => Problem::new(Code::ResourceExhausted, "QUOTA_EXCEEDED", "muniment.dev").retry_after(1500).answer(),
        _ => Problem::new(Code::PermissionDenied, "NOT_OURS", "proxy.example").answer(),
    })
    .await;
    let client = peer.client();
    let invalid = client.recall(recall()).await.unwrap_err();
    assert_eq!(invalid.known_reason(), Some(ErrorReason::InvalidRequest));
    assert_eq!((invalid.domain(), invalid.call_id()), ("muniment.dev", "cafe"));
    assert_eq!(invalid.metadata()["memory_id"], "m");
    let [violation] = invalid.field_violations() else { panic!("one violation") };
    assert_eq!((violation.field.as_str(), violation.rule.as_str()), ("items[0].content", "string.min_len"));
    assert!(invalid.to_string().contains("INVALID_REQUEST"));
    assert!(!format!("{invalid:?} {invalid}").contains(KEY));
    let quota = client.recall(recall()).await.unwrap_err();
    assert_eq!(quota.retry_after(), Some(Duration::from_millis(1500)));
    assert_eq!(client.recall(recall()).await.unwrap_err().reason(), "");
}

#[tokio::test]
async fn recalls_see_own_writes() {
    let peer = Peer::start(|_, call| match call.method.as_str() {
        "MemoryService/Write" => written("after-write"),
        _ => message(&RecallResponse::default()),
    })
    .await;
    let client = peer.client();
    client.recall(recall()).await.unwrap();
    client.write(write(subject("ada"), [fact("x")])).await.unwrap();
    assert_eq!(client.consistency_token().unwrap().token, "after-write");
    client.recall(recall()).await.unwrap();
    let own = Consistency { requirement: Some(Requirement::MinimizeLatency(true)) };
    client.recall(RecallRequest { consistency: Some(own.clone()), ..recall() }).await.unwrap();
    let sent: Vec<_> = peer
        .received()
        .iter()
        .filter(|call| call.method.ends_with("Recall"))
        .map(|call| call.request::<RecallRequest>().consistency)
        .collect();
    let token = ConsistencyToken { token: "after-write".into(), ..ConsistencyToken::default() };
    let fresh = Consistency { requirement: Some(Requirement::AtLeastAsFresh(token)) };
    assert_eq!(sent, [None, Some(fresh), Some(own)]);
}

#[tokio::test]
async fn a_token_that_says_nothing_any_more_is_dropped() {
    let peer = Peer::start(|_, call| match call.method.as_str() {
        "MemoryService/Write" => written("old"),
        _ if call.request::<RecallRequest>().consistency.is_some() => {
            Problem::new(Code::InvalidArgument, "CONSISTENCY_TOKEN_FOREIGN", "muniment.dev").answer()
        }
        _ => message(&RecallResponse::default()),
    })
    .await;
    let client = peer.client();
    client.write(write(subject("ada"), [fact("x")])).await.unwrap();
    client.recall(recall()).await.unwrap();
    assert_eq!(client.consistency_token(), None);
}

#[tokio::test]
async fn deadlines_end_calls() {
    let peer = Peer::start(|_, _| Answer::Hang).await;
    let started = Instant::now();
    let short = peer.client().with_timeout(Duration::from_millis(200));
    assert_eq!(short.recall(recall()).await.unwrap_err().code(), Code::DeadlineExceeded);
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn closing_waits_for_what_is_under_way() {
    let peer = Peer::start(|_, _| Answer::Late(Duration::from_millis(300), Vec::new())).await;
    let client = peer.client();
    let running = tokio::spawn({
        let client = client.clone();
        async move { client.recall(recall()).await }
    });
    while peer.received().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.close().await;
    assert!(running.is_finished());
    running.await.unwrap().unwrap();
    let refused = client.recall(recall()).await.unwrap_err();
    assert!(refused.is_local() && refused.message().contains("closed"));
}

#[tokio::test]
async fn many_calls_at_once() {
    let peer = Peer::start(|_, _| message(&RecallResponse::default())).await;
    let client = peer.client();
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.recall(recall()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(peer.received().len(), 64);
}

#[tokio::test]
async fn lists_are_read_to_their_end() {
    let peer = Peer::start(|number, _| {
        let named = |id: &str| Memory { memory_id: id.into(), ..Memory::default() };
        let ids = [vec!["a", "b"], vec![], vec!["c"]];
        message(&ListMemoriesResponse {
            memories: ids[number % 3].iter().map(|id| named(id)).collect(),
            next_page_token: ["1", "2", ""][number % 3].into(),
            seal_broken_memory_ids: if number == 1 { vec!["x".into()] } else { vec![] },
            ..ListMemoriesResponse::default()
        })
    })
    .await;
    let mut pages = peer.client().list_memories(ListMemoriesRequest::default());
    let mut ids = Vec::new();
    while let Some(memory) = pages.next().await {
        ids.push(memory.unwrap().memory_id);
    }
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(pages.seal_broken_memory_ids(), ["x"]);
    let tokens: Vec<_> =
        peer.received().iter().map(|call| call.request::<ListMemoriesRequest>().page_token).collect();
    assert_eq!(tokens, ["", "1", "2"]);
    assert_eq!(peer.client().list_memories(ListMemoriesRequest::default()).all().await.unwrap().len(), 3);
}

#[tokio::test]
async fn an_export_that_was_cut_off_is_noticed() {
    use prost::Message;
    let part = |part| ExportAuditResponse { part: Some(part) }.encode_to_vec();
    let events = move || part(Part::Events(ExportedEvents { events: vec![ExportedEvent::default(); 2] }));
    let trailer = move |count| part(Part::Trailer(ExportTrailer { event_count: count, ..ExportTrailer::default() }));
    let peer = Peer::start(move |number, _| match number {
        0 => Answer::Messages(vec![events(), trailer(2)]),
        1 => Answer::Messages(vec![events()]),
        2 => Answer::Messages(vec![events(), trailer(3)]),
        _ => Answer::Cut(vec![events()], tonic::Status::data_loss("broken")),
    })
    .await;
    let client = peer.client();
    let mut ends = Vec::new();
    for _ in 0..4 {
        let mut stream = client.export_audit(ExportAuditRequest::default()).await.unwrap();
        let mut end = None;
        while let Some(part) = stream.next().await {
            end = part.err().map(|error: Error| error.code());
        }
        ends.push(end);
    }
    assert_eq!(ends, [None, Some(Code::Unavailable), Some(Code::Unavailable), Some(Code::DataLoss)]);
}

struct Turns(VecDeque<StreamIngestRequest>);

impl Stream for Turns {
    type Item = StreamIngestRequest;

    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<StreamIngestRequest>> {
        Poll::Ready(self.0.pop_front())
    }
}

#[tokio::test]
async fn conversations_are_streamed() {
    let peer = Peer::start(|_, _| {
        message(&StreamIngestResponse {
            consistency_token: Some(ConsistencyToken { token: "ingested".into(), ..ConsistencyToken::default() }),
            ..StreamIngestResponse::default()
        })
    })
    .await;
    let client = peer.client();
    let turns = vec![StreamIngestRequest { scope: Some(subject("ada")), ..StreamIngestRequest::default() }; 3];
    client.stream_ingest(Turns(turns.into())).await.unwrap();
    let call = &peer.received()[0];
    assert_eq!(call.messages.len(), 3);
    assert!(is_uuid(&call.request::<StreamIngestRequest>().request_id));
    assert_eq!(client.consistency_token().unwrap().token, "ingested");
}

#[tokio::test]
async fn what_a_newer_server_sends_is_tolerated() {
    // An unknown kind of memory, and an unknown field 200.
    let peer = Peer::start(|_, _| {
        use prost::Message;
        let memory = Memory { kind: 99, ..Memory::default() };
        let mut bytes = GetMemoryResponse { memory: Some(memory), ..GetMemoryResponse::default() }.encode_to_vec();
        bytes.extend([0xc2, 0x0c, 0x01, b'x']);
        Answer::Messages(vec![bytes])
    })
    .await;
    let answer = peer.client().get_memory(GetMemoryRequest::default()).await.unwrap();
    let memory = answer.memory.unwrap();
    assert_eq!((memory.kind, MemoryKind::try_from(memory.kind).is_err()), (99, true));
}
