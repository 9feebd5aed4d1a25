// What the children of bench/pool.mjs run: jobs that wait 50 ms.
import { defineConfig, defineJob, handle, silentLogger } from "fairmill";

const WAIT_MS = 50;
export const waiting = defineJob({ kind: "bench.waiting", queue: "bench" });

export default defineConfig({
  handlers: [handle(waiting, () => new Promise((resolve) => setTimeout(resolve, WAIT_MS)))],
  queues: { bench: { concurrency: 10 } },
  logger: silentLogger,
});
