// enqueue_one_v1 against enqueue_payloads_v1: the short way of one job stores what the long one stores, and leaves to it whatever has to be judged.
import { createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { setLimits, setRule } from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

interface One {
  readonly kind?: string | null;
  readonly payload?: unknown;
  readonly tenant?: string | null;
  readonly queue?: string;
  readonly priority?: number;
  readonly max_attempts?: number;
  readonly expire_ms?: number | null;
}

const ONE = `select fairmill.enqueue_one_v1($1, $2, tenant => $3, queue => $4, priority => $5, max_attempts => $6, expire_ms => $7) as id`;
const valuesOf = ({ kind = "work", payload = {}, tenant = "t", queue = "q", ...others }: One) => [
  ...[kind, JSON.stringify(payload), tenant, queue],
  ...[others.priority ?? 0, others.max_attempts ?? 3, others.expire_ms ?? null],
];

test.each<[string, One]>([
  ["little", {}],
  ["everything", { payload: [1, { a: null }], priority: -7, max_attempts: 9, expire_ms: 1500 }],
  ["a payload that is null", { payload: null }],
  ["the longest names", { kind: "k".repeat(200), tenant: "é".repeat(100), queue: "q".repeat(200) }],
])("a job with %s is the same row by either way", async (_, one) => {
  const session = await open();
  await session.query("begin");
  await session.query(ONE, valuesOf(one));
  const { payload = {}, ...shared } = { kind: "work", tenant: "t", queue: "q", ...one };
  await session.query("select * from fairmill.enqueue_payloads_v1($1, $2)", [
    JSON.stringify([payload]),
    JSON.stringify(shared),
  ]);
  const rows = await session.query<{ job: object }>("select to_jsonb(j) - 'id' as job from fairmill.job j order by id");
  expect(rows).toHaveLength(2);
  expect(rows[0]!.job).toEqual(rows[1]!.job);
  await session.query("rollback");
});

test.each<[string, One]>([
  ["a kind of Fairmill's own", { kind: "fairmill.deliver.mail" }],
  ["no kind", { kind: null }],
  ["an empty kind", { kind: "" }],
  ["a kind that is too long", { kind: "k".repeat(201) }],
  ["a tenant that is too long", { tenant: "é".repeat(101) }],
  ["no tenant", { tenant: null }],
  ["an empty queue", { queue: "" }],
  ["a priority out of range", { priority: 32_768 }],
  ["no attempt", { max_attempts: 0 }],
  ["a payload that is too large", { payload: Array.from({ length: 300_000 }, (_, n) => n) }],
])("%s is left to the long way", async (_, one) => {
  const [row] = await db.query(ONE, valuesOf(one));
  expect(row).toEqual({ id: null });
  expect(await db.query("select from fairmill.job")).toEqual([]);
});

/** Below zero: somebody should notify the worker. */
const isLeft = ([row]: readonly Record<string, unknown>[]) => String(row!["id"]).startsWith("-");

const sleeper = async () => {
  await db.query("select fairmill.register_v1('sleeper', '{mail}', '1 hour')");
  await db.query("select fairmill.listening_v1('sleeper', true)");
};

test("it says whether a worker of the queue wants to be woken", async () => {
  const listening = async (queue: string) => isLeft(await db.query(ONE, valuesOf({ queue })));
  await db.query("select fairmill.register_v1('sleeper', '{mail}', '1 hour')");
  expect(await listening("mail")).toBe(false);
  await db.query("select fairmill.listening_v1('sleeper', true)");
  expect(await listening("mail")).toBe(true);
  expect(await listening("other")).toBe(false);
  await db.query("update fairmill.worker set lease_until = now() - interval '1 second'");
  expect(await listening("mail")).toBe(false);
});

describe("with wake", () => {
  const WAKING = ONE.replace(") as id", ", wake => true) as id");

  test("the worker is notified by the transaction of the job, of its lane, and nobody else where none sleeps", async () => {
    await sleeper();
    const [ear, session] = [await open(), await open()];
    await ear.query("listen fairmill");
    await session.query("begin");
    expect(isLeft(await session.query(WAKING, valuesOf({ queue: "mail", priority: 7 })))).toBe(false);
    expect(isLeft(await session.query(WAKING, valuesOf({ queue: "other" })))).toBe(false);
    await db.query("notify fairmill, 'before'");
    await session.query("commit");
    await db.query("notify fairmill, 'after'");
    await waitUntil("what was sent last has arrived", async () => {
      await ear.query("select");
      return ear.notified.includes("fairmill after");
    });
    expect(ear.notified).toEqual(["fairmill before", 'fairmill !lane ["mail", 7, "t"]', "fairmill after"]);
  });

  test("one session does so at a time: what the others store waits for no commit of another, and says what is left to do", async () => {
    await sleeper();
    const [first, second] = [await open(), await open()];
    await first.query("begin");
    expect(isLeft(await first.query(WAKING, valuesOf({ queue: "mail" })))).toBe(false);
    expect(isLeft(await second.query(WAKING, valuesOf({ queue: "mail" })))).toBe(true);
    await first.query("rollback");
    expect(isLeft(await second.query(WAKING, valuesOf({ queue: "mail" })))).toBe(false);
  });
});

describe("where limits have a say", () => {
  const limited = defineJob({ kind: "limited" });
  const free = defineJob({ kind: "free" });

  test("a rate at enqueue: the job goes the long way, and those after it at once", async () => {
    await setLimits(db, "tenant", "acme", { rate: { limit: 1, per_ms: 3_600_000, at: "enqueue" } });
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: proxy.url });
    await client.enqueue(limited, {}, { tenant: "acme" });
    expect([proxy.count("enqueue_one_v1"), proxy.count("enqueue_payloads_v1")]).toEqual([1, 1]);
    await expect(client.enqueue(limited, {}, { tenant: "acme" })).rejects.toMatchObject({
      code: "FAIRMILL_RATE_LIMIT",
    });
    expect([proxy.count("enqueue_one_v1"), proxy.count("enqueue_payloads_v1")]).toEqual([1, 2]);
  });

  test("a limit of keys concerns its kind alone", async () => {
    await setRule(db, { per: "kind", max_running: 1, when_full: "refuse" });
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: proxy.url });
    await client.enqueue(free, {});
    await client.enqueue(limited, {});
    await expect(client.enqueue(limited, {})).rejects.toMatchObject({ code: "FAIRMILL_ACTIVE_LIMIT" });
    await client.enqueue(free, {});
    expect([proxy.count("enqueue_one_v1"), proxy.count("enqueue_payloads_v1")]).toEqual([3, 2]);
  });

  test("a budget that is spent", async () => {
    await db.query("select fairmill.set_budget_v1('acme', 'day', hard => 1)");
    expect((await db.query(ONE, valuesOf({ tenant: "acme" })))[0]!["id"]).toEqual(expect.any(String));
    await db.query("update fairmill.budget set closed_until = period_until");
    expect((await db.query(ONE, valuesOf({ tenant: "acme" })))[0]!["id"]).toBeNull();
  });
});
