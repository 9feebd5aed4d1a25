// pg-boss as a system of the benchmark. The batch sizes were found by a search with jobs that do nothing; its defaults take one job every two seconds.
import { PgBoss } from "pg-boss";

const QUEUE = "noop";
const FAST = { batchSize: 5000, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

export const store = "pg";
export const modes = {
  default: { work: {} },
  drain: { work: FAST },
  lowlat: { isNotified: true, work: { ...FAST, batchSize: 100, localConcurrency: 2 } },
  steady: { isNotified: true, work: { ...FAST, batchSize: 1000, localConcurrency: 2 } },
};

async function open(ctx, options) {
  const boss = new PgBoss({ connectionString: ctx.url, ...options });
  // Its connections end with the database; what matters fails the call that needs it.
  boss.on("error", () => {});
  await boss.start();
  return boss;
}

export async function setup(ctx, { isNotified = false }) {
  const boss = await open(ctx, { max: 2 });
  await boss.createQueue(QUEUE, { notify: isNotified });
  await boss.stop({ graceful: false });
}

export async function producer(ctx) {
  const boss = await open(ctx, { max: 20, supervise: false, schedule: false });
  return {
    enqueue: (job) => boss.send(QUEUE, job),
    enqueueBulk: (jobs) =>
      boss.insert(
        QUEUE,
        jobs.map((data) => ({ data })),
      ),
    close: () => boss.stop({ graceful: false }),
  };
}

export async function startWorker(ctx, { isNotified = false, work }, run) {
  const boss = await open(ctx, { max: 10, useListenNotify: isNotified });
  await boss.work(QUEUE, work, async (jobs) => {
    for (const { data } of jobs) run(data);
  });
  return { stop: () => boss.stop({ graceful: true, timeout: 10_000 }) };
}

export const pending = async (_ctx, server) =>
  Number(
    (await server.query("select count(*) from pgboss.job where name = $1 and state < 'completed'", [QUEUE])).rows[0]
      .count,
  );
