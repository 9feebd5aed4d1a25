// What a settle records: every end whole, and a request to cancel is heeded.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import {
  type Claimed,
  call,
  claim,
  claimLanes,
  ended,
  enqueueOne,
  fill,
  live,
  register,
  settle,
  statesOf,
  traces,
  VERDICTS,
} from "../../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";
import { DETAIL, ENDING, FAILURE, running, WAITING } from "./settle-calls.js";

const db = useDatabase();
const open = useSessions(db);

describe("what is recorded", () => {
  test("A3 A5: mixed verdicts in one call each do their own thing", async () => {
    await fill(db, 6);
    await register(db, "w");
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 6);
    const before = new Map(await Promise.all(jobs.map(async ({ id }) => [id, await live(db, id)] as const)));
    expect(
      await settle(
        db,
        "w",
        jobs,
        VERDICTS,
        VERDICTS.map((verdict) => DETAIL[verdict]),
      ),
    ).toEqual({ accepted: 6, refused: [] });
    const [done, dead, cancelled, retry, snooze, release] = jobs.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];

    const entry = {
      attempt: 1,
      lease_no: claimNo(1),
      worker: "w",
      ...FAILURE,
      started_at: expect.any(String),
      ended_at: expect.any(String),
    };
    expect(await ended(db, done)).toMatchObject({
      state: "done",
      result: { n: 7 },
      error: null,
      failures: null,
      worker: "w",
      attempt: 1,
      lease_no: claimNo(1),
    });
    expect(await ended(db, dead)).toMatchObject({
      state: "dead",
      result: null,
      error: FAILURE.error,
      worker: "w",
      attempt: 1,
    });
    expect((await ended(db, dead))!.failures).toEqual([entry]);
    expect(await ended(db, cancelled)).toMatchObject({ state: "cancelled", result: null, error: null, failures: null });
    expect(await live(db, retry)).toMatchObject({
      state: "scheduled",
      attempt: 1,
      lease_no: claimNo(1),
      worker: null,
      started_at: null,
    });
    expect((await live(db, retry))!.failures).toEqual([entry]);
    expect(await live(db, snooze)).toMatchObject({
      state: "scheduled",
      attempt: 0,
      lease_no: claimNo(1),
      worker: null,
      started_at: null,
      failures: null,
    });
    expect(await live(db, release)).toMatchObject({
      state: "ready",
      attempt: 0,
      lease_no: claimNo(1),
      worker: null,
      started_at: null,
      failures: null,
      run_at: null,
    });

    for (const id of [done, dead, cancelled]) {
      const [was, is] = [before.get(id)!, (await ended(db, id))!];
      for (const column of [
        "id",
        "queue",
        "tenant",
        "kind",
        "payload",
        "priority",
        "max_attempts",
        "key",
        "created_at",
        "started_at",
        "run_at",
        "expire_at",
      ])
        expect(is[column], column).toEqual(was[column]);
      expect(is.ended_at!.getTime()).toBeGreaterThanOrEqual(was.started_at!.getTime());
    }
  });

  test("a retry waits as long as it was told to, a snooze too, a release not at all; none of them goes before its time", async () => {
    for (const [verdict, detail, ms] of [
      ["retry", { ...FAILURE, delay_ms: 5_000 }, 5_000],
      ["snooze", { delay_ms: 7_000.5 }, 7_000.5],
      ["retry", FAILURE, 0],
      ["snooze", null, 0],
    ] as const) {
      const job = await running(db, `w ${verdict} ${ms}`);
      const [{ now: early }] = (await db.query<{ now: Date }>("select clock_timestamp() as now")) as [{ now: Date }];
      await settle(db, `w ${verdict} ${ms}`, [job], verdict, [detail]);
      const [{ now: late }] = (await db.query<{ now: Date }>("select clock_timestamp() as now")) as [{ now: Date }];
      const row = await live(db, job.id);
      expect(row!.state).toBe("scheduled");
      expect(row!.run_at!.getTime()).toBeGreaterThanOrEqual(early.getTime() + Math.floor(ms));
      expect(row!.run_at!.getTime()).toBeLessThanOrEqual(late.getTime() + Math.ceil(ms));
      await db.query("delete from fairmill.job");
    }
  });

  test("A5: the failures of all attempts are kept, oldest first, with what happened in each", async () => {
    const first = await running(db);
    await settle(db, "w", [first], "retry", [{ outcome: "timeout", error: { message: "one" } }]);
    await call(db, "retry_v1($1)", [first.id]);
    const [second] = await claim(db, "w");
    await settle(db, "w", [second!], "retry", [{ error: { message: "two" } }]);
    await call(db, "retry_v1($1)", [first.id]);
    const [third] = await claim(db, "w");
    expect(third).toMatchObject({ attempt: 3, lease_no: claimNo(3) });
    await settle(db, "w", [third!], "done", [{ result: "at last" }]);
    const end = await ended(db, first.id);
    expect(end).toMatchObject({ state: "done", attempt: 3, result: "at last", error: null });
    expect(end!.failures).toMatchObject([
      { attempt: 1, lease_no: claimNo(1), worker: "w", outcome: "timeout", error: { message: "one" } },
      { attempt: 2, lease_no: claimNo(2), worker: "w", outcome: "failed", error: { message: "two" } },
    ]);
  });

  test("details belong to their jobs by place: a null among them, a short array, and none at all", async () => {
    await fill(db, 5);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 5);
    await settle(db, "w", jobs.slice(0, 3), "done", [null, { result: 1 }]);
    await settle(db, "w", jobs.slice(3), "done");
    const results = await Promise.all(jobs.map(async ({ id }) => (await ended(db, id))!.result));
    expect(results).toEqual([null, 1, null, null, null]);
  });

  test("a result that is null, false, zero or empty is kept as it is, in SQL too", async () => {
    for (const result of [null, false, 0, "", [], {}]) {
      const job = await running(db, `w ${JSON.stringify(result)}`);
      await settle(db, `w ${JSON.stringify(result)}`, [job], "done", [{ result }]);
      expect(await db.query("select result::text from fairmill.job_history where id = $1", [job.id])).toEqual([
        { result: JSON.stringify(result) },
      ]);
    }
  });

  test("progress is kept for running jobs only, under the same fence, and goes into the history", async () => {
    await fill(db, 3);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 3);
    const [a, b, c] = jobs as [Claimed, Claimed, Claimed];
    const progress = (worker: string | null, rows: readonly Claimed[], values: unknown[]) =>
      call<string[]>(db, "progress_v1($1, $2, $3, $4)", [
        worker,
        rows.map(({ id }) => id),
        rows.map(({ lease_no }) => lease_no),
        JSON.stringify(values),
      ]);
    expect(await progress("w", [a, b, { ...c, lease_no: "9" }], [1, { at: 2 }, 3])).toEqual([c.id]);
    expect(await progress("w", [a], [11])).toEqual([]);
    expect(await progress("other", [a, b], [5, 5])).toEqual([a.id, b.id]);
    expect(await progress(null, [a], [5])).toEqual([a.id]);
    const waiting = await enqueueOne(db);
    expect(await progress(null, [{ ...a, id: waiting, lease_no: "0" }], [5])).toEqual([waiting]);
    expect((await live(db, waiting))!.progress).toBeNull();
    await settle(db, "w", [a], "done");
    expect(await progress("w", [a], [12])).toEqual([a.id]);
    expect((await ended(db, a.id))!.progress).toBe(11);
    expect((await live(db, b.id))!.progress).toEqual({ at: 2 });
    expect((await live(db, c.id))!.progress).toBeNull();
  });
});

describe("a job with a cancel request", () => {
  test.each(WAITING)(
    "F5: does not wait again: a %s ends it as cancelled, and a repeat answers the same",
    async (verdict) => {
      const job = await running(db);
      expect(await call<string>(db, "cancel_v1($1)", [job.id])).toBe("requested");
      const once = await settle(db, "w", [job], verdict, [DETAIL[verdict]]);
      expect(once).toEqual({ accepted: 1, refused: [] });
      expect(await ended(db, job.id)).toMatchObject({ state: "cancelled", worker: "w", attempt: 1 });
      const before = await traces(db);
      expect(await settle(db, "w", [job], verdict, [DETAIL[verdict]])).toEqual(once);
      expect(await traces(db)).toEqual(before);
    },
  );

  test.each(ENDING)("F5: ends as its worker says when the verdict is %s", async (verdict) => {
    const job = await running(db);
    await call(db, "cancel_v1($1)", [job.id]);
    await settle(db, "w", [job], verdict, [DETAIL[verdict]]);
    expect(await statesOf(db, [job.id])).toEqual([verdict]);
  });

  test("F5: a retry that becomes a cancel keeps its error in the history of attempts", async () => {
    const job = await running(db);
    await call(db, "cancel_v1($1)", [job.id]);
    await settle(db, "w", [job], "retry", [DETAIL.retry]);
    expect((await ended(db, job.id))!.failures).toMatchObject([{ lease_no: claimNo(1), error: FAILURE.error }]);
  });

  test("F5: only the asked one of a group is cancelled, the others wait as they should", async () => {
    await fill(db, 3);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 3);
    await call(db, "cancel_v1($1)", [jobs[1]!.id]);
    expect(await settle(db, "w", jobs, ["retry", "snooze", "release"], [DETAIL.retry, DETAIL.snooze, null])).toEqual({
      accepted: 3,
      refused: [],
    });
    expect(
      await statesOf(
        db,
        jobs.map(({ id }) => id),
      ),
    ).toEqual(["scheduled", "cancelled", "ready"]);
  });

  test("F5: a request that is being made at this moment is waited for and heeded", async () => {
    const job = await running(db);
    const [settler, canceller] = [await open(), await open()];
    await canceller.query("begin");
    expect(await call<string>(canceller, "cancel_v1($1)", [job.id])).toBe("requested");
    const settled = settle(settler, "w", [job], "retry", [DETAIL.retry]);
    await waitUntilBlocked(db, settler);
    await canceller.query("commit");
    expect(await settled).toEqual({ accepted: 1, refused: [] });
    expect(await statesOf(db, [job.id])).toEqual(["cancelled"]);
  });

  test("F5: a request that comes while the settle is under way is not lost: it waits, and finds the job waiting", async () => {
    const job = await running(db);
    const [settler, canceller] = [await open(), await open()];
    await settler.query("begin");
    await settle(settler, "w", [job], "retry", [DETAIL.retry]);
    const asked = call<string>(canceller, "cancel_v1($1)", [job.id]);
    await waitUntilBlocked(db, canceller);
    await settler.query("commit");
    expect(await asked).toBe("cancelled");
    expect(await statesOf(db, [job.id])).toEqual(["cancelled"]);
  });
});
