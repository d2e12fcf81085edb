/** Values of requests: made more easily, completed, and checked for what cannot be sent as it is. */
import { randomUUID } from "node:crypto";
import {
  create,
  type DescMessage,
  isMessage,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { invalid } from "./errors.js";
import type { ConsistencySchema, ConsistencyToken } from "./gen/muniment/v1/consistency_pb.js";
import type { ErasureTargetSchema } from "./gen/muniment/v1/erasure_pb.js";
import type { ScopeSchema } from "./gen/muniment/v1/memory_pb.js";

type ScopeInit = Exclude<MessageInitShape<typeof ScopeSchema>, Message>;

/** What a scope is narrowed to. */
export interface Narrowing {
  agent?: string;
  session?: string;
}

/** The scope of what is remembered about a person or thing. */
export function subject(name: string, narrowing: Narrowing = {}): ScopeInit {
  return { owner: { case: "subject", value: name }, ...narrowing };
}

/** The scope of a shared pool of memories. */
export function space(name: string, narrowing: Narrowing = {}): ScopeInit {
  return { owner: { case: "space", value: name }, ...narrowing };
}

/** The target of an erasure of memories named by id. */
export function memories(...memoryIds: string[]): MessageInitShape<typeof ErasureTargetSchema> {
  return { target: { case: "memories", value: { memoryIds } } };
}

/** The target of an erasure of everything about a subject or in a space, keys included. */
export function everything(
  scope: MessageInitShape<typeof ScopeSchema>,
): MessageInitShape<typeof ErasureTargetSchema> {
  return { target: { case: "scope", value: { scope } } };
}

/** Makes a read see at least the state of the store that a token marks. */
export function atLeastAsFresh(token: ConsistencyToken): MessageInitShape<typeof ConsistencySchema> {
  return { requirement: { case: "atLeastAsFresh", value: token } };
}

/**
 * A request as it is sent: a message of its own, with a request id if it takes one.
 * Throws InvalidRequestError for text that UTF-8 cannot hold, which would arrive as another text.
 */
export function completed<I extends DescMessage>(
  schema: I,
  init: MessageInitShape<I>,
  identify = true,
): MessageShape<I> {
  // The caller's message is left alone; its parts may be shared, since nobody changes them.
  const made = isMessage(init) ? ({ ...init } as MessageShape<I>) : create(schema, init);
  const fields = made as Message & { requestId?: string };
  if (identify && fields.requestId === "") fields.requestId = randomUUID();
  checkTexts(made, "");
  return made;
}

function checkTexts(value: unknown, path: string): void {
  if (typeof value === "string") {
    if (!value.isWellFormed()) {
      throw invalid(path, "string.well_formed", "holds half a surrogate pair, which UTF-8 cannot hold");
    }
  } else if (Array.isArray(value)) {
    value.forEach((each, index) => {
      checkTexts(each, `${path}[${index}]`);
    });
  } else if (typeof value === "object" && value !== null && !(value instanceof Uint8Array)) {
    const oneof = value as { case?: unknown; value?: unknown };
    if (typeof oneof.case === "string" && "value" in oneof) {
      const parent = path.includes(".") ? path.slice(0, path.lastIndexOf(".") + 1) : "";
      checkTexts(oneof.value, `${parent}${snake(oneof.case)}`);
      return;
    }
    for (const [key, each] of Object.entries(value)) {
      if (key.startsWith("$")) continue;
      checkTexts(key, `a key of ${path}`);
      checkTexts(each, path === "" ? snake(key) : `${path}.${snake(key)}`);
    }
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
