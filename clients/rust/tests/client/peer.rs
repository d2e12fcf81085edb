//! The other end of the wire: an HTTP/2 server that speaks gRPC. It knows the protocol, not the product: a test says
//! what it answers and looks at what arrived.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use muniment::{Client, ClientBuilder, Code};
use prost::Message;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tonic::codegen::http::{HeaderMap, Request, Response};

pub const KEY: &str = "mk_dev_5ecret";

/// What the peer does with a call.
pub enum Answer {
    Messages(Vec<Vec<u8>>),
    /// Messages, then an error.
    Cut(Vec<Vec<u8>>, tonic::Status),
    Fail(tonic::Status),
    /// Nothing, for ever.
    Hang,
    /// After a while.
    Late(Duration, Vec<u8>),
    /// The connection breaks.
    Break,
}

pub fn message(message: &impl Message) -> Answer {
    Answer::Messages(vec![message.encode_to_vec()])
}

/// A call as it arrived.
#[derive(Clone)]
pub struct Received {
    pub method: String,
    pub headers: HeaderMap,
    pub messages: Vec<Vec<u8>>,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    pub fn request<M: Message + Default>(&self) -> M {
        M::decode(self.messages[0].as_slice()).expect("a message")
    }
}

type Script = Arc<dyn Fn(usize, &Received) -> Answer + Send + Sync>;

pub struct Peer {
    pub target: String,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Peer {
    /// `script`: what to answer, given the number of the call, from 0, and what arrived.
    pub async fn start(script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let target = listener.local_addr().expect("an address").to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let (script, log): (Script, _) = (Arc::new(script), Arc::clone(&received));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(TokioIo::new(stream), Arc::clone(&script), Arc::clone(&log)));
            }
        });
        Self { target, received }
    }

    pub fn client(&self) -> Client {
        self.builder().build().expect("settings")
    }

    pub fn builder(&self) -> ClientBuilder {
        Client::builder().target(&self.target).tenant("dev").api_key(KEY)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("a log").clone()
    }
}

async fn serve(io: TokioIo<tokio::net::TcpStream>, script: Script, log: Arc<Mutex<Vec<Received>>>) {
    let (breaking, mut broken) = watch::channel(false);
    let breaking = Arc::new(breaking);
    let service = service_fn(move |request: Request<Incoming>| {
        let (script, log, breaking) = (Arc::clone(&script), Arc::clone(&log), Arc::clone(&breaking));
        async move { answer(request, &script, &log, &breaking).await }
    });
    let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(io, service);
    tokio::select! {
        _ = connection => {}
        _ = broken.changed() => {}
    }
}

async fn answer(
    request: Request<Incoming>,
    script: &Script,
    log: &Mutex<Vec<Received>>,
    breaking: &watch::Sender<bool>,
) -> Result<Response<Reply>, Infallible> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let received = Received {
        method: parts.uri.path().trim_start_matches("/muniment.v1.").to_owned(),
        headers: parts.headers,
        messages: split(&bytes),
    };
    let number = {
        let mut log = log.lock().expect("a log");
        log.push(received.clone());
        log.len() - 1
    };
    let ok = tonic::Status::new(Code::Ok, "");
    Ok(match script(number, &received) {
        Answer::Messages(messages) => reply(&messages, ok),
        Answer::Cut(messages, status) => reply(&messages, status),
        Answer::Fail(status) => status.into_http(),
        Answer::Late(wait, message) => {
            tokio::time::sleep(wait).await;
            reply(&[message], ok)
        }
        Answer::Hang => std::future::pending().await,
        Answer::Break => {
            let _ = breaking.send(true);
            std::future::pending().await
        }
    })
}

fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let [_, a, b, c, d, rest @ ..] = bytes {
        let (message, rest) = rest.split_at(u32::from_be_bytes([*a, *b, *c, *d]) as usize);
        messages.push(message.to_vec());
        bytes = rest;
    }
    messages
}

#[derive(Default)]
pub struct Reply(VecDeque<Frame<Bytes>>);

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

fn reply(messages: &[Vec<u8>], status: tonic::Status) -> Response<Reply> {
    let mut frames: VecDeque<_> = messages
        .iter()
        .map(|message| {
            let mut bytes = vec![0];
            bytes.extend(u32::try_from(message.len()).expect("a short message").to_be_bytes());
            bytes.extend(message);
            Frame::data(Bytes::from(bytes))
        })
        .collect();
    // What belongs into the trailers is there in the headers of an answer without messages.
    let trailers = status.into_http::<Reply>().into_parts().0.headers;
    frames.push_back(Frame::trailers(trailers));
    let mut response = Response::new(Reply(frames));
    response.headers_mut().insert("content-type", "application/grpc".parse().expect("a value"));
    response
}

#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
    #[prost(map = "string, string", tag = "3")]
    metadata: HashMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldViolation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    reason: String,
}

#[derive(Clone, PartialEq, Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

/// An error as the service sends it.
pub struct Problem {
    code: Code,
    details: Vec<prost_types::Any>,
}

impl Problem {
    pub fn new(code: Code, reason: &str, domain: &str) -> Self {
        let metadata = [("memory_id".to_owned(), "m".to_owned())].into();
        let info = ErrorInfo { reason: reason.into(), domain: domain.into(), metadata };
        Self { code, details: Vec::new() }.with("ErrorInfo", &info)
    }

    fn with(mut self, name: &str, detail: &impl Message) -> Self {
        let type_url = format!("type.googleapis.com/google.rpc.{name}");
        self.details.push(prost_types::Any { type_url, value: detail.encode_to_vec() });
        self
    }

    pub fn violating(self, field: &str, rule: &str) -> Self {
        let violation = FieldViolation { field: field.into(), description: "is wrong".into(), reason: rule.into() };
        self.with("BadRequest", &BadRequest { field_violations: vec![violation] })
    }

    pub fn retry_after(self, millis: i64) -> Self {
        let nanos = i32::try_from(millis % 1000 * 1_000_000).expect("below a second");
        let delay = prost_types::Duration { seconds: millis / 1000, nanos };
        self.with("RetryInfo", &RetryInfo { retry_delay: Some(delay) })
    }

    pub fn status(self) -> tonic::Status {
        let details = RpcStatus { details: self.details }.encode_to_vec();
        let mut status = tonic::Status::with_details(self.code, "it failed", details.into());
        status.metadata_mut().insert("muniment-request-id", "cafe".parse().expect("a value"));
        status
    }

    pub fn answer(self) -> Answer {
        Answer::Fail(self.status())
    }
}

pub fn unavailable() -> Answer {
    Problem::new(Code::Unavailable, "DATABASE_UNAVAILABLE", "muniment.dev").answer()
}
