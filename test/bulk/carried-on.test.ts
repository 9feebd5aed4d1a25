// A bulk action whose process died in the middle is finished by a worker: every job that fits is acted on once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createClient, createWorker, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { Bus } from "../../src/base/bus.js";
import { systemClock } from "../../src/base/clock.js";
import { BulkCarrier } from "../../src/bulk/bulk-carrier.js";
import { checkBulkFilter } from "../../src/bulk/bulk-filter.js";
import { readBulk, startBulk } from "../../src/bulk/bulk-statements.js";
import { Database } from "../../src/db/database.js";
import { silent } from "../http/server.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "k", queue: "q", retry: { attempts: 1 } });
const JOBS = 300;

/** Runs an action in a process that kills itself the hard way after three steps. */
const KILLED = (url: string, id: string) => `
  const root = ${JSON.stringify(new URL("../../dist/", import.meta.url).href)};
  const { Database } = await import(root + "db/database.js");
  const { runBulk } = await import(root + "bulk/bulk-runner.js");
  const { systemClock } = await import(root + "base/clock.js");
  const db = new Database({ databaseUrl: ${JSON.stringify(url)} }, { connectionsMax: 1, applicationName: "killed" });
  let steps = 0;
  await runBulk(db, systemClock, ${JSON.stringify(id)}, { stepJobs: 10, onStep: () => {
    if (++steps === 3) process.kill(process.pid, "SIGKILL");
  } });`;

async function leftBehind() {
  const client = createClient({ databaseUrl: db.url, connectionsMax: 2 });
  const database = new Database({ databaseUrl: db.url }, { connectionsMax: 4, applicationName: "fairmill bulk test" });
  endAfterTest(async () => {
    await client.close();
    await database.close();
  });
  await client.enqueueMany(
    job,
    Array.from({ length: JOBS }, (_, n) => ({ input: { n } })),
  );
  const filter = checkBulkFilter("cancel", { kind: "k" });
  const id = await startBulk(database, {
    action: "cancel",
    filter,
    actor: "ann",
    tenant: undefined,
    reason: undefined,
  });
  const child = spawn(process.execPath, ["--input-type=module", "-e", KILLED(db.url, id)], { stdio: "inherit" });
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  expect(await readBulk(database, id)).toMatchObject({ state: "running", changed: 30 });
  return { client, database, id };
}

const cancelled = async () => (await db.query("select from fairmill.job_history where state = 'cancelled'")).length;
const standStill = () => db.query("update fairmill.bulk_action set updated_at = updated_at - interval '1 minute'");

test("B9: what a killed process left is finished by a worker, and every job was acted on once", async () => {
  const { database, id } = await leftBehind();
  await standStill();
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silent,
    handlers: [handle(job, () => {})],
    queues: { x: { concurrency: 1 } },
  });
  endAfterTest(() => worker.stop());
  await worker.start();
  const bulk = await waitUntil("its end", async () => {
    const one = await readBulk(database, id);
    return one?.state === "done" && one;
  });
  expect(bulk).toMatchObject({ changed: JOBS, skipped: 0 });
  expect(await cancelled()).toBe(JOBS);
});

test("one that is being stepped is left alone, and several carriers at once do no more than one", async () => {
  const { database, id } = await leftBehind();
  const pace = { firstMs: 1, everyMs: 1, abandonedMs: 10_000, stepJobs: 7 };
  const carriers = [1, 2, 3].map(() => new BulkCarrier({ db: database, clock: systemClock, bus: new Bus() }, pace));
  const round = () => Promise.all(carriers.map((carrier) => carrier.runOnce()));
  await round();
  await round();
  expect(await readBulk(database, id), "its process may be at it").toMatchObject({ changed: 30 });
  await standStill();
  for (let rounds = 0; (await readBulk(database, id))!.state === "running"; rounds++) {
    expect(rounds).toBeLessThan(JOBS);
    const { changed: before } = (await readBulk(database, id))!;
    await round();
    expect((await readBulk(database, id))!.changed - before, "bounded per round").toBeLessThanOrEqual(3 * 7);
  }
  expect(await readBulk(database, id)).toMatchObject({ state: "done", changed: JOBS, skipped: 0 });
  expect(await cancelled()).toBe(JOBS);
});

test("a worker looks within its first seconds, and then once a minute at most", async () => {
  await using database = Object.assign(
    new Database({ databaseUrl: db.url }, { connectionsMax: 1, applicationName: "fairmill bulk test" }),
    { [Symbol.asyncDispose]: () => database.close() },
  );
  const carrier = new BulkCarrier({ db: database, clock: systemClock, bus: new Bus() });
  const first = await carrier.runOnce();
  expect(first).toBeGreaterThanOrEqual(10_000);
  expect(first).toBeLessThanOrEqual(20_000);
  for (let n = 0; n < 3; n++) expect(await carrier.runOnce()).toBeGreaterThanOrEqual(30_000);
});
