// What every way of running jobs runs when their number is to be compared: jobs that wait 50 ms, ten at once.
import { defineConfig, defineJob, handle, silentLogger } from "../../../dist/index.js";

const WAIT_MS = 50;
export const waiting = defineJob({ kind: "bench.waiting", queue: "bench" });

export default defineConfig({
  handlers: [handle(waiting, () => new Promise((resolve) => setTimeout(resolve, WAIT_MS)))],
  queues: { bench: { concurrency: 10 } },
  logger: silentLogger,
});
