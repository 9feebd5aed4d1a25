// What the workers of the screenshots run: a small company that draws stickers, sends mails, closes invoices and imports lists. Nothing of it reaches outside.
import { setTimeout as sleep } from "node:timers/promises";
import {
  defineChannel,
  defineConfig,
  defineFlow,
  defineJob,
  defineProvider,
  exponential,
  handle,
  handleFlow,
  NotDeliveredError,
} from "fairmill";

/** The models that draw. One of them is down for a while, so that the other one takes over. */
const inkwell = defineProvider({ name: "inkwell", cost: 0.05 });
const pixelforge = defineProvider({
  name: "pixelforge",
  cost: 0.02,
  limits: { perSecond: 20, inFlight: 8 },
  breaker: { failureRate: 0.5, minCalls: 5, window: "20s", openFor: "15s" },
  fallback: inkwell,
});
const cutout = defineProvider({ name: "cutout", cost: 0.004 });
const isDown = () => Math.floor(Date.now() / 1_000) % 210 < 25;

const retry = { attempts: 3, backoff: exponential({ base: "4s", cap: "20s" }) };
export const draw = defineJob({
  kind: "sticker.draw",
  queue: "images",
  retry,
  key: ({ user }) => user,
  limits: { active: 2, whenActive: "wait" },
  credits: { account: ({ user }) => user, amount: ({ large }) => (large ? 4 : 1) },
});
export const upscale = defineJob({ kind: "sticker.upscale", queue: "images", retry });
export const mail = defineJob({ kind: "mail.send", queue: "mails", retry });
export const invoice = defineJob({ kind: "invoice.close", queue: "billing", retry });
export const importRows = defineJob({ kind: "rows.import", queue: "imports", retry });
export const report = defineJob({ kind: "report.write", queue: "reports", retry: { attempts: 2 } });
export const video = defineJob({ kind: "video.render", queue: "videos", retry });

export const chat = defineChannel({
  name: "telegram",
  receiver: "neither",
  send: async ({ chat: to, text }) => {
    await sleep(30 + Math.random() * 120);
    if (to === 0) throw new NotDeliveredError("There is no such chat.", { retryable: false });
    // The line breaks while the message is on its way: it may have arrived.
    if (to === 13) throw new Error("The connection was closed before the receiver answered.");
    return { ok: true, length: text.length };
  },
});
export const hooks = defineChannel({
  name: "webhooks",
  receiver: "takes-key",
  send: async ({ to }) => {
    await sleep(40 + Math.random() * 200);
    if (to.includes("slow") && Math.random() < 0.06) throw new NotDeliveredError("503 Service Unavailable");
    return { status: 200 };
  },
});

export const pack = defineFlow({ name: "sticker-pack" }, (flow) => {
  const plan = flow.run("plan", async (ctx) => ({ moods: ctx.input.moods }), { queue: "reports" });
  const draws = flow.jobs(
    "draw",
    upscale,
    ({ moods, creature }) => Array.from({ length: moods }, (_, n) => ({ creature, mood: n, breaks: n === 17 })),
    { after: [plan], onFailure: "continue" },
  );
  const check = flow.run("check colours", () => sleep(900, "fine"), { after: [plan], queue: "reports" });
  const sheet = flow.run("make sheet", () => sleep(1_500, { pages: 3 }), {
    after: [draws, check],
    queue: "reports",
  });
  const proof = flow.run("proof-read", () => sleep(2_200, "no fault"), {
    after: [draws],
    queue: "reports",
  });
  flow.job("tell the customer", mail, ({ creature }) => ({ to: "ann", about: `${creature} pack` }), {
    after: [sheet, proof],
  });
});

/** Pictures of the dashboard shall not show where this repository lies. */
const HERE = new URL("../..", import.meta.url).href;
function fail(name, code, message) {
  const error = Object.assign(new Error(message), { name, ...(code && { code }) });
  error.stack = error.stack.replaceAll(HERE, "file:///app/");
  return error;
}

export default defineConfig({
  handlers: [
    ...handleFlow(pack),
    handle(draw, async (ctx) => {
      ctx.log.info({ words: ctx.input.words }, "drawing");
      const picture = await ctx.step("draw", async () => {
        if (Math.random() < 0.03)
          throw fail("PromptError", "PROMPT_REFUSED", "The prompt was refused by the content policy.");
        return ctx.call(pixelforge, async ({ provider }) => {
          await sleep(500 + Math.random() * 1_400);
          if (provider.name === "pixelforge" && isDown())
            throw Object.assign(fail("ProviderError", "PROVIDER_DOWN", "503 Service Unavailable"), { status: 503 });
          return { bytes: 41_000 + Math.floor(Math.random() * 9_000) };
        });
      });
      await ctx.progress({ percent: 70 });
      await ctx.step("cut out", () => ctx.call(cutout, () => sleep(250 + Math.random() * 500, "cut")));
      await ctx.publish(
        chat,
        { chat: 17, text: `Your sticker of ${ctx.input.words} is ready.` },
        { idempotencyKey: `sticker-${ctx.id}` },
      );
      return { file: `stickers/${ctx.id}.webp`, bytes: picture.bytes };
    }),
    handle(upscale, async (ctx) => {
      await sleep(300 + Math.random() * 900);
      if (ctx.input.breaks)
        throw fail("ProviderError", "PICTURE_REFUSED", "The provider refused the picture: too dark.");
      return { pixels: 1024 };
    }),
    handle(mail, async (ctx) => {
      await sleep(30 + Math.random() * 120);
      if (ctx.input.to === "nobody@nowhere")
        throw fail("SmtpError", "MAILBOX_UNKNOWN", `550 mailbox of ${ctx.input.to} unknown`);
      if (Math.random() < 0.01) throw fail("SmtpError", "ECONNRESET", "read ECONNRESET");
    }),
    handle(invoice, async (ctx) => {
      const sum = await ctx.step("add up", () => ctx.input.items * 12.5);
      await ctx.progress({ question: `Close invoice ${ctx.input.no} over ${sum} €?`, no: ctx.input.no, sum });
      // Progress is written in rounds; what is waited for at once would not be on record yet.
      await sleep(1_500);
      const answer = await ctx.waitFor("approval", { timeout: "2d" });
      return { closed: answer };
    }),
    handle(importRows, async (ctx) => {
      await ctx.step("fetch", () => sleep(700));
      await ctx.sleep("let the other side catch up", "45s");
      if (ctx.input.file.endsWith("17.csv"))
        throw fail(
          "TypeError",
          undefined,
          `Cannot read properties of undefined (reading 'price') in line ${100 + Math.floor(Math.random() * 800)}`,
        );
      await ctx.step("store", () => sleep(900));
    }),
    handle(video, async () => sleep(1_500 + Math.random() * 1_500)),
    handle(report, async () => sleep(2_000 + Math.random() * 2_000)),
  ],
  channels: [chat, hooks],
  queues: {
    images: { concurrency: 3 },
    mails: { concurrency: 2 },
    billing: { concurrency: 1 },
    imports: { concurrency: 2 },
    reports: { concurrency: 1 },
    videos: { concurrency: 1 },
    outbox: { concurrency: 2 },
  },
  dashboard: {
    creditWorth: 0.04,
    links: ({ kind, id }) =>
      kind === "sticker.draw" ? [{ label: "Customer", url: `https://admin.example/orders/${id}` }] : [],
  },
  // A queue of some dozens is no news here.
  alerts: {
    every: "5s",
    rules: { "queue-depth-10": false, "queue-depth-50": false, "worker-queue-depth-100": false },
  },
  recordEvery: "5s",
  // Decisions in a few minutes of what takes an hour elsewhere: up with the flood to the cap, and down again.
  worker: {
    minInstances: 1,
    maxInstances: 4,
    policy: "targetWait",
    targetWait: "10s",
    idleFor: "15s",
    idleBelow: 0.6,
    stepMax: 2,
  },
});
