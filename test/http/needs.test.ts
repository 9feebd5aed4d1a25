// What the first page says needs a person: each thing once, in a sentence with its number, and nothing where all is well.
import { expect, test } from "vitest";
import { paceMs } from "../../src/http/event-hub.js";
import { useDatabase } from "../support/database.js";
import { serverFor } from "./server.js";
import { waitingJobs } from "./waiting-jobs.js";

const db = useDatabase();
const { fill } = waitingJobs(db);

interface Need {
  code: string;
  severity: string;
  subject: { type: string; name: string };
  message: string;
  count: number | null;
}
const ago = (text: string) => `now() - interval '${text}'`;
const sample = (when: string, tenants: object, kinds: object = {}) =>
  db.query(`insert into fairmill.fleet_sample (at, tenants, kinds) values (${ago(when)}, $1, $2)`, [
    JSON.stringify(tenants),
    JSON.stringify(kinds),
  ]);
const record = (when: string, tenants: object) =>
  db.query(
    `insert into fairmill.worker_tick_metrics (worker_id, mode, tick_started_at, interval_ms, tick_duration_ms, jobs_claimed, tenants)
     values ('w', 'interval', ${ago(when)}, 10000, 10, 9, $1)`,
    [JSON.stringify(tenants)],
  );
const alert = (rule: string, subject: string, severity: string) => ({
  rule,
  subject,
  severity,
  message: "",
  since: null,
});

async function needs(firing: readonly object[] = []): Promise<Need[]> {
  const alerts = {
    list: async () => ({ items: [], next: null }),
    rules: async () => [],
    silence: async () => undefined,
    firing: async () => firing as never,
  };
  const { ask } = serverFor(db, { alerts });
  return (await ask<{ needsYou: Need[] }>("viewer", "GET", "/now")).body.needsYou;
}
const told = (list: readonly Need[]) =>
  Object.fromEntries(list.map(({ code, subject, message }) => [`${code} ${subject.name}`, message]));

test("a quiet fleet needs nothing; each trouble is one sentence with its number", async () => {
  expect(await needs()).toEqual([]);
  await fill(1, "lonely");
  await fill(3, "halted");
  const { ask } = serverFor(db);
  await ask("operator", "POST", "/queues/halted/pause");
  await db.query(
    `insert into fairmill.provider (name, timeout_ms, breaker_rate, breaker_calls, breaker_window_ms, breaker_open_ms, currency, breaker, closed_until, closed_why)
     values ('painter', 1000, 0.5, 5, 60000, 1000, 'USD', 'open', now() + interval '1 minute', 'breaker')`,
  );
  await sample("10 seconds", {}, { "invoice.close": { "no handler": 2, runnable: 5 }, mail: { runnable: 9 } });
  expect(told(await needs())).toEqual({
    "queue_without_workers lonely": "1 job waits, and no living worker serves this queue.",
    "paused_with_backlog halted": "The queue is paused, and 3 jobs wait in it.",
    "breaker_open painter": "Its breaker is open: jobs that call it wait.",
    "kind_without_workers invoice.close": "2 jobs wait, and no living worker knows this kind.",
  });
});

test("a tenant starves that had jobs to start three minutes ago and now, and was given nothing while others were", async () => {
  const both = { hungry: { runnable: 12 }, fed: { runnable: 5 }, capped: { "tenant cap": 7 } };
  await sample("4 minutes", both);
  await sample("10 seconds", { ...both, fresh: { runnable: 3 } });
  // Nothing starts at all: that is no want of fairness.
  expect(told(await needs())).toEqual({});
  await record("1 minute", { fed: { claimed: 9 } });
  expect(told(await needs())).toEqual({
    "tenant_starved hungry": "12 jobs wait, and none has started for three minutes.",
  });
  await record("30 seconds", { hungry: { claimed: 1 } });
  expect(told(await needs())).toEqual({});
});

test("an alert that says the same as what is read here is not said twice, and lends it its severity", async () => {
  await fill(2, "lonely");
  await sample("10 seconds", {}, { k: { "no handler": 1 } });
  const firing = [
    alert("queue-without-workers", "lonely", "warning"),
    alert("queue-without-workers", "gone", "critical"),
    alert("outbox-unknown", "", "critical"),
    alert("error-rate", "k", "info"),
  ];
  const list = await needs(firing);
  expect(list.map(({ code, severity, subject }) => [code, severity, subject.name])).toEqual([
    ["queue_without_workers", "critical", "lonely"],
    ["kind_without_workers", "critical", "k"],
    ["alert_firing", "critical", "queue-without-workers"],
    ["alert_firing", "critical", "outbox-unknown"],
    ["alert_firing", "info", "error-rate"],
  ]);
});

test("a busy fleet is looked at less often, whatever the looks took", () => {
  expect([paceMs(0, 2_000), paceMs(2_000, 2_000), paceMs(2_001, 2_000), paceMs(2_001, 5_000)]).toEqual([
    2_000, 2_000, 5_000, 2_000,
  ]);
});

test("the oldest wait: the first ready job by id, unless it was delayed and became due after jobs behind it", async () => {
  const { ask } = serverFor(db);
  const oldest = async () => {
    const { body } = await ask<{ oldestWaitJob: string | null; oldestWaitMs: number | null }>("viewer", "GET", "/now");
    return body;
  };
  expect(await oldest()).toMatchObject({ oldestWaitJob: null, oldestWaitMs: null });
  await fill(3, "mails");
  const [first, second] = await db.query<{ id: string }>("select id::text from fairmill.job order by id");
  await db.query("update fairmill.job set created_at = now() - interval '1 hour' + id * interval '1 millisecond'");
  expect((await oldest()).oldestWaitJob).toBe(first!.id);
  await db.query("update fairmill.job set run_at = now() - interval '1 minute' where id = $1", [first!.id]);
  const { oldestWaitJob, oldestWaitMs } = await oldest();
  expect(oldestWaitJob).toBe(second!.id);
  expect(oldestWaitMs! / 3_600_000).toBeCloseTo(1, 1);
});
