/**
 * What calls fail with.
 *
 * Every call that does not succeed rejects with a MunimentError of the class of its gRPC status; `reason`
 * says exactly what happened and never changes its meaning. The transport's own error is kept as `cause`.
 * No error holds a credential, a query or the content of a memory.
 */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import { type Metadata, type ServiceError, status } from "@grpc/grpc-js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "./gen/google/rpc/status_pb.js";

/** Domain of the reasons of this service. */
export const DOMAIN = "muniment.dev";

/** Name of a gRPC status code, for example "ABORTED". */
export type Code = Exclude<keyof typeof status, "OK">;

/** One field that breaks its rules. */
export interface FieldViolation {
  /** Path of the field in the request, for example `items[0].content`. */
  readonly field: string;
  /** Id of the rule. */
  readonly rule: string;
  /** What is wrong, without the value. */
  readonly description: string;
}

/** What is known of a failure beside its message. */
export interface Failure {
  reason?: string;
  metadata?: Readonly<Record<string, string>>;
  fieldViolations?: readonly FieldViolation[];
  retryAfterMs?: number | undefined;
  traceId?: string;
  callId?: string;
  requestId?: string;
  local?: boolean;
  cause?: unknown;
}

/** A call failed. */
export class MunimentError extends Error {
  /** Name of the gRPC status code. */
  readonly code: Code;
  /**
   * Name of an ErrorReason of the contract without its prefix, or a newer server's; empty when the transport
   * failed before the service answered.
   */
  readonly reason: string;
  /** Details of the reason; its keys are documented at ErrorReason in the contract. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Fields that break their rules, at most 20. */
  readonly fieldViolations: readonly FieldViolation[];
  /** How long the service asks to wait before trying again; undefined when it asks nothing. */
  readonly retryAfterMs: number | undefined;
  /** W3C trace id of the call, 32 hex digits; empty if there is none. */
  readonly traceId: string;
  /** The server's id of the call, to be found in its log; empty if it did not answer. */
  readonly callId: string;
  /** The id under which the change was asked for, filled in by the client or not; empty for other calls. */
  readonly requestId: string;
  /** Refused before anything was sent. */
  readonly local: boolean;
  /** What happened, without the code and the reason that stand in `message`. */
  readonly detail: string;

  constructor(code: Code, detail: string, failure: Failure = {}) {
    const { reason = "", fieldViolations = [] } = failure;
    const name = reason === "" || reason === code ? code : `${code} (${reason})`;
    const lines = fieldViolations.map((each) => `\n  ${each.field}: ${each.description}`);
    super(
      `${name}: ${detail}${refused(reason, failure.metadata ?? {})}${lines.join("")}`,
      failure.cause === undefined ? {} : { cause: failure.cause },
    );
    this.name = new.target.name;
    this.code = code;
    this.detail = detail;
    this.reason = reason;
    this.metadata = failure.metadata ?? {};
    this.fieldViolations = fieldViolations;
    this.retryAfterMs = failure.retryAfterMs;
    this.traceId = failure.traceId ?? "";
    this.callId = failure.callId ?? "";
    this.requestId = failure.requestId ?? "";
    this.local = failure.local ?? false;
  }
}

/** Which of the causes that the message of a refusal names it was. */
function refused(reason: string, metadata: Readonly<Record<string, string>>): string {
  const { permission = "", source_type: source = "" } = metadata;
  if (reason === "PERMISSION_DENIED" && permission !== "") {
    return ` (missing: ${permission})`;
  }
  return reason === "SOURCE_NOT_ALLOWED" && source !== "" ? ` (refused: ${source.toLowerCase()})` : "";
}

/** The call was cancelled, by its signal (then that is the `cause`) or on its way. */
export class CancelledError extends MunimentError {}
/** The request breaks a rule of the contract; the client finds some of that before sending. */
export class InvalidRequestError extends MunimentError {}
/** The time was used up. Whether a change took place is unknown: repeat it with the same `requestId`. */
export class DeadlineExceededError extends MunimentError {}
/** No such thing in this tenant. */
export class NotFoundError extends MunimentError {}
/** The request id, or the number of a turn, was used for something else. */
export class AlreadyExistsError extends MunimentError {}
/** The credential does not allow the call. */
export class PermissionDeniedError extends MunimentError {}
/** A quota is used up or the server has too many calls running; see `retryAfterMs`. */
export class ResourceExhaustedError extends MunimentError {}
/** The memory is in a state that does not allow the call. */
export class FailedPreconditionError extends MunimentError {}
/** Somebody else changed it in the meantime: read again, decide again. */
export class ConflictError extends MunimentError {}
/** The consistency token is too old to be understood. */
export class OutOfRangeError extends MunimentError {}
/** The server does not offer the method, or not with these arguments. */
export class UnimplementedError extends MunimentError {}
/** A fault of the server; `traceId` finds it there. */
export class InternalError extends MunimentError {}
/** The server cannot be reached, or it cannot reach what it needs; tried again already. */
export class UnavailableError extends MunimentError {}
/** What was asked for is stored, but its seal does not hold: somebody changed the database. */
export class DataLossError extends MunimentError {}
/** The credential is missing or not accepted. */
export class UnauthenticatedError extends MunimentError {}

const CLASSES: Readonly<Record<Code, typeof MunimentError>> = {
  CANCELLED: CancelledError,
  UNKNOWN: MunimentError,
  INVALID_ARGUMENT: InvalidRequestError,
  DEADLINE_EXCEEDED: DeadlineExceededError,
  NOT_FOUND: NotFoundError,
  ALREADY_EXISTS: AlreadyExistsError,
  PERMISSION_DENIED: PermissionDeniedError,
  RESOURCE_EXHAUSTED: ResourceExhaustedError,
  FAILED_PRECONDITION: FailedPreconditionError,
  ABORTED: ConflictError,
  OUT_OF_RANGE: OutOfRangeError,
  UNIMPLEMENTED: UnimplementedError,
  INTERNAL: InternalError,
  UNAVAILABLE: UnavailableError,
  DATA_LOSS: DataLossError,
  UNAUTHENTICATED: UnauthenticatedError,
};

/** An error of the class of its code. */
export function failed(code: Code, detail: string, failure: Failure = {}): MunimentError {
  return new CLASSES[code](code, detail, failure);
}

/** One field is wrong, found before anything was sent. */
export function invalid(field: string, rule: string, description: string): MunimentError {
  return failed("INVALID_ARGUMENT", `${field} ${description}`, {
    reason: "INVALID_REQUEST",
    metadata: { violation_count: "1" },
    fieldViolations: [{ field, rule, description }],
    local: true,
  });
}

/** Whether it is what the transport fails with. */
export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "metadata" in error && typeof error.code === "number";
}

/** From what the transport failed with. `known`: what the client itself knows of the call. */
export function toError(error: ServiceError, known: Failure): MunimentError {
  const code = (status[error.code] ?? "UNKNOWN") as Code;
  const failure: Failure = { ...known, cause: error };
  const callId = error.metadata.get("muniment-request-id")[0];
  if (typeof callId === "string") failure.callId = callId;
  readDetails(error.metadata, failure);
  return failed(code, error.details || "the call failed", failure);
}

/** Read google.rpc.Status out of the trailers. */
function readDetails(trailers: Metadata, failure: Failure): void {
  const raw = trailers.get("grpc-status-details-bin")[0];
  if (!(raw instanceof Uint8Array)) return;
  try {
    for (const packed of fromBinary(StatusSchema, raw).details) {
      const info = anyUnpack(packed, ErrorInfoSchema);
      // A proxy on the way has reasons of its own.
      if (info?.domain === DOMAIN) {
        failure.reason = info.reason;
        failure.metadata = info.metadata;
      }
      const bad = anyUnpack(packed, BadRequestSchema);
      if (bad !== undefined) {
        failure.fieldViolations = bad.fieldViolations.map((each) => ({
          field: each.field,
          rule: each.reason,
          description: each.description,
        }));
      }
      const retry = anyUnpack(packed, RetryInfoSchema);
      if (retry !== undefined) {
        failure.retryAfterMs = retry.retryDelay === undefined ? 0 : durationMs(retry.retryDelay);
      }
      const request = anyUnpack(packed, RequestInfoSchema);
      if (request !== undefined) failure.traceId = request.requestId;
    }
  } catch {
    // Details that cannot be read do not make the error another one.
  }
}
