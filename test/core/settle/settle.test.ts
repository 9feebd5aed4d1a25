// P3: a verdict is written once, whatever happens to the connection, and whatever the database thinks of what it carries.
import { createClient, defineJob, fixed, handle } from "fairmill";
import { afterEach, describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { endOf, eventOf, gate, startWorker } from "../../support/jobs.js";
import { claimNo } from "../../support/lease-no.js";
import { TcpProxy } from "../../support/tcp-proxy.js";
import { endsOf, installWitness, readWitness } from "../../support/transitions.js";
import { waitUntil } from "../../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job", retry: { attempts: 2, backoff: fixed(0) } });
const inputs = (length: number) => Array.from({ length }, (_, n) => ({ input: { n } }));

afterEach(async () => {
  await db.query("drop trigger if exists witness on fairmill.job");
  await db.query("drop trigger if exists witness on fairmill.job_history");
});

describe("the answer to a settle's commit is lost", () => {
  test.each([
    ["done", () => "fine", "done"],
    [
      "dead",
      () => {
        throw Object.assign(new Error("no"), { retryable: false });
      },
      "dead",
    ],
  ])("%s: the settle is repeated, accepted, and the job ended once", async (_, run, state) => {
    const proxy = await TcpProxy.before(db.url);
    await installWitness(db.pool);
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(proxy.url, [handle(job, run)]);
    const refused: unknown[] = [];
    worker.events.on("refused", (event) => refused.push(event));
    const swallowed = proxy.swallowAnswerTo("settle_v1");
    const trouble = eventOf(worker, "trouble", ({ doing }) => doing === "settling");
    const settled = eventOf(worker, "settled", ({ ids }) => ids.length > 0);
    const { id } = await client.enqueue(job, { n: 1 });
    await swallowed;
    await trouble;
    expect(await settled).toEqual({ worker: worker.id, ids: [id] });
    expect(proxy.count("settle_v1")).toBe(2);
    expect(refused).toEqual([]);
    expect(await client.job(id)).toMatchObject({ state, attempt: 1, leaseNo: claimNo(1) });
    expect(await db.query("select id from fairmill.job_history where id = $1", [id])).toHaveLength(1);
    expect(endsOf((await readWitness(db.pool)).get(id)!)).toBe(1);
  });

  test("retry: one failure is recorded and one attempt spent, although the settle was sent twice", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: db.url });
    const later = defineJob({ kind: "later", retry: { attempts: 5, backoff: fixed("1h") } });
    await using worker = await startWorker(proxy.url, [
      handle(later, () => {
        throw new Error("not yet");
      }),
    ]);
    const swallowed = proxy.swallowAnswerTo("settle_v1");
    const settled = eventOf(worker, "settled", ({ ids }) => ids.length > 0);
    const { id } = await client.enqueue(later, {});
    await swallowed;
    await settled;
    expect(proxy.count("settle_v1")).toBe(2);
    expect(await client.job(id)).toMatchObject({ state: "scheduled", attempt: 1, failures: [{ attempt: 1 }] });
  });

  test("and the connection hangs instead of breaking: no other worker gets the job, and it is settled when the line is back", async () => {
    const proxy = await TcpProxy.before(db.url);
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(proxy.url, [handle(job, () => "fine")]);
    const hung = proxy.swallowAnswerTo("settle_v1", "hang");
    const { id } = await client.enqueue(job, { n: 1 });
    await hung;
    expect(await client.job(id)).toMatchObject({ state: "done", attempt: 1 });
    const settled = eventOf(worker, "settled", ({ ids }) => ids.includes(id));
    proxy.resetAll("fairmill worker");
    await settled;
    expect(await db.query("select id from fairmill.job_history where id = $1", [id])).toHaveLength(1);
  });
});

describe("a verdict that the database does not take", () => {
  test("does not harm those that were settled with it, and is written without its result", async () => {
    await db.query(
      "alter table fairmill.job_history add constraint no_thirteen check (result ->> 'n' is distinct from '13')",
    );
    try {
      await using client = createClient({ databaseUrl: db.url });
      const all = await client.enqueueMany(job, inputs(40));
      await using worker = await startWorker(db.url, [handle(job, ({ input }) => ({ n: input.n }))], {
        concurrency: 40,
      });
      const trouble = eventOf(worker, "trouble", ({ doing }) => doing === "settling");
      const ended = await Promise.all(all.map(({ id }) => endOf(client, id)));
      expect(ended.map(({ state }) => state)).toEqual(all.map(() => "done"));
      expect(ended.map(({ result }) => result)).toEqual(
        inputs(40).map(({ input: { n } }) => (n === 13 ? null : { n })),
      );
      expect(ended.every(({ attempt }) => attempt === 1)).toBe(true);
      expect(await trouble).toMatchObject({ error: { constraint: "no_thirteen" } });
    } finally {
      await db.query("alter table fairmill.job_history drop constraint no_thirteen");
    }
  });

  test("does not harm those that were settled with it, and is written with a plainer error", async () => {
    await db.query(
      "alter table fairmill.job_history add constraint no_such check (error ->> 'message' is distinct from 'refused')",
    );
    try {
      const fatal = defineJob<{ n: number }>({ kind: "fatal", retry: { attempts: 1 } });
      await using client = createClient({ databaseUrl: db.url });
      const all = await client.enqueueMany(fatal, inputs(10));
      await using _ = await startWorker(db.url, [
        handle(fatal, ({ input }) => {
          throw new Error(input.n === 3 ? "refused" : "failed");
        }),
      ]);
      const ended = await Promise.all(all.map(({ id }) => endOf(client, id)));
      expect(ended.map(({ state }) => state)).toEqual(all.map(() => "dead"));
      expect(ended.map(({ error }) => error!.message)).toEqual(
        inputs(10).map(({ input: { n } }) => (n === 3 ? "The error could not be kept." : "failed")),
      );
    } finally {
      await db.query("alter table fairmill.job_history drop constraint no_such");
    }
  });

  test.each([
    ["refuses for good", "23514"],
    ["cannot take now, by a conflict", "40001"],
    ["cannot take now, by a deadlock", "40P01"],
    ["cannot take now, because of a lock", "55P03"],
    ["cannot take in time", "57014"],
  ])("and that it %s, again and again, is left alone: its neighbours in the group are settled", async (_, sqlState) => {
    await db.query(`create or replace function public.curse() returns trigger language plpgsql as $$
      begin raise exception 'cursed' using errcode = '${sqlState}'; end $$`);
    const partition = await db.query<{ name: string }>(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'fairmill.job_history'::regclass",
    );
    for (const { name } of partition)
      await db.query(
        `create trigger curse before insert on ${name} for each row when (new.kind = 'cursed') execute function public.curse()`,
      );
    const lift = async () => {
      for (const { name } of partition) await db.query(`drop trigger if exists curse on ${name}`);
    };
    try {
      const cursed = defineJob<{ n: number }>({ kind: "cursed" });
      await using client = createClient({ databaseUrl: db.url });
      const mayEnd = gate();
      const before = await client.enqueueMany(job, inputs(25));
      const { id } = await client.enqueue(cursed, { n: 0 });
      const behind = await client.enqueueMany(job, inputs(25));
      let begun = 0;
      const wait = async () => {
        if (++begun === 51) mayEnd.open();
        await mayEnd.promise;
        return "fine";
      };
      await using worker = await startWorker(db.url, [handle(job, wait), handle(cursed, wait)], { concurrency: 60 });
      for (const { id } of [...before, ...behind]) expect(await endOf(client, id)).toMatchObject({ state: "done" });
      expect(await client.job(id)).toMatchObject({ state: "running", worker: worker.id });
      await lift();
      expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1 });
    } finally {
      await lift();
    }
  });

  test("whatever it carries is tried until it is taken, and others pass meanwhile", async () => {
    await db.query("alter table fairmill.job_history add constraint no_cursed check (kind <> 'cursed')");
    const lift = () => db.query("alter table fairmill.job_history drop constraint if exists no_cursed");
    try {
      const cursed = defineJob<{ n: number }>({ kind: "cursed" });
      await using client = createClient({ databaseUrl: db.url });
      const held = await client.enqueueMany(cursed, inputs(3));
      await using worker = await startWorker(db.url, [handle(job, () => "fine"), handle(cursed, () => "finally")]);
      let refusals = 0;
      worker.events.on("trouble", () => refusals++);
      await waitUntil("the cursed ones were refused", () => refusals >= 5);
      const free = await client.enqueueMany(job, inputs(20));
      for (const { id } of free) expect(await endOf(client, id)).toMatchObject({ state: "done" });
      for (const { id } of held) expect(await client.job(id)).toMatchObject({ state: "running", worker: worker.id });
      await lift();
      for (const { id } of held) expect(await endOf(client, id)).toMatchObject({ state: "done", attempt: 1 });
    } finally {
      await lift();
    }
  });
});

describe("the fence", () => {
  test("P3: a settle whose lease was taken away changes nothing and is announced as refused", async () => {
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, () => mayEnd.promise)]);
    const began = eventOf(worker, "running");
    const { id } = await client.enqueue(job, { n: 1 });
    await began;
    // Another worker takes the job over, with the next lease.
    await db.query("select fairmill.register_v1('thief', '{default}', '1 hour')");
    await db.query(
      "update fairmill.job set worker = 'thief', lease_no = fairmill.next_lease(lease_no), attempt = attempt + 1 where id = $1",
      [id],
    );
    await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('thief', 1, array[$1::bigint])", [
      id,
    ]);
    const refused = eventOf(worker, "refused");
    mayEnd.open();
    expect(await refused).toEqual({ worker: worker.id, ids: [id] });
    expect(await client.job(id)).toMatchObject({ state: "running", worker: "thief", leaseNo: claimNo(2) });
  });

  test("P3: the same lease number in another worker's hand is refused, too", async () => {
    const mayEnd = gate();
    await using client = createClient({ databaseUrl: db.url });
    await using worker = await startWorker(db.url, [handle(job, () => mayEnd.promise)]);
    const began = eventOf(worker, "running");
    const { id } = await client.enqueue(job, { n: 1 });
    await began;
    await db.query("select fairmill.register_v1('thief', '{default}', '1 hour')");
    await db.query("update fairmill.job set worker = 'thief' where id = $1", [id]);
    await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('thief', 1, array[$1::bigint])", [
      id,
    ]);
    const refused = eventOf(worker, "refused");
    mayEnd.open();
    expect((await refused).ids).toEqual([id]);
    expect(await client.job(id)).toMatchObject({ state: "running", worker: "thief", leaseNo: claimNo(1) });
  });
});
