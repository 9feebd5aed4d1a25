// A fleet that sleeps: one worker does upkeep and looks for all, tells the others, and each of them stands in when it does not.
import { createClient, defineJob, handle, type Worker } from "fairmill";
import pg from "pg";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { asleep, endOf, eventOf, listens, startWorker } from "../support/jobs.js";
import { TcpProxy } from "../support/tcp-proxy.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const job = defineJob<{ n: number }>({ kind: "job" });

/** What an idle worker says and asks: that it lives, what is due, and, seldom, whether a bulk action was left behind. */
const EXPECTED = /heartbeat_v1|tick_upkeep_v1|bulk_action/;

/** What workers tell one another, by a session that listens. */
async function overhear() {
  const session = new pg.Client(db.url);
  await session.connect();
  const rested: { worker: string; queues: string[] }[] = [];
  session.on("notification", ({ payload = "" }) => {
    const [what, worker = "", , queues = "[]"] = payload.split(" ");
    if (what === "!rested") rested.push({ worker, queues: JSON.parse(queues) });
  });
  await session.query("listen fairmill");
  return { rested, [Symbol.asyncDispose]: () => session.end() };
}

async function fleetOf(count: number, url: string): Promise<Worker[]> {
  const fleet: Worker[] = [];
  for (let n = 0; n < count; n++) {
    const worker = await startWorker(url, [handle(job, () => "ran")], { lease: "1s" });
    await listens(worker);
    await asleep(worker);
    fleet.push(worker);
  }
  return fleet;
}

/** The worker that did the last six rounds. */
const lead = (rested: readonly { worker: string }[], but?: string) =>
  waitUntil("one worker does it alone", () => {
    const last = rested.slice(-6).map(({ worker }) => worker);
    return last.length === 6 && last[0] !== but && last.every((worker) => worker === last[0]) ? last[0] : undefined;
  });

test("B20: of a fleet that sleeps one worker does the upkeep, and when it stops another one does", async () => {
  await using heard = await overhear();
  const fleet = await fleetOf(3, db.url);
  const first = await lead(heard.rested);
  expect(fleet.map(({ id }) => id)).toContain(first);
  await fleet.find(({ id }) => id === first)!.stop();
  const second = await lead(heard.rested, first);
  expect(fleet.map(({ id }) => id)).toContain(second);
  for (const worker of fleet) await worker.stop();
});

test("B20: an idle worker asks for nothing but its lease and the upkeep that looks for all", async () => {
  await using heard = await overhear();
  const proxy = await TcpProxy.before(db.url);
  const worker = await startWorker(proxy.url, [handle(job, () => "ran")], { lease: "1s", poll: "2s", alerts: false });
  await listens(worker);
  await asleep(worker);
  const rounds = heard.rested.length;
  await waitUntil("it has rested for a while", () => heard.rested.length > rounds + 2);
  const before = proxy.statements.length;
  await waitUntil("four more rounds", () => heard.rested.length > rounds + 7);
  const asked = proxy.statements.slice(before).filter(({ text }) => !EXPECTED.test(text));
  expect(asked).toEqual([]);
  await worker.stop();
});

test("a queue in which a job waits is not called empty, and a job without a notification is found by the poll", async () => {
  await using heard = await overhear();
  await using client = createClient({ databaseUrl: db.url });
  const worker = await startWorker(db.url, [handle(job, () => "ran")], { lease: "1s", poll: "3s" });
  await listens(worker);
  await asleep(worker);
  await waitUntil("its queue was seen empty", () => heard.rested.some(({ queues }) => queues.includes("default")));
  const claimed = eventOf(worker, "claimed");
  const [row] = await db.query(
    'select id from fairmill.enqueue_many_v1(\'[{"kind": "job", "payload": {"n": 1}}]\', wake => false)',
  );
  await claimed;
  expect(await endOf(client, String(row!["id"]))).toMatchObject({ state: "done" });
  await worker.stop();
});

test("where no worker serves a job, its queue is not called empty", async () => {
  await using heard = await overhear();
  const other = defineJob({ kind: "other" });
  const worker = await startWorker(db.url, [handle(job, () => "ran")], { lease: "1s", poll: "1h" });
  await listens(worker);
  await asleep(worker);
  await using client = createClient({ databaseUrl: db.url });
  const { id } = await client.enqueue(other, {});
  const before = heard.rested.length;
  await waitUntil("two rounds have seen it", () => heard.rested.length > before + 2);
  expect(heard.rested.slice(before + 1).every(({ queues }) => !queues.includes("default"))).toBe(true);
  await client.cancel(id);
  await worker.stop();
});

test("a worker for which another one does the upkeep says that it is idle all the same: it is not stuck", async () => {
  await using heard = await overhear();
  const fleet = await fleetOf(2, db.url);
  const first = await lead(heard.rested);
  const other = fleet.find(({ id }) => id !== first)!;
  let idle = 0;
  other.events.on("idle", () => idle++);
  const before = heard.rested.length;
  await waitUntil("it says so", () => idle > 2);
  expect(heard.rested.slice(before).every(({ worker }) => worker !== other.id)).toBe(true);
  for (const worker of fleet) await worker.stop();
});
