import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ServerCredentials, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import {
  AlreadyExistsError,
  AuditResponseSchema,
  atLeastAsFresh,
  CancelledError,
  ConflictError,
  connect,
  DataLossError,
  DeadlineExceededError,
  EraseResponseSchema,
  ExportAuditResponseSchema,
  ExportMemoriesResponseSchema,
  GetConsentResponseSchema,
  IngestResponseSchema,
  InvalidRequestError,
  ListMemoriesResponseSchema,
  MunimentError,
  NotFoundError,
  PermissionDeniedError,
  RecallResponseSchema,
  StreamIngestResponseSchema,
  subject,
  type TLSOptions,
  UnavailableError,
  VERSION,
  type WriteRequest,
  WriteRequestSchema,
  WriteResponseSchema,
} from "../src/index.js";
import { complete, parseTarget } from "../src/settings.js";
import { clientOf, fail, KEY, peer, withDetails } from "./peer.js";

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const wrote = () => create(WriteResponseSchema, { consistencyToken: { token: "one" } });
const write = (content: string) => ({ scope: subject("ada"), items: [{ content }] });

test("settings that cannot be used", () => {
  const good = { target: "127.0.0.1:7443", tenant: "acme", apiKey: KEY };
  for (const wrong of [
    { tenant: "" },
    { apiKey: "" },
    { tenant: "Acme" },
    { tenant: "ümlaut" },
    { apiKey: "5ecret key" },
    { tls: {}, insecure: true },
    { tokenSource: () => "x" },
    { clientName: "ü" },
    { deadlines: { recall: 0 } },
    { target: "https://example.com" },
    { target: "example.com:99999" },
    { target: "a:b:c" },
    { target: "::1" },
  ]) {
    assert.throws(
      () => connect({ ...good, ...wrong }),
      (error) => error instanceof TypeError && !error.message.includes("5ecret"),
      inspect(wrong),
    );
  }
  assert.deepEqual(parseTarget("example.com"), { target: "example.com:7443", host: "example.com", port: 7443 });
  assert.equal(parseTarget("dns:///example.com:1").target, "dns:///example.com:1");
  assert.equal(parseTarget("[::1]").target, "[::1]:7443");
  assert.equal(parseTarget("dns:99").host, "dns");
  // Everything but loopback is encrypted.
  assert.equal(complete(good).channel._isSecure(), false);
  assert.equal(complete({ ...good, target: "example.com" }).channel._isSecure(), true);
  assert.equal(complete({ ...good, target: "example.com", insecure: true }).channel._isSecure(), false);
});

test("metadata of every call", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()] });
  let count = 0;
  const client = clientOf(t, p, { clientName: "bot/1" });
  const other = connect({ target: p.target, tenant: "acme", tokenSource: async () => `jwt-${++count}` });
  await client.write(write("text"));
  await other.write(write("text"));
  await other.write(write("text"));
  await other.close();
  const [first, , third] = p.received("Write").map((each) => each.metadata);
  assert.deepEqual(first?.get("authorization"), [`Bearer ${KEY}`]);
  assert.deepEqual(first?.get("muniment-tenant"), ["acme"]);
  assert.deepEqual(first?.get("muniment-client"), [`bot/1 (muniment-typescript/${VERSION})`]);
  assert.match(String(first?.get("user-agent")[0]), /^muniment-typescript\//);
  assert.deepEqual(third?.get("authorization"), ["Bearer jwt-2"]);
});

// Certificates are made by the Python of this tree: Node.js cannot.
const python = join(import.meta.dirname, "../../../..", ".venv/bin/python");
const CERTIFICATE = `
import datetime, ipaddress, sys
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
now = datetime.datetime.now(datetime.timezone.utc)
day = datetime.timedelta(days=1)
names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
        .add_extension(names, False).add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256()))
pem = serialization.Encoding.PEM
private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
sys.stdout.write(made.public_bytes(pem).decode() + "|" + private.decode())
`;

test("TLS and mutual TLS", { skip: !existsSync(python) && "no Python: make install" }, async (t) => {
  const [certificate = "", privateKey = ""] = execFileSync(python, ["-c", CERTIFICATE], {
    encoding: "utf8",
  }).split("|");
  const [cert, key] = [Buffer.from(certificate), Buffer.from(privateKey)];
  const credentials = ServerCredentials.createSsl(cert, [{ cert_chain: cert, private_key: key }], true);
  const p = await peer(t, credentials);
  p.on("GetConsent", { messages: [create(GetConsentResponseSchema)] });
  const ask = (tls: TLSOptions) => clientOf(t, p, { tls }).getConsent({}, { timeoutMs: 2_000 });
  await ask({ rootCertificates: cert, certificate: cert, privateKey: key });
  assert.equal(p.received("GetConsent").length, 1);
  await assert.rejects(ask({ rootCertificates: cert }), MunimentError, "served without a client certificate");
  await assert.rejects(ask({ certificate: cert, privateKey: key }), MunimentError, "an unknown authority");
  assert.equal(p.received("GetConsent").length, 1);
  assert.throws(() => clientOf(t, p, { tls: { certificate: cert } }), TypeError);
});

test("a request id is filled in, and the request left alone", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()] });
  const client = clientOf(t, p);
  const request = create(WriteRequestSchema, write("text"));
  await client.write(request);
  await client.write(request);
  assert.equal(request.requestId, "");
  await client.write({ ...write("text"), requestId: "own" });
  const ids = p.received("Write").map((each) => (each.requests[0] as WriteRequest).requestId);
  assert.match(ids[0] ?? "", UUID4);
  assert.notEqual(ids[0], ids[1]);
  assert.equal(ids[2], "own");
});

test("deadlines", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()] });
  p.on("Recall", { messages: [create(RecallResponseSchema)] });
  p.on("Erase", { messages: [create(EraseResponseSchema)] });
  p.on("Ingest", { messages: [create(IngestResponseSchema)] });
  p.on("GetConsent", { messages: [create(GetConsentResponseSchema)] });
  const client = clientOf(t, p);
  await client.write({});
  await client.recall({});
  await client.erase({});
  await client.ingest({});
  await client.getConsent({}, { timeoutMs: 9_000 });
  for (const [method, want] of Object.entries({ Write: 5, Recall: 2, Erase: 30, Ingest: 30, GetConsent: 9 })) {
    const got = p.received(method)[0]?.remainingMs ?? 0;
    assert.ok(got <= want * 1000 + 20 && got > want * 1000 - 1000, `${method}: ${got}`);
  }
  await assert.rejects(client.write({}, { timeoutMs: 0 }), TypeError);
});

test("the deadline and the caller's signal end a call", async (t) => {
  const p = await peer(t);
  p.on("Write", { hold: new Promise(() => {}) });
  const client = clientOf(t, p);
  await assert.rejects(client.write(write("text"), { timeoutMs: 50 }), (error) => {
    assert.ok(error instanceof DeadlineExceededError);
    assert.match(error.requestId, UUID4);
    return true;
  });
  const reason = new Error("enough");
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  await assert.rejects(client.write(write("text"), { signal: controller.signal }), (error) => {
    assert.ok(error instanceof CancelledError);
    assert.equal(error.cause, reason);
    return true;
  });
  await assert.rejects(client.write(write("text"), { signal: controller.signal }), CancelledError);
  const slow = connect({ target: p.target, tenant: "acme", tokenSource: () => new Promise(() => {}) });
  await assert.rejects(slow.write({}, { timeoutMs: 30 }), DeadlineExceededError);
  await slow.close();
});

test("errors carry what the service says", async (t) => {
  const p = await peer(t);
  p.on(
    "Write",
    withDetails(status.INVALID_ARGUMENT, [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "INVALID_REQUEST", domain: "muniment.dev" })),
      anyPack(
        BadRequestSchema,
        create(BadRequestSchema, {
          fieldViolations: [{ field: "items[0].content", reason: "string.min_bytes", description: "is empty" }],
        }),
      ),
    ]),
  );
  const client = clientOf(t, p);
  await assert.rejects(client.write(write("")), (error) => {
    assert.ok(error instanceof InvalidRequestError && error instanceof MunimentError);
    assert.equal(error.code, "INVALID_ARGUMENT");
    assert.equal(error.reason, "INVALID_REQUEST");
    assert.equal(error.callId, "cafe");
    assert.deepEqual(error.fieldViolations, [
      { field: "items[0].content", rule: "string.min_bytes", description: "is empty" },
    ]);
    assert.equal(error.message, "INVALID_ARGUMENT (INVALID_REQUEST): it failed\n  items[0].content: is empty");
    assert.equal(error.name, "InvalidRequestError");
    return true;
  });
  p.on("Write", fail(status.ABORTED, "REVISION_CONFLICT", { retryMs: 3_000 }));
  await assert.rejects(client.write(write("text")), (error) => {
    assert.ok(error instanceof ConflictError);
    assert.equal(error.retryAfterMs, 3_000);
    return true;
  });
  // A reason of somebody else on the way is not ours.
  p.on(
    "Write",
    withDetails(status.ABORTED, [
      anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "PROXY", domain: "proxy.example" })),
    ]),
  );
  await assert.rejects(client.write(write("text")), { reason: "" });
});

test("half a surrogate pair is refused here", async (t) => {
  const p = await peer(t);
  const client = clientOf(t, p);
  await assert.rejects(
    client.write({ scope: subject("ada"), items: [{ content: "fine" }, { content: "\ud800" }] }),
    {
      local: true,
      fieldViolations: [
        {
          field: "items[1].content",
          rule: "string.well_formed",
          description: "holds half a surrogate pair, which UTF-8 cannot hold",
        },
      ],
    },
  );
  await assert.rejects(client.write({ scope: subject("\udc00") }), /scope\.subject/);
  assert.equal(p.received("Write").length, 0);
});

test("UNAVAILABLE is repeated, with the same request id, four times at most", async (t) => {
  const p = await peer(t);
  p.on("Write", fail(status.UNAVAILABLE), fail(status.UNAVAILABLE), { messages: [wrote()] });
  const client = clientOf(t, p);
  await client.write(write("text"));
  const ids = new Set(p.received("Write").map((each) => (each.requests[0] as WriteRequest).requestId));
  assert.equal(p.received("Write").length, 3);
  assert.equal(ids.size, 1);
  p.on("Recall", fail(status.INTERNAL));
  await assert.rejects(client.recall({}), MunimentError);
  assert.equal(p.received("Recall").length, 1);
  const another = await peer(t);
  another.on("Write", fail(status.UNAVAILABLE, "DATABASE_UNAVAILABLE"));
  await assert.rejects(clientOf(t, another).write(write("text")), UnavailableError);
  assert.equal(another.received("Write").length, 4);
});

test("RetryInfo is waited for", async (t) => {
  const p = await peer(t);
  // A pushback that refuses ends gRPC's own attempts; RetryInfo says when to come again.
  const busy = fail(status.UNAVAILABLE, "SHUTTING_DOWN", { retryMs: 100, pushback: "-1" });
  p.on("Write", busy, { messages: [wrote()] });
  const client = clientOf(t, p);
  const started = performance.now();
  await client.write(write("text"));
  assert.ok(performance.now() - started >= 99);
  assert.equal(p.received("Write").length, 2);
  p.on("Recall", fail(status.UNAVAILABLE, "SHUTTING_DOWN", { retryMs: 60_000, pushback: "-1" }));
  await assert.rejects(client.recall({}), UnavailableError);
  assert.equal(p.received("Recall").length, 1);
});

test("cancellation ends the wait", async (t) => {
  const p = await peer(t);
  p.on("Erase", fail(status.UNAVAILABLE, "SHUTTING_DOWN", { retryMs: 20_000, pushback: "-1" }));
  const client = clientOf(t, p, { deadlines: { erase: 60_000 } });
  const started = performance.now();
  await assert.rejects(client.erase({}, { signal: AbortSignal.timeout(50) }), CancelledError);
  assert.ok(performance.now() - started < 5_000);
});

test("GOAWAY and reconnect", async (t) => {
  const p = await peer(t);
  let release = () => {};
  const hold = new Promise<void>((resolve) => {
    release = resolve;
  });
  p.on("Write", { messages: [wrote()], hold }, { messages: [wrote()] });
  const client = clientOf(t, p);
  const slow = client.write(write("slow"));
  while (p.received("Write").length === 0) await sleep(5);
  const stopped = new Promise<void>((resolve) => p.server.tryShutdown(() => resolve()));
  await sleep(50);
  release();
  await slow;
  await stopped;
  await p.listen(p.target);
  await client.write(write("after"));
});

test("recalls see the client's own writes", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()] });
  p.on("Erase", { messages: [create(EraseResponseSchema, { consistencyToken: { token: "two" } })] });
  p.on("Recall", { messages: [create(RecallResponseSchema, { consistencyToken: { token: "read" } })] });
  const client = clientOf(t, p);
  const sent = async (by = client) => {
    await by.recall({});
    const request = p.received("Recall").at(-1)?.requests[0] as {
      consistency?: { requirement: { value: unknown } };
    };
    return (request.consistency?.requirement.value as { token: string } | undefined)?.token;
  };
  assert.equal(await sent(), undefined);
  await client.write(write("text"));
  assert.equal(await sent(), "one");
  await client.erase({ validateOnly: true });
  assert.equal(client.consistencyToken?.token, "one");
  await client.erase({});
  assert.equal(await sent(), "two");
  const foreign = fail(status.INVALID_ARGUMENT, "CONSISTENCY_TOKEN_FOREIGN");
  p.on("Recall", foreign, { messages: [create(RecallResponseSchema)] });
  assert.equal(await sent(), undefined);
  assert.equal(client.consistencyToken, undefined);
  p.on("Recall", foreign);
  const { consistencyToken } = await client.write(write("text"));
  assert.ok(consistencyToken);
  await assert.rejects(client.recall({ consistency: atLeastAsFresh(consistencyToken) }), InvalidRequestError);
  p.on("Recall", { messages: [create(RecallResponseSchema)] });
  const without = clientOf(t, p, { readYourWrites: false });
  await without.write(write("text"));
  assert.equal(await sent(without), undefined);
});

test("pages are read to the end", async (t) => {
  const p = await peer(t);
  const page = (ids: string[], nextPageToken: string, sealBrokenMemoryIds: string[] = []) => ({
    messages: [
      create(ListMemoriesResponseSchema, {
        memories: ids.map((memoryId) => ({ memoryId })),
        nextPageToken,
        sealBrokenMemoryIds,
      }),
    ],
  });
  p.on("ListMemories", page(["1", "2"], "next"), page([], "more", ["x"]), page(["3"], ""));
  const warnings: string[] = [];
  const client = clientOf(t, p, { warn: (message) => warnings.push(message) });
  const all = await client.listMemories({ scope: subject("ada"), pageSize: 2 }).all();
  assert.deepEqual(
    all.map((each) => each.memoryId),
    ["1", "2", "3"],
  );
  assert.deepEqual(
    p.received("ListMemories").map((each) => (each.requests[0] as unknown as { pageToken: string }).pageToken),
    ["", "next", "more"],
  );
  assert.equal(warnings.length, 1);
  p.on(
    "Audit",
    { messages: [create(AuditResponseSchema, { events: [{}], nextPageToken: "next" })] },
    fail(status.NOT_FOUND),
  );
  let count = 0;
  await assert.rejects(async () => {
    for await (const _ of client.audit({})) count++;
  }, NotFoundError);
  assert.equal(count, 1);
});

test("an export that is cut off is an error", async (t) => {
  const p = await peer(t);
  const client = clientOf(t, p);
  const records = create(ExportMemoriesResponseSchema, { records: [{}, {}] });
  const read = async () => {
    let count = 0;
    for await (const message of client.exportMemories({})) count += message.records.length;
    return count;
  };
  const end = (recordCount: bigint) => create(ExportMemoriesResponseSchema, { recordCount });
  p.on("ExportMemories", { messages: [records, end(2n)] });
  assert.equal(await read(), 2);
  p.on("ExportMemories", { messages: [records] });
  await assert.rejects(read(), UnavailableError);
  p.on("ExportMemories", { messages: [records, end(3n)] });
  await assert.rejects(read(), UnavailableError);
  p.on("ExportMemories", { messages: [records], ...fail(status.DATA_LOSS, "INTEGRITY_VIOLATION") });
  await assert.rejects(read(), DataLossError);
  for await (const _ of client.exportMemories({})) break;
  p.on("ExportAudit", {
    messages: [create(ExportAuditResponseSchema, { part: { case: "trailer", value: { eventCount: 1n } } })],
  });
  await assert.rejects(client.exportAudit().next(), UnavailableError);
});

test("a conversation is taken in as a stream", async (t) => {
  const p = await peer(t);
  p.on("StreamIngest", {
    messages: [create(StreamIngestResponseSchema, { ingestId: "i", consistencyToken: { token: "held" } })],
  });
  const client = clientOf(t, p);
  async function* turns() {
    for (const number of [0n, 1n, 2n]) yield { scope: subject("ada"), turns: [{ number, content: "text" }] };
  }
  assert.equal((await client.streamIngest(turns())).ingestId, "i");
  assert.equal(client.consistencyToken?.token, "held");
  const got = p.received("StreamIngest")[0]?.requests as unknown as { requestId: string }[];
  assert.equal(got.length, 3);
  assert.match(got[0]?.requestId ?? "", UUID4);
  assert.equal(got[1]?.requestId, "");
  p.on("StreamIngest", fail(status.ALREADY_EXISTS, "TURN_CONFLICT"));
  await assert.rejects(client.streamIngest([{}]), AlreadyExistsError);
  const mine = new Error("my own");
  await assert.rejects(
    client.streamIngest(
      (function* () {
        yield {};
        throw mine;
      })(),
    ),
    mine,
  );
});

test("closing waits for what is under way, and then cuts off", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()], hold: sleep(100) });
  const client = clientOf(t, p);
  const under = client.write(write("text"));
  await client.close();
  await under;
  await assert.rejects(client.write(write("text")), /closed/);
  p.on("Write", { hold: new Promise(() => {}) });
  const impatient = clientOf(t, p);
  const cut = assert.rejects(impatient.write(write("text")), CancelledError);
  await impatient.close({ timeoutMs: 20 });
  await cut;
});

test("many calls share a client", async (t) => {
  const p = await peer(t);
  p.on("Write", { messages: [wrote()] });
  const client = clientOf(t, p);
  await Promise.all(Array.from({ length: 200 }, () => client.write(write("text"))));
  const ids = new Set(p.received("Write").map((each) => (each.requests[0] as WriteRequest).requestId));
  assert.equal(ids.size, 200);
});

test("nothing that is shown holds the credential", async (t) => {
  const p = await peer(t);
  p.on("Write", fail(status.PERMISSION_DENIED, "PERMISSION_DENIED"));
  const client = clientOf(t, p);
  const error = await client.write(write("text")).catch((each: unknown) => each);
  for (const each of [client, error, { client }]) {
    for (const text of [inspect(each, { depth: 10, showHidden: true }), String(each), JSON.stringify(each)]) {
      assert.ok(!text.includes("5ecret"), text);
    }
  }
});

test("a refusal says what was missing", () => {
  for (const [reason, metadata, said] of [
    ["PERMISSION_DENIED", { permission: "erase" }, "no (missing: erase)"],
    ["SOURCE_NOT_ALLOWED", { source_type: "TOOL" }, "no (refused: tool)"],
    ["PERMISSION_DENIED", {}, "PERMISSION_DENIED: no"],
  ] as const) {
    const error = new PermissionDeniedError("PERMISSION_DENIED", "no", { reason, metadata });
    assert.ok(error.message.endsWith(said), error.message);
    assert.equal(error.detail, "no");
  }
});
