// What the supervisor of a test runs in its children: a job that calls a simulated provider and is paid for.
import { defineConfig, defineJob, defineProvider, handle, silentLogger } from "fairmill";

const pixian = defineProvider({ name: "pixian", limits: { inFlight: 2 }, cost: 1 });

export default defineConfig({
  databaseUrl: process.env.TEST_POOL_URL,
  handlers: [
    handle(defineJob({ kind: "call", needs: [pixian] }), (ctx) =>
      ctx.call(pixian, async ({ signal, check }) => {
        const answer = await fetch(`${process.env.TEST_SIMULATOR}/pixian?job=${ctx.id}&pid=${process.pid}`, { signal });
        return check(answer).text();
      }),
    ),
  ],
  concurrency: 4,
  logger: silentLogger,
});
