// Services that fail: work goes on by the fallback, or the credit goes back and the user is told, once.
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { PACK_SCHEDULE, schedulePacks } from "../../examples/stickers/packs.js";
import { scheduleRefunds } from "../../examples/stickers/refunds.js";
import { retryAfterMsOf } from "../../examples/stickers/service-call.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { type BotRig, startBot } from "./bot-rig.js";

const db = useDatabase();
const endedJob = async (bot: BotRig) =>
  waitUntil("the end of the job", async () => {
    const [job] = await bot.parts.client.jobs.list({ kind: makeSticker.kind });
    return job?.completedAt ? job : undefined;
  });

test("while the remover is down, the background is taken away here; while a model is down, the other one draws", async () => {
  const bot = await startBot(db.url);
  bot.pixian.weather.isDown = true;
  bot.gemini.downModels.add("gemini-3-pro-image-preview");
  await bot.startWorker();
  await bot.joins(1);
  await bot.brings(userSays(1, "a cheeky bear"));
  await bot.sticker(1);
  expect(await endedJob(bot)).toMatchObject({
    state: "done",
    attempt: 1,
    result: { by: "gemini-2.5-flash-image, local" },
  });
  expect(bot.pixian.log.map(({ status }) => status)).toEqual([503]);
});

test("when no model draws, the credit goes back and the user is told once", async () => {
  const bot = await startBot(db.url);
  bot.gemini.weather.isDown = true;
  await bot.startWorker();
  await bot.joins(1);
  await bot.brings(userSays(1, "a sleepy bunny"));
  await bot.text(1, "Your credit is back");
  const job = await endedJob(bot);
  expect(job).toMatchObject({
    state: "dead",
    error: { code: "STICKERS_SERVICE_BUSY" },
    credits: { state: "released" },
  });
  expect(await bot.balance(1)).toEqual({ available: 3, reserved: 0 });
  expect(bot.stickers(1)).toEqual([]);
  expect(bot.chat(1).filter(({ text }) => text?.includes("Your credit is back"))).toHaveLength(1);
  // Four attempts, two models each.
  expect(bot.gemini.log).toHaveLength(8);
  expect(job.failures).toHaveLength(4);
});

test("a service's own time to come again lengthens the wait before the next attempt", async () => {
  const bot = await startBot(db.url);
  // Longer than any backoff of the first attempts: only the service can have asked for it.
  bot.gemini.retryAfterSeconds = 600;
  bot.gemini.weather.isDown = true;
  await bot.startWorker();
  await bot.joins(1);
  await bot.brings(userSays(1, "a proud frog"));
  const job = await waitUntil("a failed attempt", async () => {
    const [found] = await bot.parts.client.jobs.list({ kind: makeSticker.kind, state: "scheduled" });
    return found;
  });
  const waitMs = job.runAt!.getTime() - job.failures[0]!.completedAt!.getTime();
  expect(waitMs).toBeGreaterThan(590_000);
  await bot.parts.client.cancel(job.id);
});

test("a wait is read from the header and from the body", () => {
  const now = Date.parse("2030-01-01T00:00:00Z");
  expect(retryAfterMsOf(new Headers({ "retry-after": "7" }), "", now)).toBe(7_000);
  expect(retryAfterMsOf(new Headers({ "retry-after": "Tue, 01 Jan 2030 00:00:30 GMT" }), "", now)).toBe(30_000);
  expect(retryAfterMsOf(new Headers(), '{"details":[{"retryDelay": "1.5s"}]}', now)).toBe(1_500);
  expect(retryAfterMsOf(new Headers({ "retry-after": "soon" }), "", now)).toBeUndefined();
});

test("a sticker for a user who has blocked the bot is given back, once", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await bot.joins(1);
  await bot.text(1, "Send me words");
  bot.telegram.blocked.add("1");
  await bot.brings(userSays(1, "a sad ghost"));
  await waitUntil(
    "a failed message",
    async () => (await bot.parts.client.outbox.list({ status: "failed" })).length === 1,
  );
  expect(await bot.balance(1)).toEqual({ available: 2, reserved: 0 });
  await scheduleRefunds(bot.parts.client);
  for (const refunded of [1, 0]) {
    const { id } = await bot.parts.client.schedules.run("refunds");
    expect(await bot.parts.client.result(id)).toEqual({ refunded });
  }
  expect(await bot.balance(1)).toEqual({ available: 3, reserved: 0 });
});

test("the pack of the night is one message with all moods", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await schedulePacks(bot.parts.client, 900);
  const { id } = await bot.parts.client.schedules.run(PACK_SCHEDULE);
  const { flow } = (await bot.parts.client.result(id)) as { flow: string };
  await bot.sticker(900);
  const { state, nodes } = await bot.parts.client.flows.wait(flow);
  expect([state, ...nodes.map(({ name, done }) => `${name} ${done}`)]).toEqual(["succeeded", "draw 8", "send 1"]);
  expect(bot.chat(900)).toHaveLength(1);
  expect(bot.gemini.log.filter(({ status }) => status === 200)).toHaveLength(8);
});
