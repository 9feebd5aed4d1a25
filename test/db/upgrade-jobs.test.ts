// An upgrade of a schema with jobs in every state, and what belongs to them, by a later release: each lives on, in a worker that begins then.
import { createClient, createWorker, defineChannel, defineJob, handle, silentLogger } from "fairmill";
import { expect, onTestFinished, test } from "vitest";
import { migrate, pendingMigrations } from "../../src/db/migrate/migrate.js";
import { checkInvariants } from "../support/invariants.js";
import { openPool } from "../support/open-pool.js";
import { settle } from "../support/sql/calls.js";
import { waitUntil } from "../support/wait.js";
import { readCatalog } from "./catalog.js";
import { database, open, session } from "./databases.js";
import { laterRelease, olderSchema, schemaWithJobs } from "./older-schema.js";

test("a schema that was migrated step by step becomes the same as a new one", async () => {
  const [{ url: older }, { url: fresh }] = [await olderSchema(), await database()];
  const newest = await laterRelease();
  await migrate(open(older));
  await migrate(open(older), { shipped: newest });
  await migrate(open(fresh), { shipped: newest });
  expect(await readCatalog(await session(older))).toEqual(await readCatalog(await session(fresh)));
  expect(await pendingMigrations(open(older), { shipped: newest })).toEqual([]);
});

test("jobs in every state live on", async () => {
  const { url } = await schemaWithJobs();
  const ask = await session(url);
  const stateOf = async (as: string): Promise<string | undefined> =>
    (
      await ask.query<{ state: string }>(
        "select state from (select payload, state from fairmill.job union all select payload, state from fairmill.job_history) j where payload ->> 'as' = $1",
        [as],
      )
    )[0]?.state;
  const idOf = async (as: string): Promise<string> =>
    (
      await ask.query<{ id: string }>(
        "select id from (select id, payload from fairmill.job union all select id, payload from fairmill.job_history) j where payload ->> 'as' = $1",
        [as],
      )
    )[0]!.id;
  const fenceOf = async (as: string) =>
    (
      await ask.query<{ id: string; lease_no: string }>(
        "select id, lease_no from fairmill.job where payload ->> 'as' = $1",
        [as],
      )
    )[0]!;
  const stored = await ask.query<{ as: string; state: string }>(
    "select payload ->> 'as' as as, state from (select payload, state from fairmill.job union all select payload, state from fairmill.job_history) j where payload ? 'as' order by 1",
  );
  // Every state is there.
  expect([...new Set(stored.map(({ state }) => state))].toSorted()).toEqual(
    ["blocked", "cancelled", "dead", "done", "ready", "running", "scheduled"].toSorted(),
  );

  await migrate(open(url), { shipped: await laterRelease() });
  const pool = openPool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  await checkInvariants(pool);
  for (const { as, state } of stored) expect([as, await stateOf(as)]).toEqual([as, state]);

  // The old worker goes on with what it has, by the fences of before.
  for (const as of ["running, with a place", "running, alone of its kind", "running, under a cap"])
    expect(await settle(ask, "steady", [await fenceOf(as)], "done")).toMatchObject({ accepted: 1 });

  const letters: string[] = [];
  const receipts: unknown[] = [];
  const define = <In = { as: string }>(kind: string) => defineJob<In>({ kind });
  const limits = { active: 1 } as const;
  const later = define("later");
  await using client = createClient({ databaseUrl: url });
  // What belongs to a job that waits: its keys still count.
  expect(
    await ask.query(
      "select id, conflict from fairmill.enqueue_v1('later', unique_key => 'u', unique_until => 'settled')",
    ),
  ).toEqual([{ id: await idOf("ready, unique until its end"), conflict: "kept" }]);
  expect(await client.enqueue(later, { as: "again" }, { idempotencyKey: "once" })).toMatchObject({
    id: await idOf("ready, with an idempotency key"),
    created: false,
  });
  expect(await client.credits.balance("purse")).toMatchObject({ available: 70, reserved: 30 });

  await using _ = await createWorker({
    databaseUrl: url,
    logger: silentLogger,
    queues: { default: {}, paused: {}, outbox: {} },
    grace: "5s",
    handlers: [
      handle(define("plain"), () => undefined),
      handle(later, () => undefined),
      handle(defineJob<{ as: string }>({ kind: "capped" }), () => undefined),
      handle(defineJob<{ as: string }>({ kind: "keyed", key: () => "k", limits }), () => undefined),
      handle(defineJob<{ as: string }>({ kind: "wide", limits: { per: "kind", active: 1 } as never }), () => undefined),
      handle(define("stepping"), async (ctx) => {
        receipts.push(await ctx.step("paid", () => "paid again"));
      }),
      handle(define("waiting"), async (ctx) => {
        receipts.push(await ctx.waitFor("word"));
      }),
    ],
    channels: [
      defineChannel<{ text: string }>({
        name: "letters",
        receiver: "neither",
        send: ({ text }) => void letters.push(text),
      }),
    ],
  }).start();
  expect(await client.signal(await idOf("waiting for a signal"), "word", "go")).toBe("sent");
  await client.retry(await idOf("dead"));

  const ends: Record<string, string> = Object.fromEntries(stored.map(({ as }) => [as, "done"]));
  Object.assign(ends, {
    cancelled: "cancelled",
    "running, to be cancelled": "cancelled",
    "scheduled for later": "scheduled",
    "of a paused queue": "ready",
    "callback of a batch": "done",
    "second node": "done",
    tick: "done",
  });
  for (const [as, end] of Object.entries(ends))
    await waitUntil(`"${as}" is ${end}`, async () => (await stateOf(as)) === end);
  await client.resume({ queue: "paused" });
  await waitUntil("what was paused is done", async () => (await stateOf("of a paused queue")) === "done");
  await waitUntil("the letter is sent", () => letters.length > 0);

  expect(letters).toEqual(["hello"]);
  expect(receipts.toSorted()).toEqual(["go", "receipt"]);
  expect((await client.job(await idOf("done")))?.result).toEqual({ was: "done" });
  expect(await client.job(await idOf("to be tried again"))).toMatchObject({
    attempt: 2,
    failures: [{ error: { message: "not yet" } }],
  });
  await waitUntil("the hold is captured", async () => (await client.credits.balance("purse")).reserved === 0);
  expect(await client.credits.balance("purse")).toMatchObject({ available: 70 });
  await checkInvariants(pool);
});
