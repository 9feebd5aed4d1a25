// F4, unique keys: several in one call, beside idempotency keys and other fields, and what is stored.

import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import {
  call,
  enqueue,
  enqueueOne,
  enqueueUnique,
  fill,
  live,
  type NewRow,
  register,
  settle,
} from "../../support/sql/calls.js";
import { functionTexts } from "../../support/sql/function-texts.js";
import { errorCode, useSessions } from "../../support/sql/sessions.js";
import { kept, uniqueCalls } from "./unique-calls.js";

const db = useDatabase();
const open = useSessions(db);
const { one, again, stored, start } = uniqueCalls(db);

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

  test("a job enters the table in one place, besides the short way of lists and those that come back, and leaves it in one", async () => {
    const texts = [...(await functionTexts())];
    const thatSay = (words: RegExp) => texts.filter(([, text]) => words.test(text)).map(([name]) => name);
    expect(thatSay(/insert into fairmill\.job /)).toEqual([
      "enqueue_one_v1",
      "enqueue_payloads_v1",
      "insert_jobs",
      "revive",
    ]);
    expect(thatSay(/delete from fairmill\.job /)).toEqual(["end_jobs"]);
    // What is buried was never stored.
    expect(thatSay(/insert into fairmill\.job_history /)).toEqual(["bury_jobs", "end_jobs"]);
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

  test("D9: the table itself refuses a second job with the key, whatever writes it", async () => {
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
  test("holds no key: it comes back although a newer job has its key, and keeps no job out", async () => {
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
  const listener = await open();
  await listener.query("listen fairmill");
  await register(db, "w");
  await call(db, "listening_v1('w', true)");
  const heard = async () => {
    await listener.query("select");
    return listener.notified.splice(0);
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
