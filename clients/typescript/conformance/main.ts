/**
 * The driver of the TypeScript client for the vectors that all clients are checked with. What it speaks on stdin
 * and stdout is described in tests/vectors/PROTOCOL.md.
 */
import { createInterface } from "node:readline";
import {
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import * as messages from "../src/index.js";
import { type ConnectOptions, connect, DOMAIN, MunimentError, VERSION } from "../src/index.js";
import { bench } from "./bench.js";
import { type Connected, call, modelCall } from "./calls.js";
import { Raw } from "./raw.js";
import { checkOverride, DriverError, LocalError, override, type Request } from "./request.js";
import { drain, record } from "./spans.js";

const clients = new Map<string, Connected>();
const running = new Set<Promise<void>>();
const registry = createRegistry(
  ...(Object.values(messages) as unknown[]).filter(
    (each): each is DescMessage =>
      typeof each === "object" && each !== null && "kind" in each && each.kind === "message",
  ),
);

function optionsOf(request: Request): ConnectOptions {
  const { tls, metadata_override: pairs } = request;
  return {
    target: request.target ?? "",
    tenant: request.tenant ?? "",
    apiKey: request.api_key ?? "",
    insecure: request.insecure ?? false,
    readYourWrites: request.consistency !== "none",
    warn: (message) => console.error(message),
    ...(tls === undefined
      ? {}
      : {
          tls: {
            ...(tls.ca === undefined ? {} : { rootCertificates: tls.ca }),
            ...(tls.certificate === undefined ? {} : { certificate: tls.certificate }),
            ...(tls.key === undefined ? {} : { privateKey: tls.key }),
            ...(tls.server_name === undefined ? {} : { serverName: tls.server_name }),
          },
        }),
    ...(pairs === undefined ? {} : { interceptors: [override(pairs)] }),
  };
}

function open(request: Request): object {
  if (request.trace) record();
  const name = request.client ?? "main";
  try {
    const options = optionsOf(request);
    const made = { client: connect(options), raw: new Raw(options), opened: request };
    void clients.get(name)?.client.close();
    clients.set(name, made);
  } catch (error) {
    throw new LocalError(String(error));
  }
  return {};
}

function echo(request: Request): object {
  const schema = registry.getMessage(request.message_type ?? "");
  if (schema === undefined) throw new DriverError(`unknown message ${request.message_type}`);
  try {
    const message =
      request.binary_base64 === undefined
        ? fromJson(schema, request.json as JsonValue)
        : fromBinary(schema, Buffer.from(request.binary_base64, "base64"));
    return {
      response: toJson(schema, message, { registry }),
      binary_base64: Buffer.from(toBinary(schema, message)).toString("base64"),
    };
  } catch (error) {
    throw new LocalError(String(error));
  }
}

async function carryOut(request: Request): Promise<object> {
  switch (request.op) {
    case "hello":
      return { language: "typescript", version: VERSION, protocol: 1 };
    case "echo":
      return echo(request);
    case "spans":
      return { response: drain() };
  }
  const to = clients.get(request.client ?? "main");
  if (to === undefined) throw new DriverError(`no client ${request.client ?? "main"}`);
  checkOverride(to.opened.metadata_override);
  switch (request.op) {
    case "token":
      return { response: { token: to.client.consistencyToken?.token ?? null } };
    case "call":
      return { response: await call(to, request) };
    case "model_call":
      return { response: await modelCall(to.client, request) };
    case "bench":
      return { response: await bench(to, request) };
  }
  throw new DriverError(`unknown op ${request.op}`);
}

/** Reads the client's own error. */
function describe(error: unknown): object {
  const made = {
    code: "DRIVER",
    reason: "",
    domain: "",
    metadata: {},
    violations: [] as object[],
    retry_after_ms: null as number | null,
    message: String(error),
    local: false,
  };
  if (error instanceof LocalError) return { ...made, code: "INVALID_ARGUMENT", local: true };
  if (!(error instanceof MunimentError)) return made;
  return {
    ...made,
    code: error.code,
    reason: error.reason,
    domain: error.reason === "" ? "" : DOMAIN,
    metadata: error.metadata,
    violations: error.fieldViolations.map(({ field, rule }) => ({ field, rule })),
    retry_after_ms: error.retryAfterMs ?? null,
    message: error.detail,
    local: error.local,
  };
}

function answer(id: number, content: object): void {
  process.stdout.write(`${JSON.stringify({ id, ...content })}\n`);
}

async function respond(request: Request, run: () => object | Promise<object>): Promise<void> {
  try {
    answer(request.id, { ok: true, ...(await run()) });
  } catch (error) {
    answer(request.id, { ok: false, error: describe(error) });
  }
}

async function closeAll(): Promise<void> {
  await Promise.all(running);
  await Promise.all([...clients.values()].map((each) => each.client.close()));
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line) as Request;
  if (request.op === "close") {
    await closeAll();
    answer(request.id, { ok: true });
    process.exit(0);
  }
  if (request.op === "connect") {
    await respond(request, () => open(request));
  } else {
    const done = respond(request, () => carryOut(request)).then(() => {
      running.delete(done);
    });
    running.add(done);
  }
}
await closeAll();
process.exit(0);
