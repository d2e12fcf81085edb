package dev.muniment.client;

import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import dev.muniment.v1.ServiceConfig;

import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.opentelemetry.api.OpenTelemetry;

/** Everything about a connection, checked and completed by {@link MunimentClientBuilder}. */
final class Settings {
    static final String CLIENT_NAME = "muniment-java/" + Version.TEXT;

    private static final Pattern CREDENTIAL = Pattern.compile("[\\x21-\\x7e]+");

    private static final Metadata.Key<String> AUTHORIZATION = key("authorization");
    private static final Metadata.Key<String> TENANT = key("muniment-tenant");
    private static final Metadata.Key<String> CLIENT = key("muniment-client");

    final Target target;
    final String tenant;
    final Supplier<? extends CompletionStage<String>> credential;
    final Tls tls;
    final Deadlines deadlines;
    final String clientName;
    final boolean readYourWrites;
    final OpenTelemetry openTelemetry;
    final List<ClientInterceptor> interceptors;

    Settings(
            Target target,
            String tenant,
            Supplier<? extends CompletionStage<String>> credential,
            Tls tls,
            Deadlines deadlines,
            String clientName,
            boolean readYourWrites,
            OpenTelemetry openTelemetry,
            List<ClientInterceptor> interceptors) {
        this.target = target;
        this.tenant = tenant;
        this.credential = credential;
        this.tls = tls;
        this.deadlines = deadlines;
        this.clientName = clientName;
        this.readYourWrites = readYourWrites;
        this.openTelemetry = openTelemetry;
        this.interceptors = interceptors;
    }

    private static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    }

    static String checkedCredential(String text) {
        if (text == null || !CREDENTIAL.matcher(text).matches()) {
            throw new IllegalArgumentException("the credential must be printable ASCII text without spaces");
        }
        return text;
    }

    /** Metadata of one call. */
    Metadata metadata(String secret) {
        Metadata metadata = new Metadata();
        metadata.put(AUTHORIZATION, "Bearer " + checkedCredential(secret));
        metadata.put(TENANT, tenant);
        metadata.put(CLIENT, clientName);
        return metadata;
    }

    /** A channel, not connected yet. It repeats nothing: see {@link Retry}. */
    ManagedChannel channel() {
        ChannelCredentials credentials = tls == null ? InsecureChannelCredentials.create() : tls.credentials();
        ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(target.full(), credentials)
                .userAgent(CLIENT_NAME)
                .keepAliveTime(60, TimeUnit.SECONDS)
                .keepAliveTimeout(20, TimeUnit.SECONDS)
                .disableRetry()
                .defaultServiceConfig(ServiceConfig.get())
                .disableServiceConfigLookUp()
                .intercept(interceptors);
        if (target.isLoopback()) {
            // A proxy for the outside world is no way to this machine, least of all in plaintext.
            builder.proxyDetector(address -> null);
        }
        if (tls != null && tls.serverName() != null) {
            builder.overrideAuthority(tls.serverName());
        }
        return builder.build();
    }
}
