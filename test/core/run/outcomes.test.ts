// What a handler returns or throws, and what becomes of its job: through a real worker and a real database.
import { type Client, cancel, createClient, defineJob, fixed, handle, type Job, snooze } from "fairmill";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, keepingLogger, startWorker } from "../../support/jobs.js";
import { claimNo } from "../../support/lease-no.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const quickly = { attempts: 2, backoff: fixed(0) };
const once = defineJob({ kind: "once", retry: quickly });

/** Runs one job with this handler to its end. */
async function ended(run: () => unknown, logger = keepingLogger()): Promise<Job> {
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(once, run)], { logger });
  return await endOf(client, (await client.enqueue(once, {})).id);
}

describe("results", () => {
  test.each<[string, unknown, unknown]>([
    ["an object", { ok: true, list: [1, null] }, { ok: true, list: [1, null] }],
    ["a text", "fine", "fine"],
    ["false", false, false],
    ["null", null, null],
    ["nothing", undefined, null],
  ])("%s is kept", async (_, value, kept) => {
    const logger = keepingLogger();
    expect(await ended(() => value, logger)).toMatchObject({ state: "done", attempt: 1, result: kept, error: null });
    expect(logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
  });

  test.each<[string, unknown, unknown]>([
    ["text that PostgreSQL refuses", { a: "x\0\ud800" }, { a: "x\ufffd\ufffd" }],
    ["an error, which is not thrown", new Error("just a value"), {}],
  ])("%s is kept as far as it can be, and a line says what became of it", async (_, value, kept) => {
    const logger = keepingLogger();
    expect(await ended(() => value, logger)).toMatchObject({ state: "done", attempt: 1, result: kept, error: null });
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  const circle: { self?: unknown } = {};
  circle.self = circle;
  test.each<[string, unknown, RegExp]>([
    ["a function", () => 1, /a function is not JSON/],
    ["a circle", circle, /circular/],
    ["a bigint", 5n, /BigInt/],
    ["two megabytes", "a".repeat(2 ** 21), /more than 1048576 bytes/],
    ["a hundred levels", JSON.parse("[".repeat(100) + "]".repeat(100)), /deeper than 64 levels/],
  ])("%s is not kept: the job is done all the same, and a line says why", async (_, value, problem) => {
    const logger = keepingLogger();
    const job = await ended(() => value, logger);
    expect(job).toMatchObject({ state: "done", result: null });
    expect(logger.lines).toContainEqual({
      level: "warn",
      message: "The job's result was not kept",
      facts: expect.objectContaining({ job: job.id, problem: expect.stringMatching(problem) }),
    });
  });

  test("of asynchronous handlers, and of thenables of any make, are awaited", async () => {
    expect(await ended(async () => "later")).toMatchObject({ result: "later" });
    // biome-ignore lint/suspicious/noThenProperty: such a promise is what is tested.
    expect(await ended(() => ({ then: (resolve: (value: string) => void) => resolve("other make") }))).toMatchObject({
      result: "other make",
    });
  });
});

test("a thenable that answers twice, and throws besides, ends its run once: its place is free once", async () => {
  const odd = defineJob({ kind: "odd" });
  const slow = defineJob({ kind: "slow" });
  let now = 0;
  let most = 0;
  const twice = () => ({
    // biome-ignore lint/suspicious/noThenProperty: such a promise is what is tested.
    then: (resolve: (value: number) => void) => {
      resolve(1);
      resolve(2);
      throw new Error("late");
    },
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(
    db.url,
    [
      handle(odd, twice),
      handle(slow, async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 50));
        now--;
      }),
    ],
    { concurrency: 1 },
  );
  for (let n = 0; n < 3; n++) {
    const { id } = await client.enqueue(odd, {});
    expect(await endOf(client, id)).toMatchObject({ state: "done", result: 1 });
  }
  const jobs = await client.enqueueMany(
    slow,
    Array.from({ length: 6 }, () => ({ input: {} })),
  );
  for (const { id } of jobs) await endOf(client, id);
  expect(most).toBe(1);
});

test("the context may be taken apart: its functions know where they come from", async () => {
  const job = defineJob({ kind: "apart" });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(once, () => "asked for"),
    handle(job, async ({ id, log, progress, step, enqueue, tick, calledBy }) => {
      log.info({}, "taken apart");
      progress(5);
      await enqueue(once, {});
      return [id, await step("one", () => 1), (await tick()) === undefined, (await calledBy()) === undefined];
    }),
  ]);
  const { id } = await client.enqueue(job, {});
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: [id, 1, true, true] });
});

const trap = () => {
  throw new Error("trap");
};

describe("A5: failures", () => {
  test.each<[string, () => unknown, object]>([
    ["an error thrown at once", trap, { name: "Error", message: "trap" }],
    ["an error thrown later", () => Promise.reject(new RangeError("no")), { name: "RangeError", message: "no" }],
    ["undefined", () => Promise.reject(undefined), { name: "NonError", message: "undefined" }],
    ["null", () => Promise.reject(null), { name: "NonError", message: "null" }],
    ["a text", () => Promise.reject("out of paper"), { name: "NonError", message: "out of paper" }],
    ["text that PostgreSQL refuses", () => Promise.reject(new Error("a\0\ud800")), { message: "a\ufffd\ufffd" }],
    [
      "a megabyte",
      () => Promise.reject(new Error("x".repeat(2 ** 20))),
      { message: expect.stringContaining(" more)") },
    ],
    ["what cannot be read", () => Promise.reject(new Proxy({}, { get: trap })), { name: "NonError" }],
  ])("%s ends the attempt, and is kept in every failure and in the end in the job", async (_, run, error) => {
    const job = await ended(run);
    expect(job).toMatchObject({ state: "dead", attempt: 2, error });
    expect(job.failures).toMatchObject([
      { attempt: 1, leaseNo: claimNo(1), outcome: "failed", error },
      { attempt: 2, leaseNo: claimNo(2), outcome: "failed", error },
    ]);
  });

  test("a broken backoff of the user's does not cost the job its next attempt", async () => {
    const odd = defineJob({ kind: "odd", retry: { attempts: 2, backoff: trap } });
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(odd, trap)]);
    const settled = eventOf(worker, "settled");
    const { id } = await client.enqueue(odd, {});
    await settled;
    expect(await client.job(id)).toMatchObject({ state: "scheduled", attempt: 1, failures: [{ outcome: "failed" }] });
  });
});

describe("outcomes that are no failures", () => {
  test("cancel() ends the job as cancelled, with the reason", async () => {
    expect(await ended(() => cancel())).toMatchObject({ state: "cancelled", attempt: 1, error: null, failures: [] });
    expect(await ended(async () => cancel("the user left\0"))).toMatchObject({
      state: "cancelled",
      error: { name: "Cancelled", message: "the user left\ufffd" },
    });
  });

  const sleepsLong = (client: Client, id: string) =>
    waitUntil("the job sleeps for long", async () => {
      const job = await client.job(id);
      return job?.state === "scheduled" && job.runAt!.getTime() - Date.now() > 60_000 ? job : undefined;
    });

  test("snooze() lets the job wait without spending the attempt, as often as it likes", async () => {
    const dozing = defineJob({ kind: "dozing", retry: { attempts: 1 } });
    const attempts: number[] = [];
    await using client = createClient({ databaseUrl: db.url });
    await using _ = await startWorker(db.url, [
      handle(dozing, ({ attempt }) => {
        attempts.push(attempt);
        if (attempts.length < 4) return snooze(5);
        return attempts.length === 4 ? snooze("1h") : "awake";
      }),
    ]);
    const { id } = await client.enqueue(dozing, {});
    const job = await sleepsLong(client, id);
    expect(attempts).toEqual([1, 1, 1, 1]);
    expect(job).toMatchObject({ attempt: 0, leaseNo: claimNo(4), worker: null, startedAt: null, failures: [] });
    expect(job.runAt!.getTime() - Date.now()).toBeGreaterThan(3_500_000);
    expect(await client.retry(id)).toBe("ready");
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, leaseNo: claimNo(5), result: "awake" });
  });
});

test("a kind without a handler here is left to workers that have one", async () => {
  const mine = defineJob({ kind: "mine" });
  const theirs = defineJob({ kind: "theirs" });
  await using client = createClient({ databaseUrl: db.url });
  const other = await client.enqueue(theirs, {});
  const own = await client.enqueue(mine, {});
  await using _ = await startWorker(db.url, [handle(mine, () => "mine")]);
  expect(await endOf(client, own.id)).toMatchObject({ state: "done" });
  expect(await client.job(other.id)).toMatchObject({ state: "ready", attempt: 0, leaseNo: claimNo(0) });
  await using __ = await startWorker(db.url, [handle(theirs, () => "theirs")]);
  expect(await endOf(client, other.id)).toMatchObject({ state: "done", result: "theirs", attempt: 1 });
});

test("the context says who, what and which attempt", async () => {
  const logger = keepingLogger();
  const seen = defineJob<object>({ kind: "seen", queue: "eyes" });
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(
    db.url,
    [
      handle(seen, (ctx) => {
        ctx.log.info({ step: 1 }, "looking");
        const { input, id, kind, queue, tenant, key, attempt, leaseNo } = ctx;
        return { input, id, kind, queue, tenant, key, attempt, leaseNo, aborted: ctx.signal.aborted };
      }),
    ],
    { logger },
  );
  const { id } = await client.enqueue(seen, { a: 1 }, { tenant: "acme", key: "k" });
  expect(await client.result(id)).toEqual({
    input: { a: 1 },
    id,
    kind: "seen",
    queue: "eyes",
    tenant: "acme",
    key: "k",
    attempt: 1,
    leaseNo: claimNo(1),
    aborted: false,
  });
  expect(logger.lines).toContainEqual({
    level: "info",
    message: "looking",
    facts: { worker: worker.id, job: id, kind: "seen", tenant: "acme", attempt: 1, step: 1 },
  });
});
