/**
 * TypeScript client of Muniment, the memory service for agent fleets.
 *
 *     const client = connect({ target: "127.0.0.1:7443", tenant: "dev", apiKey });
 *     await client.write({ scope: subject("user-1"), items: [{ content: "Prefers window seats." }] });
 *     const recalled = await client.recall({ scope: subject("user-1"), query: "Which seat?", tokenBudget: 500 });
 *     const answer = await client.modelCall(recalled, () => callTheModel(recalled.context));
 *     await client.close();
 */
import { Client } from "./client.js";
import { type ConnectOptions, complete } from "./settings.js";

/**
 * A client of a Muniment service. Nothing is sent yet; the first call connects. What is not given comes from
 * the environment: MUNIMENT_TARGET (or else 127.0.0.1:7443), MUNIMENT_TENANT, MUNIMENT_API_KEY. Everything but
 * loopback is encrypted. Throws TypeError for settings that cannot be used.
 */
export function connect(options: ConnectOptions = {}): Client {
  return new Client(complete(options));
}

export type { CallOptions } from "./calls.js";
export { Client } from "./client.js";
export * from "./errors.js";
export * from "./gen/muniment/v1/audit_pb.js";
export * from "./gen/muniment/v1/consistency_pb.js";
export * from "./gen/muniment/v1/correction_pb.js";
export * from "./gen/muniment/v1/erasure_pb.js";
export * from "./gen/muniment/v1/error_reason_pb.js";
export * from "./gen/muniment/v1/filter_pb.js";
export * from "./gen/muniment/v1/ingest_pb.js";
export * from "./gen/muniment/v1/memory_pb.js";
export * from "./gen/muniment/v1/memory_service_pb.js";
export * from "./gen/muniment/v1/recall_pb.js";
export * from "./gen/muniment/v1/review_pb.js";
export * from "./gen/muniment/v1/subject_pb.js";
export * from "./gen/muniment/v1/write_pb.js";
export { ModelCall, type ModelCallOptions } from "./model_call.js";
export { type Page, Pages } from "./pages.js";
export { Recalled } from "./recalled.js";
export type { ConnectOptions, Deadlines, TLSOptions, TokenSource } from "./settings.js";
export { atLeastAsFresh, everything, memories, type Narrowing, space, subject } from "./values.js";
export { VERSION } from "./version.js";
