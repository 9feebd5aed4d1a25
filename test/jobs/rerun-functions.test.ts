// rerun_v1: an ended job once more, as a new job.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import { call, claimLanes, ended, enqueueOne, live, settle } from "../support/sql/calls.js";
import { errorCode } from "../support/sql/sessions.js";
import { redriveCalls } from "./redrive-calls.js";

const db = useDatabase();
const { redrive, liveIds, bury, dead } = redriveCalls(db);

describe("rerun_v1", () => {
  const rerun = async (id: string, changes: object = {}) =>
    (await db.query("select * from fairmill.rerun_v1($1, $2)", [id, JSON.stringify(changes)]))[0]!;

  test("F6: a new job like the old one with another payload, which knows where it comes from; the old one stays", async () => {
    const id = await dead({ payload: { n: 1 }, max_attempts: 7 });
    const was = await ended(db, id);
    const made = await rerun(id, { payload: { n: 2 } });
    expect(made).toEqual({ id: expect.any(String), answer: "stored", refused: null });
    expect(made["id"]).not.toBe(id);
    expect(await ended(db, id)).toEqual(was);
    expect(await live(db, made["id"])).toMatchObject({
      rerun_of: id,
      state: "ready",
      payload: { n: 2 },
      max_attempts: 7,
      attempt: 0,
      lease_no: claimNo(0),
      failures: null,
      kind: was!["kind"],
      queue: was!.queue,
      tenant: was!.tenant,
    });
  });

  test("F6: the line is kept when it ends, is put back, is cancelled, and is repeated itself", async () => {
    const id = await dead();
    const second = (await rerun(id))["id"] as string;
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await settle(db, "w", jobs, "dead", [{ error: { message: "no" } }]);
    expect(await ended(db, second)).toMatchObject({ rerun_of: id });
    await call(db, "retry_v1($1)", [second]);
    expect(await live(db, second)).toMatchObject({ rerun_of: id });
    await call(db, "cancel_v1($1)", [second]);
    expect(await ended(db, second)).toMatchObject({ rerun_of: id, state: "cancelled" });
    await redrive({ state: "cancelled" });
    expect(await live(db, second)).toMatchObject({ rerun_of: id });
    await call(db, "cancel_v1($1)", [second]);
    const third = (await rerun(second))["id"] as string;
    expect(await live(db, third)).toMatchObject({ rerun_of: second });
  });

  test("a live job, an unknown one, and unknown fields are answered for", async () => {
    const id = await enqueueOne(db);
    expect(await rerun(id)).toEqual({ id: null, answer: "live", refused: null });
    expect(await rerun("999999999")).toEqual({ id: null, answer: "not_found", refused: null });
    const over = (await bury(1))[0]!;
    for (const changes of [{ tenant: "other" }, { kind: "other" }, []])
      expect(await errorCode(rerun(over, changes))).toBe("FM001");
    expect(await liveIds()).toEqual([id]);
  });

  test("a repeated call with an idempotency key finds the first one's job", async () => {
    const id = (await bury(1))[0]!;
    const first = await rerun(id, { idempotency_key: "fix 17" });
    expect(await rerun(id, { idempotency_key: "fix 17" })).toEqual({ ...first, answer: "known" });
    expect(await liveIds()).toEqual([first["id"]]);
  });

  test("a limit at enqueue refuses it like any other job", async () => {
    await db.query(
      `select fairmill.set_key_limits_v1('limited', '{"max_running": 1, "when_full": "refuse", "per": "kind"}')`,
    );
    const id = (await bury(1, { kind: "limited" }))[0]!;
    expect(await rerun(id)).toMatchObject({ answer: "stored" });
    expect(await rerun(id)).toMatchObject({
      id: null,
      answer: "refused",
      refused: { code: "FAIRMILL_ACTIVE_LIMIT" },
    });
  });
});
