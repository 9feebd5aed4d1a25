// Fairmill as a system of the queue benchmark: `node run.mjs --systems raw-pg,…/bench/adapters/fairmill.mjs` in that harness.
import { createClient, createWorker, defineJob, handle, silentLogger } from "../../dist/index.js";

export const store = "pg";
export const drainJobs = 100_000;
export const modes = {
  default: {},
  drain: { concurrency: 2000, prefetch: 2000 },
  lowlat: {},
  steady: { concurrency: 500, prefetch: 500 },
};

const noop = defineJob({ kind: "noop" });

export async function setup(ctx) {
  const client = createClient({ databaseUrl: ctx.url });
  await client.migrate();
  await client.close();
}

export async function producer(ctx) {
  const client = createClient({ databaseUrl: ctx.url, connectionsMax: 20 });
  return {
    enqueue: (job) => client.enqueue(noop, job, { tenant: `t${job.tenant}` }),
    enqueueBulk: (jobs) =>
      client.enqueueMany(
        noop,
        jobs.map((job) => ({ input: job, tenant: `t${job.tenant}` })),
      ),
    close: () => client.close(),
  };
}

export async function startWorker(ctx, mode, run) {
  const worker = createWorker({
    databaseUrl: ctx.url,
    handlers: [handle(noop, (context) => run(context.input))],
    logger: silentLogger,
    ...mode,
  });
  await worker.start();
  return { stop: () => worker.stop() };
}

export const pending = async (_ctx, server) =>
  Number((await server.query("select count(*) from fairmill.job")).rows[0].count);
