package dev.muniment.client;

import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;

import com.google.protobuf.Message;

import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.opentelemetry.api.common.Attributes;

/**
 * A streamed answer, read message by message: for one thread, and to be closed unless it is read to its end.
 * Reading throws a {@link MunimentException} where the stream breaks; what has begun is not repeated.
 */
public final class ResponseStream<R extends Message> implements Iterator<R>, AutoCloseable {
    private record End(Status status, Metadata trailers) {}

    private final Calls calls;
    private final Telemetry.CallSpan span;
    private final Completeness<R> completeness;
    private final BlockingQueue<Object> arrived = new LinkedBlockingQueue<>();
    private final AtomicBoolean ended = new AtomicBoolean();
    private final long deadline;
    private final Retry.Attempts attempts = new Retry.Attempts();
    private Runnable open;
    private ClientCall<?, R> call;
    private boolean begun;
    private R next;

    private ResponseStream(Calls calls, Telemetry.CallSpan span, Completeness<R> completeness, long deadline) {
        this.calls = calls;
        this.span = span;
        this.completeness = completeness;
        this.deadline = deadline;
    }

    static <Q extends Message, R extends Message> ResponseStream<R> start(
            Calls calls, Rpc<Q, R> rpc, Q request, Duration timeout, Completeness<R> completeness) {
        Requests.check(request);
        long deadline = calls.deadline(rpc, timeout);
        calls.activity.enter();
        ResponseStream<R> stream =
                new ResponseStream<>(calls, calls.telemetry.start(rpc, request), completeness, deadline);
        stream.open = () -> {
            Metadata metadata = calls.metadata(stream.span, deadline);
            ClientCall<Q, R> call = calls.open(rpc, Calls.options(deadline, true));
            stream.call = call;
            call.start(stream.new Arrivals(), metadata);
            call.request(1);
            call.sendMessage(request);
            call.halfClose();
        };
        try {
            stream.open.run();
        } catch (RuntimeException failed) {
            stream.end(failed);
            throw failed;
        }
        return stream;
    }

    private final class Arrivals extends ClientCall.Listener<R> {
        @Override
        public void onMessage(R message) {
            arrived.add(message);
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            arrived.add(new End(status, trailers));
        }
    }

    @Override
    public boolean hasNext() {
        if (next == null && !ended.get()) {
            advance();
        }
        return next != null;
    }

    @SuppressWarnings("unchecked")
    private void advance() {
        try {
            Object item = arrived.take();
            while (item instanceof End end && again(end)) {
                item = arrived.take();
            }
            if (item instanceof End end) {
                finish(end);
                return;
            }
            next = (R) item;
        } catch (InterruptedException interrupted) {
            close();
            Thread.currentThread().interrupt();
            throw Calls.interrupted(span.traceId());
        }
        begun = true;
        completeness.saw(next);
        // One ahead: the next message is under way while the caller looks at this one.
        call.request(1);
    }

    /** Opens the stream anew if it may be repeated: what has begun is not. */
    private boolean again(End end) throws InterruptedException {
        if (begun || end.status.isOk()) {
            return false;
        }
        Optional<Duration> wait = attempts.delay(end.status, end.trailers, calls.throttle);
        if (wait.isEmpty() || wait.get().toNanos() > deadline - System.nanoTime()) {
            return false;
        }
        calls.reconnect();
        Thread.sleep(wait.get().toMillis());
        try {
            open.run();
        } catch (RuntimeException failed) {
            end(failed);
            throw failed;
        }
        return true;
    }

    private void finish(End end) {
        MunimentException failure = null;
        if (!end.status.isOk()) {
            failure = Failures.of(end.status, end.trailers, span.traceId());
        } else if (!completeness.missing().isEmpty()) {
            failure = Failures.of(
                    Status.UNAVAILABLE.withDescription(completeness.missing()), null, span.traceId());
        }
        end(failure);
        if (failure != null) {
            throw failure;
        }
    }

    private void end(RuntimeException failure) {
        if (ended.compareAndSet(false, true)) {
            if (failure == null) {
                span.answered(Attributes.empty());
            } else {
                span.failed(failure);
            }
            calls.activity.leave();
        }
    }

    @Override
    public R next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        R message = next;
        next = null;
        return message;
    }

    /** Stops reading; the server stops sending. */
    @Override
    public void close() {
        if (!ended.get()) {
            call.cancel("the reader has had enough", null);
            end(null);
        }
    }
}
