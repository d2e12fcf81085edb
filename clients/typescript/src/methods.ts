/** The methods of the contract: name, deadline, and what a trace says about a call of them. */
import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  type Message,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { AttributeValue } from "@opentelemetry/api";
import { AuditService } from "./gen/muniment/v1/audit_pb.js";
import type { UndoWriteResponse } from "./gen/muniment/v1/correction_pb.js";
import type { IngestRequest } from "./gen/muniment/v1/ingest_pb.js";
import type { Scope } from "./gen/muniment/v1/memory_pb.js";
import type {
  EraseRequest,
  EraseResponse,
  RecallResponse,
  ReportUseRequest,
  SupersedeResponse,
  WriteRequest,
} from "./gen/muniment/v1/memory_service_pb.js";
import { MemoryService } from "./gen/muniment/v1/memory_service_pb.js";
import { ReviewService } from "./gen/muniment/v1/review_pb.js";
import { type ImportMemoriesRequest, SubjectService } from "./gen/muniment/v1/subject_pb.js";
import type { Deadlines } from "./settings.js";

export type Attributes = Record<string, AttributeValue>;

/** One method. */
export interface Rpc<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  /** Fully qualified, without a leading slash. */
  readonly name: string;
  readonly path: string;
  readonly input: I;
  readonly deadline: keyof Deadlines;
  /** Operation of the GenAI memory conventions, undefined for methods that are none. */
  readonly operation: string | undefined;
  serialize(message: MessageShape<I>): Buffer;
  deserialize(raw: Buffer): MessageShape<O>;
  requestAttributes(message: Message): Attributes;
  responseAttributes(message: Message): Attributes;
}

interface Description {
  request?: (message: never) => Attributes;
  response?: (message: never) => Attributes;
}

function rpc<I extends DescMessage, O extends DescMessage>(
  method: DescMethod & { input: I; output: O },
  deadline: keyof Deadlines = "other",
  operation?: string,
  description: Description = {},
): Rpc<I, O> {
  const name = `${method.parent.typeName}/${method.name}`;
  const request = (description.request ?? nothing) as (message: Message) => Attributes;
  const response = (description.response ?? nothing) as (message: Message) => Attributes;
  return {
    name,
    path: `/${name}`,
    input: method.input,
    deadline,
    operation,
    serialize: (message) => {
      const made = toBinary(method.input, message);
      return Buffer.from(made.buffer, made.byteOffset, made.byteLength);
    },
    deserialize: (raw) => fromBinary(method.output, raw),
    requestAttributes: request,
    responseAttributes: response,
  };
}

const nothing = (): Attributes => ({});
const count = (number: number | bigint): Attributes => ({ "gen_ai.memory.record.count": Number(number) });

function narrowing(scope: Scope | undefined): Attributes {
  return {
    ...(scope?.agent === undefined ? {} : { "gen_ai.agent.id": scope.agent }),
    ...(scope?.session === undefined ? {} : { "gen_ai.conversation.id": scope.session }),
  };
}

const oneMemory: Description = {
  request: (message: { memoryId: string }) => ({ "gen_ai.memory.record.id": message.memoryId, ...count(1) }),
};

const { method: memory } = MemoryService;
const { method: audit } = AuditService;
const { method: review } = ReviewService;
const { method: subject } = SubjectService;

// Upsert, not create: a write may reinforce or supersede what is there.
export const rpcs = {
  write: rpc(memory.write, "write", "upsert_memory", {
    request: (message: WriteRequest) => ({ ...narrowing(message.scope), ...count(message.items.length) }),
  }),
  recall: rpc(memory.recall, "recall", "search_memory", {
    request: (message: { scope?: Scope }) => narrowing(message.scope),
    response: (message: RecallResponse) => ({
      ...count(message.memories.length),
      "muniment.recall.id": message.recallId,
    }),
  }),
  supersede: rpc(memory.supersede, "supersede", "update_memory", {
    ...oneMemory,
    response: (message: SupersedeResponse) =>
      message.memory === undefined ? {} : { "muniment.supersede.new_id": message.memory.memoryId },
  }),
  erase: rpc(memory.erase, "erase", "delete_memory", {
    request: (message: EraseRequest) => {
      const target = message.target?.target;
      const ids = target?.case === "memories" ? target.value.memoryIds : [];
      return ids.length === 1 && ids[0] !== undefined ? { "gen_ai.memory.record.id": ids[0] } : {};
    },
    response: (message: EraseResponse) => ({
      ...count(message.receipt?.counts?.memories ?? 0n),
      ...(message.receipt?.erasureId ? { "muniment.erasure.id": message.receipt.erasureId } : {}),
    }),
  }),
  getErasure: rpc(memory.getErasure),
  getMemory: rpc(memory.getMemory),
  listMemories: rpc(memory.listMemories),
  reportUse: rpc(memory.reportUse, "other", undefined, {
    request: (message: ReportUseRequest) => ({ "muniment.recall.id": message.recallId }),
  }),
  ingest: rpc(memory.ingest, "ingest", "upsert_memory", {
    request: (message: IngestRequest) => ({ ...narrowing(message.scope), ...count(message.turns.length) }),
  }),
  streamIngest: rpc(memory.streamIngest, "export", "upsert_memory"),
  getIngest: rpc(memory.getIngest),
  restore: rpc(memory.restore, "supersede", "update_memory", oneMemory),
  retract: rpc(memory.retract, "supersede", "update_memory", oneMemory),
  undoWrite: rpc(memory.undoWrite, "supersede", "update_memory", {
    response: (message: UndoWriteResponse) => count(message.memories.length),
  }),
  audit: rpc(memory.audit),
  getRecall: rpc(audit.getRecall),
  exportAudit: rpc(audit.exportAudit, "export"),
  listReviews: rpc(review.listReviews),
  decideReview: rpc(review.decideReview, "supersede", "update_memory", oneMemory),
  setConsent: rpc(subject.setConsent, "erase"),
  getConsent: rpc(subject.getConsent),
  describeSubject: rpc(subject.describeSubject),
  exportMemories: rpc(subject.exportMemories, "export"),
  importMemories: rpc(subject.importMemories, "ingest", "upsert_memory", {
    request: (message: ImportMemoriesRequest) => ({
      ...narrowing(message.scope),
      ...count(message.records.length),
    }),
  }),
} as const;
