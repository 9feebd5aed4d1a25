// B20: an idle fleet costs the database next to nothing.
import { defineJob, handle } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { asleep, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const FLEET = 4;
const MEASURED_S = 10;

test("B20: four idle workers send few statements a second from their first seconds on, all together", async () => {
  const proxy = await TcpProxy.before(db.url);
  const job = defineJob({ kind: "job" });
  const fleet = await Promise.all(
    Array.from({ length: FLEET }, async () => {
      const worker = await startWorker(proxy.url, [handle(job, () => 1)]);
      await asleep(worker);
      return worker;
    }),
  );
  await waitUntil("all of them listen and sleep", async () => {
    const [row] = await db.query("select count(*) filter (where listening) as n from fairmill.worker");
    return Number(row!["n"]) === FLEET;
  });
  // Counted on the wire: the server's own counters lag behind by as much as is measured here.
  const before = proxy.statements.length;
  const beganMs = performance.now();
  await db.query("select pg_sleep($1)", [MEASURED_S]);
  const perSecond = (proxy.statements.length - before) / ((performance.now() - beganMs) / 1_000);
  for (const worker of fleet) await worker.stop();
  console.log(`${perSecond.toFixed(1)} statements a second`);
  expect(perSecond).toBeLessThan(4);
  // They are idle, not dead: every one of them has renewed its lease.
  expect(perSecond).toBeGreaterThan(FLEET / 10);
});
