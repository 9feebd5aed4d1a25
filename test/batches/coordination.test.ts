// E5 to E9: how long open batches wait for registrations from outside is a setting: for all batches of a client, per batch, or off. A client says
// what was registered, where something listens.
import { type ClientOptions, createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
import { registrarOf } from "../../src/batches/registrations.js";
import { useDatabase } from "../support/database.js";
import { keepingLogger } from "../support/jobs.js";

const db = useDatabase();
const page = defineJob<{ n: number }>({ kind: "page" });

const windowOf = async (settings: ClientOptions = {}, options = {}) => {
  await using client = createClient({ databaseUrl: db.url, ...settings });
  const batch = await client.batches.open(options);
  const [row] = await db.query("select window_ms, max_wait_ms, poll_ms from fairmill.batch where id = $1", [batch.id]);
  await batch.close();
  return Object.values(row!);
};

describe("the window of an open batch", () => {
  test("E5 E6: 200 ms, 5 s and 50 ms unless set for all batches or for this one", async () => {
    expect(await windowOf()).toEqual([200, 5_000, 50]);
    const stability = { stabilityWindow: "500ms", maxWait: "10s", pollInterval: 20 } as const;
    expect(await windowOf({ stability })).toEqual([500, 10_000, 20]);
    expect(await windowOf({ stability }, { stability: { stabilityWindow: 1 } })).toEqual([1, 5_000, 50]);
  });

  test("E9: none where it is switched off, for all batches or for this one", async () => {
    expect(await windowOf({ stability: false })).toEqual([null, null, null]);
    expect(await windowOf({}, { stability: false })).toEqual([null, null, null]);
    expect(await windowOf({ stability: false }, { stability: {} })).toEqual([200, 5_000, 50]);
  });

  test("the same inside a transaction", async () => {
    await using client = createClient({ databaseUrl: db.url, stability: { stabilityWindow: "1s" } });
    const tx = await db.pool.connect();
    await tx.query("begin");
    const batch = await client.in(tx).batches.open();
    await batch.add(page, { n: 1 });
    await batch.close();
    await tx.query("commit");
    tx.release();
    const rows = await db.query("select window_ms from fairmill.batch where id = $1", [batch.id]);
    expect(rows).toEqual([{ window_ms: 1_000 }]);
    expect(await client.batches.get(batch.id)).toMatchObject({ registered: 1, state: "pending" });
  });
});

test("E8: registrations are told and logged, others are not", async () => {
  const logger = keepingLogger();
  const seen: object[] = [];
  await using client = createClient({
    databaseUrl: db.url,
    logger,
    onRegistered: (registration) => void seen.push(registration),
  });
  const batch = await client.batches.open({ stability: false });
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
  const first = (await client.jobs.list({ batch: batch.id })).at(-1)!.id;
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

test("E7: while nothing listens, nothing is told", () => {
  expect(registrarOf(undefined, undefined)).toBeUndefined();
  expect(registrarOf(() => {}, undefined)).toBeDefined();
});

test("settings that are none are refused", () => {
  const refused = (settings: object) => () => createClient({ databaseUrl: db.url, ...settings });
  expect(refused({ stability: { stabilityWindw: "1s" } })).toThrow('Did you mean "stabilityWindow"?');
  expect(refused({ stability: { maxWait: -1 } })).toThrow("maxWait");
  expect(refused({ stability: true })).toThrow("stability");
  expect(refused({ onRegistered: "me" })).toThrow("onRegistered");
});
