// How jobs travel: single calls share transactions, and the caller's own transaction is obeyed.
import { setTimeout as pause } from "node:timers/promises";
import { createClient, defineJob } from "fairmill";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const plain = defineJob<{ n: number }>({ kind: "plain" });
const count = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);
/** Every job carries the number of the transaction that made it. */
const transactions = async () =>
  Number((await db.query("select count(distinct xmin::text) as n from fairmill.job"))[0]!["n"]);
const items = (length: number) => Array.from({ length }, (_, n) => ({ input: { n } }));

describe("single calls", () => {
  test("a hundred at once share a few transactions, and each gets its own job in the order of the calls", async () => {
    const client = createClient({ databaseUrl: db.url });
    const all = await Promise.all(items(100).map(({ input }) => client.enqueue(plain, input)));
    expect(await transactions()).toBeLessThanOrEqual(3);
    const rows = await db.query("select id, payload from fairmill.job order by id");
    expect(rows.map(({ payload }) => payload["n"])).toEqual(items(100).map(({ input }) => input.n));
    expect(all.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    await client.close();
  });

  test("a thousand callers that come in over time share transactions, too, and bounded connections", async () => {
    const client = createClient({ databaseUrl: db.url, connectionsMax: 2 });
    const calls: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++) {
      for (let n = 0; n < 50; n++) calls.push(client.enqueue(plain, { n }));
      await pause(1);
    }
    await Promise.all(calls);
    expect(await count()).toBe(1_000);
    expect(await transactions()).toBeLessThanOrEqual(40);
    await client.close();
  });

  test("jobs are answered for when they are stored, also while their wake-up waits; closing waits for that", async () => {
    const client = createClient({ databaseUrl: db.url });
    const enqueueAll = (count: number) => Promise.all(items(count).map(({ input }) => client.enqueue(plain, input)));
    // Calls behind a group of several leave together. A job that leaves alone asks for workers itself, and would wait with its answer.
    await enqueueAll(1);
    await enqueueAll(3);
    const gate = new pg.Client(db.url);
    await gate.connect();
    try {
      await gate.query("begin");
      await gate.query("lock table fairmill.worker");
      await enqueueAll(2);
      expect(await count()).toBe(6);
      const heldUp = "select from pg_stat_activity where query like '%wake_lane_v1%' and wait_event_type = 'Lock'";
      await waitUntil("the wake-up stands at the lock", async () => (await db.query(heldUp)).length === 1);
      const closed = client.close();
      await gate.query("commit");
      await closed;
    } finally {
      await gate.end();
    }
  });

  test("a bad job in a shared transaction fails alone", async () => {
    const client = createClient({ databaseUrl: db.url });
    // Refused by the database, not by us: what we check would not get this far.
    await db.query("alter table fairmill.job add constraint no_thirteen check (payload ->> 'n' is distinct from '13')");
    try {
      const all = await Promise.allSettled(items(20).map(({ input }) => client.enqueue(plain, input)));
      expect(all.map(({ status }, n) => (status === "rejected" ? n : -1)).filter((n) => n >= 0)).toEqual([13]);
      expect((all[13] as PromiseRejectedResult).reason).toMatchObject({
        code: "FAIRMILL_DATABASE",
        cause: { constraint: "no_thirteen" },
      });
      expect(await count()).toBe(19);
    } finally {
      await db.query("alter table fairmill.job drop constraint no_thirteen");
      await client.close();
    }
  });

  test("a typed refusal beside other calls changes nothing for them", async () => {
    const client = createClient({ databaseUrl: db.url });
    const all = await Promise.allSettled([
      client.enqueue(plain, { n: 1 }),
      client.enqueue(plain, { n: Number.NaN }),
      client.enqueue(plain, { n: 3 }, { tenant: "" }),
      client.enqueue(plain, { n: 4 }),
    ]);
    expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    expect(await count()).toBe(2);
    await client.close();
  });

  test("jobs of different kinds, queues, tenants and priorities travel together and stay what they are", async () => {
    const client = createClient({ databaseUrl: db.url });
    const mortal = defineJob<{ n: number }>({ kind: "mortal", queue: "slow", expire: "1h", retry: { attempts: 9 } });
    await Promise.all([
      client.enqueue(plain, { n: 1 }, { tenant: "a", delay: "1h" }),
      client.enqueue(mortal, { n: 2 }, { tenant: "b", priority: 5, key: "k" }),
      client.enqueue(plain, { n: 3 }),
    ]);
    expect(
      await db.query(
        "select kind, queue, tenant, priority, max_attempts, key, state, expire_at is not null as mortal from fairmill.job order by id",
      ),
    ).toEqual([
      {
        kind: "plain",
        queue: "default",
        tenant: "a",
        priority: 0,
        max_attempts: 3,
        key: null,
        state: "scheduled",
        mortal: false,
      },
      {
        kind: "mortal",
        queue: "slow",
        tenant: "b",
        priority: 5,
        max_attempts: 9,
        key: "k",
        state: "ready",
        mortal: true,
      },
      {
        kind: "plain",
        queue: "default",
        tenant: "default",
        priority: 0,
        max_attempts: 3,
        key: null,
        state: "ready",
        mortal: false,
      },
    ]);
    await client.close();
  });
});

describe("F2: the caller's own transaction", () => {
  test("rolled back leaves nothing, committed leaves the jobs and what was written beside them", async () => {
    const client = createClient({ databaseUrl: db.url });
    await db.query("create table if not exists public.orders (id integer)");
    const tx = await db.pool.connect();
    for (const end of ["rollback", "commit"]) {
      await tx.query("begin");
      await tx.query("insert into public.orders values (1)");
      const { id } = await client.in(tx).enqueue(plain, { n: 1 }, { tenant: "acme" });
      const many = await client.in(tx).enqueueMany(plain, items(6_000));
      expect(many).toHaveLength(6_000);
      expect(await client.job(id)).toBeUndefined();
      await tx.query(end);
      expect((await client.job(id))?.tenant).toBe(end === "commit" ? "acme" : undefined);
    }
    tx.release();
    expect(await count()).toBe(6_001);
    expect(await db.query("select * from public.orders")).toHaveLength(1);
    await db.query("drop table public.orders");
    await client.close();
  });

  test("of a plain client, and a pool where no transaction is wanted, will do", async () => {
    const client = createClient({ databaseUrl: db.url });
    const single = new pg.Client(db.url);
    await single.connect();
    await client.in(single).enqueue(plain, { n: 1 });
    await single.end();
    await client.in(db.pool).enqueue(plain, { n: 2 });
    expect(await client.in(db.pool).enqueueMany(plain, [])).toEqual([]);
    expect(await count()).toBe(2);
    await client.close();
  });

  test("keeps idempotency keys only if it commits", async () => {
    const client = createClient({ databaseUrl: db.url });
    const tx = await db.pool.connect();
    await tx.query("begin");
    expect((await client.in(tx).enqueue(plain, { n: 1 }, { idempotencyKey: "k" })).created).toBe(true);
    expect((await client.in(tx).enqueue(plain, { n: 1 }, { idempotencyKey: "k" })).created).toBe(false);
    await tx.query("rollback");
    tx.release();
    expect((await client.enqueue(plain, { n: 1 }, { idempotencyKey: "k" })).created).toBe(true);
    await client.close();
  });

  test("that is none is refused by name", () => {
    const client = createClient({ databaseUrl: db.url });
    for (const tx of [undefined, null, {}, "tx"])
      expect(() => client.in(tx as never)).toThrow(expect.objectContaining({ code: "FAIRMILL_CONFIG", setting: "tx" }));
    return client.close();
  });

  test("refuses a bad job before anything is sent, so that the transaction can go on", async () => {
    const client = createClient({ databaseUrl: db.url });
    const tx = await db.pool.connect();
    await tx.query("begin");
    await expect(client.in(tx).enqueue(plain, { n: Number.NaN })).rejects.toMatchObject({
      code: "FAIRMILL_INPUT_INVALID",
    });
    await client.in(tx).enqueue(plain, { n: 1 });
    await tx.query("commit");
    tx.release();
    expect(await count()).toBe(1);
    await client.close();
  });
});

describe("closing", () => {
  test("waits for whatever is under way: single calls, lists, streams, and questions", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* stream() {
      for (let n = 0; n < 4_500; n++) yield { input: { n } };
    }
    const calls = Promise.allSettled([
      client.enqueue(plain, { n: 1 }),
      client.enqueueMany(plain, items(6_000)),
      client.enqueueMany(plain, stream()),
      client.job("1"),
    ]);
    await client.close();
    expect((await calls).map((call) => (call.status === "rejected" ? String(call.reason) : "ok"))).toEqual([
      "ok",
      "ok",
      "ok",
      "ok",
    ]);
    expect(await count()).toBe(1 + 6_000 + 4_500);
  });

  test("twice is as good as once, and what comes after it is refused", async () => {
    const client = createClient({ databaseUrl: db.url });
    await client.enqueue(plain, { n: 1 });
    const inTransaction = client.in(db.pool);
    await Promise.all([client.close(), client.close()]);
    await client.close();
    await expect(client.enqueue(plain, { n: 2 })).rejects.toThrow(/closed/);
    await expect(client.job("1")).rejects.toThrow(/closed/);
    await expect(inTransaction.enqueue(plain, { n: 3 })).rejects.toMatchObject({ code: "FAIRMILL_CLOSED" });
    await expect(client.in(db.pool).enqueueMany(plain, items(2))).rejects.toMatchObject({ code: "FAIRMILL_CLOSED" });
    await expect(client.in(db.pool).credits.balance("a")).rejects.toMatchObject({ code: "FAIRMILL_CLOSED" });
    expect(await count()).toBe(1);
  });

  test("is done by `await using`, and leaves a pool of the caller's open", async () => {
    {
      await using client = createClient({ db: db.pool });
      await client.enqueue(plain, { n: 1 });
    }
    expect(await count()).toBe(1);
  });
});

describe("results", () => {
  test("waiting for a job that no worker runs ends with the time, and the job goes on", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const { id } = await client.enqueue(plain, { n: 1 });
    await expect(client.result(id, { timeout: 50 })).rejects.toMatchObject({
      code: "FAIRMILL_RESULT_TIMEOUT",
      message: expect.stringContaining("still ready"),
    });
    await client.cancel(id);
    await expect(client.result(id)).rejects.toMatchObject({ code: "FAIRMILL_RESULT_CANCELLED", jobId: id });
    await expect(client.result("123456789")).rejects.toMatchObject({ code: "FAIRMILL_JOB_NOT_FOUND" });
  });
});
