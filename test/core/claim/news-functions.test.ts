// news_v1: the lanes in which jobs arrived since the last look.
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { useDatabase } from "../../support/database.js";
import { claimLanes, enqueue, enqueueOne, fill, rescanNo, settle } from "../../support/sql/calls.js";
import { openSession } from "../../support/sql/sessions.js";

const db = useDatabase();

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

  test.each([
    ["enqueue_one_v1", "select fairmill.enqueue_one_v1('work', '{}')"],
    ["enqueue_payloads_v1", "select * from fairmill.enqueue_payloads_v1('[{}]', '{\"kind\": \"work\"}')"],
    ["enqueue_many_v1", 'select * from fairmill.enqueue_many_v1(\'[{"kind": "work"}]\')'],
  ])(
    "%s takes a transaction id before the id of a job: otherwise its window would be closed too early",
    async (_, statement) => {
      const session = await openSession(db.url);
      try {
        await session.query(`create function pg_temp.look() returns trigger language plpgsql as $$ begin
        raise notice '% has a transaction: %', new.kind, pg_current_xact_id_if_assigned() is not null; return new; end $$`);
        // It fires when the row has its id.
        await session.query(
          "create trigger look before insert on fairmill.job for each row execute function pg_temp.look()",
        );
        // Every 32nd id takes one by itself.
        await session.query("select nextval('fairmill.job_id_seq')");
        await session.query(statement);
        expect(session.notices).toEqual(["work has a transaction: t"]);
      } finally {
        await session.query("drop trigger if exists look on fairmill.job");
        await session.close();
      }
    },
  );

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
