// Pause and resume across a fleet of real processes: in effect within a second, for those who work and those who sleep.
import { type Client, createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import type { PauseTarget } from "../../src/limits/limit-settings.js";
import { useDatabase } from "../support/database.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
/** What is paused in these tests: its queue, its kind or its tenant. */
const mail = defineJob<{ ms: number }>({ kind: "limited", queue: "mail" });
/** What keeps the fleet busy meanwhile: in the same queue, unless that is paused. */
const beside = defineJob<{ ms: number }>({ kind: "slow", queue: "mail" });
const elsewhere = defineJob<{ ms: number }>({ kind: "slow" });
const SCOPES: PauseTarget[] = [{ queue: "mail" }, { kind: "limited" }, { tenant: "acme" }];

const startFleet = () =>
  Promise.all(
    Array.from({ length: 4 }, () =>
      startWorkerProcess(db.url, ["limited", "slow"], {
        queues: { mail: { concurrency: 3 }, default: { concurrency: 3 } },
        // No look around comes by itself.
        poll: "1h",
      }),
    ),
  );

const now = async () => (await db.query<{ at: string }>("select clock_timestamp()::text as at"))[0]!.at;
/** Starts of what can be paused, after a moment and a second. */
const startsSince = async (moment: string, seconds = 0) =>
  (
    await db.query<{ n: number }>(
      `select count(*)::integer as n
       from (select started_at, kind from fairmill.job_history union all select started_at, kind from fairmill.job where state = 'running') j
       where kind = 'limited' and started_at > $1::timestamptz + $2 * interval '1 second'`,
      [moment, seconds],
    )
  )[0]!.n;
/** The workers that have started something of that since then. */
const startersSince = (moment: string) =>
  db.query(
    `select distinct worker
     from (select worker, started_at, kind from fairmill.job_history
           union all select worker, started_at, kind from fairmill.job where state = 'running') j
     where kind = 'limited' and started_at > $1`,
    [moment],
  );
const running = async () =>
  (await db.query("select from fairmill.job where state = 'running' and kind = 'limited'")).length;

async function put(client: Client) {
  await client.enqueueMany(
    mail,
    Array.from({ length: 3_000 }, () => ({ input: { ms: 15 }, tenant: "acme" })),
  );
}

// One fleet for all of it: to start four processes takes longer than what is seen here.
test("F5: pausing a queue, a kind or a tenant stops the fleet within a second; resumed while it sleeps or is busy, it goes on before its next look around", async () => {
  const client = createClient({ databaseUrl: db.url });
  const fleet = await startFleet();
  for (const what of SCOPES)
    for (const how of ["asleep", "busy with other jobs"]) {
      const which = `${JSON.stringify(what)}, ${how}`;
      const begun = await now();
      await put(client);
      if (how !== "asleep")
        await client.enqueueMany(
          "queue" in what ? elsewhere : beside,
          Array.from({ length: 20_000 }, () => ({ input: { ms: 15 }, tenant: "else" })),
        );
      await waitUntil(`it works: ${which}`, async () => (await startsSince(begun)) > 100);
      await client.pause(what);
      const paused = await now();
      await waitUntil(`what runs has ended: ${which}`, async () => (await running()) === 0);
      if (how === "asleep")
        await waitUntil(
          `all sleep: ${which}`,
          async () => (await db.query("select from fairmill.worker where listening")).length === fleet.length,
        );
      // A second has passed by the database's clock, and a little.
      await waitUntil(
        "a second has passed",
        async () =>
          (await db.query("select where clock_timestamp() > $1::timestamptz + interval '1.2 seconds'", [paused]))
            .length > 0,
      );
      expect(await startsSince(paused, 1), which).toBe(0);
      const left = (await db.query("select from fairmill.job where kind = 'limited' and state = 'ready'")).length;
      expect(left, which).toBeGreaterThan(500);
      expect(await db.query("select from fairmill.job_history where state <> 'done'")).toEqual([]);

      await client.resume(what);
      const resumed = await now();
      // Each of them, by the notification: not only the first that happens to look.
      await waitUntil(`all go on: ${which}`, async () => (await startersSince(resumed)).length === fleet.length);
      await db.query("delete from fairmill.job where state = 'ready'");
      await waitUntil("nothing is left", async () => (await db.query("select from fairmill.job")).length === 0);
      await db.query("delete from fairmill.job_history");
    }
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();
});
