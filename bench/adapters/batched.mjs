// Fairmill with all jobs in one batch: what it costs to be counted.
import { createClient, defineJob } from "../../dist/index.js";

export { modes, pending, setup, startWorker, store } from "./fairmill.mjs";

const noop = defineJob({ kind: "noop" });

export async function producer(ctx) {
  const client = createClient({ databaseUrl: ctx.url, connectionsMax: 20 });
  const batch = await client.batches.open({ hold: "1h", stability: false });
  return {
    enqueue: (job) => client.enqueue(noop, job, { tenant: `t${job.tenant}`, batch: batch.id }),
    enqueueBulk: (jobs) =>
      client.enqueueMany(
        noop,
        jobs.map((job) => ({ input: job, tenant: `t${job.tenant}`, batch: batch.id })),
      ),
    close: async () => {
      await batch.close();
      await client.close();
    },
  };
}
