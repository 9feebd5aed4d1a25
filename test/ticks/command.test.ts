// `fairmill tick` as a process.
import { createClient, defineJob } from "fairmill";
import { expect, test } from "vitest";
import { cli, jsonOf, project } from "../cli/cli.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();
const here = () => ({ cwd: project, env: { DATABASE_URL: db.url } });

test("runs what is ready with the handlers of the config, tells what it did, and ends", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const greet = defineJob<{ name: string }>({ kind: "greet", queue: "greetings" });
  for (let n = 0; n < 4; n++) await client.enqueue(greet, { name: `guest ${n}` }, { tenant: `t${n % 2}` });
  const first = await cli(["tick", "--max-jobs", "3", "--max-jobs-per-tenant", "1", "--json"], here());
  expect(first.code).toBe(0);
  expect(jsonOf(first)).toMatchObject({ claimed: 2, succeeded: 2, failed: 0, throttled: 0, remaining: 2 });
  const elsewhere = await cli(["tick", "--queue", "default", "--json"], here());
  expect(jsonOf(elsewhere)).toMatchObject({ claimed: 0, remaining: 0 });
  const second = await cli(["tick", "--budget", "20s"], here());
  expect([second.code, second.stdout.trim().split("\n").at(-1)]).toEqual([
    0,
    "2 claimed, 2 succeeded, 0 failed, 0 throttled; 0 ready.",
  ]);
  expect(await db.query("select mode, jobs_claimed from fairmill.worker_tick_metrics order by id")).toEqual([
    { mode: "tick", jobs_claimed: 2 },
    { mode: "tick", jobs_claimed: 0 },
    { mode: "tick", jobs_claimed: 2 },
  ]);
});

test("refuses what makes no sense, before it asks the database", async () => {
  expect((await cli(["tick", "--budget", "1ms"], here())).code).not.toBe(0);
  expect((await cli(["tick", "--max-jobs", "0"], here())).code).toBe(2);
});
