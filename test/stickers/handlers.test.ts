// One attempt of a handler at a time, with the kit that applications use: what it returns, which steps it keeps, what it publishes.
import { createTestKit, type TestKit } from "fairmill/testing";
import { expect, test } from "vitest";
import { makeSticker } from "../../examples/stickers/jobs.js";
import { stickerHandler } from "../../examples/stickers/make-sticker.js";
import { geminiTokens } from "../../examples/stickers/providers.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { startBot } from "./bot-rig.js";

const db = useDatabase();
let kit: TestKit | undefined;
endAfterTest(async () => {
  await kit?.close();
  kit = undefined;
});

test("an attempt that fails behind the picture keeps it; the next one pays for the cut-out alone", async () => {
  const bot = await startBot(db.url);
  const { parts } = bot;
  kit = await createTestKit({
    databaseUrl: db.url,
    handlers: [stickerHandler(parts)],
    channels: [parts.telegram],
  });
  await kit.client.credits.grant("telegram-1", 1);
  // The picture's file is lost between the two steps: no fault of a service.
  const { get } = parts.storage;
  parts.storage.get = async () => undefined;
  const input = { user: "telegram-1", chat: 1, words: "a cheeky bunny" };
  const first = await kit.run(makeSticker, input, { tenant: "cats" });
  expect(first.error?.message).toContain("is not in the storage");
  expect(first.steps.filter(({ finishedAt }) => finishedAt).map(({ name }) => name)).toEqual(["status", "picture"]);
  await kit.expectNotPublished(parts.telegram);

  parts.storage.get = get;
  const second = await kit.runAgain(makeSticker, first.id);
  expect(second).toMatchObject({ state: "done", result: { by: "gemini-3-pro-image-preview, pixian" } });
  await kit.expectPublished(parts.telegram, { chat: 1, sticker: `cats/${first.id}.webp` });
  expect(bot.gemini.log).toHaveLength(1);
  // What the model counted, of one picture: the estimate of the first run was corrected, and the second run used none.
  const [window] = await kit.client.limits.available(geminiTokens);
  expect(window!.used).toBeGreaterThan(1_290);
  expect(window!.used).toBeLessThan(1_390);
  const charges = await kit.client.providers.charges(first.id);
  expect(charges.map(({ provider, cost, state }) => [provider, cost, state])).toEqual([
    ["gemini", 0.134, "paid"],
    ["pixian", 0.002, "paid"],
  ]);
});
