/** The model call that recalled memories go into: its span says which, and the service hears which. */
import { type Context, context as contexts, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import type { CallOptions } from "./calls.js";
import { MunimentError } from "./errors.js";
import { UseOutcome } from "./gen/muniment/v1/audit_pb.js";
import type { Recalled } from "./recalled.js";
import { nameOf, stampAttributes, type Tracing } from "./tracing.js";

/** What `modelCall` takes. */
export interface ModelCallOptions {
  /** Name of the model that is prompted. */
  model?: string;
  /** Your pointer to the prompt, for example the id of a run; no personal data. */
  promptRef?: string;
  /** What the memories did for the prompt; not given: no judgement. */
  outcome?: UseOutcome;
  /** Ids of the memories that really entered the prompt; not given: the packed contexts, or everything. */
  memoryIds?: readonly string[];
  /** The span to stamp; not given: the active one or, when that is not recorded, a new one. */
  span?: Span;
  /** Throw when the report fails; otherwise it is warned of and kept as `reportError`. */
  strict?: boolean;
  /** The OpenTelemetry context; default: the active one. */
  context?: Context;
}

type Report = (
  use: { recallId: string; memoryIds: string[]; outcome: UseOutcome; model: string; promptRef: string },
  options: CallOptions,
) => Promise<unknown>;

/** One call of a model. What is not readonly may be set until the function given to `modelCall` ends. */
export class ModelCall {
  model: string;
  promptRef: string;
  outcome: UseOutcome;
  /** Why a report was not recorded, afterwards; undefined when all were. */
  reportError: MunimentError | undefined;
  readonly #recalls: readonly Recalled[];
  readonly #options: ModelCallOptions;
  #used: string[][];
  #span: Span | undefined;

  constructor(recalls: readonly Recalled[], options: ModelCallOptions) {
    this.#recalls = recalls;
    this.#options = options;
    this.model = options.model ?? "";
    this.promptRef = options.promptRef ?? "";
    this.outcome = options.outcome ?? UseOutcome.UNSPECIFIED;
    this.#used = recalls.map((each) => each.promptMemoryIds);
    if (options.memoryIds !== undefined) this.use(options.memoryIds);
  }

  /** The memories that will be reported. */
  get memoryIds(): string[] {
    return this.#used.flat();
  }

  /**
   * State which memories really entered the prompt, in their order there; may be none. Throws RangeError for a
   * memory that no recall of this call offered.
   */
  use(memoryIds: Iterable<string>): void {
    const used: string[][] = this.#recalls.map(() => []);
    for (const id of new Set(memoryIds)) {
      const at = this.#recalls.findIndex((each) => each.memoryIds.includes(id));
      if (at < 0) throw new RangeError(`memory ${id} was not offered by this recall`);
      used[at]?.push(id);
    }
    this.#used = used;
    if (this.#span !== undefined) this.#writeIds(this.#span);
  }

  /** Say it on one more span, for example one that was opened inside the function. */
  stamp(span: Span): void {
    this.#recalls.forEach((each, index) => {
      each.stamp(span, this.#used[index]);
    });
    this.#writeIds(span);
  }

  #writeIds(span: Span): void {
    const first = this.#recalls[0];
    if (first !== undefined && span.isRecording()) {
      span.setAttributes(stampAttributes(first.recallId, this.memoryIds));
    }
  }

  /** Used by the client. */
  async run<T>(
    body: (call: ModelCall) => Promise<T> | T,
    report: Report,
    tracing: Tracing,
    warn: (message: string) => void,
  ): Promise<T> {
    const parent = this.#options.context ?? contexts.active();
    const given = this.#options.span ?? trace.getSpan(parent);
    const own =
      this.#options.span === undefined && !given?.isRecording() ? tracing.startModelCall(parent) : undefined;
    const span = own ?? given;
    const context = own === undefined ? parent : trace.setSpan(parent, own);
    try {
      if (span !== undefined) this.stamp(span);
      this.#span = span;
      const result = await contexts.with(context, () => body(this));
      await this.#report(report, context, warn);
      return result;
    } catch (error) {
      own?.setAttribute("error.type", nameOf(error)).setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      own?.end();
    }
  }

  async #report(report: Report, context: Context, warn: (message: string) => void): Promise<void> {
    this.reportError = undefined;
    for (const [index, each] of this.#recalls.entries()) {
      const use = {
        recallId: each.recallId,
        memoryIds: this.#used[index] ?? [],
        outcome: this.outcome,
        model: this.model,
        promptRef: this.promptRef,
      };
      try {
        await report(use, { context });
      } catch (error) {
        // The model has answered; losing that answer to a failed report would be worse.
        if (this.#options.strict || !(error instanceof MunimentError)) throw error;
        this.reportError = error;
        warn(`muniment: the use of recall ${each.recallId} was not reported: ${error.reason || error.code}`);
      }
    }
  }
}
