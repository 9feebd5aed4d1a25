// Steps by SQL alone: the fence, the first write that wins, signals that are never lost, in whatever order they come.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo, next } from "../support/lease-no.js";
import {
  type Claimed,
  call,
  claim,
  ended,
  endLease,
  enqueueKeyed,
  enqueueOne,
  recover,
  register,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { pause, putBack, signal, stepsOn, store } from "./step-calls.js";

const db = useDatabase();
const { steps, running } = stepsOn(db);
const open = useSessions(db);

describe("a step", () => {
  test("B22: is kept with its place, attempt and lease, and the first write wins", async () => {
    const job = await running();
    expect(await store(db, "w", job, "a", 0, { paid: 1 })).toMatchObject({ answer: "stored" });
    expect(await store(db, "w", job, "a", 0, { paid: 2 })).toEqual({ answer: "known", kind: "run", kept: { paid: 1 } });
    expect(await steps()).toEqual([
      { job_id: job.id, name: "a", kind: "run", position: 0, result: { paid: 1 }, lease_no: claimNo(1), attempt: 1 },
    ]);
  });

  test.each<[string, (job: Claimed) => [string, { id: string; lease_no: string }]]>([
    ["another worker", (job) => ["other", job]],
    ["an older lease", (job) => ["w", { ...job, lease_no: next(job.lease_no, -1) }]],
    ["a newer lease", (job) => ["w", { ...job, lease_no: next(job.lease_no) }]],
    ["a job that there is not", (job) => ["w", { ...job, id: "999999999" }]],
  ])("P3: of %s is refused and changes nothing", async (_, change) => {
    const job = await running();
    const [worker, other] = change(job);
    expect(await store(db, worker, other, "a")).toMatchObject({ answer: "lost" });
    expect(await pause(db, other, "b", "sleep", 1000, worker)).toMatchObject({ answer: "lost" });
    expect(await pause(db, other, "c", "wait", null, worker)).toMatchObject({ answer: "lost" });
    expect(await steps()).toEqual([]);
  });

  test("P3: of a job that was recovered and claimed by another is refused, also when both have the same worker's name", async () => {
    const job = await running();
    await endLease(db, "w");
    await recover(db);
    await register(db, "second");
    const [again] = await claim(db, "second");
    expect(await store(db, "w", job, "a", 0, "late")).toMatchObject({ answer: "lost" });
    expect(await store(db, "second", again!, "a", 0, "mine")).toMatchObject({ answer: "stored" });
  });

  test("P3: a recovery at the same time: the first to lock the job decides", async () => {
    const job = await running();
    await endLease(db, "w");
    const [recovering, storing] = [await open(), await open()];
    await recovering.query("begin");
    await recover(recovering);
    const stored = store(storing, "w", job, "a", 0, "late");
    await waitUntilBlocked(db, storing);
    await recovering.query("commit");
    expect(await stored).toMatchObject({ answer: "lost" });
    expect(await steps()).toEqual([]);
  });

  test("the other way round: a recovery steps over a job whose step is being kept", async () => {
    const job = await running();
    await endLease(db, "w");
    const storing = await open();
    await storing.query("begin");
    expect(await store(storing, "w", job, "a", 0, 1)).toMatchObject({ answer: "stored" });
    expect(await recover(db)).toEqual({ recovered: 0, ended: 0 });
    await storing.query("commit");
    expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
  });

  test("as many and as large as they may be, and no more", async () => {
    const job = await running();
    expect(await store(db, "w", job, "a", 0, "x".repeat(50), { steps: 2, bytes: 100 })).toMatchObject({
      answer: "stored",
    });
    expect(await store(db, "w", job, "b", 1, "x".repeat(50), { steps: 2, bytes: 100 })).toMatchObject({
      answer: "large",
    });
    expect(await store(db, "w", job, "b", 1, "x".repeat(40), { steps: 2, bytes: 100 })).toMatchObject({
      answer: "stored",
    });
    expect(await store(db, "w", job, "c", 2, 1, { steps: 2, bytes: 1000 })).toMatchObject({ answer: "full" });
    expect(await steps()).toHaveLength(2);
  });

  test("the table refuses names, kinds and sizes that cannot be", async () => {
    const job = await running();
    expect(await errorCode(store(db, "w", job, ""))).toBe("23514");
    expect(await errorCode(store(db, "w", job, "ä".repeat(101)))).toBe("23514");
    expect(await errorCode(pause(db, job, "a", "nap" as "sleep", 1))).toBe("23514");
    expect(await errorCode(pause(db, job, "a", "sleep", null))).toBe("23514");
  });

  test("stays when the job ends, is there again when it is retried, and goes when the history is gone", async () => {
    const job = await running();
    await store(db, "w", job, "a", 0, 1);
    await settle(db, "w", [job], "dead", [{ error: { message: "no" } }]);
    expect(await call(db, "retry_v1($1)", [job.id])).toBe("ready");
    const [again] = await claim(db, "w");
    expect(again).toMatchObject({ attempt: 1, lease_no: claimNo(2) });
    expect(await store(db, "w", again!, "a", 0, 2)).toMatchObject({ answer: "known", kept: 1 });
    await settle(db, "w", [again!], "done");

    await db.query("update fairmill.step set started_at = now() - interval '40 days'");
    await tick(db);
    expect(await steps()).toHaveLength(1);
    await db.query("delete from fairmill.job_history where id = $1", [job.id]);
    await tick(db);
    expect(await steps()).toEqual([]);
  });

  test("retention leaves the old steps of live jobs alone, removes in portions, and steps over what another session has locked", async () => {
    const job = await running();
    await store(db, "w", job, "a", 0, 1);
    await db.query(
      `insert into fairmill.step (job_id, name, kind, position, started_at, finished_at, attempt, lease_no)
       select -n, 'gone', 'run', 0, now(), now(), 1, 1 from generate_series(1, 10) n`,
    );
    await db.query("update fairmill.step set started_at = now() - interval '40 days'");
    const holding = await open();
    await holding.query("begin");
    await holding.query("select from fairmill.step where job_id = -1 for update");
    await db.query("select fairmill.retention('30 days', 4)");
    expect(await steps()).toHaveLength(7);
    await db.query("select fairmill.retention('30 days', 100)");
    expect(await steps()).toHaveLength(2);
    await holding.query("rollback");
  });

  test("forgotten, all at once, but never while the job runs", async () => {
    const job = await running();
    await store(db, "w", job, "a", 0, 1);
    expect(await call(db, "forget_steps_v1($1)", [job.id])).toBeNull();
    expect(await steps()).toHaveLength(1);
    await settle(db, "w", [job], "release");
    expect(await call(db, "forget_steps_v1($1)", [job.id])).toBe(1);
    expect(await steps()).toEqual([]);
  });
});

describe("a sleep", () => {
  test("ends at the moment that was fixed when it was first reached", async () => {
    const job = await running();
    expect(await pause(db, job, "nap", "sleep", 60_000)).toMatchObject({ answer: "waiting" });
    await settle(db, "w", [job], "snooze", [{ delay_ms: 0 }]);
    await tick(db);
    const [again] = await claim(db, "w");
    expect(again).toMatchObject({ attempt: 1, lease_no: claimNo(2) });
    const second = await pause(db, again!, "nap", "sleep", 3_600_000);
    expect(second.answer).toBe("waiting");
    expect(second.in_ms).toBeLessThanOrEqual(60_000);
    await db.query("update fairmill.step set wake_at = now()");
    expect(await pause(db, again!, "nap", "sleep", 60_000)).toMatchObject({ answer: "over" });
    expect(await pause(db, again!, "nap", "sleep", 60_000)).toMatchObject({ answer: "over" });
  });

  test("a name that was something else is told", async () => {
    const job = await running();
    await store(db, "w", job, "a", 0, 1);
    expect(await pause(db, job, "a", "sleep", 1)).toMatchObject({ answer: "known", stored_kind: "run" });
    await pause(db, job, "b", "sleep", 1000);
    expect(await store(db, "w", job, "b", 0, 1)).toMatchObject({ answer: "known", kind: "sleep" });
  });
});

describe("while it waits", () => {
  test("a job can be cancelled, and one that was asked to before it could wait ends", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    expect(await call(db, "cancel_v1($1)", [job.id])).toBe("cancelled");
    const other = await enqueueOne(db);
    const [claimed] = await claim(db, "w");
    await pause(db, claimed!, "go", "wait", null);
    expect(await call(db, "cancel_v1($1)", [other])).toBe("requested");
    await putBack(db, claimed!, ["go"]);
    expect(await ended(db, other)).toMatchObject({ state: "cancelled" });
  });

  test("why_v1 says that the job sleeps, or which signal it waits for", async () => {
    const why = async (id: string) =>
      (
        await db.query("select passed, reason, detail from fairmill.why_v1($1) where check_name = 'scheduled'", [id])
      )[0];
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    expect(await why(job.id)).toMatchObject({
      passed: false,
      reason: 'It waits for the signal "go".',
      detail: { step: "go" },
    });
    await enqueueOne(db);
    const [other] = await claim(db, "w");
    await pause(db, other!, "nap", "sleep", 60_000);
    await settle(db, "w", [other!], "snooze", [{ delay_ms: 60_000 }]);
    expect(await why(other!.id)).toMatchObject({
      passed: false,
      reason: expect.stringMatching(/^It sleeps \(nap\) until /),
    });
  });

  test("a job expires", async () => {
    const job = await running({ expire_ms: 3_600_000 });
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    await db.query("update fairmill.job set expire_at = now() - interval '1 second'");
    await tick(db);
    expect(await ended(db, job.id)).toMatchObject({ state: "dead", error: { code: "FAIRMILL_EXPIRED" } });
  });

  test("a job gives up its place under its key, and needs one again when the signal comes", async () => {
    await setRule(db, { per: "key", max_running: 1 });
    await register(db, "w");
    const [first, second] = await enqueueKeyed(db, 2);
    const [job] = await claim(db, "w");
    expect(job!.id).toBe(first);
    await pause(db, job!, "go", "wait", null);
    await putBack(db, job!, ["go"]);
    expect(await statesOf(db, [first!, second!])).toEqual(["scheduled", "ready"]);
    const [other] = await claim(db, "w");
    expect(await signal(db, first!, "go")).toBe("sent");
    expect(await statesOf(db, [first!, second!])).toEqual(["blocked", "running"]);
    await settle(db, "w", [other!], "done");
    expect(await statesOf(db, [first!, second!])).toEqual(["ready", "done"]);
  });
});
