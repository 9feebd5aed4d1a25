// F7: why a job does not run. One test per reason, each made by the thing itself: a limit, a pause, a worker that is not there.
import { type Client, createClient, defineFlow, defineJob, fixed, handle, type JobOptions, type Why } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { explainEverything, plansOf, readersOf } from "../db/plans/plan-reader.js";
import { useDatabase } from "../support/database.js";
import { begun, endOf, gate, inState, startWorker } from "../support/jobs.js";
import { claim, endLease, enqueueOne, fill, register, settle } from "../support/sql/calls.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const work = defineJob<object>({ kind: "work" });
const limited = (options: Partial<JobOptions<undefined, { user: string }>>) =>
  defineJob<{ user: string }>({ kind: "limited", key: ({ user }) => user, ...options });

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

describe("a pause", () => {
  test.each([
    ["queue", { queue: "default" }],
    ["kind", { kind: "work" }],
    ["tenant", { tenant: "default" }],
  ] as const)("of its %s holds it, and resuming lets it go", async (scope, name) => {
    await register(db, "w");
    const { id } = await client.enqueue(work, {});
    await client.pause(name);
    expect(await claim(db, "w")).toEqual([]);
    const told = await why(id);
    expectReason(told, "paused", new RegExp(`^The ${scope} "\\w+" is paused since ${ISO}\\.$`));
    expect(held(told)).toEqual(["paused"]);
    expect(detailOf(told, "paused")).toMatchObject({ scope, name: Object.values(name)[0] });
    await client.resume(name);
    expect(held(await why(id))).toEqual([]);
    expect(await claim(db, "w")).toMatchObject([{ id }]);
  });

  test("of all three is told three times", async () => {
    const { id } = await client.enqueue(work, {});
    for (const name of [{ queue: "default" }, { kind: "work" }, { tenant: "default" }]) await client.pause(name);
    expect(held(await why(id))).toEqual(["paused", "paused", "paused", "worker"]);
  });
});

describe("a cap", () => {
  test.each([
    ["tenant", () => client.tenants.set("default", { maxRunning: 2 })],
    ["queue", () => client.queues.set("default", { maxRunning: 2 })],
    ["kind", () => client.kinds.set("work", { maxRunning: 2 })],
  ] as const)("of its %s is held by the jobs that run, and they are named", async (scope, set) => {
    await set();
    await register(db, "w");
    const ids = (await client.enqueueMany(work, [{ input: {} }, { input: {} }, { input: {} }])).map((one) => one.id);
    const claims = await claim(db, "w", 3);
    expect(claims).toHaveLength(2);
    const told = await why(ids[2]!);
    expectReason(told, `${scope} cap`, new RegExp(`^The ${scope} "\\w+" may run 2 at once, and 2 run: jobs `));
    expect(held(told)).toEqual([`${scope} cap`]);
    const holders = detailOf(told, `${scope} cap`)!["heldBy"] as { id: string; worker: string }[];
    expect(holders.map((one) => one.id).toSorted()).toEqual(ids.slice(0, 2).toSorted());
    expect(holders[0]!.worker).toBe("w");
    await settle(db, "w", claims.slice(0, 1), "done");
    expect(checkOf(await why(ids[2]!), `${scope} cap`)).toMatchObject({
      passed: true,
      reason: expect.stringMatching(/ may run 2 at once, and 1 runs\.$/),
    });
    expect(await claim(db, "w", 3)).toMatchObject([{ id: ids[2] }]);
  });

  test("of another tenant, queue and kind is not its own", async () => {
    await register(db, "w");
    await client.tenants.set("other", { maxRunning: 1 });
    await client.tenants.set("own", { maxRunning: 1 });
    await client.queues.set("elsewhere", { maxRunning: 1 });
    await client.queues.set("default", { maxRunning: 2 });
    await client.kinds.set("other", { maxRunning: 1 });
    await client.kinds.set("work", { maxRunning: 1 });
    await fill(db, 1, { tenant: "other", kind: "other" });
    await fill(db, 1, { tenant: "third", kind: "third", queue: "elsewhere" });
    expect(await claim(db, "w", 5)).toHaveLength(1);
    expect(await claim(db, "w", 5, { queue: "elsewhere" })).toHaveLength(1);
    const { id } = await client.enqueue(work, {}, { tenant: "own" });
    const told = await why(id);
    expect(held(told)).toEqual([]);
    expect(detailOf(told, "tenant cap")).toMatchObject({ running: 0 });
    expect(detailOf(told, "queue cap")).toMatchObject({ running: 1 });
    expect(detailOf(told, "kind cap")).toMatchObject({ running: 0 });
    expect(await claim(db, "w", 5)).toMatchObject([{ id }]);
  });

  test("of 0 lets nothing run, and names no job", async () => {
    await register(db, "w");
    await client.tenants.set("acme", { maxRunning: 0 });
    const { id } = await client.enqueue(work, {}, { tenant: "acme" });
    expect(await claim(db, "w")).toEqual([]);
    const told = await why(id);
    expectReason(told, "tenant cap", 'The tenant "acme" may run nothing: its cap is 0.');
    expect(detailOf(told, "tenant cap")).toMatchObject({ running: 0, heldBy: [] });
  });

  test("that was lowered while more run says how many do", async () => {
    await register(db, "w");
    await client.tenants.set("default", { maxRunning: 30 });
    await fill(db, 16);
    expect(await claim(db, "w", 15)).toHaveLength(15);
    await client.tenants.set("default", { maxRunning: 1 });
    const { id } = (await client.jobs.list({ state: "ready" }))[0]!;
    const told = await why(id);
    expectReason(told, "tenant cap", /may run 1 at once, and 15 run: jobs (\d+, ){9}\d+ and 5 more\.$/);
    expect(detailOf(told, "tenant cap")!["heldBy"]).toHaveLength(10);
  });
});

describe("with a real worker", () => {
  const slow = defineJob<object>({ kind: "slow" });

  test("a cap names the job that its worker runs, and when that ends the next one goes on", async () => {
    const { promise, open } = gate();
    await client.tenants.set("acme", { maxRunning: 1 });
    await using worker = await startWorker(db.url, [handle(slow, () => promise)]);
    const first = await client.enqueue(slow, {}, { tenant: "acme" });
    await inState(client, first.id, "running");
    const second = await client.enqueue(slow, {}, { tenant: "acme" });
    const told = await why(second.id);
    expectReason(told, "tenant cap", `The tenant "acme" may run 1 at once, and 1 runs: job ${first.id}.`);
    expect(detailOf(told, "tenant cap")).toMatchObject({ heldBy: [{ id: first.id, worker: worker.id }] });
    expect(held(told)).toEqual(["tenant cap"]);
    open();
    expect(await endOf(client, second.id)).toMatchObject({ state: "done" });
  });

  test("a pause is the reason until it is resumed, and then the job runs", async () => {
    await client.pause({ kind: "slow" });
    await using _ = await startWorker(db.url, [handle(slow, () => {})]);
    const { id } = await client.enqueue(slow, {});
    expect(held(await why(id))).toEqual(["paused"]);
    await client.resume({ kind: "slow" });
    expect(await endOf(client, id)).toMatchObject({ state: "done" });
  });
});

describe("a rate", () => {
  test.each([
    ["tenant", () => client.tenants.set("default", { rate: { limit: 1, per: "1h" } })],
    ["queue", () => client.queues.set("default", { rate: { limit: 1, per: "1h" } })],
    ["kind", () => client.kinds.set("work", { rate: { limit: 1, per: "1h" } })],
  ] as const)("of its %s is used up until a moment that is told", async (scope, set) => {
    await set();
    await register(db, "w");
    const [, second] = await client.enqueueMany(work, [{ input: {} }, { input: {} }]);
    expect(checkOf(await why(second!.id), "rate")).toMatchObject({ passed: true });
    const [claimed] = await claim(db, "w", 2);
    const { startedAt } = (await client.job(claimed!.id))!;
    const told = await why(second!.id);
    expectReason(told, "rate", new RegExp(`^The ${scope} "\\w+" may start 1 per hour; the next one at ${ISO}\\.$`));
    expect(held(told)).toEqual(["rate"]);
    const openAt = new Date(detailOf(told, "rate")!["openAt"] as string);
    const waitMs = openAt.getTime() - startedAt!.getTime();
    expect(waitMs).toBeGreaterThanOrEqual(3_600_000);
    expect(waitMs).toBeLessThan(3_600_000 * (1 + 1 / 200));
  });

  test("of its key put it back, for a moment that is told", async () => {
    const rated = limited({ limits: { rate: { limit: 1, per: "1h", how: "uniform" } } });
    await register(db, "w");
    const first = await client.enqueue(rated, { user: "ann" });
    const second = await client.enqueue(rated, { user: "ann" });
    expect(await claim(db, "w", 2)).toMatchObject([{ id: first.id }]);
    const { runAt } = (await client.job(second.id))!;
    const told = await why(second.id);
    expectReason(told, "scheduled", `The rate of its key (1 per hour) delays it until ${runAt!.toISOString()}.`);
    expect(held(told)).toEqual(["scheduled", "rate"]);
    expect(detailOf(told, "scheduled")).toMatchObject({ rateLimitedTimes: 1, rateLimited: true });
    expect(detailOf(told, "rate")).toMatchObject({
      scope: "key",
      name: "limited / default / ann",
      rateLimitedTimes: 1,
    });

    const third = await client.enqueue(rated, { user: "ann" });
    expectReason(
      await why(third.id),
      "rate",
      /^The key "limited \/ default \/ ann" may start 1 per hour; .* queues up behind them\.$/,
    );
    // Room or not: while one of its key waits for its moment, a newcomer is put behind it.
    await db.query("update fairmill.meter set spent_at = null, spent = null");
    expectReason(await why(third.id), "rate", /queues up behind them\.$/);
    expect(await claim(db, "w", 2)).toEqual([]);
    expect(await client.job(third.id)).toMatchObject({ state: "scheduled" });
    const other = await client.enqueue(rated, { user: "bob" });
    expect(checkOf(await why(other.id), "rate")).toMatchObject({ passed: true });
  });

  test("of its key that is used up is told before the job is put back", async () => {
    const rated = limited({ limits: { rate: { limit: 1, per: "1h" } } });
    await register(db, "w");
    await client.enqueue(rated, { user: "ann" });
    await claim(db, "w", 1);
    const { id } = await client.enqueue(rated, { user: "ann" });
    const told = await why(id);
    expect(told.state).toBe("ready");
    expectReason(told, "rate", /^The key .* may start 1 per hour; the next one at /);
  });
});

describe("its key", () => {
  const one = limited({ limits: { active: 1 } });

  test("is held by another job, which is named, and it has a slot in line", async () => {
    await using worker = await startWorker(db.url, [handle(one, ({ signal }) => endsWith(signal))]);
    const first = await begun(client, worker, one, { user: "ann" });
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) ids.push((await client.enqueue(one, { user: "ann" })).id);
    const [next, , third] = await Promise.all(ids.map(why));
    expect(next).toMatchObject({ state: "blocked" });
    expectReason(
      next!,
      "key",
      `The key "limited / default / ann" may have 1 at once, and job ${first} runs on worker ${worker.id}; it is the next in line.`,
    );
    expect(held(next!)).toEqual(["key"]);
    expectReason(third!, "key", /; 2 wait before it\.$/);
    expect(detailOf(third!, "key")).toMatchObject({
      limit: 1,
      held: 1,
      ahead: 2,
      heldBy: [{ id: first, state: "running" }],
    });

    const paying = await client.enqueue(one, { user: "ann" }, { priority: 5 });
    expect(detailOf(await why(paying.id), "key")).toMatchObject({ ahead: 0 });
    expect(detailOf(await why(ids[2]!), "key")).toMatchObject({ ahead: 3 });
    for (const id of [...ids, paying.id, first]) await client.cancel(id);
    await endOf(client, first);
  });

  test("is held by a job that waits itself, or has a slot for it", async () => {
    await register(db, "w");
    const first = await client.enqueue(one, { user: "ann" });
    const second = await client.enqueue(one, { user: "ann" });
    expectReason(await why(second.id), "key", `and job ${first.id} is ready; it is the next in line.`);
    expect(checkOf(await why(first.id), "key")).toMatchObject({
      passed: true,
      reason: expect.stringContaining("It holds a slot"),
    });
    await client.cancel(first.id);
    expect(held(await why(second.id))).toEqual([]);
  });

  test("whose limit is gone lets it through by the next upkeep", async () => {
    await register(db, "w");
    await client.enqueue(one, { user: "ann" });
    const { id } = await client.enqueue(one, { user: "ann" });
    await db.query("select fairmill.set_key_limits_v1('limited', null)");
    expectReason(await why(id), "key", /has no limit any more: the next upkeep lets it through\.$/);
    await db.query("select fairmill.tick_upkeep_v1()");
    expect(await why(id)).toMatchObject({ state: "ready" });
  });

  test("is asked for a due job that a transaction of the caller left for upkeep", async () => {
    await register(db, "w");
    const first = await client.enqueue(one, { user: "ann" });
    const { id } = await client.in(db.pool).enqueue(one, { user: "ann" });
    const told = await why(id);
    expect(told.state).toBe("scheduled");
    expectReason(told, "key", `and job ${first.id} is ready.`);
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

describe("a node of a flow", () => {
  test("waits for the nodes before it, which are named, then has jobs, then is over", async () => {
    await register(db, "w");
    const album = defineFlow({ name: "album" }, (flow) => {
      const cut = flow.job("cut", work, () => ({}));
      const scan = flow.job("scan", work, () => ({}));
      flow.job("print", work, () => ({}), { after: [cut, scan] });
    });
    const { id } = await client.flows.start(album, {});
    const nodes = await db.query<{ id: string; name: string }>(
      "select id, name from fairmill.batch where role = 'node'",
    );
    const idOf = (name: string) => nodes.find((node) => node.name === name)!.id;
    const print = idOf("print");
    const told = (await client.why({ node: print }))!;
    expect(told).toMatchObject({
      id: print,
      state: "waiting",
      reason: 'It waits for 2 nodes before it: "cut" (pending), "scan" (pending).',
    });
    expect(told.checks[1]).toMatchObject({
      check: "dependency",
      passed: false,
      detail: { waits: 2, before: [{ name: "cut" }, { name: "scan" }] },
    });
    expect((await client.why({ node: idOf("cut") }))!.reason).toMatch(/^1 of its jobs has not ended, job \d+\.$/);
    for (const expected of [2, 1]) {
      const claims = await claim(db, "w", 10);
      expect(claims).toHaveLength(expected);
      await settle(db, "w", claims, "done");
      if (expected === 2) expect((await client.why({ node: print }))!).toMatchObject({ state: "pending" });
    }
    expect((await client.why({ node: print }))!.reason).toMatch(/^The node is over: it is succeeded since /);
    expect(await client.why({ node: id })).toBeUndefined();
  });
});

describe("a message", () => {
  test("waits for the head of its order key, and then for whatever its delivery job waits for", async () => {
    const publish = (n: number) =>
      client.publish("mail", { n }, { idempotencyKey: `m${n}`, orderKey: "ann" }).then(({ id }) => id);
    const [first, second, third] = [await publish(1), await publish(2), await publish(3)];
    await db.query("select fairmill.tick_upkeep_v1()");
    const { jobId } = (await client.outbox.get(first!))!;
    expect(await client.why({ message: third! })).toMatchObject({
      state: "pending",
      reason: `Message ${first} of its order key "ann" goes first: it is pending, and job ${jobId} delivers it; 1 more waits before this one.`,
    });
    expect((await client.why({ message: second! }))!.checks[1]).toMatchObject({
      check: "order",
      passed: false,
      detail: { orderKey: "ann", head: first, headJob: jobId, ahead: 0 },
    });
    const told = (await client.why({ message: first! }))!;
    expect(told.checks.map((one) => one.check).slice(0, 2)).toEqual(["state", "order"]);
    expect(told.reason).toBe("No worker is alive.");
    expect(await client.why({ message: "999999" })).toBeUndefined();
    await client.cancel(jobId!);
    expect((await client.why({ message: first! }))!.reason).toMatch(/^The message is /);
    await db.query("delete from fairmill.job");
    await db.query("delete from fairmill.outbox");
  });
});

test("credits: what it holds, and that a retry would be refused", async () => {
  const paid = defineJob<object>({ kind: "paid", credits: { account: () => "acme", amount: 5 } });
  await client.credits.grant("acme", 5);
  const { id } = await client.enqueue(paid, {});
  expect(checkOf(await why(id), "credits")).toMatchObject({
    passed: true,
    reason: 'It has reserved 5 of the account "acme".',
    detail: { account: "acme", amount: 5, balance: 0 },
  });
  await client.cancel(id);
  expect(checkOf(await why(id), "credits")).toMatchObject({ passed: true });
  await client.enqueue(paid, {});
  expect(checkOf(await why(id), "credits")).toMatchObject({
    passed: false,
    reason: 'A retry needs 5 of the account "acme", which has 0: it is refused until there are enough.',
  });
});

test("stays cheap with 100,000 jobs waiting in its lane, its key and beside it, and changes nothing", async () => {
  await register(db, "w");
  await client.enqueue(limited({ limits: { active: 1, rate: { limit: 5, per: "1h" } } }), { user: "ann" });
  await client.tenants.set("default", { maxRunning: 50, rate: { limit: 100, per: "1h" } });
  await client.kinds.set("limited", { maxRunning: 50 });
  await fill(db, 1);
  await claim(db, "w", 2);
  await db.query(
    `insert into fairmill.job (kind, queue, tenant, key, state, aside, payload, limit_key)
     select 'limited', 'default', 'default', 'ann', 'blocked', 'blocked', '{}', '["limited", "default", "ann"]' from generate_series(1, 50000)`,
  );
  await fill(db, 50_000);
  await db.query(
    "insert into fairmill.job (kind, queue, tenant, state, payload) select 'work', 'default', 't' || n, 'ready', '{}' from generate_series(1, 3000) n",
  );
  const [last] = await db.query<{ blocked: string; ready: string }>(
    "select max(id) filter (where state = 'blocked') as blocked, max(id) filter (where state = 'ready' and tenant = 'default') as ready from fairmill.job",
  );
  expect((await why(last!.blocked)).reason).toMatch(/; 1000 or more wait before it\.$/);
  expect((await why(last!.ready)).reason).toMatch(
    /: 1000 or more earlier jobs of its tenant go before it, \d+ or more other tenants wait/,
  );
  const session = await openSession(db.url);
  try {
    await explainEverything(session);
    for (const id of [last!.blocked, last!.ready]) {
      const plans = await plansOf(session, "select * from fairmill.why_v1($1)", [id]);
      const readers = readersOf(plans, "job");
      expect(readers.filter(({ type }) => type === "Seq Scan")).toEqual([]);
      expect(readers.every(({ rowsInVain }) => rowsInVain <= 200)).toBe(true);
      expect(readers.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThan(8_000);
    }
    // Refused if anything in it wrote.
    await session.query("set default_transaction_read_only = on");
    await session.query("select * from fairmill.why_v1($1)", [last!.ready]);
  } finally {
    await session.close();
  }
});

const endsWith = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
