// What a worker claims ahead by itself: only while jobs are short, and not to the harm of what stands behind a long one.
import { createClient, defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorker } from "../support/jobs.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });
const JOBS = 60;
/** One for each place of the first worker. */
const LONG = [30, 31];

test("what was claimed ahead of a job that turns out to be long goes to other workers", async () => {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await using client = createClient({ databaseUrl: db.url });
  await client.enqueueMany(
    job,
    Array.from({ length: JOBS }, (_, n) => ({ input: { n } })),
  );
  const handler = handle(job, ({ input }) => (LONG.includes(input.n) ? held : undefined));
  await using first = await startWorker(db.url, [handler], { concurrency: 2 });
  let claimedMost = 0;
  first.events.on("claimed", ({ claims }) => {
    claimedMost = Math.max(claimedMost, claims.length);
  });
  await waitUntil("the long ones run, and nothing else is this worker's", async () => {
    const rows = await db.query("select payload -> 'n' as n from fairmill.job where state = 'running'");
    return rows.length === LONG.length && rows.every(({ n }) => LONG.includes(n));
  });
  await using _ = await startWorker(db.url, [handler], { concurrency: 2 });
  await waitUntil("all others are done", async () => {
    const [row] = await db.query("select count(*)::integer as n from fairmill.job_history where state = 'done'");
    return row!["n"] === JOBS - LONG.length;
  });
  goOn();
  // They waited, but no attempt of theirs was spent.
  expect(await db.query("select from fairmill.job_history where attempt <> 1")).toEqual([]);
  expect(claimedMost).toBeGreaterThan(1);
});
