// A real worker process for tests. Told by its parent (IPC) what to be; tells what happens. Handlers of the kinds that tests use.
import { createWorker, defineJob, defineLimit, handle, NonRetryableError, silentLogger, snooze } from "fairmill";
import pg from "pg";
import { channelsTo } from "./channels.mjs";
import { raceHandlers } from "./race-flow.mjs";

const settings = JSON.parse(process.env.TEST_WORKER);
const say = (message) => process.connected && process.send(message);

async function pay(job, step, attempt) {
  const client = new pg.Client({ connectionString: settings.url, application_name: "provider" });
  await client.connect();
  const { rows } = await client.query("insert into paid (job, step, attempt) values ($1, $2, $3) returning receipt", [
    job,
    step,
    attempt,
  ]);
  await client.end();
  return rows[0].receipt;
}

const begotten = defineJob({ kind: "begotten" });
const tokens = defineLimit("tokens", { tokens: 2_000, per: "1s", by: ({ user }) => user });
const metered = defineJob({
  kind: "metered",
  limits: { uses: [tokens.with({ tokens: (input) => input.estimate })] },
});
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const pool = new pg.Pool({ connectionString: settings.url, application_name: "application", allowExitOnIdle: true });
pool.on("error", () => {});

const waiting = new Set();
const letGo = () => new Promise((resolve) => waiting.add(resolve));
process.on("message", (message) => {
  if (message !== "let go") return;
  for (const resolve of waiting) resolve();
  waiting.clear();
});

const handlers = {
  /** Ends at once. */
  quick: handle(defineJob({ kind: "quick" }), () => undefined),
  /** Takes the milliseconds that its input says. */
  slow: handle(
    defineJob({ kind: "slow" }),
    (ctx) => new Promise((resolve) => setTimeout(() => resolve({ by: process.pid }), ctx.input.ms)),
  ),
  /** Tells that it runs, then waits for the parent's word. */
  held: handle(defineJob({ kind: "held" }), async (ctx) => {
    say({ held: ctx.id, attempt: ctx.attempt });
    await letGo();
    return { by: process.pid };
  }),
  /** Kills its own process. */
  poison: handle(defineJob({ kind: "poison" }), () => process.kill(process.pid, "SIGKILL")),
  /** Blocks the event loop for the milliseconds that its input says. */
  blocking: handle(defineJob({ kind: "blocking" }), (ctx) => {
    say({ held: ctx.id, attempt: ctx.attempt });
    const end = performance.now() + ctx.input.ms;
    while (performance.now() < end);
    return { by: process.pid };
  }),
  /** As slow, or as held without `ms`, with the limits that the parent says; its key is the user in its input. */
  limited: handle(defineJob({ kind: "limited", key: (input) => input.user, limits: settings.limits }), async (ctx) => {
    await (ctx.input.ms === undefined ? letGo() : later(ctx.input.ms));
    return { by: process.pid };
  }),
  /** Uses tokens, as many as its input says, and tells so: with its settle, or at once. Some fail after that. */
  metered: handle(metered, async (ctx) => {
    const { ms, actual, now, fails } = ctx.input;
    await later(ms);
    await ctx.use(tokens, { tokens: actual }, { now });
    await later(ms);
    if (fails) throw new NonRetryableError("no");
  }),
  /** Three paid steps; the provider is a table that counts. The n-th attempt stops after the n-th step and waits to be killed. */
  paying: handle(defineJob({ kind: "paying" }), async (ctx) => {
    const receipts = [];
    for (const n of [1, 2, 3]) {
      receipts.push(await ctx.step(`pay ${n}`, () => pay(ctx.id, `pay ${n}`, ctx.attempt)));
      if (ctx.attempt === n) {
        say({ paid: n, attempt: ctx.attempt });
        await new Promise(() => {});
      }
    }
    return receipts;
  }),
  /** Sleeps, waits, and says who it was each time. */
  pausing: handle(defineJob({ kind: "pausing" }), async (ctx) => {
    const before = await ctx.step("before", () => process.pid);
    await ctx.sleep("nap", ctx.input.napMs);
    const between = await ctx.step("between", () => process.pid);
    const word = await ctx.waitFor("word");
    return { before, between, after: process.pid, word };
  }),
  /** As slow, then ends as its input says. */
  flaky: handle(defineJob({ kind: "flaky" }), async (ctx) => {
    // Long enough that a kill finds full hands, and that jobs wait.
    await later(ctx.input.ms * 30);
    if (ctx.input.end === "dead") throw new NonRetryableError("no");
  }),
  ...raceHandlers,
  /** Asks for one child, at some moment of its run. */
  begetting: handle(defineJob({ kind: "begetting" }), async (ctx) => {
    await later(ctx.input.ms);
    await ctx.enqueue(begotten, { parent: ctx.id });
    await later(ctx.input.ms);
  }),
  begotten: handle(begotten, () => undefined),
  /** Books itself in a table of the application and settles in the same transaction, with one child. */
  booking: handle(defineJob({ kind: "booking" }), async (ctx) => {
    await later(ctx.input.ms);
    await ctx.enqueue(begotten, { parent: ctx.id });
    const tx = await pool.connect();
    try {
      await tx.query("begin");
      await tx.query("insert into public.booking (job, attempt) values ($1, $2)", [ctx.id, ctx.attempt]);
      await ctx.complete(tx, { booked: true });
      await tx.query("commit");
      tx.release();
    } catch (error) {
      // Closed: whatever was under way is rolled back by the server.
      tx.release(true);
      throw error;
    }
    await later(ctx.input.ms);
  }),
  dozing: handle(defineJob({ kind: "dozing" }), () => snooze("1h")),
};

const worker = createWorker({
  databaseUrl: settings.url,
  handlers: settings.kinds.flatMap((kind) => handlers[kind]),
  channels: settings.receiver ? channelsTo(settings.receiver.url, settings.receiver.policies) : [],
  logger: silentLogger,
  ...settings.options,
});
worker.events.on("refused", ({ ids }) => say({ refused: ids }));
worker.events.on("lost", () => say({ lost: true }));
worker.events.on("trouble", ({ doing, error }) => say({ trouble: doing, message: String(error?.message) }));
process.on("unhandledRejection", (error) => {
  say({ unhandled: String(error?.stack ?? error) });
});
process.on("message", async (message) => {
  if (message !== "stop") return;
  await worker.stop();
  await pool.end();
  process.disconnect();
});
// The process that started this one is gone, and no other would end it.
process.on("disconnect", () => process.exit());
await worker.start();
say({ started: worker.id });
