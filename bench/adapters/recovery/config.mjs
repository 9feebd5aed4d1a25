// Jobs that say that they have started, and in which process, and then never end by themselves.
import pg from "pg";
import { defineConfig, defineJob, handle, silentLogger } from "../../../dist/index.js";

export const endless = defineJob({ kind: "bench.endless", queue: "bench" });

let pool;
function openPool() {
  const opened = new pg.Pool({ connectionString: process.env.BENCH_URL, max: 2 });
  // The database goes before the last child does.
  opened.on("error", () => {});
  return opened;
}

export default defineConfig({
  handlers: [
    handle(endless, async ({ id, signal }) => {
      pool ??= openPool();
      await pool.query("insert into public.started (job, pid) values ($1, $2)", [id, process.pid]);
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    }),
  ],
  queues: { bench: { concurrency: Number(process.env.BENCH_PLACES ?? 10) } },
  crashesMax: 100,
  logger: silentLogger,
});
