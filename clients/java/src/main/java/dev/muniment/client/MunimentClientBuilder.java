package dev.muniment.client;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import io.grpc.ClientInterceptor;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.OpenTelemetry;

/**
 * Says how to reach the service and as whom. What is not set comes from the environment: MUNIMENT_TARGET
 * (or else 127.0.0.1:7443), MUNIMENT_TENANT, MUNIMENT_API_KEY. Not to be shared by threads.
 */
public final class MunimentClientBuilder {
    private static final Pattern TENANT = Pattern.compile("[a-z0-9][a-z0-9_.-]{0,62}");
    private static final Pattern CLIENT = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._/+ ()-]{0,63}");

    private final Map<String, String> environment;
    private final List<ClientInterceptor> interceptors = new ArrayList<>();
    private String target;
    private String tenant;
    private String apiKey;
    private Supplier<? extends CompletionStage<String>> tokenSource;
    private Tls tls;
    private boolean insecure;
    private Deadlines deadlines = Deadlines.DEFAULT;
    private String clientName;
    private boolean readYourWrites = true;
    private OpenTelemetry openTelemetry;

    MunimentClientBuilder(Map<String, String> environment) {
        this.environment = environment;
    }

    /** {@code host:port}, or a gRPC target such as {@code dns:///host:port}. */
    public MunimentClientBuilder target(String value) {
        target = Objects.requireNonNull(value);
        return this;
    }

    /** The tenant's name. */
    public MunimentClientBuilder tenant(String value) {
        tenant = Objects.requireNonNull(value);
        return this;
    }

    /** The credential. */
    public MunimentClientBuilder apiKey(String value) {
        apiKey = Objects.requireNonNull(value);
        return this;
    }

    /**
     * Instead of an API key: returns the credential (a JWT or an API key) for the next call. It is called
     * for every call, on the thread that makes it: cache what is costly.
     */
    public MunimentClientBuilder tokenSource(Supplier<String> source) {
        Objects.requireNonNull(source);
        return asyncTokenSource(() -> CompletableFuture.completedFuture(source.get()));
    }

    /** As {@link #tokenSource}, for a source that must not block. */
    public MunimentClientBuilder asyncTokenSource(Supplier<? extends CompletionStage<String>> source) {
        tokenSource = Objects.requireNonNull(source);
        return this;
    }

    /** How to encrypt. Not set: not at all to loopback, elsewhere with the authorities of the Java runtime. */
    public MunimentClientBuilder tls(Tls value) {
        tls = Objects.requireNonNull(value);
        return this;
    }

    /**
     * Allows plaintext to elsewhere than loopback; then everybody on the way can read the key and the
     * memories.
     */
    public MunimentClientBuilder insecure(boolean value) {
        insecure = value;
        return this;
    }

    /** The time that calls may take. */
    public MunimentClientBuilder deadlines(Deadlines value) {
        deadlines = Objects.requireNonNull(value);
        return this;
    }

    /** Name and version of your program for the audit trail, for example {@code support-bot/2.1}. */
    public MunimentClientBuilder clientName(String value) {
        clientName = Objects.requireNonNull(value);
        return this;
    }

    /** Whether recalls wait until they can find this client's own writes by meaning, too. Default: true. */
    public MunimentClientBuilder readYourWrites(boolean value) {
        readYourWrites = value;
        return this;
    }

    /** Where spans and metrics go. Not set: {@link GlobalOpenTelemetry}. */
    public MunimentClientBuilder openTelemetry(OpenTelemetry value) {
        openTelemetry = Objects.requireNonNull(value);
        return this;
    }

    /**
     * Sees every call below the client's own layer: for logs, or metadata that a proxy wants. Metadata
     * holds the credential.
     */
    public MunimentClientBuilder interceptor(ClientInterceptor value) {
        interceptors.add(Objects.requireNonNull(value));
        return this;
    }

    /**
     * The client. Nothing is sent yet; the first call connects.
     *
     * <p>Throws IllegalArgumentException for settings that cannot be used; it never names a credential.
     */
    public MunimentClient build() {
        return new MunimentClient(settings());
    }

    Settings settings() {
        Target where = Target.parse(setting(target, "MUNIMENT_TARGET", "127.0.0.1:" + Target.DEFAULT_PORT));
        String who = setting(tenant, "MUNIMENT_TENANT", "");
        if (who.isEmpty()) {
            throw new IllegalArgumentException("no tenant: set tenant(...), or MUNIMENT_TENANT");
        }
        if (!TENANT.matcher(who).matches()) {
            throw new IllegalArgumentException("tenant " + who + " is not of the form [a-z0-9][a-z0-9_.-]{0,62}");
        }
        if (tls != null && insecure) {
            throw new IllegalArgumentException("tls and insecure(true) exclude each other");
        }
        Tls encryption = tls;
        if (encryption == null && !insecure && !where.isLoopback()) {
            encryption = Tls.builder().build();
        }
        OpenTelemetry telemetry = openTelemetry == null ? GlobalOpenTelemetry.get() : openTelemetry;
        return new Settings(
                where,
                who,
                credential(),
                encryption,
                deadlines,
                fullClientName(),
                readYourWrites,
                telemetry,
                List.copyOf(interceptors));
    }

    private String setting(String given, String variable, String fallback) {
        if (given != null && !given.isEmpty()) {
            return given;
        }
        String value = environment.get(variable);
        return value == null || value.isEmpty() ? fallback : value;
    }

    private Supplier<? extends CompletionStage<String>> credential() {
        if (tokenSource != null) {
            if (apiKey != null) {
                throw new IllegalArgumentException("apiKey and tokenSource exclude each other");
            }
            return tokenSource;
        }
        String secret = setting(apiKey, "MUNIMENT_API_KEY", "");
        if (secret.isEmpty()) {
            throw new IllegalArgumentException(
                    "no credential: set apiKey(...) or tokenSource(...), or MUNIMENT_API_KEY");
        }
        CompletableFuture<String> known = CompletableFuture.completedFuture(Settings.checkedCredential(secret));
        return () -> known;
    }

    private String fullClientName() {
        if (clientName == null) {
            return Settings.CLIENT_NAME;
        }
        String full = clientName + " (" + Settings.CLIENT_NAME + ")";
        if (!CLIENT.matcher(full).matches()) {
            throw new IllegalArgumentException("clientName must be a name and a version like my-agent/1.2, at most "
                    + (64 - Settings.CLIENT_NAME.length() - 3) + " letters, digits, spaces and ._/+()-");
        }
        return full;
    }
}
