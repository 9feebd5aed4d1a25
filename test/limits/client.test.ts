// Limits as the client meets them: what is refused and by which error, and that one refusal concerns no other call.
import {
  ActiveLimitError,
  type Client,
  ConfigError,
  createClient,
  defineJob,
  type JobLimits,
  RateLimitError,
} from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claim, register, settle } from "../support/sql/calls.js";
import { openSession } from "../support/sql/sessions.js";

const db = useDatabase();
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const perUser = (limits: JobLimits, kind = "sync") =>
  defineJob<{ user: string }>({ kind, key: ({ user }) => user, limits });
const refusing = perUser({ active: 1, whenActive: "refuse" });
const hourly = perUser({ rate: { limit: 2, per: "1h", at: "enqueue" } }, "hourly");
const countOf = async (kind = "sync") => (await client.jobs.list({ kind })).length;
const failed = async <E>(work: Promise<unknown>): Promise<E> =>
  work.then(
    (value) => expect.fail(`It resolved: ${JSON.stringify(value)}`),
    (error: E) => error,
  );

describe("B5: a key that refuses", () => {
  test("names the job that holds the slot, from enqueue to its end", async () => {
    await register(db, "w");
    const { id } = await client.enqueue(refusing, { user: "ann" });
    const waiting = await failed<ActiveLimitError>(client.enqueue(refusing, { user: "ann" }));
    expect(waiting).toBeInstanceOf(ActiveLimitError);
    expect(waiting).toMatchObject({
      code: "FAIRMILL_ACTIVE_LIMIT",
      key: "sync / default / ann",
      limit: 1,
      jobIds: [id],
    });
    expect(waiting.message).toContain(`job ${id} is active`);
    const claims = await claim(db, "w");
    expect(await failed(client.enqueue(refusing, { user: "ann" }))).toMatchObject({ jobIds: [id] });
    await settle(db, "w", claims, "done");
    expect(await client.enqueue(refusing, { user: "ann" })).toMatchObject({ created: true });
  });

  test("does not concern other users and tenants", async () => {
    await client.enqueue(refusing, { user: "ann" });
    await client.enqueue(refusing, { user: "bob" });
    await client.enqueue(refusing, { user: "ann" }, { tenant: "acme" });
    expect(await countOf()).toBe(3);
  });

  test("of calls that were sent together, one refused does not fail the others", async () => {
    const users = ["ann", "bob", "ann", "cleo", "ann", "dan"];
    const settled = await Promise.allSettled(users.map((user) => client.enqueue(refusing, { user })));
    const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as ActiveLimitError] : []));
    expect(failures.map(({ code, key }) => [code, key])).toEqual([
      ["FAIRMILL_ACTIVE_LIMIT", "sync / default / ann"],
      ["FAIRMILL_ACTIVE_LIMIT", "sync / default / ann"],
    ]);
    expect(await countOf()).toBe(4);
  });

  test("and the others need not be sent again one by one", async () => {
    const users = Array.from({ length: 30 }, (_, n) => `user ${n % 20}`);
    const settled = await Promise.allSettled(users.map((user) => client.enqueue(refusing, { user })));
    expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(10);
    const [row] = await db.query(
      "select count(*)::integer as jobs, count(distinct created_at)::integer as transactions from fairmill.job",
    );
    expect(row!["jobs"]).toBe(20);
    expect(row!["transactions"]).toBeLessThanOrEqual(5);
  });

  test("of a list, one refused means none stored, and no idempotency key is used up", async () => {
    await client.enqueue(refusing, { user: "ann" });
    const list = ["bob", "ann", "cleo"].map((user) => ({ input: { user }, idempotencyKey: `sync-${user}` }));
    expect(await failed(client.enqueueMany(refusing, list))).toBeInstanceOf(ActiveLimitError);
    expect(await countOf()).toBe(1);
    expect(await db.query("select key from fairmill.idempotency")).toEqual([]);
    const others = list.filter(({ input }) => input.user !== "ann");
    expect(await client.enqueueMany(refusing, others)).toMatchObject([{ created: true }, { created: true }]);
  });

  test("two of the same user in one list refuse each other, and the message says so", async () => {
    const error = await failed<ActiveLimitError>(
      client.enqueueMany(refusing, [{ input: { user: "ann" } }, { input: { user: "ann" } }]),
    );
    expect(error.jobIds).toEqual([]);
    expect(error.message).toContain("jobs of the same call are active");
  });

  test("an idempotency key that is known finds its job although the place is held", async () => {
    const { id } = await client.enqueue(refusing, { user: "ann" }, { idempotencyKey: "once" });
    expect(await client.enqueue(refusing, { user: "ann" }, { idempotencyKey: "once" })).toEqual({ id, created: false });
  });

  test("inside a transaction of the caller leaves the transaction usable", async () => {
    await client.enqueue(refusing, { user: "ann" });
    const session = await openSession(db.url);
    const tx = { query: async (text: string, values?: unknown[]) => ({ rows: await session.query(text, values) }) };
    try {
      await session.query("begin");
      await session.query("create table public.mine (n integer)");
      expect(await failed(client.in(tx).enqueue(refusing, { user: "ann" }))).toBeInstanceOf(ActiveLimitError);
      await session.query("insert into public.mine values (1)");
      await client.in(tx).enqueue(refusing, { user: "bob" });
      await session.query("commit");
      expect(await session.query("select n from public.mine")).toEqual([{ n: 1 }]);
      expect(await countOf()).toBe(2);
    } finally {
      await session.query("drop table if exists public.mine");
      await session.close();
    }
  });
});

describe("B5: a key that waits", () => {
  test("blocks the second job instead of refusing it, and the end of the first lets it go", async () => {
    const waiting = perUser({ active: 1 });
    await register(db, "w");
    const [first, second] = await client.enqueueMany(waiting, [{ input: { user: "ann" } }, { input: { user: "ann" } }]);
    expect(await client.job(second!.id)).toMatchObject({ state: "blocked" });
    const claims = await claim(db, "w", 5);
    expect(claims).toMatchObject([{ id: first!.id }]);
    await settle(db, "w", claims, "done");
    expect(await client.job(second!.id)).toMatchObject({ state: "ready" });
  });
});

describe("B7: a rate at enqueue", () => {
  test("refuses what is over it, and says when one more may come", async () => {
    const [before] = await db.query<{ now: Date }>("select clock_timestamp() as now");
    await client.enqueue(hourly, { user: "ann" });
    await client.enqueue(hourly, { user: "ann" });
    const error = await failed<RateLimitError>(client.enqueue(hourly, { user: "ann" }));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ code: "FAIRMILL_RATE_LIMIT", scope: "key", of: "hourly / default / ann" });
    const waitMs = error.retryAt!.getTime() - before!.now.getTime();
    expect(waitMs).toBeGreaterThanOrEqual(3_600_000);
    expect(waitMs).toBeLessThan(3_640_000);
    expect(error.message).toContain(error.retryAt!.toISOString());
    expect(await client.enqueue(hourly, { user: "bob" })).toMatchObject({ created: true });
  });

  test.each([
    ["window", 3, "no more than 2 at once"],
    ["uniform", 2, "one by one"],
  ] as const)("a list that never fits is told so, not when to come again (%s)", async (how, count, told) => {
    const job = defineJob({ kind: how, limits: { rate: { limit: 2, per: "1h", how, at: "enqueue" } } });
    const list = Array.from({ length: count }, () => ({ input: {} }));
    const error = await failed<RateLimitError>(client.enqueueMany(job, list));
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error.retryAt).toBeUndefined();
    expect(error.message).toContain(told);
    expect(error.message).toContain("in parts");
    // Nothing was spent, and a part of it is let in.
    await client.enqueueMany(job, list.slice(1));
    expect((await failed<RateLimitError>(client.enqueueMany(job, list.slice(1)))).retryAt).toBeInstanceOf(Date);
  });

  test.each([
    ["tenant", "acme", () => client.tenants.set("acme", { rate: { limit: 1, per: "1h", at: "enqueue" } })],
    ["queue", "default", () => client.queues.set("default", { rate: { limit: 1, per: "1h", at: "enqueue" } })],
    ["kind", "plain", () => client.kinds.set("plain", { rate: { limit: 1, per: "1h", at: "enqueue" } })],
  ] as const)("of a %s names it", async (scope, of, set) => {
    const plain = defineJob<object>({ kind: "plain" });
    await set();
    await client.enqueue(plain, {}, { tenant: "acme" });
    expect(await failed(client.enqueue(plain, {}, { tenant: "acme" }))).toMatchObject({ scope, of });
  });

  test("of a list that does not fit as a whole spends nothing", async () => {
    const list = (count: number) => Array.from({ length: count }, () => ({ input: { user: "ann" } }));
    expect(await failed(client.enqueueMany(hourly, list(3)))).toBeInstanceOf(RateLimitError);
    expect(await countOf("hourly")).toBe(0);
    expect(await client.enqueueMany(hourly, list(2))).toHaveLength(2);
  });

  test("of calls that were sent together lets in as many as fit", async () => {
    const settled = await Promise.allSettled(Array.from({ length: 9 }, () => client.enqueue(hourly, { user: "ann" })));
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
    expect(await countOf("hourly")).toBe(2);
  });
});

describe("settings with a fault are refused before the database hears of them", () => {
  test.each<[string, (client: Client) => unknown, string]>([
    ["setTenant without a name", (c) => c.tenants.set("", {}), "tenant"],
    ["setTenant with a number", (c) => c.tenants.set(7 as unknown as string, {}), "tenant"],
    ["setTenant of a weight", (c) => c.tenants.set("a", { weight: 0 }), "weight"],
    ["setTenant with a misspelt setting", (c) => c.tenants.set("a", { maxRuning: 1 } as object), "maxRuning"],
    ["setQueue with a weight", (c) => c.queues.set("q", { weight: 2 } as object), "weight"],
    ["setKind of a rate", (c) => c.kinds.set("k", { rate: { limit: 0, per: "1s" } }), "rate.limit"],
    ["setKind without settings", (c) => c.kinds.set("k", undefined as unknown as object), "settings"],
    ["pause of nothing", (c) => c.pause({} as { queue: string }), "name"],
    ["pause of two", (c) => c.pause({ queue: "a", kind: "b" }), "name"],
    ["resume of what is none", (c) => c.resume({ quue: "a" } as unknown as { queue: string }), "quue"],
    ["pause of a name that is too long", (c) => c.pause({ queue: "x".repeat(201) }), "queue"],
  ])("%s", async (_, give, setting) => {
    const error = await failed<ConfigError>((async () => give(client))());
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.setting).toBe(setting);
    expect(await db.query("select name from fairmill.limit_setting")).toEqual([]);
  });

  test("a setting that is left out stays, and a row that says nothing special is not kept", async () => {
    await client.tenants.set("acme", { weight: 2, maxRunning: 5 });
    await client.tenants.set("acme", { rate: { limit: 1, per: "1s" } });
    await client.tenants.set("acme", { weight: null });
    expect(await client.tenants.list()).toMatchObject([
      { tenant: "acme", weight: 1, maxRunning: 5, rate: { limit: 1 } },
    ]);
    await client.tenants.set("acme", { maxRunning: null, rate: null });
    expect(await db.query("select name from fairmill.limit_setting")).toEqual([]);
  });
});
