// F4, unique keys: how long a job holds one, and what becomes of the second job. By SQL alone; who meets whom is in unique-race.test.ts.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import { call, ended, enqueue, enqueueUnique, live, type NewRow, settle } from "../../support/sql/calls.js";
import { installWitness, readWitness } from "../../support/transitions.js";
import { kept, uniqueCalls } from "./unique-calls.js";

const db = useDatabase();
const { one, again, stored, start } = uniqueCalls(db);

describe("a key that holds until the job is settled", () => {
  test("belongs to the first job while it waits, runs, and waits for another attempt; the second gets its id", async () => {
    const first = await one({ unique_key: "k", payload: "first" });
    expect(first).toEqual({ id: first.id, created: true, conflict: null });
    expect(await again({})).toEqual(kept(first.id));
    const running = await start();
    expect(await again({})).toEqual(kept(first.id));
    await settle(db, "w", [running], "retry", [{ delay_ms: 60_000, error: { message: "no" } }]);
    expect(await again({})).toEqual(kept(first.id));
    expect(await live(db, first.id)).toMatchObject({ payload: "first", state: "scheduled" });
    expect(await stored()).toBe(1);
  });

  test.each(["done", "dead", "cancelled"] as const)("is free when the job ended as %s", async (verdict) => {
    const { id } = await one({ unique_key: "k" });
    await settle(db, "w", [await start()], verdict);
    const second = await again({});
    expect(second).toMatchObject({ created: true, conflict: null });
    expect(second.id).not.toBe(id);
  });

  test("is free when the waiting job was cancelled or waited too long", async () => {
    const first = await one({ unique_key: "k" });
    await call(db, "cancel_v1($1)", [first.id]);
    const second = await again({ expire_ms: 0 });
    expect(second.created).toBe(true);
    expect(await call(db, "expire_v1()")).toBe(1);
    expect((await again({})).created).toBe(true);
  });

  test("belongs to a tenant and a kind, named by the job or shared", async () => {
    const made = await enqueueUnique(db, [
      { kind: "a", tenant: "x", unique_key: "k" },
      { kind: "b", tenant: "x", unique_key: "k" },
      { kind: "a", tenant: "y", unique_key: "k" },
      { kind: "a", tenant: "x", unique_key: "K" },
      { kind: "a", tenant: "x" },
    ]);
    expect(made.map(({ created }) => created)).toEqual([true, true, true, true, true]);
    expect(await enqueueUnique(db, [{ unique_key: "k" }], { kind: "a", tenant: "y" })).toEqual([kept(made[2]!.id)]);
  });
});

describe("a key that holds until the job is started", () => {
  test("is free with the first claim, and a later attempt of the first job does not meet the second", async () => {
    const first = await one({ unique_key: "k", unique_until: "started" });
    expect(await again({ unique_until: "started" })).toEqual(kept(first.id));
    const running = await start();
    const second = await again({ unique_until: "started" });
    expect(second.created).toBe(true);
    await settle(db, "w", [running], "release");
    expect(await live(db, first.id)).toMatchObject({ state: "ready" });
    expect(await again({ unique_until: "started" })).toEqual(kept(second.id));
    // Whichever of the two is first: neither its claim nor its way back fails.
    for (let n = 0; n < 4; n++) await settle(db, "w", [await start()], "release");
    expect(await stored()).toBe(2);
  });

  test("the rule of the job that holds it counts, not that of the one who asks", async () => {
    const first = await one({ unique_key: "k", unique_until: "settled" });
    await start();
    expect(await again({ unique_until: "started" })).toEqual(kept(first.id));
  });
});

describe("a key that holds for a period", () => {
  const period = { unique_for_ms: 60_000 };
  const endPeriod = () => db.query("update fairmill.unique_period set expires_at = clock_timestamp()");

  test("belongs to the first job, also after that ended, and is free when the period is over", async () => {
    const first = await one({ unique_key: "k", ...period });
    expect(first.created).toBe(true);
    expect(await again(period)).toEqual(kept(first.id));
    await settle(db, "w", [await start()], "done");
    expect(await again(period)).toEqual(kept(first.id));
    await endPeriod();
    const second = await again(period);
    expect(second.created).toBe(true);
    // The new period is the second job's.
    expect(await again(period)).toEqual(kept(second.id));
    expect(await db.query("select tenant, kind, key, job_id from fairmill.unique_period")).toEqual([
      { tenant: "default", kind: "work", key: "k", job_id: second.id },
    ]);
  });

  test("lasts as long as was said, by the clock", async () => {
    const beganMs = performance.now();
    await one({ unique_key: "k", unique_for_ms: 1_500 });
    const tookMs = performance.now() - beganMs;
    const [row] = await db.query<{ ms: number }>(
      "select extract(epoch from p.expires_at - j.created_at)::float8 * 1000 as ms from fairmill.unique_period p join fairmill.job j on j.id = p.job_id",
    );
    expect(row!.ms).toBeGreaterThanOrEqual(1_500);
    expect(row!.ms).toBeLessThanOrEqual(1_500 + tookMs);
  });

  test("replaces what waits, and keeps what runs or has ended", async () => {
    const rule = { ...period, on_conflict: "replace" };
    const first = await one({ unique_key: "k", payload: "first", ...rule });
    expect(await again(rule)).toEqual({ id: first.id, created: false, conflict: "replaced" });
    expect(await live(db, first.id)).toMatchObject({ payload: "second" });
    const running = await start();
    expect(await again(rule, "third")).toEqual(kept(first.id));
    await settle(db, "w", [running], "done");
    expect(await again(rule, "third")).toEqual(kept(first.id));
    expect(await ended(db, first.id)).toMatchObject({ payload: "second" });
  });

  test("retention removes those that are over, at most so many a call, and no other", async () => {
    await enqueue(
      db,
      Array.from({ length: 5 }, (_, n) => ({ kind: "work", unique_key: `over ${n}`, unique_for_ms: 1 })),
    );
    await endPeriod();
    await one({ unique_key: "k", ...period });
    expect(await call(db, "retention('30 days', 3)")).toBe(3);
    expect(await call(db, "retention('30 days', 3)")).toBe(2);
    expect(await db.query("select key from fairmill.unique_period")).toEqual([{ key: "k" }]);
  });
});

describe("replace", () => {
  const rule = { on_conflict: "replace" };

  test("gives a ready job the new payload, key and time to live, and leaves it in its place", async () => {
    const first = await one({ unique_key: "k", payload: "first", key: "a", max_attempts: 2 });
    const replaced = await again({ ...rule, key: "b", expire_ms: 5_000, queue: "other", max_attempts: 9 });
    expect(replaced).toEqual({ id: first.id, created: false, conflict: "replaced" });
    const row = await live(db, first.id);
    expect(row).toMatchObject({ payload: "second", key: "b", state: "ready", queue: "default", max_attempts: 2 });
    expect(row!.expire_at!.getTime() - row!.run_at!.getTime()).toBe(5_000);
    expect(await again(rule, "third")).toMatchObject({ conflict: "replaced" });
    expect(await live(db, first.id)).toMatchObject({ payload: "third", key: null, expire_at: null });
    expect(await stored()).toBe(1);
  });

  test("moves it to another priority or another time through the schedule, whatever it was before", async () => {
    await installWitness(db.pool);
    const first = await one({ unique_key: "k", payload: "first" });
    expect((await again({ ...rule, priority: 5 })).conflict).toBe("replaced");
    expect(await live(db, first.id)).toMatchObject({ state: "scheduled", priority: 5 });
    expect(await call(db, "promote_v1()")).toBe(1);
    expect((await again({ ...rule, priority: 5, delay_ms: 60_000 })).conflict).toBe("replaced");
    expect(await live(db, first.id)).toMatchObject({ state: "scheduled" });
    expect(await call(db, "promote_v1()")).toBe(0);
    expect((await again({ ...rule, priority: 5 })).conflict).toBe("replaced");
    expect(await call(db, "promote_v1()")).toBe(1);
    expect(await start()).toMatchObject({ id: first.id, payload: "second" });
    expect((await readWitness(db.pool)).get(first.id)!.map(({ is_now }) => is_now)).toEqual([
      "ready",
      "scheduled",
      "ready",
      "scheduled",
      "ready",
      "running",
    ]);
    await db.query("drop trigger witness on fairmill.job; drop trigger witness on fairmill.job_history");
  });

  test("leaves a running job alone, and one that waits for another attempt keeps its attempts and failures", async () => {
    const first = await one({ unique_key: "k", payload: "first" });
    const running = await start();
    expect(await again(rule)).toEqual(kept(first.id));
    expect(await live(db, first.id)).toMatchObject({ payload: "first", state: "running" });
    await settle(db, "w", [running], "retry", [{ delay_ms: 60_000, error: { message: "no" } }]);
    expect(await again(rule)).toEqual({ id: first.id, created: false, conflict: "replaced" });
    const row = await live(db, first.id);
    expect(row).toMatchObject({ payload: "second", attempt: 1, lease_no: claimNo(1), failures: [{ attempt: 1 }] });
    expect(row!.run_at!.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test("leaves a job alone that has steps: they saw the old payload. A signal that came before it began is none", async () => {
    const first = await one({ unique_key: "k", payload: "first" });
    await call(db, "signal_v1($1, 'go', '1')", [first.id]);
    expect(await again(rule)).toMatchObject({ conflict: "replaced" });
    const running = await start();
    await db.query(
      `insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
       values ($1, 'a', 'run', 0, now(), now(), 1, 1)`,
      [first.id],
    );
    await settle(db, "w", [running], "retry", [{ delay_ms: 60_000, error: { message: "no" } }]);
    expect(await again(rule, "third")).toEqual(kept(first.id));
    expect(await live(db, first.id)).toMatchObject({ payload: "second", state: "scheduled" });
    const [row] = await db.query("select run_at > now() + interval '30 seconds' as is_later from fairmill.job");
    expect(row).toEqual({ is_later: true });
  });
});

describe("debounce", () => {
  const rule = { debounce_ms: 10_000 };

  test("the job is due after the last call, with its payload, and is free to come again when it started", async () => {
    const first = await one({ unique_key: "k", payload: "first", ...rule });
    const row = await live(db, first.id);
    expect(row).toMatchObject({ state: "scheduled", unique_until: "started" });
    expect(row!.run_at!.getTime() - row!.created_at.getTime()).toBe(10_000);
    await db.query("update fairmill.job set run_at = run_at - interval '9 seconds'");
    expect(await again(rule)).toEqual({ id: first.id, created: false, conflict: "replaced" });
    const [pushed] = await db.query<{ ms: number }>(
      "select extract(epoch from run_at - created_at)::float8 * 1000 as ms from fairmill.job",
    );
    expect(pushed!.ms).toBeGreaterThanOrEqual(10_000);
    expect(await live(db, first.id)).toMatchObject({ payload: "second" });

    // Due, but not started: it goes back and waits for quiet once more.
    await db.query("update fairmill.job set run_at = now()");
    expect(await call(db, "promote_v1()")).toBe(1);
    expect((await again(rule, "third")).conflict).toBe("replaced");
    expect(await live(db, first.id)).toMatchObject({ state: "scheduled", payload: "third" });
    await db.query("update fairmill.job set run_at = now()");
    await call(db, "promote_v1()");
    expect(await start()).toMatchObject({ id: first.id });
    expect(await again(rule, "fourth")).toMatchObject({ created: true });
  });

  test("is never put off beyond the bound after the first call", async () => {
    const bounded = { ...rule, debounce_max_ms: 15_000 };
    const { id } = await one({ unique_key: "k", ...bounded });
    const putOff = async () => {
      const row = await live(db, id);
      return row!.run_at!.getTime() - row!.created_at.getTime();
    };
    expect(await putOff()).toBe(10_000);
    await db.query("update fairmill.job set created_at = created_at - interval '8 seconds'");
    await again(bounded);
    expect(await putOff()).toBe(15_000);
    // Long over: the calls still bring their payload, and do not hold the job up.
    await db.query("update fairmill.job set created_at = created_at - interval '1 hour'");
    await again(bounded, "last");
    expect(await call(db, "promote_v1()")).toBe(1);
    await again(bounded, "very last");
    expect(await live(db, id)).toMatchObject({ state: "ready", payload: "very last" });
    expect(await putOff()).toBe(15_000);
    // A bound that is shorter than the wait bounds the first call as well.
    const short = await one({ unique_key: "short", ...rule, debounce_max_ms: 2_000 });
    const row = await live(db, short.id);
    expect(row!.run_at!.getTime() - row!.created_at.getTime()).toBe(2_000);
  });
});

describe("refuse", () => {
  const ask = (jobs: readonly NewRow[], partial = false) =>
    db.query<{ id: string | null; created: boolean; conflict: string | null; refused: object | null }>(
      "select * from fairmill.enqueue_many_v1($1, partial => $2)",
      [JSON.stringify(jobs), partial],
    );
  const refusalOf = (id: string | null) => ({ code: "FAIRMILL_DUPLICATE_JOB", kind: "work", job_id: id });

  test("names the job, and nothing of the call is stored", async () => {
    const { id } = await one({ unique_key: "k" });
    const answers = await ask([
      { kind: "work" },
      { kind: "work", unique_key: "free", idempotency_key: "i" },
      { kind: "work", unique_key: "k", on_conflict: "refuse" },
    ]);
    expect(answers.map(({ id: stored }) => stored)).toEqual([null, null, null]);
    expect(answers.map(({ refused }) => refused)).toEqual([null, null, refusalOf(id)]);
    expect(await stored()).toBe(1);
    expect(await db.query("select from fairmill.idempotency")).toEqual([]);
    expect(await one({ unique_key: "other", on_conflict: "refuse" })).toMatchObject({ created: true });
  });

  test("of a period names the job of the period", async () => {
    const rule = { kind: "work", unique_key: "k", unique_for_ms: 60_000, on_conflict: "refuse" };
    const [first] = await ask([rule]);
    expect(first).toMatchObject({ created: true, refused: null });
    expect((await ask([rule]))[0]!.refused).toEqual(refusalOf(first!.id));
    expect((await ask([rule], true))[0]!.refused).toEqual(refusalOf(first!.id));
  });

  test("of two in one call names no job, because neither is stored", async () => {
    const twice = [1, 2].map(() => ({ kind: "work", unique_key: "k", on_conflict: "refuse" }));
    expect((await ask(twice)).map(({ refused }) => refused)).toEqual([null, refusalOf(null)]);
    expect(await stored()).toBe(0);
  });

  test("in a partial call the others are stored, and an idempotency key taken on the way is given back", async () => {
    const { id } = await one({ unique_key: "k" });
    const refusing = { kind: "work", unique_key: "k", on_conflict: "refuse", idempotency_key: "i" };
    const [other, refused, repeat] = await ask([{ kind: "work" }, refusing, refusing], true);
    expect(other).toMatchObject({ created: true, conflict: null, refused: null });
    expect(refused).toEqual({ id: null, created: false, conflict: null, refused: refusalOf(id) });
    expect(repeat).toEqual(refused);
    expect(await db.query("select from fairmill.idempotency")).toEqual([]);
    expect(await stored()).toBe(2);
  });
});
