// F7: why a job does not run. One test per reason, each made by the thing itself: a limit, a pause, a worker that is not there.
import { type Client, createClient, defineJob, fixed, handle, type Why } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { endOf, inState, startWorker } from "../support/jobs.js";
import { claim, endLease, enqueueOne, fill, register, settle } from "../support/sql/calls.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob<object>({ kind: "work" });
let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const why = async (id: string): Promise<Why> => (await client.why(id))!;
/** The checks that are not passed, in order. */
const held = ({ checks }: Why) => checks.filter(({ passed }) => !passed).map((one) => one.check);
const checkOf = ({ checks }: Why, name: string) => checks.find((one) => one.check === name);
const detailOf = (told: Why, name: string) => checkOf(told, name)?.detail;
const ISO = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;

/** The reason is the first check that is not passed, whatever else there is. */
function expectReason(told: Why, name: string, reason: string | RegExp): void {
  expect(held(told)[0], told.reason).toBe(name);
  expect(told.reason).toBe(checkOf({ ...told, checks: told.checks.filter(({ passed }) => !passed) }, name)!.reason);
  expect(told.reason).toMatch(reason);
}

describe("its time", () => {
  test("a delayed job is scheduled, and nothing else holds it while a worker lives", async () => {
    await register(db, "w");
    const { id } = await client.enqueue(work, {}, { delay: "1h" });
    const told = await why(id);
    const { runAt } = (await client.job(id))!;
    expect(told).toMatchObject({ id, state: "scheduled" });
    expect(held(told)).toEqual(["scheduled"]);
    expect(told.reason).toBe(`It is scheduled for ${runAt!.toISOString()}.`);
    expect(new Date(detailOf(told, "scheduled")!["runAt"] as string)).toEqual(runAt);
  });

  test("a job that failed waits for its next attempt, and the reason says which and why", async () => {
    const flaky = defineJob<object>({ kind: "flaky", retry: { attempts: 4, backoff: fixed("1h") } });
    await using _ = await startWorker(db.url, [
      handle(flaky, () => {
        throw new Error("no paper");
      }),
    ]);
    const { id } = await client.enqueue(flaky, {});
    await inState(client, id, "scheduled");
    const told = await why(id);
    expectReason(told, "scheduled", new RegExp(`^Attempt 1 of 4 failed \\(no paper\\); the next one is at ${ISO}\\.$`));
    expect(held(told)).toEqual(["scheduled"]);
  });

  test("one that has just become due waits for upkeep, or for a worker that would do it", async () => {
    const id = await enqueueOne(db, { delay_ms: 1 });
    await waitUntil("it is due", async () => {
      const [row] = await db.query("select run_at <= clock_timestamp() as due from fairmill.job");
      return row!["due"];
    });
    expectReason(await why(id), "worker", "No worker is alive.");
    await register(db, "w");
    const told = await why(id);
    expect(told.state).toBe("scheduled");
    expectReason(told, "turn", new RegExp(`^It fell due at ${ISO}: the next upkeep of any worker moves it on`));
  });

  test("one whose time to live is over is not started any more", async () => {
    await register(db, "w");
    const id = await enqueueOne(db, { expire_ms: 3_600_000 });
    expect(checkOf(await why(id), "expired")).toMatchObject({ passed: true });
    await db.query("update fairmill.job set expire_at = clock_timestamp() - interval '1 second'");
    expect(await claim(db, "w")).toEqual([]);
    expectReason(await why(id), "expired", /^Its time to live was over at .* ends it as dead\.$/);
  });
});

describe("workers", () => {
  test("none at all", async () => {
    const { id } = await client.enqueue(work, {});
    const told = await why(id);
    expectReason(told, "worker", "No worker is alive.");
    expect(held(told)).toEqual(["worker"]);
    expect(checkOf(told, "turn")).toMatchObject({ passed: true });
  });

  test("one for another queue, one for the queue but not for the kind, and then one for both", async () => {
    const { id } = await client.enqueue(work, {});
    const other = defineJob<object>({ kind: "other", queue: "elsewhere" });
    await using elsewhere = await startWorker(db.url, [handle(other, () => {})]);
    expectReason(await why(id), "worker", 'No living worker serves the queue "default".');
    await elsewhere.stop();
    await using here = await startWorker(db.url, [handle(defineJob<object>({ kind: "other" }), () => {})]);
    expectReason(await why(id), "worker", 'No living worker of the queue "default" handles the kind "work".');
    await here.stop();
    await using _ = await startWorker(db.url, [handle(work, () => {})]);
    await endOf(client, id);
    expect(await why(id)).toMatchObject({ state: "done" });
  });

  test("the only one has lost its lease, or was stopped", async () => {
    await register(db, "w");
    const { id } = await client.enqueue(work, {});
    expect(held(await why(id))).toEqual([]);
    await endLease(db, "w");
    expectReason(
      await why(id),
      "worker",
      new RegExp(`^No worker is alive\\. The lease of the last one that did, w, was over at ${ISO}\\.$`),
    );
    await db.query("select fairmill.stop_worker_v1('w')");
    expectReason(await why(id), "worker", /^No worker is alive\. The last one that did, w, was stopped\.$/);
  });

  test("that are busy are told with what they hold", async () => {
    await register(db, "w");
    await fill(db, 2);
    await claim(db, "w", 1);
    const { id } = (await client.jobs.list({ state: "ready" }))[0]!;
    expect(checkOf(await why(id), "worker")).toMatchObject({
      passed: true,
      reason: "1 living worker serves its queue and kind, with a capacity of 1; 1 job runs there.",
      detail: { workers: 1, capacity: 1, running: 1 },
    });
    await register(db, "v");
    expect(checkOf(await why(id), "worker")!.reason).toBe(
      "2 living workers serve its queue and kind, with a capacity of 2; 1 job runs there.",
    );
  });
});

describe("its turn", () => {
  test("comes after earlier jobs of its lane, beside other lanes, below higher priorities", async () => {
    await register(db, "w");
    await fill(db, 3, { tenant: "acme" });
    const { id } = await client.enqueue(work, {}, { tenant: "acme" });
    expectReason(
      await why(id),
      "turn",
      "It is ready and waits for its turn: 3 earlier jobs of its tenant go before it.",
    );
    await fill(db, 5, { tenant: "bob" });
    await fill(db, 1, { tenant: "cleo", queue: "elsewhere" });
    await fill(db, 1, { tenant: "acme", priority: -1 });
    await fill(db, 1, { tenant: "dan", priority: 5 });
    await fill(db, 1, { tenant: "eve", priority: 6 });
    const told = await why(id);
    expectReason(
      told,
      "turn",
      "It is ready and waits for its turn: 3 earlier jobs of its tenant go before it, 1 other tenant waits at its priority, 2 lanes wait at higher priorities.",
    );
    expect(detailOf(told, "turn")).toMatchObject({ ahead: 3, lanesBeside: 1, lanesAbove: 2, priority: 0 });
    const [first] = await client.jobs.list({ tenant: "bob" }).then((jobs) => jobs.slice(-1));
    expect((await why(first!.id)).reason).toContain("it is the first of its tenant, 1 other tenant waits");
  });

  test("is next when no job waits before it", async () => {
    await register(db, "w");
    const { id } = await client.enqueue(work, {});
    const told = await why(id);
    expect(held(told)).toEqual([]);
    expect(told.reason).toMatch(/^It is the next: /);
    expect(told.checks.map((one) => one.check)).toEqual(["state", "scheduled", "paused", "worker", "turn"]);
  });
});

describe("its state", () => {
  test("running, and asked to stop, and with a worker that is gone", async () => {
    await register(db, "w");
    const { id } = await client.enqueue(work, {});
    await claim(db, "w");
    const told = await why(id);
    expect(told).toMatchObject({ id, state: "running", checks: [{ check: "state", passed: true }] });
    expect(told.reason).toMatch(new RegExp(`^It runs on worker w, which took it at ${ISO}\\.$`));
    await client.cancel(id);
    expect((await why(id)).reason).toMatch(/^It runs on worker w and was asked to stop at /);
    await endLease(db, "w");
    expectReason(
      await why(id),
      "state",
      /^The worker w, which took it at .*, has lost its lease: .* puts the job back\.$/,
    );
  });

  test("done, dead, cancelled, and none", async () => {
    await register(db, "w");
    const ids = (await client.enqueueMany(work, [{ input: {} }, { input: {} }, { input: {} }])).map((one) => one.id);
    const claims = (await claim(db, "w", 2)).toSorted((a, b) => Number(a.id) - Number(b.id));
    await settle(db, "w", claims, ["done", "dead"], [{}, { error: { message: "no paper" } }]);
    await client.cancel(ids[2]!);
    const [done, dead, cancelled] = await Promise.all(ids.map(why));
    expect(done).toMatchObject({ state: "done", checks: [{ check: "state", passed: true }] });
    expect(done!.reason).toMatch(new RegExp(`^It has run: it is done since ${ISO}\\.$`));
    expect(dead!.state).toBe("dead");
    expectReason(dead!, "state", /^It has ended: it is dead since .* \(no paper\)\.$/);
    expectReason(cancelled!, "state", /^It has ended: it is cancelled since /);
    expect(await client.why("999999999")).toBeUndefined();
    await expect(client.why("x")).rejects.toThrow(/is not a job id/);
  });
});
