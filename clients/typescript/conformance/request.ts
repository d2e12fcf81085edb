/** Lines of the runner. */
import { InterceptingCall, type Interceptor, type Metadata } from "@grpc/grpc-js";

export interface Request {
  id: number;
  op: string;
  client?: string;
  target?: string;
  api_key?: string;
  tenant?: string;
  insecure?: boolean;
  tls?: { ca?: string; certificate?: string; key?: string; server_name?: string };
  consistency?: "held" | "none";
  metadata_override?: [string, string | null][];
  trace?: boolean;
  method?: string;
  request?: unknown;
  stream?: unknown[];
  timeout_ms?: number;
  cancel_after_ms?: number;
  all_pages?: boolean;
  take?: number;
  raw?: boolean;
  trace_parent?: string;
  model?: string;
  prompt_ref?: string;
  outcome?: string;
  used?: string[];
  fail?: boolean;
  message_type?: string;
  json?: unknown;
  binary_base64?: string;
  count?: number;
  warmup?: number;
  concurrency?: number;
  compare?: boolean;
}

/** A request that the driver cannot carry out. */
export class DriverError extends Error {}

/** What is refused before anything is sent, with an error of another type than the client's own. */
export class LocalError extends Error {}

const PRINTABLE = /^[\x20-\x7e]*$/;

/** Throws for metadata that gRPC cannot carry. */
export function checkOverride(pairs: [string, string | null][] = []): void {
  for (const [key, value] of pairs) {
    if (value !== null && !PRINTABLE.test(value))
      throw new LocalError(`the value of ${key} is not printable ASCII`);
  }
}

/** Replaces what the client sends. */
export function overridden(metadata: Metadata, pairs: [string, string | null][] = []): Metadata {
  for (const [key] of pairs) metadata.remove(key);
  for (const [key, value] of pairs) if (value !== null) metadata.add(key, value);
  return metadata;
}

/** The same for every call of a client. */
export function override(pairs: [string, string | null][] = []): Interceptor {
  return (options, next) =>
    new InterceptingCall(next(options), {
      start: (metadata, listener, start) => start(overridden(metadata, pairs), listener),
    });
}
