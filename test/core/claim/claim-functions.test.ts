// Claiming: no job twice, no lane beyond its share, nothing that is not due. lanes_v1 and news_v1 tell where to look.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { claimsOf } from "../../../src/core/job/lease-no.js";
import { Database } from "../../../src/db/database.js";
import { migrate } from "../../../src/db/migrate/migrate.js";
import { useDatabase } from "../../support/database.js";
import { databaseAt } from "../../support/global-setup.js";
import { claimNo } from "../../support/lease-no.js";
import {
  block,
  byTenant,
  call,
  claim,
  claimLanes,
  enqueue,
  enqueueOne,
  fill,
  fillTenants,
  live,
  register,
  rescanNo,
  setLimits,
  settle,
} from "../../support/sql/calls.js";
import { errorCode, useSessions } from "../../support/sql/sessions.js";

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

describe("lanes", () => {
  test("quanta, the order of the lanes and jobs_max are kept", async () => {
    await fillTenants(db, 4, 10);
    const lanes = [
      { tenant: "t3", quantum: 2 },
      { tenant: "t1", quantum: 4 },
      { tenant: "t4", quantum: 5 },
      { tenant: "t2", quantum: 1 },
    ];
    expect(await byTenant(db, await claimLanes(db, "w", lanes, 8))).toEqual({ t1: 4, t3: 2, t4: 2 });
    expect(await byTenant(db, await claimLanes(db, "w", lanes, 100))).toEqual({ t1: 4, t2: 1, t3: 2, t4: 5 });
    expect(await byTenant(db, await claimLanes(db, "w", lanes, 0))).toEqual({});
    // t4 has three left, t1 two.
    expect(await byTenant(db, await claimLanes(db, "w", lanes, 100))).toEqual({ t1: 2, t2: 1, t3: 2, t4: 3 });
  });

  test("A4: within a lane the oldest go first, and a floor hides the ids up to it", async () => {
    const ids = (
      await enqueue(
        db,
        Array.from({ length: 6 }, () => ({ kind: "work" })),
      )
    ).map(({ id }) => id);
    expect(sorted(idsOf(await claimLanes(db, "w", [{ tenant: "default" }], 2)))).toEqual(ids.slice(0, 2));
    const above = await claimLanes(db, "w", [{ tenant: "default", floor: ids[3]! }], 10);
    expect(sorted(idsOf(above))).toEqual(ids.slice(4));
    expect(await claimLanes(db, "w", [{ tenant: "default", floor: ids[5]! }], 10)).toEqual([]);
    // A floor is a hint of the caller's: without it the rest is found.
    expect(sorted(idsOf(await claimLanes(db, "w", [{ tenant: "default" }], 10)))).toEqual(ids.slice(2, 4));
  });

  test("a lane is a queue, a priority and a tenant: neighbours in none of the three are touched", async () => {
    const around = [
      { queue: "p", priority: 5, tenant: "m" },
      { queue: "r", priority: 5, tenant: "m" },
      { queue: "q", priority: 4, tenant: "m" },
      { queue: "q", priority: 6, tenant: "m" },
      { queue: "q", priority: 5, tenant: "l" },
      { queue: "q", priority: 5, tenant: "n" },
      { queue: "q", priority: 5, tenant: "m " },
      { queue: "q", priority: 5, tenant: "M" },
    ];
    await enqueue(
      db,
      around.map((job) => ({ kind: "work", ...job })),
    );
    const id = await enqueueOne(db, { queue: "q", priority: 5, tenant: "m" });
    expect(idsOf(await claimLanes(db, "w", [{ queue: "q", priority: 5, tenant: "m" }], 100))).toEqual([id]);
  });

  test("only the wanted kinds are claimed, by either way in", async () => {
    await register(db, "w");
    const [a, b, c] = idsOf(await enqueue(db, [{ kind: "a" }, { kind: "b" }, { kind: "c" }]));
    expect(idsOf(await claimLanes(db, "w", [{ tenant: "default" }], 10, ["b", "x"]))).toEqual([b]);
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 10, [])).toEqual([]);
    expect(idsOf(await claim(db, "w", 10, { kinds: ["c"] }))).toEqual([c]);
    expect(idsOf(await claim(db, "w", 10))).toEqual([a]);
  });

  test("B6: a job whose time to live is over is not claimed, though it was not ended yet", async () => {
    const [late, early] = idsOf(
      await enqueue(db, [
        { kind: "work", expire_ms: 60_000 },
        { kind: "work", expire_ms: 60_000 },
      ]),
    );
    await db.query("update fairmill.job set expire_at = now() - interval '1 millisecond' where id = $1", [late]);
    expect(idsOf(await claimLanes(db, "w", [{ tenant: "default" }], 10))).toEqual([early]);
  });

  test("only ready jobs are claimed: not those that are scheduled, blocked or running", async () => {
    await fill(db, 1);
    await enqueueOne(db, { delay_ms: 60_000 });
    const blocked = await enqueueOne(db);
    await block(db, blocked);
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 10)).toHaveLength(1);
    expect(await claimLanes(db, "w", [{ tenant: "default" }], 10)).toEqual([]);
  });

  test("every lane that waits is listed once, highest priority first, and page by page the list is the same", async () => {
    await fillTenants(db, 30, 3);
    await fill(db, 2, { tenant: "t5", priority: 9 });
    await fill(db, 2, { tenant: "t6", priority: -9 });
    await fill(db, 2, { tenant: "elsewhere", queue: "other" });
    await enqueueOne(db, { tenant: "later", delay_ms: 60_000 });
    const lanes = await db.query<{ priority: number; tenant: string }>("select * from fairmill.lanes_v1('default')");
    expect(lanes).toHaveLength(32);
    expect(lanes[0]).toEqual({ priority: 9, tenant: "t5", weight: 1 });
    expect(lanes.at(-1)).toEqual({ priority: -9, tenant: "t6", weight: 1 });
    expect(new Set(lanes.map(({ priority, tenant }) => `${priority} ${tenant}`)).size).toBe(32);

    const paged: typeof lanes = [];
    for (;;) {
      const after = paged.at(-1);
      const page = await db.query<{ priority: number; tenant: string }>(
        "select * from fairmill.lanes_v1('default', $1, $2, 7)",
        [after?.priority ?? null, after?.tenant ?? null],
      );
      paged.push(...page);
      if (page.length < 7) break;
    }
    expect(paged).toEqual(lanes);
    expect(await db.query("select * from fairmill.lanes_v1('nothing')")).toEqual([]);
  });

  test("every priority has its level, in order, and from the highest to the lowest all are found", async () => {
    const priorities = [32_767, 1, 0, -1, -32_768];
    for (const priority of priorities.toReversed()) await fill(db, 1, { tenant: "t", priority });
    await fill(db, 1, { tenant: "t", queue: "other" });
    const lanes = await db.query<{ priority: number }>("select * from fairmill.lanes_v1('default')");
    expect(lanes.map(({ priority }) => priority)).toEqual(priorities);
    const levels = await db.query<{ queue: string; priority: number }>("select * from fairmill.levels()");
    expect(levels.filter(({ queue }) => queue === "default").map(({ priority }) => priority)).toEqual(priorities);
    expect(levels).toHaveLength(6);
    for (const priority of priorities)
      expect(await claimLanes(db, "w", [{ tenant: "t", priority }], 10)).toMatchObject([{ priority }]);
  });

  describe("two queues with the same number", () => {
    // Found by trying forty million names.
    const [one, other] = ["q1178418", "q30805336"] as const;
    const lanesOf = (queue: string) => db.query("select * from fairmill.lanes_v1($1)", [queue]);
    const take = async (queue: string) => idsOf(await claimLanes(db, "w", [{ tenant: "t", queue }], 100));

    test.each([
      ["without limits", undefined],
      ["with limits", { max_running: 1_000 }],
    ])("are not taken for each other, %s", async (_, gate) => {
      expect(await call(db, "level_v1($1, 0)", [one])).toBe(await call(db, "level_v1($1, 0)", [other]));
      if (gate) await setLimits(db, "tenant", "t", gate);
      const mine: string[] = [];
      for (let i = 0; i < 20; i++) {
        mine.push(await enqueueOne(db, { tenant: "t", queue: one }));
        await enqueueOne(db, { tenant: "t", queue: other });
        await enqueueOne(db, { tenant: "a", queue: other });
      }
      expect(await lanesOf(one)).toEqual([{ priority: 0, tenant: "t", weight: 1 }]);
      expect(await lanesOf(other)).toHaveLength(2);
      expect(sorted(await take(one))).toEqual(mine);
      expect(await lanesOf(one)).toEqual([]);
      expect(await take(one)).toEqual([]);
      expect(await take(other)).toHaveLength(20);
    });
  });

  test("in a database that sorts by a language, lanes are still found, paged and claimed", async ({ skip }) => {
    const [server] = await db.query<{ version: number }>(
      "select current_setting('server_version_num')::int as version",
    );
    skip(server!.version < 150_000, "PostgreSQL 14 has no databases of this kind");
    const name = `test_${process.pid}_${randomBytes(4).toString("hex")}`;
    const admin = new pg.Client(inject("serverUrl"));
    await admin.connect();
    await admin.query(
      `create database ${name} template template0 encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'de'`,
    );
    const library = new Database(
      { databaseUrl: databaseAt(inject("serverUrl"), name) },
      { connectionsMax: 1, applicationName: "test" },
    );
    try {
      await migrate(library);
      // By the rules of that language these sort otherwise than by their bytes.
      const tenants = ["a", "B", "ä", "Z", "z", "_", "-a", "A", "ab", "a b", "é", "0"];
      await library.query("select * from fairmill.enqueue_many_v1($1)", [
        JSON.stringify(tenants.map((tenant) => ({ kind: "work", tenant }))),
      ]);
      expect(await library.query("select 'a' < 'B' as by_language")).toEqual([{ by_language: true }]);
      const found: string[] = [];
      for (;;) {
        const [lane] = await library.query<{ tenant: string }>(
          "select * from fairmill.lanes_v1('default', $1, $2, 1)",
          [found.length ? 0 : null, found.at(-1) ?? null],
        );
        if (!lane) break;
        found.push(lane.tenant);
      }
      expect(found.toSorted()).toEqual(tenants.toSorted());
      await library.query("select fairmill.register_v1('w', '{default}')");
      expect(await library.query("select * from fairmill.claim_v1('w', jobs_max => 100)")).toHaveLength(tenants.length);
    } finally {
      await library.close();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    }
  });
});

describe("news", () => {
  interface NewsRow extends pg.QueryResultRow {
    queue: string | null;
    tenant: string | null;
    priority: number | null;
    id: string | null;
    rescan_no: string | null;
    looked_from: string | null;
    looked_to: string | null;
  }
  const news = (tail: string | number, idsMax = 200) =>
    db.query<NewsRow>("select * from fairmill.news_v1('{default,other}', $1, ids_max => $2)", [tail, idsMax]);
  const tailOf = (rows: readonly NewsRow[]) => rows.find(({ queue }) => queue === null);
  const lanesOf = (rows: readonly NewsRow[]) =>
    rows
      .filter(({ tenant }) => tenant !== null)
      .map(({ queue, priority, tenant }) => `${queue} ${priority} ${tenant}`)
      .toSorted();

  test("a worker learns of the lanes in which ready jobs came in above its tail, and of the new tail", async () => {
    const first = await enqueueOne(db, { tenant: "old" });
    await enqueue(db, [
      { kind: "work", tenant: "a" },
      { kind: "work", tenant: "a" },
      { kind: "work", tenant: "a", priority: 3 },
      { kind: "work", tenant: "b", queue: "other" },
      { kind: "work", tenant: "c", queue: "nobody's" },
    ]);
    const last = await enqueueOne(db, { tenant: "later", delay_ms: 60_000 });
    const rows = await news(first);
    expect(lanesOf(rows)).toEqual(["default 0 a", "default 3 a", "other 0 b"]);
    expect(tailOf(rows)).toMatchObject({ id: last, looked_from: first, looked_to: last });
    expect(rows.find(({ tenant, priority }) => tenant === "a" && priority === 0)).toMatchObject({
      id: String(Number(first) + 1),
    });
    const none = await news(last);
    expect(lanesOf(none)).toEqual([]);
    expect(tailOf(none)).toMatchObject({ id: last, looked_from: last, looked_to: last });
  });

  test("when more came in than it looks at, it says how far it looked", async () => {
    await fill(db, 30);
    const [{ last }] = (await db.query<{ last: string }>("select max(id) as last from fairmill.job")) as [
      { last: string },
    ];
    const from = String(Number(last) - 30);
    expect(tailOf(await news(from, 29))).toMatchObject({ id: last, looked_to: String(Number(last) - 1) });
    expect(tailOf(await news(from, 30))).toMatchObject({ id: last, looked_to: last });
  });

  test("a job that was committed a moment after a look is found by the next one, though a third transaction runs on", async () => {
    const third = await db.pool.connect();
    const late = await db.pool.connect();
    try {
      await third.query("begin");
      await third.query("select pg_current_xact_id()");
      const tail = await enqueueOne(db);
      await late.query("begin");
      await late.query("select from fairmill.enqueue_v1('work', tenant => 'late')");
      const look = tailOf(await news(tail)) as NewsRow & { next_xid: string; next_running: number };
      expect(look).toMatchObject({ looked_to: String(Number(tail) + 1) });
      await late.query("commit");
      const again = (near: number) =>
        db.query<NewsRow>("select * from fairmill.news_v1('{default}', $1, $2, $3, $4)", [
          Number(look.looked_to) + near,
          [tail],
          [look.next_xid],
          [look.next_running],
        ]);
      expect(lanesOf(await again(0))).toEqual(["default 0 late"]);
      // Further away that is left to looks that are thorough.
      expect(lanesOf(await again(100))).toEqual([]);
    } finally {
      await late.query("rollback");
      await third.query("rollback");
      late.release();
      third.release();
    }
  });

  test("the rescan marks of its queues come along, and a transaction that makes an old id ready has raised them", async () => {
    const id = await enqueueOne(db);
    expect((await news(id)).filter(({ rescan_no }) => rescan_no !== null)).toEqual([]);
    const claimed = await claimLanes(db, "w", [{ tenant: "default" }], 1);
    await settle(db, "w", claimed, "release");
    expect(await rescanNo(db)).toBe(1);
    expect((await news(id)).find(({ rescan_no }) => rescan_no !== null)).toMatchObject({
      queue: "default",
      rescan_no: "1",
    });
  });
});

describe("claim_v1", () => {
  test("a worker that is not alive is refused with FM002, by either way in: unknown, stopped or lost", async () => {
    await fill(db, 1);
    await register(db, "stopped");
    await call(db, "stop_worker_v1('stopped')");
    await register(db, "lost");
    await db.query("update fairmill.worker set state = 'lost', ended_at = now() where id = 'lost'");
    const args = "'{default}', '{0}', '{default}', '{0}', '{1}', null, 1";
    for (const worker of ["unknown", "stopped", "lost"]) {
      expect(await errorCode(claim(db, worker)), worker).toBe("FM002");
      expect(await errorCode(db.query(`select fairmill.claim_lanes_v1($1, ${args})`, [worker])), worker).toBe("FM002");
    }
    const error = (await claim(db, "unknown").catch((e: unknown) => e)) as { message: string; hint: string };
    expect(error.message).toBe('worker "unknown" is not alive');
    expect(error.hint).toContain("fairmill.register_v1('unknown'");
    expect(await db.query("select from fairmill.job where state = 'running'")).toEqual([]);
  });

  test("an empty queue gives nothing", async () => {
    await register(db, "w");
    expect(await claim(db, "w", 10)).toEqual([]);
  });

  test("higher priorities are claimed first where the lower ones are sure of nothing", async () => {
    await register(db, "w");
    await fill(db, 5, { tenant: "low", priority: -1 });
    await fill(db, 5, { tenant: "high", priority: 1 });
    await fill(db, 5, { tenant: "middle" });
    const order: string[] = [];
    for (let n = 0; n < 15; n++)
      for (const { tenant } of await db.query<{ tenant: string }>(
        "select tenant from fairmill.claim_v1('w', lower_share => 0)",
      ))
        order.push(tenant);
    expect(order).toEqual([...Array(5).fill("high"), ...Array(5).fill("middle"), ...Array(5).fill("low")]);
  });

  test.each([
    [1, 25],
    [3, 75],
    [8, 200],
    [10, 200],
    [12, 200],
  ])(
    "C2 FAIR1 FAIR2: of %i tenants with 1,000 jobs each, one claim of 200 with 25 a tenant takes %i, of every tenant its equal part",
    async (tenants, total) => {
      await register(db, "w");
      await fillTenants(db, tenants, 1_000);
      const jobs = await claim(db, "w", 200, { tenantMax: 25 });
      expect(jobs).toHaveLength(total);
      const counts = Object.values(await byTenant(db, jobs));
      expect(counts).toHaveLength(tenants);
      const part = Math.min(25, Math.ceil(200 / tenants));
      expect(Math.max(...counts)).toBe(part);
      // Only the last lane of the batch may come short, by what rounding up gave to the others.
      expect(counts.filter((count) => count < part).length).toBeLessThanOrEqual(1);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(
        200 - (tenants - 1) * part > 0 ? Math.min(part, 200 - (tenants - 1) * part) : 1,
      );
    },
  );

  test("C2 FAIR2: where tenants are more than the batch is long, each has one job of it, and chance gives everyone a turn", async () => {
    await register(db, "w");
    await fillTenants(db, 300, 40);
    const served = new Set<string>();
    for (let n = 0; n < 20; n++) {
      const counts = await byTenant(db, await claim(db, "w", 200, { tenantMax: 25 }));
      expect(Object.keys(counts)).toHaveLength(200);
      expect(Math.max(...Object.values(counts))).toBe(1);
      for (const tenant of Object.keys(counts)) served.add(tenant);
    }
    // A tenant is passed over by one claim in three: by all twenty of them once in three thousand million.
    expect(served.size).toBe(300);
  });

  test("C2 FAIR1: a tenant with 1,000 jobs queued does not hold up one with a single job", async () => {
    await register(db, "w");
    await fill(db, 1_000, { tenant: "big" });
    await fill(db, 1, { tenant: "small" });
    expect(await byTenant(db, await claim(db, "w", 200, { tenantMax: 25 }))).toEqual({ big: 25, small: 1 });
  });

  test("C2 FAIR2: among 6,000 waiting tenants those at either end of the alphabet get their turn like the others", async () => {
    await register(db, "w");
    await db.query(
      `insert into fairmill.job (kind, queue, tenant, state, payload)
       select 'work', 'default', 't' || lpad(t::text, 5, '0'), 'ready', '{}' from generate_series(1, 5) n, generate_series(1, 6000) t`,
    );
    await db.query("analyze fairmill.job");
    const ids: { id: string }[] = [];
    for (let n = 0; n < 60; n++) ids.push(...(await claim(db, "w", 200)));
    const counts = await byTenant(db, ids);
    // 12,000 claims: two a tenant. Of a group of 500 tenants about 430 are served at least once when all have the same chance.
    for (const [from, to] of [
      [1, 500],
      [2_751, 3_250],
      [5_501, 6_000],
    ] as const) {
      const served = Object.keys(counts).filter(
        (tenant) => Number(tenant.slice(1)) >= from && Number(tenant.slice(1)) <= to,
      );
      expect(served.length, `tenants ${from} to ${to}`).toBeGreaterThan(250);
    }
  });
});
