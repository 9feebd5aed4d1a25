// Fairmill with limits. Its settings are those of a worker and `limits`, plain data because it crosses to the worker process:
//   tenants   { count, settings, weights }: the settings of each tenant t0, t1, …; weights are given in turn
//   keys      { limits, count }: the limits of a key, and how many keys there are; job n belongs to key n mod count
import { createClient, createWorker, defineJob, handle, silentLogger } from "../../dist/index.js";

export { pending } from "./fairmill.mjs";

const definition = ({ keys } = {}) =>
  defineJob({
    kind: "noop",
    ...(keys && { key: ({ n }) => `k${n % keys.count}`, limits: keys.limits }),
  });

export async function setup(ctx, { limits: { tenants } = {} }) {
  const client = createClient({ databaseUrl: ctx.url });
  await client.migrate();
  for (let i = 0; i < (tenants?.count ?? 0); i++) {
    const weight = tenants.weights && { weight: tenants.weights[i % tenants.weights.length] };
    await client.tenants.set(`t${i}`, { ...tenants.settings, ...weight });
  }
  await client.close();
}

export async function producer(ctx, { limits }) {
  const client = createClient({ databaseUrl: ctx.url });
  const noop = definition(limits);
  return {
    enqueueBulk: (jobs) =>
      client.enqueueMany(
        noop,
        jobs.map((job) => ({ input: job, tenant: `t${job.tenant}` })),
      ),
    close: () => client.close(),
  };
}

export async function startWorker(ctx, { limits, ...options }, run) {
  const worker = createWorker({
    databaseUrl: ctx.url,
    handlers: [handle(definition(limits), (context) => run(context.input))],
    logger: silentLogger,
    ...options,
  });
  await worker.start();
  return { stop: () => worker.stop() };
}
