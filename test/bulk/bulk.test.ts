// Bulk actions: what they act on, that every step is all or nothing, and that any process goes on where another ended.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import {
  ACTS_ON,
  BULK_ACTIONS,
  type BulkActionName,
  type BulkFilter,
  checkBulkFilter,
} from "../../src/bulk/bulk-filter.js";
import { previewBulk, runBulk } from "../../src/bulk/bulk-runner.js";
import { endBulk, readBulk, startBulk, stepBulk } from "../../src/bulk/bulk-statements.js";
import { Database } from "../../src/db/database.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { claim, register, settle } from "../support/sql/calls.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "k", queue: "q", retry: { attempts: 1 } });
const other = defineJob<{ n: number }>({ kind: "other", queue: "q", retry: { attempts: 1 } });

function open() {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 2 });
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 4, applicationName: "fairmill bulk test" });
  endAfterTest(async () => {
    await client.close();
    await database.close();
  });
  return { client, database };
}

const start = (database: Database, action: BulkActionName, filter: BulkFilter, tenant?: string) =>
  startBulk(database, { action, filter: checkBulkFilter(action, filter), actor: "ann", tenant, reason: undefined });

const states = async () =>
  Object.fromEntries(
    (
      await db.query<{ state: string; n: number }>(
        "select state, count(*)::integer as n from (select state from fairmill.job union all select state from fairmill.job_history) j group by state",
      )
    ).map(({ state, n }) => [state, n]),
  );

/** So many jobs that died with this code. */
async function die(client: ReturnType<typeof createClient>, count: number, code: string): Promise<string[]> {
  const made = await client.enqueueMany(
    job,
    Array.from({ length: count }, (_, n) => ({ input: { n } })),
  );
  const worker = await register(db, `worker of ${code}`);
  for (;;) {
    const claims = await claim(db, worker, 100, { queue: "q" });
    if (claims.length === 0) break;
    const error = { name: "Error", message: `died of ${code}`, code };
    await settle(
      db,
      worker,
      claims,
      "dead",
      claims.map(() => ({ error })),
    );
  }
  return made.map(({ id }) => id);
}

test("cancel: waiting jobs end, running ones are told, others are left alone; the record counts them", async () => {
  const { client, database } = open();
  await client.enqueue(job, { n: 0 }, { tenant: "a" });
  // The only one there is: which tenant begins is left to the dice.
  const running = await claim(db, await register(db, "w"), 1, { queue: "q" });
  await client.enqueueMany(
    job,
    Array.from({ length: 6 }, (_, n) => ({ input: { n }, tenant: n < 2 ? "a" : "b" })),
  );
  await client.enqueueMany(other, [{ input: { n: 0 }, tenant: "a" }]);
  await client.enqueue(job, { n: 9 }, { tenant: "a", delay: "1h" });
  const id = await start(database, "cancel", { kind: "k", tenant: "a" });
  const late = await client.enqueue(job, { n: 10 }, { tenant: "a" });
  const steps: number[] = [];
  const done = await runBulk(database, systemClock, id, { stepJobs: 2, onStep: ({ changed }) => steps.push(changed) });
  expect(done).toMatchObject({ state: "done", changed: 4, skipped: 0, actor: "ann" });
  expect(steps).toEqual([2, 4, 4]);
  expect(await states()).toEqual({ cancelled: 3, running: 1, ready: 6 });
  expect(await client.job(running[0]!.id)).toMatchObject({ state: "running", cancelRequestedAt: expect.any(Date) });
  expect((await client.job(late.id))?.state).toBe("ready");
});

test("retry, redrive and rerun act on ended jobs by error, and rerun makes new ones once", async () => {
  const { client, database } = open();
  const first = await die(client, 5, "E1");
  await die(client, 3, "E2");
  expect(await states()).toEqual({ dead: 8 });
  const preview = await previewBulk(database, "redrive", checkBulkFilter("redrive", { errorCode: "E1" }));
  expect(preview).toEqual({
    count: 5,
    more: false,
    groups: [{ state: "dead", kind: "k", errorCode: "E1", count: 5 }],
    samples: first,
  });
  const rerun = await start(database, "rerun", { errorCode: "E1" });
  expect(await runBulk(database, systemClock, rerun, { stepJobs: 2 })).toMatchObject({ state: "done", changed: 5 });
  expect(
    await db.query(
      "select count(*)::integer as n, count(distinct rerun_of)::integer as of from fairmill.job where rerun_of = any ($1)",
      [first],
    ),
  ).toEqual([{ n: 5, of: 5 }]);
  // The same step again, as after a commit whose answer was lost: nothing is stored twice.
  await db.query("update fairmill.bulk_action set after_id = 0, state = 'running', ended_at = null where id = $1", [
    rerun,
  ]);
  expect(await runBulk(database, systemClock, rerun)).toMatchObject({ state: "done", changed: 5 });
  expect(await states()).toEqual({ dead: 8, ready: 5 });
  const redrive = await start(database, "redrive", { errorText: "died of E2" });
  expect(await runBulk(database, systemClock, redrive)).toMatchObject({ changed: 3 });
  expect(await runBulk(database, systemClock, await start(database, "retry", { kind: "k" }))).toMatchObject({
    changed: 5,
  });
  expect(await states()).toEqual({ ready: 13 });
});

test("retry makes scheduled jobs due, beside dead ones between them", async () => {
  const { client, database } = open();
  await client.enqueue(job, { n: 1 }, { delay: "1h" });
  await die(client, 2, "E");
  await client.enqueue(job, { n: 2 }, { delay: "1h" });
  expect(await states()).toEqual({ scheduled: 2, dead: 2 });
  expect(await runBulk(database, systemClock, await start(database, "retry", { kind: "k" }))).toMatchObject({
    state: "done",
    changed: 4,
    seen: 4,
  });
  expect(await states()).toEqual({ ready: 4 });
});

test("a filter by state, key, batch, tag, payload, ids and times finds what it says", async () => {
  const { client, database } = open();
  const [a, b] = [
    await client.enqueue(job, { n: 1 }, { key: "x", tags: ["red", "late"] }),
    await client.enqueue(job, { n: 2 }, { delay: "1h" }),
  ];
  const batch = await client.batches.create({}, (adder) => void adder.add(job, { n: 3 }));
  const count = async (filter: BulkFilter) =>
    (await previewBulk(database, "cancel", checkBulkFilter("cancel", filter))).count;
  expect(await count({ state: ["ready", "scheduled"] })).toBe(3);
  expect(await count({ state: "scheduled" })).toBe(1);
  expect(await count({ key: "x" })).toBe(1);
  expect(await count({ batch: batch.id })).toBe(1);
  expect(await count({ tag: "late" })).toBe(1);
  expect(await count({ tag: "lat" })).toBe(0);
  expect(() => checkBulkFilter("cancel", { tag: "" })).toThrow(/1 to 64 characters/);
  expect(await count({ payload: { n: 2 } })).toBe(1);
  expect(await count({ ids: [a.id, b.id, "999"] })).toBe(2);
  expect(await count({ createdSince: "2999-01-01T00:00:00Z" })).toBe(0);
  expect(await count({ createdUntil: "2999-01-01T00:00:00Z" })).toBe(3);
  // A live job has no end and no error.
  expect(await count({ endedSince: "2000-01-01T00:00:00Z" })).toBe(0);
  expect(await count({ errorCode: "E" })).toBe(0);
});

test("two processes at once do no more than one, and one that goes away leaves the rest to the other", async () => {
  const { client, database } = open();
  const second = new Database({ databaseUrl: db.url }, { connectionsMax: 2, applicationName: "fairmill bulk second" });
  endAfterTest(() => second.close());
  await client.enqueueMany(
    job,
    Array.from({ length: 100 }, (_, n) => ({ input: { n } })),
  );
  const id = await start(database, "cancel", { kind: "k" });
  const gone = new AbortController();
  const first = runBulk(second, systemClock, id, { stepJobs: 7, signal: gone.signal, onStep: () => gone.abort() });
  const [, done] = await Promise.all([first, runBulk(database, systemClock, id, { stepJobs: 7 })]);
  expect(done).toMatchObject({ state: "done", changed: 100, skipped: 0, seen: 100 });
});

test("a step is one transaction: what fails leaves neither effect nor cursor, and the action says why", async () => {
  const { client, database } = open();
  await client.enqueueMany(job, [{ input: { n: 1 } }, { input: { n: 2 } }]);
  const id = await start(database, "cancel", { kind: "k" });
  await db.query(
    "create function fairmill.test_refuse() returns trigger language plpgsql as $$ begin raise exception 'not today'; end $$",
  );
  await db.query(
    "create trigger test_refuse before insert on fairmill.job_history for each row execute function fairmill.test_refuse()",
  );
  try {
    expect(await runBulk(database, systemClock, id)).toMatchObject({
      state: "failed",
      changed: 0,
      seen: 0,
      afterId: "0",
      error: expect.stringContaining("FAIRMILL_DATABASE"),
    });
  } finally {
    await db.query("drop trigger test_refuse on fairmill.job_history; drop function fairmill.test_refuse()");
  }
  expect(await states()).toEqual({ ready: 2 });
  expect(await endBulk(database, id, "running")).toBe("running");
  expect(await runBulk(database, systemClock, id)).toMatchObject({ state: "done", changed: 2, error: null });
});

test("stopping ends it between two steps; going on begins behind the cursor", async () => {
  const { client, database } = open();
  await client.enqueueMany(
    job,
    Array.from({ length: 5 }, (_, n) => ({ input: { n } })),
  );
  const id = await start(database, "cancel", { kind: "k" });
  expect(await stepBulk(database, id, 2)).toEqual({ state: "running", changed: 2 });
  expect(await endBulk(database, id, "stopped")).toBe("stopped");
  expect(await stepBulk(database, id, 2)).toEqual({ state: "stopped", changed: 0 });
  expect(await endBulk(database, id, "stopped")).toBe("stopped");
  expect(await endBulk(database, id, "running")).toBe("running");
  expect(await runBulk(database, systemClock, id)).toMatchObject({ state: "done", changed: 5 });
  expect(await endBulk(database, id, "running")).toBe("done");
  expect(await endBulk(database, "999", "stopped")).toBe("not_found");
  expect(await readBulk(database, "999")).toBeUndefined();
});

test("an action narrowed to a tenant touches nothing of another, whatever its filter says", async () => {
  const { client, database } = open();
  await client.enqueueMany(job, [
    { input: { n: 1 }, tenant: "a" },
    { input: { n: 2 }, tenant: "b" },
  ]);
  const id = await start(database, "cancel", { kind: "k", tenant: "b" }, "a");
  expect(await runBulk(database, systemClock, id)).toMatchObject({ changed: 1, filter: { kind: "k", tenant: "a" } });
  expect(await db.query("select tenant from fairmill.job")).toEqual([{ tenant: "b" }]);
});

test("a filter that says nothing, says something unknown, or names a state that the action does not act on is refused", async () => {
  const { database } = open();
  for (const action of BULK_ACTIONS) {
    expect(() => checkBulkFilter(action, {})).toThrow(/says nothing/);
    expect(() => checkBulkFilter(action, { tennant: "a" } as never)).toThrow(/Did you mean "tenant"/);
    const wrong = action === "cancel" ? "dead" : "running";
    expect(() => checkBulkFilter(action, { state: wrong })).toThrow(/no state that it acts on/);
    expect(() => checkBulkFilter(action, { ids: Array.from({ length: 10_001 }, String) })).toThrow(/10000/);
  }
  await expect(database.query("select fairmill.start_bulk_v1('cancel', '{\"tennant\": 1}', 'a')")).rejects.toThrow(
    /unknown field/,
  );
  await expect(database.query("select fairmill.start_bulk_v1('explode', '{}', 'a')")).rejects.toThrow(/no bulk action/);
  await expect(database.query("select * from fairmill.step_bulk_v1(1, 0)")).rejects.toThrow(/1 to 5000/);
  const said = await database.query<{ states: string[] }>(
    "select fairmill.bulk_states(a) as states from unnest($1::text[]) with ordinality as x (a, n) order by n",
    [BULK_ACTIONS],
  );
  expect(said.map(({ states: of }) => of)).toEqual(BULK_ACTIONS.map((action) => ACTS_ON[action]));
});
