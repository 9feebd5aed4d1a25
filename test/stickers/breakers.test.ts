// The picture models go down while many ask: one breaker for the fleet, the second model in between, and no worker held while there is none.
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { gemini, secondModel } from "../../examples/stickers/providers.js";
import { breakersOf, doesNobodyDraw, whyOneWaits } from "../../examples/stickers/run/news.js";
import { userSays } from "../../examples/stickers/simulators/updates.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { type BotRig, startBot } from "./bot-rig.js";

const db = useDatabase();
const PATIENCE_MS = 90_000;
const FIRST_MODEL = "gemini-3-pro-image-preview";

const eventsOf = async (bot: BotRig, { name }: { readonly name: string }) =>
  (await bot.parts.client.providers.events(name)).map(({ event }) => event).reverse();
const count = (events: readonly string[], wanted: string) => events.filter((event) => event === wanted).length;
const usersFrom = (first: number, number: number) => Array.from({ length: number }, (_, n) => first + n);
async function ask(bot: BotRig, users: readonly number[]): Promise<void> {
  for (const user of users) await bot.joins(user);
  await Promise.all(users.map((user) => bot.brings(userSays(user, `a sad frog for ${user}`))));
}
const callsAt = (bot: BotRig, model: string) => bot.gemini.log.filter(({ route }) => route.includes(model));

test("the first model is down: the second one draws, the breaker opens once for two workers, and closes by itself", async () => {
  const bot = await startBot(db.url);
  const { client } = bot.parts;
  bot.gemini.downModels.add(FIRST_MODEL);
  await bot.startWorker();
  await bot.startWorker();
  const users = usersFrom(1, 24);
  await ask(bot, users);
  for (const user of users) await bot.sticker(user);
  const jobs = await client.jobs.list({ kind: makeSticker.kind, limit: 100 });
  expect(new Set(jobs.map(({ failures }) => failures.length))).toEqual(new Set([0]));
  const events = await eventsOf(bot, gemini);
  expect(count(events, "tripped")).toBe(1);
  // Besides the calls that tripped it, and those that were under way with them, only probes: one at a time for both workers.
  const failed = callsAt(bot, FIRST_MODEL);
  expect(failed.length).toBeLessThan(users.length);
  expect(await eventsOf(bot, secondModel)).toEqual([]);

  bot.gemini.downModels.clear();
  await waitUntil(
    "the breaker closed by a call that succeeded",
    async () => {
      const [next] = usersFrom(100 + callsAt(bot, FIRST_MODEL).length + bot.telegram.chats.size, 1);
      await ask(bot, [next!]);
      await bot.sticker(next!);
      return (await client.providers.get(gemini.name))?.breaker === "closed";
    },
    PATIENCE_MS,
  );
  expect(count(await eventsOf(bot, gemini), "recovered")).toBe(1);
  expect(count(await eventsOf(bot, gemini), "tripped")).toBe(1);
  const [last] = await client.jobs.list({ kind: makeSticker.kind, limit: 1 });
  expect(await client.result(last!.id)).toMatchObject({ by: `${FIRST_MODEL}, pixian` });
});

test("both models are down: no job of the kind runs, why names them, and all go on when one is back", async () => {
  const bot = await startBot(db.url);
  const { client } = bot.parts;
  bot.gemini.weather.isDown = true;
  await bot.startWorker();
  await bot.startWorker();
  const users = usersFrom(1, 12);
  await ask(bot, users);
  await waitUntil("both breakers", async () =>
    (await Promise.all([gemini, secondModel].map(({ name }) => client.providers.get(name)))).every(
      (provider) => provider?.breaker !== "closed",
    ),
  );
  // One that comes while they are down waits in its lane, and is told why.
  await ask(bot, [50]);
  const why = await waitUntil("a reason that names both", async () => {
    const [job] = await client.jobs.list({ kind: makeSticker.kind, limit: 1 });
    const answer = job && (await client.why(job.id));
    const reason = answer?.checks.find(({ passed }) => !passed)?.reason ?? "";
    return [gemini, secondModel].every(({ name }) => reason.includes(name)) ? answer : undefined;
  });
  expect(why).toMatchObject({ state: "ready" });
  // As the screen of `npm start` says it.
  expect(doesNobodyDraw(breakersOf(await client.providers.list()))).toBe(true);
  const said = await waitUntil("what the screen says", () => whyOneWaits(bot.parts));
  expect(said).toMatch(/^fairmill why \d+: .*gemini/);
  await waitUntil(
    "no running job",
    async () => (await client.jobs.list({ kind: makeSticker.kind, state: "running" })).length === 0,
  );
  // Until each has been asked in vain twice: nothing but probes reaches the service.
  const before = bot.gemini.log.length;
  const vain = async () =>
    (await Promise.all([gemini, secondModel].map((one) => eventsOf(bot, one)))).map((events) =>
      count(events, "probe-failed"),
    );
  const vainBefore = await vain();
  await waitUntil("two probes in vain", async () => (await vain()).every((n) => n >= 2), PATIENCE_MS);
  const probes = (await vain()).reduce((sum, n, at) => sum + n - vainBefore[at]!, 0);
  // A probe may be at the service now, or have been when the counting began.
  expect(Math.abs(bot.gemini.log.length - before - probes)).toBeLessThanOrEqual(2);

  bot.gemini.weather.isDown = false;
  for (const user of [...users, 50]) await bot.sticker(user);
  for (const user of [...users, 50])
    await waitUntil("the capture", async () => (await bot.balance(user)).reserved === 0);
  expect(await client.jobs.list({ kind: makeSticker.kind, state: "dead" })).toEqual([]);
  for (const provider of [gemini, secondModel])
    expect(count(await eventsOf(bot, provider), "tripped")).toBeLessThanOrEqual(1);
});
