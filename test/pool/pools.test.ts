// Pools by SQL alone: what waits and why, what a supervisor reports, who leads, what is decided, and how many workers are desired.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { call, claimLanes, enqueue, fillTenants, register, setLimits, setRule, tick } from "../support/sql/calls.js";

const db = useDatabase();

const backlog = async (queues: string[] | null = null, kinds: string[] | null = null) =>
  Object.fromEntries(
    (
      await db.query<{ queue: string; reason: string; jobs: number; is_more: boolean }>(
        "select * from fairmill.backlog_v1($1, $2)",
        [queues, kinds],
      )
    ).map(({ queue, reason, jobs, is_more }) => [`${queue}: ${reason}`, is_more ? `${jobs}+` : jobs]),
  );

const many = (count: number, job: object = {}) =>
  enqueue(
    db,
    Array.from({ length: count }, () => ({ kind: "work", ...job })),
  );

describe("backlog_v1", () => {
  test("says of every waiting job what keeps it, and counts as runnable only what a worker more could start", async () => {
    await register(db, "w");
    await many(3);
    await many(4, { queue: "mails" });
    await many(2, { run_at: "2099-01-01" });
    await many(5, { tenant: "paused" });
    await setLimits(db, "tenant", "paused", { paused: true });
    await many(6, { tenant: "capped" });
    await setLimits(db, "tenant", "capped", { max_running: 2 });
    await many(6, { tenant: "rated" });
    await setLimits(db, "tenant", "rated", { rate: { limit: 1, per_ms: 60_000, how: "window", at: "start" } });
    await setRule(db, { per: "kind", max_running: 1, when_full: "wait", rate: null }, "one-at-a-time");
    await many(3, { kind: "one-at-a-time" });
    expect(await backlog()).toEqual({
      "default: runnable": 3 + 2 + 1 + 1,
      "mails: runnable": 4,
      "default: scheduled": 2,
      "default: paused": 5,
      "default: capped": 4 + 2,
      "default: rate-limited": 5,
    });
    expect(await backlog(["mails"])).toEqual({ "mails: runnable": 4 });
  });

  test("what runs under a cap takes its room, and a key's slot makes others blocked", async () => {
    await register(db, "w");
    await setLimits(db, "queue", "default", { max_running: 3 });
    await many(10);
    await claimLanes(db, "w", [{ tenant: "default" }], 2);
    expect(await backlog()).toMatchObject({ "default: runnable": 1, "default: capped": 7 });
    await setLimits(db, "queue", "default", { max_running: null });
    await setRule(db, { per: "key", max_running: 1, when_full: "wait", rate: null });
    await many(4, { kind: "limited", key: "k", queue: "keyed" });
    await tick(db);
    expect(await backlog(["keyed"])).toEqual({ "keyed: runnable": 1, "keyed: blocked": 3 });
  });

  test("kinds without a handler do not count: of living workers, of a pool whose last child has ended, or as the caller says", async () => {
    await db.query("select fairmill.register_v1('w', '{default}', '1 hour', '{work}')");
    await many(2);
    await many(3, { kind: "unknown" });
    expect(await backlog()).toEqual({ "default: runnable": 2, "default: no handler": 3 });
    expect(await backlog(null, ["unknown"])).toEqual({ "default: runnable": 3, "default: no handler": 2 });
    await db.query("update fairmill.worker set state = 'stopped'");
    await db.query(`insert into fairmill.pool (name, settings) values ('p', '{"kinds": ["unknown"]}')`);
    expect(await backlog()).toEqual({ "default: runnable": 3, "default: no handler": 2 });
  });

  test("counts are bounded: 1000 of a lane, and 20,000 in all", async () => {
    await register(db, "w");
    await fillTenants(db, 1, 1_500);
    expect(await backlog()).toEqual({ "default: runnable": "1000+" });
    await fillTenants(db, 30, 1_000);
    const { "default: runnable": count } = await backlog();
    expect(count).toBe("20000+");
  });
});

describe("desired_workers_v1", () => {
  const desired = (pool = "p") => call<number | null>(db, "desired_workers_v1($1)", [pool]);
  const settings = {
    min: 0,
    max: 8,
    capacity: 10,
    target_wait_ms: 30_000,
    mean_run_ms: 3_000,
    queues: ["default"],
    kinds: ["work"],
  };

  test("is what was decided last, while a supervisor decides", async () => {
    await db.query(
      "insert into fairmill.pool (name, settings, desired, decided_at, decide_every) values ('p', $1, 5, now(), '10 s')",
      [JSON.stringify(settings)],
    );
    expect(await desired()).toBe(5);
    await db.query("update fairmill.pool set decided_at = now() - interval '31 s'");
    expect(await desired()).toBe(0);
  });

  test("when no supervisor lives: by what is runnable, between the bounds", async () => {
    await db.query("insert into fairmill.pool (name, settings) values ('p', $1)", [JSON.stringify(settings)]);
    expect(await desired()).toBe(0);
    await many(5, { run_at: "2099-01-01" });
    await many(5, { kind: "unknown" });
    expect(await desired()).toBe(0);
    await many(1);
    expect(await desired()).toBe(1);
    await many(999);
    expect(await desired()).toBe(8);
    await db.query("update fairmill.pool set settings = settings || '{\"mean_run_ms\": 300}'");
    expect(await desired()).toBe(1);
    expect(await desired("none")).toBeNull();
  });
});

describe("supervisors", () => {
  const report = (id: string, children: object[] = [], everyMs = 1_000) =>
    call<number>(db, "report_pool_v1('p', $1, $2, '{}')", [
      JSON.stringify({ id, host: "h", pid: 1, started_at_ms: 0, report_every_ms: everyMs }),
      JSON.stringify(children),
    ]);
  const child = (number: number, state: string) => ({
    number,
    pid: 7,
    state,
    draining: false,
    reason: null,
    failures: 0,
    running: 0,
    jobs_processed: 0,
    cpu: 0,
    memory_bytes: 0,
    uptime_ms: 5,
    started_at_ms: 0,
  });

  test("report children, of which those that are not named are forgotten; those of others stay", async () => {
    expect(await report("a", [child(1, "idle"), child(2, "ready")])).toBe(1);
    expect(await report("b", [child(1, "ready")])).toBe(2);
    await report("a", [child(2, "working")]);
    expect(await db.query("select supervisor, number, state from fairmill.child order by 1, 2")).toEqual([
      { supervisor: "a", number: 2, state: "working" },
      { supervisor: "b", number: 1, state: "ready" },
    ]);
    await call(db, "leave_pool_v1('a')");
    expect(await db.query("select supervisor from fairmill.child")).toEqual([{ supervisor: "b" }]);
  });

  test("a state that the life cycle does not know is refused", async () => {
    await expect(report("a", [child(1, "asleep")])).rejects.toThrow(/child_state_is_known/);
  });

  test("that were not seen for three reports do not count, and after a day they are forgotten", async () => {
    await report("a");
    await db.query("update fairmill.supervisor set seen_at = now() - interval '4 s'");
    expect(await report("b")).toBe(1);
    await db.query("update fairmill.supervisor set seen_at = now() - interval '2 days' where id = 'a'");
    await report("b");
    expect(await db.query("select id from fairmill.supervisor")).toEqual([{ id: "b" }]);
  });

  test("one leads, until its lease is over or it leaves", async () => {
    await report("a");
    await report("b");
    const lead = (id: string, lease = "1 hour") => call<boolean>(db, "lead_pool_v1('p', $1, $2)", [id, lease]);
    expect([await lead("a"), await lead("b"), await lead("a", "-1 s"), await lead("b"), await lead("a")]).toEqual([
      true,
      false,
      true,
      true,
      false,
    ]);
    await call(db, "leave_pool_v1('b')");
    expect(await lead("a")).toBe(true);
  });

  test("decisions are kept with their inputs; the same suppressed one again is one row; a thousand stay", async () => {
    await report("a");
    const decided = (decision: object) =>
      call(db, "record_scale_v1('p', 'a', $1)", [JSON.stringify({ desired: 3, decide_every_ms: 1_000, ...decision })]);
    const suppressed = {
      action: "suppressed",
      current: 2,
      wanted: 5,
      target: 2,
      reason: "2 by memory",
      inputs: { busy: 1 },
    };
    await decided({ action: "up", current: 1, wanted: 2, target: 2, reason: "busy", inputs: { busy: 9 } });
    for (const busy of [1, 2, 3]) await decided({ ...suppressed, inputs: { busy } });
    await decided({});
    expect(
      await db.query("select action, wanted, target, reason, inputs, times from fairmill.scale_decision order by id"),
    ).toEqual([
      { action: "up", wanted: 2, target: 2, reason: "busy", inputs: { busy: 9 }, times: 1 },
      { action: "suppressed", wanted: 5, target: 2, reason: "2 by memory", inputs: { busy: 3 }, times: 3 },
    ]);
    await db.query(`insert into fairmill.scale_decision (pool, supervisor, action, current, wanted, target, reason, inputs, at, last_at)
      select 'p', 'a', 'up', 1, 2, 2, 'n' || n, '{}', now(), now() from generate_series(1, 1005) n`);
    for (let n = 0; n < 3; n++) await decided({ ...suppressed, wanted: n + 10 });
    expect((await db.query("select from fairmill.scale_decision")).length).toBe(1_000);
    await expect(decided({ action: "up", current: 2, wanted: 5, target: 2, reason: "", inputs: {} })).rejects.toThrow(
      /scale_decision_changes_something/,
    );
  });
});
