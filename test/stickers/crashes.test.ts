// Workers that are killed: nothing that was paid for and stored is paid for again, and no user is left with nothing.
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { type BotRig, startBot } from "./bot-rig.js";

const db = useDatabase();
const FLEET_PATIENCE_MS = 120_000;

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

test("40 requests and workers killed at random: each user has a sticker, or the credit and a message, or is listed as unknown", async () => {
  const bot = await startBot(db.url);
  bot.gemini.weather.latencyMs = [50, 250];
  bot.pixian.weather.latencyMs = [20, 100];
  const processes = bot.startProcesses(2);
  const users = Array.from({ length: 40 }, (_, n) => n + 1);
  for (const user of users) await bot.joins(user, ["cats", "memes", "office"][user % 3]);
  // One of ten calls fails.
  bot.gemini.weather.failPercent = 10;
  await Promise.all(users.map((user) => bot.brings(userSays(user, `a happy fox for ${user}`))));
  const { client } = bot.parts;
  let kills = 0;
  await waitUntil(
    "the end of all jobs",
    async () => {
      const ended = (await client.jobs.list({ kind: makeSticker.kind, limit: 200 })).filter(
        ({ completedAt }) => completedAt,
      );
      // At ten, twenty and thirty that have ended.
      if (kills < 3 && ended.length >= 10 * (kills + 1) && (await processes.kill()) !== undefined) kills++;
      return ended.length === users.length;
    },
    FLEET_PATIENCE_MS,
  );
  expect(kills).toBe(3);
  await waitUntil(
    "the end of all messages",
    async () =>
      (await Promise.all((["pending", "sending"] as const).map((status) => client.outbox.list({ status })))).flat()
        .length === 0,
    FLEET_PATIENCE_MS,
  );

  const unknown = new Set<number>();
  for (const { id } of await client.outbox.list({ status: "unknown", limit: 200 }))
    unknown.add(((await client.outbox.get(id))!.payload as { chat: number }).chat);
  const byUser = new Map((await client.jobs.list({ kind: makeSticker.kind, limit: 200 })).map((job) => [job.key, job]));
  let captured = 0;
  for (const user of users) {
    const job = byUser.get(`telegram-${user}`)!;
    const stickers = bot.stickers(user).length;
    const apologies = bot.chat(user).filter(({ text }) => text?.includes("Your credit is back")).length;
    const fate = { user, state: job.state, credits: job.credits?.state, stickers, apologies };
    if (job.state === "done") captured++;
    // A send that was cut off may have arrived: not more than once, and it is listed.
    const expected =
      job.state === "done"
        ? { stickers: 1, apologies: 0, credits: "captured" }
        : { stickers: 0, apologies: 1, credits: "released" };
    if (unknown.has(user)) expect(stickers + apologies).toBeLessThanOrEqual(1);
    else expect(fate).toMatchObject(expected);
    expect(await bot.balance(user)).toEqual({ available: job.state === "done" ? 2 : 3, reserved: 0 });
  }
  expect(captured).toBeGreaterThan(0);
  // A call whose answer was cut off with its worker may be repeated; one whose result was stored is not.
  for (const { id, payload } of byUser.values()) {
    const picture = (await client.jobs.steps(id)).find(({ name }) => name === "picture");
    const { words } = payload as { words: string };
    const calls = bot.gemini.log.filter(({ about, status }) => status === 200 && about.includes(`${words}:`));
    const repeated = calls.filter(({ at }) => picture?.finishedAt && at > picture.finishedAt.getTime());
    expect({ words, drawn: calls.length > 0, repeated }).toEqual({ words, drawn: picture !== undefined, repeated: [] });
  }
});
