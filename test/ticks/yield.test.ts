// A job that is longer than any tick: it stops at a step when the time is up, and goes on in the next tick with its attempt unspent.
import { createClient, defineJob, handle, type JobContext } from "fairmill";
import { ShutdownError } from "fairmill/errors";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { useDatabase } from "../support/database.js";
import { untilAborted } from "../support/jobs.js";
import { tickHandler } from "./handlers.js";

const db = useDatabase();

/** Time that passes when a test says so. */
function movedClock() {
  let movedMs = 0;
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + movedMs,
    move: (ms: number) => {
      movedMs += ms;
    },
  };
}

const movie = defineJob({ kind: "movie", retry: { attempts: 1 } });

test("a job of ten minutes, 24 steps of 25 seconds, ends through ticks of 30 seconds: each step is run once, no attempt is spent", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const runs: string[] = [];
  const attempts: number[] = [];
  const make = async (ctx: JobContext) => {
    attempts.push(ctx.attempt);
    const frames: string[] = [];
    for (let n = 0; n < 24; n++)
      frames.push(
        await ctx.step(`frame ${n}`, () => {
          runs.push(`frame ${n}`);
          clock.move(25_000);
          return `picture ${n}`;
        }),
      );
    return frames.length;
  };
  const options = { databaseUrl: db.url, handlers: [handle(movie, make)], budget: "30s", clock } as const;
  const { id } = await client.enqueue(movie, {});
  let ticks = 0;
  // Each tick in a process of its own, as far as memory goes.
  for (; ticks < 30 && (await client.job(id))!.state !== "done"; ticks++) {
    const report = await tickHandler(options).tick();
    expect(report).toMatchObject({ claimed: 1, failed: 0 });
  }
  expect(runs).toEqual(Array.from({ length: 24 }, (_, n) => `frame ${n}`));
  expect(ticks).toBe(24);
  expect(new Set(attempts)).toEqual(new Set([1]));
  expect(await client.job(id)).toMatchObject({ state: "done", attempt: 1, result: 24, failures: [] });
  const rows = await db.query(
    "select jobs_yielded, jobs_released, jobs_failed from fairmill.worker_tick_metrics order by id",
  );
  expect(rows.slice(0, -1)).toEqual(Array(23).fill({ jobs_yielded: 1, jobs_released: 1, jobs_failed: 0 }));
});

test("what is being done beside a step that has to wait for the next tick is kept first", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const runs: string[] = [];
  const both = handle(movie, async (ctx) => {
    await ctx.step("first", () => void runs.push("first"));
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = ctx.step("slow", async () => {
      runs.push("slow");
      clock.move(25_000);
      release();
      await new Promise((resolve) => setImmediate(resolve));
      return 1;
    });
    await held;
    const late = ctx.step("late", () => {
      runs.push("late");
      return 2;
    });
    return (await slow) + (await late);
  });
  const options = { databaseUrl: db.url, handlers: [both], budget: "30s", clock } as const;
  const { id } = await client.enqueue(movie, {});
  await tickHandler(options).tick();
  expect(runs).toEqual(["first", "slow"]);
  expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0 });
  // The handler itself waits for a step that is not done again.
  const again = handle(movie, async (ctx) => {
    await ctx.step("first", () => void runs.push("first"));
    const slow = ctx.step("slow", () => 0);
    const late = ctx.step("late", () => {
      runs.push("late");
      return 2;
    });
    return (await slow) + (await late);
  });
  await tickHandler({ ...options, handlers: [again] }).tick();
  expect(runs).toEqual(["first", "slow", "late"]);
  expect(await client.result(id)).toBe(3);
});

test("a job without steps that is still running at the end is told to stop, and given back with its attempt unspent", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const reasons: unknown[] = [];
  const stuck = handle(movie, async ({ signal }) => {
    await untilAborted(signal).catch((reason) => {
      reasons.push(reason);
      throw reason;
    });
  });
  const { id } = await client.enqueue(movie, {});
  const handler = tickHandler({ databaseUrl: db.url, handlers: [stuck], budget: "1s" });
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 0, failed: 0, remaining: 1 });
  expect(reasons).toEqual([expect.any(ShutdownError)]);
  expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0, crashes: 0 });
  expect(await db.query("select state from fairmill.worker")).toEqual([{ state: "stopped" }]);
});

test("a run whose time is up before its first step does that one: a job always gets on", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const runs: string[] = [];
  const late = handle(movie, async (ctx) => {
    clock.move(60_000);
    for (const name of ["one", "two", "three"]) await ctx.step(name, () => void runs.push(name));
  });
  const { id } = await client.enqueue(movie, {});
  for (let tick = 1; tick <= 3; tick++) {
    await tickHandler({ databaseUrl: db.url, handlers: [late], budget: "30s", clock }).tick();
    expect(runs).toHaveLength(tick);
  }
  expect(await client.job(id)).toMatchObject({ state: "done", attempt: 1 });
});

test("a yield is fenced: from a run that lost its lease nothing is heard", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(movie, {});
  await db.query("select fairmill.register_v1('w1', '{default}')");
  const [claim] = await db.query<{ lease_no: string }>("select * from fairmill.claim_v1('w1')");
  const settle = async (worker: string, lease: string) =>
    (
      await db.query<{ accepted: number }>(
        `select accepted from fairmill.settle_v1($1, $2, $3, '{release}', '[{"yields": true}]')`,
        [worker, [id], [lease]],
      )
    )[0]!.accepted;
  expect(await settle("w1", String(BigInt(claim!.lease_no) - 1n))).toBe(0);
  expect(await settle("another", claim!.lease_no)).toBe(0);
  expect(await client.job(id)).toMatchObject({ state: "running", attempt: 1 });
  expect(await settle("w1", claim!.lease_no)).toBe(1);
  // Safe to repeat: the answer may have been lost.
  expect(await settle("w1", claim!.lease_no)).toBe(1);
  expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0 });
});

test("only kinds whose usual run fits what is left are claimed", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const slow = defineJob({ kind: "slow" });
  const quick = defineJob({ kind: "quick" });
  const handlers = [handle(slow, () => clock.move(20_000)), handle(quick, () => {})];
  const options = { databaseUrl: db.url, handlers, concurrency: 1, clock } as const;
  const runs = async () =>
    Object.fromEntries(
      (await db.query("select kind, count(*)::integer as count from fairmill.job_history group by kind")).map((row) => [
        row["kind"],
        row["count"],
      ]),
    );
  for (let n = 0; n < 9; n++) await client.enqueue(slow, {});
  // Nothing is known: they are tried, until the time is over.
  await tickHandler({ ...options, budget: "50s" }).tick();
  const { slow: tried } = await runs();
  expect(tried).toBeGreaterThan(0);
  await client.enqueue(quick, {});
  // A new process learns from the rows: 20 s do not fit into 15 s, and what is quick does.
  expect(await tickHandler({ ...options, budget: "15s" }).tick()).toMatchObject({ claimed: 1 });
  expect(await runs()).toEqual({ slow: tried, quick: 1 });
  // They fit into 50 s once: what is left then is too little for another.
  await tickHandler({ ...options, budget: "40s", maxJobsPerTick: 2 }).tick();
  expect((await runs())["slow"]).toBeGreaterThan(tried);
});
