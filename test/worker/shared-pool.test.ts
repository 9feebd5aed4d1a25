// A worker and a client on the caller's own pool: they take turns with the caller's statements, and leave the connections as they were.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { eventOf } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

test("the driver has nothing to warn of, and no connection of the pool is left listening", async () => {
  const warnings: string[] = [];
  const note = (warning: Error) => warnings.push(`${warning.name}: ${warning.message}`);
  process.on("warning", note);
  const pool = openPool({ connectionString: db.url, max: 5, application_name: "test" });
  const work = defineJob<{ n: number }>({ kind: "work", key: ({ n }) => `user ${n % 7}`, limits: { active: 2 } });
  const client = createClient({ db: pool });
  const worker = createWorker({
    db: pool,
    handlers: [handle(work, (ctx) => ctx.step("only", () => ctx.input.n))],
    concurrency: 20,
    logger: silentLogger,
  });
  const listening = eventOf(worker, "listening", ({ working }) => working);
  await worker.start();
  await listening;
  await Promise.all(
    Array.from({ length: 60 }, (_, n) => client.enqueue(work, { n }, { tenant: `t${n % 3}`, idempotencyKey: `${n}` })),
  );
  await client.enqueueMany(
    work,
    Array.from({ length: 200 }, (_, n) => ({ input: { n } })),
  );
  await waitUntil("all are done", async () => (await db.query("select from fairmill.job limit 1")).length === 0);

  const connections = await Promise.all(Array.from({ length: 5 }, () => pool.connect()));
  for (const connection of connections) {
    const { rows } = await connection.query("select * from pg_listening_channels() as channel");
    expect(rows).toEqual([]);
    connection.release();
  }
  await worker.stop();
  await client.close();
  await pool.end();
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
