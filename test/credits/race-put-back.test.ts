// Accounts of jobs that are put back are locked in the order of their names, like those of jobs that come.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { balanceOf, claim, enqueuePaid, grant, register, settle } from "../support/sql/calls.js";
import { type Session, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { paid } from "./credit-calls.js";

const db = useDatabase();
const open = useSessions(db);

describe("sessions at the same time", () => {
  describe("jobs that are put back lock accounts in the order of their names, like those that come", () => {
    /** Dead jobs that had held credits of these accounts, in the order of their ids. */
    const buried = async (accounts: readonly string[]): Promise<string[]> => {
      const ids = (
        await enqueuePaid(
          db,
          accounts.map((name) => paid(name, 1)),
        )
      ).map(({ id }) => String(id));
      await register(db, "w");
      for (;;) {
        const jobs = await claim(db, "w", accounts.length);
        if (jobs.length === 0) break;
        const answers = jobs.map(() => ({ error: { message: "no" } }));
        await settle(
          db,
          "w",
          jobs.toSorted((a, b) => Number(a.id) - Number(b.id)),
          "dead",
          answers,
        );
      }
      return ids;
    };
    const redrive = (session: Session, jobsMax = 500) =>
      session.query<{ redriven: number; more: boolean }>("select * from fairmill.redrive_v1('{}', $1)", [jobsMax]);

    test("a redrive waits for a caller's account while it holds none that the caller may want next", async () => {
      for (const name of ["ann", "zoe"]) await grant(db, name, 100);
      await buried(["zoe", "ann"]);
      const [caller, other] = [await open(), await open()];
      await other.query("set deadlock_timeout = '50ms'");
      await caller.query("begin");
      await enqueuePaid(caller, [paid("ann", 1)], { alone: false });
      const redriven = redrive(other);
      await waitUntilBlocked(db, other);
      await enqueuePaid(caller, [paid("zoe", 1)], { alone: false });
      await caller.query("commit");
      expect(await redriven).toMatchObject([{ redriven: 2 }]);
      expect(await balanceOf(db, "zoe")).toEqual([98, 2]);
    });

    test("a flow that is run again locks the accounts of all its nodes before the first of them starts", async () => {
      for (const name of ["ann", "zoe"]) await grant(db, name, 100);
      const first = { kind: "paid", ...paid("zoe", 1) };
      const then = { kind: "paid", ...paid("ann", 1) };
      const nodes = [
        { name: "first", after: [], when: "succeeded", on_failure: "fail", jobs: [first] },
        { name: "then", after: [0], when: "succeeded", on_failure: "fail", jobs: [then] },
        { name: "beside", after: [], when: "succeeded", on_failure: "fail", jobs: [{ kind: "work" }] },
      ];
      const [flow] = await db.query<{ id: string }>("select id from fairmill.start_flow_v1($1)", [
        JSON.stringify({ name: "f", tenant: "default", callbacks: {}, nodes }),
      ]);
      await register(db, "w");
      const jobs = await claim(db, "w", 2);
      await settle(
        db,
        "w",
        jobs,
        "dead",
        jobs.map(() => ({ error: { message: "no" } })),
      );
      const [caller, other] = [await open(), await open()];
      await other.query("set deadlock_timeout = '50ms'");
      await caller.query("begin");
      await enqueuePaid(caller, [paid("ann", 1)], { alone: false });
      const answer = other.query("select answer from fairmill.retry_flow_v1($1)", [flow!.id]);
      await waitUntilBlocked(db, other);
      await enqueuePaid(caller, [paid("zoe", 1)], { alone: false });
      await caller.query("commit");
      expect(await answer).toEqual([{ answer: "started" }]);
    });

    test("redrives and enqueues of many accounts at once: none is the victim of a deadlock, and every sum is right", async () => {
      const names = ["ann", "bob", "cid", "dan"];
      for (const name of names) await grant(db, name, 1_000_000);
      const count = 1_200;
      await buried(Array.from({ length: count }, (_, n) => names[(n * 7 + Math.floor(n / 4)) % 4]!));
      const sessions = await Promise.all(Array.from({ length: 6 }, () => open()));
      let redriving = 3;
      let enqueued = 0;
      const codes = await Promise.all(
        sessions.map(async (session, n) => {
          await session.query("set deadlock_timeout = '10ms'");
          try {
            if (n < 3) while ((await redrive(session, 60))[0]!.more);
            else
              while (redriving > 0) {
                await enqueuePaid(session, [
                  paid(names[0], 1),
                  paid(names[1], 1),
                  paid(names[2], 1),
                  paid(names[3], 1),
                ]);
                enqueued += names.length;
              }
            return "ok";
          } catch (error) {
            return (error as { code?: string }).code;
          } finally {
            if (n < 3) redriving--;
          }
        }),
      );
      expect(codes).toEqual(sessions.map(() => "ok"));
      // What another one had locked was skipped: once more, alone.
      while ((await redrive(sessions[0]!))[0]!.more);
      const [live] = await db.query("select count(*)::integer as n from fairmill.job where reservation is not null");
      expect(live).toEqual({ n: count + enqueued });
    });
  });
});
