// Rates at enqueue: what is too much is refused, with the moment when it may come again.
import { describe, expect, test } from "vitest";
import { all, explainEverything, plansOf } from "../db/plans/plan-reader.js";
import { useDatabase } from "../support/database.js";
import { enqueueLimited, type NewRow, setLimits, setRule } from "../support/sql/calls.js";
import { errorCode, useSessions } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const HOUR = 3_600_000;

describe("at enqueue", () => {
  const rate = (limit: number, how = "window", per_ms = HOUR) => ({ rate: { limit, per_ms, how, at: "enqueue" } });
  const codes = async (jobs: readonly NewRow[], options = {}) =>
    (await enqueueLimited(db, jobs, options)).map(({ refused }) => refused?.["code"] ?? null);
  /** Everything that was spent was spent so much earlier. */
  const later = (ms: number) =>
    db.query(
      `update fairmill.meter set spent_at = array(select s - $1 * interval '1 millisecond' from unnest(spent_at) with ordinality as u (s, n) order by n) where spent_at is not null`,
      [ms],
    );

  test.each([
    ["tenant", "t"],
    ["queue", "q"],
    ["kind", "limited"],
  ] as const)("B7: the rate of a %s refuses what is too much and leaves others alone", async (scope, name) => {
    await setLimits(db, scope, name, rate(2));
    const job = { tenant: "t", queue: "q" };
    expect(await codes([job, job])).toEqual([null, null]);
    expect(await codes([job])).toEqual(["FAIRMILL_RATE_LIMIT"]);
    if (scope !== "kind") expect(await codes([{ tenant: "u", queue: "r" }])).toEqual([null]);
  });

  test.each(["window", "uniform"])(
    "B7: the refusal tells the moment, and to come back then works (%s)",
    async (how) => {
      await setRule(db, rate(2, how));
      expect(await codes([{ key: "k" }])).toEqual([null]);
      if (how === "window") expect(await codes([{ key: "k" }])).toEqual([null]);
      const [refused] = await enqueueLimited(db, [{ key: "k" }]);
      expect(refused!.refused).toMatchObject({
        code: "FAIRMILL_RATE_LIMIT",
        scope: "key",
        name: '["limited", "default", "k"]',
        limit: 2,
        per_ms: HOUR,
      });
      const [{ ms } = { ms: 0 }] = await db.query<{ ms: number }>(
        "select extract(epoch from $1::timestamptz - clock_timestamp())::float8 * 1000 as ms",
        [refused!.refused!["retry_at"]],
      );
      await later(ms - 2_000);
      expect(await codes([{ key: "k" }])).toEqual(["FAIRMILL_RATE_LIMIT"]);
      await later(2_000);
      expect(await codes([{ key: "k" }])).toEqual([null]);
      expect(await codes([{ key: "another" }])).toEqual([null]);
    },
  );

  test("all or nothing: a refused call spends nothing, and is told when all of it fits", async () => {
    await setRule(db, rate(5));
    for (let n = 0; n < 3; n++) {
      await codes([{ key: "k" }]);
      await later(600_000);
    }
    const meter = () => db.query("select spent_at, spent from fairmill.meter where use = 'enqueue'");
    const before = await meter();
    const answers = await enqueueLimited(
      db,
      Array.from({ length: 4 }, () => ({ key: "k" })),
    );
    expect(answers.map(({ id }) => id)).toEqual([null, null, null, null]);
    expect(await meter()).toEqual(before);
    expect(await db.query("select from fairmill.job")).toHaveLength(3);
    // Four fit when two of the three are given back: those of half an hour and twenty minutes ago.
    const moment = answers.find(({ refused }) => refused)!.refused!["retry_at"];
    const [{ ms } = { ms: 0 }] = await db.query<{ ms: number }>(
      "select extract(epoch from $1::timestamptz - clock_timestamp())::float8 * 1000 as ms",
      [moment],
    );
    expect(Math.round(ms / 60_000)).toBe(40);
    await later(ms);
    expect(await codes(Array.from({ length: 4 }, () => ({ key: "k" })))).toEqual([null, null, null, null]);
  });

  test("all or nothing: a list that one rate can never let in is told no time, whatever another rate would say", async () => {
    await setRule(db, rate(1));
    await setLimits(db, "tenant", "default", rate(3));
    const list = [{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d" }];
    expect(await codes([{ key: "a" }])).toEqual([null]);
    const refused = async (partial: boolean) =>
      (await enqueueLimited(db, list, { partial })).map((answer) =>
        answer.refused ? [answer.refused["scope"], "retry_at" in answer.refused] : null,
      );
    expect(await refused(false)).toEqual([null, null, null, ["tenant", false]]);
    expect(await refused(true)).toEqual([["key", true], null, null, ["tenant", true]]);
  });

  test("partial: as many as fit are stored, and only these are spent", async () => {
    await setRule(db, rate(3));
    expect(
      await codes(
        Array.from({ length: 5 }, () => ({ key: "k" })),
        { partial: true },
      ),
    ).toEqual([null, null, null, "FAIRMILL_RATE_LIMIT", "FAIRMILL_RATE_LIMIT"]);
    expect(await db.query("select spent from fairmill.meter where use = 'enqueue'")).toEqual([{ spent: [3] }]);
  });

  test("what one limit refuses is not spent at another, and a refused slot spends no rate", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse", ...rate(10) });
    await setLimits(db, "tenant", "default", rate(10));
    await codes([{ key: "a" }, { key: "a" }, { key: "b" }], { partial: true });
    expect(
      await db.query(
        "select name, spent from fairmill.meter where use = 'enqueue' and spent is not null order by name",
      ),
    ).toEqual([
      { name: '["limited", "default", "a"]', spent: [1] },
      { name: '["limited", "default", "b"]', spent: [1] },
      { name: "default", spent: [2] },
    ]);
  });

  test("what is rolled back was not spent, and known idempotency keys cost nothing", async () => {
    await setRule(db, rate(1));
    const session = await open();
    await session.query("begin");
    await enqueueLimited(session, [{ key: "k", idempotency_key: "once" }]);
    await session.query("rollback");
    expect(await codes([{ key: "k", idempotency_key: "once" }])).toEqual([null]);
    expect(await codes([{ key: "k", idempotency_key: "once" }])).toEqual([null]);
    expect(await codes([{ key: "k" }])).toEqual(["FAIRMILL_RATE_LIMIT"]);
    expect(await db.query("select from fairmill.job")).toHaveLength(1);
  });

  test("I7: sixteen at once, some in transactions with old snapshots, get no more than the rate", async () => {
    await setLimits(db, "tenant", "default", rate(5));
    await codes([{}]);
    const sessions = await Promise.all(Array.from({ length: 16 }, () => open()));
    const outcomes = await Promise.all(
      sessions.map(async (session, n) => {
        await session.query(n % 2 === 0 ? "begin isolation level repeatable read; select 1" : "begin");
        try {
          const [answer] = await enqueueLimited(session, [{}], { alone: false });
          await session.query("commit");
          return answer!.refused === null;
        } catch (error) {
          expect((error as { code: string }).code).toBe("40001");
          await session.query("rollback");
          return false;
        }
      }),
    );
    const letIn = outcomes.filter(Boolean).length;
    expect(letIn).toBeLessThanOrEqual(4);
    expect(await db.query("select from fairmill.job")).toHaveLength(letIn + 1);
  });

  test("a job that one limit refuses takes no room of the next", async () => {
    await setRule(db, rate(1));
    await setLimits(db, "tenant", "default", rate(2));
    const answers = await enqueueLimited(db, [{ key: "a" }, { key: "a" }, { key: "b" }, { key: "c" }], {
      partial: true,
    });
    expect(answers.map(({ refused }) => refused?.["scope"] ?? null)).toEqual([null, "key", null, "tenant"]);
  });

  test("a list of four times as many tenants is four times the work, not sixteen times", async () => {
    const session = await open();
    await session.query(
      `insert into fairmill.limit_setting (scope, name, rate_limit, rate_per_ms, rate_how, rate_at)
       select 'tenant', 't' || n, 1, 1000, 'window', 'enqueue' from generate_series(1, 800) n`,
    );
    await explainEverything(session);
    /** Rows that all steps of all statements looked at. Half of the jobs are too many for their tenant. */
    const rowsOf = async (tenants: number) =>
      (
        await plansOf(
          session,
          `select * from fairmill.enqueue_many_v1((select jsonb_agg(jsonb_build_object('kind', 'work', 'tenant', 't' || n))
             from generate_series(1, ${tenants}) n, generate_series(1, 2)), partial => true)`,
        )
      )
        .flatMap(({ root }) => all(root))
        .reduce((sum, { rows, rowsInVain }) => sum + rows + rowsInVain, 0);
    const [few, many] = [await rowsOf(200), await rowsOf(800)];
    expect(many / few).toBeLessThan(5);
  });

  test("a rate that lacks a part, or names an unknown one, is refused", async () => {
    expect(await errorCode(setLimits(db, "tenant", "t", { rate: { limit: 5 } }))).toBe("FM001");
    expect(await errorCode(setLimits(db, "tenant", "t", { rate: { limit: 5, per_ms: 5, per: 3 } }))).toBe("FM001");
    expect(await errorCode(setLimits(db, "tenant", "t", { rates: {} }))).toBe("FM001");
    expect(await errorCode(setLimits(db, "tenant", "t", { rate: { limit: 0, per_ms: 5 } }))).toBe("23514");
    expect(
      await errorCode(
        db.query("insert into fairmill.limit_setting (scope, name, rate_limit) values ('tenant', 't', 5)"),
      ),
    ).toBe("23514");
    expect(
      await errorCode(db.query("insert into fairmill.key_limit (kind, rate_limit, rate_at) values ('k', 5, 'start')")),
    ).toBe("23514");
  });
});
