package dev.muniment.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.InternalMetadata;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;

/** Replaces metadata by what a vector says, byte for byte. */
final class ConformanceOverride implements ClientInterceptor {
    private static final InternalMetadata.TrustedAsciiMarshaller<String> RAW =
            new InternalMetadata.TrustedAsciiMarshaller<>() {
                @Override
                public byte[] toAsciiString(String value) {
                    return value.getBytes(StandardCharsets.UTF_8);
                }

                @Override
                public String parseAsciiString(byte[] serialized) {
                    return new String(serialized, StandardCharsets.UTF_8);
                }
            };

    private record Pair(Metadata.Key<String> key, String value) {}

    private final List<Pair> pairs = new ArrayList<>();

    ConformanceOverride(JsonArray given) {
        for (JsonElement each : given) {
            JsonArray pair = each.getAsJsonArray();
            JsonElement value = pair.get(1);
            pairs.add(new Pair(
                    InternalMetadata.keyOf(pair.get(0).getAsString(), RAW),
                    value.isJsonNull() ? null : value.getAsString()));
        }
    }

    @Override
    public <Q, R> ClientCall<Q, R> interceptCall(MethodDescriptor<Q, R> method, CallOptions options, Channel next) {
        return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
            @Override
            public void start(Listener<R> listener, Metadata headers) {
                pairs.forEach(pair -> headers.discardAll(pair.key));
                for (Pair pair : pairs) {
                    if (pair.value != null) {
                        headers.put(pair.key, pair.value);
                    }
                }
                super.start(listener, headers);
            }
        };
    }
}
