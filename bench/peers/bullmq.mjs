// BullMQ on Redis as a system of the benchmark. Redis syncs its log every second, so it answers before a job is on disk.
import { Queue, Worker } from "bullmq";

const QUEUE = "noop";

export const store = "redis";
export const modes = {
  default: { worker: {} },
  drain: { job: { removeOnComplete: true }, worker: { concurrency: 50 } },
  lowlat: { job: { removeOnComplete: true }, worker: { concurrency: 10 } },
  steady: { job: { removeOnComplete: true }, worker: { concurrency: 50 } },
};

const connectionOf = ({ url }) => ({ host: new URL(url).hostname, port: Number(new URL(url).port) });

export async function setup() {}

export async function producer(ctx, { job: defaultJobOptions }) {
  const queue = new Queue(QUEUE, { connection: connectionOf(ctx), defaultJobOptions });
  queue.on("error", () => {});
  await queue.waitUntilReady();
  return {
    enqueue: (job) => queue.add("noop", job),
    enqueueBulk: (jobs) => queue.addBulk(jobs.map((data) => ({ name: "noop", data }))),
    close: () => queue.close(),
  };
}

export async function startWorker(ctx, settings, run) {
  const worker = new Worker(QUEUE, async ({ data }) => run(data), {
    connection: connectionOf(ctx),
    ...settings.worker,
  });
  worker.on("error", () => {});
  await worker.waitUntilReady();
  return { stop: () => worker.close() };
}

export async function pending(ctx) {
  const queue = new Queue(QUEUE, { connection: connectionOf(ctx) });
  const counts = await queue.getJobCounts("wait", "active", "delayed", "prioritized", "paused", "failed");
  await queue.close();
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
