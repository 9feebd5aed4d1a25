// Named limits through the library: definitions, the client, and handlers that say what they used.
import { createClient, createWorker, defineJob, defineLimit, handle, silentLogger } from "fairmill";
import { OverLimitError } from "fairmill/errors";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

interface Ask {
  apiKey: string;
  text: string;
}
const openai = defineLimit("openai", {
  requests: 500,
  tokens: 1_000,
  per: "1h",
  by: (input: { apiKey: string }) => input.apiKey,
});
const team = defineLimit("team", {
  windows: [
    { requests: 3, per: "1h" },
    { requests: 100, per: "1d" },
  ],
});
const ask = defineJob<Ask>({
  kind: "ask",
  limits: { uses: [openai.with({ tokens: ({ text }: Ask) => text.length }), team] },
});
const other = defineJob<{ key: string }>({
  kind: "other",
  limits: { uses: [openai.with({ tokens: 400, by: ({ key }: { key: string }) => key })] },
});

test("F14: kinds share a limit, a handler corrects its estimate, and the rest waits", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const input = { apiKey: "k1", text: "x".repeat(500) };
  await client.enqueue(ask, input);
  await client.enqueue(other, { key: "k1" });
  const late = await client.enqueue(other, { key: "k1" });
  const seen: string[] = [];
  await using worker = createWorker({
    databaseUrl: db.url,
    logger: silentLogger,
    handlers: [
      handle(ask, async (ctx) => {
        seen.push(ctx.kind);
        await ctx.use(openai, { tokens: 700 });
      }),
      handle(other, async (ctx) => {
        seen.push(ctx.kind);
        await ctx.use(openai, { tokens: 200 }, { now: true });
        await expect(ctx.use(team, { requests: 1 })).rejects.toMatchObject({ code: "FAIRMILL_CONFIG" });
      }),
    ],
  });
  await worker.start();
  await waitUntil("two have run", async () => (await client.jobs.list({ state: "done" })).length === 2);
  expect(seen.toSorted()).toEqual(["ask", "other"]);
  const windows = await client.limits.available(openai, "k1");
  expect(windows).toMatchObject([
    { unit: "requests", limit: 500, perMs: 3_600_000, used: 2, owed: 0, available: 498 },
    { unit: "tokens", limit: 1_000, used: 900, owed: 0, available: 100 },
  ]);
  expect(await client.limits.available("team")).toMatchObject([{ used: 1 }, { used: 1, limit: 100 }]);
  const why = await client.why(late.id);
  expect(JSON.stringify(why)).toContain("limit openai of k1: 900 of 1,000 tokens used; free in");
  await client.limits.reset(openai, "k1");
  await waitUntil("the last has run", async () => (await client.jobs.list({ state: "done" })).length === 3);
  await client.limits.use(openai, { tokens: 1_500 }, "k2");
  expect(await client.limits.available(openai, "k2")).toMatchObject([{}, { used: 1_000, owed: 500, available: 0 }]);
  expect(await client.limits.list()).toMatchObject([{ name: "openai" }, { name: "team", waiting: { count: 0 } }]);
});

test("F14: a job that asks for more than a window holds is refused with an error that says so", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const refused = client.enqueue(ask, { apiKey: "k1", text: "x".repeat(1_001) });
  await expect(refused).rejects.toBeInstanceOf(OverLimitError);
  await expect(refused).rejects.toMatchObject({
    code: "FAIRMILL_OVER_LIMIT",
    limit: "openai",
    unit: "tokens",
    asked: 1_001,
    most: 1_000,
  });
  expect(await client.jobs.list({})).toEqual([]);
});

test("F14: inside a transaction of the caller the limit comes with the job", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const tx = await db.pool.connect();
  await tx.query("begin");
  await client.in(tx).enqueue(ask, { apiKey: "k1", text: "xyz" });
  expect(await client.limits.list()).toEqual([]);
  await tx.query("commit");
  tx.release();
  expect((await client.limits.list()).map(({ name }) => name)).toEqual(["openai", "team"]);
});

test("F14: definitions that make no sense are refused by name", () => {
  // @ts-expect-error: tokens are part of the limit, so a job must say how many it takes.
  expect(() => openai.with({})).toThrow(/how many tokens/);
  // @ts-expect-error: there is no such unit.
  expect(() => openai.with({ tokens: 1, pages: 2 })).toThrow(/pages/);
  expect(() => defineLimit("x", { tokens: 0, per: "1m" })).toThrow(/tokens/);
  expect(() => defineLimit("x", { per: "1m" })).toThrow(/units/);
  expect(() => defineLimit("x", { "a b": 1, per: "1m" })).toThrow(/a b/);
  expect(() => defineLimit("", { tokens: 1, per: "1m" })).toThrow(/name/);
  expect(() => defineJob({ kind: "k", limits: { uses: [team, team] } })).toThrow(/twice/);
});
