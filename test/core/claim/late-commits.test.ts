// A late commit with a lower id than a floor is found, without a scan of all lanes.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { enqueueOne } from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";
import { floorsRig, job } from "./floors-rig.js";

const db = useDatabase();
const { put, newRig, nextRound } = floorsRig(db);
const openSession = useSessions(db);

describe("a late commit with a lower id", () => {
  test.each(["a", "another"])("is found in the next round, in a lane that goes on or a new one: %s", async (tenant) => {
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin");
    const lower = Number(await enqueueOne(late, job(tenant)));
    await put(1_000);
    expect(await rig.claim(900)).toHaveLength(900);
    expect(await nextRound(rig, 50)).toHaveLength(50);
    await late.query("commit");
    expect(await nextRound(rig, 5)).toContain(lower);
    expect(rig.moreScans()).toBe(0);
  });

  test("is found although its own transaction is the newest of all", async () => {
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin");
    const id = Number(await enqueueOne(late, job("a")));
    for (let n = 0; n < 3; n++) expect(await nextRound(rig)).toEqual([]);
    await late.query("commit");
    expect(await nextRound(rig)).toEqual([id]);
    expect(rig.moreScans()).toBe(0);
  });

  test("is found although its lane was emptied and forgotten meanwhile", async () => {
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin");
    const lower = Number(await enqueueOne(late, job("a")));
    const [higher] = await put(1);
    expect(await nextRound(rig)).toEqual([higher]);
    for (let n = 0; n < 5; n++) expect(await nextRound(rig)).toEqual([]);
    await late.query("commit");
    expect(await nextRound(rig)).toEqual([lower]);
    expect(rig.moreScans()).toBe(0);
  });

  test("is found as soon as the worker is told to look, if nothing else runs", async () => {
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin");
    const lower = Number(await enqueueOne(late, job("a")));
    const [higher] = await put(1);
    expect(await nextRound(rig)).toEqual([higher]);
    await late.query("commit");
    rig.claimer.markStale();
    expect(await rig.claim(5)).toEqual([lower]);
    expect(rig.moreScans()).toBe(0);
  });

  test("is found while a long transaction that writes stays open, across many rounds; and so is what that one brings", async () => {
    const rig = await newRig();
    const long = await openSession();
    await long.query("begin");
    const lowest = Number(await enqueueOne(long, job("long")));
    const short = await openSession();
    for (let n = 0; n < 10; n++) {
      await short.query("begin");
      const lower = Number(await enqueueOne(short, job("short")));
      const [higher] = await put(1);
      expect(await nextRound(rig)).toEqual([higher]);
      expect(await nextRound(rig)).toEqual([]);
      await short.query("commit");
      expect(await nextRound(rig)).toEqual([lower]);
    }
    await long.query("commit");
    expect(await nextRound(rig)).toEqual([lowest]);
    expect(rig.moreScans()).toBe(0);
  });

  test("of a subtransaction is found", async () => {
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin; savepoint s");
    const sub = Number(await enqueueOne(late, job("a")));
    await late.query("release s");
    const [higher] = await put(1);
    expect(await nextRound(rig)).toEqual([higher]);
    await late.query("commit");
    expect(await nextRound(rig)).toEqual([sub]);
    expect(rig.moreScans()).toBe(0);
  });

  test("of a prepared transaction is found when that is committed", async ({ skip }) => {
    const [{ max }] = (await db.query("select current_setting('max_prepared_transactions')::integer as max")) as [
      { max: number },
    ];
    if (max === 0) skip("the server that TEST_DATABASE_URL names has no prepared transactions");
    const rig = await newRig();
    const late = await openSession();
    await late.query("begin");
    const prepared = Number(await enqueueOne(late, job("a")));
    await late.query("prepare transaction 'late'");
    const [above] = await put(1);
    expect(await nextRound(rig)).toEqual([above]);
    await late.query("commit prepared 'late'");
    expect(await nextRound(rig)).toEqual([prepared]);
    expect(rig.moreScans()).toBe(0);
  });
});

test("a transaction has its id before it takes ids of jobs, by either way of storing them", async () => {
  for (const call of [
    'select fairmill.enqueue_many_v1(\'[{"kind": "job"}]\')',
    "select fairmill.enqueue_payloads_v1('[{}]', '{\"kind\": \"job\"}')",
  ]) {
    const session = await openSession();
    const probe = await openSession();
    // The insert waits here, the ids are taken.
    await probe.query("begin; lock table fairmill.job in share row exclusive mode");
    await session.query("set lock_timeout = 0");
    const [{ last }] = (await db.query("select last_value::text as last from fairmill.job_id_seq")) as [
      { last: string },
    ];
    const stored = session.query(call);
    await expect
      .poll(async () => {
        const [row] = await db.query(
          `select a.backend_xid is not null as has_xid, (select last_value::text <> $2 from fairmill.job_id_seq) as has_id
           from pg_stat_activity a where a.pid = $1 and a.wait_event_type = 'Lock'`,
          [session.pid, last],
        );
        return row;
      })
      .toEqual({ has_xid: true, has_id: true });
    await probe.query("rollback");
    await stored;
  }
});

test("where the sequence hands out ids ahead of time nothing is proved, and every round looks at all lanes", async () => {
  const rig = await newRig();
  await db.query("alter sequence fairmill.job_id_seq cache 50");
  try {
    const early = await openSession();
    await enqueueOne(early, job("a"));
    await put(1_000);
    await nextRound(rig);
    await nextRound(rig);
    const scans = rig.moreScans();
    const lower = Number(await enqueueOne(early, job("a")));
    expect(await nextRound(rig)).toEqual([lower]);
    expect(rig.moreScans()).toBeGreaterThan(scans);
  } finally {
    await db.query("alter sequence fairmill.job_id_seq cache 1");
  }
});
