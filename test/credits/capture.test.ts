// Credits that are captured in part, and refunds: an account adds up after each (I3, asked after every test).
import { createClient, createWorker, defineJob, handle, NonRetryableError, silentLogger } from "fairmill";
import { RefundError } from "fairmill/errors";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const draw = defineJob<{ used?: number; fails?: boolean; complete?: boolean }>({
  kind: "draw",
  credits: { account: () => "ann", amount: 10 },
});
const worker = () =>
  createWorker({
    databaseUrl: db.url,
    logger: silentLogger,
    handlers: [
      handle(draw, async (ctx) => {
        if (ctx.input.used !== undefined) ctx.capture(ctx.input.used);
        if (ctx.input.fails) throw new NonRetryableError("no");
        if (ctx.input.complete) {
          const tx = await db.pool.connect();
          await tx.query("begin");
          await ctx.complete(tx);
          await tx.query("commit");
          tx.release();
        }
      }),
    ],
  });

test("P4: a job that is done captures what its handler says, never more, and the rest goes back with the settle", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.credits.grant("ann", 100);
  await using running = worker();
  await running.start();
  const run = async (input: { used?: number; fails?: boolean; complete?: boolean }) => {
    const { id } = await client.enqueue(draw, input);
    await waitUntil("it has ended", async () => ["done", "dead"].includes((await client.job(id))!.state));
    return (await client.credits.balance("ann")).available;
  };
  expect(await run({ used: 4 })).toBe(96);
  expect(await run({})).toBe(86);
  expect(await run({ used: 0 })).toBe(86);
  expect(await run({ used: 50 })).toBe(76);
  expect(await run({ used: 3, fails: true })).toBe(76);
  expect(await run({ used: 1, complete: true })).toBe(75);
  expect(await client.credits.balance("ann")).toEqual({ available: 75, reserved: 0 });
  const ends = (await client.credits.statement("ann")).filter(({ kind }) => kind === "capture" || kind === "release");
  expect(ends.map(({ kind, amount, returned }) => [kind, amount, returned])).toEqual([
    ["capture", 10, 9],
    ["release", 10, 0],
    ["capture", 10, 0],
    ["capture", 10, 10],
    ["capture", 10, 0],
    ["capture", 10, 6],
  ]);
});

test("P4: what was captured is refunded once, however often and by how many it is asked for", async () => {
  await using client = createClient({ databaseUrl: db.url });
  await client.credits.grant("ann", 100);
  await using running = worker();
  await running.start();
  const { id } = await client.enqueue(draw, { used: 4 });
  await expect(client.credits.refund(id, { amount: 1_000 })).rejects.toBeInstanceOf(RefundError);
  await client.result(id);
  await expect(client.credits.refund(id, { amount: 5 })).rejects.toMatchObject({ why: "too_much" });
  const answers = await Promise.all(Array.from({ length: 6 }, () => client.credits.refund(id, { reason: "lost" })));
  expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(new Set(answers.map(({ refunded }) => refunded))).toEqual(new Set([4]));
  expect(await client.credits.balance("ann")).toEqual({ available: 100, reserved: 0 });
  const [entry] = await client.credits.statement("ann");
  expect(entry).toMatchObject({ kind: "refund", amount: 4, jobId: id, reason: "lost" });
  const failed = await client.enqueue(draw, { fails: true });
  await waitUntil("it is dead", async () => (await client.job(failed.id))!.state === "dead");
  await expect(client.credits.refund(failed.id)).rejects.toMatchObject({
    code: "FAIRMILL_REFUND",
    why: "not_captured",
  });
});
