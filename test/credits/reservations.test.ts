// What a job holds of an account: one end per hold, in the transaction that ends the job, and a hold again when it is retried.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { next } from "../support/lease-no.js";
import {
  balanceOf,
  call,
  claim,
  endLease,
  enqueuePaid,
  grant,
  movementsOf,
  recover,
  register,
  settle,
  statesOf,
  tick,
  type VerdictName,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { codesOf, EXHAUSTED, paid } from "./credit-calls.js";

const db = useDatabase();
const open = useSessions(db);

const enqueueOnePaid = async (more: object = {}, amount = 3) =>
  (await enqueuePaid(db, [paid("ann", amount, more)]))[0]!.id!;

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
    expect(await movementsOf(db, id)).toEqual(["reservation 3", end]);
    expect(await balanceOf(db, "ann")).toEqual(balance);
    // The answer was lost, and the settle is sent again.
    expect(await settle(db, "w", jobs, verdict, [{ error: { message: "no" } }])).toMatchObject({ accepted: 1 });
    expect(await movementsOf(db, id)).toEqual(["reservation 3", end]);
  });

  test("a reservation that has its end keeps it, and the settle does not fail for it", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    const jobs = await claim(db, "w");
    await db.query("select fairmill.end_reservations(array_agg(reservation), '{dead}') from fairmill.job");
    expect(await settle(db, "w", jobs, "dead", [{ error: { message: "no" } }])).toMatchObject({ accepted: 1 });
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "release 3"]);
    expect(await balanceOf(db, "ann")).toEqual([10, 0]);
  });

  test.each<VerdictName>(["retry", "snooze", "release"])(
    "a job that is settled as %s keeps its hold",
    async (verdict) => {
      await grant(db, "ann", 10);
      const id = await enqueueOnePaid();
      await register(db, "w");
      await settle(db, "w", await claim(db, "w"), verdict, [{ delay_ms: 1000, error: { message: "no" } }]);
      expect(await movementsOf(db, id)).toEqual(["reservation 3"]);
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
      expect(await settle(db, "w", [{ id, lease_no: next(job!.lease_no) }], verdict)).toMatchObject({ accepted: 0 });
    }
    expect(await movementsOf(db, id)).toEqual(["reservation 3"]);
  });

  test("cancelled while it waits, and while it runs: by the settle that heeds it", async () => {
    await grant(db, "ann", 10);
    const running = await enqueueOnePaid();
    await register(db, "w");
    const jobs = await claim(db, "w");
    const waiting = await enqueueOnePaid();
    expect(await call(db, "cancel_v1($1)", [waiting])).toBe("cancelled");
    expect(await movementsOf(db, waiting)).toEqual(["reservation 3", "release 3"]);
    expect(await call(db, "cancel_v1($1)", [running])).toBe("requested");
    expect(await movementsOf(db, running)).toEqual(["reservation 3"]);
    await settle(db, "w", jobs, "retry", [{ delay_ms: 1, error: { message: "no" } }]);
    expect(await movementsOf(db, running)).toEqual(["reservation 3", "release 3"]);
    expect(await balanceOf(db, "ann")).toEqual([10, 0]);
  });

  test("expired", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid({ expire_ms: 0 });
    await tick(db);
    expect(await statesOf(db, [id])).toEqual(["dead"]);
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "release 3"]);
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
      ["reservation 3"],
      ["reservation 3", "release 3"],
      ["reservation 3", "release 3"],
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
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "capture 3"]);
  });

  test("the table refuses a second end of a reservation, whatever writes it", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect(
      await errorCode(
        db.query(
          "insert into fairmill.credit_entry (account, kind, amount, reservation_id, job_id) select account, 'release', amount, id, job_id from fairmill.credit_entry where job_id = $1 and kind = 'reservation'",
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
    expect(await movementsOf(db, id)).toEqual(["reservation 3"]);
    expect(await balanceOf(db, "ann")).toEqual([0, 3]);
  });

  test("entries outlive the history of their jobs", async () => {
    await grant(db, "ann", 10);
    const id = await enqueueOnePaid();
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    await db.query("update fairmill.job_history set ended_at = now() - interval '50 days' where id = $1", [id]);
    await call(db, "retention('1 day')");
    expect(await statesOf(db, [id])).toEqual(["gone"]);
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "capture 3"]);
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
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "release 3", "reservation 3", "capture 3"]);
    expect(await balanceOf(db, "ann")).toEqual([0, 0]);
  });

  test("without the credits answers no_credits, and the job stays dead as it was", async () => {
    const id = await deadJob();
    await enqueuePaid(db, [paid("ann", 1)]);
    const before = await db.query("select * from fairmill.job_history where id = $1", [id]);
    expect(await call(db, "retry_v1($1)", [id])).toBe("no_credits");
    expect(await db.query("select * from fairmill.job_history where id = $1", [id])).toEqual(before);
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "release 3"]);
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
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "release 3", "reservation 3"]);
  });

  test("of a job that waits or is done touches no account", async () => {
    await grant(db, "ann", 3);
    const id = await enqueueOnePaid({ delay_ms: 1_000_000 });
    expect(await call(db, "retry_v1($1)", [id])).toBe("ready");
    await register(db, "w");
    await settle(db, "w", await claim(db, "w"), "done");
    expect(await call(db, "retry_v1($1)", [id])).toBe("done");
    expect(await movementsOf(db, id)).toEqual(["reservation 3", "capture 3"]);
  });
});
