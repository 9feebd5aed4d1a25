// A transaction of the caller that stays open holds what it enqueued under: a key, a rate, an account. Who needs the same waits for it;
// no other does, although single calls of one process leave together.
import { type Client, createClient, defineJob } from "fairmill";
import type pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
interface Input {
  readonly on: string;
  readonly n?: number;
}
const plain = defineJob<Input>({ kind: "plain" });
const refusing = defineJob<Input>({
  kind: "refusing",
  key: ({ on }) => on,
  limits: { active: 1, whenActive: "refuse" },
});
const rated = defineJob<Input>({
  kind: "rated",
  key: ({ on }) => on,
  limits: { rate: { limit: 100, per: "1h", at: "enqueue" } },
});
const paid = defineJob<Input>({ kind: "paid", credits: { account: ({ on }) => on, amount: 1 } });
const unique = defineJob<Input>({ kind: "unique", unique: { by: ({ on }) => on } });
const replacing = defineJob<Input>({ kind: "replacing", unique: { by: ({ on }) => on, onConflict: "replace" } });

let client: Client;
let tx: pg.PoolClient;
beforeEach(async () => {
  client = createClient({ databaseUrl: db.url });
  tx = await db.pool.connect();
  await tx.query("begin");
});
afterEach(async () => {
  tx.release();
  await client.close();
});

/** What it came to, and whether that is known already. */
function watch<T>(promise: Promise<T>) {
  const call = { isOver: false, promise };
  const end = () => {
    call.isOver = true;
  };
  promise.then(end, end);
  return call;
}

type Enqueue = (client: Pick<Client, "enqueue">, on: string) => Promise<{ id: string; created: boolean }>;
const cases: [string, Enqueue][] = [
  ["a key that refuses", (by, on) => by.enqueue(refusing, { on })],
  ["the rate of a key", (by, on) => by.enqueue(rated, { on })],
  ["the rate of a tenant", (by, on) => by.enqueue(plain, { on }, { tenant: on })],
  ["a unique key", (by, on) => by.enqueue(unique, { on })],
  ["an idempotency key", (by, on) => by.enqueue(plain, { on }, { idempotencyKey: on })],
  ["an account", (by, on) => by.enqueue(paid, { on })],
];

test.each(cases)("who needs %s of an open transaction waits for it; others do not", async (_, enqueue) => {
  for (const on of ["a", "b", "c"]) {
    await client.tenants.set(on, { rate: { limit: 100, per: "1h", at: "enqueue" } });
    await client.credits.grant(on, 100);
  }
  await enqueue(client.in(tx), "a");
  const all: ReturnType<typeof watch>[] = [];
  // In one group with others, and again when it is known that they wait.
  for (const others of ["b", "c"]) {
    const held = [1, 2].map(() => watch(enqueue(client, "a")));
    const own = await Promise.all([
      enqueue(client, others),
      client.enqueue(plain, { on: "x" }),
      client.enqueue(unique, { on: `x ${others}` }),
    ]);
    expect(own.map(({ created }) => created)).toEqual([true, true, true]);
    expect(held.map(({ isOver }) => isOver)).toEqual([false, false]);
    all.push(...held);
  }
  await tx.query("rollback");
  const ends = await Promise.allSettled(all.map(({ promise }) => promise));
  // As if the transaction had never been: the first of them is stored.
  expect(ends[0]).toMatchObject({ status: "fulfilled", value: { created: true } });
});

test("the owner of the transaction may enqueue what others wait with, before it commits", async () => {
  await client.in(tx).enqueue(refusing, { on: "a" });
  const held = watch(client.enqueue(refusing, { on: "a" }));
  const [beside] = await Promise.all([client.enqueue(plain, { on: "beside" }), client.enqueue(plain, { on: "b" })]);
  expect(beside.created).toBe(true);
  expect(held.isOver).toBe(false);
  await tx.query("commit");
  await expect(held.promise).rejects.toMatchObject({ code: "FAIRMILL_ACTIVE_LIMIT" });
  // Nothing is left over: who comes now does not wait.
  await expect(client.enqueue(refusing, { on: "a" })).rejects.toMatchObject({ code: "FAIRMILL_ACTIVE_LIMIT" });
});

test("a call that comes later and needs the same is not sent before its turn", async () => {
  const proxy = await TcpProxy.before(db.url);
  const far = createClient({ databaseUrl: proxy.url });
  await far.in(tx).enqueue(refusing, { on: "a" });
  const held = [watch(far.enqueue(refusing, { on: "a" }))];
  await waitUntil("it waits in line", () => proxy.count("enqueue_many_v1") === 2);
  for (let n = 0; n < 5; n++) {
    held.push(watch(far.enqueue(refusing, { on: "a" })));
    await far.enqueue(plain, { on: "x" });
  }
  expect(proxy.count("enqueue_many_v1")).toBe(2);
  await tx.query("commit");
  await Promise.allSettled(held.map(({ promise }) => promise));
  expect(proxy.count("enqueue_many_v1")).toBe(3);
  await far.close();
});

test("more keys than there are connections may be held: others still go on", async () => {
  const keys = Array.from({ length: 30 }, (_, n) => `k${n}`);
  for (const on of keys) await client.in(tx).enqueue(refusing, { on });
  const held = keys.map((on) => watch(client.enqueue(refusing, { on })));
  for (let n = 0; n < 5; n++) await client.enqueue(plain, { on: "x", n });
  expect(held.every(({ isOver }) => !isOver)).toBe(true);
  await tx.query("rollback");
  const stored = await Promise.all(held.map(({ promise }) => promise));
  expect(new Set(stored.map(({ id }) => id)).size).toBe(30);
});

test("of calls that replace each other and had to wait, the last one wins", async () => {
  await client.in(tx).enqueue(replacing, { on: "a", n: 0 });
  const calls: Promise<unknown>[] = [];
  for (let n = 1; n <= 20; n++) {
    calls.push(client.enqueue(replacing, { on: "a", n }));
    // Others in between, so that groups leave at different times.
    await client.enqueue(plain, { on: "x", n });
  }
  await tx.query("commit");
  await Promise.all(calls);
  expect(await db.query("select payload from fairmill.job where kind = 'replacing'")).toEqual([
    { payload: { on: "a", n: 20 } },
  ]);
});

test("closing waits for those who wait", async () => {
  await client.in(tx).enqueue(refusing, { on: "a" });
  const held = watch(client.enqueue(refusing, { on: "a" }));
  await client.enqueue(plain, { on: "x" });
  const closed = watch(client.close());
  await tx.query("rollback");
  await closed.promise;
  expect(held.isOver).toBe(true);
  expect(await held.promise).toMatchObject({ created: true });
});
