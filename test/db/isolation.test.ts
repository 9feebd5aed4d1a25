// Databases, roles and pools whose transactions are not READ COMMITTED by default: work goes on all the same.
import { createClient, createWorker, defineJob, handle, silentLogger } from "fairmill";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { freshDatabase } from "../support/database.js";
import { checkInvariants } from "../support/invariants.js";
import { endOf } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";

const plain = defineJob<{ n: number }>({ kind: "plain" });
const limited = defineJob<{ n: number }>({ kind: "limited", limits: { active: 2 } });
const member = defineJob<{ n: number }>({ kind: "member" });
const after = defineJob({ kind: "after" });
const inputs = Array.from({ length: 25 }, (_, n) => ({ input: { n } }));

async function database(level: string, of: "database" | "pool") {
  const fresh = await freshDatabase();
  const admin = new pg.Client(fresh.url);
  await admin.connect();
  if (of === "database")
    await admin.query(
      `alter database ${new URL(fresh.url).pathname.slice(1)} set default_transaction_isolation = '${level}'`,
    );
  const pool = openPool({
    connectionString: fresh.url,
    ...(of === "pool" && { options: `-c default_transaction_isolation=${level.replace(" ", "\\ ")}` }),
  });
  onTestFinished(async () => {
    await admin.end();
    await pool.end();
    await fresh.drop();
  });
  return { url: fresh.url, pool, admin };
}

test.each(
  (["repeatable read", "serializable"] as const).flatMap((level) => [
    { level, of: "database" as const },
    { level, of: "pool" as const },
  ]),
)("$level by default, said by the $of: batches, limits and plain jobs are done", async ({ level, of }) => {
  const { url, pool, admin } = await database(level, of);
  const way = of === "pool" ? { db: pool } : { databaseUrl: url };
  const [shown] = (
    await pool.query<{ level: string }>("select current_setting('default_transaction_isolation') as level")
  ).rows;
  expect(shown!.level).toBe(level);
  await using client = createClient(way);
  const all = [
    ...(await client.enqueueMany(plain, inputs)),
    ...(await client.enqueueMany(
      limited,
      inputs.map(({ input }) => ({ input, key: "k" })),
    )),
  ].map(({ id }) => id);
  const { id: batch } = await client.batches.create({ onSuccess: { job: after, input: {} } }, async (adding) => {
    for (const { input } of inputs) await adding.add(member, input);
  });
  const handlers = [
    ...[plain, limited, member].map((definition) => handle(definition, () => "done")),
    handle(after, () => "done"),
  ];
  const workers = await Promise.all(
    [1, 2].map(() => createWorker({ ...way, handlers, logger: silentLogger, grace: "5s" }).start()),
  );
  try {
    for (const id of all) expect(await endOf(client, id, 60_000)).toMatchObject({ state: "done" });
    expect(await client.batches.wait(batch)).toMatchObject({ state: "succeeded" });
    await checkInvariants(admin);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
});
