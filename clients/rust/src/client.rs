//! The client.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use tonic_prost::ProstCodec;

use crate::calls::{Answer, Begun, Calls, path};
use crate::completeness::Counted;
use crate::methods::Method;
use crate::model_call::ModelCall;
use crate::pages::{Page, Pages};
use crate::recalled::Recalled;
use crate::settings::{ClientBuilder, Settings};
use crate::streams::{FirstTaken, ResponseStream};
use crate::telemetry::Telemetry;
use crate::v1::consistency::Requirement;
use crate::v1::*;
use crate::{Error, Result};

const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
const TOKEN_REASONS: [&str; 3] =
    ["CONSISTENCY_TOKEN_INVALID", "CONSISTENCY_TOKEN_FOREIGN", "CONSISTENCY_TOKEN_EXPIRED"];

/// A client of one tenant.
///
/// Safe to be shared: it is `Send` and `Sync`, and a clone is the same client, with one connection and no state but
/// the consistency token of its last write, which is behind a lock that no call waits under. It belongs to the
/// runtime of its first call. Dropping the future of a call cancels the call.
///
/// Every changing call is given a request id if it has none, so that its repetitions take place once.
#[derive(Clone)]
pub struct Client {
    calls: Arc<Calls>,
    timeout: Option<Duration>,
}

/// A method that answers once.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $request:ty => $response:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        ///
        /// When the call does not succeed; see the method of the contract.
        pub async fn $name(&self, request: $request) -> Result<$response> {
            self.call(request).await
        }
    )*};
}

/// A method that answers page by page.
macro_rules! paged {
    ($($(#[$doc:meta])* $name:ident: $request:ty => $item:ty, |$page:ident| $items:expr, $broken:expr;)*) => {$(
        $(#[$doc])*
        /// All pages, fetched while you read; a timeout is for one page.
        pub fn $name(&self, request: $request) -> Pages<$item> {
            let client = self.clone();
            Pages::new(move |page_token| {
                let client = client.clone();
                let mut request = request.clone();
                if !page_token.is_empty() {
                    request.page_token = page_token;
                }
                Box::pin(async move {
                    let $page = client.call(request).await?;
                    Ok(Page {
                        next_page_token: $page.next_page_token,
                        seal_broken_memory_ids: $broken,
                        items: $items,
                    })
                })
            })
        }
    )*};
}

impl Client {
    /// Says how to reach the service and as whom.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(settings: Settings) -> Self {
        Self { calls: Arc::new(Calls::new(settings)), timeout: None }
    }

    /// The same client with another time for each of its calls, retries included, for example
    /// `client.with_timeout(Duration::from_millis(300)).recall(...)`.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { calls: Arc::clone(&self.calls), timeout: Some(timeout) }
    }

    /// The state of the store after the freshest write that was answered.
    pub fn consistency_token(&self) -> Option<ConsistencyToken> {
        self.calls.token()
    }

    /// Refuses new calls, and waits at most 5 seconds for those under way. What is not over then ends when its
    /// future is dropped.
    pub async fn close(&self) {
        self.close_within(CLOSE_TIMEOUT).await;
    }

    /// As [`close`](Client::close), with another time to wait.
    pub async fn close_within(&self, timeout: Duration) {
        self.calls.activity.close(timeout).await;
    }

    pub(crate) fn telemetry(&self) -> &Telemetry {
        self.calls.telemetry()
    }

    async fn call<Q: Method>(&self, request: Q) -> Result<Q::Response> {
        Ok(self.calls.unary(request, self.timeout).await?.message)
    }

    /// Finds what is relevant to a query, ranked.
    ///
    /// Without a consistency of its own the request sees every write of this client: it waits for their vectors, if
    /// the server makes them later.
    ///
    /// # Errors
    ///
    /// When the call does not succeed; see the method of the contract.
    pub async fn recall(&self, request: RecallRequest) -> Result<Recalled> {
        let own = match request.consistency {
            None if self.calls.settings.read_your_writes => self.calls.token(),
            _ => None,
        };
        let Some(own) = own else {
            return self.recall_as_it_is(request).await;
        };
        let mut fresh = request.clone();
        fresh.consistency = Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(own.clone())) });
        match self.recall_as_it_is(fresh).await {
            Err(error) if TOKEN_REASONS.contains(&error.reason()) => {
                // Nobody asked for this token: the store was replaced or has moved on, so it says nothing.
                self.calls.drop_token(&own);
                self.recall_as_it_is(request).await
            }
            answer => answer,
        }
    }

    async fn recall_as_it_is(&self, request: RecallRequest) -> Result<Recalled> {
        let Answer { message, span } = self.calls.unary(request, self.timeout).await?;
        Ok(Recalled::new(message, span))
    }

    /// Begins the model call that recalled memories go into: stamps its span, links it to the recalls, and reports
    /// what was used.
    pub fn model_call(&self, recalls: &[&Recalled]) -> ModelCall {
        ModelCall::new(self.clone(), recalls)
    }

    unary! {
        /// Stores statements: all of the request or none.
        write: WriteRequest => WriteResponse;
        /// Replaces a memory by a new one, in one step; the old one stays as history.
        supersede: SupersedeRequest => SupersedeResponse;
        /// Erases for good; with `validate_only` it only says what would be erased.
        erase: EraseRequest => EraseResponse;
        /// The receipt of an erasure as it stands now.
        get_erasure: GetErasureRequest => GetErasureResponse;
        /// One memory in whatever state, with its history if asked for.
        get_memory: GetMemoryRequest => GetMemoryResponse;
        /// States which memories of a recall really entered a prompt; [`model_call`](Client::model_call) does it
        /// for you.
        report_use: ReportUseRequest => ReportUseResponse;
        /// Takes in the turns of a conversation.
        ingest: IngestRequest => IngestResponse;
        /// How far an ingest has come.
        get_ingest: GetIngestRequest => GetIngestResponse;
        /// Makes a superseded or archived memory live again.
        restore: RestoreRequest => RestoreResponse;
        /// Ends a memory that was true until now; nothing replaces it.
        retract: RetractRequest => RetractResponse;
        /// Takes back a whole write by its request id.
        undo_write: UndoWriteRequest => UndoWriteResponse;
        /// The durable record of a recall: what was offered, in which revision, why, and what was used.
        get_recall: GetRecallRequest => GetRecallResponse;
        /// Approves, edits or rejects a memory that waits for review.
        decide_review: DecideReviewRequest => DecideReviewResponse;
        /// Says what may be remembered about a subject.
        set_consent: SetConsentRequest => SetConsentResponse;
        /// What may be remembered about a subject.
        get_consent: GetConsentRequest => GetConsentResponse;
        /// What is held about a subject, for that person to read.
        describe_subject: DescribeSubjectRequest => DescribeSubjectResponse;
        /// Writes memories as an export gave them.
        import_memories: ImportMemoriesRequest => ImportMemoriesResponse;
    }

    unary! {
        /// One page of [`list_memories`](Client::list_memories), as it comes.
        list_memories_page: ListMemoriesRequest => ListMemoriesResponse;
        /// One page of [`list_reviews`](Client::list_reviews), as it comes.
        list_reviews_page: ListReviewsRequest => ListReviewsResponse;
        /// One page of [`audit`](Client::audit), as it comes.
        audit_page: AuditRequest => AuditResponse;
    }

    paged! {
        /// The memories of a scope, newest first.
        list_memories: ListMemoriesRequest => Memory, |page| page.memories, page.seal_broken_memory_ids;
        /// What waits for review.
        list_reviews: ListReviewsRequest => Review, |page| page.reviews, page.seal_broken_memory_ids;
        /// The audit trail, newest first.
        audit: AuditRequest => AuditEvent, |page| page.events, Vec::new();
    }

    /// Takes in a conversation while it goes on: sends the requests as they come, and is answered at their end. The
    /// first is given a request id if it has none.
    ///
    /// # Errors
    ///
    /// When the call does not succeed. It is not repeated: what was sent may be stored; repeating all of it does no
    /// harm.
    pub async fn stream_ingest(
        &self,
        requests: impl Stream<Item = StreamIngestRequest> + Send + 'static,
    ) -> Result<StreamIngestResponse> {
        let (first, rest) = FirstTaken::new(requests).await;
        let mut first = first.unwrap_or_default();
        let Begun { underway, span, deadline } = self.calls.begin(&mut first, self.timeout)?;
        let requests = rest.put_back(first);
        let answer = match self.calls.client_streaming(&span, deadline, requests).await {
            Ok(answer) => {
                self.calls.wrote(StreamIngestRequest::token(&answer));
                span.answered(Vec::new());
                Ok(answer)
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

    /// The tenant's chain in ascending order, with all that somebody outside needs to check it. The stream ends with
    /// UNAVAILABLE when the export ends without its trailer, or the trailer counts other events than arrived.
    ///
    /// # Errors
    ///
    /// When the export does not begin.
    pub async fn export_audit(&self, request: ExportAuditRequest) -> Result<ResponseStream<ExportAuditResponse>> {
        self.stream(request).await
    }

    /// All memories of a subject, to be imported elsewhere. The stream ends with UNAVAILABLE when the export ends
    /// without its closing count, or that counts other records than arrived.
    ///
    /// # Errors
    ///
    /// When the export does not begin.
    pub async fn export_memories(
        &self,
        request: ExportMemoriesRequest,
    ) -> Result<ResponseStream<ExportMemoriesResponse>> {
        self.stream(request).await
    }

    async fn stream<Q: Method>(&self, mut request: Q) -> Result<ResponseStream<Q::Response>>
    where
        Q::Response: Counted,
    {
        let Begun { underway, span, deadline } = self.calls.begin(&mut request, self.timeout)?;
        let begun =
            self.calls
                .repeated::<Q, _, _>(&span, deadline, |mut grpc, prepared| {
                    let request = prepared.of(request.clone());
                    async move {
                        grpc.server_streaming(request, path::<Q>(), ProstCodec::<Q, Q::Response>::default()).await
                    }
                })
                .await;
        match begun {
            Ok(response) => {
                let late = tokio::time::sleep_until(deadline);
                Ok(ResponseStream::new(response.into_inner(), late, span, underway))
            }
            Err(error) => {
                let error: Error = error.traced(&span.trace_id());
                span.failed(&error);
                Err(error)
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.calls.settings;
        out.debug_struct("Client")
            .field("target", &settings.target)
            .field("tenant", &settings.tenant)
            .finish_non_exhaustive()
    }
}
