// What every process of the programme runs: workers, the children of the supervisor, ticks.
import {
  defineChannel,
  defineConfig,
  fixed,
  handle,
  NonRetryableError,
  NotDeliveredError,
  silentLogger,
} from "fairmill";
import pg from "pg";
import { jobs } from "./jobs.mjs";

const { CHAOS_DATABASE_URL: databaseUrl, CHAOS_RECEIVER_URL: receiverUrl } = process.env;
/** Of the application: what handlers do with the database themselves. */
const application = new pg.Pool({
  ...{ connectionString: databaseUrl, max: 2, application_name: "chaos application", allowExitOnIdle: true },
});
application.on("error", () => {});
// A connection that is cut while it is used says so twice: by the statement, and by this event.
application.on("connect", (connection) => void connection.on("error", () => {}));
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const WORK_MS_MAX = 40;
const work = () => later(Math.random() * WORK_MS_MAX);

const post = defineChannel({
  name: "post",
  receiver: "takes-key",
  timeout: "5s",
  retry: { attempts: 1_000, backoff: fixed("50ms") },
  send: async (message, { idempotencyKey, signal }) => {
    const response = await fetch(receiverUrl, {
      method: "POST",
      headers: { "idempotency-key": idempotencyKey },
      body: JSON.stringify(message),
      signal,
    });
    await response.text();
    if (response.status === 503) throw new NotDeliveredError("busy");
  },
});

/** One message a job, under a key that is the job's for ever. */
const send = (ctx) => ctx.publish(post, { job: ctx.id, kind: ctx.kind }, { idempotencyKey: `${ctx.kind} ${ctx.id}` });

async function book(ctx) {
  const tx = await application.connect();
  try {
    await tx.query("begin");
    await tx.query("insert into public.booking (job) values ($1)", [ctx.id]);
    await ctx.complete(tx, { booked: true });
    await tx.query("commit");
    tx.release();
  } catch (error) {
    // Closed: whatever was under way is rolled back by the server.
    tx.release(true);
    throw error;
  }
}

export default defineConfig({
  databaseUrl,
  handlers: [
    handle(jobs.mail, async (ctx) => {
      await work();
      await send(ctx);
    }),
    handle(jobs.flaky, async (ctx) => {
      await work();
      if (ctx.attempt <= ctx.input.fails) throw new Error("not yet");
      await send(ctx);
    }),
    handle(jobs.fatal, async () => {
      await work();
      throw new NonRetryableError("never");
    }),
    handle(jobs.paid, async (ctx) => {
      await work();
      await send(ctx);
    }),
    handle(jobs.stepped, async (ctx) => {
      const kept = [];
      for (const name of ["one", "two", "three"]) {
        kept.push(await ctx.step(name, () => `${name} of ${ctx.id}`));
        await work();
      }
      await send(ctx);
      return kept;
    }),
    handle(jobs.keyed, work),
    handle(jobs.booked, async (ctx) => {
      await work();
      await book(ctx);
    }),
    handle(jobs.page, work),
    handle(jobs.bound, send),
  ],
  channels: [post],
  concurrency: 10,
  logger: silentLogger,
});
