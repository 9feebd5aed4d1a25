// Steps by SQL alone: the fence, the first write that wins, signals that are never lost, in whatever order they come.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo, next } from "../support/lease-no.js";
import {
  type Asker,
  type Claimed,
  call,
  claim,
  ended,
  endLease,
  enqueueKeyed,
  enqueueOne,
  live,
  recover,
  register,
  rescanNo,
  setRule,
  settle,
  statesOf,
  tick,
} from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();
const open = useSessions(db);

interface Answer {
  answer: string;
  kind: string | null;
  kept: unknown;
}

const store = async (
  ask: Asker,
  worker: string,
  job: { id: string; lease_no: string },
  name: string,
  position = 0,
  result: unknown = null,
  limits: { steps?: number; bytes?: number } = {},
): Promise<Answer> =>
  (
    await ask.query<Answer>("select * from fairmill.store_step_v1($1, $2, $3, $4, $5, $6, 0, $7, $8)", [
      worker,
      job.id,
      job.lease_no,
      name,
      position,
      JSON.stringify(result),
      limits.steps ?? 1000,
      limits.bytes ?? 2 ** 24,
    ])
  )[0]!;

const pause = async (
  ask: Asker,
  job: { id: string; lease_no: string },
  name: string,
  kind: "sleep" | "wait",
  waitMs: number | null,
  worker = "w",
): Promise<{ answer: string; in_ms: number | null; signalled: boolean | null; kept: unknown }> =>
  (
    await ask.query("select * from fairmill.pause_step_v1($1, $2, $3, $4, 0, $5, $6)", [
      worker,
      job.id,
      job.lease_no,
      name,
      kind,
      waitMs,
    ])
  )[0] as never;

const signal = (ask: Asker, id: string, name: string, value: unknown = null, alone = true) =>
  call<string>(ask, "signal_v1($1, $2, $3, $4)", [id, name, JSON.stringify(value), alone]);

/** Puts a job back as the library does that has come to a wait. */
const putBack = (ask: Asker, job: Claimed, names: readonly string[], delayMs = 3_600_000) =>
  settle(ask, "w", [job], "snooze", [{ delay_ms: delayMs, waits: names }]);

const steps = (ask: Asker = db) =>
  ask.query(
    "select job_id, name, kind, position, result, lease_no, attempt from fairmill.step order by position, name",
  );

async function running(job: object = {}): Promise<Claimed> {
  await register(db, "w");
  const id = await enqueueOne(db, { ...job });
  const [claimed] = await claim(db, "w");
  expect(claimed!.id).toBe(id);
  return claimed!;
}

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

describe("a signal", () => {
  test("makes a waiting job ready at once, without its attempt spent, and its value is what the wait is given", async () => {
    const job = await running();
    expect(await pause(db, job, "go", "wait", null)).toMatchObject({ answer: "waiting", in_ms: null });
    await putBack(db, job, ["go"]);
    expect(await live(db, job.id)).toMatchObject({ state: "scheduled", attempt: 0, worker: null });
    expect(await signal(db, job.id, "go", { ok: true })).toBe("sent");
    expect(await live(db, job.id)).toMatchObject({ state: "ready" });
    const [again] = await claim(db, "w");
    expect(await pause(db, again!, "go", "wait", null)).toMatchObject({
      answer: "over",
      signalled: true,
      kept: { ok: true },
    });
  });

  test("the first one counts", async () => {
    const job = await running();
    expect(await signal(db, job.id, "go", 1)).toBe("sent");
    expect(await signal(db, job.id, "go", 2)).toBe("known");
    expect(await pause(db, job, "go", "wait", null)).toMatchObject({ answer: "over", kept: 1 });
    expect(await signal(db, job.id, "go", 3)).toBe("known");
  });

  test("before the wait, before the first run: the wait is over at once", async () => {
    const id = await enqueueOne(db);
    expect(await signal(db, id, "go", "early")).toBe("sent");
    expect(await live(db, id)).toMatchObject({ state: "ready", lease_no: claimNo(0) });
    await register(db, "w");
    const [job] = await claim(db, "w");
    expect(await pause(db, job!, "go", "wait", 1000)).toMatchObject({ answer: "over", signalled: true, kept: "early" });
  });

  test("after the time: the wait has ended without it, and the signal is late", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", 0);
    expect(await pause(db, job, "go", "wait", 0)).toMatchObject({ answer: "over", signalled: false });
    expect(await signal(db, job.id, "go", 1)).toBe("late");
    expect(await pause(db, job, "go", "wait", 0)).toMatchObject({ answer: "over", signalled: false, kept: null });
  });

  test("to no job, to one that has ended, under a bad name, or to a step that is no wait", async () => {
    const job = await running();
    await store(db, "w", job, "a", 0, 1);
    expect(await errorCode(signal(db, job.id, "a"))).toBe("FM001");
    expect(await errorCode(signal(db, job.id, ""))).toBe("FM001");
    expect(await errorCode(signal(db, job.id, "ä".repeat(101)))).toBe("FM001");
    expect(await signal(db, "999999999", "go")).toBe("not_found");
    await settle(db, "w", [job], "done");
    expect(await signal(db, job.id, "go")).toBe("ended");
    expect(await steps()).toHaveLength(1);
  });

  test("does not end the backoff of a job that failed since, nor a delay of one that has not run", async () => {
    const later = await enqueueOne(db, { delay_ms: 3_600_000 });
    expect(await signal(db, later, "go")).toBe("sent");
    expect(await live(db, later)).toMatchObject({ state: "scheduled" });
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"], 0);
    await tick(db);
    const [again] = await claim(db, "w");
    await settle(db, "w", [again!], "retry", [{ delay_ms: 3_600_000, outcome: "failed", error: { message: "no" } }]);
    expect(await signal(db, job.id, "go")).toBe("sent");
    expect(await live(db, job.id)).toMatchObject({ state: "scheduled" });
  });

  test("no wake-up is lost: the signal comes after the wait was registered and before the job is put back", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    expect(await signal(db, job.id, "go", 1)).toBe("sent");
    const before = await rescanNo(db);
    await putBack(db, job, ["go"]);
    // Without any upkeep, and told to the workers.
    expect(await live(db, job.id)).toMatchObject({ state: "ready", attempt: 0, worker: null });
    expect(await rescanNo(db)).toBe(before + 1);
  });

  test("is found at once: it has written its value and not looked at the job, which is put back at this moment", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await db.query(`create function public.hold_up() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock(4711); return null; end $$;
      create trigger hold_up after update on fairmill.step for each row
        when (new.signalled_at is distinct from old.signalled_at) execute function public.hold_up()`);
    try {
      const [holding, settling, sending] = [await open(), await open(), await open()];
      await holding.query("select pg_advisory_lock(4711)");
      const sent = signal(sending, job.id, "go", 1);
      await waitUntilBlocked(db, sending);
      await settling.query("begin");
      expect(await putBack(settling, job, ["go"])).toEqual({ accepted: 1, refused: [] });
      await holding.query("select pg_advisory_unlock(4711)");
      await waitUntil("the sender waits for the settle", async () => {
        const [row] = await db.query<{ waits: boolean }>("select $1 = any (pg_blocking_pids($2)) as waits", [
          settling.pid,
          sending.pid,
        ]);
        return row!.waits;
      });
      await settling.query("commit");
      expect(await sent).toBe("sent");
      expect(await statesOf(db, [job.id])).toEqual(["ready"]);
    } finally {
      await db.query("drop trigger hold_up on fairmill.step; drop function public.hold_up()");
    }
  });

  test("alone does not wait for ever for a session that has the job locked; it is due with the next look", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    const holding = await open();
    await holding.query("begin");
    await holding.query("select from fairmill.job where id = $1 for update", [job.id]);
    expect(await signal(db, job.id, "go", 1)).toBe("sent");
    await holding.query("rollback");
    await putBack(db, job, ["go"]);
    expect(await statesOf(db, [job.id])).toEqual(["ready"]);
  });

  test("no wake-up is lost: the job is being returned, and the signal waits for that", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    const [settling, sending] = [await open(), await open()];
    await settling.query("begin");
    await putBack(settling, job, ["go"]);
    const sent = signal(sending, job.id, "go", 1);
    await waitUntilBlocked(db, sending);
    await settling.query("commit");
    expect(await sent).toBe("sent");
    expect(await statesOf(db, [job.id])).toEqual(["ready"]);
  });

  test("no wake-up is lost: the signal is in an open transaction while the job is put back; the settle does not wait for it", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    const [sending, listening] = [await open(), await open()];
    await sending.query("begin");
    expect(await signal(sending, job.id, "go", 1, false)).toBe("sent");
    expect(await putBack(db, job, ["go"])).toEqual({ accepted: 1, refused: [] });
    await listening.query("listen fairmill");
    await sending.query("commit");
    // A worker that is told of the commit finds it due, there and then.
    await waitUntil("told", async () => {
      await listening.query("select");
      return listening.notified.includes("fairmill !due 0");
    });
    expect(await tick(db)).toMatchObject([{ promoted: 1 }]);
    const [again] = await claim(db, "w");
    expect(await pause(db, again!, "go", "wait", null)).toMatchObject({ answer: "over", kept: 1 });
  });

  test("no wake-up is lost: the signal is in an open transaction when the wait is first reached: come again in a moment", async () => {
    const job = await running();
    const sending = await open();
    await sending.query("begin");
    await signal(sending, job.id, "go", 1, false);
    expect(await pause(db, job, "go", "wait", null)).toMatchObject({ answer: "busy" });
    await sending.query("rollback");
    expect(await pause(db, job, "go", "wait", null)).toMatchObject({ answer: "waiting" });
  });

  test("no wake-up is lost: a sender with an old snapshot fails instead of believing that the job still runs", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    const sending = await open();
    await sending.query("begin isolation level repeatable read");
    await sending.query("select from fairmill.job");
    await putBack(db, job, ["go"]);
    expect(await errorCode(signal(sending, job.id, "go", 1, false))).toBe("40001");
    await sending.query("rollback");
  });

  test("in a transaction of the caller: nothing before its commit, due with it, and listeners are told", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    const [sending, listening] = [await open(), await open()];
    await listening.query("listen fairmill");
    await sending.query("begin");
    expect(await signal(sending, job.id, "go", 1, false)).toBe("sent");
    expect(await tick(db)).toMatchObject([{ promoted: 0 }]);
    await sending.query("commit");
    await waitUntil("told", async () => {
      await listening.query("select");
      return listening.notified.includes("fairmill !due 0");
    });
    expect(await tick(db)).toMatchObject([{ promoted: 1 }]);
  });

  test("that is taken back leaves the job waiting", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    const sending = await open();
    await sending.query("begin");
    await signal(sending, job.id, "go", 1);
    await sending.query("rollback");
    expect(await statesOf(db, [job.id])).toEqual(["scheduled"]);
    expect(await signal(db, job.id, "go", 2)).toBe("sent");
    expect(await statesOf(db, [job.id])).toEqual(["ready"]);
  });

  test("sixteen at once: one counts", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    await putBack(db, job, ["go"]);
    const sessions = await Promise.all(Array.from({ length: 16 }, open));
    const answers = await Promise.all(sessions.map((session, n) => signal(session, job.id, "go", n)));
    expect(answers.filter((answer) => answer === "sent")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "known")).toHaveLength(15);
    expect(await db.query("select result from fairmill.step")).toEqual([{ result: answers.indexOf("sent") }]);
  });

  test("a settle that is repeated after its answer was lost is accepted, and changes nothing more", async () => {
    const job = await running();
    await pause(db, job, "go", "wait", null);
    expect(await putBack(db, job, ["go"])).toEqual({ accepted: 1, refused: [] });
    await signal(db, job.id, "go", 1);
    expect(await putBack(db, job, ["go"])).toEqual({ accepted: 1, refused: [] });
    expect(await statesOf(db, [job.id])).toEqual(["ready"]);
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
