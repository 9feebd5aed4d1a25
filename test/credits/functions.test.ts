// Credits by SQL alone: grants, and what an enqueue may hold; never below zero.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  balanceOf,
  call,
  claim,
  enqueuePaid,
  grant,
  live,
  movementsOf,
  register,
  setLimits,
  setRule,
  settle,
  statesOf,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { codesOf, EXHAUSTED, paid } from "./credit-calls.js";

const db = useDatabase();
const open = useSessions(db);

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
      await db.query("select from fairmill.job union all select from fairmill.credit_entry where kind = 'reservation'"),
    ).toEqual([]);
  });

  test("of several callers refuses the one that cannot pay, and not those behind it", async () => {
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
    expect((await live(db, answers[4]!.id!))!["reservation"]).toBeNull();
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

    test("all refused for credits asks no limit", async () => {
      await setLimits(db, "tenant", "default", { rate: { limit: 1, per_ms: 3_600_000, at: "enqueue" } });
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
      expect(await movementsOf(db, first!.id)).toEqual(["reservation 3"]);
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
      expect(await movementsOf(db, late[1]!.id)).toEqual(["reservation 3"]);
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
      expect(await movementsOf(db, first!.id)).toEqual(["reservation 3"]);
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
