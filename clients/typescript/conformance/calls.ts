/** Calls with the client, or with the bare transport. */
import {
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { type Context, context as contexts, ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import {
  AuditService,
  type CallOptions,
  type Client,
  MemoryService,
  Pages,
  Recalled,
  RecallRequestSchema,
  ReviewService,
  SubjectService,
  UseOutcomeSchema,
} from "../src/index.js";
import { Raw } from "./raw.js";
import { DriverError, type Request } from "./request.js";

/** A client, the bare transport to the same place, and the line that they were made by. */
export interface Connected {
  client: Client;
  raw: Raw;
  opened: Request;
}

type Shape = MessageShape<DescMessage>;
type Method = (request: unknown, options: CallOptions) => unknown;

export function methodOf(name = ""): DescMethod {
  for (const service of [MemoryService, AuditService, ReviewService, SubjectService]) {
    const found = service.methods.find((each) => `${service.name}/${each.name}` === name);
    if (found !== undefined) return found;
  }
  throw new DriverError(`unknown method ${name}`);
}

export function parsed(schema: DescMessage, json: unknown): Shape {
  try {
    return fromJson(schema, (json ?? {}) as JsonValue);
  } catch (error) {
    throw new DriverError(String(error));
  }
}

export function contextOf(request: Request): Context {
  const found = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(request.trace_parent ?? "");
  if (found === null) return ROOT_CONTEXT;
  const [, traceId = "", spanId = "", flags = "0"] = found;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  });
}

function optionsOf(request: Request): CallOptions {
  const options: CallOptions = { context: contextOf(request) };
  if (request.timeout_ms !== undefined) options.timeoutMs = request.timeout_ms;
  if (request.cancel_after_ms !== undefined) options.signal = AbortSignal.timeout(request.cancel_after_ms);
  return options;
}

/** The client's method of the contract's name. */
export function layerOf(client: Client, method: DescMethod): Method {
  const run = (client as unknown as Record<string, Method | undefined>)[method.localName];
  if (run === undefined) throw new DriverError(`the client has no ${method.localName}`);
  return run.bind(client);
}

export async function call({ client, raw }: Connected, request: Request): Promise<JsonValue> {
  const method = methodOf(request.method);
  const json = (message: Shape) => toJson(method.output, message);
  const messages = (request.stream ?? [request.request]).map((each) => parsed(method.input, each));
  if (request.raw) {
    const made = await raw.call(method, messages, request).catch((error: unknown) => {
      throw Raw.status(error);
    });
    return Array.isArray(made) ? made.map(json) : json(made);
  }
  const argument = method.methodKind === "client_streaming" ? messages : messages[0];
  const made = layerOf(client, method)(argument, optionsOf(request));
  if (made instanceof Pages) {
    if (!request.all_pages) return pageOf(method, made, json);
    const item = method.output.fields.find((field) => field.number === 1)?.message;
    if (item === undefined) throw new DriverError(`${method.name} has no list`);
    return taken(made, request.take, (message) => toJson(item, message));
  }
  if (method.methodKind === "server_streaming") return taken(made as AsyncIterable<Shape>, request.take, json);
  const answer = await made;
  return json(answer instanceof Recalled ? answer.response : (answer as Shape));
}

async function pageOf(
  method: DescMethod,
  pages: Pages<Shape>,
  json: (message: Shape) => JsonValue,
): Promise<JsonValue> {
  for await (const page of pages.pages()) return json(page as unknown as Shape);
  throw new DriverError(`${method.name} answered no page`);
}

async function taken(
  all: AsyncIterable<Shape>,
  take: number | undefined,
  json: (message: Shape) => JsonValue,
): Promise<JsonValue> {
  const made: JsonValue[] = [];
  for await (const each of all) {
    made.push(json(each));
    if (made.length === take) break;
  }
  return made;
}

export async function modelCall(client: Client, request: Request): Promise<JsonValue> {
  const recalled = await client.recall(parsed(RecallRequestSchema, request.request) as never, {
    context: contextOf(request),
  });
  const chat = trace.getTracer("driver").startSpan("chat", { kind: SpanKind.CLIENT }, contextOf(request));
  const broken = new Error("the model failed");
  let memoryIds: string[] = [];
  let reported = false;
  try {
    const outcome = UseOutcomeSchema.values.find((each) => each.name === request.outcome)?.number;
    await contexts.with(trace.setSpan(contextOf(request), chat), () =>
      client.modelCall(
        recalled,
        (call) => {
          if (request.fail) throw broken;
          if (request.used !== undefined) call.use(request.used);
          memoryIds = call.memoryIds;
        },
        {
          model: request.model ?? "",
          promptRef: request.prompt_ref ?? "",
          strict: true,
          ...(outcome === undefined ? {} : { outcome }),
        },
      ),
    );
    // It is strict: had the report failed, it would have thrown.
    reported = true;
  } catch (error) {
    if (error !== broken) throw error;
    memoryIds = recalled.promptMemoryIds;
  } finally {
    chat.end();
  }
  return { recallId: recalled.recallId, memoryIds, reported };
}
