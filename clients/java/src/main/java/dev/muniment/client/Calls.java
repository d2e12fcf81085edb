package dev.muniment.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

import com.google.protobuf.Message;

import dev.muniment.v1.ConsistencyToken;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;

/** What all calls of a client share: the channel, the telemetry, the token of the last write. */
final class Calls {
    /** However many calls fail: so much between two attempts to connect. */
    private static final long RECONNECT_NANOS = 50_000_000;

    final Settings settings;
    final Telemetry telemetry;
    final Retry.Throttle throttle = new Retry.Throttle();
    final Activity activity = new Activity();
    final AtomicReference<ConsistencyToken> token = new AtomicReference<>();

    private final AtomicLong reconnected = new AtomicLong(System.nanoTime());
    private final ManagedChannel channel;

    Calls(Settings settings) {
        this.settings = settings;
        telemetry = new Telemetry(settings.openTelemetry, settings.target);
        channel = settings.channel();
    }

    /**
     * An attempt found nobody. A server that restarts is back within the attempts of a call; gRPC alone would
     * wait a second or more before it tries to connect again.
     */
    void reconnect() {
        long now = System.nanoTime();
        long last = reconnected.get();
        if (now - last > RECONNECT_NANOS && reconnected.compareAndSet(last, now)) {
            channel.resetConnectBackoff();
        }
    }

    static void later(Duration wait, Runnable action) {
        CompletableFuture.delayedExecutor(wait.toNanos(), TimeUnit.NANOSECONDS).execute(action);
    }

    /** Nanoseconds of System.nanoTime at which a call must be over. */
    long deadline(Rpc<?, ?> rpc, Duration timeout) {
        Duration time = timeout == null ? rpc.deadline().apply(settings.deadlines) : timeout;
        return System.nanoTime() + time.toNanos();
    }

    /** Options of a call. direct: answers are taken on the transport's thread, which must not be held up. */
    static CallOptions options(long deadline, boolean direct) {
        CallOptions options =
                CallOptions.DEFAULT.withDeadlineAfter(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        return direct ? options.withExecutor(Runnable::run) : options;
    }

    <Q extends Message, R extends Message> ClientCall<Q, R> open(Rpc<Q, R> rpc, CallOptions options) {
        return channel.newCall(rpc.method(), options);
    }

    /** Metadata of a streamed call; waits for the credential. */
    Metadata metadata(Telemetry.CallSpan span, long deadline) {
        try {
            String secret = settings.credential
                    .get()
                    .toCompletableFuture()
                    .get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
            return metadata(span, secret);
        } catch (TimeoutException late) {
            throw slowToken(span.traceId());
        } catch (ExecutionException failed) {
            throw unchecked(failed.getCause());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw interrupted(span.traceId());
        }
    }

    Metadata metadata(Telemetry.CallSpan span, String secret) {
        Metadata metadata = settings.metadata(secret);
        span.inject(metadata);
        return metadata;
    }

    static MunimentException slowToken(String traceId) {
        return Failures.of(
                Status.DEADLINE_EXCEEDED.withDescription("the token source took too long"), null, traceId);
    }

    static MunimentException interrupted(String traceId) {
        return Failures.of(Status.CANCELLED.withDescription("the thread was interrupted"), null, traceId);
    }

    static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
    }

    /**
     * Keeps the token of a write, unless it is older than the one held: answers of calls that run at the same time
     * arrive in any order. Servers that tell no order are taken at their word.
     */
    void wrote(ConsistencyToken answered) {
        if (!answered.getToken().isEmpty()) {
            token.updateAndGet(held -> held != null && answered.getOrder() != 0 && answered.getOrder() < held.getOrder()
                    ? held
                    : answered);
        }
    }

    /** Refuses new calls, waits for those under way, then ends the rest with the channel. */
    void close(Duration timeout) {
        activity.close(timeout);
        channel.shutdownNow();
        try {
            channel.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
