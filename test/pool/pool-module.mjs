// What the supervisors of tests run: handlers that end, wait, die, hang and eat. A child's handler tells what it does by rows in a table of the test's.
import { defineChannel, defineConfig, defineJob, handle, silentLogger } from "fairmill";
import pg from "pg";

const url = process.env.TEST_POOL_URL;
const db = new pg.Pool({ connectionString: url, max: 2, application_name: "application", allowExitOnIdle: true });
db.on("error", () => {});
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** On record before the handler goes on: which process runs the job. */
const say = (ctx, what) =>
  db.query("insert into public.said (job, pid, what) values ($1, $2, $3)", [ctx.id, process.pid, what]);

/** Resolves when the test has written the word for this job, or for all. */
async function word(ctx) {
  for (;;) {
    const { rowCount } = await db.query("select from public.word where job = $1 or job = 0", [ctx.id]);
    if (rowCount > 0) return;
    ctx.signal.throwIfAborted();
    await later(20);
  }
}

const block = (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

const begotten = defineJob({ kind: "begotten" });
const receipts = defineChannel({
  name: "receipts",
  receiver: "takes-key",
  send: async (message) => ({ got: message.text, by: process.pid }),
});

const jobs = {
  quick: (ctx) => ({ by: process.pid, attempt: ctx.attempt }),
  slow: async (ctx) => {
    await later(ctx.input.ms);
    return { by: process.pid };
  },
  held: async (ctx) => {
    await say(ctx, "runs");
    await word(ctx);
    return { by: process.pid };
  },
  /** Dies while its input says so. */
  fatal: async (ctx) => {
    await say(ctx, "runs");
    if (ctx.input.until === undefined || ctx.attempt < ctx.input.until) process.kill(process.pid, "SIGKILL");
    await later(10);
    return { by: process.pid };
  },
  thrower: async (ctx) => {
    await say(ctx, "runs");
    setTimeout(() => {
      throw new Error("nobody catches this");
    }, 1);
    await later(60_000);
  },
  hungry: async (ctx) => {
    await say(ctx, "runs");
    const eaten = [];
    for (;;) {
      eaten.push(new Array(100_000).fill(ctx.id + Math.random()));
      await later(0);
    }
  },
  blocking: async (ctx) => {
    await say(ctx, "runs");
    block(ctx.input.ms);
    return { by: process.pid };
  },
  /** The same, under a time limit. */
  limited: async (ctx) => {
    await say(ctx, "runs");
    block(ctx.input.ms);
  },
  /** Goes on whatever it is told. */
  stubborn: async (ctx) => {
    await say(ctx, "runs");
    await later(600_000);
  },
  effects: async (ctx) => {
    const first = await ctx.step("first", () => process.pid);
    ctx.progress({ half: true });
    await ctx.enqueue(begotten, { parent: ctx.id });
    await ctx.publish(receipts, { text: "paid" });
    ctx.log.info({}, "effects");
    return { first, by: process.pid, tick: (await ctx.tick()) ?? null, at: new Date(0) };
  },
  /** Its first step waits for the word; who did each of the two is its result. */
  stepping: async (ctx) => {
    const first = await ctx.step("first", async () => {
      await say(ctx, "runs");
      await word(ctx);
      return process.pid;
    });
    return { first, second: await ctx.step("second", () => process.pid) };
  },
  pausing: async (ctx) => {
    const before = await ctx.step("before", () => process.pid);
    await ctx.sleep("nap", 50);
    const said = await ctx.waitFor("word");
    return { before, said, by: process.pid };
  },
  booking: async (ctx) => {
    const tx = await db.connect();
    try {
      await tx.query("begin");
      await tx.query("insert into public.said (job, pid, what) values ($1, $2, 'booked')", [ctx.id, process.pid]);
      const completed = await ctx.complete(tx, { booked: true });
      await tx.query("commit");
      return completed;
    } finally {
      tx.release();
    }
  },
  /** Logs a secret, for tests of what is kept. */
  talking: (ctx) => {
    ctx.log.info({ password: "hunter2", step: 1 }, "talked");
    return { by: process.pid };
  },
  /** Asks for a job in a batch of its own. */
  registering: async (ctx) => {
    await ctx.enqueue(begotten, { parent: ctx.id }, { batch: ctx.input.batch });
  },
  /** Holds as much memory as its input says, for good. */
  keeping: (ctx) => {
    globalThis.kept = Buffer.alloc(ctx.input.bytes, 1);
    return { by: process.pid };
  },
  failing: () => {
    throw Object.assign(new Error("no such address"), { retryable: false });
  },
};

const timeouts = { stubborn: "300ms", limited: "300ms" };

export default defineConfig({
  databaseUrl: url,
  handlers: [
    ...Object.entries(jobs).map(([kind, run]) => handle(defineJob({ kind, timeout: timeouts[kind] ?? "5m" }), run)),
    handle(begotten, () => undefined),
  ],
  channels: [receipts],
  concurrency: Number(process.env.TEST_POOL_CONCURRENCY ?? 10),
  abortGrace: "200ms",
  keepLogs: "info",
  redact: ["password"],
  poll: "1s",
  logger: process.env.TEST_POOL_LOG ? undefined : silentLogger,
});
