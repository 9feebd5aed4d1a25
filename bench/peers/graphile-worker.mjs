// graphile-worker as a system of the benchmark: with its local queue and batched completion, which are its fastest settings.
import { Logger, makeWorkerUtils, runMigrations, run as runWorker } from "graphile-worker";
import pg from "pg";

const logger = new Logger(() => () => {});
const batched = (size, concurrentJobs) => ({
  concurrentJobs,
  maxPoolSize: 25,
  localQueue: { size, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});

export const store = "pg";
export const modes = {
  default: {},
  drain: batched(5000, 500),
  lowlat: { concurrentJobs: 10, maxPoolSize: 12 },
  steady: batched(500, 24),
};

/** A pool of our own: its idle connections may break when their database is dropped, and that must end nothing. */
function open(ctx, max) {
  const pool = new pg.Pool({ connectionString: ctx.url, max });
  const ignore = () => {};
  pool.on("error", ignore).on("connect", (client) => client.on("error", ignore));
  return pool;
}

export async function setup(ctx) {
  const pgPool = open(ctx, 2);
  await runMigrations({ pgPool, logger });
  await pgPool.end();
}

export async function producer(ctx) {
  const pgPool = open(ctx, 20);
  const connection = await makeWorkerUtils({ pgPool, logger });
  return {
    enqueue: (job) => connection.addJob("noop", job),
    enqueueBulk: (jobs) => connection.addJobs(jobs.map((payload) => ({ identifier: "noop", payload }))),
    close: async () => {
      await connection.release();
      await pgPool.end();
    },
  };
}

export async function startWorker(ctx, settings, run) {
  const runner = await runWorker({
    preset: { worker: { connectionString: ctx.url, logger, ...settings } },
    noHandleSignals: true,
    parsedCronItems: [],
    taskList: { noop: async (job) => run(job) },
  });
  runner.promise.catch(() => {});
  return { stop: () => runner.stop() };
}

export const pending = async (_ctx, server) =>
  Number((await server.query("select count(*) from graphile_worker._private_jobs")).rows[0].count);
