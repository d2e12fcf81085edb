package dev.muniment.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

import dev.muniment.v1.StreamIngestRequest;
import dev.muniment.v1.StreamIngestResponse;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.opentelemetry.api.common.Attributes;

/**
 * A conversation that is taken in while it goes on: {@link #send} its turns, at last {@link #finish}. Closing
 * it without finishing cancels the call; what was sent may be stored all the same. One thread at a time sends.
 */
public final class IngestStream implements AutoCloseable {
    private final Calls calls;
    private final Duration timeout;
    private final CompletableFuture<StreamIngestResponse> answer = new CompletableFuture<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final Object ready = new Object();
    private Telemetry.CallSpan span;
    private ClientCall<StreamIngestRequest, StreamIngestResponse> call;
    private boolean finished;

    IngestStream(Calls calls, Duration timeout) {
        this.calls = calls;
        this.timeout = timeout;
    }

    private void open(StreamIngestRequest first) {
        long deadline = calls.deadline(Rpcs.STREAM_INGEST, timeout);
        calls.activity.enter();
        span = calls.telemetry.start(Rpcs.STREAM_INGEST, first);
        try {
            Metadata metadata = calls.metadata(span, deadline);
            call = calls.open(Rpcs.STREAM_INGEST, Calls.options(deadline, true));
            call.start(new Answer(), metadata);
            call.request(2);
        } catch (RuntimeException failed) {
            end(null, failed);
            throw failed;
        }
    }

    private final class Answer extends ClientCall.Listener<StreamIngestResponse> {
        private StreamIngestResponse message;

        @Override
        public void onReady() {
            wake();
        }

        @Override
        public void onMessage(StreamIngestResponse arrived) {
            message = arrived;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            if (status.isOk() && message != null) {
                calls.wrote(message.getConsistencyToken());
                end(message, null);
            } else {
                Status failed = status.isOk() ? Status.INTERNAL.withDescription("the answer was empty") : status;
                end(null, Failures.of(failed, trailers, span.traceId()));
            }
            wake();
        }
    }

    private void wake() {
        synchronized (ready) {
            ready.notifyAll();
        }
    }

    private void end(StreamIngestResponse message, RuntimeException failure) {
        if (ended.compareAndSet(false, true)) {
            if (failure == null) {
                span.answered(Attributes.empty());
                calls.activity.leave();
                answer.complete(message);
            } else {
                span.failed(failure);
                calls.activity.leave();
                answer.completeExceptionally(failure);
            }
        }
    }

    /**
     * Sends some turns; waits while the connection is full. The first request opens the call and must name
     * the scope; it is given a request id if it has none.
     *
     * <p>Throws a {@link MunimentException} when the service has ended the call, for example because it
     * refused what was sent before.
     */
    public void send(StreamIngestRequest request) {
        Requests.check(request);
        if (finished) {
            throw new IllegalStateException("the stream is finished");
        }
        if (call == null) {
            StreamIngestRequest first = Requests.identified(request);
            open(first);
            call.sendMessage(first);
            return;
        }
        synchronized (ready) {
            while (!call.isReady() && !ended.get()) {
                try {
                    ready.wait();
                } catch (InterruptedException interrupted) {
                    close();
                    Thread.currentThread().interrupt();
                    throw Calls.interrupted(span.traceId());
                }
            }
        }
        if (ended.get()) {
            finish();
            throw new IllegalStateException("the service has answered already");
        }
        call.sendMessage(request);
    }

    /** Says that this was all, and waits for the answer. */
    public StreamIngestResponse finish() {
        try {
            return finishAsync().get();
        } catch (ExecutionException failed) {
            throw Calls.unchecked(failed.getCause());
        } catch (InterruptedException interrupted) {
            close();
            Thread.currentThread().interrupt();
            throw Calls.interrupted(span.traceId());
        }
    }

    /** Says that this was all. */
    public CompletableFuture<StreamIngestResponse> finishAsync() {
        if (call == null && !ended.get()) {
            // The service says what is wrong with a call without a request.
            open(StreamIngestRequest.getDefaultInstance());
        }
        if (!finished && !ended.get()) {
            call.halfClose();
        }
        finished = true;
        return answer;
    }

    @Override
    public void close() {
        if (call != null && !ended.get()) {
            call.cancel("not finished", null);
            end(null, Failures.of(Status.CANCELLED.withDescription("not finished"), null, span.traceId()));
        }
    }
}
