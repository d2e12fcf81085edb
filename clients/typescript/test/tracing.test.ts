import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import {
  NotFoundError,
  RecallResponseSchema,
  type ReportUseRequest,
  ReportUseResponseSchema,
  subject,
  UseOutcome,
} from "../src/index.js";
import { clientOf, fail, peer } from "./peer.js";

const exporter = new InMemorySpanExporter();
const tracer = trace.getTracer("app");

before(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
beforeEach(() => exporter.reset());

const recalled = create(RecallResponseSchema, {
  recallId: "r",
  memories: [{ memory: { memoryId: "1" } }, { memory: { memoryId: "2" } }],
});

test("spans by the memory conventions", async (t) => {
  const p = await peer(t);
  p.on("Recall", { messages: [recalled] });
  p.on("Audit", fail(status.PERMISSION_DENIED, "PERMISSION_DENIED"));
  const client = clientOf(t, p);
  await client.recall({ scope: subject("ada", { agent: "bot", session: "s-1" }), query: "a question" });
  await client
    .audit({})
    .all()
    .catch(() => {});
  const [recall, audit] = exporter.getFinishedSpans();
  assert.ok(recall && audit);
  assert.equal(recall.name, "search_memory");
  assert.equal(recall.kind, SpanKind.CLIENT);
  const { "server.port": port, ...attributes } = recall.attributes;
  assert.equal(typeof port, "number");
  assert.deepEqual(attributes, {
    "gen_ai.operation.name": "search_memory",
    "gen_ai.provider.name": "muniment",
    "gen_ai.memory.record.count": 2,
    "muniment.recall.id": "r",
    "gen_ai.agent.id": "bot",
    "gen_ai.conversation.id": "s-1",
    "server.address": "127.0.0.1",
  });
  const { traceId, spanId } = recall.spanContext();
  assert.deepEqual(p.received("Recall")[0]?.metadata.get("traceparent"), [`00-${traceId}-${spanId}-01`]);
  assert.equal(audit.name, "muniment.v1.MemoryService/Audit");
  assert.equal(audit.status.code, SpanStatusCode.ERROR);
  assert.equal(audit.attributes["error.type"], "PERMISSION_DENIED");
  assert.equal(audit.attributes["rpc.response.status_code"], "PERMISSION_DENIED");
});

test("a model call is stamped, linked and reported", async (t) => {
  const p = await peer(t);
  p.on("Recall", { messages: [recalled] });
  p.on("ReportUse", { messages: [create(ReportUseResponseSchema)] });
  const client = clientOf(t, p);
  const found = await client.recall({});
  const answer = await tracer.startActiveSpan("chat", async (span) => {
    const made = await client.modelCall(
      found,
      (call) => {
        assert.throws(() => call.use(["9"]), RangeError);
        call.use(["2"]);
        return "an answer";
      },
      { model: "some-model", outcome: UseOutcome.HELPFUL },
    );
    span.end();
    return made;
  });
  assert.equal(answer, "an answer");
  const report = p.received("ReportUse")[0]?.requests[0] as ReportUseRequest;
  assert.deepEqual(report.memoryIds, ["2"]);
  assert.equal(report.model, "some-model");
  assert.equal(report.outcome, UseOutcome.HELPFUL);
  const spans = exporter.getFinishedSpans();
  const chat = spans.find((each) => each.name === "chat");
  assert.equal(chat?.attributes["muniment.recall.id"], "r");
  assert.deepEqual(chat?.attributes["muniment.recall.memory.ids"], ["2"]);
  assert.equal(chat?.links[0]?.context.spanId, spans[0]?.spanContext().spanId);
  const reported = spans.find((each) => each.name.endsWith("/ReportUse"));
  assert.equal(reported?.parentSpanContext?.spanId, chat?.spanContext().spanId);
});

test("a model call that fails reports nothing", async (t) => {
  const p = await peer(t);
  p.on("Recall", { messages: [recalled] });
  p.on("ReportUse", fail(status.NOT_FOUND, "RECALL_NOT_FOUND"));
  const warnings: string[] = [];
  const client = clientOf(t, p, { warn: (message) => warnings.push(message) });
  const found = await client.recall({});
  const broken = new Error("the model is down");
  await assert.rejects(
    client.modelCall(found, () => Promise.reject(broken)),
    broken,
  );
  assert.equal(p.received("ReportUse").length, 0);
  const own = exporter.getFinishedSpans().find((each) => each.name === "muniment.model_call");
  assert.equal(own?.status.code, SpanStatusCode.ERROR);
  assert.equal(await client.modelCall(found, () => 7), 7);
  assert.equal(warnings.length, 1);
  await assert.rejects(
    client.modelCall(found, () => 7, { strict: true }),
    NotFoundError,
  );
});

test("a remote parent travels on", async (t) => {
  const p = await peer(t);
  p.on("Recall", { messages: [recalled] });
  const client = clientOf(t, p);
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const parent = { traceId, spanId: "b7ad6b7169203331", traceFlags: 1, isRemote: true };
  await client.recall({}, { context: trace.setSpanContext(ROOT_CONTEXT, parent) });
  assert.match(String(p.received("Recall")[0]?.metadata.get("traceparent")[0]), new RegExp(`^00-${traceId}-`));
});
