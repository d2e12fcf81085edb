package dev.muniment.client;

import java.util.List;

import dev.muniment.v1.*;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.AttributesBuilder;

/** The methods of the contract. */
final class Rpcs {
    static final AttributeKey<String> RECALL_ID = AttributeKey.stringKey("muniment.recall.id");

    private static final AttributeKey<String> RECORD_ID = AttributeKey.stringKey("gen_ai.memory.record.id");
    private static final AttributeKey<Long> RECORD_COUNT = AttributeKey.longKey("gen_ai.memory.record.count");
    private static final AttributeKey<String> AGENT_ID = AttributeKey.stringKey("gen_ai.agent.id");
    private static final AttributeKey<String> CONVERSATION_ID = AttributeKey.stringKey("gen_ai.conversation.id");
    private static final AttributeKey<String> REQUEST_ID = AttributeKey.stringKey("muniment.request.id");
    private static final AttributeKey<String> SUPERSEDE_NEW_ID =
            AttributeKey.stringKey("muniment.supersede.new_id");
    private static final AttributeKey<String> ERASURE_ID = AttributeKey.stringKey("muniment.erasure.id");

    // Upsert, not create: a write may reinforce or supersede what is there.
    static final Rpc<WriteRequest, WriteResponse> WRITE = Rpc.of(
                    MemoryServiceGrpc.getWriteMethod(), Deadlines::write)
            .operation("upsert_memory")
            .request((request, to) -> {
                narrowing(request.getScope(), to);
                to.put(RECORD_COUNT, request.getItemsCount()).put(REQUEST_ID, request.getRequestId());
            })
            .writes(WriteResponse::getConsistencyToken);

    static final Rpc<RecallRequest, RecallResponse> RECALL = Rpc.of(
                    MemoryServiceGrpc.getRecallMethod(), Deadlines::recall)
            .operation("search_memory")
            .request((request, to) -> narrowing(request.getScope(), to))
            .response((response, to) ->
                    to.put(RECORD_COUNT, response.getMemoriesCount()).put(RECALL_ID, response.getRecallId()));

    static final Rpc<SupersedeRequest, SupersedeResponse> SUPERSEDE = Rpc.of(
                    MemoryServiceGrpc.getSupersedeMethod(), Deadlines::supersede)
            .operation("update_memory")
            .request((request, to) -> one(request.getMemoryId(), request.getRequestId(), to))
            .response((response, to) -> {
                if (response.hasMemory()) {
                    to.put(SUPERSEDE_NEW_ID, response.getMemory().getMemoryId());
                }
            })
            .writes(SupersedeResponse::getConsistencyToken);

    static final Rpc<EraseRequest, EraseResponse> ERASE = Rpc.of(
                    MemoryServiceGrpc.getEraseMethod(), Deadlines::erase)
            .operation("delete_memory")
            .request((request, to) -> {
                List<String> ids = request.getTarget().getMemories().getMemoryIdsList();
                if (ids.size() == 1) {
                    to.put(RECORD_ID, ids.get(0));
                }
                to.put(REQUEST_ID, request.getRequestId());
            })
            .response((response, to) -> {
                ErasureReceipt receipt = response.getReceipt();
                to.put(RECORD_COUNT, receipt.getCounts().getMemories());
                if (!receipt.getErasureId().isEmpty()) {
                    to.put(ERASURE_ID, receipt.getErasureId());
                }
            })
            // A dry run has written nothing.
            .writes(response -> response.getReceipt().getValidateOnly()
                    ? ConsistencyToken.getDefaultInstance()
                    : response.getConsistencyToken());

    static final Rpc<GetErasureRequest, GetErasureResponse> GET_ERASURE =
            Rpc.of(MemoryServiceGrpc.getGetErasureMethod(), Deadlines::other);

    static final Rpc<GetMemoryRequest, GetMemoryResponse> GET_MEMORY =
            Rpc.of(MemoryServiceGrpc.getGetMemoryMethod(), Deadlines::other);

    static final Rpc<ListMemoriesRequest, ListMemoriesResponse> LIST_MEMORIES =
            Rpc.of(MemoryServiceGrpc.getListMemoriesMethod(), Deadlines::other);

    static final Rpc<ReportUseRequest, ReportUseResponse> REPORT_USE = Rpc.of(
                    MemoryServiceGrpc.getReportUseMethod(), Deadlines::other)
            .request((request, to) ->
                    to.put(RECALL_ID, request.getRecallId()).put(REQUEST_ID, request.getRequestId()))
            .writes(ReportUseResponse::getConsistencyToken);

    static final Rpc<IngestRequest, IngestResponse> INGEST = Rpc.of(
                    MemoryServiceGrpc.getIngestMethod(), Deadlines::ingest)
            .operation("upsert_memory")
            .request((request, to) -> {
                narrowing(request.getScope(), to);
                to.put(RECORD_COUNT, request.getTurnsCount()).put(REQUEST_ID, request.getRequestId());
            })
            .writes(IngestResponse::getConsistencyToken);

    static final Rpc<StreamIngestRequest, StreamIngestResponse> STREAM_INGEST = Rpc.of(
                    MemoryServiceGrpc.getStreamIngestMethod(), Deadlines::export)
            .operation("upsert_memory")
            .request((request, to) -> to.put(REQUEST_ID, request.getRequestId()))
            .writes(StreamIngestResponse::getConsistencyToken);

    static final Rpc<GetIngestRequest, GetIngestResponse> GET_INGEST =
            Rpc.of(MemoryServiceGrpc.getGetIngestMethod(), Deadlines::other);

    static final Rpc<RestoreRequest, RestoreResponse> RESTORE = Rpc.of(
                    MemoryServiceGrpc.getRestoreMethod(), Deadlines::supersede)
            .operation("update_memory")
            .request((request, to) -> one(request.getMemoryId(), request.getRequestId(), to))
            .writes(RestoreResponse::getConsistencyToken);

    static final Rpc<RetractRequest, RetractResponse> RETRACT = Rpc.of(
                    MemoryServiceGrpc.getRetractMethod(), Deadlines::supersede)
            .operation("update_memory")
            .request((request, to) -> one(request.getMemoryId(), request.getRequestId(), to))
            .writes(RetractResponse::getConsistencyToken);

    static final Rpc<UndoWriteRequest, UndoWriteResponse> UNDO_WRITE = Rpc.of(
                    MemoryServiceGrpc.getUndoWriteMethod(), Deadlines::supersede)
            .operation("update_memory")
            .request((request, to) -> to.put(REQUEST_ID, request.getRequestId()))
            .response((response, to) -> to.put(RECORD_COUNT, response.getMemoriesCount()))
            .writes(UndoWriteResponse::getConsistencyToken);

    static final Rpc<AuditRequest, AuditResponse> AUDIT =
            Rpc.of(MemoryServiceGrpc.getAuditMethod(), Deadlines::other);

    static final Rpc<GetRecallRequest, GetRecallResponse> GET_RECALL =
            Rpc.of(AuditServiceGrpc.getGetRecallMethod(), Deadlines::other);

    static final Rpc<ExportAuditRequest, ExportAuditResponse> EXPORT_AUDIT =
            Rpc.of(AuditServiceGrpc.getExportAuditMethod(), Deadlines::export);

    static final Rpc<ListReviewsRequest, ListReviewsResponse> LIST_REVIEWS =
            Rpc.of(ReviewServiceGrpc.getListReviewsMethod(), Deadlines::other);

    static final Rpc<DecideReviewRequest, DecideReviewResponse> DECIDE_REVIEW = Rpc.of(
                    ReviewServiceGrpc.getDecideReviewMethod(), Deadlines::supersede)
            .operation("update_memory")
            .request((request, to) -> one(request.getMemoryId(), request.getRequestId(), to))
            .writes(DecideReviewResponse::getConsistencyToken);

    static final Rpc<SetConsentRequest, SetConsentResponse> SET_CONSENT = Rpc.of(
                    SubjectServiceGrpc.getSetConsentMethod(), Deadlines::erase)
            .request((request, to) -> to.put(REQUEST_ID, request.getRequestId()))
            .writes(SetConsentResponse::getConsistencyToken);

    static final Rpc<GetConsentRequest, GetConsentResponse> GET_CONSENT =
            Rpc.of(SubjectServiceGrpc.getGetConsentMethod(), Deadlines::other);

    static final Rpc<DescribeSubjectRequest, DescribeSubjectResponse> DESCRIBE_SUBJECT =
            Rpc.of(SubjectServiceGrpc.getDescribeSubjectMethod(), Deadlines::other);

    static final Rpc<ExportMemoriesRequest, ExportMemoriesResponse> EXPORT_MEMORIES =
            Rpc.of(SubjectServiceGrpc.getExportMemoriesMethod(), Deadlines::export);

    static final Rpc<ImportMemoriesRequest, ImportMemoriesResponse> IMPORT_MEMORIES = Rpc.of(
                    SubjectServiceGrpc.getImportMemoriesMethod(), Deadlines::ingest)
            .operation("upsert_memory")
            .request((request, to) ->
                    to.put(RECORD_COUNT, request.getRecordsCount()).put(REQUEST_ID, request.getRequestId()))
            .writes(ImportMemoriesResponse::getConsistencyToken);

    private Rpcs() {}

    private static void narrowing(Scope scope, AttributesBuilder to) {
        if (scope.hasAgent()) {
            to.put(AGENT_ID, scope.getAgent());
        }
        if (scope.hasSession()) {
            to.put(CONVERSATION_ID, scope.getSession());
        }
    }

    private static void one(String memoryId, String requestId, AttributesBuilder to) {
        to.put(RECORD_ID, memoryId).put(RECORD_COUNT, 1L).put(REQUEST_ID, requestId);
    }
}
