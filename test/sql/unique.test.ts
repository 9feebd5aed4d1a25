// F4, unique keys: how long a job holds one, and what becomes of the second job. By SQL alone; who meets whom is in unique-race.test.ts.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { installWitness, readWitness } from "../support/transitions.js";
import {
  call,
  claim,
  ended,
  enqueue,
  enqueueOne,
  enqueueUnique,
  fill,
  live,
  type Met,
  type NewRow,
  register,
  setRule,
  settle,
} from "./calls.js";
import { errorCode, useSessions } from "./sessions.js";

const db = useDatabase();
const open = useSessions(db);

const stored = async () => Number((await db.query<{ n: string }>("select count(*) as n from fairmill.job"))[0]!.n);
const one = async (job: NewRow): Promise<Met> => (await enqueueUnique(db, [{ kind: "work", ...job }]))[0]!;
const again = (unique: NewRow, payload: unknown = "second") => one({ unique_key: "k", payload, ...unique });
const kept = (id: string) => ({ id, created: false, conflict: "kept" });

/** Claims the one job that is ready. */
async function start(): Promise<{ id: string; lease_no: number }> {
  await db.query(
    "insert into fairmill.worker (id, queues, lease_until) values ('w', '{default}', now() + interval '1 hour') on conflict do nothing",
  );
  const [claimed] = await claim(db, "w");
  return claimed!;
}

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
    await one({ unique_key: "k", unique_for_ms: 1_500 });
    const [row] = await db.query<{ ms: number }>(
      "select extract(epoch from p.expires_at - j.created_at)::float8 * 1000 as ms from fairmill.unique_period p join fairmill.job j on j.id = p.job_id",
    );
    expect(row!.ms).toBeGreaterThanOrEqual(1_500);
    expect(row!.ms).toBeLessThan(2_500);
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
    expect(await call(db, "retention_v1('30 days', 3)")).toBe(3);
    expect(await call(db, "retention_v1('30 days', 3)")).toBe(2);
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
    expect(row).toMatchObject({ payload: "second", attempt: 1, lease_no: 1, failures: [{ attempt: 1 }] });
    expect(row!.run_at!.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test("leaves a blocked job blocked, with the new payload", async () => {
    await setRule(db, { max_running: 1 }, "work");
    await one({ key: "user" });
    const first = await one({ unique_key: "k", key: "user", payload: "first" });
    await db.query("select fairmill.promote_v1()");
    expect(await live(db, first.id)).toMatchObject({ payload: "first", state: "blocked" });
    expect((await again({ ...rule, key: "user", delay_ms: 60_000 })).conflict).toBe("replaced");
    expect(await live(db, first.id)).toMatchObject({ payload: "second", state: "blocked" });
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

describe("several in one call", () => {
  test("are one job, and answers stay in the order given, with and without keys", async () => {
    const jobs = ["b", "a", null, "b", "c", "a"].map((unique_key, payload) => ({ kind: "work", unique_key, payload }));
    const made = await enqueueUnique(db, [...jobs, { kind: "work", payload: 6 }]);
    expect(made.map(({ conflict }) => conflict)).toEqual([null, null, null, "kept", null, "kept", null]);
    expect([made[3]!.id, made[5]!.id]).toEqual([made[0]!.id, made[1]!.id]);
    const rows = await db.query<{ id: string; payload: number }>("select id, payload from fairmill.job order by id");
    expect(rows.map(({ payload }) => payload)).toEqual([0, 1, 2, 4, 6]);
    expect(rows.map(({ id }) => id)).toEqual(made.filter(({ created }) => created).map(({ id }) => id));
  });

  test("that replace each other leave the last one's payload", async () => {
    const made = await enqueueUnique(
      db,
      [1, 2, 3].map((payload) => ({ kind: "work", unique_key: "k", payload, on_conflict: "replace" })),
    );
    expect(made.map(({ conflict }) => conflict)).toEqual([null, "replaced", "replaced"]);
    expect(await live(db, made[0]!.id)).toMatchObject({ payload: 3 });
  });

  test("of a period are one job", async () => {
    const made = await enqueueUnique(
      db,
      [1, 2].map((payload) => ({ kind: "work", unique_key: "k", payload })),
      { unique_for_ms: 1_000 },
    );
    expect(made).toEqual([{ id: made[0]!.id, created: true, conflict: null }, kept(made[0]!.id)]);
  });
});

describe("with an idempotency key", () => {
  test("that is known, the unique key is not asked: a repeat gets the answer of the first call", async () => {
    const job = { unique_key: "k", on_conflict: "refuse", idempotency_key: "i" };
    const first = await one(job);
    expect(first.created).toBe(true);
    expect(await one(job)).toEqual({ id: first.id, created: false, conflict: "known" });
    await settle(db, "w", [await start()], "done");
    expect(await one(job)).toEqual({ id: first.id, created: false, conflict: "known" });
  });

  test("that is new, a job that stands for another leads to it from then on, in this call and in later ones", async () => {
    const first = await one({ unique_key: "k" });
    const job = { kind: "work", unique_key: "k", idempotency_key: "i" };
    const [second, repeat] = await enqueueUnique(db, [job, job]);
    expect(second).toEqual(kept(first.id));
    expect(repeat).toEqual({ id: first.id, created: false, conflict: "known" });
    await settle(db, "w", [await start()], "done");
    expect(await one(job)).toEqual({ id: first.id, created: false, conflict: "known" });
    expect(await stored()).toBe(0);
  });
});

describe("what is stored", () => {
  test("a unique job gets every field that another one gets", async () => {
    const fields = {
      tenant: "t",
      queue: "q",
      priority: 4,
      max_attempts: 2,
      key: "key",
      delay_ms: 60_000,
      expire_ms: 1_000,
    };
    const session = await open();
    await session.query("begin");
    const rowOf = async (job: NewRow, shared: NewRow = {}) => {
      const [made] = await enqueue(session, [job], shared);
      const [row] = await session.query(
        "select to_jsonb(j) - '{id,unique_key,unique_until}'::text[] as row from fairmill.job j where id = $1",
        [made!.id],
      );
      return row!["row"];
    };
    const plain = await rowOf({ kind: "work", payload: [1], ...fields });
    expect(await rowOf({ kind: "work", payload: [1], ...fields, unique_key: "own" })).toEqual(plain);
    expect(await rowOf({ payload: [1], unique_key: "shared" }, { kind: "work", ...fields })).toEqual(plain);
    const bare = await rowOf({ kind: "work" });
    expect(await rowOf({ kind: "work", unique_key: "bare" })).toEqual(bare);
    expect(await rowOf({ kind: "work", unique_key: "bare", unique_for_ms: 1 })).toEqual(bare);
    await session.query("rollback");
  });

  test("what enqueue_many_v1 reads of a job, enqueue_unique_v1 reads as well, and both store the same columns", async () => {
    const sources = await db.query<{ proname: string; prosrc: string }>(
      "select proname, prosrc from pg_proc where pronamespace = 'fairmill'::regnamespace and proname in ('enqueue_many_v1', 'enqueue_unique_v1') order by 1",
    );
    const [many, unique] = sources.map(({ prosrc }) => ({
      fields: new Set([...prosrc.matchAll(/\bjob ->>? '(\w+)'/g)].map(([, field]) => field!)),
      columns: new Set(/insert into fairmill\.job \(([^)]+)\)/.exec(prosrc)![1]!.split(", ")),
    }));
    const without = (some: Set<string>, others: Set<string>) => [...some].filter((name) => !others.has(name));
    expect(many!.fields.size).toBeGreaterThan(8);
    expect(without(many!.fields, unique!.fields)).toEqual([]);
    expect(without(many!.columns, unique!.columns)).toEqual([]);
    expect(without(unique!.columns, many!.columns)).toEqual(["unique_key", "unique_until"]);
  });

  test.each<[string, string, NewRow]>([
    ["an empty key", "23514", { unique_key: "" }],
    ["a key of 501 letters", "23514", { unique_key: "k".repeat(501) }],
    ["an empty key for a period", "23514", { unique_key: "", unique_for_ms: 1 }],
    ["an unknown end", "23514", { unique_key: "k", unique_until: "tomorrow" }],
    ["an unknown answer to a conflict", "FM001", { unique_key: "k", on_conflict: "ignore" }],
    ["a missing kind", "23502", { kind: null, unique_key: "k" }],
  ])("%s is refused (%s), and nothing of the array is stored", async (_, code, bad) => {
    expect(
      await errorCode(
        enqueue(db, [
          { kind: "work", unique_key: "good" },
          { kind: "work", ...bad },
        ]),
      ),
    ).toBe(code);
    expect(await stored()).toBe(0);
  });

  test("the longest key fits beside the longest names", async () => {
    const name = "\u{1f600}".repeat(50);
    const longest = { kind: name, tenant: name, unique_key: "\u{1f600}".repeat(500) };
    expect((await one(longest)).created).toBe(true);
    expect((await one({ ...longest, unique_for_ms: 1_000 })).created).toBe(true);
  });

  test("D9: the table itself refuses a second job with the key, whoever writes it", async () => {
    await one({ unique_key: "k" });
    const insert = (key: string | null, until: string | null) =>
      db.query(
        `insert into fairmill.job (kind, queue, tenant, state, payload, lease_no, unique_key, unique_until)
         values ('work', 'default', 'default', 'ready', '{}', 3, $1, $2)`,
        [key, until],
      );
    expect(await errorCode(insert("k", "started"))).toBe("23505");
    expect(await errorCode(insert("k", "settled"))).toBe("23505");
    await insert(null, null);
  });

  test("enqueue_v1 takes it all by name", async () => {
    const ask = (rest: string) =>
      db.query(`select created, conflict from fairmill.enqueue_v1('work', '{}', unique_key => 'k', ${rest})`);
    expect(await ask("unique_until => 'started'")).toEqual([{ created: true, conflict: null }]);
    expect(await ask("on_conflict => 'replace', priority => 3")).toEqual([{ created: false, conflict: "replaced" }]);
    expect(await ask("debounce => '1 minute', debounce_max => '30 seconds'")).toEqual([
      { created: false, conflict: "replaced" },
    ]);
    const [row] = await db.query("select (run_at - created_at)::text as wait from fairmill.job");
    expect(row).toEqual({ wait: "00:00:30" });
    expect(await ask("unique_for => '1 minute'")).toEqual([{ created: true, conflict: null }]);
    expect(await ask("unique_for => '1 minute'")).toEqual([{ created: false, conflict: "kept" }]);
    expect(await errorCode(ask("on_conflict => 'refuse'"))).toBe("FM012");
  });
});

describe("a job that is run again by hand", () => {
  test("holds no key: it comes back although a newer job has its key, and keeps nobody out", async () => {
    const first = await one({ unique_key: "k" });
    await call(db, "cancel_v1($1)", [first.id]);
    const second = await again({});
    expect(await call(db, "retry_v1($1)", [first.id])).toBe("ready");
    expect(await live(db, first.id)).toMatchObject({ state: "ready", unique_key: null, unique_until: null });
    expect(await again({})).toEqual(kept(second.id));
    await call(db, "cancel_v1($1)", [second.id]);
    expect((await again({})).created).toBe(true);
  });

  test("keeps its key when it is only made to wait no longer", async () => {
    const first = await one({ unique_key: "k", delay_ms: 60_000 });
    expect(await call(db, "retry_v1($1)", [first.id])).toBe("ready");
    expect(await again({})).toEqual(kept(first.id));
  });
});

test("a sleeping worker hears of a job that a replacement made due, and of a debounced one its time", async () => {
  const ear = await open();
  await ear.query("listen fairmill");
  await register(db, "w");
  await call(db, "listening_v1('w', true)");
  const heard = async () => {
    await ear.query("select");
    return ear.notified.splice(0);
  };
  await one({ unique_key: "k", delay_ms: 60_000 });
  expect(await heard()).toEqual([]);
  await again({ on_conflict: "replace" });
  expect(await heard()).toContain("fairmill !due 0");
  await again({ debounce_ms: 2_000 });
  expect(await heard()).toContain("fairmill !due 2000");
});

test("thousands of unique jobs beside thousands of others are stored in one statement", async () => {
  await fill(db, 1_000);
  await enqueueOne(db, { unique_key: "4" });
  const made = await enqueueUnique(
    db,
    Array.from({ length: 5_000 }, (_, n) => (n % 2 ? { kind: "work" } : { kind: "work", unique_key: `${n}` })),
  );
  expect(made.filter(({ created }) => created)).toHaveLength(4_999);
  expect(await stored()).toBe(6_000);
});
