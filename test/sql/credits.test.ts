// Credits by SQL alone: a hold per job, one end per hold, in the transaction that ends the job; never below zero; settles wait for nobody.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { ACCOUNTS } from "../support/invariants.js";
import {
  balanceOf,
  call,
  claim,
  endLease,
  enqueuePaid,
  grant,
  live,
  movementsOf,
  recover,
  register,
  setGate,
  setRule,
  settle,
  statesOf,
  tick,
  type VerdictName,
} from "./calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "./sessions.js";

const db = useDatabase();
const open = useSessions(db);

const paid = (account = "ann", amount = 3, more: object = {}) => ({ account, amount, ...more });
const enqueueOnePaid = async (more: object = {}, amount = 3) =>
  (await enqueuePaid(db, [paid("ann", amount, more)]))[0]!.id!;
const codesOf = (answers: readonly { refused: { readonly [fact: string]: unknown } | null }[]) =>
  answers.map(({ refused }) => refused?.["code"] ?? null);
const EXHAUSTED = "FAIRMILL_CREDITS_EXHAUSTED";

describe("each end of a job ends its hold, once", () => {
  const ENDS: [verdict: VerdictName, end: string, balance: [number, number]][] = [
    ["done", "capture 3", [7, 0]],
    ["dead", "release 3", [10, 0]],
    ["cancelled", "release 3", [10, 0]],
  ];
  test.each(ENDS)("A6 B18 P4: settled as %s: %s", async (verdict, end, balance) => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    expect(await balanceOf(db, "ann")).toEqual([7, 3]);
    await register(db, "w");
    const jobs = await claim(db, "w");
    expect(await settle(db, "w", jobs, verdict, [{ error: { message: "no" } }])).toMatchObject({ accepted: 1 });
    expect(await movementsOf(db, id)).toEqual(["hold 3", end]);
    expect(await balanceOf(db, "ann")).toEqual(balance);
    // The answer was lost, and the settle is sent again.
    expect(await settle(db, "w", jobs, verdict, [{ error: { message: "no" } }])).toMatchObject({ accepted: 1 });
    expect(await movementsOf(db, id)).toEqual(["hold 3", end]);
  });

  test.each<VerdictName>(["retry", "snooze", "release"])(
    "a job that is settled as %s keeps its hold",
    async (verdict) => {
      await grant(db, "ann", 10);
      const id = await enqueueOnePaid();
      await register(db, "w");
      await settle(db, "w", await claim(db, "w"), verdict, [{ delay_ms: 1000, error: { message: "no" } }]);
      expect(await movementsOf(db, id)).toEqual(["hold 3"]);
      expect(await balanceOf(db, "ann")).toEqual([7, 3]);
    },
  );

  test("P3 P4: a settle whose fence does not hold changes no credit", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await register(db, "other");
    const [job] = await claim(db, "w");
    for (const verdict of ["done", "dead"] as const) {
      expect(await settle(db, "other", [job!], verdict)).toMatchObject({ accepted: 0 });
      expect(await settle(db, "w", [{ id, lease_no: 2 }], verdict)).toMatchObject({ accepted: 0 });
    }
    expect(await movementsOf(db, id)).toEqual(["hold 3"]);
  });

  test("cancelled while it waits, and while it runs: by the settle that heeds it", async () => {
    await grant(db, "ann", 10);
    const running = await enqueueOnePaid();
    await register(db, "w");
    const jobs = await claim(db, "w");
    const waiting = await enqueueOnePaid();
    expect(await call(db, "cancel_v1($1)", [waiting])).toBe("cancelled");
    expect(await movementsOf(db, waiting)).toEqual(["hold 3", "release 3"]);
    expect(await call(db, "cancel_v1($1)", [running])).toBe("requested");
    expect(await movementsOf(db, running)).toEqual(["hold 3"]);
    await settle(db, "w", jobs, "retry", [{ delay_ms: 1, error: { message: "no" } }]);
    expect(await movementsOf(db, running)).toEqual(["hold 3", "release 3"]);
    expect(await balanceOf(db, "ann")).toEqual([10, 0]);
  });

  test("expired", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid({ expire_ms: 0 });
    await tick(db);
    expect(await statesOf(db, [id])).toEqual(["dead"]);
    expect(await movementsOf(db, id)).toEqual(["hold 3", "release 3"]);
    expect(await balanceOf(db, "ann")).toEqual([10, 0]);
  });

  test("recovered: the hold stays; recovered with a request to cancel, or poison: it is given back", async () => {
    await grant(db, "ann", 10);
    const ids = [await enqueueOnePaid(), await enqueueOnePaid(), await enqueueOnePaid()];
    await register(db, "w");
    expect(await claim(db, "w", 3)).toHaveLength(3);
    await call(db, "cancel_v1($1)", [ids[1]]);
    await db.query("update fairmill.job set crashes = 2, attempt = 3, lease_no = 3 where id = $1", [ids[2]]);
    await endLease(db, "w");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 2 });
    expect(await statesOf(db, ids)).toEqual(["ready", "cancelled", "dead"]);
    expect(await Promise.all(ids.map((id) => movementsOf(db, id)))).toEqual([
      ["hold 3"],
      ["hold 3", "release 3"],
      ["hold 3", "release 3"],
    ]);
    expect(await balanceOf(db, "ann")).toEqual([7, 3]);
  });

  test("a settle and a recovery at the same moment end the hold once", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    const jobs = await claim(db, "w");
    await endLease(db, "w");
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    expect(await settle(one, "w", jobs, "done")).toMatchObject({ accepted: 1 });
    expect(await recover(two, 10, 1)).toEqual({ recovered: 0, ended: 0 });
    await one.query("commit");
    expect(await recover(two, 10, 1)).toEqual({ recovered: 0, ended: 0 });
    expect(await movementsOf(db, id)).toEqual(["hold 3", "capture 3"]);
  });

  test("the table refuses a second end of a hold, whoever writes it", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect(
      await errorCode(
        db.query(
          "insert into fairmill.credit_entry (account, kind, amount, hold_id, job_id) select account, 'release', amount, id, job_id from fairmill.credit_entry where job_id = $1 and kind = 'hold'",
          [id],
        ),
      ),
    ).toBe("23505");
  });

  test("a rolled back settle gives nothing back", async () => {
    await grant(db, "ann", 3);
    const id = await enqueueOnePaid();
    await register(db, "w");
    const jobs = await claim(db, "w");
    const session = await open();
    await session.query("begin");
    await settle(session, "w", jobs, "dead", [{ error: { message: "no" } }]);
    expect(codesOf(await enqueuePaid(db, [paid()]))).toEqual([EXHAUSTED]);
    await session.query("rollback");
    expect(await movementsOf(db, id)).toEqual(["hold 3"]);
    expect(await balanceOf(db, "ann")).toEqual([0, 3]);
  });

  test("entries outlive the history of their jobs", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    await db.query("update fairmill.job_history set ended_at = now() - interval '50 days' where id = $1", [id]);
    await call(db, "retention_v1('1 day')");
    expect(await statesOf(db, [id])).toEqual(["gone"]);
    expect(await movementsOf(db, id)).toEqual(["hold 3", "capture 3"]);
  });
});

describe("retry", () => {
  async function deadJob() {
    await grant(db, "ann", 3);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "dead", [{ error: { message: "no" } }]);
    return id;
  }

  test("of a dead job holds its units again, and its end captures the new hold", async () => {
    const id = await deadJob();
    expect(await call(db, "retry_v1($1)", [id])).toBe("ready");
    expect(await balanceOf(db, "ann")).toEqual([0, 3]);
    await settle(db, "w", await claim(db, "w"), "done");
    expect(await movementsOf(db, id)).toEqual(["hold 3", "release 3", "hold 3", "capture 3"]);
    expect(await balanceOf(db, "ann")).toEqual([0, 0]);
  });

  test("without the credits answers no_credits, and the job stays dead as it was", async () => {
    const id = await deadJob();
    await enqueuePaid(db, [paid("ann", 1)]);
    const before = await db.query("select * from fairmill.job_history where id = $1", [id]);
    expect(await call(db, "retry_v1($1)", [id])).toBe("no_credits");
    expect(await db.query("select * from fairmill.job_history where id = $1", [id])).toEqual(before);
    expect(await movementsOf(db, id)).toEqual(["hold 3", "release 3"]);
    await grant(db, "ann", 1);
    expect(await call(db, "retry_v1($1)", [id])).toBe("ready");
  });

  test("by two at once holds once", async () => {
    const id = await deadJob();
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    expect(await call(one, "retry_v1($1)", [id])).toBe("ready");
    const second = call(two, "retry_v1($1)", [id]);
    await waitUntilBlocked(db, two);
    await one.query("commit");
    expect(await second).toBe("ready");
    expect(await movementsOf(db, id)).toEqual(["hold 3", "release 3", "hold 3"]);
  });

  test("of a job that waits or is done touches no account", async () => {
    await grant(db, "ann", 3);
    const id = await enqueueOnePaid({ delay_ms: 1_000_000 });
    expect(await call(db, "retry_v1($1)", [id])).toBe("ready");
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect(await call(db, "retry_v1($1)", [id])).toBe("done");
    expect(await movementsOf(db, id)).toEqual(["hold 3", "capture 3"]);
  });
});

describe("grants", () => {
  test("make the account, and the same key grants once, also by two at once", async () => {
    expect(await balanceOf(db, "ann")).toEqual([0, 0]);
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    expect(await grant(one, "ann", 5, "order-1")).toEqual([{ balance: "5", granted: true }]);
    const second = grant(two, "ann", 7, "order-1");
    await waitUntilBlocked(db, two);
    await one.query("commit");
    expect(await second).toEqual([{ balance: "5", granted: false }]);
    expect(await grant(db, "bob", 7, "order-1")).toEqual([{ balance: "7", granted: true }]);
  });

  test.each([
    ["ann", 0],
    ["ann", -1],
    ["ann", "1000000000001"],
    ["ann", null],
    ["", 1],
    ["x".repeat(201), 1],
    [null, 1],
  ])("FM001: %s, %s", async (account, amount) => {
    expect(await errorCode(grant(db, account as string, amount as number))).toBe("FM001");
    expect(await db.query("select from fairmill.account")).toEqual([]);
  });

  test("an account is full where other languages could not count on", async () => {
    await grant(db, "ann", 1);
    await db.query("update fairmill.account set balance = 9007199254740990");
    await db.query(
      `insert into fairmill.credit_entry (account, kind, amount) select 'ann', 'grant', 999999999999 from generate_series(1, 9007)`,
    );
    await db.query(
      "insert into fairmill.credit_entry (account, kind, amount) select 'ann', 'grant', 9007199254740990 - sum(amount) from fairmill.credit_entry",
    );
    expect(await errorCode(grant(db, "ann", 2))).toBe("FM001");
    expect(await balanceOf(db, "ann")).toEqual([9007199254740990, 0]);
    await grant(db, "ann", 1);
  });
});

describe("an enqueue", () => {
  test("that cannot be paid for says what the account has left, and stores nothing", async () => {
    await grant(db, "ann", 5);
    const answers = await enqueuePaid(db, [paid("ann", 4), paid("ann", 2), paid("nobody", 1)]);
    expect(answers.map(({ id, refused }) => [id, refused])).toEqual([
      [null, null],
      [null, { code: EXHAUSTED, account: "ann", amount: 2, balance: 1 }],
      [null, { code: EXHAUSTED, account: "nobody", amount: 1, balance: 0 }],
    ]);
    expect(await balanceOf(db, "ann")).toEqual([5, 0]);
    expect(
      await db.query("select from fairmill.job union all select from fairmill.credit_entry where kind = 'hold'"),
    ).toEqual([]);
  });

  test("of several callers refuses whoever cannot pay; those behind are not refused because of him", async () => {
    await grant(db, "ann", 5);
    await grant(db, "bob", 1);
    const answers = await enqueuePaid(
      db,
      [paid("ann", 2), paid("ann", 4), paid("ann", 3), paid("bob", 1), {}, paid("ann", 1)],
      { partial: true },
    );
    expect(codesOf(answers)).toEqual([null, EXHAUSTED, null, null, null, EXHAUSTED]);
    expect(answers[1]!.refused).toMatchObject({ amount: 4, balance: 3 });
    expect(answers[5]!.refused).toMatchObject({ amount: 1, balance: 0 });
    expect(await balanceOf(db, "ann")).toEqual([0, 5]);
    expect((await live(db, answers[4]!.id!))!["hold"]).toBeNull();
  });

  test("account and amount may be shared, and an amount not given is 1", async () => {
    await grant(db, "ann", 10);
    const many = (shared: object) =>
      db.query("select * from fairmill.enqueue_many_v1('[{}, {\"amount\": 4}]', $1)", [
        JSON.stringify({ kind: "paid", account: "ann", ...shared }),
      ]);
    await many({});
    expect(await balanceOf(db, "ann")).toEqual([5, 5]);
    await many({ amount: 1 });
    expect(await balanceOf(db, "ann")).toEqual([0, 10]);
    expect(
      await db.query(`select * from fairmill.enqueue_many_v1('[]', '{"kind": "paid", "account": "ann"}')`),
    ).toEqual([]);
  });

  test.each([0, -5, 1.5, 1e13])("FM001: amount %s", async (amount) => {
    await grant(db, "ann", 10);
    expect(await errorCode(enqueuePaid(db, [paid("ann", amount)]))).toBe("FM001");
  });

  test("with a known idempotency key holds nothing; a repeat in the same call shares the refusal of the first", async () => {
    await grant(db, "ann", 4);
    const [first] = await enqueuePaid(db, [paid("ann", 3, { idempotency_key: "a" })]);
    const [again] = await enqueuePaid(db, [paid("ann", 3, { idempotency_key: "a" })]);
    expect(again).toMatchObject({ id: first!.id, created: false, conflict: "known", refused: null });
    expect(await balanceOf(db, "ann")).toEqual([1, 3]);

    const twice = await enqueuePaid(
      db,
      [paid("ann", 3, { idempotency_key: "b" }), paid("ann", 1, { idempotency_key: "b" })],
      {
        partial: true,
      },
    );
    expect(codesOf(twice)).toEqual([EXHAUSTED, EXHAUSTED]);
    expect(twice.map(({ id }) => id)).toEqual([null, null]);
    // The key was given back.
    expect(await enqueuePaid(db, [paid("ann", 1, { idempotency_key: "b" })])).toMatchObject([{ created: true }]);
  });

  test("by plain SQL: named arguments, and FM013", async () => {
    await grant(db, "ann", 3);
    await db.query("select id from fairmill.enqueue_v1('paid', account => 'ann', amount => 2)");
    await db.query("select id from fairmill.enqueue_v1('paid', account => 'ann')");
    expect(await balanceOf(db, "ann")).toEqual([0, 3]);
    expect(await errorCode(db.query("select id from fairmill.enqueue_v1('paid', account => 'ann')"))).toBe("FM013");
    expect(await errorCode(db.query("select id from fairmill.enqueue_v1('paid', amount => 2)"))).toBe("FM001");
  });

  describe("with limits", () => {
    test("what cannot be paid for spends no rate, and what a rate or a place refuses holds nothing", async () => {
      await grant(db, "ann", 2);
      await setRule(db, { rate: { limit: 3, per_ms: 3_600_000, at: "enqueue" } }, "paid");
      const key = { key: "k" };
      expect(codesOf(await enqueuePaid(db, [paid("ann", 1, key), paid("ann", 2, key)]))).toEqual([null, EXHAUSTED]);
      expect(codesOf(await enqueuePaid(db, [paid("ann", 3, key), paid("ann", 1, key)], { partial: true }))).toEqual([
        EXHAUSTED,
        null,
      ]);
      await grant(db, "ann", 100);
      expect(codesOf(await enqueuePaid(db, [paid("ann", 1, key), paid("ann", 1, key), paid("ann", 1, key)]))).toEqual([
        null,
        null,
        "FAIRMILL_RATE_LIMIT",
      ]);
      expect(
        codesOf(
          await enqueuePaid(db, [paid("ann", 1, key), paid("ann", 1, key), paid("ann", 1, key)], { partial: true }),
        ),
      ).toEqual([null, null, "FAIRMILL_RATE_LIMIT"]);
      expect(await balanceOf(db, "ann")).toEqual([99, 3]);

      await setRule(db, { max_running: 1, when_full: "refuse" }, "paid");
      const busy = { key: "busy" };
      expect(codesOf(await enqueuePaid(db, [paid("ann", 1, busy), paid("ann", 1, busy)], { partial: true }))).toEqual([
        null,
        "FAIRMILL_ACTIVE_LIMIT",
      ]);
      expect(await balanceOf(db, "ann")).toEqual([98, 4]);
    });

    test("all refused for credits asks the gates for nobody", async () => {
      await setGate(db, "tenant", "default", { rate: { limit: 1, per_ms: 3_600_000, at: "enqueue" } });
      expect(codesOf(await enqueuePaid(db, [paid(), paid()], { partial: true }))).toEqual([EXHAUSTED, EXHAUSTED]);
      await grant(db, "ann", 3);
      expect(codesOf(await enqueuePaid(db, [paid()]))).toEqual([null]);
    });

    test("a job that is blocked holds its units while it waits", async () => {
      await grant(db, "ann", 6);
      await setRule(db, { max_running: 1 }, "paid");
      const [, second] = await enqueuePaid(db, [paid("ann", 3, { key: "k" }), paid("ann", 3, { key: "k" })]);
      expect(await statesOf(db, [second!.id])).toEqual(["blocked"]);
      expect(await balanceOf(db, "ann")).toEqual([0, 6]);
      await call(db, "cancel_v1($1)", [second!.id]);
      expect(await balanceOf(db, "ann")).toEqual([3, 3]);
    });
  });

  describe("with a unique key", () => {
    const unique = { unique_key: "u" };

    test("that is taken needs no credits: the first job's hold stands for both", async () => {
      await grant(db, "ann", 3);
      const [first] = await enqueuePaid(db, [paid("ann", 3, unique)]);
      for (const partial of [true, false])
        expect(await enqueuePaid(db, [paid("ann", 3, unique)], { partial })).toMatchObject([
          { id: first!.id, conflict: "kept", refused: null },
        ]);
      expect(await balanceOf(db, "ann")).toEqual([0, 3]);
      expect(await movementsOf(db, first!.id)).toEqual(["hold 3"]);
    });

    test("twice in one call holds once, and the second has what the first could not pay", async () => {
      await grant(db, "ann", 3);
      const both = await enqueuePaid(db, [paid("ann", 3, unique), paid("ann", 3, unique)], { partial: true });
      expect(both.map(({ conflict }) => conflict)).toEqual([null, "kept"]);
      expect(await balanceOf(db, "ann")).toEqual([0, 3]);
      await grant(db, "ann", 3);
      const other = { unique_key: "other" };
      const late = await enqueuePaid(
        db,
        [
          paid("ann", 9, other),
          paid("ann", 3, other),
          paid("ann", 9, { unique_key: "third" }),
          paid("ann", 9, { unique_key: "third" }),
        ],
        { partial: true },
      );
      expect(codesOf(late)).toEqual([EXHAUSTED, null, EXHAUSTED, EXHAUSTED]);
      expect(late[3]!.refused).toMatchObject({ amount: 9, balance: 0 });
      expect(await movementsOf(db, late[1]!.id)).toEqual(["hold 3"]);
      expect(await balanceOf(db, "ann")).toEqual([0, 6]);
    });

    test("replace leaves the hold of the waiting job as it is, whatever the later one would hold", async () => {
      await grant(db, "ann", 3);
      const [first] = await enqueuePaid(db, [paid("ann", 3, { ...unique, delay_ms: 100_000 })]);
      const [second] = await enqueuePaid(db, [
        paid("bob", 100, { ...unique, on_conflict: "replace", payload: { v: 2 }, delay_ms: 100_000 }),
      ]);
      expect(second).toMatchObject({ id: first!.id, conflict: "replaced" });
      expect((await live(db, first!.id))!["payload"]).toEqual({ v: 2 });
      expect(await movementsOf(db, first!.id)).toEqual(["hold 3"]);
      expect(await balanceOf(db, "ann")).toEqual([0, 3]);
    });

    test("of a period that is taken needs none either, also when the job has ended", async () => {
      await grant(db, "ann", 3);
      const period = { ...unique, unique_for_ms: 1_000_000 };
      const [first] = await enqueuePaid(db, [paid("ann", 3, period)]);
      await register(db, "w");
      await settle(db, "w", await claim(db, "w"), "done");
      expect(await enqueuePaid(db, [paid("ann", 3, period)])).toMatchObject([{ id: first!.id, conflict: "kept" }]);
      expect(await balanceOf(db, "ann")).toEqual([0, 0]);
      expect(
        codesOf(await enqueuePaid(db, [paid("ann", 3, { unique_key: "free", unique_for_ms: 1_000_000 })])),
      ).toEqual([EXHAUSTED]);
      expect(await db.query("select key from fairmill.unique_period")).toEqual([{ key: "u" }]);
    });

    test("refuse: no hold", async () => {
      await grant(db, "ann", 9);
      await enqueuePaid(db, [paid("ann", 3, unique)]);
      const refuse = { ...unique, on_conflict: "refuse" };
      for (const partial of [true, false])
        expect(codesOf(await enqueuePaid(db, [paid("ann", 3, refuse)], { partial }))).toEqual([
          "FAIRMILL_DUPLICATE_JOB",
        ]);
      expect(await balanceOf(db, "ann")).toEqual([6, 3]);
    });
  });
});

describe("sessions at the same time", () => {
  test.each(["read committed", "repeatable read"])(
    "I3: sixteen sessions (%s) race for the last units: as many get in as can be paid for, and nothing falls below zero",
    async (level) => {
      await grant(db, "ann", 50);
      const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
      const answers = await Promise.all(
        sessions.map(async (session) => {
          const codes: unknown[] = [];
          for (let n = 0; n < 4; n++)
            for (;;) {
              try {
                await session.query(`begin isolation level ${level}`);
                const [one] = await enqueuePaid(session, [paid("ann", 3)], { alone: false });
                await session.query("commit");
                codes.push(one!.refused?.["code"] ?? null);
                break;
              } catch (error) {
                if ((error as { code: string }).code !== "40001") throw error;
                await session.query("rollback");
              }
            }
          return codes;
        }),
      );
      const all = answers.flat();
      expect(all.filter((code) => code === null)).toHaveLength(16);
      expect(all.filter((code) => code === EXHAUSTED)).toHaveLength(48);
      expect(await balanceOf(db, "ann")).toEqual([2, 48]);
    },
  );

  test("two callers who name the same accounts in opposite order do not wait for each other in a circle", async () => {
    for (const name of ["ann", "bob"]) await grant(db, name, 10_000);
    const sessions = await Promise.all([open(), open(), open(), open()]);
    await Promise.all(
      sessions.map(async (session, n) => {
        await session.query("set deadlock_timeout = '50ms'");
        for (let round = 0; round < 60; round++) {
          const jobs = [paid("ann", 1), paid("bob", 1)];
          await enqueuePaid(session, n % 2 === 0 ? jobs : jobs.toReversed());
        }
      }),
    );
    expect(await balanceOf(db, "bob")).toEqual([9_760, 240]);
  });

  test("B18: a long transaction that holds an account keeps no settle, cancel or upkeep of its jobs waiting", async () => {
    await grant(db, "ann", 20);
    await enqueuePaid(db, [paid(), paid()]);
    await register(db, "w");
    const jobs = (await claim(db, "w", 2)).toSorted((a, b) => Number(a.id) - Number(b.id));
    const [waiting] = await enqueuePaid(db, [paid()]);
    const caller = await open();
    await caller.query("begin");
    await enqueuePaid(caller, [paid("ann", 1)], { alone: false });
    const other = await open();
    await other.query("set lock_timeout = '500ms'");
    expect(await settle(other, "w", jobs, ["done", "dead"], [null, { error: { message: "no" } }])).toMatchObject({
      accepted: 2,
    });
    expect(await call(other, "cancel_v1($1)", [waiting!.id])).toBe("cancelled");
    await tick(other);
    // What was given back is told at once, and added up when somebody may.
    expect(await balanceOf(other, "ann")).toEqual([17, 0]);
    expect(await db.query("select from fairmill.credit_pending")).toHaveLength(3);
    await caller.query("commit");
    expect(await balanceOf(db, "ann")).toEqual([16, 1]);
    await tick(db);
    expect(await db.query("select from fairmill.credit_pending")).toEqual([]);
    expect(await db.query("select balance, held from fairmill.account")).toEqual([{ balance: "16", held: "1" }]);
  });

  test("units that were given back are free for the next hold, before upkeep has added them up", async () => {
    await grant(db, "ann", 3);
    await enqueuePaid(db, [paid()]);
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "dead", [{ error: { message: "no" } }]);
    expect(await db.query("select balance from fairmill.account")).toEqual([{ balance: "0" }]);
    expect(codesOf(await enqueuePaid(db, [paid()]))).toEqual([null]);
  });

  test("units given back while an enqueue waits for the account are free for it", async () => {
    await grant(db, "ann", 3);
    await enqueuePaid(db, [paid()]);
    await register(db, "w");
    const jobs = await claim(db, "w");
    const [holder, waiter] = [await open(), await open()];
    await holder.query("begin");
    await grant(holder, "ann", 1);
    const waiting = enqueuePaid(waiter, [paid("ann", 4)]);
    await waitUntilBlocked(db, waiter);
    await settle(db, "w", jobs, "dead", [{ error: { message: "no" } }]);
    await holder.query("commit");
    expect(codesOf(await waiting)).toEqual([null]);
  });

  test("an account that is made while an enqueue waits for another one is not locked, so it cannot pay yet", async () => {
    await grant(db, "ann", 3);
    const [holder, waiter] = [await open(), await open()];
    await holder.query("begin");
    await grant(holder, "ann", 1);
    const waiting = enqueuePaid(waiter, [paid("ann", 1), paid("zoe", 1)], { partial: true });
    await waitUntilBlocked(db, waiter);
    await grant(db, "zoe", 1);
    await holder.query("commit");
    expect(codesOf(await waiting)).toEqual([null, EXHAUSTED]);
    expect(await balanceOf(db, "zoe")).toEqual([1, 0]);
  });

  test("what a caller rolls back was never held, granted or made", async () => {
    await grant(db, "ann", 3);
    const session = await open();
    await session.query("begin");
    await grant(session, "bob", 5, "k");
    await enqueuePaid(session, [paid("ann", 3), paid("bob", 1)], { alone: false });
    await session.query("rollback");
    expect(await balanceOf(db, "ann")).toEqual([3, 0]);
    expect(await db.query("select name from fairmill.account")).toEqual([{ name: "ann" }]);
    expect(await grant(db, "bob", 5, "k")).toEqual([{ balance: "5", granted: true }]);
  });

  test("a key that becomes free while the call is under way is paid for, or the call is to be repeated", async () => {
    await grant(db, "ann", 6);
    const unique = { unique_key: "u" };
    const [first] = await enqueuePaid(db, [paid("ann", 3, unique)]);
    const gone = await open();
    const caller = await open();
    // Another key, earlier in order, keeps the caller waiting between its look at "u" and its insert.
    await gone.query("begin");
    await enqueuePaid(gone, [{ unique_key: "a" }], { alone: false });
    const waiting = enqueuePaid(caller, [{ unique_key: "a" }, paid("ann", 3, unique)], { partial: true });
    await waitUntilBlocked(db, caller);
    await call(db, "cancel_v1($1)", [first!.id]);
    await gone.query("commit");
    const [, second] = await waiting;
    expect(second).toMatchObject({ created: true, refused: null });
    expect(await movementsOf(db, second!.id)).toEqual(["hold 3"]);
    expect(await balanceOf(db, "ann")).toEqual([3, 3]);
  });

  test("the same without the units: refused for one of several callers, to be repeated for a list", async () => {
    for (const partial of [true, false]) {
      await grant(db, "ann", 3);
      const unique = { unique_key: `u ${partial}` };
      const [first] = await enqueuePaid(db, [paid("ann", 3, unique)]);
      const gone = await open();
      const caller = await open();
      await gone.query("begin");
      await enqueuePaid(gone, [{ unique_key: `a ${partial}` }], { alone: false });
      const waiting = enqueuePaid(caller, [{ unique_key: `a ${partial}` }, paid("ann", 9, unique)], { partial });
      const answer = partial ? waiting : errorCode(waiting);
      await waitUntilBlocked(db, caller);
      await call(db, "cancel_v1($1)", [first!.id]);
      await gone.query("commit");
      if (partial) expect(codesOf((await answer) as never)).toEqual([null, EXHAUSTED]);
      else expect(await answer).toBe("40001");
    }
  });

  test("upkeep adds up what it may, in bounded portions, and says that there is more", async () => {
    await register(db, "w");
    for (const name of ["a", "b", "c"]) {
      await grant(db, name, 3);
      await enqueuePaid(db, [paid(name)]);
    }
    await settle(
      db,
      "w",
      (await claim(db, "w", 3)).toSorted((a, b) => Number(a.id) - Number(b.id)),
      "done",
    );
    const holder = await open();
    await holder.query("begin; select from fairmill.account where name = 'a' for update");
    expect(await db.query("select next_in_ms from fairmill.tick_upkeep_v1(1)")).not.toEqual([{ next_in_ms: 0 }]);
    expect(await call(db, "add_up_accounts_v1(2)")).toBe(1);
    await holder.query("rollback");
    expect(await db.query("select next_in_ms from fairmill.tick_upkeep_v1(1)")).toEqual([{ next_in_ms: 0 }]);
    expect(await call(db, "add_up_accounts_v1()")).toBe(1);
    expect(await call(db, "add_up_accounts_v1()")).toBe(0);
  });
});

test("I3: the accounts as one statement sees them add up at any moment", async () => {
  await grant(db, "ann", 3);
  await db.query("update fairmill.account set balance = 4");
  expect(await db.query(ACCOUNTS)).toEqual([{ id: "ann" }]);
  await db.query("update fairmill.account set balance = 3");
  expect(await db.query(ACCOUNTS)).toEqual([]);
});
