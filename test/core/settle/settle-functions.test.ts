// Settling: only the holder of the fence is heard, and a repeat answers the same and writes nothing.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimNo, next } from "../../support/lease-no.js";
import {
  call,
  claim,
  claimLanes,
  endLease,
  enqueueOne,
  fill,
  recover,
  register,
  settle,
  statesOf,
  traces,
  VERDICTS,
} from "../../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../../support/sql/sessions.js";
import { DETAIL, ENDING, running, WAITING } from "./settle-calls.js";

const db = useDatabase();
const open = useSessions(db);

describe("the fence", () => {
  describe.each(VERDICTS)("%s", (verdict) => {
    const details = [DETAIL[verdict]];

    test("P3: another worker is refused and changes nothing", async () => {
      const job = await running(db);
      await register(db, "other");
      const before = await traces(db);
      expect(await settle(db, "other", [job], verdict, details)).toEqual({ accepted: 0, refused: [job.id] });
      expect(await traces(db)).toEqual(before);
    });

    test("P3: another lease_no is refused and changes nothing, older or newer", async () => {
      const first = await running(db);
      await settle(db, "w", [first], "release");
      const [job] = await claim(db, "w");
      const before = await traces(db);
      for (const lease_no of [first.lease_no, next(job!.lease_no), "0"])
        expect(await settle(db, "w", [{ id: job!.id, lease_no }], verdict, details)).toEqual({
          accepted: 0,
          refused: [job!.id],
        });
      expect(await traces(db)).toEqual(before);
      expect((await settle(db, "w", [job!], verdict, details)).accepted).toBe(1);
    });

    test("P3: a job that does not run is refused: never claimed, or not there at all", async () => {
      const ready = await enqueueOne(db);
      const later = await enqueueOne(db, { delay_ms: 60_000 });
      const before = await traces(db);
      for (const id of [ready, later, "999999999"])
        expect(await settle(db, "w", [{ id, lease_no: "1" }], verdict, details)).toEqual({
          accepted: 0,
          refused: [id],
        });
      expect(await traces(db)).toEqual(before);
    });

    test.each(["another worker", "the same worker"])(
      "P3: a crash of the server undid a claim, and %s has claimed the job again: only the later claim is heard",
      async (who) => {
        const lost = await running(db, "w1");
        // As the row was before the claim: it was not on disk.
        await db.query(
          "update fairmill.job set state = 'ready', worker = null, started_at = null, lease_no = 0, attempt = 0",
        );
        const second = who === "the same worker" ? "w1" : "w2";
        if (second === "w2") await register(db, second);
        const [held] = await claim(db, second);
        expect(held).toMatchObject({ id: lost.id, lease_no: claimNo(1) });
        expect(held!.lease_no).not.toBe(lost.lease_no);
        const before = await traces(db);
        expect(await settle(db, "w1", [lost], verdict, details)).toEqual({ accepted: 0, refused: [lost.id] });
        expect(await traces(db)).toEqual(before);
        expect(await settle(db, second, [held!], verdict, details)).toEqual({ accepted: 1, refused: [] });
      },
    );

    test("P3: a late settle of a job that was recovered is refused and changes nothing", async () => {
      const job = await running(db);
      await endLease(db, "w");
      expect(await recover(db)).toEqual({ recovered: 1, ended: 0 });
      const before = await traces(db);
      expect(await settle(db, "w", [job], verdict, details)).toEqual({ accepted: 0, refused: [job.id] });
      expect(await traces(db)).toEqual(before);
    });

    test("P3: a late settle of a job that recovery ended, as poison or as cancelled, is refused and changes nothing", async () => {
      const poison = await running(db);
      await endLease(db, "w");
      expect(await recover(db, 1000, 1)).toEqual({ recovered: 0, ended: 1 });
      const asked = await running(db, "w2");
      await call(db, "cancel_v1($1)", [asked.id]);
      await endLease(db, "w2");
      expect(await recover(db)).toEqual({ recovered: 0, ended: 1 });
      const before = await traces(db);
      expect(await settle(db, "w", [poison], verdict, details)).toEqual({ accepted: 0, refused: [poison.id] });
      expect(await settle(db, "w2", [asked], verdict, details)).toEqual({ accepted: 0, refused: [asked.id] });
      expect(await traces(db)).toEqual(before);
    });

    test("P3: a late settle of a job that was given back because its worker did not know of it is refused and changes nothing", async () => {
      const job = await running(db);
      expect(await call<number>(db, "release_unknown_v1('w', '{}')")).toBe(1);
      const before = await traces(db);
      expect(await settle(db, "w", [job], verdict, details)).toEqual({ accepted: 0, refused: [job.id] });
      expect(await traces(db)).toEqual(before);
    });
  });

  test("P3: a settle that names no worker is an error, not a match with jobs that have none", async () => {
    const id = await enqueueOne(db);
    expect(await errorCode(settle(db, null, [{ id, lease_no: "0" }], "done"))).toBe("FM001");
    expect(await errorCode(settle(db, null, [{ id, lease_no: "0" }], "release"))).toBe("FM001");
    expect(await statesOf(db, [id])).toEqual(["ready"]);
  });

  test("a settle and a recovery at the same time: the first to lock the row decides, and there is one end", async () => {
    const job = await running(db);
    await endLease(db, "w");
    const [settler, recoverer] = [await open(), await open()];
    // The settle is first: recovery steps over the row.
    await settler.query("begin");
    expect((await settle(settler, "w", [job], "done")).accepted).toBe(1);
    expect(await recover(recoverer)).toEqual({ recovered: 0, ended: 0 });
    await settler.query("commit");
    expect(await recover(recoverer)).toEqual({ recovered: 0, ended: 0 });
    expect(await statesOf(db, [job.id])).toEqual(["done"]);

    // Recovery is first: the settle waits for it, and is refused.
    const second = await running(db, "w2");
    await endLease(db, "w2");
    await recoverer.query("begin");
    expect(await recover(recoverer)).toEqual({ recovered: 1, ended: 0 });
    const late = settle(settler, "w2", [second], "done");
    await waitUntilBlocked(db, settler);
    await recoverer.query("commit");
    expect(await late).toEqual({ accepted: 0, refused: [second.id] });
    expect(await statesOf(db, [second.id])).toEqual(["ready"]);
  });

  test("an unknown verdict is refused and changes nothing", async () => {
    const job = await running(db);
    expect(await settle(db, "w", [job], ["finished"])).toEqual({ accepted: 0, refused: [job.id] });
    expect(await statesOf(db, [job.id])).toEqual(["running"]);
  });
});

describe("repeating", () => {
  test.each(VERDICTS)(
    "P3: a %s whose answer was lost is sent again, answers the same, and writes nothing twice",
    async (verdict) => {
      const job = await running(db);
      const once = await settle(db, "w", [job], verdict, [DETAIL[verdict]]);
      expect(once).toEqual({ accepted: 1, refused: [] });
      const before = await traces(db);
      for (let n = 0; n < 3; n++) expect(await settle(db, "w", [job], verdict, [DETAIL[verdict]])).toEqual(once);
      expect(await traces(db)).toEqual(before);
    },
  );

  test.each(ENDING)(
    "a %s said again as another end is not a repeat: the first stands and the second is refused",
    async (verdict) => {
      const job = await running(db);
      await settle(db, "w", [job], verdict, [DETAIL[verdict]]);
      for (const other of VERDICTS.filter(
        (name) => name !== verdict && !(verdict === "cancelled" && WAITING.includes(name)),
      ))
        expect(await settle(db, "w", [job], other, [DETAIL[other]]), other).toEqual({ accepted: 0, refused: [job.id] });
      expect(await statesOf(db, [job.id])).toEqual([verdict]);
    },
  );

  test("a repeat by another worker than the one that settled is refused", async () => {
    const job = await running(db);
    await settle(db, "w", [job], "done", [DETAIL.done]);
    expect(await settle(db, "other", [job], "done", [DETAIL.done])).toEqual({ accepted: 0, refused: [job.id] });
    const failed = await running(db, "w2");
    await settle(db, "w2", [failed], "retry", [DETAIL.retry]);
    expect(await settle(db, "other", [failed], "retry", [DETAIL.retry])).toEqual({ accepted: 0, refused: [failed.id] });
  });

  test("a repeat under an older lease of the same worker is refused, though that worker ended the job under a newer one", async () => {
    const first = await running(db);
    await settle(db, "w", [first], "release");
    const [second] = await claim(db, "w");
    await settle(db, "w", [second!], "done", [DETAIL.done]);
    expect(await settle(db, "w", [first], "done", [DETAIL.done])).toEqual({ accepted: 0, refused: [first.id] });
    expect(await settle(db, "w", [second!], "done", [DETAIL.done])).toEqual({ accepted: 1, refused: [] });
  });

  test("a repeated group of many verdicts answers the same, also when a part of it was refused", async () => {
    await fill(db, 7);
    await register(db, "w");
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 7);
    await db.query("update fairmill.job set worker = 'thief' where id = $1", [jobs[6]!.id]);
    await db.query("insert into fairmill.claim_list (worker, list_no, ids) values ('thief', 1, array[$1::bigint])", [
      jobs[6]!.id,
    ]);
    const verdicts = [...VERDICTS, "done"];
    const details = [...VERDICTS.map((verdict) => DETAIL[verdict]), DETAIL.done];
    const once = await settle(db, "w", jobs, verdicts, details);
    expect(once).toEqual({ accepted: 6, refused: [jobs[6]!.id] });
    const before = await traces(db);
    expect(await settle(db, "w", jobs, verdicts, details)).toEqual(once);
    expect(await traces(db)).toEqual(before);
  });

  test("a job named twice in one call is settled once", async () => {
    const job = await running(db);
    expect(await settle(db, "w", [job, job], "done", [DETAIL.done, DETAIL.done])).toEqual({ accepted: 2, refused: [] });
    expect(await db.query("select from fairmill.job_history where id = $1", [job.id])).toHaveLength(1);
  });

  test("a repeat after the job went on is refused: the retry was claimed again, the dead one was put back", async () => {
    const job = await running(db);
    await settle(db, "w", [job], "retry", [DETAIL.retry]);
    await call(db, "retry_v1($1)", [job.id]);
    const [next] = await claim(db, "w");
    expect(await settle(db, "w", [job], "retry", [DETAIL.retry])).toEqual({ accepted: 0, refused: [job.id] });
    await settle(db, "w", [next!], "dead", [DETAIL.dead]);
    await call(db, "retry_v1($1)", [job.id]);
    expect(await settle(db, "w", [next!], "dead", [DETAIL.dead])).toEqual({ accepted: 0, refused: [job.id] });
    expect(await statesOf(db, [job.id])).toEqual(["ready"]);
  });
});
