package dev.muniment.client;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

import io.grpc.Status;

/**
 * A call failed. The subclasses are chosen by the gRPC status code; {@link #reason()} says exactly what
 * happened and never changes its meaning. No exception holds a credential, a query or the content of a
 * memory.
 */
public class MunimentException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Status.Code code;
    private final transient Details details;

    MunimentException(Status.Code code, String text, Details details, Throwable cause) {
        super(text, cause);
        this.code = code;
        this.details = details;
    }

    /** What an error carries beside its code and text. */
    record Details(
            String reason,
            String domain,
            Map<String, String> metadata,
            List<FieldViolation> violations,
            Duration retryAfter,
            String traceId,
            String callId,
            boolean local) {
        static final Details NONE = new Details("", "", Map.of(), List.of(), null, "", "", false);
    }

    private Details details() {
        return details == null ? Details.NONE : details;
    }

    /** The gRPC status code. */
    public Status.Code code() {
        return code;
    }

    /**
     * Name of an {@link dev.muniment.v1.ErrorReason} without its prefix, or a newer server's; empty when the
     * transport failed before the service answered.
     */
    public String reason() {
        return details().reason;
    }

    /** Who gave the reason: {@code muniment.dev}; empty without one. */
    public String domain() {
        return details().domain;
    }

    /** Details of the reason; the keys are documented at ErrorReason in the contract. */
    public Map<String, String> metadata() {
        return details().metadata;
    }

    /** Fields that break their rules, at most 20. */
    public List<FieldViolation> fieldViolations() {
        return details().violations;
    }

    /** How long the service asks to wait before trying again. */
    public Optional<Duration> retryAfter() {
        return Optional.ofNullable(details().retryAfter);
    }

    /** W3C trace id of the call, 32 hex digits; empty if there is none. */
    public String traceId() {
        return details().traceId;
    }

    /** The server's id of the call, to be found in its log; empty if it did not answer. */
    public String callId() {
        return details().callId;
    }

    /** Whether the client refused the call itself, before anything was sent. */
    public boolean isLocal() {
        return details().local;
    }

    static MunimentException of(Status.Code code, String text, Details details, Throwable cause) {
        StringBuilder message = new StringBuilder(code.name());
        if (!details.reason.isEmpty() && !details.reason.equals(code.name())) {
            message.append(" (").append(details.reason).append(')');
        }
        message.append(": ").append(text).append(refused(details));
        for (FieldViolation violation : details.violations) {
            message.append("\n  ").append(violation.field()).append(": ").append(violation.description());
        }
        String full = message.toString();
        return switch (code) {
            case CANCELLED -> new Cancelled(full, details, cause);
            case INVALID_ARGUMENT -> new InvalidRequest(full, details, cause);
            case DEADLINE_EXCEEDED -> new DeadlineExceeded(full, details, cause);
            case NOT_FOUND -> new NotFound(full, details, cause);
            case ALREADY_EXISTS -> new AlreadyExists(full, details, cause);
            case PERMISSION_DENIED -> new PermissionDenied(full, details, cause);
            case RESOURCE_EXHAUSTED -> new ResourceExhausted(full, details, cause);
            case FAILED_PRECONDITION -> new FailedPrecondition(full, details, cause);
            case ABORTED -> new Conflict(full, details, cause);
            case OUT_OF_RANGE -> new OutOfRange(full, details, cause);
            case UNIMPLEMENTED -> new Unimplemented(full, details, cause);
            case INTERNAL -> new InternalError(full, details, cause);
            case UNAVAILABLE -> new Unavailable(full, details, cause);
            case DATA_LOSS -> new DataLoss(full, details, cause);
            case UNAUTHENTICATED -> new Unauthenticated(full, details, cause);
            default -> new MunimentException(code, full, details, cause);
        };
    }

    /** Which of the causes that the message of a refusal names it was. */
    private static String refused(Details details) {
        String permission = details.metadata.getOrDefault("permission", "");
        String source = details.metadata.getOrDefault("source_type", "");
        if (details.reason.equals("PERMISSION_DENIED") && !permission.isEmpty()) {
            return " (missing: " + permission + ")";
        }
        if (details.reason.equals("SOURCE_NOT_ALLOWED") && !source.isEmpty()) {
            return " (refused: " + source.toLowerCase(Locale.ROOT) + ")";
        }
        return "";
    }

    static MunimentException local(String field, String rule, String description) {
        return of(
                Status.Code.INVALID_ARGUMENT,
                field + " " + description,
                new Details(
                        "INVALID_REQUEST",
                        "muniment.dev",
                        Map.of("violation_count", "1"),
                        List.of(new FieldViolation(field, rule, description)),
                        null,
                        "",
                        "",
                        true),
                null);
    }

    /** The call was cancelled. */
    public static final class Cancelled extends MunimentException {
        private static final long serialVersionUID = 1L;

        Cancelled(String text, Details details, Throwable cause) {
            super(Status.Code.CANCELLED, text, details, cause);
        }
    }

    /** The request breaks a rule of the contract. */
    public static final class InvalidRequest extends MunimentException {
        private static final long serialVersionUID = 1L;

        InvalidRequest(String text, Details details, Throwable cause) {
            super(Status.Code.INVALID_ARGUMENT, text, details, cause);
        }
    }

    /** The time was used up. Whether a write took place is unknown: repeat it with the same request id. */
    public static final class DeadlineExceeded extends MunimentException {
        private static final long serialVersionUID = 1L;

        DeadlineExceeded(String text, Details details, Throwable cause) {
            super(Status.Code.DEADLINE_EXCEEDED, text, details, cause);
        }
    }

    /** No such memory, recall, erasure or ingest in this tenant. */
    public static final class NotFound extends MunimentException {
        private static final long serialVersionUID = 1L;

        NotFound(String text, Details details, Throwable cause) {
            super(Status.Code.NOT_FOUND, text, details, cause);
        }
    }

    /** The request id, or the number of a turn, was used with another payload. */
    public static final class AlreadyExists extends MunimentException {
        private static final long serialVersionUID = 1L;

        AlreadyExists(String text, Details details, Throwable cause) {
            super(Status.Code.ALREADY_EXISTS, text, details, cause);
        }
    }

    /** The credential does not allow the call. */
    public static final class PermissionDenied extends MunimentException {
        private static final long serialVersionUID = 1L;

        PermissionDenied(String text, Details details, Throwable cause) {
            super(Status.Code.PERMISSION_DENIED, text, details, cause);
        }
    }

    /** A quota is used up or the server has too many calls running; see {@link #retryAfter()}. */
    public static final class ResourceExhausted extends MunimentException {
        private static final long serialVersionUID = 1L;

        ResourceExhausted(String text, Details details, Throwable cause) {
            super(Status.Code.RESOURCE_EXHAUSTED, text, details, cause);
        }
    }

    /** The memory is in a state that does not allow the call. */
    public static final class FailedPrecondition extends MunimentException {
        private static final long serialVersionUID = 1L;

        FailedPrecondition(String text, Details details, Throwable cause) {
            super(Status.Code.FAILED_PRECONDITION, text, details, cause);
        }
    }

    /** Somebody else changed it in the meantime: read again, decide again. */
    public static final class Conflict extends MunimentException {
        private static final long serialVersionUID = 1L;

        Conflict(String text, Details details, Throwable cause) {
            super(Status.Code.ABORTED, text, details, cause);
        }
    }

    /** The consistency token is too old to be understood. */
    public static final class OutOfRange extends MunimentException {
        private static final long serialVersionUID = 1L;

        OutOfRange(String text, Details details, Throwable cause) {
            super(Status.Code.OUT_OF_RANGE, text, details, cause);
        }
    }

    /** The server does not offer the method, or not with these arguments. */
    public static final class Unimplemented extends MunimentException {
        private static final long serialVersionUID = 1L;

        Unimplemented(String text, Details details, Throwable cause) {
            super(Status.Code.UNIMPLEMENTED, text, details, cause);
        }
    }

    /** A fault of the server; {@link #traceId()} finds it there. */
    public static final class InternalError extends MunimentException {
        private static final long serialVersionUID = 1L;

        InternalError(String text, Details details, Throwable cause) {
            super(Status.Code.INTERNAL, text, details, cause);
        }
    }

    /** The server cannot be reached, or it cannot reach what it needs; tried again already. */
    public static final class Unavailable extends MunimentException {
        private static final long serialVersionUID = 1L;

        Unavailable(String text, Details details, Throwable cause) {
            super(Status.Code.UNAVAILABLE, text, details, cause);
        }
    }

    /** What was asked for is stored, but its seal does not hold: somebody changed the database. */
    public static final class DataLoss extends MunimentException {
        private static final long serialVersionUID = 1L;

        DataLoss(String text, Details details, Throwable cause) {
            super(Status.Code.DATA_LOSS, text, details, cause);
        }
    }

    /** The credential is missing or not accepted. */
    public static final class Unauthenticated extends MunimentException {
        private static final long serialVersionUID = 1L;

        Unauthenticated(String text, Details details, Throwable cause) {
            super(Status.Code.UNAUTHENTICATED, text, details, cause);
        }
    }
}
