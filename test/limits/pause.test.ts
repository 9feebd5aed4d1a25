// Pause and resume across a fleet of real processes: in effect within a second, for those who work and those who sleep.
import { type Client, createClient, defineJob } from "fairmill";
import { describe, expect, test } from "vitest";
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
/** By worker, how many milliseconds after a moment it started something of that again. */
const firstStarts = async (moment: string) =>
  (
    await db.query<{ ms: number }>(
      `select extract(epoch from min(started_at) - $1::timestamptz)::float8 * 1000 as ms
       from (select worker, started_at, kind from fairmill.job_history
             union all select worker, started_at, kind from fairmill.job where state = 'running') j
       where kind = 'limited' and started_at > $1::timestamptz group by worker`,
      [moment],
    )
  ).map(({ ms }) => ms);
const running = async () =>
  (await db.query("select from fairmill.job where state = 'running' and kind = 'limited'")).length;

async function put(client: Client) {
  await client.enqueueMany(
    mail,
    Array.from({ length: 3_000 }, () => ({ input: { ms: 15 }, tenant: "acme" })),
  );
}

describe.each(SCOPES)("F5: pausing %j", (what) => {
  test.each(["asleep", "busy with other jobs"])(
    "stops the fleet within a second; resumed while it is %s, it goes on before its next look around",
    async (how) => {
      const client = createClient({ databaseUrl: db.url });
      await put(client);
      if (how !== "asleep")
        await client.enqueueMany(
          "queue" in what ? elsewhere : beside,
          Array.from({ length: 20_000 }, () => ({ input: { ms: 15 }, tenant: "else" })),
        );
      const fleet = await startFleet();
      await waitUntil("it works", async () => (await startsSince("-infinity")) > 100);
      await client.pause(what);
      const paused = await now();
      await waitUntil("what runs has ended", async () => (await running()) === 0);
      if (how === "asleep")
        await waitUntil(
          "all sleep",
          async () => (await db.query("select from fairmill.worker where listening")).length === fleet.length,
        );
      // A second has passed by the database's clock, and a little.
      await waitUntil(
        "a second has passed",
        async () =>
          (await db.query("select where clock_timestamp() > $1::timestamptz + interval '1.2 seconds'", [paused]))
            .length > 0,
      );
      expect(await startsSince(paused, 1)).toBe(0);
      const left = (await db.query("select from fairmill.job where kind = 'limited' and state = 'ready'")).length;
      expect(left).toBeGreaterThan(500);
      expect(await db.query("select from fairmill.job_history where state <> 'done'")).toEqual([]);

      await client.resume(what);
      const resumed = await now();
      // Each of them, not only the first that happens to look.
      await waitUntil("all go on", async () => (await firstStarts(resumed)).length === fleet.length);
      // None of them waited for its next look around, which is ten seconds away.
      expect(Math.max(...(await firstStarts(resumed)))).toBeLessThan(8_000);
      await db.query("delete from fairmill.job where state = 'ready'");
      await Promise.all(fleet.map((worker) => worker.stop()));
      await client.close();
    },
    60_000,
  );
});
