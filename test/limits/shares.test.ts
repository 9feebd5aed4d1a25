// Who is served how much while everybody waits: weights, equal tenants, priorities, over several real processes.
import { createClient, defineJob } from "fairmill";
import type pg from "pg";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorkerProcess } from "../support/processes.js";
import { useSessions } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);
const WORKERS = 4;
const CONCURRENCY = 10;

const put = (tenant: string, count: number, priority = 0) =>
  db.query(
    `insert into fairmill.job (kind, queue, tenant, priority, state, payload)
     select 'quick', 'default', $1, $3, 'ready', '{}' from generate_series(1, $2)`,
    [tenant, count, priority],
  );

/** Nothing is claimed ahead: what is counted is the order in which claims take jobs. */
const startFleet = () =>
  Promise.all(
    Array.from({ length: WORKERS }, () =>
      startWorkerProcess(db.url, ["quick"], { concurrency: CONCURRENCY, prefetch: 0 }),
    ),
  );

/** What it enqueues, and a moment at which everybody could see it: the server's first after the commit. */
async function enqueueAndCommit<Enqueued>(enqueue: (tx: pg.PoolClient) => Promise<Enqueued>) {
  const tx = await db.pool.connect();
  try {
    await tx.query("begin; set local synchronous_commit = off");
    const enqueued = await enqueue(tx);
    // One message: no wait for the disk or the network lies between the two.
    const answers = (await tx.query("commit; select clock_timestamp()::text as at")) as unknown as pg.QueryResult[];
    return { ...enqueued, committedAt: answers[1]!.rows[0].at as string };
  } finally {
    tx.release();
  }
}

const served = async () =>
  (await db.query<{ n: number }>("select count(*)::integer as n from fairmill.job_history"))[0]!.n;

/** Of the first jobs that were started, how many each tenant had. Everybody must still wait at the end. */
async function sharesOfFirst(count: number): Promise<Map<string, number>> {
  const fleet = await startFleet();
  await waitUntil(`${count} are done`, async () => (await served()) >= count);
  await Promise.all(fleet.map((worker) => worker.stop()));
  const rows = await db.query<{ tenant: string; n: number }>(
    `select tenant, count(*)::integer as n
     from (select tenant from fairmill.job_history order by started_at, id limit $1) first group by tenant`,
    [count],
  );
  const waiting = await db.query<{ tenant: string }>("select distinct tenant from fairmill.job where state = 'ready'");
  expect(new Set(waiting.map(({ tenant }) => tenant))).toEqual(new Set(rows.map(({ tenant }) => tenant)));
  await db.query("delete from fairmill.job");
  return new Map(rows.map(({ tenant, n }) => [tenant, n]));
}

test("F8 I9: weights 1 : 2 : 5 under constant backlog: shares within 2 % after 10,000 jobs", async () => {
  const client = createClient({ databaseUrl: db.url });
  await client.tenants.set("b", { weight: 2 });
  await client.tenants.set("c", { weight: 5 });
  for (const tenant of ["a", "b", "c"]) await put(tenant, 12_000);
  const shares = await sharesOfFirst(10_000);
  console.log(shares);
  for (const [tenant, weight] of Object.entries({ a: 1, b: 2, c: 5 })) {
    const fair = (10_000 * weight) / 8;
    expect(Math.abs(shares.get(tenant)! - fair) / fair).toBeLessThan(0.02);
  }
  await client.close();
});

test("F8 I9: 50 equal tenants with backlogs of different lengths are served alike: Jain's index is 0.99 or more", async () => {
  for (let i = 0; i < 50; i++) await put(`t${i}`, 300 + 20 * i);
  const counts = [...(await sharesOfFirst(10_000)).values()];
  expect(counts).toHaveLength(50);
  const sum = counts.reduce((all, count) => all + count, 0);
  const squares = counts.reduce((all, count) => all + count * count, 0);
  const jain = (sum * sum) / (50 * squares);
  console.log(`Jain ${jain}, from ${Math.min(...counts)} to ${Math.max(...counts)}`);
  expect(jain).toBeGreaterThanOrEqual(0.99);
});

test("B8: a paying user's job overtakes 100,000 that wait; the lowest level keeps its share", async () => {
  const quick = defineJob({ kind: "quick", priority: 5 });
  const client = createClient({ databaseUrl: db.url });
  await put("free", 90_000);
  await put("lowest", 10_000, -5);
  const fleet = await startFleet();
  await waitUntil("it works", async () => (await served()) > 500);
  const before = await served();
  // On a busy machine some transaction is always under way. It must not hide what is committed meanwhile: looks for news count those that run.
  const third = await open();
  await third.query("begin");
  await third.query("select pg_current_xact_id()");
  // Of the same tenant as most of them, so that its lane alone would not bring it forward.
  const { id, committedAt } = await enqueueAndCommit((tx) => client.in(tx).enqueue(quick, {}, { tenant: "free" }));
  await client.result(id, { timeout: "20s" });
  await waitUntil("some thousands are done", async () => (await served()) >= before + 4_000);
  await third.close();
  await Promise.all(fleet.map((worker) => worker.stop()));
  // Of the worker that took it: another may go on while the system lets this one rest.
  const [ahead] = await db.query<{ n: number }>(
    `select count(*)::integer as n from fairmill.job_history h join fairmill.job_history p using (worker)
     where p.id = $1 and h.started_at between $2 and p.started_at and h.id <> p.id`,
    [id, committedAt],
  );
  // A claim that was under way, the next one, which brings the news, and what comes with it in the third.
  expect(ahead!.n).toBeLessThanOrEqual(CONCURRENCY * 3);
  const [low] = await db.query<{ share: number }>(
    `select (count(*) filter (where tenant = 'lowest'))::float8 / count(*) as share
     from (select tenant from fairmill.job_history order by started_at limit 4000) first`,
  );
  // A tenth by default, less what each worker begins with.
  expect(low!.share).toBeGreaterThanOrEqual(0.1 - (WORKERS * CONCURRENCY) / 4_000);
  expect(low!.share).toBeLessThanOrEqual(0.1 + (WORKERS * CONCURRENCY) / 4_000);
  await db.query("delete from fairmill.job");
  await client.close();
});
