package dev.muniment.client;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import com.google.protobuf.Any;
import com.google.protobuf.Duration;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;

import io.grpc.Context;
import io.grpc.Deadline;
import io.grpc.Grpc;
import io.grpc.HandlerRegistry;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerMethodDefinition;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.protobuf.StatusProto;

/**
 * The other end of the wire: a gRPC server that knows the protocol, not the product. A test says what it answers
 * and looks at what arrived.
 */
final class Peer implements AutoCloseable {
    static final String KEY = "mk_dev_5ecret";

    /** A call as it arrived. */
    record Received(String method, Metadata headers, Deadline deadline, List<Message> messages) {
        String header(String name) {
            return headers.get(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER));
        }

        <M extends Message> M request(Class<M> type) {
            return type.cast(messages.get(0));
        }
    }

    /** What to answer: a Message, a List of them, a StatusException, a Cut, or HANG. */
    interface Script {
        Object answer(int number, Received call) throws Exception;
    }

    /** Messages, then an error. */
    record Cut(List<Message> messages, StatusException failure) {}

    static final Object HANG = new Object();

    private final List<Received> received = new CopyOnWriteArrayList<>();
    private final Server server;

    Peer(Script script) {
        this(script, 0, InsecureServerCredentials.create());
    }

    Peer(Script script, int port, ServerCredentials credentials) {
        HandlerRegistry methods = new HandlerRegistry() {
            @Override
            public ServerMethodDefinition<?, ?> lookupMethod(String name, String authority) {
                Rpc<?, ?> rpc = ConformanceConnection.rpc(name.substring("muniment.v1.".length()));
                return rpc == null ? null : define(rpc.method(), script);
            }
        };
        server = Grpc.newServerBuilderForPort(port, credentials).fallbackHandlerRegistry(methods).build();
        try {
            server.start();
        } catch (IOException failed) {
            throw new AssertionError(failed);
        }
    }

    private <Q extends Message, R extends Message> ServerMethodDefinition<Q, R> define(
            MethodDescriptor<Q, R> method, Script script) {
        ServerCallHandler<Q, R> handler = (call, headers) -> new Arrivals<>(
                method.getFullMethodName().substring("muniment.v1.".length()),
                headers,
                Context.current().getDeadline(),
                call,
                script);
        return ServerMethodDefinition.create(method, handler);
    }

    private final class Arrivals<Q extends Message, R> extends ServerCall.Listener<Q> {
        private final Received arriving;
        private final ServerCall<Q, R> call;
        private final Script script;

        Arrivals(String name, Metadata headers, Deadline deadline, ServerCall<Q, R> call, Script script) {
            arriving = new Received(name, headers, deadline, new ArrayList<>());
            this.call = call;
            this.script = script;
            call.request(Integer.MAX_VALUE);
        }

        @Override
        public void onMessage(Q message) {
            arriving.messages.add(message);
        }

        @Override
        public void onHalfClose() {
            int number;
            synchronized (received) {
                number = received.size();
                received.add(arriving);
            }
            try {
                send(call, script.answer(number, arriving));
            } catch (Exception failed) {
                call.close(Status.INTERNAL.withDescription("script: " + failed), new Metadata());
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static <Q, R> void send(ServerCall<Q, R> call, Object answer) {
        if (answer == HANG) {
            return;
        }
        StatusException failure = null;
        List<?> messages = List.of();
        if (answer instanceof StatusException only) {
            failure = only;
        } else if (answer instanceof Cut cut) {
            messages = cut.messages;
            failure = cut.failure;
        } else {
            messages = answer instanceof List<?> several ? several : List.of(answer);
        }
        if (!messages.isEmpty()) {
            call.sendHeaders(new Metadata());
            messages.forEach(each -> call.sendMessage((R) each));
        }
        if (failure == null) {
            call.close(Status.OK, new Metadata());
        } else {
            call.close(failure.getStatus(), failure.getTrailers() == null ? new Metadata() : failure.getTrailers());
        }
    }

    int port() {
        return server.getPort();
    }

    List<Received> received() {
        return received;
    }

    MunimentClientBuilder builder() {
        return new MunimentClientBuilder(Map.of()).target("127.0.0.1:" + port()).tenant("dev").apiKey(KEY);
    }

    MunimentClient client() {
        return builder().build();
    }

    @Override
    public void close() {
        server.shutdownNow();
        try {
            server.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** An error as the service sends it. retryMillis: below 0 for none. */
    static StatusException problem(Status.Code code, String reason, String domain, long retryMillis) {
        com.google.rpc.Status.Builder status = com.google.rpc.Status.newBuilder()
                .setCode(code.value())
                .setMessage("it failed")
                .addDetails(Any.pack(ErrorInfo.newBuilder()
                        .setReason(reason)
                        .setDomain(domain)
                        .putMetadata("memory_id", "m")
                        .build()));
        if (reason.equals("INVALID_REQUEST")) {
            status.addDetails(Any.pack(BadRequest.newBuilder()
                    .addFieldViolations(BadRequest.FieldViolation.newBuilder()
                            .setField("items[0].content")
                            .setDescription("is wrong")
                            .setReason("string.min_len"))
                    .build()));
        }
        if (retryMillis >= 0) {
            status.addDetails(Any.pack(RetryInfo.newBuilder()
                    .setRetryDelay(Duration.newBuilder()
                            .setSeconds(retryMillis / 1000)
                            .setNanos((int) (retryMillis % 1000) * 1_000_000))
                    .build()));
        }
        StatusException failure = StatusProto.toStatusException(status.build());
        failure.getTrailers().put(Metadata.Key.of("muniment-request-id", Metadata.ASCII_STRING_MARSHALLER), "cafe");
        return failure;
    }

    static StatusException problem(Status.Code code, String reason) {
        return problem(code, reason, Failures.DOMAIN, -1);
    }

    static StatusException unavailable() {
        return problem(Status.Code.UNAVAILABLE, "DATABASE_UNAVAILABLE");
    }
}
