// Dead letters: what a filter picks, what putting back leaves as it was, calls at once, and limits.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimNo } from "../support/lease-no.js";
import { claim, claimLanes, ended, enqueueOne, live, register, rescanNo, settle } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";
import { redriveCalls } from "./redrive-calls.js";

const db = useDatabase();
const { redrive, preview, liveIds, bury, dead } = redriveCalls(db);
const open = useSessions(db);

describe("redrive_v1", () => {
  test("F6: a dead job is back as retry_v1 puts it back: counted anew, failures kept, no time to live, no unique key", async () => {
    const id = await dead({ expire_ms: 3_600_000, unique_key: "u", priority: 0, max_attempts: 5, payload: { n: 1 } });
    const was = (await ended(db, id))!;
    expect(await redrive({})).toEqual({ redriven: 1, seen: 1, last_id: id, more: false });
    expect(await ended(db, id)).toBeUndefined();
    const row = (await live(db, id))!;
    expect(row).toMatchObject({
      state: "ready",
      attempt: 0,
      crashes: 0,
      lease_no: claimNo(1),
      worker: null,
      expire_at: null,
      unique_key: null,
      run_at: null,
    });
    for (const column of ["kind", "payload", "queue", "tenant", "priority", "max_attempts", "created_at", "failures"])
      expect(row[column], column).toEqual(was[column]);
    expect(await rescanNo(db)).toBe(1);
    await register(db, "w2");
    expect(await claim(db, "w2")).toMatchObject([{ id, attempt: 1, lease_no: claimNo(2) }]);
  });

  test("F6: every field of the filter counts, and all of them together", async () => {
    const at = (hour: number) => new Date(Date.UTC(2030, 0, 1, hour)).toISOString();
    const [plain] = await bury(1, { endedAt: at(1) });
    const [kind] = await bury(1, { endedAt: at(2), kind: "mail" });
    const [queue] = await bury(1, { endedAt: at(3), queue: "slow" });
    const [tenant] = await bury(1, { endedAt: at(4), tenant: "acme" });
    const [code] = await bury(1, { endedAt: at(5), error: '{"code": "E_1", "message": "the 100% truth_"}' });
    const [cancelled] = await bury(1, { endedAt: at(6), state: "cancelled", error: "null" });
    const [nothing] = await bury(1, { endedAt: at(7), error: "null" });
    await bury(1, { endedAt: at(8), state: "done", kind: "mail" }).catch(() => {});
    const picked = async (filter: object) =>
      (
        await db.query<{ ids: string[] }>("select ids from fairmill.pick_dead($1, 100, 100, 0)", [
          JSON.stringify(filter),
        ])
      )[0]!.ids;
    expect(await picked({})).toEqual([plain, kind, queue, tenant, code, nothing]);
    expect(await picked({ kind: "mail" })).toEqual([kind]);
    expect(await picked({ queue: "slow" })).toEqual([queue]);
    expect(await picked({ tenant: "acme" })).toEqual([tenant]);
    expect(await picked({ error_code: "E_1" })).toEqual([code]);
    expect(await picked({ error_text: "100% truth_" })).toEqual([code]);
    // A text, not a pattern.
    expect(await picked({ error_text: "the % truth" })).toEqual([]);
    expect(await picked({ state: "cancelled" })).toEqual([cancelled]);
    expect(await picked({ ended_since: at(4), ended_until: at(5) })).toEqual([tenant, code]);
    expect(await picked({ ended_since: "2031-01-01" })).toEqual([]);
    expect(await picked({ ended_until: "2029-01-01" })).toEqual([]);
    expect(await picked({ ids: [code, plain, cancelled, "999999999"] })).toEqual([plain, code]);
    expect(await picked({ ids: [] })).toEqual([]);
    expect(await picked({ tenant: "acme", kind: "mail" })).toEqual([]);
    expect(await redrive({ ids: [tenant, kind], kind: "mail" })).toMatchObject({ redriven: 1 });
    expect(await liveIds()).toEqual([kind]);
  });

  test.each([
    [{ knd: "mail" }],
    [{ state: "done" }],
    [{ state: "ready" }],
    [{ ids: 7 }],
    [{ ids: Array.from({ length: 10_001 }, (_, n) => n) }],
    [[]],
  ])("a filter that cannot be meant is refused, and nothing is put back: %j", async (filter) => {
    await bury(3);
    expect(await errorCode(redrive(filter))).toBe("FM001");
    expect(await liveIds()).toEqual([]);
  });

  test("goes on where it stopped, a batch at a time, and says when there is no more", async () => {
    const ids = await bury(7);
    expect(await redrive({}, 3)).toEqual({ redriven: 3, seen: 3, last_id: ids[2], more: true });
    expect(await redrive({}, 3, ids[2])).toEqual({ redriven: 3, seen: 3, last_id: ids[5], more: true });
    expect(await redrive({}, 3, ids[5])).toEqual({ redriven: 1, seen: 1, last_id: ids[6], more: false });
    expect(await redrive({}, 3, ids[6])).toEqual({ redriven: 0, seen: 0, last_id: ids[6], more: false });
    expect(await liveIds()).toEqual(ids);
    for (const wrong of [0, -1, 10_001]) expect(await errorCode(redrive({}, wrong))).toBe("FM001");
  });

  test("goes by the id, whatever day a job ended on: nothing is left behind", async () => {
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
    const ids = [
      ...(await bury(2, { endedAt: tomorrow })),
      ...(await bury(2)),
      ...(await bury(1, { endedAt: "2020-02-02" })),
      ...(await bury(1, { endedAt: tomorrow })),
    ];
    const taken: string[] = [];
    for (let after = "0", more = true; more; ) {
      const one = await redrive({}, 1, after);
      if (one.redriven > 0) taken.push(one.last_id);
      ({ last_id: after, more } = one);
    }
    expect(taken).toEqual(ids);
    expect(await liveIds()).toEqual(ids);
  });

  test("two at once put back disjoint sets: the second skips what the first holds, and waits for nothing", async () => {
    const ids = await bury(20);
    const [a, b] = [await open(), await open()];
    await a.query("begin");
    expect(await redrive({}, 5, "0", a)).toMatchObject({ redriven: 5, last_id: ids[4] });
    await b.query("set lock_timeout = '2s'; set deadlock_timeout = '1s'");
    await b.query("begin");
    // Of other queues, because the rescan mark of one queue is a lock that both need.
    await b.query("update fairmill.job_history set queue = 'other' where id > $1", [ids[4]]);
    expect(await redrive({}, 20, "0", b)).toEqual({ redriven: 15, seen: 20, last_id: ids[19], more: true });
    await b.query("commit");
    await a.query("commit");
    expect(await liveIds()).toEqual(ids);
  });

  test("eight at once, each from the beginning, put every job back once", async () => {
    const ids = await bury(400);
    const sessions = await Promise.all(Array.from({ length: 8 }, open));
    const counts = await Promise.all(
      sessions.map(async (session) => {
        let sum = 0;
        for (let after = "0"; ; ) {
          const one = await redrive({}, 20, after, session);
          sum += one.redriven;
          after = one.last_id;
          if (!one.more) return sum;
        }
      }),
    );
    expect(counts.reduce((sum, n) => sum + n)).toBe(400);
    expect(await liveIds()).toEqual(ids);
    expect(await db.query("select id from fairmill.job_history")).toEqual([]);
  });

  test("a job that a retry is putting back is left to it; if that is taken back, the job is dead as before", async () => {
    const [first, second] = (await bury(2)) as [string, string];
    const [retrier, redriver] = [await open(), await open()];
    await retrier.query("begin");
    await retrier.query("select fairmill.retry_v1($1)", [first]);
    const asked = redrive({}, 10, "0", redriver);
    // It holds the second job by now and waits for the queue's rescan mark alone.
    await waitUntilBlocked(db, redriver);
    await retrier.query("rollback");
    expect(await asked).toMatchObject({ redriven: 1, seen: 2 });
    expect(await liveIds()).toEqual([second]);
    expect(await ended(db, first)).toMatchObject({ state: "dead" });
  });

  test("F7: a job whose key is full comes back blocked, and gets its place when one is free", async () => {
    await db.query(`select fairmill.set_key_limits_v1('limited', '{"max_running": 1}')`);
    const holder = await enqueueOne(db, { kind: "limited", key: "k" });
    const second = await enqueueOne(db, { kind: "limited", key: "k" });
    const third = await enqueueOne(db, { kind: "limited", key: "k" });
    await db.query("select fairmill.promote_v1(100)");
    await db.query("select fairmill.cancel_v1($1)", [second]);
    await db.query("select fairmill.cancel_v1($1)", [third]);
    const jobs = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    expect(jobs).toMatchObject([{ id: holder }]);
    expect(await redrive({ state: "cancelled", kind: "limited" })).toMatchObject({ redriven: 2 });
    expect(await live(db, second)).toMatchObject({ state: "blocked", slot: null });
    expect(await live(db, third)).toMatchObject({ state: "blocked", slot: null });
    await settle(db, "w", jobs, "done");
    expect(await live(db, second)).toMatchObject({ state: "ready", slot: 1 });
    expect(await live(db, third)).toMatchObject({ state: "blocked" });
  });

  test("F7: of several that come back under a free key, as many are ready as it has places", async () => {
    await db.query(`select fairmill.set_key_limits_v1('limited', '{"max_running": 2}')`);
    await bury(5, { kind: "limited" });
    await db.query(`update fairmill.job_history set key = 'k', limit_key = '["limited", "default", "k"]'`);
    expect(await redrive({})).toMatchObject({ redriven: 5 });
    expect(await db.query("select state, count(*)::integer as n from fairmill.job group by 1 order by 1")).toEqual([
      { state: "blocked", n: 3 },
      { state: "ready", n: 2 },
    ]);
  });

  test("wakes those who sleep, once per queue", async () => {
    const listener = await open();
    await listener.query("listen fairmill");
    await register(db, "w");
    await db.query("select fairmill.listening_v1('w', true)");
    await bury(10);
    await redrive({});
    await listener.query("select");
    expect(listener.notified).toEqual(["fairmill default"]);
  });
});

describe("preview_redrive_v1", () => {
  test("F6: counts what fits by kind and code, names the first, and changes nothing", async () => {
    const mails = await bury(12, { kind: "mail", error: '{"code": "E_1", "message": "no"}' });
    await bury(3, { kind: "mail" });
    await bury(2, { kind: "print", tenant: "acme" });
    const all = await preview({});
    expect(all).toMatchObject({
      fitting: 17,
      seen: 17,
      more: false,
      groups: [
        { kind: "mail", error_code: "E_1", count: 12 },
        { kind: "mail", error_code: null, count: 3 },
        { kind: "print", error_code: null, count: 2 },
      ],
      samples: mails.slice(0, 10),
    });
    expect(await preview({ tenant: "acme" })).toMatchObject({ fitting: 2, seen: 17 });
    expect(await preview({ tenant: "nobody" })).toMatchObject({ fitting: 0, seen: 17, groups: [], samples: [] });
    expect(await preview({}, 5)).toMatchObject({ fitting: 5, seen: 5, last_id: mails[4], more: true });
    expect(await liveIds()).toEqual([]);
  });
});
