package dev.muniment.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import dev.muniment.v1.*;

import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the client sends, and what it makes of answers. */
@Timeout(60)
class CallsTest {
    private static final Scope ADA = Muniment.subject("ada");
    private static final RecallRequest RECALL =
            RecallRequest.newBuilder().setScope(ADA).setQuery("tea").build();

    private static WriteResponse written(String token) {
        return WriteResponse.newBuilder()
                .setConsistencyToken(ConsistencyToken.newBuilder().setToken(token))
                .build();
    }

    private static RecallResponse recalled() {
        return RecallResponse.getDefaultInstance();
    }

    @Test
    void metadataAndDeadlines() {
        try (Peer peer = new Peer((number, call) -> recalled());
                MunimentClient client = peer.builder().clientName("bot/1").build()) {
            client.recall(RECALL);
            client.withTimeout(Duration.ofSeconds(9)).recall(RECALL);
            Peer.Received first = peer.received().get(0);
            assertEquals("MemoryService/Recall", first.method());
            assertEquals("Bearer " + Peer.KEY, first.header("authorization"));
            assertEquals("dev", first.header("muniment-tenant"));
            assertEquals("bot/1 (muniment-java/0.1.0)", first.header("muniment-client"));
            assertTrue(first.header("user-agent").startsWith("muniment-java/0.1.0"));
            long left = first.deadline().timeRemaining(TimeUnit.MILLISECONDS);
            assertTrue(left <= 2000, () -> "left " + left);
            long more = peer.received().get(1).deadline().timeRemaining(TimeUnit.MILLISECONDS);
            assertTrue(more > 4000, () -> "left " + more);
        }
    }

    @Test
    void aTokenSourceIsAskedForEveryCall() {
        AtomicInteger count = new AtomicInteger();
        try (Peer peer = new Peer((number, call) -> recalled());
                MunimentClient client = new MunimentClientBuilder(Map.of())
                        .target("127.0.0.1:" + peer.port())
                        .tenant("dev")
                        .asyncTokenSource(() -> CompletableFuture.supplyAsync(() -> {
                            if (count.get() == 2) {
                                throw new IllegalStateException("the vault is closed");
                            }
                            return "jwt-" + count.getAndIncrement();
                        }))
                        .build()) {
            client.recall(RECALL);
            client.recall(RECALL);
            assertThrows(IllegalStateException.class, () -> client.recall(RECALL));
            assertEquals(
                    List.of("Bearer jwt-0", "Bearer jwt-1"),
                    peer.received().stream().map(each -> each.header("authorization")).toList());
        }
    }

    @Test
    void unavailableIsRepeatedWithTheSameRequestId() {
        try (Peer peer = new Peer((number, call) -> number < 3 ? Peer.unavailable() : written("t"));
                MunimentClient client = peer.client()) {
            client.write(ADA, Muniment.fact("x"));
            List<String> ids = peer.received().stream()
                    .map(each -> each.request(WriteRequest.class).getRequestId())
                    .toList();
            assertEquals(4, ids.size());
            assertEquals(4, UUID.fromString(ids.get(0)).version());
            assertEquals(1, ids.stream().distinct().count());
        }
    }

    @Test
    void afterFourAttemptsItGivesUp() {
        try (Peer peer = new Peer((number, call) -> Peer.unavailable());
                MunimentClient client = peer.client()) {
            MunimentException failed =
                    assertThrows(MunimentException.Unavailable.class, () -> client.recall(RECALL));
            assertEquals("DATABASE_UNAVAILABLE", failed.reason());
            assertEquals(4, peer.received().size());
        }
    }

    @Test
    void whatTheServiceAsksToWaitIsWaited() {
        // The attempts of the first round are used up; RetryInfo begins another.
        try (Peer peer = new Peer((number, call) -> number < 4
                        ? Peer.problem(Status.Code.UNAVAILABLE, "SHUTTING_DOWN", Failures.DOMAIN, 300)
                        : written("t"));
                MunimentClient client = peer.client()) {
            long started = System.nanoTime();
            client.write(ADA, Muniment.fact("x"));
            assertEquals(5, peer.received().size());
            assertTrue(System.nanoTime() - started > 800_000_000L);
        }
    }

    @Test
    void onlyUnavailableIsRepeatedWhateverThePushback() {
        Metadata.Key<String> key = Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);
        try (Peer peer = new Peer((number, call) -> {
                    StatusException failed = number == 0
                            ? Peer.problem(Status.Code.RESOURCE_EXHAUSTED, "OVERLOADED", Failures.DOMAIN, 250)
                            : Peer.unavailable();
                    failed.getTrailers().put(key, number == 0 ? "50" : "-1");
                    return failed;
                });
                MunimentClient client = peer.client()) {
            MunimentException exhausted =
                    assertThrows(MunimentException.ResourceExhausted.class, () -> client.recall(RECALL));
            assertEquals(Duration.ofMillis(250), exhausted.retryAfter().orElseThrow());
            assertThrows(MunimentException.Unavailable.class, () -> client.recall(RECALL));
            assertEquals(2, peer.received().size());
        }
    }

    @Test
    void anOwnRequestIdIsKept() {
        try (Peer peer = new Peer((number, call) -> Status.INTERNAL.withDescription("a fault").asException());
                MunimentClient client = peer.client()) {
            WriteRequest request = WriteRequest.newBuilder().setRequestId("mine").build();
            assertThrows(MunimentException.InternalError.class, () -> client.write(request));
            assertEquals(1, peer.received().size());
            assertEquals("mine", peer.received().get(0).request(WriteRequest.class).getRequestId());
        }
    }

    @Test
    void aServerThatRestartsIsFoundAgain() {
        Peer first = new Peer((number, call) -> recalled());
        int port = first.port();
        try (MunimentClient client = first.client()) {
            client.recall(RECALL);
            first.close();
            // One attempt each, so that the throttle is not what is seen below.
            MunimentClient hasty = client.withTimeout(Duration.ofMillis(70));
            assertThrows(MunimentException.class, () -> hasty.recall(RECALL));
            assertThrows(MunimentException.class, () -> hasty.recall(RECALL));
            try (Peer second = new Peer((number, call) -> recalled(), port, InsecureServerCredentials.create())) {
                client.recall(RECALL);
                assertEquals(1, second.received().size());
            }
        }
    }

    @Test
    void refusalsSayWhatWasMissing() {
        assertTrue(refusal("PERMISSION_DENIED", Map.of("permission", "erase")).endsWith("no (missing: erase)"));
        assertTrue(refusal("SOURCE_NOT_ALLOWED", Map.of("source_type", "TOOL")).endsWith("no (refused: tool)"));
        assertTrue(refusal("PERMISSION_DENIED", Map.of()).endsWith("PERMISSION_DENIED: no"));
    }

    private static String refusal(String reason, Map<String, String> metadata) {
        MunimentException.Details details = new MunimentException.Details(
                reason, "muniment.dev", metadata, List.of(), null, "", "", false);
        return MunimentException.of(Status.Code.PERMISSION_DENIED, "no", details, null).getMessage();
    }

    @Test
    void errorsCarryWhatTheServiceSays() {
        try (Peer peer = new Peer((number, call) -> number == 0
                        ? Peer.problem(Status.Code.INVALID_ARGUMENT, "INVALID_REQUEST")
                        : Peer.problem(Status.Code.PERMISSION_DENIED, "NOT_OURS", "proxy.example", -1));
                MunimentClient client = peer.client()) {
            MunimentException invalid =
                    assertThrows(MunimentException.InvalidRequest.class, () -> client.recall(RECALL));
            assertEquals("INVALID_REQUEST", invalid.reason());
            assertEquals(Map.of("memory_id", "m"), invalid.metadata());
            assertEquals("cafe", invalid.callId());
            assertEquals(
                    List.of(new FieldViolation("items[0].content", "string.min_len", "is wrong")),
                    invalid.fieldViolations());
            assertFalse(invalid.toString().contains(Peer.KEY));
            MunimentException denied =
                    assertThrows(MunimentException.PermissionDenied.class, () -> client.recall(RECALL));
            assertEquals("", denied.reason());
            CompletionException later = assertThrows(
                    CompletionException.class, () -> client.recallAsync(RECALL).join());
            assertInstanceOf(MunimentException.PermissionDenied.class, later.getCause());
        }
    }

    @Test
    void recallsSeeOwnWrites() {
        try (Peer peer = new Peer((number, call) -> call.method().endsWith("Write") ? written("after") : recalled());
                MunimentClient client = peer.client()) {
            client.recall(RECALL);
            client.write(ADA, Muniment.fact("x"));
            assertEquals("after", client.consistencyToken().orElseThrow().getToken());
            client.recall(RECALL);
            Consistency own = Consistency.newBuilder().setMinimizeLatency(true).build();
            client.recall(RECALL.toBuilder().setConsistency(own).build());
            List<Consistency> sent = peer.received().stream()
                    .filter(each -> each.method().endsWith("Recall"))
                    .map(each -> each.request(RecallRequest.class).getConsistency())
                    .toList();
            Consistency fresh = Consistency.newBuilder()
                    .setAtLeastAsFresh(ConsistencyToken.newBuilder().setToken("after"))
                    .build();
            assertEquals(List.of(Consistency.getDefaultInstance(), fresh, own), sent);
        }
    }

    @Test
    void aTokenThatSaysNothingAnyMoreIsDropped() {
        try (Peer peer = new Peer((number, call) -> {
                    if (call.method().endsWith("Write")) {
                        return written("old");
                    }
                    return call.request(RecallRequest.class).hasConsistency()
                            ? Peer.problem(Status.Code.INVALID_ARGUMENT, "CONSISTENCY_TOKEN_FOREIGN")
                            : recalled();
                });
                MunimentClient client = peer.client()) {
            client.write(ADA, Muniment.fact("x"));
            client.recall(RECALL);
            assertTrue(client.consistencyToken().isEmpty());
        }
    }

    @Test
    void deadlinesAndCancellationEndCalls() throws Exception {
        CountDownLatch arrived = new CountDownLatch(2);
        try (Peer peer = new Peer((number, call) -> {
                    arrived.countDown();
                    return Peer.HANG;
                });
                MunimentClient client = peer.client()) {
            MunimentClient hasty = client.withTimeout(Duration.ofMillis(200));
            assertThrows(MunimentException.DeadlineExceeded.class, () -> hasty.recall(RECALL));
            CompletableFuture<Recalled> call = client.recallAsync(RECALL);
            assertTrue(arrived.await(5, TimeUnit.SECONDS));
            call.cancel(true);
            assertThrows(CancellationException.class, call::join);
            Thread.currentThread().interrupt();
            assertThrows(MunimentException.Cancelled.class, () -> client.recall(RECALL));
            assertTrue(Thread.interrupted());
        }
    }

    @Test
    void closingWaitsForWhatIsUnderWay() throws Exception {
        CountDownLatch arrived = new CountDownLatch(1);
        try (Peer peer = new Peer((number, call) -> {
            arrived.countDown();
            Thread.sleep(300);
            return recalled();
        })) {
            MunimentClient client = peer.client();
            CompletableFuture<Recalled> call = client.recallAsync(RECALL);
            assertTrue(arrived.await(5, TimeUnit.SECONDS));
            client.close();
            // It was not cut off; its future is completed by another thread at about the same time.
            assertEquals(recalled(), call.get(1, TimeUnit.SECONDS).response());
            assertThrows(IllegalStateException.class, () -> client.recall(RECALL));
        }
    }

    @Test
    void manyThreadsShareAClient() {
        try (Peer peer = new Peer((number, call) -> recalled());
                MunimentClient client = peer.client()) {
            List<CompletableFuture<Recalled>> calls = IntStream.range(0, 64)
                    .mapToObj(number -> CompletableFuture.supplyAsync(() -> client.recall(RECALL)))
                    .toList();
            calls.forEach(CompletableFuture::join);
            assertEquals(64, peer.received().size());
        }
    }

    @Test
    void halfASurrogatePairIsRefusedBeforeItBecomesAQuestionMark() {
        try (Peer peer = new Peer((number, call) -> written("t"));
                MunimentClient client = peer.client()) {
            MunimentException refused = assertThrows(
                    MunimentException.InvalidRequest.class, () -> client.write(ADA, Muniment.fact("\ud83c tea")));
            assertTrue(refused.isLocal());
            assertEquals("items[0].content", refused.fieldViolations().get(0).field());
            client.write(ADA, Muniment.fact("\ud83c\udf75 tea"));
            assertEquals(1, peer.received().size());
        }
    }

    @Test
    void listsAreReadToTheirEnd() {
        List<List<String>> ids = List.of(List.of("a", "b"), List.of(), List.of("c"));
        try (Peer peer = new Peer((number, call) -> ListMemoriesResponse.newBuilder()
                        .addAllMemories(ids.get(number % 3).stream()
                                .map(id -> Memory.newBuilder().setMemoryId(id).build())
                                .toList())
                        .setNextPageToken(List.of("1", "2", "").get(number % 3))
                        .addAllSealBrokenMemoryIds(number == 1 ? List.of("x") : List.of())
                        .build());
                MunimentClient client = peer.client()) {
            Pages<Memory> pages = client.listMemories(ListMemoriesRequest.getDefaultInstance());
            assertEquals(List.of("a", "b", "c"), pages.stream().map(Memory::getMemoryId).toList());
            assertEquals(List.of("x"), pages.sealBrokenMemoryIds());
            assertEquals(
                    List.of("", "1", "2"),
                    peer.received().stream()
                            .map(each -> each.request(ListMemoriesRequest.class).getPageToken())
                            .toList());
            assertEquals(3, pages.all().size());
        }
    }

    @Test
    void anExportThatWasCutOffIsNoticed() {
        ExportAuditResponse events = ExportAuditResponse.newBuilder()
                .setEvents(ExportedEvents.newBuilder()
                        .addEvents(ExportedEvent.getDefaultInstance())
                        .addEvents(ExportedEvent.getDefaultInstance()))
                .build();
        List<Object> answers = List.of(
                Peer.unavailable(),
                List.of(events, trailer(2)),
                List.of(events),
                List.of(events, trailer(3)),
                new Peer.Cut(List.of(events), Peer.unavailable()));
        try (Peer peer = new Peer((number, call) -> answers.get(number));
                MunimentClient client = peer.client()) {
            List<String> ends = new ArrayList<>();
            for (int round = 0; round < 4; round++) {
                try (ResponseStream<ExportAuditResponse> stream =
                        client.exportAudit(ExportAuditRequest.getDefaultInstance())) {
                    stream.forEachRemaining(part -> {});
                    ends.add("");
                } catch (MunimentException.Unavailable cut) {
                    ends.add(cut.reason());
                }
            }
            assertEquals("", ends.get(0));
            assertEquals("DATABASE_UNAVAILABLE", ends.get(3));
            assertEquals(5, peer.received().size(), "what has begun is not repeated");
        }
    }

    private static ExportAuditResponse trailer(long events) {
        return ExportAuditResponse.newBuilder()
                .setTrailer(ExportTrailer.newBuilder().setEventCount(events))
                .build();
    }

    @Test
    void conversationsAreStreamed() {
        try (Peer peer = new Peer((number, call) -> StreamIngestResponse.newBuilder()
                        .setConsistencyToken(ConsistencyToken.newBuilder().setToken("ingested"))
                        .build());
                MunimentClient client = peer.client()) {
            StreamIngestRequest turn = StreamIngestRequest.newBuilder().setScope(ADA).build();
            try (IngestStream stream = client.streamIngest()) {
                stream.send(turn);
                stream.send(turn);
                stream.send(turn);
                stream.finish();
            }
            Peer.Received call = peer.received().get(0);
            assertEquals(3, call.messages().size());
            assertEquals(36, call.request(StreamIngestRequest.class).getRequestId().length());
            assertEquals("ingested", client.consistencyToken().orElseThrow().getToken());
        }
    }

    @Test
    void whatANewerServerSendsIsTolerated() {
        try (Peer peer = new Peer((number, call) -> GetMemoryResponse.newBuilder()
                        .setMemory(Memory.newBuilder().setKindValue(99))
                        .setUnknownFields(com.google.protobuf.UnknownFieldSet.newBuilder()
                                .addField(
                                        200,
                                        com.google.protobuf.UnknownFieldSet.Field.newBuilder()
                                                .addVarint(1)
                                                .build())
                                .build())
                        .build());
                MunimentClient client = peer.client()) {
            Memory memory = client.getMemory(GetMemoryRequest.getDefaultInstance()).getMemory();
            assertEquals(MemoryKind.UNRECOGNIZED, memory.getKind());
            assertEquals(99, memory.getKindValue());
        }
    }

    @Test
    void everyMethodOfTheContractIsThere() {
        assertEquals(List.of(), ConformanceConnection.unsupported());
        for (io.grpc.ServiceDescriptor service : List.of(
                MemoryServiceGrpc.getServiceDescriptor(),
                AuditServiceGrpc.getServiceDescriptor(),
                ReviewServiceGrpc.getServiceDescriptor(),
                SubjectServiceGrpc.getServiceDescriptor())) {
            service.getMethods().forEach(method -> assertTrue(
                    ConformanceConnection.rpc(method.getFullMethodName().substring("muniment.v1.".length())) != null,
                    method.getFullMethodName()));
        }
    }
}
