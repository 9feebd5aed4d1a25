// Workers and their supervisor are killed at random, PostgreSQL crashes, and providers fail: `npm run chaos -- --programme stickers` runs the same with more users.
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dice } from "../../chaos/dice.mjs";
import { type EmbeddedPostgres, startEmbedded } from "../../dist/embedded/index.js";
import { cutAfter } from "../../examples/stickers/chaos/check-fates.js";
import { runChaos } from "../../examples/stickers/chaos/run-chaos.js";

let folder: string;
let server: EmbeddedPostgres;

// Its own cluster, durable, so that a crash means something.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stickers-cluster-"));
  await chmod(folder, 0o711);
  server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

test("60 requests: each user has one sticker, or the credit and a message, or is listed as unknown; calls and credits add up", async () => {
  const crash = async () => {
    await server.stop("immediate");
    await server.restart();
  };
  const { problems, figures, strikes } = await runChaos({
    databaseUrl: server.url,
    requests: 60,
    random: dice(18),
    crash,
  });
  expect(problems).toEqual([]);
  for (const count of Object.values(strikes)) expect(count).toBeGreaterThan(0);
  const unknown = figures.unknown - figures.unknownArrived;
  expect(figures.stickers + figures.refunds + unknown).toBeGreaterThanOrEqual(60);
  expect(figures.stickers).toBeGreaterThan(40);
  expect(figures.crashes).toBeGreaterThan(0);
});

test("a send counts as cut by a strike behind its beginning, also in the middle of a slow one, and by none when its end was told", () => {
  const at = (ms: number) => new Date(ms).toISOString();
  const strikes = [
    { from: 10_000, to: 13_000 },
    { from: 30_000, to: 30_100 },
  ];
  expect([9_600, 12_900, 13_001, 24_900, 30_101].map((ms) => cutAfter({ at: at(ms) }, strikes))).toEqual([
    400,
    0,
    undefined,
    undefined,
    undefined,
  ]);
  expect(cutAfter({ at: at(9_600), outcome: "uncertain" }, strikes)).toBe(400);
  expect(cutAfter({ at: at(9_600), outcome: "refused" }, strikes)).toBeUndefined();
});
