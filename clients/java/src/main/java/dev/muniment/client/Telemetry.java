package dev.muniment.client;

import java.util.List;

import com.google.protobuf.Message;

import io.grpc.Metadata;
import io.grpc.Status;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapSetter;

/**
 * OpenTelemetry of the client, through the API alone: without an SDK all of this does nothing.
 *
 * <p>One CLIENT span per call. What reads and writes memories follows the GenAI memory conventions (in
 * development, no release yet), the other methods the RPC conventions of {@link #SCHEMA_URL}. Nothing that
 * a caller wrote to remember, and no query, is ever an attribute.
 */
final class Telemetry {
    static final String SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0";
    static final String SCOPE = "muniment.client";

    /** Ids written onto a span; 50 UUIDs stay under the 2 kB at which some trace stores cut values. */
    static final int STAMPED_IDS_CAP = 50;

    static final AttributeKey<String> ERROR_TYPE = AttributeKey.stringKey("error.type");

    private static final AttributeKey<String> SERVER_ADDRESS = AttributeKey.stringKey("server.address");
    private static final AttributeKey<Long> SERVER_PORT = AttributeKey.longKey("server.port");
    private static final AttributeKey<String> RPC_SYSTEM = AttributeKey.stringKey("rpc.system.name");
    private static final AttributeKey<String> RPC_METHOD = AttributeKey.stringKey("rpc.method");
    // Renamed to rpc.status_code after schema 1.44.0; changes together with SCHEMA_URL.
    private static final AttributeKey<String> RPC_STATUS = AttributeKey.stringKey("rpc.response.status_code");
    private static final AttributeKey<String> OPERATION = AttributeKey.stringKey("gen_ai.operation.name");
    private static final AttributeKey<String> PROVIDER = AttributeKey.stringKey("gen_ai.provider.name");
    private static final AttributeKey<String> REASON = AttributeKey.stringKey("muniment.error.reason");
    private static final AttributeKey<List<String>> MEMORY_IDS =
            AttributeKey.stringArrayKey("muniment.recall.memory.ids");
    private static final AttributeKey<Long> OMITTED = AttributeKey.longKey("muniment.recall.memory.omitted");
    private static final List<Double> BUCKETS =
            List.of(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0);
    private static final TextMapSetter<Metadata> SETTER =
            (metadata, key, value) -> metadata.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value);

    private final Tracer tracer;
    private final DoubleHistogram duration;
    private final Attributes server;

    Telemetry(OpenTelemetry openTelemetry, Target target) {
        tracer = openTelemetry
                .tracerBuilder(SCOPE)
                .setInstrumentationVersion(Version.TEXT)
                .setSchemaUrl(SCHEMA_URL)
                .build();
        duration = openTelemetry
                .meterBuilder(SCOPE)
                .setInstrumentationVersion(Version.TEXT)
                .setSchemaUrl(SCHEMA_URL)
                .build()
                .histogramBuilder("rpc.client.call.duration")
                .setUnit("s")
                .setDescription("Duration of outbound calls, retries included.")
                .setExplicitBucketBoundariesAdvice(BUCKETS)
                .build();
        server = Attributes.of(SERVER_ADDRESS, target.host(), SERVER_PORT, (long) target.port());
    }

    <Q extends Message> CallSpan start(Rpc<Q, ?> rpc, Q request) {
        AttributesBuilder attributes = server.toBuilder();
        if (rpc.operation() != null) {
            attributes.put(OPERATION, rpc.operation()).put(PROVIDER, "muniment");
        } else {
            attributes.put(RPC_SYSTEM, "grpc").put(RPC_METHOD, rpc.name());
        }
        rpc.describeRequest().accept(request, attributes);
        Context parent = Context.current();
        Span span = tracer.spanBuilder(rpc.operation() != null ? rpc.operation() : rpc.name())
                .setParent(parent)
                .setSpanKind(SpanKind.CLIENT)
                .setAllAttributes(attributes.build())
                .startSpan();
        return new CallSpan(rpc, span, parent.with(span), System.nanoTime());
    }

    /** The span that a model call is stamped on when none is there. */
    Span modelCallSpan() {
        return tracer.spanBuilder("muniment.model_call").startSpan();
    }

    /** Writes a recall and the memories used of it onto a span, and links the span to that of the recall. */
    static void stamp(Span span, String recallId, List<String> memoryIds, SpanContext recallSpan) {
        if (!span.isRecording()) {
            return;
        }
        Attributes attributes = stampAttributes(recallId, memoryIds);
        span.setAllAttributes(attributes);
        if (recallSpan.isValid()) {
            // The link says it again, because a second recall stamped onto the span overwrites the first.
            span.addLink(recallSpan, attributes);
        }
    }

    static Attributes stampAttributes(String recallId, List<String> memoryIds) {
        int written = Math.min(memoryIds.size(), STAMPED_IDS_CAP);
        AttributesBuilder attributes = Attributes.builder()
                .put(Rpcs.RECALL_ID, recallId)
                .put(MEMORY_IDS, List.copyOf(memoryIds.subList(0, written)));
        if (memoryIds.size() > written) {
            attributes.put(OMITTED, memoryIds.size() - written);
        }
        return attributes.build();
    }

    /** The span of one call. Ends once, on whatever thread. */
    final class CallSpan {
        private final Rpc<?, ?> rpc;
        private final Span span;
        private final Context context;
        private final long started;

        private CallSpan(Rpc<?, ?> rpc, Span span, Context context, long started) {
            this.rpc = rpc;
            this.span = span;
            this.context = context;
            this.started = started;
        }

        SpanContext spanContext() {
            return span.getSpanContext();
        }

        /** W3C trace id, empty when nothing is traced. */
        String traceId() {
            return spanContext().isValid() ? spanContext().getTraceId() : "";
        }

        /** Adds the W3C trace context; not the global propagator, which sends baggage, too. */
        void inject(Metadata metadata) {
            W3CTraceContextPropagator.getInstance().inject(context, metadata, SETTER);
        }

        void answered(Attributes attributes) {
            span.setAllAttributes(attributes);
            end(Status.Code.OK.name());
        }

        void failed(Throwable failure) {
            String code;
            String type;
            if (failure instanceof MunimentException known) {
                code = known.code().name();
                type = known.reason().isEmpty() ? code : known.reason();
                if (!known.reason().isEmpty()) {
                    span.setAttribute(REASON, known.reason());
                }
            } else {
                code = Status.Code.CANCELLED.name();
                type = failure.getClass().getSimpleName();
            }
            // The text of an exception is nobody's business in a trace, so none is recorded.
            span.setAttribute(ERROR_TYPE, type);
            span.setStatus(StatusCode.ERROR);
            end(code);
        }

        private void end(String code) {
            if (rpc.operation() == null) {
                span.setAttribute(RPC_STATUS, code);
            }
            AttributesBuilder labels = server.toBuilder()
                    .put(RPC_SYSTEM, "grpc")
                    .put(RPC_METHOD, rpc.name())
                    .put(RPC_STATUS, code);
            if (!code.equals("OK")) {
                labels.put(ERROR_TYPE, code);
            }
            duration.record((System.nanoTime() - started) / 1e9, labels.build(), context);
            span.end();
        }
    }
}
