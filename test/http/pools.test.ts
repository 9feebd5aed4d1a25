// Pools with their children, what they want, and what they decided.
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { serverFor } from "./server.js";

const db = useDatabase();
const serve = () =>
  db.query("select fairmill.register_v1('w', '{mails}', interval '1 hour', null, 5, 'host', 1, '0.1.0')");

const child = (number: number, state: string, more: object = {}) => ({
  ...{ number, pid: 100 + number, state, draining: false, reason: null, failures: 0, running: 0, jobs_processed: 7 },
  ...{ cpu: 0.5, memory_bytes: 1_000, uptime_ms: 5_000, started_at_ms: 0, ...more },
});

const report = (children: object[], reportEveryMs = 60_000) =>
  db.query("select fairmill.report_pool_v1('images', $1, $2, $3)", [
    JSON.stringify({ id: "s1", worker: "w", host: "h", pid: 9, started_at_ms: 0, report_every_ms: reportEveryMs }),
    JSON.stringify(children),
    JSON.stringify({ min: 1, max: 6, policy: "targetWait" }),
  ]);
const decide = (decision: object) =>
  db.query("select fairmill.record_scale_v1('images', 's1', $1)", [
    JSON.stringify({ desired: 4, decide_every_ms: 60_000, ...decision }),
  ]);

test("pools: living supervisors with their children by stage of life, and the worker knows its pool", async () => {
  const { ask } = serverFor(db);
  expect((await ask("viewer", "GET", "/scaling/pools")).body).toEqual({ items: [] });
  await serve();
  await report([
    child(1, "working"),
    child(2, "idle"),
    child(3, "ready", { draining: true }),
    child(4, "failed", { reason: "exit code 1", failures: 2 }),
  ]);
  await decide({});
  const { items } = (await ask<{ items: { children: object[] }[] }>("viewer", "GET", "/scaling/pools")).body;
  expect(items).toMatchObject([
    {
      pool: "images",
      policy: "targetWait",
      min: 1,
      max: 6,
      wanted: 4,
      actual: 2,
      ready: 1,
      supervisor: "s1",
      host: "h",
    },
  ]);
  expect(items[0]!.children).toMatchObject([
    { worker: "w", pid: 101, state: "working", draining: false, exit: null, rssBytes: 1_000, cpu: 0.5 },
    { pid: 102, state: "idle" },
    { pid: 103, state: "ready", draining: true },
    { pid: 104, state: "failed", exit: "exit code 1", restarts: 2 },
  ]);
  expect((await ask("viewer", "GET", "/workers/w")).body).toMatchObject({ pool: "images" });
  await db.query("update fairmill.supervisor set seen_at = now() - interval '1 hour'");
  expect((await ask("viewer", "GET", "/scaling/pools")).body).toMatchObject({
    items: [{ pool: "images", supervisor: "", actual: 0, children: [] }],
  });
  expect((await ask("acmeViewer", "GET", "/scaling/pools")).status).toBe(403);
});

test("desired: a number for KEDA's metrics-api, of a pool that there is, for callers that may see all", async () => {
  const { ask } = serverFor(db);
  const path = "/scaling/pools/images/desired";
  expect((await ask("viewer", "GET", path)).status).toBe(404);
  await serve();
  await report([]);
  await decide({});
  expect((await ask("viewer", "GET", path)).body).toEqual({ pool: "images", desired: 4 });
  expect((await ask("acmeViewer", "GET", path)).status).toBe(403);
});

test("decisions: newest first, page by page, of a pool, in a part of time", async () => {
  const { ask } = serverFor(db);
  await report([]);
  const inputs = {
    runnable: 9,
    hosts: 1,
    heldBack: { "rate-limited": 5, blocked: 0 },
    memory: { perChild: 2, max: 8 },
  };
  await decide({ action: "up", current: 1, wanted: 3, target: 3, reason: "9 wait", inputs });
  const reason = "wanted 9, 6 by the maximum: 9 wait";
  await decide({ action: "suppressed", current: 6, wanted: 9, target: 6, reason, inputs });
  type Page = { items: { id: string; wanted: number }[]; next: string | null };
  const first = (await ask<Page>("viewer", "GET", "/scaling/decisions?limit=1")).body;
  expect(first.items).toMatchObject([
    { pool: "images", actual: 6, wanted: 9, done: 6, reason, cappedBy: "the maximum", suppressed: true },
  ]);
  expect(first.items[0]).toMatchObject({
    inputs: { runnable: 9, memoryMax: 8 },
    leftOut: [{ reason: "rate", count: 5 }],
  });
  const second = (await ask<Page>("viewer", "GET", `/scaling/decisions?limit=1&cursor=${first.next}`)).body;
  expect(second).toMatchObject({ items: [{ wanted: 3, done: 3, cappedBy: null, suppressed: false }], next: null });
  const found = async (query: string) =>
    (await ask<Page>("viewer", "GET", `/scaling/decisions?${query}`)).body.items.length;
  expect(await found("pool=images")).toBe(2);
  expect(await found("pool=other")).toBe(0);
  expect(await found("since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z")).toBe(0);
  expect((await ask("viewer", "GET", "/scaling/decisions?cursor=x")).status).toBe(400);
});
