// Workers and their supervisor are killed at random while providers fail: `npm run chaos -- --programme stickers` runs the same with more users.
import { expect, test } from "vitest";
import { dice } from "../../chaos/dice.mjs";
import { runChaos } from "../../examples/stickers/chaos/run-chaos.js";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

test("60 requests: each user has one sticker, or the credit and a message, or is listed as unknown; calls and credits add up", async () => {
  const { problems, figures, kills } = await runChaos({ databaseUrl: db.url, requests: 60, random: dice(18) });
  expect(problems).toEqual([]);
  expect(kills.children).toBeGreaterThan(1);
  expect(kills.supervisors).toBeGreaterThan(0);
  expect(figures.stickers + figures.refunds + figures.unknown).toBeGreaterThanOrEqual(60);
  expect(figures.stickers).toBeGreaterThan(40);
  expect(figures.crashes).toBeGreaterThan(0);
});
