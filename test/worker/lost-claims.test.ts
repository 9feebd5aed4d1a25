// Claims that the database has forgotten, while the worker that made them lives and runs their handlers: a crash of PostgreSQL that undid a
// claim, and a server that went back to an earlier state, as a stand-by does that had not heard of everything. A cluster of its own, durable.
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient, defineJob, handle, LeaseLostError, type WorkerEvents } from "fairmill";
import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbedded } from "../../dist/embedded/index.js";
import { claimsOf } from "../../src/core/job/lease-no.js";
import { checkInvariants } from "../support/invariants.js";
import { asleep, endOf, gate, keepingLogger, startWorker, untilAborted } from "../support/jobs.js";
import { openPool } from "../support/open-pool.js";
import { waitUntil } from "../support/wait.js";

const run = promisify(execFile);
let folder: string;
let server: EmbeddedPostgres;
let pool: pg.Pool;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairmill-lost-"));
  await chmod(folder, 0o711);
  server = await startEmbedded({ dataDir: join(folder, "postgres"), durable: true });
  pool = openPool({ connectionString: server.url, max: 2 });
  await using client = createClient({ databaseUrl: server.url });
  await client.migrate();
});
afterAll(async () => {
  await pool.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Long enough for nothing to be durable by chance: no heartbeat is written between the claim and the crash. */
const LEASE = "10m";
/** In nearly every round the crash undoes the claim. */
const ROUNDS_MAX = 10;

test("P3: a claim that PostgreSQL forgets in a crash: its worker claims the job again and never runs both at once", async () => {
  const job = defineJob<{ round: number }>({ kind: "pay" });
  const paid: [round: number, leaseNo: number][] = [];
  /** Of each round the numbers of its runs. */
  const runs: number[][] = [];
  let [running, most] = [0, 0];
  let reason: unknown;
  let began = gate();
  let mayEnd = gate();
  await using client = createClient({ databaseUrl: server.url });
  await using worker = await startWorker(
    server.url,
    [
      handle(job, async (ctx) => {
        const { round } = ctx.input;
        runs[round] ??= [];
        const own = runs[round]!;
        own.push(ctx.leaseNo);
        most = Math.max(most, ++running);
        try {
          if (own.length === 1) {
            began.open();
            // Steps are durable, and would make the claim so: this run has none before the crash.
            await Promise.race([untilAborted(ctx.signal), mayEnd.promise]);
          }
          await ctx.step("charge", () => void paid.push([round, ctx.leaseNo]));
          return "paid";
        } catch (error) {
          reason = error;
          throw error;
        } finally {
          running--;
        }
      }),
    ],
    { lease: LEASE },
  );
  const refused = new Set<string>();
  worker.events.on("refused", ({ ids }: WorkerEvents["refused"][0]) => {
    for (const id of ids) refused.add(id);
  });

  /** Whether the crash undid the claim. Anything durable that commits between the two keeps it, a round of upkeep for one: then its run goes on. */
  const crashes = async (round: number): Promise<boolean> => {
    [began, mayEnd] = [gate(), gate()];
    await asleep(worker);
    // From here on nothing but the enqueue waits for the disk.
    const [writer] = (
      await pool.query<{ pid: number }>("select pid from pg_stat_activity where backend_type = 'walwriter'")
    ).rows;
    process.kill(writer!.pid, "SIGSTOP");
    const { id } = await client.enqueue(job, { round });
    await began.promise;
    await server.stop("immediate");
    await server.restart();
    const leaseNo = async () =>
      (await pool.query("select lease_no from fairmill.job where id = $1", [id])).rows[0]?.lease_no;
    const first = runs[round]![0];
    const isKept = await waitUntil("the database answers", () =>
      leaseNo()
        .then((now) => ({ now }))
        .catch(() => undefined),
    );
    if (Number(isKept.now) === first) mayEnd.open();
    expect(await endOf(client, id)).toMatchObject({ state: "done", result: "paid", attempt: 1, crashes: 0 });
    const own = runs[round]!;
    expect(paid.filter(([of]) => of === round)).toEqual([[round, own.at(-1)]]);
    expect(await client.jobs.steps(id)).toMatchObject([{ name: "charge", leaseNo: own.at(-1) }]);
    if (own.length === 1) return false;
    await waitUntil("what the first run came to was refused", () => refused.has(id));
    // The second claim is the first one that the database knows of.
    expect(own.map(claimsOf)).toEqual([1, 1]);
    expect(own[0]).not.toBe(own[1]);
    return true;
  };
  let round = 0;
  while (!(await crashes(round))) expect(++round).toBeLessThan(ROUNDS_MAX);
  expect(reason).toBeInstanceOf(LeaseLostError);
  expect(most).toBe(1);
  await checkInvariants(pool);
});

test("P3 P4: after a fail-over to an earlier state ids come again: what another tenant's job came to is written to none of them", async () => {
  const COUNT = 20;
  const job = defineJob<{ for: string }>({ kind: "report", credits: { account: (input) => input.for } });
  const mayEnd = gate();
  const begun: string[] = [];
  const client = createClient({ databaseUrl: server.url });
  const logger = keepingLogger();
  await client.credits.grant("acme", 100);
  await client.credits.grant("bob", 100);
  await using worker = await startWorker(
    server.url,
    [
      handle(job, async (ctx) => {
        begun.push(ctx.tenant);
        // Ends with a result although its lease is gone, as code does that does not ask for its signal.
        if (ctx.tenant === "acme") await untilAborted(ctx.signal).catch(() => {});
        else await mayEnd.promise;
        return `report for ${ctx.input.for}`;
      }),
    ],
    { lease: LEASE, concurrency: 2 * COUNT, logger },
  );
  await asleep(worker);
  const enqueueFor = async (tenant: string) => {
    const jobs = await client.enqueueMany(
      job,
      Array.from({ length: COUNT }, () => ({ input: { for: tenant }, tenant })),
    );
    return jobs.map(({ id }) => id);
  };

  // The stand-by: all it knows is what was there before acme's jobs.
  await server.stop("fast");
  await run("cp", ["-a", server.dataDir, `${server.dataDir}.behind`]);
  await server.restart();
  const acme = await waitUntil("acme's jobs are enqueued", () => enqueueFor("acme").catch(() => undefined));
  await waitUntil("all of them run", () => begun.length >= COUNT);
  await server.stop("immediate");
  await rm(server.dataDir, { recursive: true });
  await run("mv", [`${server.dataDir}.behind`, server.dataDir]);
  await server.restart();

  const refused = new Set<string>();
  worker.events.on("refused", ({ ids }: WorkerEvents["refused"][0]) => {
    for (const id of ids) refused.add(id);
  });
  const bob = await waitUntil("bob's jobs are enqueued", () => enqueueFor("bob").catch(() => undefined));
  const shared = bob.filter((id) => acme.includes(id));
  expect(shared.length).toBeGreaterThan(0);
  await waitUntil("what acme's jobs came to was refused", () => shared.every((id) => refused.has(id)));
  await waitUntil("bob's jobs run", () => begun.filter((tenant) => tenant === "bob").length === COUNT);
  const states = await pool.query("select distinct state, tenant, worker from fairmill.job where kind = 'report'");
  expect(states.rows).toEqual([{ state: "running", tenant: "bob", worker: worker.id }]);
  expect(await client.credits.balance("bob")).toMatchObject({ available: 80, reserved: 20 });
  mayEnd.open();
  for (const id of bob)
    expect(await endOf(client, id, 60_000)).toMatchObject({ state: "done", tenant: "bob", result: "report for bob" });
  expect(await client.credits.balance("bob")).toMatchObject({ available: 80, reserved: 0 });
  expect(await client.credits.balance("acme")).toMatchObject({ available: 100, reserved: 0 });
  await checkInvariants(pool);
  await client.close();
});
