// A job that is settled inside a transaction of its handler: what the handler wrote and the end of the job commit together.
import { createClient, createCodec, defineJob, handle } from "fairmill";
import { JobCompletedError } from "fairmill/errors";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, startWorker } from "../../support/jobs.js";
import { waitUntil } from "../../support/wait.js";
import { book, child, completeRig, job } from "./complete-rig.js";

const db = useDatabase();
const { application, ended, transaction, bookings, children } = completeRig(db);

describe("ctx.complete(tx)", () => {
  test("whatever comes after it rejects, and does not throw where a promise was promised", async () => {
    const told: unknown[] = [];
    const { state } = await ended(async (ctx) => {
      await transaction((tx) => ctx.complete(tx));
      const calls = [
        () => ctx.complete(application()),
        () => ctx.step("late", () => 1),
        () => ctx.sleep("late", 1),
        () => ctx.waitFor("late"),
        () => ctx.enqueue(child, { n: 1 }),
        () => ctx.publish("late", {}),
      ];
      const promises = calls.map((call) => call());
      // This one is not awaited: that must not end the process.
      void ctx.complete(application());
      told.push(...(await Promise.allSettled(promises)).map(({ status, ...rest }) => [status, rest]));
    });
    expect(state).toBe("done");
    expect(told).toEqual(Array.from({ length: 6 }, () => ["rejected", { reason: expect.any(JobCompletedError) }]));
  });

  test("settles the job with the transaction: result, effects and credits", async () => {
    const paid = defineJob({ kind: "booked", credits: { account: () => "u1", amount: 2 } });
    await using client = createClient({ databaseUrl: db.url });
    await client.credits.grant("u1", 5);
    let during: unknown;
    const { id, state, result, attempt } = await ended(
      async (ctx) => {
        await ctx.enqueue(child, { n: 1 });
        await transaction(async (tx) => {
          await book(tx, ctx);
          await ctx.complete(tx, { booked: true });
          during = [(await client.job(ctx.id))?.state, await children()];
        });
        return "is not the result";
      },
      {},
      paid,
    );
    expect({ state, result, attempt, during }).toEqual({
      state: "done",
      result: { booked: true },
      attempt: 1,
      during: ["running", 0],
    });
    expect(await bookings()).toEqual([{ job: id, attempt: 1 }]);
    expect(await children()).toBe(1);
    expect(await client.credits.balance("u1")).toEqual({ available: 3, reserved: 0 });
  });

  test("afterwards nothing more can be said of the job", async () => {
    const errors: unknown[] = [];
    const { state } = await ended(async (ctx) => {
      const tries = [
        () => ctx.enqueue(child, { n: 1 }),
        () => ctx.publish("telegram", {}),
        () => ctx.step("a", () => 1),
        () => ctx.sleep("b", 1),
        () => ctx.waitFor("c"),
        () => ctx.progress(1),
        () => ctx.complete(application()),
      ];
      await transaction(async (tx) => {
        await ctx.complete(tx);
        for (const attempt of tries) await (async () => attempt())().catch((error: unknown) => errors.push(error));
      });
    });
    expect(state).toBe("done");
    expect(errors).toEqual(Array(7).fill(expect.any(JobCompletedError)));
    expect(await children()).toBe(0);
  });

  test("without a transaction of its own it counts at once", async () => {
    const { state, result } = await ended((ctx) => ctx.complete(application(), 7));
    expect({ state, result }).toEqual({ state: "done", result: 7 });
  });

  test("S14: seals the result", async () => {
    const codec = createCodec({ keys: { a: Buffer.alloc(32).toString("base64") }, current: "a" });
    await using client = createClient({ databaseUrl: db.url, codec });
    await using _ = await startWorker(db.url, [handle(job, (ctx) => ctx.complete(application(), "hidden"))], { codec });
    const { id } = await client.enqueue(job, {});
    expect(await client.result(id)).toBe("hidden");
    const rows = await db.query("select result from fairmill.job_history");
    expect(JSON.stringify(rows)).not.toContain("hidden");
  });

  test("while the transaction is open, progress and settles of other jobs do not wait for it", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const other = defineJob({ kind: "other", retry: { attempts: 1 } });
    const open = gate();
    const begun = gate();
    const completed = gate();
    await using _ = await startWorker(db.url, [
      handle(job, async (ctx) => {
        await begun.promise;
        // What both report would be written together.
        ctx.progress("half");
        await transaction(async (tx) => {
          await ctx.complete(tx);
          completed.open();
          await open.promise;
        });
      }),
      handle(other, async (ctx) => {
        begun.open();
        await completed.promise;
        ctx.progress("here");
        await waitUntil("the progress is kept", async () => (await client.job(ctx.id))?.progress === "here");
        return "done";
      }),
    ]);
    const { id } = await client.enqueue(job, {});
    const { id: beside } = await client.enqueue(other, {});
    expect(await client.result(beside)).toBe("done");
    open.open();
    expect((await endOf(client, id)).state).toBe("done");
  });

  test("the worker goes on: it tells that the job is settled, and finds what was enqueued", async () => {
    await using client = createClient({ databaseUrl: db.url });
    const next = defineJob({ kind: "next" });
    await using worker = await startWorker(
      db.url,
      [
        handle(job, async (ctx) => {
          await ctx.enqueue(next, {}, { tenant: "new" });
          await transaction((tx) => ctx.complete(tx));
        }),
        handle(next, () => "found"),
      ],
      { poll: "1h", concurrency: 1 },
    );
    const settled = eventOf(worker, "settled");
    const { id } = await client.enqueue(job, {});
    expect((await settled).ids).toEqual([id]);
    const [row] = await waitUntil("the next is done", async () => {
      const rows = await db.query<{ id: string }>("select id from fairmill.job_history where kind = 'next'");
      return rows.length > 0 ? rows : undefined;
    });
    expect(await client.result(row!.id)).toBe("found");
  });
});
