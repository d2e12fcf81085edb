/**
 * OpenTelemetry of the client, through the API alone: without an SDK all of this does nothing.
 *
 * One CLIENT span per call. Memory operations follow the GenAI memory conventions (in development, no release
 * yet), the other methods the RPC conventions of SCHEMA_URL. Nothing that a caller wrote to remember, and no
 * query, is ever an attribute.
 */
import type { Message } from "@bufbuild/protobuf";
import type { Metadata } from "@grpc/grpc-js";
import {
  type Context,
  context as contexts,
  type Histogram,
  isSpanContextValid,
  metrics,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { MunimentError } from "./errors.js";
import type { Attributes, Rpc } from "./methods.js";
import { VERSION } from "./version.js";

const SCHEMA_URL = "https://opentelemetry.io/schemas/1.44.0";
// Renamed to rpc.status_code after schema 1.44.0; changes together with SCHEMA_URL.
const RPC_STATUS_CODE = "rpc.response.status_code";
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
// 50 UUIDs stay under the 2 kB at which some trace stores cut values.
const STAMPED_IDS = 50;

/** Makes the spans and measures of one client. */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #duration: Histogram;
  readonly #server: Attributes;

  constructor(host: string, port: number | undefined) {
    this.#tracer = trace.getTracerProvider().getTracer("muniment.client", VERSION, { schemaUrl: SCHEMA_URL });
    this.#duration = metrics
      .getMeter("muniment.client", VERSION, { schemaUrl: SCHEMA_URL })
      .createHistogram("rpc.client.call.duration", {
        unit: "s",
        description: "Duration of outbound calls, retries included.",
        advice: { explicitBucketBoundaries: BUCKETS },
      });
    this.#server = { "server.address": host, ...(port === undefined ? {} : { "server.port": port }) };
  }

  /** The span of a call. */
  start(rpc: Rpc, request: Message | undefined, parent: Context = contexts.active()): CallSpan {
    const attributes: Attributes =
      rpc.operation === undefined
        ? { "rpc.system.name": "grpc", "rpc.method": rpc.name, ...this.#server }
        : { "gen_ai.operation.name": rpc.operation, "gen_ai.provider.name": "muniment", ...this.#server };
    const span = this.#tracer.startSpan(rpc.operation ?? rpc.name, { kind: SpanKind.CLIENT, attributes }, parent);
    if (request !== undefined && span.isRecording()) {
      span.setAttributes(rpc.requestAttributes(request));
      const id = (request as { requestId?: string }).requestId;
      if (id) span.setAttribute("muniment.request.id", id);
    }
    return new CallSpan(rpc, span, this.#duration, this.#server);
  }

  /** A span of the client's own around a model call that nobody traces. */
  startModelCall(parent: Context): Span {
    return this.#tracer.startSpan("muniment.model_call", { kind: SpanKind.INTERNAL }, parent);
  }
}

/** The span of one call. */
export class CallSpan {
  readonly #started = performance.now();

  constructor(
    private readonly rpc: Rpc,
    readonly span: Span,
    private readonly duration: Histogram,
    private readonly server: Attributes,
  ) {}

  /** To link to; undefined when nothing is traced. */
  get context(): SpanContext | undefined {
    const context = this.span.spanContext();
    return isSpanContextValid(context) ? context : undefined;
  }

  /** Write the W3C trace context into metadata. Not by the global propagator: that one may send baggage, too. */
  inject(metadata: Metadata): void {
    const context = this.context;
    if (context === undefined) return;
    const flags = (context.traceFlags & 1).toString().padStart(2, "0");
    metadata.set("traceparent", `00-${context.traceId}-${context.spanId}-${flags}`);
    const state = context.traceState?.serialize();
    if (state) metadata.set("tracestate", state);
  }

  /** The call succeeded. */
  answered(response?: Message): void {
    if (response !== undefined && this.span.isRecording()) {
      this.span.setAttributes(this.rpc.responseAttributes(response));
    }
    this.#end("OK");
  }

  /** The call failed. */
  failed(error: unknown): void {
    const known = error instanceof MunimentError ? error : undefined;
    const code = known?.code ?? "UNKNOWN";
    if (this.span.isRecording()) {
      this.span.setAttribute("error.type", known?.reason || known?.code || nameOf(error));
      if (known?.reason) this.span.setAttribute("muniment.error.reason", known.reason);
      // The text of an error is nobody's business in a trace.
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#end(code);
  }

  #end(code: string): void {
    if (this.rpc.operation === undefined) this.span.setAttribute(RPC_STATUS_CODE, code);
    this.duration.record((performance.now() - this.#started) / 1000, {
      "rpc.system.name": "grpc",
      "rpc.method": this.rpc.name,
      [RPC_STATUS_CODE]: code,
      ...this.server,
      ...(code === "OK" ? {} : { "error.type": code }),
    });
    this.span.end();
  }
}

/** What an error is called, without what it says. */
export function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/** Attributes that say which memories of which recall entered a prompt. */
export function stampAttributes(recallId: string, memoryIds: readonly string[]): Attributes {
  const omitted = memoryIds.length - STAMPED_IDS;
  return {
    "muniment.recall.id": recallId,
    "muniment.recall.memory.ids": memoryIds.slice(0, STAMPED_IDS),
    ...(omitted > 0 ? { "muniment.recall.memory.omitted": omitted } : {}),
  };
}

/** Write a recall and the memories used of it onto a span, and link it. */
export function stamp(
  span: Span | undefined,
  recallId: string,
  memoryIds: readonly string[],
  recall: SpanContext | undefined,
): void {
  if (!span?.isRecording()) return;
  const attributes = stampAttributes(recallId, memoryIds);
  span.setAttributes(attributes);
  // The link says it again, because a second recall stamped onto the span overwrites the first.
  if (recall !== undefined) span.addLink({ context: recall, attributes });
}
