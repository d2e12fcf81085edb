/** The bare transport: what the generated code gives without the layer. */
import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { isServiceError, toError } from "../src/errors.js";
import { type ConnectOptions, failed } from "../src/index.js";
import { complete, type Settings } from "../src/settings.js";
import type { Request } from "./request.js";

type Shape = MessageShape<DescMessage>;

export class Raw {
  readonly #settings: Settings;
  readonly #transport: Client;

  constructor(options: ConnectOptions) {
    this.#settings = complete(options);
    this.#transport = new Client(this.#settings.target, this.#settings.channel, this.#settings.options);
  }

  #metadata(request: Request): Metadata {
    const made = new Metadata();
    made.set("authorization", `Bearer ${this.#settings.credential()}`);
    made.set("muniment-tenant", this.#settings.tenant);
    made.set("muniment-client", this.#settings.clientName);
    if (request.trace_parent !== undefined) made.set("traceparent", request.trace_parent);
    return made;
  }

  /** One call of any kind; `messages` are the requests. */
  call(method: DescMethod, messages: Shape[], request: Request): Promise<Shape | Shape[]> {
    return new Promise((resolve, reject) => {
      const path = `/${method.parent.typeName}/${method.name}`;
      const serialize = (message: Shape) => Buffer.from(toBinary(method.input, message));
      const deserialize = (raw: Buffer) => fromBinary(method.output, raw);
      const options = request.timeout_ms === undefined ? {} : { deadline: Date.now() + request.timeout_ms };
      const metadata = this.#metadata(request);
      const done = (error: ServiceError | null, message?: Shape) => {
        if (error !== null) reject(error);
        else if (message !== undefined) resolve(message);
      };
      const cancelled = (running: { cancel(): void }) => {
        if (request.cancel_after_ms !== undefined) setTimeout(() => running.cancel(), request.cancel_after_ms);
      };
      const [first] = messages;
      if (method.methodKind === "client_streaming") {
        const running = this.#transport.makeClientStreamRequest(
          path,
          serialize,
          deserialize,
          metadata,
          options,
          done,
        );
        cancelled(running);
        for (const each of messages) running.write(each);
        running.end();
      } else if (first !== undefined && method.methodKind === "server_streaming") {
        const running = this.#transport.makeServerStreamRequest(
          path,
          serialize,
          deserialize,
          first,
          metadata,
          options,
        );
        cancelled(running);
        const all: Shape[] = [];
        running.on("data", (message: Shape) => {
          all.push(message);
          if (all.length === request.take) running.cancel();
        });
        running.on("end", () => resolve(all));
        running.on("error", (error) => (all.length === request.take ? resolve(all) : reject(error)));
      } else if (first !== undefined) {
        cancelled(this.#transport.makeUnaryRequest(path, serialize, deserialize, first, metadata, options, done));
      } else reject(failed("INTERNAL", "no request"));
    });
  }

  /** The status as it came. */
  static status(error: unknown): unknown {
    return isServiceError(error) ? toError(error, {}) : error;
  }
}
