// Signals by SQL alone: the first one counts, and none is lost, in whatever order they come.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import { claim, enqueueOne, live, register, rescanNo, settle, statesOf, tick } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { waitUntil } from "../support/wait.js";
import { pause, putBack, signal, stepsOn, store } from "./step-calls.js";

const db = useDatabase();
const { steps, running } = stepsOn(db);
const open = useSessions(db);

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
