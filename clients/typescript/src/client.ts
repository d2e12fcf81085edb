/** The client. */
import { inspect } from "node:util";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, Calls } from "./calls.js";
import { MunimentError } from "./errors.js";
import { tallyAudit, tallyMemories } from "./exports.js";
import type { AuditEvent, ExportAuditResponse } from "./gen/muniment/v1/audit_pb.js";
import type { ConsistencyToken } from "./gen/muniment/v1/consistency_pb.js";
import type { Memory } from "./gen/muniment/v1/memory_pb.js";
import type { Review } from "./gen/muniment/v1/review_pb.js";
import type { ExportMemoriesResponse } from "./gen/muniment/v1/subject_pb.js";
import { type Rpc, rpcs } from "./methods.js";
import { ModelCall, type ModelCallOptions } from "./model_call.js";
import { Pages } from "./pages.js";
import { Recalled } from "./recalled.js";
import type { Settings } from "./settings.js";
import { atLeastAsFresh } from "./values.js";

type Input<R> = R extends Rpc<infer I, DescMessage> ? MessageInitShape<I> : never;
type Output<R> = R extends Rpc<DescMessage, infer O> ? MessageShape<O> : never;
type Rpcs = typeof rpcs;
type Changed = { consistencyToken?: ConsistencyToken | undefined };

const TOKEN_REASONS = new Set([
  "CONSISTENCY_TOKEN_INVALID",
  "CONSISTENCY_TOKEN_FOREIGN",
  "CONSISTENCY_TOKEN_EXPIRED",
]);

/**
 * A client of one tenant; made by `connect`.
 *
 * Any number of calls may be under way at once over its one connection, which the first call opens; one client
 * is enough for a process. It belongs to the thread that made it. Every method rejects with a MunimentError when
 * the call does not succeed. Requests are messages of the contract, or plain objects of their shape; a call does not
 * change them.
 */
export class Client implements AsyncDisposable {
  readonly #calls: Calls;
  readonly #settings: Settings;
  #token: ConsistencyToken | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#calls = new Calls(settings);
  }

  /** Names the target and the tenant, and nothing secret. */
  toString(): string {
    return `muniment.Client(${this.#settings.target}, tenant ${this.#settings.tenant})`;
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }

  /** Refuse new calls, wait at most `timeoutMs` (default 5 s) for those under way, then cut off the rest. */
  async close(options: { timeoutMs?: number } = {}): Promise<void> {
    await this.#calls.close(options.timeoutMs ?? 5_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The state of the store after the freshest change that was answered; undefined before the first one. */
  get consistencyToken(): ConsistencyToken | undefined {
    return this.#token;
  }

  async #call<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    return (await this.#calls.unary(rpc, request, options)).message;
  }

  async #change<I extends DescMessage, O extends DescMessage>(
    rpc: Rpc<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<MessageShape<O>> {
    const message = await this.#call(rpc, request, options);
    // A dry run changed nothing.
    if (!(request as { validateOnly?: boolean }).validateOnly) this.#wrote(message as Changed);
    return message;
  }

  /** Hold the token of a change, unless it is older than the one held; a server that tells no order is believed. */
  #wrote(message: Changed): void {
    const answered = message.consistencyToken;
    if (answered === undefined) return;
    const older = answered.order !== 0n && answered.order < (this.#token?.order ?? 0n);
    if (!older) this.#token = answered;
  }

  #warn(broken: readonly string[]): void {
    if (broken.length > 0) {
      this.#settings.warn(
        `muniment: left out of a list, changed behind the service's back: memories ${broken.join(", ")}`,
      );
    }
  }

  /**
   * Store statements: all of them or none. The same statement reinforces the memory that is there; a slot
   * that is held supersedes its holder; nothing is merged by likeness. See the outcome of each result.
   */
  write(request: Input<Rpcs["write"]>, options: CallOptions = {}): Promise<Output<Rpcs["write"]>> {
    return this.#change(rpcs.write, request, options);
  }

  /**
   * Find what is relevant to a query, ranked. Without a `consistency` in the request it sees every write of this
   * client (and waits for their vectors, if the server makes them later), unless `readYourWrites` is false.
   */
  async recall(request: Input<Rpcs["recall"]>, options: CallOptions = {}): Promise<Recalled> {
    const own = request.consistency === undefined && this.#settings.readYourWrites ? this.#token : undefined;
    const wanted = own === undefined ? request : { ...request, consistency: atLeastAsFresh(own) };
    try {
      const { message, span } = await this.#calls.unary(rpcs.recall, plain(wanted), options);
      return new Recalled(message, span);
    } catch (error) {
      if (own === undefined || !(error instanceof MunimentError) || !TOKEN_REASONS.has(error.reason)) throw error;
      // Nobody asked for this token: the store was replaced or has moved on, so it says nothing.
      if (this.#token === own) this.#token = undefined;
      const { message, span } = await this.#calls.unary(rpcs.recall, request, options);
      return new Recalled(message, span);
    }
  }

  /**
   * Wrap the model call that recalled memories go into, so that its prompt can be proven:
   *
   *     const answer = await client.modelCall(recalled, () => model.chat(prompt + recalled.context), {
   *       model: "some-model",
   *     });
   *
   * The span of the model call is stamped with the ids of the memories and linked to the recall. When the function
   * succeeds, the use is reported; when it throws, nothing is.
   */
  modelCall<T>(
    recalled: Recalled | readonly Recalled[],
    body: (call: ModelCall) => Promise<T> | T,
    options: ModelCallOptions = {},
  ): Promise<T> {
    const call = new ModelCall(recalled instanceof Recalled ? [recalled] : recalled, options);
    return call.run(body, (use, each) => this.reportUse(use, each), this.#calls.tracing, this.#settings.warn);
  }

  /** Replace a memory by a new one, in one step; the old one stays as history. */
  supersede(request: Input<Rpcs["supersede"]>, options: CallOptions = {}): Promise<Output<Rpcs["supersede"]>> {
    return this.#change(rpcs.supersede, request, options);
  }

  /** Make a superseded or archived memory live again. */
  restore(request: Input<Rpcs["restore"]>, options: CallOptions = {}): Promise<Output<Rpcs["restore"]>> {
    return this.#change(rpcs.restore, request, options);
  }

  /** End a memory that was true until now; nothing replaces it. */
  retract(request: Input<Rpcs["retract"]>, options: CallOptions = {}): Promise<Output<Rpcs["retract"]>> {
    return this.#change(rpcs.retract, request, options);
  }

  /** Take back a whole write, supersede or import by its request id. */
  undoWrite(request: Input<Rpcs["undoWrite"]>, options: CallOptions = {}): Promise<Output<Rpcs["undoWrite"]>> {
    return this.#change(rpcs.undoWrite, request, options);
  }

  /**
   * Erase for good: memories by id, one session, what a filter finds, or everything about a subject or in a
   * space, keys included. When it returns, nothing erased is served any more; if the receipt is PENDING, poll
   * `getErasure` for the rest.
   */
  erase(request: Input<Rpcs["erase"]>, options: CallOptions = {}): Promise<Output<Rpcs["erase"]>> {
    return this.#change(rpcs.erase, request, options);
  }

  /** The receipt of an erasure as it stands now. */
  getErasure(request: Input<Rpcs["getErasure"]>, options: CallOptions = {}): Promise<Output<Rpcs["getErasure"]>> {
    return this.#call(rpcs.getErasure, request, options);
  }

  /** One memory in whatever state, with its revisions if asked for; an erased one is a tombstone. */
  getMemory(request: Input<Rpcs["getMemory"]>, options: CallOptions = {}): Promise<Output<Rpcs["getMemory"]>> {
    return this.#call(rpcs.getMemory, request, options);
  }

  /** The memories of a scope, newest first: `for await (const memory of client.listMemories(...))`. */
  listMemories(request: Input<Rpcs["listMemories"]>, options: CallOptions = {}): Pages<Memory> {
    return new Pages(request.pageToken ?? "", async (pageToken) => {
      const answer = await this.#call(rpcs.listMemories, plain({ ...request, pageToken }), options);
      this.#warn(answer.sealBrokenMemoryIds);
      return { ...answer, items: answer.memories };
    });
  }

  /** State which memories of a recall really entered a prompt; `modelCall` does it for you. */
  reportUse(request: Input<Rpcs["reportUse"]>, options: CallOptions = {}): Promise<Output<Rpcs["reportUse"]>> {
    return this.#change(rpcs.reportUse, request, options);
  }

  /** Take in turns of a conversation: keep them and make candidate memories of them. */
  ingest(request: Input<Rpcs["ingest"]>, options: CallOptions = {}): Promise<Output<Rpcs["ingest"]>> {
    return this.#change(rpcs.ingest, request, options);
  }

  /**
   * Take in a conversation as it goes on: any number of requests of one scope, from an iterable that may be
   * asynchronous. Each is stored when it arrives. It is not repeated: after an error repeat all of it, which does no
   * harm, since each turn is taken in once.
   */
  async streamIngest(
    requests: Iterable<Input<Rpcs["streamIngest"]>> | AsyncIterable<Input<Rpcs["streamIngest"]>>,
    options: CallOptions = {},
  ): Promise<Output<Rpcs["streamIngest"]>> {
    const answer = await this.#calls.clientStream(rpcs.streamIngest, requests, options);
    this.#wrote(answer);
    return answer;
  }

  /** How far an ingest has come. */
  getIngest(request: Input<Rpcs["getIngest"]>, options: CallOptions = {}): Promise<Output<Rpcs["getIngest"]>> {
    return this.#call(rpcs.getIngest, request, options);
  }

  /** The audit trail, newest first, all pages of it. Events recorded meanwhile do not disturb the pages. */
  audit(request: Input<Rpcs["audit"]>, options: CallOptions = {}): Pages<AuditEvent> {
    return new Pages(request.pageToken ?? "", async (pageToken) => {
      const answer = await this.#call(rpcs.audit, plain({ ...request, pageToken }), options);
      return { ...answer, items: answer.events, sealBrokenMemoryIds: [] };
    });
  }

  /** The durable record of a recall: what was offered, in which revision, why, and what was used. */
  getRecall(request: Input<Rpcs["getRecall"]>, options: CallOptions = {}): Promise<Output<Rpcs["getRecall"]>> {
    return this.#call(rpcs.getRecall, request, options);
  }

  /**
   * The tenant's chain in ascending order, with all that somebody outside needs to check it. Throws
   * UnavailableError when the trailer is missing or counts other events than arrived; go on with `fromSequence`.
   */
  exportAudit(
    request: Input<Rpcs["exportAudit"]> = {},
    options: CallOptions = {},
  ): AsyncGenerator<ExportAuditResponse, void, undefined> {
    return this.#calls.serverStream(rpcs.exportAudit, request, tallyAudit(), options);
  }

  /** What waits for a person's decision, oldest first, all pages of it. */
  listReviews(request: Input<Rpcs["listReviews"]> = {}, options: CallOptions = {}): Pages<Review> {
    return new Pages(request.pageToken ?? "", async (pageToken) => {
      const answer = await this.#call(rpcs.listReviews, plain({ ...request, pageToken }), options);
      this.#warn(answer.sealBrokenMemoryIds);
      return { ...answer, items: answer.reviews };
    });
  }

  /** Decide one review. */
  decideReview(
    request: Input<Rpcs["decideReview"]>,
    options: CallOptions = {},
  ): Promise<Output<Rpcs["decideReview"]>> {
    return this.#change(rpcs.decideReview, request, options);
  }

  /** Change what may be remembered about a subject; it holds at once, everywhere. */
  setConsent(request: Input<Rpcs["setConsent"]>, options: CallOptions = {}): Promise<Output<Rpcs["setConsent"]>> {
    return this.#change(rpcs.setConsent, request, options);
  }

  /** What the subject decided. */
  getConsent(request: Input<Rpcs["getConsent"]>, options: CallOptions = {}): Promise<Output<Rpcs["getConsent"]>> {
    return this.#call(rpcs.getConsent, request, options);
  }

  /** Plain words about what is stored, why and how long. */
  describeSubject(
    request: Input<Rpcs["describeSubject"]>,
    options: CallOptions = {},
  ): Promise<Output<Rpcs["describeSubject"]>> {
    return this.#call(rpcs.describeSubject, request, options);
  }

  /**
   * Everything that is remembered about a subject, oldest first. Throws UnavailableError when the last message is
   * missing or counts other records than arrived.
   */
  exportMemories(
    request: Input<Rpcs["exportMemories"]>,
    options: CallOptions = {},
  ): AsyncGenerator<ExportMemoriesResponse, void, undefined> {
    const tally = tallyMemories((ids) => this.#warn(ids));
    return this.#calls.serverStream(rpcs.exportMemories, request, tally, options);
  }

  /** Take in memories from elsewhere, all or none. */
  importMemories(
    request: Input<Rpcs["importMemories"]>,
    options: CallOptions = {},
  ): Promise<Output<Rpcs["importMemories"]>> {
    return this.#change(rpcs.importMemories, request, options);
  }
}

/** A message spread into an object is none any more: without its type's name it is read as a plain one. */
function plain<T extends object>(init: T): Omit<T, "$typeName" | "$unknown"> {
  const { $typeName, $unknown, ...rest } = init as T & { $typeName?: string; $unknown?: unknown };
  return rest as Omit<T, "$typeName" | "$unknown">;
}
