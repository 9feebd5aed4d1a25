// claim_lanes_v1 and lanes_v1: no lane beyond its share, nothing that is not due.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { describe, expect, inject, test } from "vitest";
import { Database } from "../../../src/db/database.js";
import { migrate } from "../../../src/db/migrate/migrate.js";
import { useDatabase } from "../../support/database.js";
import { databaseAt } from "../../support/global-setup.js";
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
  register,
  setLimits,
} from "../../support/sql/calls.js";

const db = useDatabase();

const idsOf = (jobs: readonly { readonly id: string }[]) => jobs.map(({ id }) => id);
const sorted = (ids: readonly string[]) => ids.toSorted((a, b) => Number(a) - Number(b));

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
