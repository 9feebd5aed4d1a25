// A job that is longer than any tick: it stops at a step when the time is up, and goes on in the next tick with its attempt unspent.
import { createClient, defineJob, handle, type JobContext } from "fairmill";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { useDatabase } from "../support/database.js";
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

test("a job of 20 steps of 25 seconds ends through ticks of 30 seconds: each step is run once, no attempt is spent", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const runs: string[] = [];
  const attempts: number[] = [];
  const make = async (ctx: JobContext) => {
    attempts.push(ctx.attempt);
    const frames: string[] = [];
    for (let n = 0; n < 20; n++)
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
  for (; ticks < 25 && (await client.job(id))!.state !== "done"; ticks++) {
    const report = await tickHandler(options).tick();
    expect(report).toMatchObject({ claimed: 1, failed: 0 });
  }
  expect(runs).toEqual(Array.from({ length: 20 }, (_, n) => `frame ${n}`));
  expect(ticks).toBe(20);
  expect(new Set(attempts)).toEqual(new Set([1]));
  expect(await client.job(id)).toMatchObject({ state: "done", attempt: 1, result: 20, failures: [] });
  const rows = await db.query(
    "select jobs_yielded, jobs_released, jobs_failed from fairmill.worker_tick_metrics order by id",
  );
  expect(rows.slice(0, -1)).toEqual(Array(19).fill({ jobs_yielded: 1, jobs_released: 1, jobs_failed: 0 }));
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

test("a job without steps that is still running at the end is given back with its attempt unspent", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const stuck = handle(
    movie,
    ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const { id } = await client.enqueue(movie, {});
  const handler = tickHandler({ databaseUrl: db.url, handlers: [stuck], budget: "1s" });
  expect(await handler.tick()).toMatchObject({ claimed: 1, succeeded: 0, failed: 0, remaining: 1 });
  expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0, crashes: 0 });
  expect(await db.query("select state from fairmill.worker")).toEqual([{ state: "stopped" }]);
});

test("only kinds whose usual run fits what is left are claimed", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const clock = movedClock();
  const slow = defineJob({ kind: "slow" });
  const quick = defineJob({ kind: "quick" });
  const handlers = [
    handle(slow, () => clock.move(20_000)),
    handle(quick, async () => {
      await new Promise((resolve) => setImmediate(resolve));
    }),
  ];
  const options = { databaseUrl: db.url, handlers, budget: "50s", concurrency: 1, clock } as const;
  for (let n = 0; n < 6; n++) await client.enqueue(slow, {});
  // Nothing is known: it is tried.
  const first = await tickHandler(options).tick();
  expect(first.claimed).toBeGreaterThan(1);
  await client.enqueue(quick, {});
  // A new process learns from the rows: 20 s, and half as much again, fit into 40 s once.
  const second = await tickHandler({ ...options, maxJobsPerTick: 1 }).tick();
  expect(second.claimed).toBe(1);
  // They do not fit into 15 s at all, and the quick one does.
  const third = await tickHandler({ ...options, budget: "15s" }).tick();
  const left = await db.query("select distinct kind from fairmill.job");
  expect(left).toEqual([{ kind: "slow" }]);
  expect(third.claimed + second.claimed).toBeGreaterThanOrEqual(1);
});
