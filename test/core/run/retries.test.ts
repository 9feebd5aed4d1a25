// A3 A5 B3: attempts, what is kept of them, and what ends them.
import { createClient, defineJob, exponential, fixed, handle, NonRetryableError } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, inState, startWorker } from "../../support/jobs.js";
import { claimNo } from "../../support/lease-no.js";

const db = useDatabase();

test("A3 A5: a job that fails twice and succeeds keeps both failures, and who ran it when", async () => {
  const flaky = defineJob({ kind: "flaky", retry: { attempts: 3, backoff: fixed(30) } });
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [
    handle(flaky, ({ attempt }) => {
      if (attempt < 3) throw new Error(`attempt ${attempt} failed`);
      return attempt;
    }),
  ]);
  const { id } = await client.enqueue(flaky, {});
  const job = await endOf(client, id);
  expect(job).toMatchObject({
    state: "done",
    result: 3,
    attempt: 3,
    crashes: 0,
    leaseNo: claimNo(3),
    worker: worker.id,
    error: null,
  });
  expect(job.failures).toMatchObject([
    { attempt: 1, leaseNo: claimNo(1), worker: worker.id, outcome: "failed", error: { message: "attempt 1 failed" } },
    { attempt: 2, leaseNo: claimNo(2), worker: worker.id, outcome: "failed", error: { message: "attempt 2 failed" } },
  ]);
  // Created, then each attempt after the one before, then completed.
  const moments = [
    job.createdAt,
    ...job.failures.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt]),
    job.startedAt!,
    job.endedAt!,
  ].map((moment) => moment.getTime());
  expect(moments).toEqual(moments.toSorted((a, b) => a - b));
  // The wait between the attempts is kept.
  const [first, second] = job.failures;
  expect(second!.startedAt.getTime() - first!.endedAt.getTime()).toBeGreaterThanOrEqual(28);
  expect(job.startedAt!.getTime() - second!.endedAt.getTime()).toBeGreaterThanOrEqual(28);
});

test("B3: three attempts unless set, then dead, with the last error", async () => {
  const hopeless = defineJob({ kind: "hopeless", retry: { backoff: fixed(0) } });
  let runs = 0;
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [
    handle(hopeless, () => {
      throw new Error(`run ${++runs}`);
    }),
  ]);
  const { id } = await client.enqueue(hopeless, {});
  const job = await endOf(client, id);
  expect(job).toMatchObject({
    state: "dead",
    attempt: 3,
    worker: worker.id,
    error: { message: "run 3" },
    result: null,
  });
  expect(job.failures.map(({ error }) => error!.message)).toEqual(["run 1", "run 2", "run 3"]);
  expect(runs).toBe(3);
  expect(job.endedAt!.getTime()).toBeGreaterThanOrEqual(job.startedAt!.getTime());
});

test("B3: the wait after a failure is the one that its backoff says, by the database's clock", async () => {
  const patient = defineJob({
    kind: "patient",
    retry: { attempts: 5, backoff: exponential({ base: "1h", jitter: 0 }) },
  });
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [
    handle(patient, () => {
      throw new Error("no");
    }),
  ]);
  const settled = eventOf(worker, "settled", ({ ids }) => ids.length > 0);
  const { id } = await client.enqueue(patient, {});
  await settled;
  const job = (await client.job(id))!;
  expect(job).toMatchObject({ state: "scheduled", attempt: 1, worker: null, startedAt: null });
  expect(job.runAt!.getTime() - job.failures[0]!.endedAt.getTime()).toBe(3_600_000);
});

test.each<[string, Error]>([
  ["by its class", new NonRetryableError("no such user")],
  ["by saying so of itself", Object.assign(new TypeError("no such user"), { retryable: false })],
])("B3: an error that is not worth another try, %s, ends the job at once", async (_, error) => {
  const once = defineJob({ kind: "once", retry: { attempts: 5, backoff: fixed(0) } });
  await using client = createClient({ databaseUrl: db.url });
  await using __ = await startWorker(db.url, [
    handle(once, () => {
      throw error;
    }),
  ]);
  const { id } = await client.enqueue(once, {});
  expect(await endOf(client, id)).toMatchObject({
    state: "dead",
    attempt: 1,
    error: { message: "no such user" },
    failures: [{ attempt: 1 }],
  });
});

test("a dead job that is retried by hand begins again with all its attempts, and keeps its history", async () => {
  const later = defineJob({ kind: "later", retry: { attempts: 2, backoff: fixed(0) } });
  let isFixed = false;
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(later, () => {
      if (!isFixed) throw new Error("broken");
      return "fixed";
    }),
  ]);
  const { id } = await client.enqueue(later, {});
  expect(await endOf(client, id)).toMatchObject({ state: "dead", attempt: 2 });
  isFixed = true;
  expect(await client.retry(id)).toBe("ready");
  const job = await endOf(client, id);
  expect(job).toMatchObject({ state: "done", result: "fixed", attempt: 1, leaseNo: claimNo(3) });
  expect(job.failures).toHaveLength(2);
  expect(await client.retry(id)).toBe("done");
});

test("a handler may see which attempt it is, and its own failures do not leak into others", async () => {
  const work = defineJob<{ bad: boolean }>({ kind: "work", retry: { attempts: 2, backoff: fixed(0) } });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(work, ({ input, attempt }) => {
      if (input.bad) throw new Error("bad");
      return attempt;
    }),
  ]);
  const all = await client.enqueueMany(
    work,
    Array.from({ length: 30 }, (_, n) => ({ input: { bad: n % 3 === 0 } })),
  );
  const jobs = await Promise.all(all.map(({ id }) => endOf(client, id)));
  for (const [n, job] of jobs.entries())
    expect(job).toMatchObject(n % 3 === 0 ? { state: "dead", attempt: 2 } : { state: "done", result: 1, failures: [] });
});

test("a running job says who runs it since when", async () => {
  const held = defineJob({ kind: "held" });
  const mayEnd = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [handle(held, () => mayEnd.promise)]);
  const { id } = await client.enqueue(held, {});
  const job = await inState(client, id, "running");
  expect(job).toMatchObject({ worker: worker.id, attempt: 1, leaseNo: claimNo(1), endedAt: null });
  expect(job.startedAt!.getTime()).toBeGreaterThanOrEqual(job.createdAt.getTime());
  mayEnd.open();
  const ended = await endOf(client, id);
  expect(ended.startedAt).toEqual(job.startedAt);
});
