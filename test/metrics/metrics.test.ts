// A10 B15 D4 S16: figures of the fleet from interval records, as gauges, totals, lines over time and Prometheus text.
import { execFileSync, spawnSync } from "node:child_process";
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { BUCKETS_MS } from "../../src/base/histogram-buckets.js";
import { renderPrometheus } from "../../src/metrics/prometheus.js";
import { quantile } from "../../src/metrics/series.js";
import { useDatabase } from "../support/database.js";
import { record } from "./rows.js";

const db = useDatabase();
const job = defineJob({ kind: "mail", queue: "mails" });
const client = () => createClient({ databaseUrl: db.url });
const shownAs = (text: string, name: string): number | undefined => {
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
};

describe("Prometheus text", () => {
  test("the papers' names, with units, from what is in the database", async () => {
    await using c = client();
    await c.enqueueMany(
      job,
      Array.from({ length: 12 }, () => ({ input: {} })),
    );
    await db.query("select fairmill.register_v1('w1', '{mails}', interval '1 minute', null, 5, 'host', 1, '0.1.0')");
    await db.query(
      `update fairmill.worker set stats = '{"rssBytes": 1000, "cpu": 0.25, "done": 3, "failed": 1, "running": 2}'`,
    );
    await record(db, {
      kinds: { mail: { runs: 10, failed: 1, run_ms: 5_000, waits: 4, wait_ms: 400 } },
      queues: { mails: { ready: 12, oldest_ms: 1_500 } },
      tenants: { acme: { claimed: 10 } },
    });
    await c.metrics.record([
      { name: "api_latency", label: "gemini", value: 2 },
      { name: "api_latency", label: "gemini", value: 4 },
      { name: "storage_size", label: "s3", value: 11e9 },
    ]);
    const text = await c.metrics.prometheus();
    const expected: [string, number][] = [
      ['fairmill_queue_depth{queue="mails"}', 12],
      ['fairmill_queue_depth_at_least{queue="mails"}', 0],
      ['fairmill_queue_workers{queue="mails"}', 1],
      ['fairmill_queue_oldest_seconds{queue="mails"}', 1.5],
      ['fairmill_avg_processing_time_seconds{kind="mail"}', 0.5],
      ['fairmill_avg_wait_seconds{kind="mail"}', 0.1],
      ['fairmill_error_rate{kind="mail"}', 0.1],
      ['fairmill_api_latency_seconds{provider="gemini"}', 3],
      ['fairmill_storage_size_bytes{store="s3"}', 11e9],
      ['fairmill_worker_cpu{worker="w1"}', 0.25],
      ['fairmill_worker_memory_bytes{worker="w1"}', 1_000],
      ["fairmill_capacity", 5],
      ["fairmill_outbox_unknown", 0],
      ["fairmill_schedules_overdue", 0],
    ];
    for (const [name, value] of expected) expect(shownAs(text, name), name).toBe(value);
    for (const name of [
      "fairmill_oldest_transaction_seconds",
      "fairmill_notification_queue_usage",
      "fairmill_database_size_bytes",
    ])
      expect(shownAs(text, name), name).toBeGreaterThanOrEqual(0);
    // S16: no tenant unless asked for.
    expect(text).not.toContain("acme");
    expect(await c.metrics.prometheus({ tenants: true })).toContain('fairmill_tenant_jobs_claimed{tenant="acme"} 10');
  });

  test("a depth that is not exact says so, and a large queue is not counted", async () => {
    await db.query(
      "insert into fairmill.job (kind, queue, tenant, state, payload) select 'mail', 'mails', 't', 'ready', '{}' from generate_series(1, 1500)",
    );
    await using c = client();
    const text = await c.metrics.prometheus();
    expect(shownAs(text, 'fairmill_queue_depth{queue="mails"}')).toBe(1_000);
    expect(shownAs(text, 'fairmill_queue_depth_at_least{queue="mails"}')).toBe(1);
    const [queue] = (await c.metrics.figures()).queues;
    expect(queue).toMatchObject({ queue: "mails", ready: 1_000, readyMore: true });
  });

  test("totals begin at zero, count each record once, and those that come late, too", async () => {
    await using c = client();
    await record(db, { processed: 100, kinds: { mail: { run_hist: [100], run_ms: 100 } } });
    expect(shownAs(await c.metrics.prometheus(), "fairmill_jobs_processed_total")).toBe(0);
    await record(db, {
      processed: 7,
      agoMs: 60_000,
      lost: 1,
      recovered: 2,
      kinds: { mail: { run_hist: [2, 0, 5], run_ms: 90 } },
    });
    await record(db, { processed: 3, agoMs: 0, worker: "w2" });
    const [one, two] = await Promise.all([c.metrics.prometheus(), c.metrics.prometheus()]);
    expect(one).toBe(two);
    expect(shownAs(one, "fairmill_jobs_processed_total")).toBe(10);
    expect(shownAs(one, 'fairmill_worker_jobs_processed_total{worker="w1"}')).toBe(7);
    expect(shownAs(one, "fairmill_leases_lost_total")).toBe(1);
    expect(shownAs(one, "fairmill_jobs_recovered_total")).toBe(2);
    expect(shownAs(one, 'fairmill_run_seconds_bucket{kind="mail",le="0.005"}')).toBe(2);
    expect(shownAs(one, 'fairmill_run_seconds_bucket{kind="mail",le="0.025"}')).toBe(7);
    expect(shownAs(one, 'fairmill_run_seconds_bucket{kind="mail",le="+Inf"}')).toBe(7);
    expect(shownAs(one, 'fairmill_run_seconds_count{kind="mail"}')).toBe(7);
    expect(shownAs(await c.metrics.prometheus(), "fairmill_jobs_processed_total")).toBe(10);
  });

  test("a name from outside stays inside its quotes", () => {
    const hostile = 'a"} 1\nfairmill_evil 9\\ \r\u{d800}';
    const text = renderPrometheus([
      { name: "queue_depth", help: "h\ni", type: "gauge", samples: [{ labels: { queue: hostile }, value: 1 }] },
    ]);
    expect(text.split("\n")).toEqual([
      "# HELP fairmill_queue_depth h\\ni",
      "# TYPE fairmill_queue_depth gauge",
      'fairmill_queue_depth{queue="a\\"} 1\\nfairmill_evil 9\\\\ \\r\ufffd"} 1',
      "",
    ]);
  });

  const promtool = spawnSync("promtool", ["--version"]).status === 0;
  if (!promtool) console.log("No promtool was found, so the text is not checked by it: apt-get install prometheus.");
  test.skipIf(!promtool)("promtool reads it", async () => {
    await using c = client();
    await c.enqueue(job, {});
    await record(db, { kinds: { 'ma"il\n': { runs: 1, run_ms: 5, run_hist: [1] } } });
    await c.metrics.prometheus();
    await record(db, { kinds: { 'ma"il\n': { runs: 1, run_ms: 5, run_hist: [1] } }, processed: 1 });
    expect(() => execFileSync("promtool", ["check", "metrics"], { input: "" })).not.toThrow();
    const checked = spawnSync("promtool", ["check", "metrics"], {
      input: await c.metrics.prometheus({ tenants: true }),
    });
    expect(checked.stderr.toString()).not.toMatch(/error|invalid|parsing/i);
    expect(checked.status === 0 || checked.status === 3).toBe(true);
  });
});

describe("lines over time", () => {
  const since = new Date("2026-11-18T00:00:00Z");
  const until = new Date("2026-11-18T01:00:00Z");
  const at = (minute: number) => new Date(since.getTime() + minute * 60_000);
  const window = { since, until, points: 6 };

  test("are added up in steps, with gaps where nothing is known, by what is asked", async () => {
    await record(db, {
      at: at(1),
      processed: 300,
      running: 4,
      kinds: { a: { runs: 200, failed: 20, run_hist: [0, 0, 0, 0, 200] }, b: { runs: 100 } },
      queues: { q: { ready: 10 }, r: { ready: 5 } },
    });
    await record(db, {
      at: at(5),
      processed: 300,
      running: 2,
      kinds: { a: { runs: 300 } },
      queues: { q: { ready: 20 } },
    });
    await record(db, { at: at(5), worker: "w2", processed: 0, running: 7, tenants: { acme: { runs: 60, failed: 6 } } });
    await record(db, { at: at(59), processed: 60 });
    await using c = client();
    const out = await c.metrics.series({ name: "jobs.out", ...window });
    expect(out).toMatchObject({ unit: "perSecond", stepMs: 600_000, since: since.toISOString() });
    expect(out.times).toEqual([0, 10, 20, 30, 40, 50].map((minute) => at(minute).getTime()));
    expect(out.lines).toEqual([{ key: "", values: [1, null, null, null, null, 0.1] }]);
    const line = async (query: object) =>
      (await c.metrics.series({ ...window, ...query } as never)).lines.map(({ key, values }) => [key, values[0]]);
    expect(await line({ name: "jobs.out", by: "kind" })).toEqual([
      ["a", 500 / 600],
      ["b", 100 / 600],
    ]);
    expect(await line({ name: "jobs.out", kind: "b" })).toEqual([["b", 100 / 600]]);
    expect(await line({ name: "error.rate", by: "kind" })).toEqual([
      ["a", 0.04],
      ["b", 0],
    ]);
    expect(await line({ name: "error.rate", tenant: "acme" })).toEqual([["acme", 0.1]]);
    expect(await line({ name: "ready" })).toEqual([["", 20]]);
    expect(await line({ name: "ready", by: "queue" })).toEqual([
      ["q", 15],
      ["r", 5],
    ]);
    expect(await line({ name: "running" })).toEqual([["", 10]]);
    expect(await line({ name: "run.p50", kind: "a" })).toEqual([["a", 75]]);
    await expect(c.metrics.series({ name: "ready", by: "tenant", ...window })).rejects.toThrow(
      /not recorded by tenant. Known for it: none, queue/,
    );
    await expect(c.metrics.series({ name: "nope" as never, ...window })).rejects.toThrow(/name/);
    await expect(c.metrics.series({ name: "ready", since: until, until: since })).rejects.toThrow(
      /until must lie behind since/,
    );
  });

  test("a quantile lies within its bucket", () => {
    expect(quantile(null, 0.5)).toBeNull();
    expect(quantile([], 0.5)).toBeNull();
    expect(quantile([4], 0.5)).toBe(2.5);
    expect(quantile([1, 0, 0, 1], 0.95)).toBeCloseTo(47.5);
    expect(quantile([...BUCKETS_MS.map(() => 0), 3], 0.5)).toBe(300_000);
  });
});

test("what is reported must be a figure with a name", async () => {
  await using c = client();
  for (const bad of [
    [{ name: "x", value: Number.NaN }],
    [{ name: "", value: 1 }],
    [{ name: "x", value: 1, more: 2 }],
    "x",
    [{ name: "fleet.x", value: 1 }],
  ])
    await expect(c.metrics.record(bad as never)).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
  await c.metrics.record([]);
});
