// Connections break, stop listening, hang, and lose answers. The worker goes on, and no job is lost or spent.
import { type Clock, createClient, createWorker, defineJob, handle, LeaseLostError, silentLogger } from "fairmill";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/clock.js";
import { useDatabase } from "../support/database.js";
import {
  asleep,
  begun,
  endOf,
  eventOf,
  gate,
  keepingLogger,
  listens,
  startWorker,
  untilAborted,
} from "../support/jobs.js";
import { claimNo } from "../support/lease-no.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { endsOf, installWitness, readWitness } from "../support/transitions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });
const left = async () => Number((await db.query("select count(*) as n from fairmill.job"))[0]!["n"]);
const terminate = (application: string) =>
  db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name like $1 and datname = current_database()",
    [application],
  );

describe("answers that are lost", () => {
  test("to a claim: the job is given back without spending the attempt, and runs", async () => {
    const proxy = await TcpProxy.before(db.url);
    const logger = keepingLogger();
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(proxy.url, [handle(job, ({ attempt }) => attempt)], { logger });
    await asleep(worker);
    const swallowed = proxy.swallowAnswerTo("claim_lanes_v1");
    const { id } = await client.enqueue(job, { n: 1 });
    await swallowed;
    expect(await endOf(client, id)).toMatchObject({
      state: "done",
      result: 1,
      attempt: 1,
      // Raised by the lost claim, by the release, and by the claim that reached the worker.
      leaseNo: claimNo(3),
      crashes: 0,
      failures: [],
    });
    expect(logger.lines.map(({ message }) => message)).toContain(
      "Released jobs whose claim was answered into a broken connection",
    );
  });

  test("to a claim of one queue: what another queue's claim brought at the same time is not lost either", async () => {
    const proxy = await TcpProxy.before(db.url);
    const other = defineJob<{ n: number }>({ kind: "other", queue: "other" });
    await using client = createClient({ databaseUrl: db.url });
    const ids = [await client.enqueue(job, { n: 1 }), await client.enqueue(other, { n: 2 })].map(({ id }) => id);
    const swallowed = proxy.swallowAnswerTo("claim_lanes_v1");
    await using _ = await startWorker(proxy.url, [handle(job, () => 1), handle(other, () => 2)]);
    await swallowed;
    for (const id of ids) expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, failures: [] });
  });

  test("to the registration: starting fails, and says so", async () => {
    const proxy = await TcpProxy.before(db.url);
    const swallowed = proxy.swallowAnswerTo("register_v1");
    await expect(startWorker(proxy.url, [handle(job, () => 1)])).rejects.toMatchObject({ code: expect.any(String) });
    await swallowed;
  });

  test("to everything, again and again, while 2,000 jobs run: nothing is lost, nothing is left, the worker survives", async () => {
    const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
    await installWitness(db.pool);
    const unhandled: unknown[] = [];
    const note = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", note);
    await using client = createClient({ databaseUrl: db.url });
    await client.enqueueMany(
      job,
      Array.from({ length: 2_000 }, (_, n) => ({ input: { n }, tenant: `t${(n * seed) % 5}` })),
    );
    let ran = 0;
    await using worker = await startWorker(
      db.url,
      [
        handle(job, async ({ input }) => {
          ran++;
          await new Promise((resolve) => setTimeout(resolve, input.n % 10));
          return { n: input.n };
        }),
      ],
      { concurrency: 20, crashesMax: 1_000 },
    );
    for (let kills = 0; kills < 6; kills++) {
      const before = ran;
      await terminate("fairmill%");
      await waitUntil("the worker went on, or was done", async () => ran > before + 100 || (await left()) === 0);
    }
    await waitUntil("everything is done", async () => (await left()) === 0);
    const seen = await readWitness(db.pool);
    expect(seen.size).toBe(2_000);
    expect([...seen.values()].filter((steps) => endsOf(steps) !== 1)).toEqual([]);
    const rows = await db.query("select count(*) as n from fairmill.job_history where state = 'done' and attempt = 1");
    expect(Number(rows[0]!["n"])).toBe(2_000);
    const { id } = await client.enqueue(job, { n: 0 });
    expect(await endOf(client, id)).toMatchObject({ state: "done", worker: worker.id });
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    await db.query("drop trigger witness on fairmill.job");
    await db.query("drop trigger witness on fairmill.job_history");
  });
});

describe("a worker that is taken for dead", () => {
  test("begins a new life under a new name and goes on", async () => {
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, () => "ran")], { lease: "1s" });
    await asleep(worker);
    const first = worker.id;
    const lost = eventOf(worker, "lost");
    await db.query("update fairmill.worker set state = 'lost', ended_at = now() where id = $1", [first]);
    expect(await lost).toEqual({ worker: first });
    await waitUntil("it has another name", () => worker.id !== first);
    const { id } = await client.enqueue(job, { n: 1 });
    expect(await endOf(client, id)).toMatchObject({ state: "done", worker: worker.id });
    expect(await db.query("select id from fairmill.worker where state = 'alive'")).toEqual([{ id: worker.id }]);
  });

  test("tells what it runs to stop, and is refused when it settles it; the second run stands", async () => {
    const reasons: unknown[] = [];
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(
      db.url,
      [
        handle(job, async ({ signal, attempt }) => {
          if (attempt === 2) return "second run";
          await untilAborted(signal).catch((reason: unknown) => reasons.push(reason));
          return "first run";
        }),
      ],
      { lease: "1s" },
    );
    const id = await begun(client, worker, job, { n: 1 });
    const refused = eventOf(worker, "refused");
    await db.query("update fairmill.worker set lease_until = now() - interval '1 second' where id = $1", [worker.id]);
    await db.query("select fairmill.recover_v1()");
    expect((await refused).ids).toEqual([id]);
    expect(reasons[0]).toBeInstanceOf(LeaseLostError);
    expect(await endOf(client, id)).toMatchObject({
      state: "done",
      result: "second run",
      attempt: 2,
      crashes: 1,
      failures: [{ outcome: "crashed" }],
    });
  });

  test("that cannot renew its lease takes no new job until it can, although its other connections work", async () => {
    const proxy = await TcpProxy.before(db.url);
    let runs = 0;
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(proxy.url, [handle(job, () => ++runs)], { lease: 900, poll: 100 });
    await listens(worker);
    const lost = eventOf(worker, "lost");
    proxy.isClosed = "fairmill heartbeat";
    proxy.silence("fairmill heartbeat");
    await lost;
    const { id } = await client.enqueue(job, { n: 1 });
    await waitUntil("the job has waited for a while", async () => {
      const [row] = await db.query("select now() - created_at > '700 ms' as waited from fairmill.job where id = $1", [
        id,
      ]);
      return row?.["waited"] ?? true;
    });
    expect(await client.job(id)).toMatchObject({ state: "ready", attempt: 0 });
    proxy.isClosed = false;
    proxy.resetAll("fairmill heartbeat");
    expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1, crashes: 0, worker: worker.id });
    expect(runs).toBe(1);
  });

  test("that cannot renew its lease in time stops what it runs before others start it", async () => {
    const proxy = await TcpProxy.before(db.url);
    const stopped = gate<unknown>();
    let runs = 0;
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(
      proxy.url,
      [
        handle(job, async ({ signal }) => {
          if (runs++ > 0) return "later";
          await untilAborted(signal).catch((reason: unknown) => stopped.open(reason));
          throw new Error("interrupted");
        }),
      ],
      { lease: 900, grace: 0, abortGrace: 100 },
    );
    const id = await begun(client, worker, job, { n: 1 });
    const lost = eventOf(worker, "lost");
    proxy.isClosed = true;
    proxy.silence();
    await lost;
    expect(await stopped.promise).toBeInstanceOf(LeaseLostError);
    // Aborted by its own watch, not by the database: it could not be told, and the lease was over at that moment.
    const [row] = await db.query(
      "select lease_until < now() + interval '100 ms' as over from fairmill.worker where id = $1",
      [worker.id],
    );
    expect(row).toEqual({ over: true });
    proxy.isClosed = false;
    proxy.resetAll();
    await using _ = await startWorker(db.url, [handle(job, () => "taken over")], { lease: "1s", logger: silentLogger });
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
  });
});

describe("stopping when the network swallows everything", () => {
  // Seconds pass in tenths: grace, abortGrace and the ten seconds that the database has for an answer. Whatever takes longer than twenty never ends: a stop that waited for it
  // would not return.
  const hurried: Clock = {
    ...systemClock,
    after: (ms, then) => (ms > 20_000 ? () => {} : systemClock.after(ms / 10, then)),
  };

  test.each([
    ["with nothing to do", false],
    ["with jobs in hand", true],
  ])("%s takes no longer than it may, and others take the jobs over", async (_, isBusy) => {
    const proxy = await TcpProxy.before(db.url);
    const logger = keepingLogger();
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    const worker = await startWorker(proxy.url, [handle(job, () => mayEnd.promise)], {
      clock: hurried,
      grace: "1s",
      abortGrace: "1s",
      lease: "1s",
      logger,
    });
    await listens(worker);
    const id = isBusy ? await begun(client, worker, job, { n: 1 }) : undefined;
    proxy.isClosed = true;
    proxy.silence();
    const stopped = eventOf(worker, "stopped");
    await worker.stop();
    expect(await stopped).toEqual({ worker: worker.id, released: 0 });
    expect(logger.lines).toContainEqual(
      expect.objectContaining({ level: "warn", message: expect.stringMatching(/leaving without a goodbye/) }),
    );
    for (const application of ["fairmill worker", "fairmill listen", "fairmill heartbeat"])
      await waitUntil(`${application} holds no connection`, () => proxy.connectionsOf(application) === 0);
    mayEnd.open();
    if (id === undefined) return;
    await using _other = await startWorker(db.url, [handle(job, () => "taken over")]);
    expect(await endOf(client, id, 20_000)).toMatchObject({ state: "done", result: "taken over", crashes: 1 });
  });

  test("also while it starts", async () => {
    const proxy = await TcpProxy.before(db.url);
    const worker = createWorker({
      databaseUrl: proxy.url,
      handlers: [handle(job, () => 1)],
      clock: hurried,
      grace: 0,
      abortGrace: 0,
      logger: silentLogger,
    });
    const swallowed = proxy.swallowAnswerTo("register_v1", "hang");
    const starting = worker.start();
    const refused = expect(starting).rejects.toMatchObject({ code: "FAIRMILL_DATABASE_UNREACHABLE" });
    await swallowed;
    await worker.stop();
    await refused;
  });
});
