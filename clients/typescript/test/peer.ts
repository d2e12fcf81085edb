/**
 * The other end of the wire: a gRPC server in this process that knows the protocol, not the product. A test says
 * what it answers, in order, the last answer again and again, and looks at what arrived.
 */
import { create, type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type Any, anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { ErrorInfoSchema, RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../src/gen/google/rpc/status_pb.js";
import { AuditService } from "../src/gen/muniment/v1/audit_pb.js";
import { MemoryService } from "../src/gen/muniment/v1/memory_service_pb.js";
import { ReviewService } from "../src/gen/muniment/v1/review_pb.js";
import { SubjectService } from "../src/gen/muniment/v1/subject_pb.js";
import { type Client, type ConnectOptions, connect } from "../src/index.js";

export const KEY = "mk_dev_5ecret";

/** A call as it arrived. */
export interface Received {
  requests: Message[];
  metadata: Metadata;
  remainingMs: number;
}

/** What the peer says to one call: messages, and then a failure or OK. */
export interface Answer {
  messages?: Message[];
  failure?: Partial<ServiceError>;
  /** Waited for before answering. */
  hold?: Promise<void>;
}

export function fail(code: status, reason = "", options: { retryMs?: number; pushback?: string } = {}): Answer {
  const details: Any[] = [];
  if (reason) details.push(anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason, domain: "muniment.dev" })));
  if (options.retryMs !== undefined) {
    details.push(
      anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: durationFromMs(options.retryMs) })),
    );
  }
  return withDetails(code, details, options.pushback);
}

export function withDetails(code: status, details: Any[], pushback?: string): Answer {
  const metadata = new Metadata();
  metadata.set("muniment-request-id", "cafe");
  if (pushback !== undefined) metadata.set("grpc-retry-pushback-ms", pushback);
  const packed = toBinary(StatusSchema, create(StatusSchema, { code, message: "it failed", details }));
  metadata.set("grpc-status-details-bin", Buffer.from(packed));
  return { failure: { code, details: "it failed", metadata } };
}

// biome-ignore lint/suspicious/noExplicitAny: the four kinds of calls of grpc-js have no common type
type AnyCall = any;

export class Peer {
  target = "";
  server = new Server();
  readonly #answers = new Map<string, Answer[]>();
  readonly #received = new Map<string, Received[]>();

  on(method: string, ...answers: Answer[]): void {
    this.#answers.set(method, answers);
  }

  received(method: string): Received[] {
    return this.#received.get(method) ?? [];
  }

  async listen(address = "127.0.0.1:0", credentials = ServerCredentials.createInsecure()): Promise<void> {
    this.server = new Server();
    for (const service of [MemoryService, AuditService, ReviewService, SubjectService]) {
      const definition: Record<string, unknown> = {};
      const handlers: Record<string, AnyCall> = {};
      for (const method of service.methods) {
        const requestStream = method.methodKind === "client_streaming";
        const responseStream = method.methodKind === "server_streaming";
        definition[method.name] = {
          path: `/${service.typeName}/${method.name}`,
          requestStream,
          responseStream,
          requestSerialize: serializer(method.input),
          requestDeserialize: (raw: Buffer) => fromBinary(method.input, raw),
          responseSerialize: serializer(method.output),
          responseDeserialize: (raw: Buffer) => fromBinary(method.output, raw),
        };
        handlers[method.name] = (call: AnyCall, callback: AnyCall) =>
          this.#handle(method.name, requestStream, responseStream, call, callback);
      }
      this.server.addService(definition as ServiceDefinition, handlers);
    }
    const port = await new Promise<number>((resolve, reject) => {
      this.server.bindAsync(address, credentials, (error, bound) => (error ? reject(error) : resolve(bound)));
    });
    this.target = `127.0.0.1:${port}`;
  }

  async #handle(method: string, takes: boolean, gives: boolean, call: AnyCall, callback: AnyCall): Promise<void> {
    const requests: Message[] = [];
    if (takes) for await (const each of call) requests.push(each);
    else requests.push(call.request);
    const list = this.#received.get(method) ?? [];
    this.#received.set(method, list);
    list.push({ requests, metadata: call.metadata, remainingMs: Number(call.getDeadline()) - Date.now() });
    const answers = this.#answers.get(method) ?? [
      { failure: { code: status.UNIMPLEMENTED, details: "no answer" } },
    ];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    await answer?.hold;
    if (!gives) {
      callback(answer?.failure ?? null, answer?.messages?.[0]);
      return;
    }
    for (const each of answer?.messages ?? []) call.write(each);
    if (answer?.failure === undefined) call.end();
    else call.emit("error", answer.failure);
  }

  stop(): void {
    this.server.forceShutdown();
  }
}

function serializer(schema: DescMessage) {
  return (message: Message) => Buffer.from(toBinary(schema, message));
}

export type Cleanup = { after: (run: () => void | Promise<void>) => void };

/** A peer that listens, until the test ends. */
export async function peer(test: Cleanup, credentials?: ServerCredentials): Promise<Peer> {
  const made = new Peer();
  await made.listen("127.0.0.1:0", credentials);
  test.after(() => made.stop());
  return made;
}

/** A client of the peer, until the test ends. */
export function clientOf(test: Cleanup, to: Peer, options: ConnectOptions = {}): Client {
  const made = connect({ target: to.target, tenant: "acme", apiKey: KEY, ...options });
  test.after(() => made.close({ timeoutMs: 50 }));
  return made;
}
