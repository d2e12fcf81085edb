package dev.muniment.client;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiFunction;
import java.util.function.Function;

import com.google.protobuf.Message;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.SpanContext;

/**
 * A call that answers once: metadata, deadline, repetition, trace, error. As a future it is the call:
 * cancelling it cancels the call.
 */
final class UnaryCall<Q extends Message, R extends Message, T> extends CompletableFuture<T> {
    private final Calls calls;
    private final Rpc<Q, R> rpc;
    private final BiFunction<R, SpanContext, T> finish;
    private final Function<MunimentException, Q> repair;
    private final boolean direct;
    private final long deadline;
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Telemetry.CallSpan span;

    private Q request;
    private int rounds = 1;
    private Retry.Attempts attempts = new Retry.Attempts();
    private volatile ClientCall<Q, R> current;

    private UnaryCall(
            Calls calls,
            Rpc<Q, R> rpc,
            Q request,
            Duration timeout,
            boolean direct,
            BiFunction<R, SpanContext, T> finish,
            Function<MunimentException, Q> repair) {
        this.calls = calls;
        this.rpc = rpc;
        this.request = request;
        this.finish = finish;
        this.repair = repair;
        this.direct = direct;
        deadline = calls.deadline(rpc, timeout);
        calls.activity.enter();
        span = calls.telemetry.start(rpc, request);
    }

    /**
     * Begins a call. finish: makes of the answer what the caller gets. repair: another request to send after
     * an error, or null. direct: the answer is taken on the transport's thread.
     */
    static <Q extends Message, R extends Message, T> UnaryCall<Q, R, T> start(
            Calls calls,
            Rpc<Q, R> rpc,
            Q request,
            Duration timeout,
            boolean direct,
            BiFunction<R, SpanContext, T> finish,
            Function<MunimentException, Q> repair) {
        Requests.check(request);
        UnaryCall<Q, R, T> call =
                new UnaryCall<>(calls, rpc, Requests.identified(request), timeout, direct, finish, repair);
        call.attempt();
        return call;
    }

    private void attempt() {
        if (isDone()) {
            return;
        }
        CompletableFuture<String> secret;
        try {
            secret = calls.settings.credential.get().toCompletableFuture();
        } catch (RuntimeException failed) {
            fail(failed);
            return;
        }
        if (secret.isDone() && !secret.isCompletedExceptionally()) {
            send(secret.join());
            return;
        }
        secret.copy()
                .orTimeout(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS)
                .whenComplete((text, failed) -> {
                    if (failed == null) {
                        send(text);
                        return;
                    }
                    Throwable cause = failed instanceof CompletionException ? failed.getCause() : failed;
                    fail(cause instanceof TimeoutException && !secret.isDone()
                            ? Calls.slowToken(span.traceId())
                            : cause);
                });
    }

    private void send(String secret) {
        if (isDone()) {
            return;
        }
        try {
            ClientCall<Q, R> call = calls.open(rpc, Calls.options(deadline, direct));
            current = call;
            call.start(new Answer(), calls.metadata(span, secret));
            call.request(2);
            call.sendMessage(request);
            call.halfClose();
            if (isDone()) {
                // Cancelled between the look above and here.
                call.cancel("cancelled by the caller", null);
            }
        } catch (RuntimeException failed) {
            fail(failed);
        }
    }

    private final class Answer extends ClientCall.Listener<R> {
        private R message;

        @Override
        public void onMessage(R arrived) {
            message = arrived;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (status.isOk() && message != null) {
                succeed(message);
                return;
            }
            Status failed = status.isOk() ? Status.INTERNAL.withDescription("the answer was empty") : status;
            Optional<Duration> wait = attempts.delay(failed, trailers, calls.throttle);
            if (wait.isPresent() && wait.get().compareTo(remaining()) < 0 && !isDone()) {
                calls.reconnect();
                Calls.later(wait.get(), UnaryCall.this::attempt);
            } else {
                failedRound(Failures.of(failed, trailers, span.traceId()));
            }
        }
    }

    private Duration remaining() {
        return Duration.ofNanos(deadline - System.nanoTime());
    }

    private void failedRound(MunimentException failure) {
        Q repaired = repair == null || isDone() ? null : repair.apply(failure);
        if (repaired != null) {
            request = repaired;
            rounds = 0;
        }
        Optional<Duration> wait =
                repaired != null ? Optional.of(Duration.ZERO) : Retry.roundDelay(failure, rounds, remaining());
        if (wait.isEmpty() || isDone()) {
            fail(failure);
            return;
        }
        rounds++;
        attempts = new Retry.Attempts();
        Calls.later(wait.get(), this::attempt);
    }

    private void succeed(R message) {
        if (!ended.compareAndSet(false, true)) {
            return;
        }
        calls.throttle.succeeded();
        AttributesBuilder attributes = Attributes.builder();
        rpc.describeResponse().accept(message, attributes);
        if (rpc.token() != null) {
            calls.wrote(rpc.token().apply(message));
        }
        span.answered(attributes.build());
        calls.activity.leave();
        complete(finish.apply(message, span.spanContext()));
    }

    private void fail(Throwable failure) {
        if (ended.compareAndSet(false, true)) {
            span.failed(failure);
            calls.activity.leave();
            completeExceptionally(failure);
        }
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
        boolean cancelled = super.cancel(mayInterruptIfRunning);
        if (cancelled) {
            ClientCall<Q, R> call = current;
            if (call != null) {
                call.cancel("cancelled by the caller", null);
            }
            fail(Failures.of(Status.CANCELLED.withDescription("cancelled by the caller"), null, span.traceId()));
        }
        return cancelled;
    }

    /** Waits for the answer. An interrupt cancels the call. */
    T await() {
        try {
            return get();
        } catch (ExecutionException failed) {
            throw rethrown(failed.getCause());
        } catch (InterruptedException interrupted) {
            cancel(true);
            Thread.currentThread().interrupt();
            throw Calls.interrupted(span.traceId());
        }
    }

    private static RuntimeException rethrown(Throwable failure) {
        // So that the trace of the exception shows who called, not only the thread of the transport.
        if (failure instanceof MunimentException) {
            failure.addSuppressed(new CallSite());
        }
        return Calls.unchecked(failure);
    }

    /** Where the call was made. */
    private static final class CallSite extends RuntimeException {
        private static final long serialVersionUID = 1L;

        CallSite() {
            super("called here");
        }
    }
}
