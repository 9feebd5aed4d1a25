// B4: a run that takes too long is told to stop, and its job goes on without it.
import { createClient, defineJob, fixed, handle, TimeoutError } from "fairmill";
import { expect, test } from "vitest";
import { z } from "zod";
import { useDatabase } from "../../support/database.js";
import { endOf, gate, startWorker, untilAborted } from "../../support/jobs.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const quickly = { attempts: 2, backoff: fixed(0) };

test("B4: the signal aborts with a TimeoutError, the job is retried, and its last attempt ends as a timeout", async () => {
  const slow = defineJob({ kind: "slow", timeout: 60, retry: quickly });
  const reasons: unknown[] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(slow, async ({ signal }) => {
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      await untilAborted(signal);
    }),
  ]);
  const { id } = await client.enqueue(slow, {});
  const job = await endOf(client, id);
  expect(job).toMatchObject({
    state: "dead",
    attempt: 2,
    crashes: 0,
    error: { code: "FAIRMILL_TIMEOUT", message: "The run exceeded its time limit of 60 ms." },
  });
  expect(job.failures.map(({ attempt, outcome, error }) => [attempt, outcome, error?.code])).toEqual([
    [1, "timeout", "FAIRMILL_TIMEOUT"],
    [2, "timeout", "FAIRMILL_TIMEOUT"],
  ]);
  for (const { startedAt, endedAt } of job.failures) {
    expect(endedAt.getTime() - startedAt.getTime()).toBeGreaterThanOrEqual(58);
  }
  expect(reasons).toEqual([expect.any(TimeoutError), expect.any(TimeoutError)]);
});

test("each of several runs has its own limit, and one that ends in time is not disturbed", async () => {
  const paced = defineJob<{ ms: number }>({ kind: "paced", timeout: 250, retry: { attempts: 1 } });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(paced, async ({ input, signal }) => {
      await Promise.race([new Promise((resolve) => setTimeout(resolve, input.ms)), untilAborted(signal)]);
      return signal.aborted;
    }),
  ]);
  const jobs = await Promise.all(
    [10, 5_000, 50, 5_000, 100].map(async (ms) => endOf(client, (await client.enqueue(paced, { ms })).id)),
  );
  expect(jobs.map(({ state }) => state)).toEqual(["done", "dead", "done", "dead", "done"]);
  expect(jobs.filter(({ state }) => state === "done").map(({ result }) => result)).toEqual([false, false, false]);
});

test("a time limit of nothing is none", async () => {
  const patient = defineJob({ kind: "patient", timeout: 0 });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(patient, async ({ signal }) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return signal.aborted;
    }),
  ]);
  const { id } = await client.enqueue(patient, {});
  expect(await client.result(id)).toBe(false);
});

test("a handler that ends well although it was told to stop has done its job", async () => {
  const tidy = defineJob({ kind: "tidy", timeout: 30 });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [
    handle(tidy, async ({ signal }) => {
      await untilAborted(signal).catch(() => {});
      return "cleaned up";
    }),
  ]);
  const { id } = await client.enqueue(tidy, {});
  expect(await client.result(id)).toBe("cleaned up");
});

test("a handler that ignores its signal is given up after a while: the job goes on, but the place stays taken", async () => {
  const deaf = defineJob<{ n: number }>({ kind: "deaf", timeout: 30, retry: { attempts: 1 } });
  const over = gate();
  const running = new Set<number>();
  const beside: number[][] = [];
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(
    db.url,
    [
      handle(deaf, async ({ input }) => {
        beside.push([...running]);
        running.add(input.n);
        if (input.n === 1) await over.promise;
        running.delete(input.n);
      }),
    ],
    { concurrency: 1, abortGrace: 50 },
  );
  const first = await client.enqueue(deaf, { n: 1 });
  expect(await endOf(client, first.id)).toMatchObject({ state: "dead", failures: [{ outcome: "timeout" }] });

  const second = await client.enqueue(deaf, { n: 2 });
  await waitUntil("the second job has waited for a while", async () => {
    const [row] = await db.query("select now() - created_at > '300 ms' as waited from fairmill.job where id = $1", [
      second.id,
    ]);
    return row?.["waited"];
  });
  expect((await client.job(second.id))!.state).toBe("ready");
  over.open();
  expect(await endOf(client, second.id)).toMatchObject({ state: "done" });
  expect(beside).toEqual([[], []]);
});

test("a validator that never ends is under the time limit, too", async () => {
  const stuck = defineJob({
    kind: "stuck",
    input: z.object({ n: z.number().refine(() => new Promise<boolean>(() => {})) }),
    timeout: 50,
    retry: { attempts: 1 },
  });
  await using client = createClient({ databaseUrl: db.url });
  await using _ = await startWorker(db.url, [handle(stuck, () => {})], { abortGrace: 50, grace: 0 });
  const [row] = await db.query<{ id: string }>(
    `select id from fairmill.enqueue_v1('stuck', '{"n": 1}', max_attempts => 1)`,
  );
  expect(await endOf(client, row!.id)).toMatchObject({ state: "dead", failures: [{ outcome: "timeout" }] });
});
