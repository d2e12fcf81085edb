package dev.muniment.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;

import dev.muniment.v1.RecallRequest;
import dev.muniment.v1.UseOutcome;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;

/** Driver of the Java client for the conformance vectors: see tests/vectors/PROTOCOL.md. */
final class ConformanceDriver {
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final Map<String, ConformanceConnection> connections = new ConcurrentHashMap<>();
    private final InMemorySpanExporter spans = InMemorySpanExporter.create();
    private final OpenTelemetrySdk recording = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(spans))
                    .build())
            .build();
    private final ExecutorService workers = daemons();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(work -> daemon(work));

    /** What the driver itself cannot carry out. */
    static final class DriverException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        DriverException(String text) {
            super(text);
        }
    }

    public static void main(String[] arguments) throws IOException {
        new ConformanceDriver().run();
        System.exit(0);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static ExecutorService daemons() {
        return Executors.newCachedThreadPool(work -> daemon(work));
    }

    private void run() throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonObject request = JsonParser.parseString(line).getAsJsonObject();
            String op = text(request, "op", "");
            if (op.equals("connect") || op.equals("close")) {
                handle(op, request);
                if (op.equals("close")) {
                    return;
                }
            } else {
                workers.execute(() -> handle(op, request));
            }
        }
    }

    private void handle(String op, JsonObject request) {
        JsonObject answer;
        try {
            answer = carryOut(op, request);
            answer.addProperty("ok", true);
        } catch (DriverException failed) {
            answer = failure(error("DRIVER", failed.getMessage(), true));
        } catch (MunimentException failed) {
            answer = failure(error(failed));
        } catch (IllegalArgumentException | InvalidProtocolBufferException | JsonParseException refused) {
            answer = failure(error("INVALID_ARGUMENT", String.valueOf(refused.getMessage()), true));
        } catch (Exception failed) {
            answer = failure(error("DRIVER", failed.toString(), true));
        }
        answer.add("id", request.get("id"));
        synchronized (out) {
            out.println(answer);
        }
    }

    private static JsonObject failure(JsonObject error) {
        JsonObject answer = new JsonObject();
        answer.addProperty("ok", false);
        answer.add("error", error);
        return answer;
    }

    private static JsonObject error(String code, String message, boolean local) {
        JsonObject error = new JsonObject();
        error.addProperty("code", code);
        error.addProperty("reason", "");
        error.addProperty("domain", "");
        error.add("metadata", new JsonObject());
        error.add("violations", new JsonArray());
        error.add("retry_after_ms", JsonNull.INSTANCE);
        error.addProperty("message", message);
        error.addProperty("local", local);
        return error;
    }

    private static JsonObject error(MunimentException failed) {
        JsonObject error = error(failed.code().name(), failed.getMessage(), failed.isLocal());
        error.addProperty("reason", failed.reason());
        error.addProperty("domain", failed.domain());
        failed.metadata().forEach(error.getAsJsonObject("metadata")::addProperty);
        for (FieldViolation violation : failed.fieldViolations()) {
            JsonObject one = new JsonObject();
            one.addProperty("field", violation.field());
            one.addProperty("rule", violation.rule());
            error.getAsJsonArray("violations").add(one);
        }
        failed.retryAfter().ifPresent(wait -> error.addProperty("retry_after_ms", wait.toMillis()));
        return error;
    }

    private static String text(JsonObject object, String field, String fallback) {
        JsonElement value = object.get(field);
        return value == null || value.isJsonNull() ? fallback : value.getAsString();
    }

    private static boolean flag(JsonObject object, String field) {
        return object.has(field) && object.get(field).getAsBoolean();
    }

    private JsonObject carryOut(String op, JsonObject request) throws Exception {
        JsonObject answer = new JsonObject();
        switch (op) {
            case "hello" -> {
                answer.addProperty("language", "java");
                answer.addProperty("version", Version.TEXT);
                answer.addProperty("protocol", 1);
            }
            case "connect" -> connect(request);
            case "close" -> connections.values().forEach(ConformanceConnection::close);
            case "call" -> answer.add("response", call(request));
            case "model_call" -> answer.add("response", modelCall(request));
            case "token" -> {
                JsonObject token = new JsonObject();
                token.addProperty(
                        "token",
                        connection(request).client.consistencyToken().map(each -> each.getToken()).orElse(null));
                answer.add("response", token);
            }
            case "spans" -> answer.add("response", spans());
            case "echo" -> echo(request, answer);
            case "bench" -> answer.add("response", ConformanceBench.run(connection(request), request));
            default -> throw new DriverException("no operation " + op);
        }
        return answer;
    }

    private void connect(JsonObject request) {
        String name = text(request, "client", "main");
        ConformanceConnection old = connections.remove(name);
        if (old != null) {
            old.close();
        }
        MunimentClientBuilder builder = new MunimentClientBuilder(Map.of())
                .target(text(request, "target", ""))
                .tenant(text(request, "tenant", ""))
                .apiKey(text(request, "api_key", ""))
                .insecure(flag(request, "insecure"))
                .readYourWrites(!text(request, "consistency", "held").equals("none"))
                .openTelemetry(flag(request, "trace") ? recording : OpenTelemetry.noop());
        if (request.has("tls")) {
            JsonObject given = request.getAsJsonObject("tls");
            Tls.Builder tls = Tls.builder();
            if (given.has("ca")) {
                tls.rootCertificates(Path.of(text(given, "ca", "")));
            }
            if (given.has("certificate")) {
                tls.certificate(Path.of(text(given, "certificate", "")), Path.of(text(given, "key", "")));
            }
            if (given.has("server_name")) {
                tls.serverName(text(given, "server_name", ""));
            }
            builder.tls(tls.build());
        }
        if (request.has("metadata_override")) {
            builder.interceptor(new ConformanceOverride(request.getAsJsonArray("metadata_override")));
        }
        connections.put(name, new ConformanceConnection(builder.settings(), text(request, "api_key", "")));
    }

    private ConformanceConnection connection(JsonObject request) {
        ConformanceConnection found = connections.get(text(request, "client", "main"));
        if (found == null) {
            throw new DriverException("not connected");
        }
        return found;
    }

    private JsonElement call(JsonObject request) throws Exception {
        ConformanceConnection to = connection(request);
        Thread caller = Thread.currentThread();
        if (request.has("cancel_after_ms")) {
            clock.schedule(caller::interrupt, request.get("cancel_after_ms").getAsLong(), TimeUnit.MILLISECONDS);
        }
        try (Scope scope = parent(request).makeCurrent()) {
            return to.call(request);
        } finally {
            // The interrupt was for the call, not for the next user of this thread.
            Thread.interrupted();
        }
    }

    /** The context of a W3C traceparent. */
    private static Context parent(JsonObject request) {
        String[] parts = text(request, "trace_parent", "").split("-");
        if (parts.length != 4) {
            return Context.root();
        }
        SpanContext remote = SpanContext.createFromRemoteParent(
                parts[1], parts[2], TraceFlags.fromHex(parts[3], 0), TraceState.getDefault());
        return Context.root().with(Span.wrap(remote));
    }

    private JsonElement modelCall(JsonObject request) throws Exception {
        ConformanceConnection to = connection(request);
        Span chat = to.settings.openTelemetry.getTracer("driver").spanBuilder("chat").setParent(parent(request)).startSpan();
        JsonObject answer = new JsonObject();
        try (Scope scope = parent(request).with(chat).makeCurrent()) {
            RecallRequest.Builder wanted = RecallRequest.newBuilder();
            JsonFormat.parser().merge(request.get("request").toString(), wanted);
            Recalled recalled = to.client.recall(wanted.build());
            ModelCall call = to.client
                    .modelCall(recalled)
                    .model(text(request, "model", ""))
                    .promptRef(text(request, "prompt_ref", ""))
                    .outcome(UseOutcome.valueOf(text(request, "outcome", "USE_OUTCOME_UNSPECIFIED")));
            if (request.has("used")) {
                List<String> used = new ArrayList<>();
                request.getAsJsonArray("used").forEach(each -> used.add(each.getAsString()));
                call.use(used);
            }
            boolean reported;
            try {
                call.run(here -> {
                    if (flag(request, "fail")) {
                        throw new IllegalStateException("the model failed");
                    }
                    return null;
                });
                reported = call.reportError().isEmpty();
            } catch (IllegalStateException failed) {
                reported = false;
            }
            JsonArray ids = new JsonArray();
            if (reported) {
                call.memoryIds().forEach(ids::add);
            }
            answer.addProperty("recallId", recalled.recallId());
            answer.add("memoryIds", ids);
            answer.addProperty("reported", reported);
        } finally {
            chat.end();
        }
        return answer;
    }

    private JsonArray spans() {
        List<SpanData> finished = spans.getFinishedSpanItems();
        spans.reset();
        JsonArray all = new JsonArray();
        finished.forEach(span -> all.add(ConformanceSpans.json(span)));
        return all;
    }

    private static void echo(JsonObject request, JsonObject answer) throws InvalidProtocolBufferException {
        DynamicMessage.Builder builder =
                DynamicMessage.newBuilder(ConformanceConnection.descriptor(text(request, "message_type", "")));
        if (request.has("binary_base64")) {
            builder.mergeFrom(Base64.getDecoder().decode(text(request, "binary_base64", "")));
        } else {
            JsonFormat.parser().merge(request.get("json").toString(), builder);
        }
        Message message = builder.build();
        Requests.check(message);
        answer.add("response", JsonParser.parseString(JsonFormat.printer().print(message)));
        answer.addProperty("binary_base64", Base64.getEncoder().encodeToString(message.toByteArray()));
    }
}
