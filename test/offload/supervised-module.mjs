// What the supervisors of the offload tests run: handlers with payloads and results that are too large for their rows.
import { defineConfig, defineFlow, defineJob, handle, handleFlow, silentLogger } from "fairmill";
import { defineStorage, folderStorage } from "fairmill/storage";
import pg from "pg";

const url = process.env.TEST_POOL_URL;
const folder = process.env.TEST_OFFLOAD_FOLDER;
const db = new pg.Pool({ connectionString: url, max: 2, application_name: "application", allowExitOnIdle: true });
db.on("error", () => {});

export const echo = defineJob({ kind: "echo" });
const parent = defineJob({ kind: "parent" });
const booking = defineJob({ kind: "booking" });
const telling = defineJob({ kind: "telling", redact: ["secret"], retry: { attempts: 1 } });

/** One node returns a large result, two jobs of another one as well; the last one has read all of them. */
export const collecting = defineFlow({ name: "collecting" }, (flow) => {
  const one = flow.run("one", (ctx) => ({ text: ctx.input.text.repeat(ctx.input.times), by: process.pid }));
  const many = flow.run("many", async (ctx) => {
    for (const n of [1, 2]) await ctx.batch.add(echo, { text: ctx.input.text.repeat(ctx.input.times), n });
  });
  flow.run(
    "all",
    async (ctx) => ({
      one: (await ctx.flow.result(one)).text.length,
      many: (await ctx.flow.results(many)).map((said) => said?.text?.length ?? null),
      by: process.pid,
    }),
    { after: [one, many] },
  );
});

export default defineConfig({
  databaseUrl: url,
  handlers: [
    handle(echo, (ctx) => ({ ...ctx.input, by: process.pid })),
    handle(parent, (ctx) => ctx.enqueue(echo, ctx.input)),
    handle(booking, async (ctx) => {
      const tx = await db.connect();
      try {
        await tx.query("begin");
        const completed = await ctx.complete(tx, ctx.input);
        await tx.query("commit");
        return completed;
      } finally {
        tx.release();
      }
    }),
    handle(telling, (ctx) => {
      ctx.log.info({}, `it is ${ctx.input.secret}`);
      throw new Error(`cannot use ${ctx.input.secret}`);
    }),
    ...handleFlow(collecting),
  ],
  ...(folder && {
    offload: { storage: defineStorage({ name: "contents", driver: folderStorage({ path: folder }) }), above: 4_096 },
  }),
  abortGrace: "200ms",
  keepLogs: "info",
  poll: "1s",
  logger: silentLogger,
});
