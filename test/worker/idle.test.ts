// B20: an idle fleet costs the database next to nothing.
import { defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { eventOf, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const FLEET = 4;
const MEASURED_S = 10;

test("B20: four idle workers send fewer than four statements a second, all together", async () => {
  const proxy = await TcpProxy.before(db.url);
  const job = defineJob({ kind: "job" });
  const fleet = await Promise.all(
    Array.from({ length: FLEET }, async () => {
      const worker = await startWorker(proxy.url, [handle(job, () => 1)]);
      await eventOf(worker, "idle");
      return worker;
    }),
  );
  const commits = async () => {
    const [row] = await db.query(
      "select xact_commit + xact_rollback as n, clock_timestamp() as at from pg_stat_database where datname = current_database()",
    );
    return {
      transactions: Number(row!["n"]),
      statements: proxy.statements.length,
      atMs: (row!["at"] as Date).getTime(),
    };
  };
  await waitUntil("all of them listen and sleep", async () => {
    const [row] = await db.query("select count(*) filter (where listening) as n from fairmill.worker");
    return Number(row!["n"]) === FLEET;
  });
  const before = await commits();
  await db.query("select pg_sleep($1)", [MEASURED_S]);
  const after = await commits();
  for (const worker of fleet) await worker.stop();

  const seconds = (after.atMs - before.atMs) / 1_000;
  const statements = (after.statements - before.statements) / seconds;
  console.log(
    `${statements.toFixed(1)} statements a second, ${((after.transactions - before.transactions) / seconds).toFixed(1)} transactions`,
  );
  expect(statements).toBeLessThan(4);
  expect((after.transactions - before.transactions) / seconds).toBeLessThan(4);
  // They are idle, not dead: every one of them has renewed its lease.
  expect(statements).toBeGreaterThan(FLEET / 10);
});
