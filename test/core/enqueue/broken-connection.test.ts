// P1: the connection breaks in the middle of an enqueue. What became of it is unknown, unless a key makes repeating safe.
import { createClient, defineFlow, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const plain = defineJob<{ n: number }>({ kind: "plain" });
const numbers = async () =>
  (await db.query("select (payload ->> 'n')::integer as n from fairmill.job order by id")).map(({ n }) => n);

test("without a key the caller is told that the outcome is unknown, and nothing is sent twice", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const swallowed = proxy.swallowAnswerTo("enqueue_one_v1");
  await expect(client.enqueue(plain, { n: 1 })).rejects.toMatchObject({
    code: "FAIRMILL_OUTCOME_UNKNOWN",
    message: expect.stringMatching(/may be stored or not.*idempotencyKey/),
  });
  await swallowed;
  expect(proxy.count("enqueue_one_v1")).toBe(1);
  expect(await numbers()).toEqual([1]);
  // The next call has a new connection and knows nothing of the trouble.
  await client.enqueue(plain, { n: 2 });
  expect(await numbers()).toEqual([1, 2]);
  await client.close();
});

test("a list without keys is told the same, and is not sent twice", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const swallowed = proxy.swallowAnswerTo("enqueue_payloads_v1");
  const list = [1, 2].map((n) => ({ input: { n } }));
  await expect(client.enqueueMany(plain, list)).rejects.toMatchObject({ code: "FAIRMILL_OUTCOME_UNKNOWN" });
  await swallowed;
  expect(proxy.count("enqueue_payloads_v1")).toBe(1);
  expect(await numbers()).toEqual([1, 2]);
  await client.close();
});

test("with a key the call is repeated and there is one job, although the first try had stored it", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const swallowed = proxy.swallowAnswerTo("enqueue_many_v1");
  const { id } = await client.enqueue(plain, { n: 1 }, { idempotencyKey: "once" });
  await swallowed;
  expect(proxy.count("enqueue_many_v1")).toBe(2);
  expect(await numbers()).toEqual([1]);
  expect((await client.job(id))?.payload).toEqual({ n: 1 });
  await client.close();
});

test("a list in which every job has a key is repeated as well", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  void proxy.swallowAnswerTo("enqueue_many_v1");
  const all = await client.enqueueMany(
    plain,
    [1, 2, 3].map((n) => ({ input: { n }, idempotencyKey: `k${n}` })),
  );
  expect(new Set(all.map(({ id }) => id)).size).toBe(3);
  expect(await numbers()).toEqual([1, 2, 3]);
  await client.close();
});

test("a long list whose commit got no answer is uncertain as well, and repeated when every job has a key", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const list = Array.from({ length: 6_000 }, (_, n) => ({ input: { n } }));
  void proxy.swallowAnswerTo(/^commit$/);
  await expect(client.enqueueMany(plain, list)).rejects.toMatchObject({ code: "FAIRMILL_OUTCOME_UNKNOWN" });
  expect(await numbers()).toHaveLength(6_000);
  const swallowed = proxy.swallowAnswerTo(/^commit$/);
  const keyed = list.map(({ input }) => ({ input, idempotencyKey: `k${input.n}` }));
  expect(await client.enqueueMany(plain, keyed)).toHaveLength(6_000);
  await swallowed;
  expect(await numbers()).toHaveLength(12_000);
  await client.close();
});

test("a call with a key that shared its transaction with one without is repeated; only the other is told of the doubt", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const swallowed = proxy.swallowAnswerTo("enqueue_many_v1");
  // The first call of a turn leaves by itself, the others together.
  const [, keyed, bare] = await Promise.allSettled([
    client.enqueue(plain, { n: 0 }),
    client.enqueue(plain, { n: 1 }, { idempotencyKey: "once" }),
    client.enqueue(plain, { n: 2 }),
  ]);
  await swallowed;
  expect(keyed!.status).toBe("fulfilled");
  expect(bare).toMatchObject({ status: "rejected", reason: { code: "FAIRMILL_OUTCOME_UNKNOWN" } });
  expect(await numbers()).toEqual([0, 1, 2]);
  await client.close();
});

test("a pooled connection that died unnoticed costs a repeat, not an error", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url, connectionsMax: 1 });
  await client.enqueue(plain, { n: 1 });
  await db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'fairmill client'",
  );
  await client.enqueue(plain, { n: 2 }, { idempotencyKey: "k" });
  expect(await numbers()).toEqual([1, 2]);
  await client.close();
});

test("a database that comes back within a second or two is waited for", async () => {
  const proxy = await TcpProxy.before(db.url);
  proxy.isClosed = true;
  const client = createClient({ databaseUrl: proxy.url });
  const call = client.enqueue(plain, { n: 1 });
  await waitUntil("it was refused, and again", () => proxy.refused >= 2);
  proxy.isClosed = false;
  expect((await call).created).toBe(true);
  expect(await numbers()).toEqual([1]);
  await client.close();
});

test("a slow line changes nothing but the time", async () => {
  const proxy = await TcpProxy.before(db.url);
  proxy.delayMs = 20;
  const client = createClient({ databaseUrl: proxy.url });
  await Promise.all([1, 2, 3].map((n) => client.enqueue(plain, { n })));
  expect(await numbers()).toEqual([1, 2, 3]);
  await client.close();
});

test("a batch or a flow whose answer is lost may be stored or not: the caller is told, and it is not sent twice", async () => {
  const proxy = await TcpProxy.before(db.url);
  const client = createClient({ databaseUrl: proxy.url });
  const flow = defineFlow<{ n: number }>({ name: "f" }, (f) => void f.job("a", plain, (input) => input));
  const calls: [string, () => Promise<unknown>][] = [
    ["open_batch_v1", () => client.batches.create({}, (batch) => batch.add(plain, { n: 1 }))],
    ["start_flow_v1", () => client.flows.start(flow, { n: 2 })],
  ];
  for (const [statement, call] of calls) {
    const swallowed = proxy.swallowAnswerTo(statement);
    await expect(call()).rejects.toMatchObject({
      code: "FAIRMILL_OUTCOME_UNKNOWN",
      message: expect.stringContaining("may be stored or not"),
    });
    await swallowed;
    expect(proxy.count(statement)).toBe(1);
  }
  expect(await numbers()).toEqual([1, 2]);
  await client.close();
});
