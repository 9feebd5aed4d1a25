// Every view with data: what the API answers has the shape that it describes, and says what is there. Of jobs: jobs.test.ts.
import { createClient, defineChannel, defineFlow, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { type Asked, serverFor } from "./server.js";

const db = useDatabase();

const mail = defineJob<{ to: string }>({ kind: "mail.send", queue: "mails", retry: { attempts: 1 } });
const chat = defineChannel<{ text: string }>({ name: "chat", receiver: "neither", send: () => {} });

interface Row {
  id: string;
  [more: string]: unknown;
}
type Items<T = Row> = { items: T[]; next: string | null; notice: unknown };

function client() {
  const made = createClient({ databaseUrl: db.url, connectionsMax: 2 });
  endAfterTest(() => made.close());
  return made;
}

test("tenants, queues, kinds and limits: rows, settings, pausing, gauges, names", async () => {
  const { ask: get } = serverFor(db);
  await client().enqueue(mail, { to: "a" }, { tenant: "acme" });
  expect((await get("viewer", "GET", "/tenants/acme")).body).toMatchObject({ tenant: "acme", ready: { count: 1 } });
  expect((await get("viewer", "GET", "/tenants/nobody")).body).toMatchObject({ ready: { count: 0 }, weight: 1 });
  const set = await get("admin", "PUT", "/tenants/acme", { weight: 2, maxRunning: 5, rate: { limit: 10, per: "1m" } });
  expect(set.body).toMatchObject({ weight: 2, maxRunning: 5, rate: { limit: 10, perMs: 60_000 } });
  expect((await get("operator", "POST", "/queues/mails/pause")).body.pausedAt).toEqual(expect.any(String));
  const until = "2999-01-01T00:00:00.000Z";
  expect((await get("operator", "POST", "/queues/mails/pause", { until })).body).toMatchObject({ pausedUntil: until });
  expect((await get("operator", "POST", "/queues/mails/pause", { for: "10m" })).body.pausedUntil).not.toBe(until);
  expect((await get("operator", "POST", "/queues/mails/pause", { until: "2001-01-01T00:00:00Z" })).body).toMatchObject({
    status: 400,
    code: "FAIRMILL_CONFIG",
  });
  expect((await get("operator", "POST", "/queues/mails/pause", { for: "1m", until })).status).toBe(400);
  expect((await get("operator", "POST", "/queues/mails/resume")).body).toMatchObject({
    pausedAt: null,
    pausedUntil: null,
  });
  expect((await get("admin", "PUT", "/kinds/mail.send", { maxRunning: 3 })).body).toMatchObject({ maxRunning: 3 });
  const gauges = await get<Items>("viewer", "GET", "/limits?limit=1");
  expect(gauges.body.items).toMatchObject([{ scope: "kind", name: "mail.send", running: 0 }]);
  const rest = await get<Items>("viewer", "GET", `/limits?cursor=${gauges.body.next}`);
  expect(rest.body.items).toMatchObject([{ scope: "tenant", name: "acme", spent: 0, nextFreeAt: null }]);
  for (const path of ["/tenants", "/queues", "/kinds"])
    expect((await get<Items>("viewer", "GET", path)).body.items).toHaveLength(1);
  expect((await get("viewer", "GET", "/facets")).body).toMatchObject({
    queues: ["mails"],
    tenants: ["acme"],
    kinds: ["mail.send"],
  });
});

test("batches and flows: lists, nodes with the critical path, cancelling", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  const batch = await c.batches.create({ name: "all" }, (b) => void b.add(mail, { to: "a" }));
  const flow = defineFlow<{ n: number }>({ name: "chain" }, (f) => {
    const first = f.job("first", mail, () => ({ to: "a" }));
    f.job("second", mail, () => ({ to: "b" }), { after: [first] });
  });
  const { id } = await c.flows.start(flow, { n: 1 });
  const all = await get<Items>("viewer", "GET", "/batches");
  expect(all.body.items).toMatchObject([
    { id, role: "flow" },
    { id: batch.id, role: "batch", live: { count: 1 } },
  ]);
  expect((await get<Items>("viewer", "GET", "/flows")).body.items).toHaveLength(1);
  const detail = await get<{ nodes: Row[] }>("viewer", "GET", `/flows/${id}`);
  expect(detail.body.nodes.map(({ name, after }) => [name, (after as string[]).length])).toEqual([
    ["first", 0],
    ["second", 1],
  ]);
  const why = await get("viewer", "GET", `/flows/${id}/nodes/${detail.body.nodes[1]!.id}/why`);
  expect(why.body).toMatchObject({
    checks: expect.arrayContaining([expect.objectContaining({ check: "dependency", passed: false })]),
  });
  expect((await get("viewer", "GET", `/batches/${batch.id}`)).body).toMatchObject({ registered: 1 });
  expect((await get("operator", "POST", `/flows/${id}/retry`, {})).body).toMatchObject({ answer: "nothing" });
  expect((await get("operator", "POST", `/flows/${id}/cancel`)).body).toEqual({ state: "cancelled" });
  expect((await get("operator", "POST", `/batches/${batch.id}/cancel`)).body).toEqual({ state: "cancelled" });
  expect((await get("operator", "POST", `/flows/${id}/retry`, {})).body).toMatchObject({ answer: "started" });
});

test("outbox: messages, channels, why, resolving", async () => {
  const { ask: get } = serverFor(db);
  const { id } = await client().publish(chat, { text: "hi" }, { tenant: "acme", idempotencyKey: "m1" });
  expect((await get<Items>("viewer", "GET", "/outbox?channel=chat&status=pending")).body.items).toMatchObject([
    { id, attempts: 0 },
  ]);
  expect((await get("viewer", "GET", `/outbox/${id}`)).body).toMatchObject({ payload: { text: "hi" }, attempts: [] });
  expect((await get<Items>("viewer", "GET", "/outbox/channels")).body.items).toMatchObject([
    { channel: "chat", open: { count: 1 } },
  ]);
  expect((await get("viewer", "GET", `/outbox/${id}/why`)).status).toBe(200);
  expect((await get("operator", "POST", `/outbox/${id}/resolve`, { verdict: "sent" })).body).toEqual({
    answer: "open",
  });
});

test("credits: accounts, grants, entries, burn", async () => {
  const { ask: get } = serverFor(db);
  expect((await get("admin", "POST", "/credits/ann/grant", { amount: 10, idempotencyKey: "g" })).body).toEqual({
    available: 10,
    granted: true,
  });
  expect((await get("admin", "POST", "/credits/ann/grant", { amount: 10, idempotencyKey: "g" })).body).toEqual({
    available: 10,
    granted: false,
  });
  expect((await get<Items>("viewer", "GET", "/credits")).body.items).toMatchObject([
    { account: "ann", available: 10, reserved: 0 },
  ]);
  expect((await get("viewer", "GET", "/credits/ann")).body).toMatchObject({ available: 10, burnPerDay: null });
  expect((await get<Items>("viewer", "GET", "/credits/ann/entries")).body.items).toMatchObject([
    { kind: "grant", amount: 10 },
  ]);
  expect((await get("viewer", "GET", "/credits/nobody")).status).toBe(404);
});

test("budgets and limits in units: as they stand, page by page, a tenant's own alone", async () => {
  const { ask: get } = serverFor(db);
  const c = client();
  for (const [tenant, per] of [
    ["acme", "day"],
    ["acme", "month"],
    ["b", "day"],
  ] as const)
    await c.budgets.set({ tenant, per, soft: 1, hard: 2 });
  await db.query(`select fairmill.define_limit_v1('model', '[{"unit": "tokens", "limit": 1000, "per_ms": 60000}]')`);
  const first = await get<Items>("viewer", "GET", "/budgets?limit=2");
  expect(first.body.items).toMatchObject([
    { tenant: "acme", per: "day", spent: 0, soft: 1, hard: 2, state: "within", provider: null, softAt: null },
    { tenant: "acme", per: "month" },
  ]);
  const cursor = encodeURIComponent(first.body.next!);
  const second = await get<Items>("viewer", "GET", `/budgets?limit=2&cursor=${cursor}`);
  expect(second.body).toMatchObject({ items: [{ tenant: "b" }], next: null });
  expect((await get<Items>("acmeViewer", "GET", "/budgets")).body.items).toHaveLength(2);
  expect((await get("viewer", "GET", "/budgets?cursor=x")).status).toBe(400);
  expect((await get("viewer", "GET", "/named-limits")).body).toMatchObject({
    items: [{ name: "model", windows: [{ unit: "tokens", limit: 1_000, perMs: 60_000 }], waiting: { count: 0 } }],
    next: null,
  });
});

test("schedules: set, the next five runs, pause, resume, run, remove", async () => {
  const { ask: get } = serverFor(db);
  const set = await get<{ nextRuns: string[] }>("admin", "PUT", "/schedules/nightly", {
    cron: "0 3 * * *",
    timezone: "Europe/Madrid",
    kind: "report",
    input: { n: 1 },
  });
  expect(set.body.nextRuns).toHaveLength(5);
  expect((await get("operator", "POST", "/schedules/nightly/pause")).body).toMatchObject({
    nextRun: null,
    nextRuns: [],
  });
  expect((await get("operator", "POST", "/schedules/nightly/resume")).body).toMatchObject({ pausedAt: null });
  expect((await get("operator", "POST", "/schedules/nightly/run")).status).toBe(201);
  expect((await get<Items>("viewer", "GET", "/schedules")).body.items).toMatchObject([
    { name: "nightly", kind: "report", overdueMs: 0 },
  ]);
  expect((await get("admin", "PUT", "/schedules/x", { cron: "every day", kind: "k" })).body).toMatchObject({
    status: 400,
    code: "FAIRMILL_CONFIG",
  });
  expect((await get("admin", "DELETE", "/schedules/nightly")).status).toBe(204);
  expect((await get("viewer", "GET", "/schedules/nightly")).status).toBe(404);
});

test("series, alerts, metrics and logs are read by default, and a tenant's series are its own", async () => {
  const { ask: get, handler } = serverFor(db);
  const rows = `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, jobs_processed, tenants)
    values ('w', 'interval', now() - interval '1 minute', 10000, 10, 60, '{"acme": {"runs": 12}, "other": {"runs": 48}}')`;
  await db.query(rows);
  const path = "/series?name=jobs.out&name=provider.cost&stepMs=3600000";
  type Drawn = { items: { name: string; lines: { key: string; values: number[] }[] }[] };
  const all = (await get<Drawn>("viewer", "GET", path)).body;
  expect(all.items.map(({ name, lines }) => [name, lines.map(({ key }) => key)])).toEqual([["jobs.out", [""]]]);
  const own = (await get<Drawn>("viewer", "GET", `${path}&name=ready&tenant=acme&by=kind`)).body;
  expect(own.items.map(({ name, lines }) => [name, lines.map(({ key }) => key)])).toEqual([["jobs.out", ["acme"]]]);
  expect(own.items[0]!.lines[0]!.values[0]! * 5).toBeCloseTo(all.items[0]!.lines[0]!.values[0]!);
  expect((await get("viewer", "GET", "/series?name=nonsense")).status).toBe(400);
  for (const empty of ["/alerts", "/alerts/rules"])
    expect((await get<Items>("viewer", "GET", empty)).body.items, empty).toEqual([]);
  expect((await get("operator", "POST", "/alerts/17/silence", { for: "1h" })).status).toBe(404);
  const { id } = await client().enqueue(mail, { to: "a" });
  expect((await get<Items>("viewer", "GET", `/jobs/${id}/logs?level=fatal`)).body).toMatchObject({
    items: [],
    next: null,
  });
  expect((await get("viewer", "GET", "/now")).body).toMatchObject({ outPerSecond: 6 });
  const text = await handler(new Request("http://127.0.0.1/metrics", { headers: { authorization: "Bearer none" } }));
  expect(text.status).toBe(401);
});

test("what a definition or the handler names is not shown", async () => {
  const card = defineJob<{ card: string; to: string }>({ kind: "card", redact: ["card"] });
  const { ask: get } = serverFor(db, { jobs: [card], redact: ["to"] });
  const { id } = await client().enqueue(card, { card: "4111", to: "ann" });
  const { body } = await get<{ payload: object; redacted: boolean }>("viewer", "GET", `/jobs/${id}`);
  expect(JSON.stringify(body)).not.toMatch(/4111|ann/);
  expect(body.redacted).toBe(true);
  const plain = await serverFor(db).ask("viewer", "GET", `/jobs/${id}`);
  expect(plain.body).toMatchObject({ payload: { card: "4111", to: "ann" }, redacted: false });
});

test("what no room records here answers 501, and a reader that is given is asked", async () => {
  const plain = serverFor(db, { metrics: { series: () => Promise.resolve({ items: [] }) } });
  const later = ["/money", "/time"];
  for (const path of later)
    expect((await plain.ask("viewer", "GET", path)).body, path).toMatchObject({
      status: 501,
      code: "FAIRMILL_HTTP_NOT_WIRED",
    });
  const asked: unknown[] = [];
  const reader = (...of: unknown[]) => {
    asked.push(of);
    return Promise.resolve({ items: [], marks: [] });
  };
  const metrics = { series: reader, backlog: reader, fairness: reader, time: reader, money: reader };
  const wired = serverFor(db, { metrics, metricsText: async () => "fairmill_up 1\n" });
  const span = "since=2030-01-01T00:00:00Z&until=2030-01-01T01:00:00Z&stepMs=60000";
  expect((await wired.ask("acmeViewer", "GET", `/series?name=ready&name=running&${span}`)).status).toBe(200);
  const at = Date.parse("2030-01-01T00:00:00Z");
  expect(asked).toEqual([
    [
      { sinceMs: at, untilMs: at + 3_600_000, stepMs: 60_000 },
      { queue: undefined, kind: undefined, tenant: "acme" },
      ["ready", "running"],
      "none",
    ],
  ]);
  expect((await wired.ask("viewer", "GET", "/me")).body).toMatchObject({
    features: { metrics: true, alerts: true, scaling: true, providers: true },
  });
});

test("health, readiness, and an answer that is known is not sent again", async () => {
  const { ask: get } = serverFor(db);
  expect(await get("nobody", "GET", "/healthz")).toMatchObject({ status: 200, body: { status: "ok" } });
  expect(await get("nobody", "GET", "/readyz")).toMatchObject({ status: 200 });
  const first: Asked = await get("viewer", "GET", "/queues");
  const etag = first.headers.get("etag")!;
  expect(etag).toMatch(/^W\//);
  expect((await get("viewer", "GET", "/queues", undefined, { "if-none-match": etag })).status).toBe(304);
});
