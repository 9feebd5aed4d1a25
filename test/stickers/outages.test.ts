// Services that fail: work goes on by the fallback, or the credit goes back and the user is told, once.
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { PACK_SCHEDULE, schedulePacks } from "../../examples/stickers/packs.js";
import { gemini, secondModel } from "../../examples/stickers/providers.js";
import { scheduleRefunds } from "../../examples/stickers/refunds.js";
import { retryDelayOf } from "../../examples/stickers/service-answer.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { type BotRig, startBot } from "./bot-rig.js";

const db = useDatabase();
const endedJob = async (bot: BotRig) =>
  waitUntil("the end of the job", async () => {
    const [job] = await bot.parts.client.jobs.list({ kind: makeSticker.kind });
    return job?.endedAt ? job : undefined;
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

test("a model that says when to come again is left alone until then by the whole fleet, and no attempt is spent", async () => {
  const bot = await startBot(db.url);
  // Said in the body, as Google does, and longer than any backoff: only the service can have asked for it.
  bot.gemini.retryAfterSeconds = 600;
  bot.gemini.weather.perSecond = 0;
  await bot.startWorker();
  await bot.joins(1);
  await bot.brings(userSays(1, "a proud frog"));
  const { client } = bot.parts;
  const until = await waitUntil("both models closed", async () => {
    const closed = await Promise.all(
      [gemini, secondModel].map(async ({ name }) => (await client.providers.get(name))?.closed),
    );
    return closed.every((one) => one?.why === "rate-limit") ? closed.map((one) => one!.until!.getTime()) : undefined;
  });
  expect(Math.min(...until) - Date.now()).toBeGreaterThan(500_000);
  const job = await waitUntil("the job back in the queue", async () => {
    const [found] = await client.jobs.list({ kind: makeSticker.kind });
    return found && found.state !== "running" ? found : undefined;
  });
  expect(job).toMatchObject({ failures: [] });
  expect(bot.gemini.log).toHaveLength(2);
  await client.cancel(job.id);
});

test("Google's wait is read from the body", () => {
  expect(retryDelayOf('{"details":[{"retryDelay": "1.5s"}]}')).toBe(1_500);
  expect(retryDelayOf("{}")).toBeUndefined();
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
  await schedulePacks(bot.parts);
  const { id: flow } = await bot.parts.client.schedules.run(PACK_SCHEDULE);
  const chat = bot.parts.settings.packChat;
  await bot.sticker(chat);
  const { state, nodes } = await bot.parts.client.flows.wait(flow);
  expect([state, ...nodes.map(({ name, done }) => `${name} ${done}`)]).toEqual(["succeeded", "draw 9", "send 1"]);
  expect(bot.chat(chat)).toHaveLength(1);
  expect(bot.gemini.log.filter(({ status }) => status === 200)).toHaveLength(8);
});
