package dev.muniment.client;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;

import dev.muniment.v1.AuditProto;
import dev.muniment.v1.MemoryServiceProto;
import dev.muniment.v1.StreamIngestRequest;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoMethodDescriptorSupplier;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;

/** One client of the driver, and beside it a bare channel with the same metadata. */
final class ConformanceConnection {
    private static final Map<String, Rpc<?, ?>> RPCS = rpcs();

    final Settings settings;
    final MunimentClient client;

    private final ManagedChannel channel;
    private final Channel bare;

    ConformanceConnection(Settings settings, String key) {
        this.settings = settings;
        client = new MunimentClient(settings);
        channel = settings.channel();
        bare = ClientInterceptors.intercept(
                channel, MetadataUtils.newAttachHeadersInterceptor(settings.metadata(key)));
    }

    void close() {
        client.close();
        channel.shutdownNow();
    }

    private static Map<String, Rpc<?, ?>> rpcs() {
        Map<String, Rpc<?, ?>> all = new TreeMap<>();
        for (Field field : Rpcs.class.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == Rpc.class) {
                try {
                    Rpc<?, ?> rpc = (Rpc<?, ?>) field.get(null);
                    all.put(rpc.name().substring("muniment.v1.".length()), rpc);
                } catch (IllegalAccessException impossible) {
                    throw new AssertionError(impossible);
                }
            }
        }
        return all;
    }

    static Rpc<?, ?> rpc(String name) {
        return RPCS.get(name);
    }

    static Descriptor descriptor(String fullName) {
        String name = fullName.substring(fullName.lastIndexOf('.') + 1);
        List<com.google.protobuf.Descriptors.FileDescriptor> files = new ArrayList<>();
        files.add(MemoryServiceProto.getDescriptor());
        files.add(AuditProto.getDescriptor());
        for (int at = 0; at < files.size(); at++) {
            Descriptor found = files.get(at).findMessageTypeByName(name);
            if (found != null && found.getFullName().equals(fullName)) {
                return found;
            }
            files.addAll(files.get(at).getDependencies());
            if (files.size() > 1000) {
                break;
            }
        }
        throw new ConformanceDriver.DriverException("no message " + fullName);
    }

    /** A call that has been read and can be made any number of times. */
    interface Prepared {
        Object make() throws Exception;
    }

    JsonElement call(JsonObject request) throws Exception {
        return json(prepare(request, flag(request, "raw")).make(), limit(request));
    }

    private static boolean flag(JsonObject object, String field) {
        return object.has(field) && object.get(field).getAsBoolean();
    }

    private static int limit(JsonObject request) {
        return request.has("take") ? request.get("take").getAsInt() : Integer.MAX_VALUE;
    }

    Prepared prepare(JsonObject request, boolean raw) throws InvalidProtocolBufferException {
        String name = request.get("method").getAsString();
        Rpc<?, ?> rpc = RPCS.get(name);
        if (rpc == null) {
            throw new ConformanceDriver.DriverException("no method " + name);
        }
        Duration timeout =
                request.has("timeout_ms") ? Duration.ofMillis(request.get("timeout_ms").getAsLong()) : null;
        if (request.has("stream")) {
            List<StreamIngestRequest> messages = new ArrayList<>();
            for (JsonElement each : request.getAsJsonArray("stream")) {
                messages.add((StreamIngestRequest) parse(rpc, each));
            }
            MunimentClient to = timeout == null ? client : client.withTimeout(timeout);
            return () -> to.streamIngest(messages);
        }
        Message message = parse(rpc, request.get("request"));
        if (raw) {
            return bare(rpc, message, timeout);
        }
        MunimentClient to = timeout == null ? client : client.withTimeout(timeout);
        Method method = method(rpc, message, flag(request, "all_pages"));
        return () -> {
            try {
                return method.invoke(to, message);
            } catch (InvocationTargetException failed) {
                throw failed.getCause() instanceof Exception known ? known : failed;
            }
        };
    }

    private static Message parse(Rpc<?, ?> rpc, JsonElement json) throws InvalidProtocolBufferException {
        MethodDescriptor.PrototypeMarshaller<?> marshaller =
                (MethodDescriptor.PrototypeMarshaller<?>) rpc.method().getRequestMarshaller();
        Message.Builder builder = ((Message) marshaller.getMessagePrototype()).newBuilderForType();
        JsonFormat.parser().merge(json.toString(), builder);
        return builder.build();
    }

    /** The client's method for it: all pages, or one page as it comes. */
    private static Method method(Rpc<?, ?> rpc, Message message, boolean allPages) {
        String bareName = rpc.method().getBareMethodName();
        String name = bareName.substring(0, 1).toLowerCase(Locale.ROOT) + bareName.substring(1);
        try {
            Method found = MunimentClient.class.getMethod(name, message.getClass());
            if (found.getReturnType() == Pages.class && !allPages) {
                return MunimentClient.class.getMethod(name + "PageAsync", message.getClass());
            }
            return found;
        } catch (NoSuchMethodException absent) {
            throw new ConformanceDriver.DriverException("the client has no " + name);
        }
    }

    @SuppressWarnings("unchecked")
    private Prepared bare(Rpc<?, ?> rpc, Message message, Duration timeout) {
        MethodDescriptor<Message, Message> method = (MethodDescriptor<Message, Message>) rpc.method();
        return () -> {
            CallOptions options = timeout == null
                    ? CallOptions.DEFAULT
                    : CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
            try {
                return method.getType() == MethodDescriptor.MethodType.UNARY
                        ? ClientCalls.blockingUnaryCall(bare, method, options, message)
                        : ClientCalls.blockingServerStreamingCall(bare, method, options, message);
            } catch (StatusRuntimeException failed) {
                throw Failures.of(failed.getStatus(), failed.getTrailers(), "");
            }
        };
    }

    private static JsonElement json(Object answer, int limit) throws Exception {
        if (answer instanceof Recalled recalled) {
            return json(recalled.response(), limit);
        }
        if (answer instanceof CompletableFuture<?> future) {
            try {
                return json(future.get(), limit);
            } catch (java.util.concurrent.ExecutionException failed) {
                throw failed.getCause() instanceof Exception known ? known : failed;
            } catch (InterruptedException interrupted) {
                future.cancel(true);
                throw Calls.interrupted("");
            }
        }
        if (answer instanceof Message message) {
            return JsonParser.parseString(JsonFormat.printer().print(message));
        }
        Iterator<?> items = answer instanceof Pages<?> pages ? pages.iterator() : (Iterator<?>) answer;
        JsonArray all = new JsonArray();
        try {
            while (all.size() < limit && items.hasNext()) {
                all.add(json(items.next(), limit));
            }
        } finally {
            if (answer instanceof ResponseStream<?> stream) {
                stream.close();
            }
        }
        return all;
    }

    /** So that the reflection above fails here rather than in a vector. */
    static List<String> unsupported() {
        List<String> absent = new ArrayList<>();
        RPCS.forEach((name, rpc) -> {
            if (rpc.method().getSchemaDescriptor() instanceof ProtoMethodDescriptorSupplier) {
                MethodDescriptor.PrototypeMarshaller<?> marshaller =
                        (MethodDescriptor.PrototypeMarshaller<?>) rpc.method().getRequestMarshaller();
                try {
                    if (rpc.method().getType() != MethodDescriptor.MethodType.CLIENT_STREAMING) {
                        method(rpc, (Message) marshaller.getMessagePrototype(), false);
                    }
                } catch (ConformanceDriver.DriverException missing) {
                    absent.add(name);
                }
            }
        });
        return absent;
    }
}
