package dev.muniment.client;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;

import dev.muniment.v1.ServiceConfig;

import io.grpc.Metadata;
import io.grpc.Status;

/**
 * Repetition of calls by the contract's service config, and waiting as long as the service asks.
 *
 * <p>gRPC for Java can do the first itself, but repeats after every status that comes with
 * {@code grpc-retry-pushback-ms}, and replays streams; so its own repetition is switched off.
 */
final class Retry {
    private static final Map<?, ?> POLICY = policy();
    private static final int MAX_ATTEMPTS = ((Double) POLICY.get("maxAttempts")).intValue();
    private static final double INITIAL_BACKOFF = seconds("initialBackoff");
    private static final double MAX_BACKOFF = seconds("maxBackoff");
    private static final double MULTIPLIER = (Double) POLICY.get("backoffMultiplier");
    private static final Map<?, ?> THROTTLING = (Map<?, ?>) ServiceConfig.get().get("retryThrottling");
    private static final double MAX_TOKENS = (Double) THROTTLING.get("maxTokens");
    private static final double TOKEN_RATIO = (Double) THROTTLING.get("tokenRatio");

    /** Rounds of one call, the first included: what RetryInfo asks for begins another round. */
    private static final int ROUNDS = MAX_ATTEMPTS;

    private static final double SPREAD = 0.25;
    private static final Duration LEAST = Duration.ofMillis(20);
    private static final Metadata.Key<String> PUSHBACK =
            Metadata.Key.of("grpc-retry-pushback-ms", Metadata.ASCII_STRING_MARSHALLER);

    private Retry() {}

    private static Map<?, ?> policy() {
        Map<?, ?> methods = (Map<?, ?>) ((List<?>) ServiceConfig.get().get("methodConfig")).get(0);
        Map<?, ?> policy = (Map<?, ?>) methods.get("retryPolicy");
        if (!policy.get("retryableStatusCodes").equals(List.of("UNAVAILABLE"))) {
            throw new IllegalStateException("this client repeats after UNAVAILABLE only");
        }
        return policy;
    }

    private static double seconds(String key) {
        String text = (String) POLICY.get(key);
        return Double.parseDouble(text.substring(0, text.length() - 1));
    }

    /** The retry throttle of one client (gRFC A6): a server that keeps failing is not asked twice. */
    static final class Throttle {
        private double tokens = MAX_TOKENS;

        synchronized void succeeded() {
            tokens = Math.min(MAX_TOKENS, tokens + TOKEN_RATIO);
        }

        private synchronized boolean failed() {
            tokens = Math.max(0, tokens - 1);
            return tokens > MAX_TOKENS / 2;
        }
    }

    /** The attempts of one round. */
    static final class Attempts {
        private int made;
        private double backoff = INITIAL_BACKOFF;

        /** How long to wait before another attempt; empty to give up. */
        Optional<Duration> delay(Status status, Metadata trailers, Throttle throttle) {
            made++;
            String pushback = trailers == null ? null : trailers.get(PUSHBACK);
            if (status.getCode() != Status.Code.UNAVAILABLE || !throttle.failed() || made >= MAX_ATTEMPTS) {
                return Optional.empty();
            }
            if (pushback == null) {
                double wait = backoff * (0.8 + 0.4 * random());
                backoff = Math.min(MAX_BACKOFF, backoff * MULTIPLIER);
                return Optional.of(Duration.ofNanos((long) (wait * 1e9)));
            }
            backoff = INITIAL_BACKOFF;
            // What is no number, or below 0, forbids.
            return pushback.matches("\\d{1,9}")
                    ? Optional.of(Duration.ofMillis(Long.parseLong(pushback)))
                    : Optional.empty();
        }
    }

    /** How long to wait before another round; empty to give up. */
    static Optional<Duration> roundDelay(MunimentException failure, int rounds, Duration remaining) {
        if (failure.code() != Status.Code.UNAVAILABLE || failure.retryAfter().isEmpty() || rounds >= ROUNDS) {
            return Optional.empty();
        }
        // Upwards only: callers that were refused together must not come back together, nor too early.
        double wait = failure.retryAfter().get().toNanos() * (1 + SPREAD * random());
        Duration spread = Duration.ofNanos((long) wait);
        return spread.plus(LEAST).compareTo(remaining) < 0 ? Optional.of(spread) : Optional.empty();
    }

    private static double random() {
        return ThreadLocalRandom.current().nextDouble();
    }
}
