import { type Span, type SpanContext, trace } from "@opentelemetry/api";
import type { RecallResponse } from "./gen/muniment/v1/memory_service_pb.js";
import type { RankedMemory } from "./gen/muniment/v1/recall_pb.js";
import { stamp } from "./tracing.js";

/** The answer to a recall, best first: iterate it, or look into `response` for all of it. */
export class Recalled implements Iterable<RankedMemory> {
  constructor(
    /** The answer as it came. */
    readonly response: RecallResponse,
    /** The span that the recall was made in; undefined when nothing is traced. */
    readonly span: SpanContext | undefined,
  ) {}

  get memories(): readonly RankedMemory[] {
    return this.response.memories;
  }

  get recallId(): string {
    return this.response.recallId;
  }

  /** The block for a prompt; empty when the request had no token budget. */
  get context(): string {
    return this.response.packedContext?.text ?? "";
  }

  /** Ids of all memories, best first. */
  get memoryIds(): string[] {
    return this.memories.map((each) => each.memory?.memoryId ?? "");
  }

  /** Ids that stand in the packed context in its order, or of all memories if none was packed. */
  get promptMemoryIds(): string[] {
    return this.response.packedContext?.memoryIds ?? this.memoryIds;
  }

  /**
   * Write onto a span (by default the active one) which memories entered its prompt (by default
   * `promptMemoryIds`), and link it to the span of the recall. At most 50 ids are written, the number of the others
   * as `muniment.recall.memory.omitted`.
   */
  stamp(
    span: Span | undefined = trace.getActiveSpan(),
    memoryIds: readonly string[] = this.promptMemoryIds,
  ): void {
    stamp(span, this.recallId, memoryIds, this.span);
  }

  [Symbol.iterator](): Iterator<RankedMemory> {
    return this.memories[Symbol.iterator]();
  }
}
