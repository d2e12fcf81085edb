package dev.muniment.client;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

import dev.muniment.v1.ReportUseRequest;
import dev.muniment.v1.UseOutcome;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Scope;

/**
 * The model call that recalled memories go into: its span says which, and the service hears which. Made by
 * {@link MunimentClient#modelCall}; for one thread and one run.
 *
 * <pre>{@code
 * String answer = client.modelCall(recalled).model("some-model").run(call -> ask(prompt));
 * }</pre>
 *
 * <p>The span of the model call is stamped with the ids of the memories and linked to the recall: the one
 * given, or the current one, or, when none is recorded, a new one around the body. When the body succeeds the
 * use is reported; when it throws, nothing is. Should the report fail, it is logged and kept as
 * {@link #reportError()}, since losing the model's answer would be worse.
 */
public final class ModelCall {
    private static final System.Logger LOG = System.getLogger("dev.muniment.client");

    private final MunimentClient client;
    private final List<Recalled> recalls;
    private final Map<String, List<String>> used = new LinkedHashMap<>();
    private final List<Span> spans = new ArrayList<>();
    private Span span;
    private boolean ownSpan;
    private UseOutcome outcome = UseOutcome.USE_OUTCOME_UNSPECIFIED;
    private String model = "";
    private String promptRef = "";
    private boolean strict;
    private volatile MunimentException reportError;

    ModelCall(MunimentClient client, List<Recalled> recalls) {
        this.client = client;
        this.recalls = recalls;
        recalls.forEach(each -> used.put(each.recallId(), each.promptMemoryIds()));
    }

    /** What can throw: the body of a model call. */
    @FunctionalInterface
    public interface Body<T, E extends Exception> {
        /** Calls the model. */
        T call(ModelCall call) throws E;
    }

    /** Name of the model that is prompted. */
    public ModelCall model(String name) {
        model = name;
        return this;
    }

    /** Your pointer to the prompt; it stays in the audit trail in clear: no personal data. */
    public ModelCall promptRef(String reference) {
        promptRef = reference;
        return this;
    }

    /** What the memories did for the prompt. */
    public ModelCall outcome(UseOutcome judgement) {
        outcome = judgement;
        return this;
    }

    /** The span of the model call; without it the current one. */
    public ModelCall span(Span modelCall) {
        span = modelCall;
        return this;
    }

    /** Whether to throw when the report fails. */
    public ModelCall strict(boolean value) {
        strict = value;
        return this;
    }

    /**
     * States which memories really entered the prompt, in their order there; may be none. Not called: those of
     * the packed contexts, or everything where none was packed.
     *
     * <p>Throws IllegalArgumentException for a memory that no recall of this call offered.
     */
    public ModelCall use(Collection<String> memoryIds) {
        Map<String, LinkedHashSet<String>> chosen = new LinkedHashMap<>();
        recalls.forEach(each -> chosen.put(each.recallId(), new LinkedHashSet<>()));
        for (String memoryId : memoryIds) {
            Recalled recalled = recalls.stream()
                    .filter(each -> each.memoryIds().contains(memoryId))
                    .findFirst()
                    .orElseThrow(() ->
                            new IllegalArgumentException("memory " + memoryId + " was not offered by this recall"));
            chosen.get(recalled.recallId()).add(memoryId);
        }
        chosen.forEach((recallId, ids) -> used.put(recallId, List.copyOf(ids)));
        spans.forEach(this::writeIds);
        return this;
    }

    /** The memories that will be reported. */
    public List<String> memoryIds() {
        return used.values().stream().flatMap(List::stream).toList();
    }

    /** Why the report was not recorded. */
    public Optional<MunimentException> reportError() {
        return Optional.ofNullable(reportError);
    }

    /** Says it on one more span, for example one that was opened inside the body. */
    public void stamp(Span target) {
        recalls.forEach(each -> each.stamp(target, used.get(each.recallId())));
        writeIds(target);
        spans.add(target);
    }

    private void writeIds(Span target) {
        if (target.isRecording()) {
            target.setAllAttributes(Telemetry.stampAttributes(recalls.get(0).recallId(), memoryIds()));
        }
    }

    private Span start() {
        Span current = span == null ? Span.current() : span;
        ownSpan = span == null && !current.isRecording();
        if (ownSpan) {
            current = client.telemetry().modelCallSpan();
        }
        stamp(current);
        return current;
    }

    private void end(Span current, Throwable failure) {
        if (!ownSpan) {
            return;
        }
        if (failure != null) {
            current.setAttribute(Telemetry.ERROR_TYPE, failure.getClass().getSimpleName());
            current.setStatus(StatusCode.ERROR);
        }
        current.end();
    }

    /** Runs the body, with the span of the model call as the current one, and reports. */
    public <T, E extends Exception> T run(Body<T, E> body) throws E {
        Span current = start();
        Throwable failure = null;
        try (Scope scope = current.makeCurrent()) {
            T result = body.call(this);
            for (ReportUseRequest request : reports()) {
                try {
                    client.reportUse(request);
                } catch (MunimentException failed) {
                    reportFailed(request, failed);
                }
            }
            return result;
        } catch (Throwable thrown) {
            failure = thrown;
            throw thrown;
        } finally {
            end(current, failure);
        }
    }

    /** As {@link #run}, for a model call that is a future. */
    public <T> CompletableFuture<T> runAsync(Function<ModelCall, ? extends CompletionStage<T>> body) {
        Span current = start();
        CompletionStage<T> answer;
        try (Scope scope = current.makeCurrent()) {
            answer = body.apply(this);
        } catch (RuntimeException failed) {
            end(current, failed);
            return CompletableFuture.failedFuture(failed);
        }
        return answer.thenCompose(result -> {
                    CompletableFuture<?>[] sent = reports().stream().map(this::report).toArray(CompletableFuture[]::new);
                    return CompletableFuture.allOf(sent).thenApply(nothing -> result);
                })
                .whenComplete((result, failed) -> end(current, failed))
                .toCompletableFuture();
    }

    private CompletableFuture<?> report(ReportUseRequest request) {
        return client.reportUseAsync(request).handle((answer, failed) -> {
            Throwable cause = failed instanceof CompletionException ? failed.getCause() : failed;
            if (cause instanceof MunimentException known) {
                reportFailed(request, known);
            } else if (cause != null) {
                throw new CompletionException(cause);
            }
            return null;
        });
    }

    private void reportFailed(ReportUseRequest request, MunimentException failed) {
        if (strict) {
            throw failed;
        }
        reportError = failed;
        LOG.log(
                System.Logger.Level.WARNING,
                "use of recall {0} was not reported: {1}",
                request.getRecallId(),
                failed.reason().isEmpty() ? failed.code() : failed.reason());
    }

    private List<ReportUseRequest> reports() {
        return used.entrySet().stream()
                .map(each -> ReportUseRequest.newBuilder()
                        .setRecallId(each.getKey())
                        .addAllMemoryIds(each.getValue())
                        .setOutcome(outcome)
                        .setModel(model)
                        .setPromptRef(promptRef)
                        .build())
                .toList();
    }
}
