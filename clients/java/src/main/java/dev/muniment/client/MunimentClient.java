package dev.muniment.client;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Stream;

import com.google.protobuf.Message;

import dev.muniment.v1.*;

import io.opentelemetry.api.trace.SpanContext;

/**
 * A client of one tenant.
 *
 * <pre>{@code
 * try (MunimentClient client = MunimentClient.builder().target("127.0.0.1:7443").tenant("dev").apiKey(key).build()) {
 *     Scope ada = Muniment.subject("ada");
 *     client.write(ada, Muniment.fact("Ada drinks green tea."));
 *     Recalled recalled = client.recall(ada, "What can I offer Ada to drink?");
 * }
 * }</pre>
 *
 * <p>Safe for any number of threads: one client per process is enough, it has one connection and no state but
 * the consistency token of its last write, which is an atomic reference. Requests and answers are immutable
 * messages. Blocking methods throw a {@link MunimentException} when the call does not succeed, and cancel the
 * call when their thread is interrupted; futures fail with it, and cancelling a future cancels its call. What
 * depends on a future runs on a thread of gRPC: it must not block for long.
 *
 * <p>Every changing call is given a request id if it has none, so that its repetitions take place once.
 */
public final class MunimentClient implements AutoCloseable {
    /** How long {@link #close()} waits for what is under way. */
    public static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(5);

    private static final System.Logger LOG = System.getLogger("dev.muniment.client");
    private static final Set<String> TOKEN_REASONS =
            Set.of("CONSISTENCY_TOKEN_INVALID", "CONSISTENCY_TOKEN_FOREIGN", "CONSISTENCY_TOKEN_EXPIRED");

    private final Calls calls;
    private final Duration timeout;

    MunimentClient(Settings settings) {
        this(new Calls(settings), null);
    }

    private MunimentClient(Calls calls, Duration timeout) {
        this.calls = calls;
        this.timeout = timeout;
    }

    /** Says how to reach the service and as whom. */
    public static MunimentClientBuilder builder() {
        return new MunimentClientBuilder(System.getenv());
    }

    /**
     * The same client with another time for each of its calls, retries included: for example
     * {@code client.withTimeout(Duration.ofMillis(300)).recall(...)}. It shares everything with this one;
     * closing either closes both.
     */
    public MunimentClient withTimeout(Duration each) {
        return new MunimentClient(calls, Deadlines.positive(each));
    }

    /** The state of the store after the freshest write that was answered. */
    public Optional<ConsistencyToken> consistencyToken() {
        return Optional.ofNullable(calls.token.get());
    }

    /** Refuses new calls, waits at most 5 seconds for those under way, then cuts the rest off. */
    @Override
    public void close() {
        close(CLOSE_TIMEOUT);
    }

    /** As {@link #close()}, with another time to wait. */
    public void close(Duration wait) {
        calls.close(wait);
    }

    @Override
    public String toString() {
        return "MunimentClient[" + calls.settings.target.full() + ", tenant " + calls.settings.tenant + "]";
    }

    Telemetry telemetry() {
        return calls.telemetry;
    }

    private <Q extends Message, R extends Message> R blocking(Rpc<Q, R> rpc, Q request) {
        return call(rpc, request, true, (response, span) -> response, null).await();
    }

    private <Q extends Message, R extends Message> CompletableFuture<R> future(Rpc<Q, R> rpc, Q request) {
        try {
            return call(rpc, request, false, (response, span) -> response, null);
        } catch (MunimentException refused) {
            return CompletableFuture.failedFuture(refused);
        }
    }

    private <Q extends Message, R extends Message, T> UnaryCall<Q, R, T> call(
            Rpc<Q, R> rpc,
            Q request,
            boolean direct,
            BiFunction<R, SpanContext, T> finish,
            Function<MunimentException, Q> repair) {
        Objects.requireNonNull(request);
        return UnaryCall.start(calls, rpc, request, timeout, direct, finish, repair);
    }

    /** Stores statements: all of them or none. */
    public WriteResponse write(Scope scope, WriteItem... items) {
        return write(WriteRequest.newBuilder().setScope(scope).addAllItems(List.of(items)).build());
    }

    /** Finds what is relevant to a query, ranked, at most 10 memories. */
    public Recalled recall(Scope scope, String query) {
        return recall(RecallRequest.newBuilder().setScope(scope).setQuery(query).build());
    }

    /**
     * Finds what is relevant to a query, ranked.
     *
     * <p>Without a consistency of its own the request sees every write of this client: it waits for their
     * vectors, if the server makes them later.
     */
    public Recalled recall(RecallRequest request) {
        return recalling(request, true).await();
    }

    /** As {@link #recall(RecallRequest)}. */
    public CompletableFuture<Recalled> recallAsync(RecallRequest request) {
        try {
            return recalling(request, false);
        } catch (MunimentException refused) {
            return CompletableFuture.failedFuture(refused);
        }
    }

    private UnaryCall<RecallRequest, RecallResponse, Recalled> recalling(RecallRequest request, boolean direct) {
        ConsistencyToken own =
                request.hasConsistency() || !calls.settings.readYourWrites ? null : calls.token.get();
        if (own == null) {
            return call(Rpcs.RECALL, request, direct, Recalled::new, null);
        }
        RecallRequest fresh = request.toBuilder()
                .setConsistency(Consistency.newBuilder().setAtLeastAsFresh(own))
                .build();
        return call(Rpcs.RECALL, fresh, direct, Recalled::new, failure -> {
            if (!TOKEN_REASONS.contains(failure.reason()) || !calls.token.compareAndSet(own, null)) {
                return null;
            }
            // Nobody asked for this token: the store was replaced or has moved on, so it says nothing.
            LOG.log(
                    System.Logger.Level.INFO,
                    "dropped the consistency token of the last write: {0}",
                    failure.reason());
            return request;
        });
    }

    /**
     * Wraps the model call that recalled memories go into: stamps its span, links it to the recalls, reports
     * what was used.
     */
    public ModelCall modelCall(Recalled recalled, Recalled... more) {
        return new ModelCall(this, Stream.concat(Stream.of(recalled), Stream.of(more)).toList());
    }

    /** Takes in a conversation while it goes on. To be closed. */
    public IngestStream streamIngest() {
        return new IngestStream(calls, timeout);
    }

    /** Takes in a whole conversation, request by request. */
    public StreamIngestResponse streamIngest(Iterable<StreamIngestRequest> requests) {
        try (IngestStream stream = streamIngest()) {
            requests.forEach(stream::send);
            return stream.finish();
        }
    }

    /**
     * The tenant's chain in ascending order, with all that somebody outside needs to check it. Reading throws
     * {@link MunimentException.Unavailable} when the export ends without its trailer, or the trailer counts
     * other events than arrived. To be closed unless read to its end.
     */
    public ResponseStream<ExportAuditResponse> exportAudit(ExportAuditRequest request) {
        return ResponseStream.start(calls, Rpcs.EXPORT_AUDIT, request, timeout, new Completeness.Audit());
    }

    /**
     * All memories of a subject, to be imported elsewhere. Reading throws
     * {@link MunimentException.Unavailable} when the export ends without its closing count. To be closed
     * unless read to its end.
     */
    public ResponseStream<ExportMemoriesResponse> exportMemories(ExportMemoriesRequest request) {
        return ResponseStream.start(calls, Rpcs.EXPORT_MEMORIES, request, timeout, new Completeness.Memories());
    }

    /** Stores statements: all of the request or none. */
    public WriteResponse write(WriteRequest request) {
        return blocking(Rpcs.WRITE, request);
    }

    /** As {@link #write}. */
    public CompletableFuture<WriteResponse> writeAsync(WriteRequest request) {
        return future(Rpcs.WRITE, request);
    }

    /** Replaces a memory by a new one, in one step; the old one stays as history. */
    public SupersedeResponse supersede(SupersedeRequest request) {
        return blocking(Rpcs.SUPERSEDE, request);
    }

    /** As {@link #supersede}. */
    public CompletableFuture<SupersedeResponse> supersedeAsync(SupersedeRequest request) {
        return future(Rpcs.SUPERSEDE, request);
    }

    /** Erases for good; with {@code validate_only} it only says what would be erased. */
    public EraseResponse erase(EraseRequest request) {
        return blocking(Rpcs.ERASE, request);
    }

    /** As {@link #erase}. */
    public CompletableFuture<EraseResponse> eraseAsync(EraseRequest request) {
        return future(Rpcs.ERASE, request);
    }

    /** The receipt of an erasure as it stands now. */
    public GetErasureResponse getErasure(GetErasureRequest request) {
        return blocking(Rpcs.GET_ERASURE, request);
    }

    /** As {@link #getErasure}. */
    public CompletableFuture<GetErasureResponse> getErasureAsync(GetErasureRequest request) {
        return future(Rpcs.GET_ERASURE, request);
    }

    /** One memory in whatever state, with its history if asked for. */
    public GetMemoryResponse getMemory(GetMemoryRequest request) {
        return blocking(Rpcs.GET_MEMORY, request);
    }

    /** As {@link #getMemory}. */
    public CompletableFuture<GetMemoryResponse> getMemoryAsync(GetMemoryRequest request) {
        return future(Rpcs.GET_MEMORY, request);
    }

    /** States which memories of a recall really entered a prompt; {@link #modelCall} does it for you. */
    public ReportUseResponse reportUse(ReportUseRequest request) {
        return blocking(Rpcs.REPORT_USE, request);
    }

    /** As {@link #reportUse}. */
    public CompletableFuture<ReportUseResponse> reportUseAsync(ReportUseRequest request) {
        return future(Rpcs.REPORT_USE, request);
    }

    /** Takes in the turns of a conversation. */
    public IngestResponse ingest(IngestRequest request) {
        return blocking(Rpcs.INGEST, request);
    }

    /** As {@link #ingest}. */
    public CompletableFuture<IngestResponse> ingestAsync(IngestRequest request) {
        return future(Rpcs.INGEST, request);
    }

    /** How far an ingest has come. */
    public GetIngestResponse getIngest(GetIngestRequest request) {
        return blocking(Rpcs.GET_INGEST, request);
    }

    /** As {@link #getIngest}. */
    public CompletableFuture<GetIngestResponse> getIngestAsync(GetIngestRequest request) {
        return future(Rpcs.GET_INGEST, request);
    }

    /** Makes a superseded or archived memory live again. */
    public RestoreResponse restore(RestoreRequest request) {
        return blocking(Rpcs.RESTORE, request);
    }

    /** As {@link #restore}. */
    public CompletableFuture<RestoreResponse> restoreAsync(RestoreRequest request) {
        return future(Rpcs.RESTORE, request);
    }

    /** Ends a memory that was true until now; nothing replaces it. */
    public RetractResponse retract(RetractRequest request) {
        return blocking(Rpcs.RETRACT, request);
    }

    /** As {@link #retract}. */
    public CompletableFuture<RetractResponse> retractAsync(RetractRequest request) {
        return future(Rpcs.RETRACT, request);
    }

    /** Takes back a whole write by its request id. */
    public UndoWriteResponse undoWrite(UndoWriteRequest request) {
        return blocking(Rpcs.UNDO_WRITE, request);
    }

    /** As {@link #undoWrite}. */
    public CompletableFuture<UndoWriteResponse> undoWriteAsync(UndoWriteRequest request) {
        return future(Rpcs.UNDO_WRITE, request);
    }

    /** The durable record of a recall: what was offered, in which revision, why, and what was used. */
    public GetRecallResponse getRecall(GetRecallRequest request) {
        return blocking(Rpcs.GET_RECALL, request);
    }

    /** As {@link #getRecall}. */
    public CompletableFuture<GetRecallResponse> getRecallAsync(GetRecallRequest request) {
        return future(Rpcs.GET_RECALL, request);
    }

    /** Approves, edits or rejects a memory that waits for review. */
    public DecideReviewResponse decideReview(DecideReviewRequest request) {
        return blocking(Rpcs.DECIDE_REVIEW, request);
    }

    /** As {@link #decideReview}. */
    public CompletableFuture<DecideReviewResponse> decideReviewAsync(DecideReviewRequest request) {
        return future(Rpcs.DECIDE_REVIEW, request);
    }

    /** Says what may be remembered about a subject. */
    public SetConsentResponse setConsent(SetConsentRequest request) {
        return blocking(Rpcs.SET_CONSENT, request);
    }

    /** As {@link #setConsent}. */
    public CompletableFuture<SetConsentResponse> setConsentAsync(SetConsentRequest request) {
        return future(Rpcs.SET_CONSENT, request);
    }

    /** What may be remembered about a subject. */
    public GetConsentResponse getConsent(GetConsentRequest request) {
        return blocking(Rpcs.GET_CONSENT, request);
    }

    /** As {@link #getConsent}. */
    public CompletableFuture<GetConsentResponse> getConsentAsync(GetConsentRequest request) {
        return future(Rpcs.GET_CONSENT, request);
    }

    /** What is held about a subject, for that person to read. */
    public DescribeSubjectResponse describeSubject(DescribeSubjectRequest request) {
        return blocking(Rpcs.DESCRIBE_SUBJECT, request);
    }

    /** As {@link #describeSubject}. */
    public CompletableFuture<DescribeSubjectResponse> describeSubjectAsync(DescribeSubjectRequest request) {
        return future(Rpcs.DESCRIBE_SUBJECT, request);
    }

    /** Writes memories as an export gave them. */
    public ImportMemoriesResponse importMemories(ImportMemoriesRequest request) {
        return blocking(Rpcs.IMPORT_MEMORIES, request);
    }

    /** As {@link #importMemories}. */
    public CompletableFuture<ImportMemoriesResponse> importMemoriesAsync(ImportMemoriesRequest request) {
        return future(Rpcs.IMPORT_MEMORIES, request);
    }

    /** The memories of a scope, newest first. All pages, read while you iterate; a timeout is for one page. */
    public Pages<Memory> listMemories(ListMemoriesRequest request) {
        return new Pages<>(token -> {
            ListMemoriesRequest page = token.isEmpty() ? request : request.toBuilder().setPageToken(token).build();
            ListMemoriesResponse response = blocking(Rpcs.LIST_MEMORIES, page);
            return new Page<>(response.getMemoriesList(), response.getNextPageToken(), response.getSealBrokenMemoryIdsList());
        });
    }

    /** One page of {@link #listMemories}. */
    public CompletableFuture<ListMemoriesResponse> listMemoriesPageAsync(ListMemoriesRequest request) {
        return future(Rpcs.LIST_MEMORIES, request);
    }

    /** What waits for review. All pages, read while you iterate; a timeout is for one page. */
    public Pages<Review> listReviews(ListReviewsRequest request) {
        return new Pages<>(token -> {
            ListReviewsRequest page = token.isEmpty() ? request : request.toBuilder().setPageToken(token).build();
            ListReviewsResponse response = blocking(Rpcs.LIST_REVIEWS, page);
            return new Page<>(response.getReviewsList(), response.getNextPageToken(), response.getSealBrokenMemoryIdsList());
        });
    }

    /** One page of {@link #listReviews}. */
    public CompletableFuture<ListReviewsResponse> listReviewsPageAsync(ListReviewsRequest request) {
        return future(Rpcs.LIST_REVIEWS, request);
    }

    /** The audit trail, newest first. All pages, read while you iterate; a timeout is for one page. */
    public Pages<AuditEvent> audit(AuditRequest request) {
        return new Pages<>(token -> {
            AuditRequest page = token.isEmpty() ? request : request.toBuilder().setPageToken(token).build();
            AuditResponse response = blocking(Rpcs.AUDIT, page);
            return new Page<>(response.getEventsList(), response.getNextPageToken(), List.of());
        });
    }

    /** One page of {@link #audit}. */
    public CompletableFuture<AuditResponse> auditPageAsync(AuditRequest request) {
        return future(Rpcs.AUDIT, request);
    }
}
