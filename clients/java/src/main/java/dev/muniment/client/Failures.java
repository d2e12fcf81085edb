package dev.muniment.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RequestInfo;
import com.google.rpc.RetryInfo;

import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;

/** From a failed call of the transport to a {@link MunimentException}. */
final class Failures {
    static final String DOMAIN = "muniment.dev";

    private static final Metadata.Key<byte[]> DETAILS =
            Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);
    private static final Metadata.Key<String> CALL_ID =
            Metadata.Key.of("muniment-request-id", Metadata.ASCII_STRING_MARSHALLER);

    private Failures() {}

    /** The exception for a failed call. traceId: of the client's own span, unless the server tells one. */
    static MunimentException of(Status ended, Metadata trailers, String traceId) {
        // For an answer that is no message gRPC gives the call up, which nobody asked for: the cause says why.
        Status status = ended.getCode() == Status.Code.CANCELLED
                        && ended.getCause() instanceof StatusRuntimeException unreadable
                ? unreadable.getStatus()
                : ended;
        String reason = "";
        String domain = "";
        Map<String, String> metadata = Map.of();
        List<FieldViolation> violations = List.of();
        Duration retryAfter = null;
        String callId = trailers == null ? null : trailers.get(CALL_ID);
        for (Any detail : details(trailers)) {
            try {
                if (detail.is(ErrorInfo.class)) {
                    ErrorInfo info = detail.unpack(ErrorInfo.class);
                    // A proxy on the way has reasons of its own.
                    if (info.getDomain().equals(DOMAIN)) {
                        reason = info.getReason();
                        domain = info.getDomain();
                        metadata = Map.copyOf(info.getMetadataMap());
                    }
                } else if (detail.is(BadRequest.class)) {
                    List<FieldViolation> found = new ArrayList<>();
                    for (BadRequest.FieldViolation each : detail.unpack(BadRequest.class).getFieldViolationsList()) {
                        found.add(new FieldViolation(each.getField(), each.getReason(), each.getDescription()));
                    }
                    violations = List.copyOf(found);
                } else if (detail.is(RetryInfo.class)) {
                    com.google.protobuf.Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
                    retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
                } else if (detail.is(RequestInfo.class)) {
                    traceId = detail.unpack(RequestInfo.class).getRequestId();
                }
            } catch (InvalidProtocolBufferException broken) {
                // The code and the text are still there.
            }
        }
        String text = status.getDescription() == null ? "the call failed" : status.getDescription();
        return MunimentException.of(
                status.getCode(),
                text,
                new MunimentException.Details(
                        reason, domain, metadata, violations, retryAfter, traceId, callId == null ? "" : callId, false),
                status.asRuntimeException());
    }

    private static List<Any> details(Metadata trailers) {
        byte[] packed = trailers == null ? null : trailers.get(DETAILS);
        if (packed == null) {
            return List.of();
        }
        try {
            return com.google.rpc.Status.parseFrom(packed).getDetailsList();
        } catch (InvalidProtocolBufferException unreadable) {
            return List.of();
        }
    }
}
