// E5 to E9: the coordination of producers from outside is a middleware of the default chain: set for all, per batch, or removed; it says what
// was registered, and costs nothing while nobody listens.
import { batchCoordination, chain, createClient, defaultChain, defineJob, middleware } from "fairmill";
import { describe, expect, test } from "vitest";
import { batchCoordination as ownCoordination, registrarIn } from "../../src/batches/batch-coordination.js";
import { usedBy } from "../../src/batches/default-chain.js";
import { enqueueChain } from "../../src/core/enqueue/enqueue-middleware.js";
import { useDatabase } from "../support/database.js";
import { keepingLogger } from "../support/jobs.js";

const db = useDatabase();
const page = defineJob<{ n: number }>({ kind: "page" });
const other = middleware({ name: "other", run: (_, next) => next() });

const windowOf = async (
  use?: Parameters<typeof createClient>[0] extends infer O ? NonNullable<O>["use" & keyof NonNullable<O>] : never,
  options = {},
) => {
  await using client = createClient({ databaseUrl: db.url, ...(use === undefined ? {} : { use }) });
  const batch = await client.openBatch(options);
  const [row] = await db.query("select window_ms, max_wait_ms, poll_ms from fairmill.batch where id = $1", [batch.id]);
  await batch.close();
  return Object.values(row!);
};

describe("the window of an open batch", () => {
  test("E5 E6: 200 ms, 5 s and 50 ms unless set for all batches or for this one", async () => {
    expect(await windowOf()).toEqual([200, 5_000, 50]);
    expect(await windowOf([other])).toEqual([200, 5_000, 50]);
    const own = batchCoordination({ stabilityWindow: "500ms", maxWait: "10s", pollInterval: 20 });
    expect(await windowOf([own, other])).toEqual([500, 10_000, 20]);
    expect(await windowOf([own], { stability: { stabilityWindow: 1 } })).toEqual([1, 5_000, 50]);
  });

  test("E9: none where the coordination is removed, or where the batch says so", async () => {
    expect(await windowOf(defaultChain.remove("batch-coordination"))).toEqual([null, null, null]);
    expect(await windowOf(chain([other]))).toEqual([null, null, null]);
    expect(await windowOf(undefined, { stability: false })).toEqual([null, null, null]);
    expect(await windowOf(chain([other]), { stability: {} })).toEqual([200, 5_000, 50]);
  });
});

test("E8: registrations are told and logged, others are not", async () => {
  const logger = keepingLogger();
  const seen: object[] = [];
  await using client = createClient({
    databaseUrl: db.url,
    use: [batchCoordination({ logger, onRegistered: (registration) => void seen.push(registration) })],
  });
  const batch = await client.openBatch({ stability: false });
  expect(await client.batches.get(batch.id)).toMatchObject({ registered: 0, lastRegisteredAt: null });
  await batch.add(page, { n: 1 });
  const keyed = { batch: batch.id, idempotencyKey: "once" };
  const { id } = await client.enqueue(page, { n: 2 }, keyed);
  // Known: nothing is registered a second time.
  await client.enqueue(page, { n: 2 }, keyed);
  const many = await client.enqueueMany(page, [{ input: { n: 3 } }, { input: { n: 4 }, batch: batch.id }]);
  const tx = await db.pool.connect();
  await tx.query("begin");
  const inside = await client.in(tx).enqueue(page, { n: 5 }, { batch: batch.id });
  await tx.query("commit");
  tx.release();
  const first = (await client.jobs({ batch: batch.id })).at(-1)!.id;
  expect(seen).toEqual([first, id, many[1]!.id, inside.id].map((job) => ({ job, kind: "page", batch: batch.id })));
  expect(logger.lines.map(({ facts }) => facts["job"])).toEqual([first, id, many[1]!.id, inside.id]);
  const { createdAt } = (await client.job(inside.id))!;
  expect(await client.batches.get(batch.id)).toMatchObject({ registered: 4, lastRegisteredAt: createdAt });
  expect(logger.lines[0]).toMatchObject({
    level: "debug",
    message: "Job registered in batch",
    facts: { batch: batch.id },
  });
});

test("E7: while nobody listens, no job is shown to it", () => {
  expect(enqueueChain(usedBy(undefined))).toBeUndefined();
  expect(enqueueChain(usedBy([ownCoordination({ stabilityWindow: "1s" })]))).toBeUndefined();
  expect(registrarIn(usedBy([ownCoordination({ stabilityWindow: "1s" })]))).toBeUndefined();
  expect(registrarIn(usedBy([ownCoordination({ onRegistered: () => {} })]))).toBeDefined();
});

test("settings that are none are refused", () => {
  expect(() => batchCoordination({ stabilityWindw: "1s" } as never)).toThrow('Did you mean "stabilityWindow"?');
  expect(() => batchCoordination({ maxWait: -1 })).toThrow("maxWait");
});
