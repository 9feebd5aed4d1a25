// Services that fail: work goes on by the fallback, or the credit goes back and the user is told, once.
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeSticker, messageEnded } from "../../examples/stickers/jobs.js";
import { limitPacks, PACK_SCHEDULE, schedulePacks } from "../../examples/stickers/packs.js";
import { gemini, pixian, secondModel } from "../../examples/stickers/providers.js";
import { tellPacks } from "../../examples/stickers/run/news.js";
import { retryDelayOf } from "../../examples/stickers/service-answer.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { scheduleSweep } from "../../examples/stickers/sweep-files.js";
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
  const [message] = await bot.parts.client.outbox.list({ status: "failed" });
  const [end] = await waitUntil("the job that its end enqueued", async () => {
    const jobs = await bot.parts.client.jobs.list({ kind: messageEnded.kind, state: "done" });
    const its = jobs.filter(({ payload }) => (payload as { messageId: string }).messageId === message!.id);
    return its.length > 0 ? its : undefined;
  });
  expect(end!.result).toEqual({ refunded: 1 });
  expect(await bot.balance(1)).toEqual({ available: 3, reserved: 0 });
  // The same end once more gives nothing back.
  const { id } = await bot.parts.client.jobs.rerun(end!.id);
  expect(await bot.parts.client.result(id)).toEqual({ refunded: 0 });
  expect(await bot.balance(1)).toEqual({ available: 3, reserved: 0 });
});

test("files are kept for a month, and younger ones are left alone", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  const { storage, client, settings } = bot.parts;
  for (const key of ["cats/1.webp", "packs/pack-1/all.webp", "cats/2.webp"]) await storage.put(key, "a picture");
  const old = new Date(Date.now() - 31 * 86_400_000);
  for (const key of ["cats/1.webp", "packs/pack-1/all.webp"]) await utimes(join(settings.filesFolder, key), old, old);
  await scheduleSweep(client);
  const { id } = await client.schedules.run("sweep of files");
  expect(await client.result(id)).toMatchObject({ removed: 2, kept: 1 });
  expect((await storage.list()).map(({ key }) => key)).toEqual(["cats/2.webp"]);
  expect(await client.metrics.prometheus()).toContain('\nfairmill_storage_size_bytes{store="stickers"} 9\n');
});

test("the pack of the night is one message with all moods, out of a budget of its own", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await limitPacks(bot.parts.client);
  await schedulePacks(bot.parts);
  const said: string[] = [];
  tellPacks(bot.parts, bot.telegram, { say: (text) => said.push(text) });
  const { id: flow } = await bot.parts.client.schedules.run(PACK_SCHEDULE);
  const chat = bot.parts.settings.packChat;
  await bot.sticker(chat);
  const { state, nodes } = await bot.parts.client.flows.wait(flow);
  expect([state, ...nodes.map(({ name, done }) => `${name} ${done}`)]).toEqual(["succeeded", "draw 9", "send 1"]);
  expect(bot.chat(chat)).toHaveLength(1);
  expect(bot.gemini.log.filter(({ status }) => status === 200)).toHaveLength(8);
  const told = await waitUntil("what the screen says", async () => said[0]);
  expect(told).toMatch(/^the night's pack: one creature in 8 moods, .*packs\/pack-\d+\/all\.webp$/);
  // Eight pictures and eight cut-outs.
  const budget = await bot.parts.client.budgets.get({ tenant: "packs", per: "day" });
  expect(budget).toMatchObject({ state: "within", hard: 5 });
  expect(budget!.spent).toBeCloseTo(8 * (gemini.cost! + pixian.cost!), 6);
});
