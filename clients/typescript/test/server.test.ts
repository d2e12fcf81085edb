/** The client against the service as its own process, with its own database. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import {
  AlreadyExistsError,
  type Client,
  ConflictError,
  ConsentLevel,
  connect,
  type ExportAuditResponse,
  ExtractionMode,
  everything,
  InvalidRequestError,
  MemoryKind,
  MemoryState,
  memories,
  NotFoundError,
  ReviewDecision,
  SourceType,
  subject,
  TurnRole,
  UnauthenticatedError,
  VERSION,
  WriteOutcome,
} from "../src/index.js";

const root = join(import.meta.dirname, "../../../..");
const program = join(root, ".venv/bin/muniment");
const missing = existsSync(program) ? false : "no server: make install";
if (missing && process.env.CI) throw new Error(missing);

// The machine that runs the tests may be busy; how long calls take is not the question here.
const deadlines = {
  recall: 30_000,
  write: 30_000,
  supersede: 30_000,
  erase: 60_000,
  ingest: 60_000,
  other: 30_000,
};

let target = "";
let apiKey = "";
let client: Client;
let stop = async () => {};

before(async () => {
  if (missing) return;
  const folder = mkdtempSync(join(tmpdir(), "muniment-ts-"));
  // The database's own account must be able to reach it when the tests run as root.
  chmodSync(folder, 0o711);
  const home = join(folder, "home");
  const server = spawn(program, ["serve", "--listen", "127.0.0.1:0"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, MUNIMENT_HOME: home, MUNIMENT_DRAIN_DELAY: "0", PYTHONUNBUFFERED: "1" },
  });
  stop = async () => {
    server.kill("SIGTERM");
    if (server.exitCode === null) await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  };
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: server.stdout })
      .on("line", (line) => {
        target = /serves on (\S+)/.exec(line)?.[1] ?? target;
        if (line.startsWith("Not wanted any more")) resolve();
      })
      .on("close", () => reject(new Error("the server did not start")));
  });
  apiKey = readFileSync(join(home, "dev-key"), "utf8").trim();
  client = connect({ target, tenant: "dev", apiKey, deadlines });
});

after(async () => {
  await client?.close();
  await stop();
});

const someone = () => subject(`ts-${randomUUID()}`);
const preference = (content: string, sourceType = SourceType.USER_STATED) => ({
  kind: MemoryKind.PREFERENCE,
  content,
  provenance: { sourceType },
});
const fact = (content: string) => ({ kind: MemoryKind.FACT, content });

function served(name: string, run: () => Promise<void>): void {
  test(name, { skip: missing }, run);
}

served("a memory's life", async () => {
  const scope = someone();
  const written = await client.write({ scope, items: [preference("Drinks green tea, never coffee.")] });
  const tea = written.results[0]?.memory;
  assert.ok(tea);
  assert.equal(written.results[0]?.outcome, WriteOutcome.CREATED);
  const recalled = await client.recall({ scope, query: "What does she drink?", tokenBudget: 300 });
  assert.deepEqual(recalled.promptMemoryIds, [tea.memoryId]);
  assert.ok(recalled.context.includes(tea.memoryId));
  await client.modelCall(recalled, () => {}, { model: "some-model", strict: true });
  const { receipt } = await client.getRecall({ recallId: recalled.recallId });
  assert.equal(receipt?.uses[0]?.actor?.client, `muniment-typescript/${VERSION}`);
  const { memory } = await client.supersede({
    memoryId: tea.memoryId,
    etag: tea.etag,
    item: preference("Drinks black tea."),
  });
  assert.ok(memory);
  const found = await client.getMemory({ memoryId: tea.memoryId, includeRevisions: true });
  assert.equal(found.memory?.supersededBy, memory.memoryId);
  assert.ok(found.revisions.length > 0);
  const planned = await client.erase({ target: everything(scope), validateOnly: true });
  assert.equal(planned.receipt?.counts?.memories, 2n);
  const erased = await client.erase({ target: memories(tea.memoryId, memory.memoryId) });
  assert.equal(erased.receipt?.counts?.memories, 2n);
  await client.getErasure({ erasureId: erased.receipt?.erasureId ?? "" });
});

served("errors", async () => {
  const scope = someone();
  await assert.rejects(client.write({ scope, items: [fact("")] }), (error) => {
    assert.ok(error instanceof InvalidRequestError);
    assert.equal(error.reason, "INVALID_REQUEST");
    assert.ok(error.fieldViolations.length > 0 && error.callId !== "" && !error.local);
    return true;
  });
  await assert.rejects(client.getMemory({ memoryId: randomUUID() }), (error) => {
    assert.ok(error instanceof NotFoundError);
    assert.equal(error.reason, "MEMORY_NOT_FOUND");
    assert.ok(error.metadata.memory_id);
    return true;
  });
  const request = { scope, items: [fact("Likes tea.")], requestId: randomUUID() };
  const first = await client.write(request);
  assert.deepEqual(await client.write(request), first);
  await assert.rejects(client.write({ ...request, items: [fact("Likes coffee.")] }), AlreadyExistsError);
  const memoryId = first.results[0]?.memory?.memoryId ?? "";
  await assert.rejects(
    client.supersede({ memoryId, etag: "stale", item: preference("Likes water.") }),
    ConflictError,
  );
  const other = connect({ target, tenant: "dev", apiKey: "mk_wrong" });
  await assert.rejects(other.write(request), UnauthenticatedError);
  await other.close();
});

served("a conversation", async () => {
  const scope = { ...someone(), session: "s-1" };
  const mode = ExtractionMode.NONE;
  const turn = (number: bigint, content: string) => ({ number, role: TurnRole.USER, content });
  const answer = await client.ingest({ scope, mode, turns: [turn(1n, "I like green tea.")] });
  assert.equal(answer.turns.length, 1);
  await client.getIngest({ ingestId: answer.ingestId });
  const streamed = await client.streamIngest(
    [2n, 3n, 4n].map((number) => ({ scope, mode, turns: [turn(number, `Turn ${number}.`)] })),
  );
  assert.equal(streamed.turns.length, 3);
});

served("corrections", async () => {
  const scope = someone();
  const written = await client.write({ scope, items: [fact("Lives in Lyon.")] });
  const memoryId = written.results[0]?.memory?.memoryId ?? "";
  await client.retract({ memoryId });
  const restored = await client.restore({ memoryId });
  assert.equal(restored.memory?.state, MemoryState.ACTIVE);
  const { requestId } = await client.write({ scope, items: [fact("Works in Lyon.")] });
  const undone = await client.undoWrite({ writeRequestId: requestId });
  assert.equal(undone.memories.length, 1);
});

served("what a subject may ask for", async () => {
  const scope = someone();
  await client.write({ scope, items: [fact("Lives in Lyon.")] });
  await client.getConsent({ scope });
  const described = await client.describeSubject({ scope });
  assert.equal(described.holdings.length, 1);
  assert.notEqual(described.summary, "");
  const records = [];
  for await (const message of client.exportMemories({ scope })) records.push(...message.records);
  assert.equal(records[0]?.item?.content, "Lives in Lyon.");
  const imported = await client.importMemories({ scope: someone(), records });
  assert.equal(imported.results.length, 1);
  const decided = await client.setConsent({ scope, level: ConsentLevel.NONE, erase: true });
  assert.equal(decided.consent?.level, ConsentLevel.NONE);
});

served("reviews", async () => {
  const scope = someone();
  const written = await client.write({
    scope,
    items: [preference("Drinks green tea.", SourceType.USER_CONFIRMED)],
  });
  const memoryId = written.results[0]?.memory?.memoryId ?? "";
  await client.supersede({ memoryId, item: preference("Drinks coffee.", SourceType.TOOL) });
  const reviews = await client.listReviews({ scope }).all();
  assert.equal(reviews.length, 1);
  const decided = await client.decideReview({
    memoryId: reviews[0]?.memory?.memoryId ?? "",
    decision: ReviewDecision.REJECT,
  });
  assert.equal(decided.memory?.state, MemoryState.ARCHIVED);
});

served("lists, the audit trail and its export", async () => {
  const scope = someone();
  for (let i = 0; i < 5; i++) await client.write({ scope, items: [fact(`Fact ${i}.`)] });
  const listed = await client.listMemories({ scope, pageSize: 2 }).all();
  assert.equal(new Set(listed.map((each) => each.memoryId)).size, 5);
  const events = await client.audit({ filter: { scope }, pageSize: 2 }).all();
  assert.ok(events.length >= 5);
  const parts: ExportAuditResponse["part"]["case"][] = [];
  for await (const { part } of client.exportAudit()) parts.push(part.case);
  assert.equal(parts[0], "header");
  assert.equal(parts.at(-1), "trailer");
});

served("the example of the README", async () => {
  const home = join(import.meta.dirname, "../..");
  const source = readFileSync(join(home, "examples/turn.ts"), "utf8");
  assert.ok(readFileSync(join(home, "README.md"), "utf8").includes(source), "the README shows another example");
  const { stdout } = await promisify(execFile)(process.execPath, [join(home, "dist/examples/turn.js")], {
    env: { ...process.env, MUNIMENT_TARGET: target, MUNIMENT_TENANT: "dev", MUNIMENT_API_KEY: apiKey },
  });
  for (const text of ["green tea", "an answer to", "1 use reported", "memories erased"]) {
    assert.ok(stdout.includes(text), `no ${text} in ${stdout}`);
  }
});
