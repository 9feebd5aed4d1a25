// Batches and flows with an idempotency key: the second call answers with what the first one made, also when both come at once.
import { createClient, defineFlow, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const work = defineJob<{ n: number }>({ kind: "work" });
const night = defineFlow<{ n: number }>({ name: "night" }, (nodes) => {
  const first = nodes.job("first", work, ({ n }) => ({ n }));
  nodes.job("second", work, ({ n }) => ({ n }), { after: [first] });
});
const count = async (table: string) =>
  (await db.query<{ count: number }>(`select count(*)::integer as count from fairmill.${table}`))[0]!.count;

test("a flow is started once per tenant and key, however many callers there are", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const start = (tenant: string) => client.flows.start(night, { n: 1 }, { tenant, idempotencyKey: "2026-11-18" });
  const started = await Promise.all(Array.from({ length: 8 }, () => start("acme")));
  expect(new Set(started.map(({ id }) => id)).size).toBe(1);
  expect(await start("acme")).toEqual(started[0]);
  expect(await count("job")).toBe(1);
  expect((await start("other")).id).not.toBe(started[0]!.id);
  expect((await client.flows.start(night, { n: 1 }, { tenant: "acme" })).id).not.toBe(started[0]!.id);
});

test("a batch is made once per tenant and key, and its members with it", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const create = () =>
    client.batches.create({ idempotencyKey: "import-7" }, async (batch) => {
      for (const n of [1, 2, 3])
        await batch.add(work, { n }, { attempts: 7, timeout: "9s", expire: "1h", tags: ["x"] });
    });
  const [first, ...others] = (await Promise.all([create(), create(), create()])).toSorted((a, b) => b.added - a.added);
  expect(first).toMatchObject({ added: 3 });
  expect(others).toEqual([
    { id: first!.id, added: 0 },
    { id: first!.id, added: 0 },
  ]);
  expect(await create()).toEqual({ id: first!.id, added: 0 });
  expect(
    await db.query(
      `select max_attempts, timeout_ms::integer as timeout_ms, tags, expire_at is not null as expires, count(*)::integer as count
       from fairmill.job group by 1, 2, 3, 4`,
    ),
  ).toEqual([{ max_attempts: 7, timeout_ms: 9_000, tags: ["x"], expires: true, count: 3 }]);
});

test("a large batch whose filling fails half-way leaves the key to the next call, which stores all of it", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const create = (failsAt?: number) =>
    client.batches.create({ idempotencyKey: "import-8" }, async (batch) => {
      for (let n = 0; n < 5_001; n++) {
        if (n === failsAt) throw new Error("the source is gone");
        await batch.add(work, { n });
      }
    });
  await expect(create(5_000)).rejects.toThrow("the source is gone");
  expect([await count("batch"), await count("job")]).toEqual([0, 0]);
  const { id, added } = await create();
  expect([added, await count("job")]).toEqual([5_001, 5_001]);
  expect(await create()).toEqual({ id, added: 0 });
});

test("inside a transaction that is rolled back the key stays free", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const tx = await db.pool.connect();
  await tx.query("begin");
  await client.in(tx).flows.start(night, { n: 1 }, { idempotencyKey: "k" });
  await tx.query("rollback");
  tx.release();
  expect(await count("batch")).toBe(0);
  await client.flows.start(night, { n: 1 }, { idempotencyKey: "k" });
  expect(await count("batch")).toBe(3);
});
