// `why` of a job that a limit keeps from running: pauses, caps, rates and keys, compared with what a claim does.
import { type Client, createClient, defineJob, handle, type JobOptions, type Why } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { begun, endOf, gate, inState, startWorker } from "../support/jobs.js";
import { claim, fill, register, settle } from "../support/sql/calls.js";

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

const endsWith = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
