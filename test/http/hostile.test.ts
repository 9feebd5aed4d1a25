// S10, S12, S13: whatever is sent, the answer is JSON with a typed problem: no fault, no SQL, no stack; pages and bodies have bounds.
import { createClient, defineJob } from "fairmill";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ROUTES } from "../../src/http/routes/all.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { SECRETS, serverFor } from "./server.js";

const db = useDatabase();
/** Ten thousand take about twelve seconds. */
const BODIES = Number(process.env["FUZZ_BODIES"] ?? "10000");
const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31));

const HOSTILE = [
  "<script>alert(1)</script>",
  `"><img src=x onerror=alert(1)>`,
  "'; drop table fairmill.job; --",
  "{{7*7}}",
  "\u202E\u2066reversed",
  "__proto__",
  "constructor",
  "a\nb\tc\r\n",
  "%00%2e%2e/../../etc/passwd",
  "😀".repeat(20),
];

/** A value as a caller may write it into an address; objects without a prototype have no text of their own. */
const textOf = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value));

const LEAKS = /select |insert |fairmill\.\w+\(|\bat \S+ \(|node_modules|\.ts:\d|SQLSTATE|syntax error/i;

test(`S13: ${BODIES} fuzzed requests never give a 5xx, and no answer shows SQL or a stack`, async () => {
  console.info(`fuzz: TEST_SEED=${seed} FUZZ_BODIES=${BODIES}`);
  const { handler } = serverFor(db);
  const writes = ROUTES.filter(({ path }) => path !== "/events");
  const known = [
    ...new Set(
      ROUTES.flatMap(({ body, query }) =>
        [body, query].flatMap((s) => Object.keys((s?.json["properties"] as object) ?? {})),
      ),
    ),
  ];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(
      ...HOSTILE,
      "",
      "1",
      "9".repeat(30),
      "-1",
      "1h",
      "2030-01-01T00:00:00Z",
      "cancel",
      "dead",
      "\u0000",
      "\ud800",
    ),
    fc.integer(),
    fc.double(),
  );
  const body = fc.oneof(
    fc
      .dictionary(fc.constantFrom(...known, "__proto__", "toString"), value, { maxKeys: 8 })
      .map((o) => JSON.stringify(o)),
    fc.jsonValue().map((v) => JSON.stringify(v)),
    fc
      .record({
        action: fc.constantFrom("cancel", "rerun", 1),
        filter: fc.dictionary(fc.constantFrom(...known), value),
      })
      .map((o) => JSON.stringify(o)),
    fc.string(),
    fc.integer({ min: 1, max: 5000 }).map((n) => "[".repeat(n)),
    fc.integer({ min: 1, max: 200 }).map((n) => `${`{"a":`.repeat(n)}1${"}".repeat(n)}`),
  );
  const part = fc.oneof(
    fc.constantFrom("1", "acme", "999999999999999999999", ...HOSTILE),
    fc.string({ unit: "grapheme" }),
  );
  const request = fc.record({
    route: fc.constantFrom(...writes),
    body,
    part,
    query: fc.dictionary(fc.constantFrom(...known), value, { maxKeys: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ route, body: text, part: id, query }) => {
      const path = route.path.replaceAll(/\{\w+\}/g, () => encodeURIComponent(id.toWellFormed()) || "x");
      const search =
        route.method === "GET"
          ? `?${new URLSearchParams(Object.entries(query).map(([k, v]): [string, string] => [k, textOf(v)]))}`
          : "";
      const response = await handler(
        new Request(`http://127.0.0.1/api/v1${path}${search}`, {
          method: route.method,
          headers: { authorization: `Bearer ${SECRETS.admin}`, "content-type": "application/json" },
          ...(route.method !== "GET" && { body: text }),
        }),
      );
      const answer = await response.text();
      const isFault = response.status >= 500 && response.status !== 501;
      expect(isFault, `${route.method} ${path}${search} ${text.slice(0, 500)} → ${response.status} ${answer}`).toBe(
        false,
      );
      if (response.status >= 400) expect(answer).not.toMatch(LEAKS);
    }),
    { seed, numRuns: BODIES, endOnFailure: true },
  );
}, 600_000);

test("S10: hostile strings in every field come back as the JSON text they were", async () => {
  const { ask } = serverFor(db);
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  for (const text of HOSTILE) {
    // Such a key in a payload is refused: code that copies it would change every object.
    const key = text === "__proto__" ? "key" : text;
    const body = { kind: text, queue: text, tenant: text, key: text, idempotencyKey: text, input: { [key]: text } };
    const made = await ask<{ id: string }>("admin", "POST", "/jobs", body);
    expect(made.status, text).toBe(201);
    const { headers, body: job } = await ask("viewer", "GET", `/jobs/${made.body.id}`);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(job).toMatchObject({ kind: text, queue: text, tenant: text, key: text });
    expect(Object.entries(job["payload"] as object)).toEqual([[key, text]]);
    const name = encodeURIComponent(text);
    expect((await ask("admin", "PUT", `/tenants/${name}`, { maxRunning: 1 })).body).toMatchObject({
      tenant: text,
      maxRunning: 1,
    });
    expect((await ask("operator", "POST", `/queues/${name}/pause`)).body).toMatchObject({ queue: text });
    expect((await ask<{ items: unknown[] }>("viewer", "GET", `/jobs?kind=${name}`)).body.items, text).toHaveLength(1);
    await ask("operator", "POST", "/bulk", { action: "cancel", filter: { kind: text, errorText: text }, reason: text });
    expect((await ask("admin", "POST", `/credits/${name}/grant`, { amount: 1, reason: text })).status, text).toBe(200);
  }
  for (const path of ["/audit?limit=200", "/bulk", "/credits", "/limits", "/facets", "/tenants", "/queues"])
    expect((await ask("viewer", "GET", path)).status).toBe(200);
});

test("a whole number that would be kept as another one is refused, and nothing is stored", async () => {
  const { ask } = serverFor(db);
  const answer = await ask("operator", "POST", "/jobs", '{"kind":"k","input":{"order":9007199254740993}}');
  expect(answer.body).toMatchObject({
    status: 400,
    code: "FAIRMILL_HTTP_REQUEST_INVALID",
    issues: [{ message: expect.stringContaining("9007199254740993 would be kept as 9007199254740992") }],
  });
  expect(await db.query("select from fairmill.job")).toEqual([]);
});

test("S12: pages have at most 200 rows, bodies have bounds, and depth has one", async () => {
  const { ask } = serverFor(db);
  for (const path of [
    "/jobs",
    "/tenants",
    "/workers",
    "/audit",
    "/bulk",
    "/credits",
    "/outbox",
    "/batches",
    "/approvals",
    "/schedules",
    "/limits",
  ]) {
    expect((await ask("viewer", "GET", `${path}?limit=201`)).body, path).toMatchObject({
      status: 400,
      issues: [{ path: "limit" }],
    });
    expect((await ask("viewer", "GET", `${path}?limit=0`)).status, path).toBe(400);
    expect((await ask("viewer", "GET", `${path}?cursor=%00`)).status, path).toBeLessThan(500);
  }
  const large = JSON.stringify({ reason: "x".repeat(70_000) });
  expect((await ask("operator", "POST", "/jobs/1/retry", large)).body).toMatchObject({
    status: 413,
    code: "FAIRMILL_HTTP_BODY_TOO_LARGE",
  });
  const payload = { kind: "k", input: "x".repeat(1024 * 1024) };
  expect((await ask("operator", "POST", "/jobs", payload)).body).toMatchObject({
    status: 413,
    code: "FAIRMILL_PAYLOAD_TOO_LARGE",
  });
  expect(
    (await ask("operator", "POST", "/jobs", `{"kind":"k","input":${"[".repeat(100)}${"]".repeat(100)}}`)).body,
  ).toMatchObject({ status: 400 });
  const streamed = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(32_768).fill(32)) });
  const { handler } = serverFor(db);
  const headers = { authorization: `Bearer ${SECRETS.operator}`, "content-type": "application/json" };
  const endless = new Request("http://127.0.0.1/api/v1/jobs/1/retry", {
    method: "POST",
    headers,
    body: streamed,
    duplex: "half",
  } as RequestInit);
  expect((await handler(endless)).status).toBe(413);
});

test("S13: what is unknown is refused by name, with the name that was probably meant; a wrong method says which are right", async () => {
  const { ask } = serverFor(db);
  expect((await ask("viewer", "GET", "/jobs?tennant=a")).body).toMatchObject({
    status: 400,
    detail: expect.stringContaining('Did you mean "tenant"?'),
  });
  expect((await ask("operator", "POST", "/jobs", { kynd: "k" })).body).toMatchObject({
    issues: [{ path: "kynd" }, { path: "kind", message: "is missing" }],
  });
  const wrong = await ask("admin", "DELETE", "/jobs");
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, POST"]);
  expect((await ask("admin", "GET", "/nothing")).body).toMatchObject({ status: 404, code: "FAIRMILL_HTTP_NOT_FOUND" });
});

test("S12: a list that would take too long is stopped by the server after two seconds, and says so", async () => {
  const { ask } = serverFor(db);
  const job = defineJob({ kind: "k" });
  const client = createClient({ databaseUrl: db.url, connectionsMax: 1 });
  endAfterTest(() => client.close());
  await client.enqueue(job, {});
  // A session that locks the table makes every look wait: as slow as a look can be.
  const lock = await db.pool.connect();
  try {
    await lock.query("begin; lock table fairmill.job in access exclusive mode");
    expect((await ask("viewer", "GET", "/jobs")).body).toEqual({
      items: [],
      next: null,
      notice: { code: "STATEMENT_LIMIT", message: expect.any(String) },
    });
    expect((await ask("viewer", "GET", "/jobs/1")).body).toMatchObject({
      status: 503,
      code: "FAIRMILL_HTTP_STATEMENT_LIMIT",
    });
  } finally {
    await lock.query("rollback");
    lock.release();
  }
  expect((await ask<{ items: unknown[] }>("viewer", "GET", "/jobs")).body.items).toHaveLength(1);
});
