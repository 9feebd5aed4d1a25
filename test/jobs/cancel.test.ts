// F5: cancelling a job that waits, that runs, that no worker can be told about.
import { createClient, defineJob, fixed, handle, JobCancelledError, snooze } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { asleep, begun, endOf, gate, inState, listens, startWorker, untilAborted } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";

const db = useDatabase();
const job = defineJob({ kind: "job", retry: { attempts: 3, backoff: fixed(0) } });

/** A handler that runs until it is told to stop, and notes when and why. */
function listening() {
  const seen: { atMs: number; reason: unknown }[] = [];
  const run = async ({ signal }: { signal: AbortSignal }) => {
    signal.addEventListener("abort", () => seen.push({ atMs: performance.now(), reason: signal.reason }));
    await untilAborted(signal);
  };
  return { seen, run };
}

test("F5: a waiting job ends at once, and never runs", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const ready = await client.enqueue(job, {});
  const scheduled = await client.enqueue(job, {}, { delay: "1h" });
  expect(await client.cancel(ready.id)).toBe("cancelled");
  expect(await client.cancel(scheduled.id)).toBe("cancelled");
  expect(await client.cancel(ready.id)).toBe("ended");
  let runs = 0;
  await using worker = await startWorker(db.url, [handle(job, () => ++runs)]);
  await asleep(worker);
  expect(runs).toBe(0);
  expect(await client.job(ready.id)).toMatchObject({ state: "cancelled", attempt: 0, worker: null });
});

test("F5: a running job is told by notification, before the next heartbeat, and ends as cancelled without another attempt", async () => {
  const { seen, run } = listening();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [handle(job, run)], { lease: "1m" });
  await listens(worker);
  const id = await begun(client, worker, job, {});
  const asked = performance.now();
  expect(await client.cancel(id)).toBe("requested");
  expect(await endOf(client, id)).toMatchObject({ state: "cancelled", attempt: 1, worker: worker.id, failures: [] });
  expect(seen).toHaveLength(1);
  expect(seen[0]!.reason).toBeInstanceOf(JobCancelledError);
  // The next heartbeat, which would tell it too, is twenty seconds away.
  expect(seen[0]!.atMs - asked).toBeLessThan(15_000);
});

test("F5: where notifications do not arrive, the next heartbeat tells the job", async () => {
  const proxy = await TcpProxy.before(db.url);
  proxy.isDeaf = true;
  const { seen, run } = listening();
  await using client = createClient({ databaseUrl: db.url });
  // Three heartbeats a lease. With a second's lease, a busy machine may lose it before the one that tells the job.
  await using worker = await startWorker(proxy.url, [handle(job, run)], { lease: "4s" });
  const id = await begun(client, worker, job, {});
  expect(await client.cancel(id)).toBe("requested");
  expect(await endOf(client, id)).toMatchObject({ state: "cancelled", attempt: 1 });
  expect(seen[0]!.reason).toBeInstanceOf(JobCancelledError);
});

test("F5: only the job that was meant is told", async () => {
  const mayEnd = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [
    handle(job, async ({ signal }) => {
      await Promise.race([mayEnd.promise, untilAborted(signal)]);
      return "undisturbed";
    }),
  ]);
  await listens(worker);
  const meant = await begun(client, worker, job, {});
  const other = await begun(client, worker, job, {});
  await client.cancel(meant);
  expect(await endOf(client, meant)).toMatchObject({ state: "cancelled" });
  mayEnd.open();
  expect(await endOf(client, other)).toMatchObject({ state: "done", result: "undisturbed" });
});

test("F5: a handler that ends well before it hears of it has done its job", async () => {
  const mayEnd = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(db.url, [
    handle(job, async () => {
      await mayEnd.promise;
      return "done already";
    }),
  ]);
  const id = await begun(client, worker, job, {});
  await client.cancel(id);
  mayEnd.open();
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: "done already" });
});

test.each([
  ["fails", "cancelled"],
  ["snoozes", "cancelled"],
])("F5: a job that was asked to cancel and that %s does not wait for another turn", async (what, state) => {
  const proxy = await TcpProxy.before(db.url);
  proxy.isDeaf = true;
  const mayEnd = gate();
  await using client = createClient({ databaseUrl: db.url });
  await using worker = await startWorker(proxy.url, [
    handle(job, async () => {
      await mayEnd.promise;
      if (what === "snoozes") return snooze("1h");
      throw new Error("failed");
    }),
  ]);
  const id = await begun(client, worker, job, {});
  await client.cancel(id);
  mayEnd.open();
  expect(await endOf(client, id)).toMatchObject({ state, attempt: 1 });
});

test("F5: a job that was claimed ahead and waits in the process for a place never starts", async () => {
  const mayEnd = gate();
  const ran: string[] = [];
  await using client = createClient({ databaseUrl: db.url });
  const [first, second, third] = await client.enqueueMany(job, [{ input: {} }, { input: {} }, { input: {} }]);
  await using worker = await startWorker(
    db.url,
    [
      handle(job, async ({ id }) => {
        ran.push(id);
        await mayEnd.promise;
      }),
    ],
    { concurrency: 1, prefetch: 2 },
  );
  await listens(worker);
  await inState(client, second!.id, "running");
  expect(await client.cancel(second!.id)).toBe("requested");
  expect(await endOf(client, second!.id)).toMatchObject({ state: "cancelled", failures: [] });
  mayEnd.open();
  for (const { id } of [first!, third!]) expect(await endOf(client, id)).toMatchObject({ state: "done" });
  expect(ran).toEqual([first!.id, third!.id]);
});

test("F5: a cancelled job can be run again", async () => {
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(job, {});
  await client.cancel(id);
  expect(await client.retry(id)).toBe("ready");
  await using _ = await startWorker(db.url, [handle(job, () => "after all")]);
  expect(await endOf(client, id)).toMatchObject({ state: "done", result: "after all" });
});
