// A pause with an end: the database's clock ends it, and nothing has to be done for that.
import { type Client, ConfigError, createClient, createWorker, defineJob, handle } from "fairmill";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PauseRequest } from "../../src/limits/limit-settings.js";
import { useDatabase } from "../support/database.js";
import { claim, claimUnderLimits, enqueueOne, register, rescanNo, setLimits, tick } from "../support/sql/calls.js";
import { openSession } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const FAR = "2999-01-01T00:00:00.000Z";
const SCOPES = [
  ["queue", "default"],
  ["kind", "work"],
  ["tenant", "default"],
] as const;

let client: Client;
beforeEach(() => {
  client = createClient({ databaseUrl: db.url });
});
afterEach(() => client.close());

const settings = () =>
  db.query<{ paused: boolean; until: Date | null }>(
    "select paused_at is not null as paused, paused_until as until from fairmill.limit_setting",
  );
/** As if its time had passed. */
const letItEnd = () => db.query("update fairmill.limit_setting set paused_until = now() - interval '1 second'");

describe.each(SCOPES)("the pause of a %s", (scope, name) => {
  const what = { [scope]: name } as unknown as PauseRequest;

  test("holds claims back until its end, and says when that is", async () => {
    await register(db, "w");
    const id = await enqueueOne(db);
    await setLimits(db, scope, name, { paused: true, paused_for_ms: 60_000 });
    const { jobs, told } = await claimUnderLimits(db, "w");
    expect(jobs).toEqual([]);
    expect(told?.limits).toMatchObject([{ scope, name, why: "paused" }]);
    expect(told!.limits[0]!.open_in_ms).toBeGreaterThan(0);
    expect(told!.limits[0]!.open_in_ms).toBeLessThanOrEqual(60_000);
    expect(await claim(db, "w")).toEqual([]);
    await letItEnd();
    expect(await claim(db, "w")).toMatchObject([{ id }]);
    // Nothing was done for that: the row is as it was.
    expect(await settings()).toMatchObject([{ paused: true }]);
  });

  test("without an end gives no time", async () => {
    await register(db, "w");
    await enqueueOne(db);
    await setLimits(db, scope, name, { paused: true, rate: { limit: 1, per_ms: 1000 } });
    expect((await claimUnderLimits(db, "w")).told?.limits).toMatchObject([
      { scope, name, why: "paused", open_in_ms: null },
    ]);
  });

  test("is told by why and by the overview, and after its end by neither", async () => {
    const job = defineJob({ kind: "work" });
    const { id } = await client.enqueue(job, {});
    await client.pause({ ...what, until: FAR });
    const told = await client.why(id);
    expect(told?.reason).toBe(`The ${scope} "${name}" is paused until ${FAR}.`);
    const overview = async () =>
      (await client[`${scope}s`].get(name)) as { pausedUntil: Date | null; pausedAt: Date | null };
    expect(await overview()).toMatchObject({ pausedUntil: new Date(FAR) });
    await letItEnd();
    const after = await client.why(id);
    expect(after?.checks.find(({ check }) => check === "paused")).toMatchObject({ passed: true });
    expect(await overview()).toMatchObject({ pausedUntil: null, pausedAt: null });
  });

  test("ends while a worker sleeps: it goes on without being told", async () => {
    const job = defineJob({ kind: "work" });
    await client.pause({ ...what, for: "1500ms" });
    const { id } = await client.enqueue(job, {});
    const worker = createWorker({ databaseUrl: db.url, handlers: [handle(job, () => "ran")], poll: "1h" });
    await worker.start();
    expect(await client.result(id)).toBe("ran");
    const [row] = await db.query<{ early: boolean }>(
      "select h.started_at - h.created_at < interval '1 second' as early from fairmill.job_history h",
    );
    expect(row).toEqual({ early: false });
    await worker.stop();
  });
});

describe("upkeep", () => {
  test("clears a pause that has ended, and its row where nothing else is in it, and wakes the workers", async () => {
    await register(db, "w");
    await client.pause({ tenant: "acme", until: FAR });
    await client.pause({ queue: "default", until: FAR });
    await client.queues.set("default", { maxRunning: 3 });
    await tick(db);
    expect(await settings()).toHaveLength(2);
    const before = await rescanNo(db);
    await letItEnd();
    await tick(db);
    expect(await settings()).toEqual([{ paused: false, until: null }]);
    expect(await rescanNo(db)).toBe(before + 1);
    await tick(db);
    expect(await rescanNo(db)).toBe(before + 1);
  });

  test("is due when the first pause ends, and leaves one alone that another session changes", async () => {
    await client.pause({ tenant: "acme", for: "1m" });
    const [{ next_in_ms: nextMs } = {}] = await tick(db);
    expect(nextMs).toBeGreaterThan(0);
    expect(nextMs).toBeLessThanOrEqual(60_000);
    await letItEnd();
    const session = await openSession(db.url);
    await session.query("begin");
    await session.query("select from fairmill.limit_setting for update");
    await tick(db);
    expect(await settings()).toHaveLength(1);
    await session.query("rollback");
    await session.close();
    await waitUntil("it is cleared", async () => {
      await tick(db);
      return (await settings()).length === 0;
    });
  });
});

describe("what is said last holds", () => {
  test("resume clears the end; a pause without one has none; one that has ended begins again", async () => {
    await client.pause({ queue: "default", until: FAR });
    await client.resume({ queue: "default" });
    expect(await settings()).toEqual([]);
    await client.pause({ queue: "default", until: FAR });
    await client.pause({ queue: "default" });
    expect(await settings()).toEqual([{ paused: true, until: null }]);
    await client.pause({ queue: "default", until: FAR });
    await db.query("update fairmill.limit_setting set paused_at = '2001-01-01', paused_until = '2001-01-02'");
    await client.queues.set("default", { maxRunning: 3 });
    expect(await settings()).toEqual([{ paused: false, until: null }]);
    await db.query("update fairmill.limit_setting set paused_at = '2001-01-01', paused_until = '2001-01-02'");
    await client.pause({ queue: "default" });
    expect((await client.queues.get("default"))?.pausedAt?.getUTCFullYear()).toBeGreaterThan(2001);
  });

  test.each([
    [{ queue: "q", until: "2001-01-01T00:00:00Z" }, /has passed by the clock of the database/],
    [{ queue: "q", until: FAR, for: "1m" }, /give until or for, not both/],
    [{ queue: "q", until: "tomorrow" }, /is not a time/],
    [{ queue: "q", for: 0 }, /a pause of no time is none/],
    [{ queue: "q", untill: FAR }, /pause: say what/],
    [{ until: FAR }, /pause: say what/],
  ])("%j is refused", async (given, message) => {
    const error = await client.pause(given as unknown as PauseRequest).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(message);
    expect(await settings()).toEqual([]);
  });

  test.each([
    { paused: true, paused_until: "infinity" },
    { paused: false, paused_until: FAR },
    { paused_for_ms: 1000 },
    { paused: true, paused_for_ms: -1 },
    { paused: true, paused_for_ms: 1000, paused_until: FAR },
  ])("plain SQL: %j is refused", async (given) => {
    await expect(setLimits(db, "queue", "q", given)).rejects.toMatchObject({ code: "FM001" });
    expect(await settings()).toEqual([]);
  });
});
