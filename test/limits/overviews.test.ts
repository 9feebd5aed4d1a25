// Tenants, queues and kinds at a glance: found wherever they are named, counted to a bound, cheap on a long queue.
import { type Client, createClient, defineJob } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explainEverything, plansOf, readersOf } from "../db/plans/plan-reader.js";
import { useDatabase } from "../support/database.js";
import { claim, endLease, enqueue, fill, fillTenants, register } from "../support/sql/calls.js";
import { openSession } from "../support/sql/sessions.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const exactly = (count: number) => ({ count, more: false });

describe("tenants", () => {
  test("are those with settings, ready or running jobs, by name, over all queues and priorities", async () => {
    expect(await client.tenants.list()).toEqual([]);
    await register(db, "w");
    await client.tenants.set("paused only", { weight: 2 });
    await client.pause({ tenant: "paused only" });
    await client.tenants.set("acme", { maxRunning: 20, rate: { limit: 100, per: "1m", at: "enqueue" } });
    await fill(db, 2, { tenant: "runs" });
    expect(await claim(db, "w", 2)).toHaveLength(2);
    await fill(db, 3, { tenant: "acme" });
    await fill(db, 4, { tenant: "acme", priority: 5, queue: "other" });
    await fill(db, 1, { tenant: "Bob", priority: -3 });
    await enqueue(db, [{ kind: "work", tenant: "later", delay_ms: 60_000 }]);
    expect(await client.tenants.list()).toEqual([
      {
        tenant: "Bob",
        weight: 1,
        maxRunning: null,
        rate: null,
        pausedAt: null,
        pausedUntil: null,
        running: exactly(0),
        ready: exactly(1),
      },
      {
        tenant: "acme",
        weight: 1,
        maxRunning: 20,
        rate: { limit: 100, per: 60_000, how: "window", at: "enqueue" },
        pausedAt: null,
        pausedUntil: null,
        running: exactly(0),
        ready: exactly(7),
      },
      expect.objectContaining({
        tenant: "paused only",
        weight: 2,
        pausedAt: expect.any(Date),
        pausedUntil: null,
        ready: exactly(0),
      }),
      expect.objectContaining({ tenant: "runs", running: exactly(2), ready: exactly(0) }),
    ]);
  });

  test("come in pages that meet without a gap, whatever the names", async () => {
    const names = ["", "é", "Z", "a", "a b", 'q"uote', "ü", "日本", "~"].filter((name) => name !== "");
    for (const name of names) await fill(db, 1, { tenant: name });
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await client.tenants.list({ limit: 2, ...(after === undefined ? {} : { after }) });
      seen.push(...page.map(({ tenant }) => tenant));
      if (page.length < 2) break;
      after = seen.at(-1);
    }
    expect(seen).toEqual(names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    await expect(client.tenants.list({ limit: 201 })).rejects.toThrow("limit: 201 is not a whole number from 1 to 200");
    await expect(client.tenants.list({ behind: "a" } as object)).rejects.toThrow('unknown setting "behind"');
  });

  test("what is set can be read and set again", async () => {
    await client.tenants.set("a", { weight: 0.5, maxRunning: 0, rate: { limit: 5, per: "1s", how: "uniform" } });
    const [read] = await client.tenants.list();
    await client.tenants.set("b", { weight: read!.weight, maxRunning: read!.maxRunning, rate: read!.rate });
    expect((await client.tenants.list())[1]).toEqual({ ...read, tenant: "b" });
  });
});

describe("queues", () => {
  test("are those that jobs, living workers or settings name, with what waits and runs", async () => {
    expect(await client.queues.list()).toEqual([]);
    await register(db, "w");
    await register(db, "gone");
    await db.query("update fairmill.worker set queues = '{default,idle}' where id = 'w'");
    await db.query("update fairmill.worker set queues = '{forgotten}' where id = 'gone'");
    await endLease(db, "gone");
    await client.queues.set("limited", { maxRunning: 5, rate: { limit: 1, per: "1s", how: "uniform" } });
    await client.pause({ queue: "limited" });
    await fill(db, 2);
    await claim(db, "w", 1);
    await fill(db, 3, { priority: 7 });
    await enqueue(db, [{ kind: "work", queue: "later", delay_ms: 60_000 }]);
    const one = defineJob<number>({ kind: "one", queue: "keys", key: () => "k", limits: { active: 1 } });
    await client.enqueueMany(one, [{ input: 1 }, { input: 2 }, { input: 3 }]);
    const none = { maxRunning: null, rate: null, pausedAt: null, pausedUntil: null, workers: 0 };
    const empty = { running: exactly(0), ready: exactly(0), scheduled: exactly(0), blocked: exactly(0) };
    expect(await client.queues.list()).toEqual([
      { queue: "default", ...none, ...empty, workers: 1, ready: exactly(4), running: exactly(1) },
      { queue: "idle", ...none, ...empty, workers: 1 },
      { queue: "keys", ...none, ...empty, ready: exactly(1), blocked: exactly(2) },
      { queue: "later", ...none, ...empty, scheduled: exactly(1) },
      {
        queue: "limited",
        ...empty,
        maxRunning: 5,
        rate: { limit: 1, per: 1_000, how: "uniform", at: "start" },
        pausedAt: expect.any(Date),
        pausedUntil: null,
        workers: 0,
      },
    ]);
    expect((await client.queues.list({ after: "idle", limit: 1 })).map(({ queue }) => queue)).toEqual(["keys"]);
  });
});

describe("kinds", () => {
  test("are those that have limits or that a living worker handles", async () => {
    await register(db, "w");
    await db.query("update fairmill.worker set kinds = '{handled}'");
    await client.kinds.set("capped", { maxRunning: 4 });
    await client.enqueue(defineJob({ kind: "keyed", limits: { active: 1, whenActive: "refuse" } }), {});
    for (const kind of ["alone", "capped twice"]) await client.enqueue(defineJob({ kind, limits: { active: 2 } }), {});
    await client.kinds.set("capped twice", { maxRunning: 3 });
    const none = { maxRunning: null, rate: null, pausedAt: null, pausedUntil: null, limits: null };
    const two = { per: "kind", active: 2, whenActive: "wait", rate: null };
    expect(await client.kinds.list()).toEqual([
      { kind: "alone", ...none, limits: two },
      { kind: "capped", ...none, maxRunning: 4 },
      { kind: "capped twice", ...none, maxRunning: 3, limits: two },
      { kind: "handled", ...none },
      { kind: "keyed", ...none, limits: { per: "kind", active: 1, whenActive: "refuse", rate: null } },
    ]);
    expect((await client.kinds.list({ after: "capped twice", limit: 1 })).map(({ kind }) => kind)).toEqual(["handled"]);
  });
});

test("a long queue is counted to a bound, by the indexes", async () => {
  await fill(db, 40_000, { tenant: "long" });
  await fillTenants(db, 500, 20);
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, state, aside, payload, run_at)
     select 'work', 'default', 'late', 'scheduled', 'scheduled', '{}', now() + n * interval '1 second' from generate_series(1, 15000) n`,
  );
  const [long] = await client.tenants.list({ limit: 1 });
  expect(long).toMatchObject({ tenant: "long", ready: { count: 1000, more: true } });
  expect(await client.queues.list()).toMatchObject([
    {
      queue: "default",
      ready: { count: 1000, more: true },
      scheduled: { count: 10_000, more: true },
      blocked: exactly(0),
    },
  ]);
  const session = await openSession(db.url);
  try {
    await explainEverything(session);
    for (const [statement, rowsMax] of [
      ["select * from fairmill.tenants_v1('', 200)", 10_000],
      ["select * from fairmill.queues_v1('', 200)", 12_000],
    ] as const) {
      const readers = readersOf(await plansOf(session, statement), "job");
      expect(readers.map(({ type }) => type)).not.toContain("Seq Scan");
      expect(readers.reduce((sum, { rows, rowsInVain }) => sum + rows + rowsInVain, 0)).toBeLessThan(rowsMax);
    }
  } finally {
    await session.close();
  }
});
