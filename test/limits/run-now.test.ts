// "Run this one now though it is paused": one start of one job. The others stay, all other limits hold, and it can be said twice.
import { type Client, createClient, createWorker, defineJob, handle } from "fairmill";
import { beforeEach, describe, expect, test } from "vitest";
import type { PauseTarget } from "../../src/limits/limit-settings.js";
import { cli } from "../cli/cli.js";
import { silent } from "../http/server.js";
import { useDatabase } from "../support/database.js";
import { endAfterTest } from "../support/leftovers.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const mail = defineJob<{ n: number }>({ kind: "mail", queue: "mails" });
let client: Client;
let ran: number[];
let isFailing: boolean;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
  ran = [];
  isFailing = false;
});
endAfterTest(async () => client.close());

async function startWorker() {
  const worker = createWorker({
    databaseUrl: db.url,
    logger: silent,
    queues: { mails: { concurrency: 5 } },
    handlers: [
      handle(mail, async ({ input: { n } }) => {
        ran.push(n);
        if (isFailing) throw new Error("not this time");
      }),
    ],
  });
  endAfterTest(() => worker.stop());
  await worker.start();
}

const put = async (count: number) => {
  const items = Array.from({ length: count }, (_, n) => ({ input: { n }, tenant: "acme" }));
  return (await client.enqueueMany(mail, items)).map(({ id }) => id);
};
const ended = (id: string) =>
  waitUntil(
    `job ${id}`,
    async () => {
      const job = await client.job(id);
      return job?.state === "done" || (job?.failures.length ?? 0) > 0;
    },
    10_000,
  );
const waiting = async () => (await db.query("select from fairmill.job where state = 'ready'")).length;
const SCOPES: PauseTarget[] = [{ queue: "mails" }, { kind: "mail" }, { tenant: "acme" }];

describe.each(SCOPES)("F5: while %j is paused", (what) => {
  test("the one that is asked for runs, the others stay; resumed, each of them runs once", async () => {
    await client.pause(what);
    const ids = await put(20);
    await startWorker();
    // It has seen the pause, and holds its lanes back.
    await waitUntil("a look", async () => (await db.query("select from fairmill.worker where state = 'alive'")).length);
    expect(await client.jobs.runNow(ids[13]!)).toBe("ready");
    await ended(ids[13]!);
    expect(ran).toEqual([13]);
    expect(await waiting()).toBe(19);
    expect(await client.jobs.runNow(ids[3]!)).toBe("ready");
    await ended(ids[3]!);
    expect(ran).toEqual([13, 3]);
    expect(await db.query("select from fairmill.pause_exception")).toEqual([]);
    await client.resume(what);
    await waitUntil("all", async () => (await waiting()) === 0 && ran.length === 20);
    expect(ran.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });
});

const claim = (jobs = 5) =>
  db.query<{ id: string; lease_no: string }>("select id, lease_no from fairmill.claim_v1('w', 'mails', $1)", [jobs]);
const register = () => db.query("select fairmill.register_v1('w', '{mails}')");

test("its other limits hold: a full cap and a spent rate keep it waiting, and why names them", async () => {
  const ids = await put(3);
  await register();
  await client.tenants.set("acme", { maxRunning: 1 });
  expect(await claim(1)).toHaveLength(1);
  await client.pause({ queue: "mails" });
  await client.jobs.runNow(ids[2]!);
  expect(await claim()).toEqual([]);
  const { checks } = (await client.why(ids[2]!))!;
  const passed = Object.fromEntries(checks.map(({ check, passed }) => [check, passed]));
  expect(passed).toMatchObject({ paused: true, "tenant cap": false });
  await client.tenants.set("acme", { maxRunning: 2 });
  expect(await claim()).toMatchObject([{ id: ids[2] }]);
  await client.tenants.set("acme", { maxRunning: 2 });
  await client.jobs.runNow(ids[1]!);
  expect(await claim()).toEqual([]);
});

test("the cap of the very tenant that is paused holds", async () => {
  const ids = await put(3);
  await register();
  await client.tenants.set("acme", { maxRunning: 1 });
  expect(await claim(1)).toHaveLength(1);
  await client.pause({ tenant: "acme" });
  await client.jobs.runNow(ids[2]!);
  expect(await claim()).toEqual([]);
});

test("why says that it is let through, when, and that only pauses are", async () => {
  const [id] = await put(2);
  await register();
  await client.pause({ queue: "mails" });
  expect((await client.why(id!))!.reason).toMatch(/queue "mails" is paused since/);
  await client.jobs.runNow(id!);
  const paused = (await client.why(id!))!.checks.find(({ check }) => check === "paused")!;
  expect(paused).toMatchObject({ passed: true });
  expect(paused.reason).toMatch(/is paused since .*, but this job may start all the same, once: asked for at/);
});

test("it is for one start: after a failure the job waits like the others, and a second wish is another start", async () => {
  isFailing = true;
  await client.pause({ queue: "mails" });
  const ids = await put(2);
  await startWorker();
  await client.jobs.runNow(ids[0]!);
  await ended(ids[0]!);
  await client.retry(ids[0]!);
  const { checks } = (await client.why(ids[0]!))!;
  expect(checks.find(({ check }) => check === "paused")).toMatchObject({ passed: false });
  isFailing = false;
  await client.jobs.runNow(ids[0]!);
  await waitUntil("its second run", () => ran.length === 2);
  expect(ran).toEqual([0, 0]);
});

test("said twice and by two at once it is one start, and one whose wish is old starts nothing", async () => {
  const ids = await put(3);
  await register();
  await client.pause({ queue: "mails" });
  await Promise.all([client.jobs.runNow(ids[1]!), client.jobs.runNow(ids[1]!), client.jobs.runNow(ids[1]!)]);
  const claims = (await Promise.all([claim(), claim(), claim()])).flat();
  expect(claims).toMatchObject([{ id: ids[1] }]);
  expect(await client.jobs.runNow(ids[1]!)).toBe("running");
  // A wish of before the start that a crash left behind.
  await db.query("insert into fairmill.pause_exception (job_id, lease_no, queue) values ($1, 0, 'mails')", [ids[1]]);
  await db.query("update fairmill.job set state = 'ready', worker = null, started_at = null where id = $1", [ids[1]]);
  expect(await claim()).toEqual([]);
  await client.jobs.runNow(ids[2]!);
  expect(await db.query("select job_id from fairmill.pause_exception")).toEqual([{ job_id: ids[2] }]);
});

test("a delayed one is due, one that has ended or is unknown is told, and nothing is kept where nothing is paused", async () => {
  const { id } = await client.enqueue(mail, { n: 0 }, { delay: "1h" });
  expect(await client.jobs.runNow(id)).toBe("ready");
  expect(await db.query("select from fairmill.pause_exception")).toEqual([]);
  await client.cancel(id);
  expect(await client.jobs.runNow(id)).toBe("cancelled");
  expect(await client.jobs.runNow("999999")).toBe("not_found");
});

test("the command says what becomes of it, and it is on record", async () => {
  const [id] = await put(1);
  await client.pause({ queue: "mails" });
  const env = { DATABASE_URL: db.url };
  const said = await cli(["retry", id!, "--despite-pause", "--by", "ann"], { env });
  expect(said.stdout).toContain(`Job ${id} is ready to run.`);
  expect((await cli(["retry", "--despite-pause", "999999"], { env })).code).toBe(1);
  const [event] = await db.query(
    "select actor, action, subject, outcome from fairmill.audit_event order by id limit 1",
  );
  expect(event).toEqual({ actor: "ann", action: "job.run-now", subject: `job ${id}`, outcome: "done" });
});
