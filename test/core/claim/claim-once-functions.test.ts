// A claim is of one worker: no job twice, none that another session holds, and a fence each time.
import { describe, expect, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { useDatabase } from "../../support/database.js";
import { claimNo } from "../../support/lease-no.js";
import {
  call,
  claim,
  claimLanes,
  enqueueOne,
  fill,
  fillTenants,
  live,
  register,
  settle,
} from "../../support/sql/calls.js";
import { useSessions } from "../../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const idsOf = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id);
const sorted = (ids: readonly string[]) => ids.toSorted((a, b) => Number(a) - Number(b));

describe("one holder", () => {
  test("A1: sixteen claimers at once never get one job twice, and together get them all", async () => {
    await fillTenants(db, 20, 200);
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    const lanes = Array.from({ length: 20 }, (_, n) => ({ tenant: `t${n + 1}`, quantum: 3 }));
    await Promise.all(sessions.map((_, n) => register(db, `w${n}`)));
    const shares = await Promise.all(
      sessions.map(async (session, n) => {
        const mine: string[] = [];
        for (;;) {
          // By turns the two ways in, all of them after the same jobs.
          const jobs = n % 2 === 0 ? await claim(session, `w${n}`, 40) : await claimLanes(session, `w${n}`, lanes, 40);
          mine.push(...idsOf(jobs));
          if (jobs.length > 0) continue;
          const [left] = await session.query("select from fairmill.job where state = 'ready' limit 1");
          if (!left) return mine;
        }
      }),
    );
    const all = shares.flat();
    expect(all).toHaveLength(4_000);
    expect(new Set(all).size).toBe(4_000);
    // Each row names the claimer that was told so, and was claimed once.
    const rows = await db.query<{ worker: string; n: number; leases: string }>(
      "select worker, count(*)::integer as n, max(lease_no) as leases from fairmill.job group by 1",
    );
    expect(Object.fromEntries(rows.map(({ worker, n }) => [worker, n]))).toEqual(
      Object.fromEntries(shares.map((share, n) => [`w${n}`, share.length]).filter(([, n]) => n !== 0)),
    );
    expect(rows.every(({ leases }) => claimsOf(Number(leases)) === 1)).toBe(true);
  });

  test("B2: jobs that an open transaction claims are stepped over, not waited for, and come back when it rolls back", async () => {
    await fill(db, 20);
    const [a, b] = [await open(), await open()];
    await Promise.all([register(db, "a"), register(db, "b")]);
    await a.query("begin");
    const first = await claim(a, "a", 10);
    await b.query("set lock_timeout = '2s'");
    const second = await claim(b, "b", 10);
    expect(first).toHaveLength(10);
    expect(second).toHaveLength(10);
    expect(new Set(idsOf([...first, ...second])).size).toBe(20);
    expect(await claim(b, "b", 10)).toEqual([]);
    await a.query("rollback");
    expect(sorted(idsOf(await claim(b, "b", 10)))).toEqual(sorted(idsOf(first)));
  });

  test("a job that another session cancels, settles or claims between our look and our lock is not claimed", async () => {
    const id = await enqueueOne(db);
    const other = await open();
    await other.query("begin");
    await call(other, "cancel_v1($1)", [id]);
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 1)).toEqual([]);
    await other.query("commit");
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 1)).toEqual([]);
  });

  test("a lane that is named twice gives each of its jobs once", async () => {
    await fill(db, 5);
    const jobs = await claimLanes(
      db,
      "w",
      [
        { tenant: "default", quantum: 3 },
        { tenant: "default", quantum: 3 },
      ],
      10,
    );
    expect(new Set(idsOf(jobs)).size).toBe(jobs.length);
    expect(
      (await db.query("select from fairmill.job where state = 'running' and lease_no between 1 and 2 ^ 28")).length,
    ).toBe(jobs.length);
  });

  test("A2 A3: a claim names its worker, counts the attempt, raises the lease and notes the time, by the database's clock", async () => {
    const id = await enqueueOne(db, { payload: { n: 1 }, key: "key", max_attempts: 5 });
    await register(db, "w");
    const [first] = await claim(db, "w");
    expect(first).toMatchObject({
      id,
      lease_no: claimNo(1),
      attempt: 1,
      crashes: 0,
      max_attempts: 5,
      kind: "work",
      key: "key",
      payload: { n: 1 },
    });
    expect(first).toMatchObject({ tenant: "default", priority: 0 });
    const row = await live(db, id);
    expect(row).toMatchObject({ state: "running", worker: "w", lease_no: claimNo(1), attempt: 1 });
    expect(row!.started_at!.getTime()).toBeGreaterThanOrEqual(row!.created_at.getTime());

    await settle(db, "w", [first!], "release");
    expect(await claim(db, "w")).toMatchObject([{ id, lease_no: claimNo(2), attempt: 1 }]);
  });

  test("a claim that need not be durable says so for its own transaction only", async () => {
    await fill(db, 2);
    const session = await open();
    await session.query("set synchronous_commit = on");
    await register(db, "w");
    const args = "'w', '{default}', '{0}', '{default}', '{0}', '{1}', null, 1";
    const setting = async () =>
      (await session.query<{ synchronous_commit: string }>("show synchronous_commit"))[0]!.synchronous_commit;
    await session.query("begin");
    await session.query(`select * from fairmill.claim_lanes_v1(${args})`);
    expect(await setting()).toBe("on");
    await session.query(`select * from fairmill.claim_lanes_v1(${args}, durable => false)`);
    expect(await setting()).toBe("off");
    await session.query("commit");
    expect(await setting()).toBe("on");
  });
});
