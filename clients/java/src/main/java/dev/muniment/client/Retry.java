package dev.muniment.client;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

import io.grpc.Status;

/**
 * Waiting as long as the service asks.
 *
 * <p>gRPC itself repeats what failed with UNAVAILABLE, as the contract's service config says, and waits as
 * long as the trailer {@code grpc-retry-pushback-ms} asks for. Its attempts may be used up or throttled, and
 * a proxy may drop the trailer; gRPC does not know RetryInfo. What is left of the deadline is used here to
 * ask again after it.
 */
final class Retry {
    /** Rounds of one call, the first included; as many as the service config has attempts. */
    static final int ROUNDS = 4;

    private static final double SPREAD = 0.25;
    private static final Duration LEAST = Duration.ofMillis(20);

    private Retry() {}

    /** How long to wait before another round; empty to give up. */
    static Optional<Duration> delay(MunimentException failure, int rounds, Duration remaining) {
        if (failure.code() != Status.Code.UNAVAILABLE || failure.retryAfter().isEmpty() || rounds >= ROUNDS) {
            return Optional.empty();
        }
        double spread = 1 + ThreadLocalRandom.current().nextDouble() * SPREAD;
        // Upwards only: callers that were refused together must not come back together, nor too early.
        Duration wait = Duration.ofNanos((long) (failure.retryAfter().get().toNanos() * spread));
        return wait.plus(LEAST).compareTo(remaining) < 0 ? Optional.of(wait) : Optional.empty();
    }
}
