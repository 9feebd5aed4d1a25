// One job, many jobs, a stream of jobs: how they travel.
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, defineJob } from "fairmill";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDatabase, useDatabase } from "../support/database.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const plain = defineJob<{ n: number }>({ kind: "plain" });
const large = defineJob<{ text: string }>({ kind: "large" });
const MEGABYTE = "a".repeat(1_000_000);
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
    const gate = new pg.Client(db.url);
    await gate.connect();
    await gate.query("begin");
    await gate.query("lock table fairmill.worker");
    const heldUp = "select from pg_stat_activity where query like '%wake_lane_v1%' and wait_event_type = 'Lock'";
    // Two, because a job alone asks for workers itself.
    await Promise.all([client.enqueue(plain, { n: 1 }), client.enqueue(plain, { n: 2 })]);
    expect(await count()).toBe(2);
    await waitUntil("the wake-up stands at the lock", async () => (await db.query(heldUp)).length === 1);
    const closed = client.close();
    await gate.query("commit");
    await closed;
    await gate.end();
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

describe("lists", () => {
  test.each([undefined, null, 5, { input: { n: 1 } }])("%o is no list, and is refused by name", async (list) => {
    await using client = createClient({ databaseUrl: db.url });
    const refusal = { code: "FAIRMILL_CONFIG", message: expect.stringContaining("is no list of jobs") };
    await expect(client.enqueueMany(plain, list as never)).rejects.toMatchObject(refusal);
    await expect(client.in(db.pool).enqueueMany(plain, list as never)).rejects.toMatchObject(refusal);
  });

  test.each([null, undefined, "text"])("%s in a stream is refused by name", async (item) => {
    await using client = createClient({ databaseUrl: db.url });
    async function* stream() {
      yield item as never;
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toMatchObject({
      code: "FAIRMILL_CONFIG",
      message: expect.stringContaining("is no job of a list"),
    });
  });

  test.each([null, undefined, 5, "text"])(
    "%s among the items is refused by name, and nothing is stored",
    async (item) => {
      await using client = createClient({ databaseUrl: db.url });
      await expect(client.enqueueMany(plain, [{ input: { n: 1 } }, item as never])).rejects.toMatchObject({
        code: "FAIRMILL_CONFIG",
        message: expect.stringContaining("is no job of a list"),
      });
      expect(await db.query("select from fairmill.job")).toEqual([]);
    },
  );

  test("are stored in one transaction, however long, with their ids in the order given", async () => {
    const client = createClient({ databaseUrl: db.url });
    const all = await client.enqueueMany(plain, items(12_000));
    expect(await transactions()).toBe(1);
    const rows = await db.query("select id from fairmill.job order by (payload ->> 'n')::integer");
    expect(all.map(({ id }) => id)).toEqual(rows.map(({ id }) => id));
    expect(await client.enqueueMany(plain, [])).toEqual([]);
    await client.close();
  });

  test("of large payloads are cut into statements of a bearable size, still in one transaction", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: proxy.url });
    const all = await client.enqueueMany(
      large,
      Array.from({ length: 40 }, () => ({ input: { text: MEGABYTE } })),
    );
    expect(new Set(all.map(({ id }) => id)).size).toBe(40);
    expect(proxy.count("enqueue_payloads_v1")).toBeGreaterThanOrEqual(3);
    expect(await transactions()).toBe(1);
  });

  test.each<[string, object, string, unknown]>([
    ["tenant", { tenant: "acme" }, "tenant", "acme"],
    ["priority", { priority: 7 }, "priority", 7],
    ["key", { key: "k" }, "key", "k"],
    ["moment", { runAt: "2100-01-01T00:00:00Z" }, "state", "scheduled"],
    ["delay", { delay: "1h" }, "state", "scheduled"],
  ])("in which one job differs in its %s keep the difference where it is", async (_, options, column, value) => {
    await using client = createClient({ databaseUrl: db.url });
    const [first, second, third] = items(3);
    const all = await client.enqueueMany(plain, [first!, { ...second!, ...options }, third!]);
    const rows = await db.query(`select id, payload, ${column} as value from fairmill.job order by id`);
    expect(rows.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
    expect(rows.map(({ payload }) => payload["n"])).toEqual([0, 1, 2]);
    expect(rows.map((row) => row["value"] === value)).toEqual([false, true, false]);
  });

  test("may be any iterable", async () => {
    const client = createClient({ databaseUrl: db.url });
    function* three() {
      for (let n = 0; n < 3; n++) yield { input: { n }, tenant: `t${n}` };
    }
    expect(await client.enqueueMany(plain, three())).toHaveLength(3);
    expect(await client.enqueueMany(plain, new Set(items(2)))).toHaveLength(2);
    await client.close();
  });

  test("with one bad job among 12,000 store nothing", async () => {
    const client = createClient({ databaseUrl: db.url });
    const list = items(12_000);
    list[11_999] = { input: { n: Number.NaN } };
    await expect(client.enqueueMany(plain, list)).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    await db.query("alter table fairmill.job add constraint no_late check ((payload ->> 'n')::integer <> 11999)");
    try {
      await expect(client.enqueueMany(plain, items(12_000))).rejects.toMatchObject({
        cause: { constraint: "no_late" },
      });
      expect(await count()).toBe(0);
    } finally {
      await db.query("alter table fairmill.job drop constraint no_late");
      await client.close();
    }
  });
});

describe("streams", () => {
  test("that fail for reasons of their own fail with their own error, whatever its cause was", async () => {
    const client = createClient({ databaseUrl: db.url });
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    const own = new TypeError("fetch failed", { cause: refused });
    // biome-ignore lint/correctness/useYield: it fails before it has anything.
    async function* stream(): AsyncGenerator<{ input: { n: number } }> {
      throw own;
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toBe(own);
    await client.close();
  });

  test("are stored page by page: never more than two pages are in memory", async () => {
    const client = createClient({ databaseUrl: db.url });
    let ahead = 0;
    async function* stream() {
      for (let n = 0; n < 20_000; n++) {
        if (n % 1_000 === 0) ahead = Math.max(ahead, n - (await count()));
        yield { input: { n } };
      }
    }
    expect(await client.enqueueMany(plain, stream())).toEqual({ count: 20_000, created: 20_000 });
    expect(await count()).toBe(20_000);
    expect(ahead).toBeLessThanOrEqual(4_000);
    expect(ahead).toBeGreaterThan(0);
    await client.close();
  });

  test("of large payloads have smaller pages", async () => {
    await using client = createClient({ databaseUrl: db.url });
    let ahead = 0;
    async function* stream() {
      for (let n = 0; n < 60; n++) {
        ahead = Math.max(ahead, n - (await count()));
        yield { input: { text: MEGABYTE } };
      }
    }
    expect(await client.enqueueMany(large, stream())).toEqual({ count: 60, created: 60 });
    expect(ahead).toBeLessThanOrEqual(36);
  });

  test("count what they made and what was known before", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* stream() {
      for (let n = 0; n < 2_500; n++) yield { input: { n }, idempotencyKey: `k${n % 2_400}` };
    }
    expect(await client.enqueueMany(plain, stream())).toEqual({ count: 2_500, created: 2_400 });
    await client.close();
  });

  test("that break keep what was stored before, and say why they broke", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* stream() {
      for (let n = 0; n < 5_000; n++) yield { input: { n: n === 4_500 ? Number.NaN : n } };
    }
    await expect(client.enqueueMany(plain, stream())).rejects.toMatchObject({ code: "FAIRMILL_INPUT_INVALID" });
    expect(await count()).toBe(4_000);
    async function* broken() {
      yield { input: { n: 1 } };
      throw new Error("the file ended early");
    }
    await expect(client.enqueueMany(plain, broken())).rejects.toThrow("the file ended early");
    await client.close();
  });

  test("of nothing are nothing", async () => {
    const client = createClient({ databaseUrl: db.url });
    async function* nothing() {}
    expect(await client.enqueueMany(plain, nothing())).toEqual({ count: 0, created: 0 });
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

describe("a database that is not there", () => {
  test("and one that was never migrated say what to do", async () => {
    const fresh = await freshDatabase({ empty: true });
    const client = createClient({ databaseUrl: fresh.url });
    const refusal = {
      code: "FAIRMILL_NOT_MIGRATED",
      message: expect.stringMatching(/Run "fairmill migrate" or client\.migrate/),
    };
    await expect(client.enqueue(plain, { n: 1 })).rejects.toMatchObject(refusal);
    await expect(client.enqueueMany(plain, items(3))).rejects.toMatchObject(refusal);
    await expect(client.job("1")).rejects.toMatchObject(refusal);
    await expect(client.cancel("1")).rejects.toMatchObject(refusal);
    await client.close();
    await fresh.drop();
  });

  test("is named as such, with the reason, after a few tries", async () => {
    const client = createClient({ databaseUrl: "postgres://postgres@127.0.0.1:1/nowhere" });
    await expect(client.enqueue(plain, { n: 1 })).rejects.toMatchObject({
      code: "FAIRMILL_DATABASE_UNREACHABLE",
      message: expect.stringMatching(/could not be reached \(.*ECONNREFUSED.*\)\. Check that PostgreSQL runs/),
    });
    await expect(client.job("1")).rejects.toMatchObject({ code: "FAIRMILL_DATABASE_UNREACHABLE" });
    await client.close();
  });

  test("because its name or the password is wrong: the server's reason is told, and nothing is tried again", async () => {
    const url = new URL(db.url);
    const server = url.port;
    let knocks = 0;
    const door = createServer((socket) => {
      knocks++;
      socket.pipe(connect(Number(server), url.hostname)).pipe(socket);
    });
    await once(door.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void door.close());
    url.port = String((door.address() as AddressInfo).port);
    url.pathname = "/no_such_database";
    const client = createClient({ databaseUrl: url.href });
    await expect(client.enqueue(plain, { n: 1 })).rejects.toThrow(/no_such_database/);
    expect(knocks).toBe(1);
    const refusal = { code: "FAIRMILL_DATABASE_NOT_FOUND", message: expect.stringContaining("no_such_database") };
    await expect(client.enqueueMany(plain, items(2))).rejects.toMatchObject(refusal);
    await expect(client.jobs.list()).rejects.toMatchObject(refusal);
    await expect(client.migrate()).rejects.toMatchObject(refusal);
    await expect(client.pendingMigrations()).rejects.toMatchObject(refusal);
    await client.close();
  });

  test("and none named at all is a setting that is missing", () => {
    const given = process.env["DATABASE_URL"];
    delete process.env["DATABASE_URL"];
    try {
      expect(() => createClient()).toThrow(
        expect.objectContaining({ code: "FAIRMILL_CONFIG", setting: "databaseUrl" }),
      );
    } finally {
      if (given !== undefined) process.env["DATABASE_URL"] = given;
    }
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
