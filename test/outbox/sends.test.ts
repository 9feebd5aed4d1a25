// Sending by SQL alone: a message is marked before it leaves, by the holder of the lease only, and has its end with its job, whatever ends it.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo, next } from "../support/lease-no.js";
import { call, endLease, live, recover, settle, statesOf, tick, type VerdictName } from "../support/sql/calls.js";
import { useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { answersOf, begin, claimDeliveries, messageOf, publishOne } from "./outbox-calls.js";

const db = useDatabase();
const open = useSessions(db);

const ERROR = { name: "Error", message: "no" };

/** A message, and its job as worker "w" holds it. */
async function underWay(message: object = {}) {
  const id = await publishOne(db, message);
  const [job] = await claimDeliveries(db, "w");
  return { id, job: job! };
}

describe("begin", () => {
  test("C15: marks the message as being sent, with key and body, before it is sent", async () => {
    const { id, job } = await underWay({ payload: { text: "hi" } });
    expect(await begin(db, "w", [job])).toMatchObject([
      { job_id: job.id, answer: "send", message_id: id, idempotency_key: "a", payload: { text: "hi" }, tries: 1 },
    ]);
    expect(await messageOf(db, id)).toMatchObject({
      status: "sending",
      attempts: [{ worker: "w", lease_no: claimNo(1), at: expect.any(String) }],
    });
  });

  test("P5: repeated under the same lease it is the same begin: the answer was lost, and nothing was sent", async () => {
    const { id, job } = await underWay();
    expect(await answersOf(begin(db, "w", [job]))).toEqual(["send"]);
    expect(await answersOf(begin(db, "w", [job]))).toEqual(["send"]);
    expect((await messageOf(db, id)).attempts).toHaveLength(1);
  });

  test("C7: another run under the same worker and lease is uncertain: a crash of the server may undo a claim, and it is made again", async () => {
    const { job } = await underWay();
    expect(await answersOf(begin(db, "w", [job]))).toEqual(["send"]);
    expect(await answersOf(begin(db, "w", [job], false, "another run"))).toEqual(["uncertain"]);
    expect(await answersOf(begin(db, "w", [job]))).toEqual(["send"]);
  });

  test("C8: after a worker died while sending, the next one is uncertain, and sends only if it says so", async () => {
    const { id, job } = await underWay();
    await begin(db, "w", [job]);
    await endLease(db, "w");
    await recover(db);
    const [again] = await claimDeliveries(db, "v");
    const [answer] = await begin(db, "v", [again!]);
    expect(answer).toMatchObject({ answer: "uncertain", message_id: id, idempotency_key: "a" });
    expect(answer!.since_ms).toBeGreaterThanOrEqual(0);
    expect((await messageOf(db, id)).attempts).toHaveLength(1);
    expect(await begin(db, "v", [again!], true)).toMatchObject([{ answer: "send", idempotency_key: "a", tries: 2 }]);
    expect((await messageOf(db, id)).attempts).toMatchObject([
      { worker: "w", lease_no: claimNo(1) },
      { worker: "v", lease_no: claimNo(2) },
    ]);
  });

  test("P3: another worker, another lease or a job that does not run is lost, and changes nothing", async () => {
    const { id, job } = await underWay();
    expect(await answersOf(begin(db, "v", [job]))).toEqual(["lost"]);
    expect(await answersOf(begin(db, "w", [{ id: job.id, lease_no: next(job.lease_no) }]))).toEqual(["lost"]);
    expect(await answersOf(begin(db, "w", [{ id: "99999999", lease_no: job.lease_no }]))).toEqual(["lost"]);
    await settle(db, "w", [job], "release");
    expect(await answersOf(begin(db, "w", [job]))).toEqual(["lost"]);
    expect(await messageOf(db, id)).toMatchObject({ status: "pending", attempts: [] });
  });

  test("P3: at the same moment as a recovery: the one that has the job first decides", async () => {
    const { id, job } = await underWay();
    await endLease(db, "w");
    const [sender, upkeep] = [await open(), await open()];
    await upkeep.query("begin");
    await recover(upkeep);
    expect(await answersOf(begin(sender, "w", [job]))).toEqual(["busy"]);
    await upkeep.query("commit");
    expect(await answersOf(begin(sender, "w", [job]))).toEqual(["lost"]);
    expect(await messageOf(db, id)).toMatchObject({ status: "pending" });

    const [again] = await claimDeliveries(db, "v");
    await endLease(db, "v");
    await sender.query("begin");
    expect(await answersOf(begin(sender, "v", [again!]))).toEqual(["send"]);
    expect(await recover(upkeep)).toMatchObject({ recovered: 0 });
    await sender.query("commit");
    await recover(upkeep);
    const [third] = await claimDeliveries(db, "u");
    expect(await answersOf(begin(db, "u", [third!]))).toEqual(["uncertain"]);
  });

  test("a job that another session has locked does not hold up those beside it", async () => {
    const first = await publishOne(db, { idempotency_key: "1" });
    await publishOne(db, { idempotency_key: "2" });
    const jobs = await claimDeliveries(db, "w");
    const other = await open();
    await other.query("begin");
    await call(other, "cancel_v1($1)", [jobs.find(({ id }) => id === jobs[0]!.id)!.id]);
    expect((await begin(db, "w", jobs)).map(({ answer }) => answer).toSorted()).toEqual(["busy", "send"]);
    await other.query("rollback");
    expect((await begin(db, "w", jobs)).map(({ answer }) => answer)).toEqual(["send", "send"]);
    expect(await messageOf(db, first)).toMatchObject({ status: "sending" });
  });
});

describe("the settle writes the mark", () => {
  const ENDS: [verdict: VerdictName, delivery: object | undefined, status: string][] = [
    ["done", { outcome: "sent", answer: { id: 7 } }, "sent"],
    ["done", undefined, "sent"],
    ["dead", { outcome: "refused", error: ERROR }, "failed"],
    ["dead", { outcome: "uncertain", error: ERROR }, "unknown"],
    ["dead", undefined, "unknown"],
    ["cancelled", { outcome: "refused" }, "skipped"],
    ["cancelled", undefined, "unknown"],
    ["retry", { outcome: "refused", error: ERROR }, "pending"],
    ["retry", { outcome: "uncertain", error: ERROR }, "sending"],
    ["retry", undefined, "sending"],
    ["snooze", { outcome: "refused" }, "pending"],
    ["snooze", undefined, "sending"],
    ["release", undefined, "sending"],
  ];
  test.each(ENDS)("C15: %s with %j: the message is %s", async (verdict, delivery, status) => {
    const { id, job } = await underWay();
    await begin(db, "w", [job]);
    const details = [{ delay_ms: 0, error: ERROR, ...(delivery && { delivery }) }];
    expect(await settle(db, "w", [job], verdict, details)).toMatchObject({ accepted: 1 });
    const row = await messageOf(db, id);
    expect(row.status).toBe(status);
    expect(row.ended_at === null).toBe(["retry", "snooze", "release"].includes(verdict));
    const outcome = (delivery as { outcome?: string })?.outcome;
    expect(row.attempts[0]!.outcome).toBe(outcome);
    if (status === "sent" && delivery) expect(row.answer).toEqual({ id: 7 });
    // The answer was lost, and the settle is sent again.
    expect(await settle(db, "w", [job], verdict, details)).toMatchObject({ accepted: 1 });
    expect(await messageOf(db, id)).toEqual(row);
  });

  test.each<[VerdictName, string]>([
    ["done", "sent"],
    ["retry", "refused"],
    ["dead", "refused"],
  ])("P3 P5: a settle as %s whose fence does not hold changes no message", async (verdict, outcome) => {
    const { id, job } = await underWay();
    await begin(db, "w", [job]);
    await endLease(db, "w");
    await recover(db);
    expect(await settle(db, "w", [job], verdict, [{ error: ERROR, delivery: { outcome } }])).toMatchObject({
      accepted: 0,
    });
    expect(await messageOf(db, id)).toMatchObject({ status: "sending", ended_at: null });
    const [again] = await claimDeliveries(db, "v");
    expect(await settle(db, "w", [job], verdict, [{ error: ERROR, delivery: { outcome } }])).toMatchObject({
      accepted: 0,
    });
    expect(await answersOf(begin(db, "v", [again!]))).toEqual(["uncertain"]);
  });

  test("a cancel was requested: a retry becomes the end, unknown where it may have arrived, skipped where it did not", async () => {
    for (const [outcome, status] of [
      ["uncertain", "unknown"],
      ["refused", "skipped"],
    ] as const) {
      const { id, job } = await underWay({ idempotency_key: outcome });
      await begin(db, "w", [job]);
      expect(await call(db, "cancel_v1($1)", [job.id])).toBe("requested");
      await settle(db, "w", [job], "retry", [{ error: ERROR, delivery: { outcome } }]);
      expect(await messageOf(db, id)).toMatchObject({ status });
    }
  });
});

describe("jobs that no worker settles", () => {
  test("cancelled while it waits: skipped; expired: failed", async () => {
    const skipped = await publishOne(db, { idempotency_key: "1" });
    expect(await call(db, "cancel_v1($1)", [(await messageOf(db, skipped)).job_id])).toBe("cancelled");
    expect(await messageOf(db, skipped)).toMatchObject({ status: "skipped" });

    const late = await publishOne(db, { idempotency_key: "2", expire_ms: 1 });
    await db.query("update fairmill.job set expire_at = now() - interval '1 second'");
    await tick(db);
    expect(await messageOf(db, late)).toMatchObject({ status: "failed" });
  });

  test("C8: poison, and a recovery that applies a cancel request, while it is being sent: unknown", async () => {
    const { id, job } = await underWay();
    await begin(db, "w", [job]);
    await endLease(db, "w");
    expect(await recover(db, 1000, 1)).toMatchObject({ ended: 1 });
    expect(await messageOf(db, id)).toMatchObject({ status: "unknown" });

    const asked = await publishOne(db, { idempotency_key: "2" });
    const [other] = await claimDeliveries(db, "v");
    await begin(db, "v", [other!]);
    await call(db, "cancel_v1($1)", [other!.id]);
    await endLease(db, "v");
    await recover(db);
    expect(await messageOf(db, asked)).toMatchObject({ status: "unknown" });
  });

  test("poison before anything was sent: failed", async () => {
    const { id } = await underWay();
    await endLease(db, "w");
    await recover(db, 1000, 1);
    expect(await messageOf(db, id)).toMatchObject({ status: "failed" });
  });
});

describe("putting jobs back", () => {
  const give = async (outcome: "refused" | "uncertain", key = outcome) => {
    const { id, job } = await underWay({ idempotency_key: key });
    await begin(db, "w", [job]);
    await settle(db, "w", [job], "dead", [{ error: ERROR, delivery: { outcome } }]);
    return { id, job };
  };

  test("C8: a retry or redrive sends what certainly was not delivered again, and leaves what may have been alone", async () => {
    const [failed, unknown] = [await give("refused"), await give("uncertain")];
    expect(await call(db, "retry_v1($1)", [unknown.job.id])).toBe("order_busy");
    expect(await call(db, "retry_v1($1)", [failed.job.id])).toBe("ready");
    expect(await messageOf(db, failed.id)).toMatchObject({ status: "pending", ended_at: null });
    const [job] = await claimDeliveries(db, "w");
    await settle(db, "w", [job!], "dead", [{ error: ERROR }]);
    expect(await db.query("select redriven from fairmill.redrive_v1('{}')")).toEqual([{ redriven: 1 }]);
    expect(await messageOf(db, unknown.id)).toMatchObject({ status: "unknown" });
    expect(await statesOf(db, [unknown.job.id, failed.job.id])).toEqual(["dead", "ready"]);
  });

  test("a delivery job is not rerun: a new message has a key of its own", async () => {
    const { job } = await give("refused");
    expect(await db.query("select id, answer from fairmill.rerun_v1($1)", [job.id])).toEqual([
      { id: null, answer: "delivery" },
    ]);
  });

  test.each([
    ["sent", "sent", undefined],
    ["failed", "failed", undefined],
    ["resend", "pending", "ready"],
  ])("resolved as %s: %s, and on record who said so", async (verdict, status, state) => {
    const { id, job } = await give("uncertain");
    expect(await call(db, "resolve_delivery_v1($1, $2, 'ann', 'asked them')", [id, verdict])).toBe("resolved");
    const row = await messageOf(db, id);
    expect(row).toMatchObject({ status });
    expect(row.attempts.at(-1)).toMatchObject({ outcome: "resolved", as: verdict, by: "ann", reason: "asked them" });
    expect((await live(db, job.id))?.state).toBe(state);
    const again = await call(db, "resolve_delivery_v1($1, $2)", [id, verdict]);
    expect(again).toBe(verdict === "resend" ? "open" : "known");
    if (verdict === "sent") expect(await call(db, "retry_v1($1)", [job.id])).toBe("order_busy");
    if (verdict !== "resend") return;
    const [claimed] = await claimDeliveries(db, "w");
    expect(await begin(db, "w", [claimed!])).toMatchObject([{ answer: "send", idempotency_key: "uncertain" }]);
  });

  test("of two who resolve at once the second finds what the first decided", async () => {
    const { id } = await give("uncertain");
    const [one, two] = [await open(), await open()];
    await one.query("begin");
    expect(await call(one, "resolve_delivery_v1($1, 'sent')", [id])).toBe("resolved");
    const waiting = call(two, "resolve_delivery_v1($1, 'resend')", [id]);
    await waitUntilBlocked(db, two);
    await one.query("commit");
    expect(await waiting).toBe("open");
    expect(await messageOf(db, id)).toMatchObject({ status: "sent" });
  });

  test("a message whose job retention has removed is sent again by a new one", async () => {
    const { id, job } = await give("uncertain");
    await db.query("delete from fairmill.job_history");
    expect(await call(db, "resolve_delivery_v1($1, 'resend')", [id])).toBe("resolved");
    const row = await messageOf(db, id);
    expect(row.job_id).not.toBe(job.id);
    expect((await live(db, row.job_id!))?.state).toBe("ready");
  });

  test("B10: retention removes what ended long ago, in portions, but nothing whose fate is unknown", async () => {
    for (const key of ["1", "2", "3"]) await give("refused", key as "refused");
    const { id } = await give("uncertain");
    await db.query("update fairmill.outbox set ended_at = now() - interval '31 days'");
    expect(await call(db, "retention(rows_max => 2)")).toBe(2);
    await call(db, "retention()");
    expect(await db.query("select id from fairmill.outbox")).toEqual([{ id }]);
  });
});
