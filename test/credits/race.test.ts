// Credits between sessions: settles wait for no caller, callers do not wait in a circle, and every sum is right at any moment.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { ACCOUNTS } from "../support/invariants.js";
import {
  balanceOf,
  call,
  claim,
  enqueuePaid,
  grant,
  movementsOf,
  register,
  settle,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { codesOf, EXHAUSTED, paid } from "./credit-calls.js";

const db = useDatabase();
const open = useSessions(db);

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
    // What was given back is told at once, and added up when a session may.
    expect(await balanceOf(other, "ann")).toEqual([17, 0]);
    expect(await db.query("select from fairmill.credit_pending")).toHaveLength(3);
    await caller.query("commit");
    expect(await balanceOf(db, "ann")).toEqual([16, 1]);
    await tick(db);
    expect(await db.query("select from fairmill.credit_pending")).toEqual([]);
    expect(await db.query("select balance, reserved from fairmill.account")).toEqual([
      { balance: "16", reserved: "1" },
    ]);
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
    expect(await movementsOf(db, second!.id)).toEqual(["reservation 3"]);
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
    expect(await call(db, "add_up_accounts(2)")).toBe(1);
    await holder.query("rollback");
    expect(await db.query("select next_in_ms from fairmill.tick_upkeep_v1(1)")).toEqual([{ next_in_ms: 0 }]);
    expect(await call(db, "add_up_accounts()")).toBe(1);
    expect(await call(db, "add_up_accounts()")).toBe(0);
  });
});

test("I3: the accounts as one statement sees them add up at any moment", async () => {
  await grant(db, "ann", 3);
  await db.query("update fairmill.account set balance = 4");
  expect(await db.query(ACCOUNTS)).toEqual([{ id: "ann" }]);
  await db.query("update fairmill.account set balance = 3");
  expect(await db.query(ACCOUNTS)).toEqual([]);
});
