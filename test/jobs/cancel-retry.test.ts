// Cancelling and running again, from outside: what each answers, what it changes, and what happens when another session is quicker.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import {
  block,
  call,
  claim,
  claimLanes,
  ended,
  enqueueOne,
  live,
  register,
  rescanNo,
  settle,
  traces,
} from "../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const cancel = (id: string, ask = db as Parameters<typeof call>[0]) => call<string>(ask, "cancel_v1($1)", [id]);
const retry = (id: string, ask = db as Parameters<typeof call>[0]) => call<string>(ask, "retry_v1($1)", [id]);

async function inState(
  state: "ready" | "scheduled" | "blocked" | "running" | "done" | "dead" | "cancelled",
): Promise<string> {
  const id = await enqueueOne(db, { expire_ms: 3_600_000, ...(state === "scheduled" ? { delay_ms: 60_000 } : {}) });
  if (state === "blocked") await block(db, id);
  if (["running", "done", "dead", "cancelled"].includes(state)) {
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    if (state !== "running")
      await settle(db, "w", jobs, state as "done", [
        state === "dead" ? { outcome: "failed", error: { message: "no" } } : null,
      ]);
  }
  return id;
}

describe("cancel", () => {
  test.each(["ready", "scheduled", "blocked"] as const)(
    "F5: a %s job ends at once, untouched by any worker",
    async (state) => {
      const id = await inState(state);
      expect(await cancel(id)).toBe("cancelled");
      expect(await live(db, id)).toBeUndefined();
      expect(await ended(db, id)).toMatchObject({
        state: "cancelled",
        worker: null,
        error: null,
        failures: null,
        attempt: 0,
      });
      expect(await cancel(id)).toBe("ended");
    },
  );

  test("F5: a running job is asked: the request is noted once, and its worker is told", async () => {
    const listener = await open();
    await listener.query("listen fairmill");
    const id = await inState("running");
    expect(await cancel(id)).toBe("requested");
    const first = await live(db, id);
    expect(first).toMatchObject({ state: "running", worker: "w" });
    expect(first!.cancel_requested_at).toBeInstanceOf(Date);
    expect(await cancel(id)).toBe("requested");
    expect((await live(db, id))!.cancel_requested_at).toEqual(first!.cancel_requested_at);
    await listener.query("select");
    expect(listener.notified).toEqual(["fairmill !cancel w", "fairmill !cancel w"]);
  });

  test.each(["done", "dead", "cancelled"] as const)("a job that is %s has ended: nothing changes", async (state) => {
    const id = await inState(state);
    const before = await traces(db);
    expect(await cancel(id)).toBe("ended");
    expect(await traces(db)).toEqual(before);
  });

  test("an unknown job is not found", async () => {
    expect(await cancel("999999999")).toBe("not_found");
  });

  test.each([
    ["commits", "requested"],
    ["rolls back", "cancelled"],
  ])("a cancel that meets a claim waits for it: when the claim %s, the answer is %s", async (end, answer) => {
    const id = await enqueueOne(db);
    const [claimer, canceller] = [await open(), await open()];
    await claimer.query("begin");
    expect(await claimLanes(claimer, "w", [{ tenant: "default" }], 1)).toHaveLength(1);
    const asked = cancel(id, canceller);
    await waitUntilBlocked(db, canceller);
    await claimer.query(end === "commits" ? "commit" : "rollback");
    expect(await asked).toBe(answer);
  });

  test("a cancel that meets the end of the job waits for it and answers that it has ended", async () => {
    const id = await inState("running");
    const [settler, canceller] = [await open(), await open()];
    await settler.query("begin");
    await settle(settler, "w", [(await live(db, id))!], "done");
    const asked = cancel(id, canceller);
    await waitUntilBlocked(db, canceller);
    await settler.query("commit");
    expect(await asked).toBe("ended");
    expect((await ended(db, id))!.state).toBe("done");
  });

  test("a request to cancel does not outlive the run: a job that is run again later is not cancelled by it", async () => {
    const id = await inState("running");
    await cancel(id);
    await settle(db, "w", [(await live(db, id))!], "dead", [{ error: { message: "no" } }]);
    expect(await retry(id)).toBe("ready");
    expect((await live(db, id))!.cancel_requested_at).toBeNull();
  });
});

describe("retry", () => {
  test.each(["dead", "cancelled"] as const)(
    "F6: a %s job is back in the queue with its attempts counted anew, its history of failures kept",
    async (state) => {
      const id = await inState(state);
      const was = (await ended(db, id))!;
      expect(await retry(id)).toBe("ready");
      expect(await ended(db, id)).toBeUndefined();
      const row = (await live(db, id))!;
      expect(row).toMatchObject({
        state: "ready",
        attempt: 0,
        crashes: 0,
        lease_no: claimNo(1),
        worker: null,
        run_at: null,
        expire_at: null,
        started_at: null,
      });
      for (const column of [
        "id",
        "kind",
        "payload",
        "queue",
        "tenant",
        "priority",
        "max_attempts",
        "key",
        "created_at",
        "failures",
      ])
        expect(row[column], column).toEqual(was[column]);
      expect(await rescanNo(db)).toBe(1);
      await register(db, "w2");
      expect(await claim(db, "w2")).toMatchObject([{ id, attempt: 1, lease_no: claimNo(2) }]);
    },
  );

  test("F6: it ends a second time like any other, with one row in the history", async () => {
    const id = await inState("dead");
    await retry(id);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await settle(db, "w", jobs, "done", [{ result: 1 }]);
    expect(await db.query("select state from fairmill.job_history where id = $1", [id])).toEqual([{ state: "done" }]);
    expect((await ended(db, id))!.failures).toMatchObject([{ lease_no: claimNo(1) }]);
  });

  test("a scheduled job is due now", async () => {
    const id = await inState("scheduled");
    expect(await retry(id)).toBe("ready");
    expect(await live(db, id)).toMatchObject({ state: "ready", run_at: expect.any(Date) });
    expect(await rescanNo(db)).toBe(1);
  });

  test.each(["ready", "blocked", "running", "done"] as const)(
    "a %s job stays as it is, and the answer says so",
    async (state) => {
      const id = await inState(state);
      const before = await traces(db);
      expect(await retry(id)).toBe(state);
      expect(await traces(db)).toEqual(before);
    },
  );

  test("an unknown job is not found", async () => {
    expect(await retry("999999999")).toBe("not_found");
  });

  test("a retry that meets retention waits for it and finds nothing", async () => {
    const id = await inState("dead");
    const [remover, retrier] = [await open(), await open()];
    await remover.query("begin");
    await remover.query("delete from fairmill.job_history where id = $1", [id]);
    const asked = retry(id, retrier);
    await waitUntilBlocked(db, retrier);
    await remover.query("commit");
    expect(await asked).toBe("not_found");
    expect(await live(db, id)).toBeUndefined();
  });

  test("of two retries at once one puts the job back, and the other finds it there", async () => {
    const id = await inState("dead");
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    expect(await retry(id, a)).toBe("ready");
    const second = retry(id, b);
    await waitUntilBlocked(db, b);
    await a.query("commit");
    expect(await second).toBe("ready");
    expect(await db.query("select from fairmill.job where id = $1", [id])).toHaveLength(1);
  });
});
