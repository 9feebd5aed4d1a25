// What a settle puts back to the queue is found.
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { call, claim, claimLanes, fill, live, register, rescanNo, settle } from "../../support/sql/calls.js";
import { running } from "./settle-calls.js";

const db = useDatabase();

describe("going back to the queue", () => {
  test("a release raises the rescan mark of its queue and tells sleepers, a retry and a snooze do so when they fall due", async () => {
    const job = await running(db, "w", { queue: "default" });
    await settle(db, "w", [job], "release");
    expect(await rescanNo(db)).toBe(1);
    const [again] = await claim(db, "w");
    await settle(db, "w", [again!], "snooze", [{ delay_ms: 0 }]);
    expect(await rescanNo(db)).toBe(1);
    expect(await call<number>(db, "promote_v1()")).toBe(1);
    expect(await rescanNo(db)).toBe(2);
  });

  test("what a stopping worker still holds goes back without spending an attempt", async () => {
    await fill(db, 3);
    await register(db, "w");
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 3);
    expect(await call<number>(db, "stop_worker_v1('w')")).toBe(3);
    for (const { id } of jobs)
      expect(await live(db, id)).toMatchObject({ state: "ready", attempt: 0, crashes: 0, worker: null });
    expect(await rescanNo(db)).toBe(1);
    expect(await db.query("select state from fairmill.worker")).toEqual([{ state: "stopped" }]);
    expect(await call<number>(db, "stop_worker_v1('w')")).toBe(0);
  });

  test("only what the worker does not know of is given back, and a lease_no is never used twice", async () => {
    await fill(db, 4);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 3);
    const theirs = await claimLanes(db, "other", [{ tenant: "default" }], 1);
    expect(await call<number>(db, "release_unknown_v1('w', $1)", [[jobs[0]!.id]])).toBe(2);
    expect(await live(db, jobs[0]!.id)).toMatchObject({ state: "running", worker: "w" });
    expect(await live(db, theirs[0]!.id)).toMatchObject({ state: "running", worker: "other" });
    for (const { id } of jobs.slice(1))
      expect(await live(db, id)).toMatchObject({ state: "ready", attempt: 0, worker: null });
    const again = await claimLanes(db, "w2", [{ tenant: "default" }], 2);
    for (const job of again) expect(claimsOf(Number(job.lease_no))).toBe(3);
    expect(again.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });
});
