/** One call: metadata, deadline, repetition, trace, error. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Client, Metadata, type CallOptions as TransportOptions } from "@grpc/grpc-js";
import type { Context, SpanContext } from "@opentelemetry/api";
import { type Failure, failed, isServiceError, type MunimentError, toError, UnavailableError } from "./errors.js";
import type { Rpc } from "./methods.js";
import { checked, type Settings } from "./settings.js";
import { type CallSpan, Tracing } from "./tracing.js";
import { completed } from "./values.js";

/** What every call takes beside its request. */
export interface CallOptions {
  /** Milliseconds that the call may take, repetitions included; for an iterator: each page. */
  timeoutMs?: number;
  /** Cancels the call. */
  signal?: AbortSignal;
  /** The OpenTelemetry context that the call belongs to; default: the active one. */
  context?: Context;
}

/** What a call answered, and the span that it was made in. */
export interface Answer<M> {
  readonly message: M;
  readonly span: SpanContext | undefined;
}

// Rounds of one call, the first included; as many as the service config has attempts.
const ROUNDS = 4;
// Upwards only: callers that were refused together must not come back together, nor too early.
const SPREAD = 0.25;
const LEAST_MS = 20;

/** Checks that a streamed answer came to its end: takes every message, and undefined after the last. */
export type Tally<M> = (message: M | undefined) => void;

/** A call under way: its deadline, and what ends it early. */
interface Running {
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Makes calls over one channel, which is opened by the first of them. */
export class Calls {
  readonly settings: Settings;
  readonly tracing: Tracing;
  readonly #transport: Client;
  readonly #running = new Set<AbortController>();
  #closed: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(settings: Settings) {
    this.settings = settings;
    this.#transport = new Client(settings.target, settings.channel, settings.options);
    this.tracing = new Tracing(settings.host, settings.port);
  }

  /**
   * Make a call that answers once.
   *
   * gRPC itself repeats what failed with UNAVAILABLE, as the contract's service config says, and waits as
   * long as the trailer grpc-retry-pushback-ms asks for. Its attempts may be used up or throttled, and a proxy
   * may drop the trailer; gRPC does not know RetryInfo. What is left of the deadline is used here to ask again
   * after it.
   */
  async unary<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<Answer<MessageShape<O>>> {
    return this.#during(rpc, options, async (running) => {
      const request = completed(rpc.input, init);
      const span = this.tracing.start(rpc as Rpc, request, options.context);
      try {
        const message = await this.#rounds(rpc, request, span, running);
        span.answered(message);
        return { message, span: span.context };
      } catch (error) {
        span.failed(error);
        throw error;
      }
    });
  }

  async #rounds<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    request: MessageShape<I>,
    span: CallSpan,
    running: Running,
  ): Promise<MessageShape<O>> {
    const requestId = (request as { requestId?: string }).requestId ?? "";
    for (let round = 1; ; round++) {
      const metadata = await this.#metadata(span, running);
      let failure: MunimentError;
      try {
        return await this.#once(rpc, request, metadata, running);
      } catch (error) {
        failure = translated(error, running, { traceId: span.context?.traceId ?? "", requestId });
      }
      const wait = delayOf(failure, round, running);
      if (wait === undefined) throw failure;
      await sleep(wait, undefined, { signal: running.signal }).catch(() => {
        throw cancelled(running, { requestId });
      });
    }
  }

  #once<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    request: MessageShape<I>,
    metadata: Metadata,
    running: Running,
  ): Promise<MessageShape<O>> {
    return new Promise((resolve, reject) => {
      const call = this.#transport.makeUnaryRequest(
        rpc.path,
        rpc.serialize,
        rpc.deserialize,
        request,
        metadata,
        transportOptions(running),
        (error, message) => {
          running.signal.removeEventListener("abort", cancel);
          if (error !== null) reject(error);
          else if (message === undefined) reject(failed("INTERNAL", "no answer"));
          else resolve(message);
        },
      );
      const cancel = () => call.cancel();
      running.signal.addEventListener("abort", cancel, { once: true });
    });
  }

  /** Make a call that answers with a stream. What has begun is not repeated. */
  async *serverStream<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    init: MessageInitShape<I>,
    tally: Tally<MessageShape<O>>,
    options: CallOptions,
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    const { running, end } = this.#begin(rpc, options);
    try {
      const request = completed(rpc.input, init);
      const span = this.tracing.start(rpc as Rpc, request, options.context);
      const known: Failure = { traceId: span.context?.traceId ?? "" };
      try {
        const metadata = await this.#metadata(span, running);
        const call = this.#transport.makeServerStreamRequest(
          rpc.path,
          rpc.serialize,
          rpc.deserialize,
          request,
          metadata,
          transportOptions(running),
        );
        const cancel = () => call.cancel();
        running.signal.addEventListener("abort", cancel, { once: true });
        try {
          for await (const message of call as AsyncIterable<MessageShape<O>>) {
            tally(message);
            yield message;
          }
        } finally {
          running.signal.removeEventListener("abort", cancel);
          // A reader that stops early must not leave the server sending.
          call.cancel();
        }
        tally(undefined);
      } catch (error) {
        const failure = translated(error, running, known);
        span.failed(failure);
        throw failure;
      }
      span.answered();
    } finally {
      end();
    }
  }

  /** Make a call that takes a stream and answers once. */
  async clientStream<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    inits: Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    return this.#during(rpc, options, async (running) => {
      const span = this.tracing.start(rpc as Rpc, undefined, options.context);
      const known: Failure = { traceId: span.context?.traceId ?? "" };
      try {
        const metadata = await this.#metadata(span, running);
        const message = await this.#send(rpc, inits, metadata, running, (id) => {
          known.requestId = id;
          span.span.setAttribute("muniment.request.id", id);
        });
        span.answered(message);
        return message;
      } catch (error) {
        const failure = translated(error, running, known);
        span.failed(failure);
        throw failure;
      }
    });
  }

  async #send<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    inits: Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>,
    metadata: Metadata,
    running: Running,
    identified: (requestId: string) => void,
  ): Promise<MessageShape<O>> {
    let settled = false;
    const { promise, resolve, reject } = withResolvers<MessageShape<O>>();
    const call = this.#transport.makeClientStreamRequest(
      rpc.path,
      rpc.serialize,
      rpc.deserialize,
      metadata,
      transportOptions(running),
      (error, message) => {
        settled = true;
        if (error !== null) reject(error);
        else if (message === undefined) reject(failed("INTERNAL", "no answer"));
        else resolve(message);
      },
    );
    // Awaited below; until then a failure is nobody's unhandled rejection.
    promise.catch(() => {});
    const cancel = () => call.cancel();
    running.signal.addEventListener("abort", cancel, { once: true });
    try {
      let first = true;
      for await (const init of inits) {
        if (settled) break;
        // Only the first request of a stream is given a request id.
        const message = completed(rpc.input, init, first);
        if (first) identified((message as { requestId?: string }).requestId ?? "");
        first = false;
        if (!call.write(message)) {
          await Promise.race([new Promise((drained) => call.once("drain", drained)), promise.catch(() => {})]);
        }
      }
      call.end();
      return await promise;
    } catch (error) {
      // What the caller's own iterable throws ends the call.
      call.cancel();
      throw error;
    } finally {
      running.signal.removeEventListener("abort", cancel);
    }
  }

  async #metadata(span: CallSpan, running: Running): Promise<Metadata> {
    const made = new Metadata();
    const credential = checked(await inTime(this.settings.credential(), running));
    made.set("authorization", `Bearer ${credential}`);
    made.set("muniment-tenant", this.settings.tenant);
    made.set("muniment-client", this.settings.clientName);
    span.inject(made);
    return made;
  }

  #begin(rpc: Pick<Rpc, "deadline">, options: CallOptions): { running: Running; end: () => void } {
    if (this.#closed !== undefined) throw new Error("the client is closed");
    const timeout = options.timeoutMs ?? this.settings.deadlines[rpc.deadline];
    if (!(timeout > 0)) throw new TypeError(`timeoutMs must be above 0, not ${timeout}`);
    const controller = new AbortController();
    const given = options.signal;
    const abort = () => controller.abort(given?.reason);
    if (given?.aborted) abort();
    given?.addEventListener("abort", abort, { once: true });
    this.#running.add(controller);
    const end = () => {
      given?.removeEventListener("abort", abort);
      this.#running.delete(controller);
      if (this.#running.size === 0) this.#idle?.();
    };
    return { running: { deadline: Date.now() + timeout, signal: controller.signal }, end };
  }

  async #during<T>(
    rpc: Pick<Rpc, "deadline">,
    options: CallOptions,
    run: (running: Running) => Promise<T>,
  ): Promise<T> {
    const { running, end } = this.#begin(rpc, options);
    try {
      return await run(running);
    } finally {
      end();
    }
  }

  /** Refuse new calls, wait for those under way, then cut off the rest. */
  close(timeoutMs: number): Promise<void> {
    this.#closed ??= this.#close(timeoutMs);
    return this.#closed;
  }

  async #close(timeoutMs: number): Promise<void> {
    if (this.#running.size > 0) {
      const idle = new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
      const enough = new AbortController();
      const waited = sleep(timeoutMs, undefined, { signal: enough.signal }).catch(() => {});
      await Promise.race([idle, waited]);
      enough.abort();
      for (const each of this.#running) each.abort(new Error("the client was closed"));
    }
    this.#transport.close();
  }
}

function transportOptions(running: Running): TransportOptions {
  if (running.signal.aborted) throw cancelled(running, {});
  return { deadline: running.deadline };
}

function cancelled(running: Running, known: Failure): MunimentError {
  return failed("CANCELLED", "the call was cancelled", { ...known, cause: running.signal.reason });
}

function translated(error: unknown, running: Running, known: Failure): MunimentError {
  if (!isServiceError(error)) return error as MunimentError;
  return running.signal.aborted ? cancelled(running, known) : toError(error, known);
}

/** Milliseconds to wait before another round, or undefined to give up. */
function delayOf(failure: MunimentError, round: number, running: Running): number | undefined {
  const asked = failure.retryAfterMs;
  if (!(failure instanceof UnavailableError) || asked === undefined || round >= ROUNDS) return undefined;
  const wait = asked * (1 + Math.random() * SPREAD);
  return Date.now() + wait + LEAST_MS < running.deadline ? wait : undefined;
}

/** What a token source gives, unless it takes longer than the call may. */
async function inTime(given: string | Promise<string>, running: Running): Promise<string> {
  if (typeof given === "string") return given;
  const enough = new AbortController();
  const signal = AbortSignal.any([running.signal, enough.signal]);
  const late = sleep(Math.max(running.deadline - Date.now(), 0), undefined, { signal }).then(
    () => {
      throw failed("DEADLINE_EXCEEDED", "the token source took too long", { local: true });
    },
    () => {
      if (running.signal.aborted) throw cancelled(running, { local: true });
      return "";
    },
  );
  try {
    return await Promise.race([given, late]);
  } finally {
    enough.abort();
    late.catch(() => {});
  }
}

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
