// A request from the user's words to the sticker in the chat, on simulated services with a real worker.
import sharp from "sharp";
import { expect, test } from "vitest";
import { createBot } from "../../examples/stickers/bot.js";
import { createGallery } from "../../examples/stickers/run/gallery.js";
import { readWebhookPort } from "../../examples/stickers/settings.js";
import { userPaid, userSays } from "../../examples/stickers/simulators/updates.js";
import { startWebhookServer } from "../../examples/stickers/webhook-server.js";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";
import { startBot } from "./bot-rig.js";

const db = useDatabase();
const jobsOf = (kind: string) =>
  db.query<{ id: string; state: string; tenant: string; priority: number }>(
    `select id, state, tenant, priority from fairmill.job where kind = $1
     union all select id, state, tenant, priority from fairmill.job_history where kind = $1 order by id`,
    [kind],
  );

test("words become one sticker in the chat, and one credit is captured", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await bot.joins(1);
  expect(await bot.brings(userSays(1, "a happy cat"))).toBe(200);
  const { sticker } = await bot.sticker(1);
  expect(await sharp(sticker!).metadata()).toMatchObject({ format: "webp", width: 512, height: 512, hasAlpha: true });
  const [job] = await waitUntil("the end of the job", async () => {
    const jobs = await jobsOf("sticker.make");
    return jobs[0]?.state === "done" ? jobs : undefined;
  });
  expect(job).toMatchObject({ tenant: "cats", priority: 0 });
  expect(await bot.parts.client.job(job!.id)).toMatchObject({ credits: { state: "captured", amount: 1 } });
  expect(await bot.balance(1)).toEqual({ available: 2, reserved: 0 });
  const steps = await bot.parts.client.jobs.steps(job!.id);
  expect(steps.map(({ name }) => name)).toEqual(["status", "picture", "cutout", "sticker"]);
  expect(steps.map(({ result }) => (result as { by?: string } | null)?.by)).toEqual([
    undefined,
    "gemini-3-pro-image-preview",
    "pixian",
    "gemini-3-pro-image-preview, pixian",
  ]);
  const kept = (await bot.parts.storage.list({ prefix: "cats/" })).map(({ key }) => key.replace(/-[0-9a-f]{8}/, ""));
  expect(kept).toEqual([`cats/${job!.id}-cutout.png`, `cats/${job!.id}-picture.png`, `cats/${job!.id}.webp`]);
  // The page of stickers answers by the names of this machine alone, and gives out no draft.
  const gallery = createGallery(bot.parts);
  const [draft] = await bot.parts.storage.list({ prefix: "cats/", limit: 1 });
  const asked = async (url: string) => (await gallery(new Request(url)))?.status;
  const files = "http://127.0.0.1/stickers/files";
  expect(await asked(`${files}/cats/${job!.id}.webp`)).toBe(200);
  expect([await asked(`${files}/${draft!.key}`), await asked("http://stickers.example/stickers")]).toEqual([
    403,
    undefined,
  ]);
  await waitUntil("the answer of Telegram on record", async () =>
    (await bot.parts.client.outbox.list({ status: "sent" })).some(
      ({ idempotencyKey }) => idempotencyKey === `sticker-${job!.id}`,
    ),
  );
  expect(bot.stickers(1)).toHaveLength(1);
  // The welcome, and the sticker, which goes before words.
  const sends = await jobsOf(bot.parts.telegram.definition.kind);
  expect(sends.map(({ priority }) => priority)).toEqual([0, 10]);
});

test("a webhook whose port is taken says so, and what to set", async () => {
  const bot = await startBot(db.url);
  const port = Number(new URL(bot.webhook.url).port);
  const again = startWebhookServer(createBot(bot.parts, bot.parts.settings.telegram), "secret", port);
  await expect(again).rejects.toThrow(`Port ${port} of this machine is taken by another process. Choose another one:`);
});

test("a port that is none is refused by the name of its setting", () => {
  expect([{}, { WEBHOOK_PORT: "" }, { WEBHOOK_PORT: "8080" }].map(readWebhookPort)).toEqual([0, 0, 8080]);
  for (const given of ["abc", "-1", "70000", "80.5"])
    expect(() => readWebhookPort({ WEBHOOK_PORT: given })).toThrow(`WEBHOOK_PORT is ${given}: it is a number up to`);
});

test("an update that Telegram brings twice makes one job, and one with a wrong secret none", async () => {
  const bot = await startBot(db.url);
  await bot.joins(1);
  const update = userSays(1, "a proud fox");
  expect(await Promise.all([bot.brings(update), bot.brings(update)])).toEqual([200, 200]);
  expect(await bot.brings(update)).toBe(200);
  const forged = await fetch(bot.webhook.url, {
    method: "POST",
    headers: { "content-type": "application/json", "x-telegram-bot-api-secret-token": "guessed" },
    body: JSON.stringify(userSays(1, "a forged fox")),
  });
  expect(forged.status).toBe(401);
  expect(await jobsOf("sticker.make")).toHaveLength(1);
  expect(await bot.balance(1)).toEqual({ available: 2, reserved: 1 });
  await bot.startWorker();
  await bot.sticker(1);
  // Known for as long as the history is kept.
  expect(await bot.brings(update)).toBe(200);
  expect(await jobsOf("sticker.make")).toHaveLength(1);
});

test("what is not taken is answered in words: one at a time, no credits, five a minute, words that are too long", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await bot.joins(1);
  await bot.parts.client.pause({ kind: "sticker.make" });
  await bot.brings(userSays(1, "a sad cat"));
  for (let n = 0; n < 3; n++) expect(await bot.brings(userSays(1, `impatient ${n}`))).toBe(200);
  await bot.text(1, "still drawing your last sticker");
  await bot.parts.client.resume({ kind: "sticker.make" });
  await bot.sticker(1);
  for (const n of [2, 3]) {
    await waitUntil("no reservation", async () => (await bot.balance(1)).reserved === 0);
    await bot.brings(userSays(1, `cat number ${n}`));
    await bot.sticker(1, n);
  }
  await waitUntil("an empty account", async () => (await bot.balance(1)).reserved === 0);
  await bot.brings(userSays(1, "a cat for nothing"));
  await bot.text(1, "no stickers left");

  await bot.brings(userPaid(1));
  await bot.text(1, "10 more stickers");
  for (const n of [4, 5]) {
    await bot.brings(userSays(1, `cat number ${n}`));
    await bot.sticker(1, n);
    await waitUntil("no reservation", async () => (await bot.balance(1)).reserved === 0);
  }
  await bot.brings(userSays(1, "x".repeat(201)));
  await bot.text(1, "at most 200 characters");
  expect((await jobsOf("sticker.make")).map(({ priority }) => priority)).toEqual([0, 0, 0, 10, 10]);
  // The same refusal is told once a minute; three of them may lie on both sides of a minute's end.
  expect(bot.chat(1).filter(({ text }) => text?.includes("still drawing")).length).toBeLessThan(3);
});

test("a sixth sticker within a minute is refused in words", async () => {
  const bot = await startBot(db.url);
  await bot.startWorker();
  await bot.joins(2);
  await bot.brings(userPaid(2));
  await bot.text(2, "10 more stickers");
  // Not drawn at all: cancelled as soon as they are taken, so that six of them fit into a minute.
  await bot.parts.client.pause({ kind: "sticker.make" });
  for (let n = 1; n <= 6; n++) {
    await bot.brings(userSays(2, `frog ${n}`));
    for (const { id, state } of await jobsOf("sticker.make")) if (state === "ready") await bot.parts.client.cancel(id);
  }
  await bot.text(2, "five stickers in a minute");
  expect(await jobsOf("sticker.make")).toHaveLength(5);
  expect(await bot.balance(2)).toEqual({ available: 13, reserved: 0 });
});
