//! One call: metadata, deadline, repetition, trace, error.

use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_core::Stream;
use opentelemetry::trace::SpanContext;
use tokio::time::Instant;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Extensions, Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::activity::{Activity, Underway};
use crate::error::Error;
use crate::methods::Method;
use crate::retry::{self, Attempts, Throttle};
use crate::settings::Settings;
use crate::status::to_error;
use crate::telemetry::{CallSpan, Telemetry};
use crate::v1::ConsistencyToken;

/// What all calls of a client share.
pub(crate) struct Calls {
    pub(crate) settings: Settings,
    pub(crate) activity: Arc<Activity>,
    channel: OnceLock<Channel>,
    telemetry: OnceLock<Telemetry>,
    throttle: Throttle,
    token: Mutex<Option<ConsistencyToken>>,
}

/// A call that has begun.
pub(crate) struct Begun {
    pub(crate) underway: Underway,
    pub(crate) span: CallSpan,
    pub(crate) deadline: Instant,
}

/// What a call answered, and the span that it was made in.
pub(crate) struct Answer<R> {
    pub(crate) message: R,
    pub(crate) span: SpanContext,
}

impl Calls {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            settings,
            activity: Arc::default(),
            channel: OnceLock::new(),
            telemetry: OnceLock::new(),
            throttle: Throttle::new(),
            token: Mutex::new(None),
        }
    }

    /// As soon as there is a runtime, and the program has set its providers up.
    pub(crate) fn telemetry(&self) -> &Telemetry {
        self.telemetry.get_or_init(|| Telemetry::new(&self.settings.target))
    }

    fn grpc(&self) -> Grpc<Channel> {
        Grpc::new(self.channel.get_or_init(|| self.settings.channel()).clone())
    }

    /// The token of the last write.
    pub(crate) fn token(&self) -> Option<ConsistencyToken> {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Holds the token of a write, unless it is older than the one held: answers of calls that run at the same
    /// time arrive in any order. Servers that tell no order are taken at their word.
    pub(crate) fn wrote(&self, token: Option<&ConsistencyToken>) {
        if let Some(token) = token.filter(|token| !token.token.is_empty()) {
            let mut held = self.token.lock().unwrap_or_else(PoisonError::into_inner);
            let older = held.as_ref().is_some_and(|held| token.order != 0 && token.order < held.order);
            if !older {
                *held = Some(token.clone());
            }
        }
    }

    /// Drops a token, unless another one has taken its place.
    pub(crate) fn drop_token(&self, own: &ConsistencyToken) {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if token.as_ref() == Some(own) {
            *token = None;
        }
    }

    pub(crate) fn begin<Q: Method>(&self, request: &mut Q, timeout: Option<Duration>) -> Result<Begun, Error> {
        if let Some(id) = request.request_id().filter(|id| id.is_empty()) {
            *id = retry::request_id()?;
        }
        Ok(Begun {
            underway: self.activity.enter()?,
            span: self.telemetry().start(request),
            deadline: Instant::now() + timeout.unwrap_or_else(|| Q::deadline(&self.settings.deadlines)),
        })
    }

    /// Makes a call that answers once.
    pub(crate) async fn unary<Q: Method>(
        &self,
        mut request: Q,
        timeout: Option<Duration>,
    ) -> Result<Answer<Q::Response>, Error> {
        let Begun { underway, span, deadline } = self.begin(&mut request, timeout)?;
        let answer = self
            .repeated::<Q, _, _>(&span, deadline, |mut grpc, metadata| {
                let request = metadata.of(request.clone());
                async move { grpc.unary(request, path::<Q>(), ProstCodec::<Q, Q::Response>::default()).await }
            })
            .await;
        let answer = match answer {
            Ok(response) => {
                let message = response.into_inner();
                let mut attributes = Vec::new();
                Q::describe_response(&message, &mut attributes);
                self.wrote(Q::token(&message));
                let context = span.span_context();
                span.answered(attributes);
                Ok(Answer { message, span: context })
            }
            Err(error) => {
                let error = error.traced(&span.trace_id());
                span.failed(&error);
                Err(error)
            }
        };
        drop(underway);
        answer
    }

    /// Makes a call until it answers, may not be repeated any more, or its time is up.
    pub(crate) async fn repeated<Q, F, R>(
        &self,
        span: &CallSpan,
        deadline: Instant,
        call: impl Fn(Grpc<Channel>, Prepared) -> F,
    ) -> Result<Response<R>, Error>
    where
        Q: Method,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let rounds = async {
            let mut rounds = 0;
            loop {
                rounds += 1;
                let failure = match self.round::<Q, F, R>(span, deadline, &call).await {
                    Ok(response) => return Ok(response),
                    Err(error) => error,
                };
                match retry::round_delay(&failure, rounds, deadline.saturating_duration_since(Instant::now())) {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return Err(failure),
                }
            }
        };
        tokio::time::timeout_at(deadline, rounds).await.unwrap_or_else(|_| Err(late()))
    }

    async fn round<Q, F, R>(
        &self,
        span: &CallSpan,
        deadline: Instant,
        call: &impl Fn(Grpc<Channel>, Prepared) -> F,
    ) -> Result<Response<R>, Error>
    where
        Q: Method,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        let mut attempts = Attempts::new();
        loop {
            let mut grpc = self.grpc();
            let prepared = self.prepare::<Q>(span, deadline).await?;
            let result = match grpc.ready().await {
                Ok(()) => call(grpc, prepared).await,
                Err(broken) => Err(Status::from_error(broken.into())),
            };
            let status = match result {
                Ok(response) => {
                    self.throttle.succeeded();
                    return Ok(response);
                }
                Err(status) => status,
            };
            let code = crate::status::code(&status);
            match attempts.delay(code, &status, &self.throttle) {
                Some(wait) if Instant::now() + wait < deadline => tokio::time::sleep(wait).await,
                _ => return Err(to_error(status)),
            }
        }
    }

    pub(crate) async fn prepare<Q: Method>(&self, span: &CallSpan, deadline: Instant) -> Result<Prepared, Error> {
        let mut metadata = self.settings.metadata().await?;
        span.inject(&mut metadata);
        self.settings.intercept(&mut metadata);
        Ok(Prepared { metadata, remaining: deadline.saturating_duration_since(Instant::now()) })
    }

    /// Makes a call whose request is a stream. It is not repeated, because the stream is used up.
    pub(crate) async fn client_streaming<Q: Method>(
        &self,
        span: &CallSpan,
        deadline: Instant,
        requests: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<Q::Response, Error> {
        let call = async {
            let mut grpc = self.grpc();
            let prepared = self.prepare::<Q>(span, deadline).await?;
            grpc.ready().await.map_err(|broken| to_error(Status::from_error(broken.into())))?;
            let codec = ProstCodec::<Q, Q::Response>::default();
            grpc.client_streaming(prepared.of(requests), path::<Q>(), codec)
                .await
                .map(Response::into_inner)
                .map_err(to_error)
        };
        tokio::time::timeout_at(deadline, call).await.unwrap_or_else(|_| Err(late()))
    }
}

/// Metadata and time of one attempt.
pub(crate) struct Prepared {
    metadata: tonic::metadata::MetadataMap,
    remaining: Duration,
}

impl Prepared {
    pub(crate) fn of<T>(self, message: T) -> Request<T> {
        let mut request = Request::from_parts(self.metadata, Extensions::new(), message);
        request.set_timeout(self.remaining);
        request
    }
}

pub(crate) fn path<Q: Method>() -> PathAndQuery {
    PathAndQuery::from_static(Q::PATH)
}

pub(crate) fn late() -> Error {
    Error::of(Code::DeadlineExceeded, "the time for the call was used up")
}
