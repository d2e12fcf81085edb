// Generated from proto/muniment/v1/muniment_grpc_service_config.json by `make generate`. Do not edit.
package dev.muniment.v1;

import static java.util.Map.entry;

import java.util.List;
import java.util.Map;

/** The gRPC service config of the contract. */
public final class ServiceConfig {
    private static final Map<String, ?> CONFIG = Map.ofEntries(
                entry("loadBalancingConfig", List.of(
                    Map.ofEntries(
                        entry("round_robin", Map.of())))),
                entry("methodConfig", List.of(
                    Map.ofEntries(
                        entry("name", List.of(
                            Map.ofEntries(
                                entry("service", "muniment.v1.MemoryService")),
                            Map.ofEntries(
                                entry("service", "muniment.v1.AuditService")),
                            Map.ofEntries(
                                entry("service", "muniment.v1.ReviewService")),
                            Map.ofEntries(
                                entry("service", "muniment.v1.SubjectService")))),
                        entry("retryPolicy", Map.ofEntries(
                            entry("maxAttempts", 4.0),
                            entry("initialBackoff", "0.1s"),
                            entry("maxBackoff", "1s"),
                            entry("backoffMultiplier", 2.0),
                            entry("retryableStatusCodes", List.of(
                                "UNAVAILABLE"))))))),
                entry("retryThrottling", Map.ofEntries(
                    entry("maxTokens", 10.0),
                    entry("tokenRatio", 0.1))));

    private ServiceConfig() {}

    /** The config, in the form that {@code ManagedChannelBuilder.defaultServiceConfig} takes. */
    public static Map<String, ?> get() {
        return CONFIG;
    }
}
