package dev.muniment.client;

import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Function;

import com.google.protobuf.Message;

import dev.muniment.v1.ConsistencyToken;

import io.grpc.MethodDescriptor;
import io.opentelemetry.api.common.AttributesBuilder;

/**
 * One method: its deadline, and what a trace says about a call of it.
 *
 * @param method the method of the generated code
 * @param deadline picks its time from the settings
 * @param operation operation of the GenAI memory conventions; null for methods that are none
 * @param describeRequest attributes known before the call
 * @param describeResponse attributes known from the answer
 * @param token the consistency token of a write; null for reads
 */
record Rpc<Q extends Message, R extends Message>(
        MethodDescriptor<Q, R> method,
        Function<Deadlines, Duration> deadline,
        String operation,
        BiConsumer<Q, AttributesBuilder> describeRequest,
        BiConsumer<R, AttributesBuilder> describeResponse,
        Function<R, ConsistencyToken> token) {
    static <Q extends Message, R extends Message> Rpc<Q, R> of(
            MethodDescriptor<Q, R> method, Function<Deadlines, Duration> deadline) {
        return new Rpc<>(method, deadline, null, (request, to) -> {}, (response, to) -> {}, null);
    }

    Rpc<Q, R> operation(String name) {
        return new Rpc<>(method, deadline, name, describeRequest, describeResponse, token);
    }

    Rpc<Q, R> request(BiConsumer<Q, AttributesBuilder> describe) {
        return new Rpc<>(method, deadline, operation, describe, describeResponse, token);
    }

    Rpc<Q, R> response(BiConsumer<R, AttributesBuilder> describe) {
        return new Rpc<>(method, deadline, operation, describeRequest, describe, token);
    }

    /** The call changes something: its answer has a consistency token. */
    Rpc<Q, R> writes(Function<R, ConsistencyToken> answered) {
        return new Rpc<>(method, deadline, operation, describeRequest, describeResponse, answered);
    }

    /** Fully qualified, without a leading slash. */
    String name() {
        return method.getFullMethodName();
    }
}
