package dev.muniment.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import dev.muniment.v1.*;

import io.grpc.Status;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Spans and metrics of the client, recorded by an SDK. */
@Timeout(60)
class TracesTest {
    private final InMemorySpanExporter spans = InMemorySpanExporter.create();
    private final InMemoryMetricReader metrics = InMemoryMetricReader.create();
    private final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(spans))
                    .build())
            .setMeterProvider(SdkMeterProvider.builder().registerMetricReader(metrics).build())
            .build();

    private static String attribute(SpanData span, String key) {
        return span.getAttributes().get(AttributeKey.stringKey(key));
    }

    private SpanData named(String name) {
        return spans.getFinishedSpanItems().stream()
                .filter(span -> span.getName().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static RecallResponse recalled(int count) {
        return RecallResponse.newBuilder()
                .setRecallId("recall-1")
                .addAllMemories(IntStream.range(0, count)
                        .mapToObj(number -> RankedMemory.newBuilder()
                                .setMemory(Memory.newBuilder().setMemoryId("m" + number))
                                .build())
                        .toList())
                .build();
    }

    private static Object answer(Peer.Received call, int memories) {
        return switch (call.method()) {
            case "MemoryService/Recall" -> recalled(memories);
            case "MemoryService/Write" -> WriteResponse.getDefaultInstance();
            case "MemoryService/ReportUse" -> ReportUseResponse.getDefaultInstance();
            default -> Peer.problem(Status.Code.NOT_FOUND, "MEMORY_NOT_FOUND");
        };
    }

    @Test
    void callsAreSpansOfTheCallersTrace() {
        Span request = sdk.getTracer("test").spanBuilder("request").startSpan();
        try (Peer peer = new Peer((number, call) -> answer(call, 1));
                MunimentClient client = peer.builder().openTelemetry(sdk).build()) {
            try (io.opentelemetry.context.Scope scope = request.makeCurrent()) {
                client.write(Muniment.subject("ada"), Muniment.fact("a secret"));
                MunimentException missed = assertThrows(
                        MunimentException.NotFound.class,
                        () -> client.getMemory(GetMemoryRequest.getDefaultInstance()));
                assertEquals(request.getSpanContext().getTraceId(), missed.traceId());
            }
            SpanData written = named("upsert_memory");
            assertEquals(SpanKind.CLIENT, written.getKind());
            assertEquals(request.getSpanContext().getSpanId(), written.getParentSpanId());
            assertEquals("upsert_memory", attribute(written, "gen_ai.operation.name"));
            assertEquals("127.0.0.1", attribute(written, "server.address"));
            SpanData missed = named("muniment.v1.MemoryService/GetMemory");
            assertEquals("NOT_FOUND", attribute(missed, "rpc.response.status_code"));
            assertEquals("MEMORY_NOT_FOUND", attribute(missed, "error.type"));
            assertEquals(StatusCode.ERROR, missed.getStatus().getStatusCode());
            assertFalse(spans.getFinishedSpanItems().toString().contains("secret"));
            String parent = peer.received().get(0).header("traceparent");
            assertTrue(parent.contains(written.getSpanId()), parent);
        }
        assertTrue(metrics.collectAllMetrics().stream()
                .anyMatch(metric -> metric.getName().equals("rpc.client.call.duration")));
    }

    @Test
    void modelCallsSayWhatEnteredThePrompt() {
        Span chat = sdk.getTracer("test").spanBuilder("chat").startSpan();
        try (Peer peer = new Peer((number, call) -> answer(call, 3));
                MunimentClient client = peer.builder().openTelemetry(sdk).build()) {
            Recalled recalled = client.recall(Muniment.subject("ada"), "tea");
            ModelCall call = client.modelCall(recalled)
                    .span(chat)
                    .model("m")
                    .outcome(UseOutcome.USE_OUTCOME_HELPFUL)
                    .use(List.of("m2", "m0"));
            assertEquals(7, call.<Integer, RuntimeException>run(here -> 7));
            assertTrue(call.reportError().isEmpty());
            assertThrows(
                    IllegalArgumentException.class, () -> client.modelCall(recalled).use(List.of("other")));
            assertThrows(IllegalStateException.class, () -> client.modelCall(recalled).run(here -> {
                throw new IllegalStateException("no answer");
            }));
            chat.end();
            List<ReportUseRequest> reports = peer.received().stream()
                    .filter(each -> each.method().endsWith("ReportUse"))
                    .map(each -> each.request(ReportUseRequest.class))
                    .toList();
            assertEquals(1, reports.size());
            assertEquals(List.of("m2", "m0"), reports.get(0).getMemoryIdsList());
            assertEquals("m", reports.get(0).getModel());
            SpanData stamped = named("chat");
            assertEquals("recall-1", attribute(stamped, "muniment.recall.id"));
            assertEquals(
                    List.of("m2", "m0"),
                    stamped.getAttributes().get(AttributeKey.stringArrayKey("muniment.recall.memory.ids")));
            assertEquals(
                    named("search_memory").getSpanId(),
                    stamped.getLinks().get(0).getSpanContext().getSpanId());
        }
    }

    @Test
    void aModelCallWithoutASpanGetsOneAndAFailedReportIsKept() {
        try (Peer peer = new Peer((number, call) -> call.method().endsWith("ReportUse")
                        ? Peer.problem(Status.Code.PERMISSION_DENIED, "PERMISSION_DENIED")
                        : answer(call, 60));
                MunimentClient client = peer.builder().openTelemetry(sdk).build()) {
            Recalled recalled = client.recall(Muniment.subject("ada"), "tea");
            ModelCall call = client.modelCall(recalled);
            assertEquals("answer", call.runAsync(here -> CompletableFuture.completedFuture("answer")).join());
            assertEquals("PERMISSION_DENIED", call.reportError().orElseThrow().reason());
            SpanData own = named("muniment.model_call");
            assertEquals(10L, own.getAttributes().get(AttributeKey.longKey("muniment.recall.memory.omitted")));
        }
    }
}
