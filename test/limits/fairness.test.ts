// Fair lanes: no tenant waits behind another tenant's backlog.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob({ kind: "work" });
const CONCURRENCY = 50;

/** What a claim takes at most: without claiming ahead the places; by default up to ten times as many are claimed ahead of jobs as short as these. */
const BATCHES = [
  { claiming: "nothing is claimed ahead", prefetch: { prefetch: 0 }, batch: CONCURRENCY },
  { claiming: "claims go ahead of short jobs", prefetch: {}, batch: 11 * CONCURRENCY },
] as const;

/** Records, in the order in which handlers start, whose job it was. */
function recordingWorker(order: string[], prefetch: { readonly prefetch?: number }) {
  return createWorker({
    databaseUrl: db.url,
    handlers: [handle(work, (ctx) => void order.push(ctx.tenant))],
    concurrency: CONCURRENCY,
    ...prefetch,
    logger: silentLogger,
  });
}

test.each(BATCHES)(
  "I9 C2: 99 tenants with 100 jobs each are done before the one with 100,000 got more than its fair share plus a batch per worker, where $claiming",
  async ({ prefetch, batch }) => {
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 'big', 'ready', '{}' from generate_series(1, 100000)`,
    );
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, state, payload)
     select 'work', 'default', 'small' || t, 'ready', '{}' from generate_series(1, 99) t, generate_series(1, 100)`,
    );
    const order: string[] = [];
    const workers = [recordingWorker(order, prefetch), recordingWorker(order, prefetch)];
    await Promise.all(workers.map((worker) => worker.start()));
    await waitUntil(
      "the small tenants are done",
      () => order.filter((tenant) => tenant !== "big").length === 9_900,
      60_000,
    );
    await Promise.all(workers.map((worker) => worker.stop()));

    const last = order.findLastIndex((tenant) => tenant !== "big");
    const big = order.slice(0, last).filter((tenant) => tenant === "big").length;
    expect(big).toBeLessThanOrEqual(100 + workers.length * batch);
    await db.query("delete from fairmill.job");
  },
);

test.each(BATCHES)(
  "one job behind 20,000 of another tenant starts within two rounds, where $claiming",
  async ({ prefetch, batch }) => {
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 'big', 'ready', '{}' from generate_series(1, 20000)`,
    );
    const order: string[] = [];
    const worker = recordingWorker(order, prefetch);
    await worker.start();
    await waitUntil("the worker is busy", () => order.length > 500);
    const client = createClient({ databaseUrl: db.url });
    await client.enqueue(work, {}, { tenant: "late" });
    const stored = order.length;
    await waitUntil("the late one was served", () => order.includes("late"));
    await worker.stop();
    await client.close();
    // News are looked for with every claim: the lane enters the ring at the next one and is served by the one after it. Two more
    // batches may have been claimed between the insert and the moment we counted.
    expect(order.indexOf("late") - stored).toBeLessThanOrEqual(4 * batch);
    await db.query("delete from fairmill.job");
  },
);

test("B8: a high priority overtakes, and the low one still gets its share", async () => {
  const insert = (tenant: string, priority: number) =>
    db.query(
      `insert into fairmill.job (kind, queue, tenant, priority, state, payload) select 'work', 'default', $1, $2, 'ready', '{}' from generate_series(1, 3000)`,
      [tenant, priority],
    );
  await insert("low", 0);
  await insert("high", 10);
  const order: string[] = [];
  const worker = recordingWorker(order, { prefetch: 0 });
  await worker.start();
  await waitUntil("the first thousand", () => order.length >= 1_500);
  await worker.stop();
  const low = order.slice(0, 1_500).filter((tenant) => tenant === "low").length;
  expect(low).toBeGreaterThanOrEqual(1_500 * 0.1 - CONCURRENCY);
  expect(low).toBeLessThanOrEqual(1_500 * 0.1 + CONCURRENCY);
  await db.query("delete from fairmill.job");
});

test("A4: within a lane the oldest due job goes first", async () => {
  const ids: number[] = [];
  const client = createClient({ databaseUrl: db.url });
  const seen = defineJob({ kind: "seen" });
  await client.enqueueMany(
    seen,
    Array.from({ length: 200 }, () => ({ input: {} })),
  );
  const worker = createWorker({
    databaseUrl: db.url,
    handlers: [handle(seen, (ctx) => void ids.push(Number(ctx.id)))],
    concurrency: 7,
    logger: silentLogger,
  });
  await worker.start();
  await waitUntil("all ran", () => ids.length === 200);
  await worker.stop();
  await client.close();
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
});
