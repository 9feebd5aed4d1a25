// How a worker learns of new jobs: by notification, by its own test of the listener, or by polling where none arrives.
import { type Clock, createClient, defineJob, handle } from "fairmill";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { withoutTimersOf } from "../support/clocks.js";
import { useDatabase } from "../support/database.js";
import { asleep, endOf, eventOf, listens, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });

describe("the listener", () => {
  test("B20: a sleeping worker starts a new job without waiting for a poll", async () => {
    await using client = createClient({ databaseUrl: db.url });
    // No worker polls: how many milliseconds it takes is measured by the benchmark.
    await using worker = await startWorker(db.url, [handle(job, () => "ran")], { poll: "1h" });
    await listens(worker);
    await asleep(worker);
    for (let n = 0; n < 5; n++) {
      const { id } = await client.enqueue(job, { n });
      expect(await endOf(client, id)).toMatchObject({ state: "done" });
    }
  });

  test("cut off is noticed, opened again, and what was enqueued meanwhile is found without waiting for a poll", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, () => "ran")], { poll: "1h" });
    await listens(worker);
    await asleep(worker);
    const unheard = eventOf(worker, "listening", ({ working }) => !working);
    const again = eventOf(worker, "listening", ({ working }) => working);
    await db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()",
      ["fairmill listen"],
    );
    await unheard;
    // The worker looked when it stopped listening, found nothing, and sleeps: only the new one makes it look again.
    await asleep(worker);
    const { id } = await client.enqueue(job, { n: 1 });
    expect((await client.job(id))!.state).toBe("ready");
    await again;
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1 });
  });

  test("that has gone silent without a word is noticed by its own test", async () => {
    const proxy = await TcpProxy.before(db.url);
    // The half minute between two tests passes in a second and a half; the lease does not end meanwhile.
    const hurried: Clock = {
      ...systemClock,
      monotonic: () => systemClock.monotonic() * 20,
      after: (ms, then) => systemClock.after(ms / 20, then),
    };
    await using worker = await startWorker(proxy.url, [handle(job, () => "ran")], { clock: hurried, lease: "10h" });
    await listens(worker);
    const unheard = eventOf(worker, "listening", ({ working }) => !working);
    const again = eventOf(worker, "listening", ({ working }) => working);
    proxy.silence("fairmill listen");
    await unheard;
    await again;
  });

  test("P9: when all connections of a worker have gone silent, it works again after its lease, not after a minute", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(proxy.url, [handle(job, () => "ran")], { lease: "2s" });
    await asleep(worker);
    proxy.silence("fairmill worker");
    const { id } = await client.enqueue(job, { n: 1 });
    expect(await endOf(client, id, 25_000)).toMatchObject({ state: "done" });
  });

  test("F13: behind a transaction pooler, where it hears nothing, the worker polls every second", async () => {
    const proxy = await TcpProxy.before(db.url);
    proxy.isDeaf = true;
    await using client = createClient({ databaseUrl: db.url });
    // Were it to look less often than about every second, it would never look: a pause is spread by a fifth.
    await using worker = await startWorker(proxy.url, [handle(job, () => "ran")], { clock: withoutTimersOf(1_202) });
    const heard: boolean[] = [];
    worker.events.on("listening", ({ working }) => heard.push(working));
    await asleep(worker);
    for (let n = 0; n < 2; n++) {
      const { id } = await client.enqueue(job, { n });
      expect(await endOf(client, id)).toMatchObject({ state: "done" });
    }
    expect(heard).not.toContain(true);
    // No notification either: one without a listener costs commits.
    const [row] = await db.query("select listening from fairmill.worker where id = $1", [worker.id]);
    expect(row).toEqual({ listening: false });
  });

  test("F13: not listening, with two queues: a job in the quiet one is found while the other keeps the worker busy", async () => {
    const proxy = await TcpProxy.before(db.url);
    proxy.isDeaf = true;
    const quiet = defineJob({ kind: "quiet", queue: "quiet" });
    await using client = createClient({ databaseUrl: db.url });
    await client.enqueueMany(
      job,
      Array.from({ length: 20_000 }, (_, n) => ({ input: { n } })),
    );
    await using worker = await startWorker(proxy.url, [
      handle(job, () => new Promise((resolve) => setTimeout(resolve, 1))),
      handle(quiet, () => "found"),
    ]);
    await eventOf(worker, "settled", ({ ids }) => ids.length > 0);
    const { id } = await client.enqueue(quiet, {});
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
    expect((await db.query("select from fairmill.job limit 101")).length).toBeGreaterThan(100);
    await worker.stop();
    await db.query("delete from fairmill.job");
  });
});
