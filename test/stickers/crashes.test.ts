// Workers that are killed: nothing that was paid for and stored is paid for again, and no user is left with nothing.
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { type BotRig, startBot } from "./bot-rig.js";

const db = useDatabase();

/** How often the picture model drew for each request, by its words. */
const paid = (bot: BotRig): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { about, status } of bot.gemini.log) if (status === 200) counts.set(about, (counts.get(about) ?? 0) + 1);
  return counts;
};

test("a worker killed behind a stored picture does not have it drawn again", async () => {
  const bot = await startBot(db.url);
  const processes = bot.startProcesses(1);
  await bot.joins(1);
  // The remover takes longer than the test's patience: the worker is killed while it waits.
  bot.pixian.weather.latencyMs = [600_000, 600_000];
  await bot.brings(userSays(1, "an angry fox"));
  const job = await waitUntil("the picture's step", async () => {
    const [found] = await bot.parts.client.jobs.list({ kind: makeSticker.kind });
    const steps = found ? await bot.parts.client.jobs.steps(found.id) : [];
    return steps.some(({ name, finishedAt }) => name === "picture" && finishedAt) ? found : undefined;
  });
  bot.pixian.weather.latencyMs = [0, 0];
  expect(await processes.kill()).toBeDefined();
  await bot.sticker(1);
  const after = await waitUntil("the end of the job", async () => {
    const found = await bot.parts.client.job(job.id);
    return found?.state === "done" ? found : undefined;
  });
  expect(after).toMatchObject({ attempt: 2, crashes: 1, credits: { state: "captured" } });
  expect([...paid(bot).values()]).toEqual([1]);
  expect(bot.stickers(1)).toHaveLength(1);
});

test("a send that is cut off is listed as unknown and not repeated, until a person says so", async () => {
  const bot = await startBot(db.url);
  const { client, telegram } = bot.parts;
  const processes = bot.startProcesses(1);
  await bot.joins(1);
  await bot.text(1, "Send me words");
  await client.pause({ kind: telegram.definition.kind });
  await bot.brings(userSays(1, "a surprised ghost"));
  await waitUntil(
    "a sticker in the outbox",
    async () => (await client.outbox.list({ status: "pending" })).length === 1,
  );
  bot.telegram.weather.latencyMs = [600_000, 600_000];
  await client.resume({ kind: telegram.definition.kind });
  const [message] = await waitUntil("a send that has begun", async () => {
    const sending = await client.outbox.list({ status: "sending" });
    return sending.length > 0 ? sending : undefined;
  });
  expect(await processes.kill()).toBeDefined();
  bot.telegram.weather.latencyMs = [0, 0];
  await waitUntil("its end as unknown", async () => (await client.outbox.get(message!.id))?.status === "unknown");
  expect(bot.stickers(1)).toEqual([]);
  expect(await bot.balance(1)).toEqual({ available: 2, reserved: 0 });
  expect(await client.outbox.resolve(message!.id, "resend", { by: "test" })).toBe("resolved");
  await bot.sticker(1);
  expect(bot.stickers(1)).toHaveLength(1);
});
