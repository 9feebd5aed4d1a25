// Rates: exact in every sliding window, evenly spaced where asked for; refused at enqueue or put off at start.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import {
  call,
  claim,
  claimGated,
  enqueue,
  enqueueKeyed,
  enqueueLimited,
  fill,
  live,
  type NewRow,
  register,
  setGate,
  setRule,
  settle,
  statesOf,
} from "./calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "./sessions.js";

const db = useDatabase();
const open = useSessions(db);

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const HOUR = 3_600_000;

describe("the meter, as a pure function", () => {
  /** Random starts under a rate, asked and spent inside the database: the starts that were let in, in milliseconds. */
  const starts = async (rate: { limit: number; per: number; how: string }, steps: number, greedy: boolean) =>
    (
      await db.query<{ at: number; n: number }>(
        `with recursive dice as (select n, random() as r, random() as s from generate_series(1, $4::integer) n, (select setseed($6)) x),
         walk (n, at, spent_at, spent, started) as (
           select 0, timestamptz '2026-01-01 00:00:00.123457+00', null::timestamptz[], null::integer[], 0
           union all
           select d.n, next.at, s.new_spent_at, s.new_spent, s.starts
           from walk w join dice d on d.n = w.n + 1
           cross join lateral (select w.at + case when $5 then (select greatest(r.open_at - w.at, interval '0') from fairmill.rate_room_v1(w.spent_at, w.spent, $1, $2, $3, w.at) r)
             else d.r * d.r * $2 * interval '1 millisecond' / least($1, 20) * 2 end as at offset 0) next
           cross join lateral (select r.room from fairmill.rate_room_v1(w.spent_at, w.spent, $1, $2, $3, next.at) r offset 0) r
           cross join lateral (select least(r.room, case when $5 then r.room else ceil(d.s * d.s * (3 + $1 / 8))::integer end) as count offset 0) c
           cross join lateral (
             select x.new_spent_at, x.new_spent, c.count as starts from fairmill.rate_spend_v1(w.spent_at, w.spent, $1, $2, $3, next.at, c.count) x where c.count > 0
             union all select w.spent_at, w.spent, 0 where c.count <= 0) s)
         select extract(epoch from at - timestamptz '2026-01-01')::float8 * 1000 as at, started as n from walk where started > 0 order by n`,
        [rate.limit, rate.per, rate.how, steps, greedy, (seed % 1000) / 1000],
      )
    ).toSorted((a, b) => a.at - b.at);

  const RATES = [
    { limit: 1, per: 1_000 },
    { limit: 5, per: 1_000 },
    { limit: 7, per: 60_000 },
    { limit: 100, per: 333 },
    { limit: 1_000, per: HOUR },
    { limit: 3, per: 10 },
  ];

  test("B7 I7: no sliding window of the period ever holds more starts than the limit, whatever the rate", async () => {
    console.log(`seed ${seed}`);
    for (const rate of RATES) {
      const seen = await starts({ ...rate, how: "window" }, 1_500, false);
      expect(seen.length).toBeGreaterThan(50);
      let first = 0;
      let count = 0;
      let full = 0;
      for (const { at, n } of seen) {
        count += n;
        // Windows are half open: a start exactly one period after another is in the next one. Half a microsecond is what floats lose.
        while (seen[first]!.at <= at - rate.per + 0.0005) count -= seen[first++]!.n;
        expect(count).toBeLessThanOrEqual(rate.limit);
        if (count === rate.limit) full++;
      }
      // The dice were hard enough.
      expect(full).toBeGreaterThan(0);
    }
  });

  test.each(RATES)("B7: who takes all it can gets at least 97 % of $limit per $per ms", async (rate) => {
    const seen = await starts({ ...rate, how: "window" }, 200, true);
    const total = seen.reduce((sum, { n }) => sum + n, 0);
    const periods = (seen.at(-1)!.at - seen[0]!.at) / rate.per + 1;
    expect(total / (periods * rate.limit)).toBeGreaterThan(0.97);
  });

  test.each(RATES)(`E10 I7: uniform: starts are never closer than $per / $limit ms (seed ${seed})`, async (rate) => {
    for (const greedy of [true, false]) {
      const seen = await starts({ ...rate, how: "uniform" }, 400, greedy);
      expect(seen.length).toBeGreaterThan(50);
      for (let n = 1; n < seen.length; n++)
        expect(seen[n]!.at - seen[n - 1]!.at).toBeGreaterThanOrEqual(rate.per / rate.limit - 0.0005);
      expect(seen.every(({ n }) => n === 1)).toBe(true);
    }
  });

  test("a meter stays small whatever the limit", async () => {
    const [row] = await db.query<{ size: number }>(
      `with recursive walk (n, at, spent_at, spent) as (
         select 1, now(), null::timestamptz[], null::integer[]
         union all
         select n + 1, at + interval '13 ms', s.new_spent_at, s.new_spent from walk
         cross join lateral fairmill.rate_spend_v1(spent_at, spent, 1000000, 10000, 'window', at, 1) s where n < 2000)
       select max(cardinality(spent)) as size from walk`,
    );
    expect(row!.size).toBeLessThanOrEqual(258);
  });

  test("open_at tells when so many as are wanted fit, and no earlier", async () => {
    const ask = async (wanted: number, at = "12:00:30") =>
      (
        await db.query<{ room: number; open_at: string }>(
          `select room, to_char(open_at at time zone 'UTC', 'HH24:MI:SS') as open_at from fairmill.rate_room_v1(
             array['2026-01-01 12:00:00+00', '2026-01-01 12:00:10+00', '2026-01-01 12:00:20+00']::timestamptz[], '{2,1,1}', 5, 60000, 'window', $2::timestamptz, $1)`,
          [wanted, `2026-01-01 ${at}+00`],
        )
      )[0];
    expect(await ask(1)).toEqual({ room: 1, open_at: "12:00:30" });
    expect(await ask(2)).toEqual({ room: 1, open_at: "12:01:00" });
    expect(await ask(3)).toEqual({ room: 1, open_at: "12:01:00" });
    expect(await ask(4)).toEqual({ room: 1, open_at: "12:01:10" });
    expect(await ask(99)).toEqual({ room: 1, open_at: "12:01:20" });
    expect(await ask(1, "12:01:00")).toEqual({ room: 3, open_at: "12:01:00" });
  });
});

describe("many keys in one statement", () => {
  const AT = "timestamptz '2026-01-01 12:00:00.123457+00'";

  test.each([
    { limit: 1, per: 1_000 },
    { limit: 7, per: 60_000 },
    { limit: 100, per: 333 },
    { limit: 30, per: HOUR },
  ])(
    `spend_keys_v1 lets in and writes what rate_room_v1 and rate_spend_v1 say, under $limit per $per ms (seed ${seed})`,
    async ({ limit, per }) => {
      for (const how of ["window", "uniform"])
        for (const count of [1, 2, 5]) {
          // Meters of up to twelve moments, some at the very edges of what counts and of what is added up; the last may lie ahead.
          await db.query(
            `insert into fairmill.meter (use, scope, name, spent_at, spent)
           select 'start', 'key', 'k' || lpad(g.k::text, 4, '0'), case when cardinality(a.moments) > 0 then a.moments end,
             case when cardinality(a.moments) > 0 then array(select 1 + floor(random() ^ 3 * greatest(least($1::integer, 12), $1::integer / 3))::integer from unnest(a.moments)) end
           from (select setseed($3::float8)) seeded, generate_series(1, 500) as g (k)
           cross join lateral (select g.k as of_key, floor(random() * 13)::integer as length, random() as reach offset 0) dice
           cross join lateral (select array(select distinct case floor(random() * 8)
               when 0 then ${AT} - $2::bigint * interval '1 millisecond'
               when 1 then ${AT} - $2::bigint * interval '1 millisecond' + interval '1 microsecond'
               when 2 then (fairmill.rate_spend_v1(null, null, $1::integer, $2::bigint, 'window', ${AT}, 1)).new_spent_at[1]
               when 3 then ${AT} - ceil($2::bigint * 1000.0 / $1::integer)::float8 * interval '1 microsecond'
               else ${AT} - (dice.reach * 2 * random() - 1 / 256.0) * $2::bigint * interval '1 millisecond' end
             from generate_series(1, dice.length) order by 1) as moments offset 0) a`,
            [limit, per, (seed % 1000) / 1000],
          );
          const expected = await db.query<{ name: string; fits: boolean }>(
            `select m.name, r.room >= $4::integer as fits, case when r.room >= $4::integer then s.new_spent_at else m.spent_at end::text as spent_at,
             case when r.room >= $4::integer then s.new_spent else m.spent end as spent
           from fairmill.meter m cross join lateral fairmill.rate_room_v1(m.spent_at, m.spent, $1::integer, $2::bigint, $3, ${AT}) r
           cross join lateral fairmill.rate_spend_v1(m.spent_at, m.spent, $1::integer, $2::bigint, $3, ${AT}, $4::integer) s order by m.name`,
            [limit, per, how, count],
          );
          const [{ left } = { left: [] }] = await db.query<{ left: string[] }>(
            `select fairmill.spend_keys_v1(array(select name from fairmill.meter order by name), null, $4::integer, $1::integer, $2::bigint, $3, ${AT}) as left`,
            [limit, per, how, count],
          );
          const written = await db.query<{ name: string }>(
            "select name, spent_at::text, spent from fairmill.meter order by name",
          );
          await db.query("delete from fairmill.meter");
          expect(written.map((meter) => ({ fits: !left.includes(meter.name), ...meter }))).toEqual(expected);
          const fitting = expected.filter(({ fits }) => fits).length;
          // The dice were of both sorts, where both are possible.
          if (count <= (how === "uniform" ? 1 : limit)) expect(fitting).toBeGreaterThan(20);
          expect(fitting).toBeLessThan(expected.length);
        }
    },
  );

  test("where some keys are new, those that are known are locked as well; at a higher isolation level neither", async () => {
    await db.query("insert into fairmill.meter (use, scope, name) values ('start', 'key', 'known')");
    const session = await open();
    await session.query("begin");
    await session.query("select fairmill.lock_meters_v1('start', 'key', '{known,new}')");
    expect(await errorCode(db.query("select from fairmill.meter where name = 'known' for update nowait"))).toBe(
      "55P03",
    );
    await session.query("commit");
    await session.query("begin isolation level repeatable read");
    expect(await errorCode(session.query("select fairmill.lock_meters_v1('start', 'key', '{known,new}')"))).toBe(
      "FM003",
    );
    await session.query("rollback");
  });

  test("whoever locks meters is told where they stand, in the order of their names, also those that somebody wrote to while it waited", async () => {
    await db.query(
      "insert into fairmill.meter (use, scope, name) select 'start', 'key', n from unnest('{c,a,b}'::text[]) n",
    );
    const [writer, locker] = await Promise.all([open(), open()]);
    await writer.query("begin");
    await writer.query("update fairmill.meter set spent_at = array[now()], spent = '{1}' where name = 'b'");
    await locker.query("begin");
    const told = locker.query<{ places: string[] | null }>(
      "select fairmill.lock_meters_v1('start', 'key', '{b,c,a}')::text[] as places, current_setting('server_version_num')::integer as version",
    );
    await waitUntilBlocked(db, locker);
    await writer.query("commit");
    const [{ places, version } = { places: null, version: 0 }] = (await told) as {
      places: string[];
      version: number;
    }[];
    const there = await db.query<{ place: string }>("select ctid::text as place from fairmill.meter order by name");
    await locker.query("rollback");
    // Before PostgreSQL 17 nobody knows.
    expect(places).toEqual(version >= 170_000 ? there.map(({ place }) => place) : null);
  });

  test("a claim that waited for the lock of a key starts at the moment it got it", async () => {
    await setRule(db, { rate: { limit: 5, per_ms: HOUR } });
    const [id] = await enqueueKeyed(db, 1);
    const [holder, claimer] = await Promise.all([open(), open()]);
    await holder.query("begin");
    await holder.query("select fairmill.lock_meters_v1('start', 'key', array(select limit_key from fairmill.job))");
    const claimed = claimGated(claimer, "w");
    await waitUntilBlocked(db, claimer);
    const [{ at } = { at: "" }] = await db.query<{ at: string }>("select clock_timestamp()::text as at");
    await holder.query("commit");
    expect((await claimed).jobs.map((job) => job.id)).toEqual([id]);
    expect(
      await db.query(
        "select started_at > $1 as later, (select spent_at[1] >= started_at from fairmill.meter) as counts from fairmill.job",
        [at],
      ),
    ).toEqual([{ later: true, counts: true }]);
  });

  test(`claims that lock the same keys, some of them new, never wait for each other in a circle (seed ${seed})`, async () => {
    const sessions = await Promise.all(Array.from({ length: 6 }, () => open()));
    for (let round = 0; round < 8; round++)
      await Promise.all(
        sessions.map(async (session, n) => {
          for (let turn = 0; turn < 8; turn++) {
            const dice = Array.from({ length: 60 }, (_, k) =>
              Math.sin(seed + k * 7 + n * 131 + turn * 17 + round * 29),
            );
            const names = dice.flatMap((die, k) => (die > 0.3 ? [`r${round}k${String(k).padStart(2, "0")}`] : []));
            await session.query("begin");
            await session.query("select fairmill.lock_meters_v1('start', 'key', $1)", [names]);
            const there = await session.query("select from fairmill.meter where name = any ($1)", [names]);
            await session.query("commit");
            expect(there).toHaveLength(names.length);
          }
        }),
      );
  }, 30_000);
});

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
    await setGate(db, scope, name, rate(2));
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

  test("what one gate refuses is not spent at another, and a place that is refused spends no rate", async () => {
    await setRule(db, { max_running: 1, when_full: "refuse", ...rate(10) });
    await setGate(db, "tenant", "default", rate(10));
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
    await setGate(db, "tenant", "default", rate(5));
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

  test("a rate that lacks a part, or names an unknown one, is refused", async () => {
    expect(await errorCode(setGate(db, "tenant", "t", { rate: { limit: 5 } }))).toBe("FM001");
    expect(await errorCode(setGate(db, "tenant", "t", { rate: { limit: 5, per_ms: 5, per: 3 } }))).toBe("FM001");
    expect(await errorCode(setGate(db, "tenant", "t", { rates: {} }))).toBe("FM001");
    expect(await errorCode(setGate(db, "tenant", "t", { rate: { limit: 0, per_ms: 5 } }))).toBe("23514");
    expect(
      await errorCode(db.query("insert into fairmill.gate (scope, name, rate_limit) values ('tenant', 't', 5)")),
    ).toBe("23514");
    expect(
      await errorCode(db.query("insert into fairmill.key_rule (kind, rate_limit, rate_at) values ('k', 5, 'start')")),
    ).toBe("23514");
  });
});

describe("at start, of a tenant, a queue or a kind", () => {
  test.each([
    ["tenant", "default"],
    ["queue", "default"],
    ["kind", "work"],
  ] as const)("B7 I7: claims of a %s never exceed its rate, and are told when it opens", async (scope, name) => {
    await fill(db, 50);
    await setGate(db, scope, name, { rate: { limit: 7, per_ms: HOUR } });
    const sessions = await Promise.all(Array.from({ length: 8 }, () => open()));
    const claims = await Promise.all(
      sessions.map((session, n) => claimGated(session, `w${n}`, [{ tenant: "default", quantum: 3 }], 3)),
    );
    expect(claims.flatMap(({ jobs }) => jobs)).toHaveLength(7);
    const { jobs, told } = await claimGated(db, "w");
    expect(jobs).toEqual([]);
    expect(told!.held).toMatchObject([{ scope, name, why: "rate" }]);
    expect(told!.held[0]!.open_in_ms).toBeGreaterThan(HOUR * 0.99);
    expect(told!.held[0]!.open_in_ms).toBeLessThan(HOUR * 1.01);
    // Settled and set again: what was spent counts on.
    await setGate(db, scope, name, { rate: { limit: 7, per_ms: HOUR } });
    expect((await claimGated(db, "w")).jobs).toEqual([]);
    await setGate(db, scope, name, { rate: { limit: 9, per_ms: HOUR } });
    expect((await claimGated(db, "w")).jobs).toHaveLength(2);
    await setGate(db, scope, name, { rate: null });
    expect((await claimGated(db, "w")).jobs).toHaveLength(41);
  });

  test("E10: a uniform rate starts one a claim, and tells when the next may", async () => {
    await fill(db, 5);
    await setGate(db, "queue", "default", { rate: { limit: 6, per_ms: 60_000, how: "uniform" } });
    const { jobs, told } = await claimGated(db, "w");
    expect(jobs).toHaveLength(1);
    expect(told!.held).toMatchObject([{ why: "rate", open_in_ms: 10_000 }]);
    expect((await claimGated(db, "w")).jobs).toEqual([]);
    await setGate(db, "queue", "default", { rate: { limit: 6, per_ms: 1, how: "uniform" } });
    expect((await claimGated(db, "w")).jobs).toHaveLength(1);
  });

  test("a claim that does not commit has spent nothing, and one without memory is told nothing of what was held", async () => {
    await fill(db, 5);
    await setGate(db, "tenant", "default", { rate: { limit: 2, per_ms: HOUR } });
    const session = await open();
    await register(db, "w");
    await session.query("begin");
    expect(await claim(session, "w", 10)).toHaveLength(2);
    await session.query("rollback");
    expect(await claim(db, "w", 10)).toHaveLength(2);
    expect(await claim(db, "w", 10)).toEqual([]);
  });

  test("a claim that spends a rate is durable, one that does not need not be", async () => {
    await fill(db, 5);
    const session = await open();
    await session.query("set synchronous_commit = on");
    const commit = async () => {
      await session.query("begin");
      await session.query(
        "select * from fairmill.claim_lanes_v1('w', '{default}', '{0}', '{default}', '{0}', '{1}', null, 1, durable => false)",
      );
      const [{ synchronous_commit } = { synchronous_commit: "" }] = await session.query<{ synchronous_commit: string }>(
        "show synchronous_commit",
      );
      await session.query("commit");
      return synchronous_commit;
    };
    await register(db, "w");
    expect(await commit()).toBe("off");
    await setGate(db, "tenant", "default", { max_running: 100 });
    expect(await commit()).toBe("off");
    await setGate(db, "tenant", "default", { rate: { limit: 100, per_ms: HOUR } });
    expect(await commit()).toBe("on");
    await setGate(db, "tenant", "default", { rate: null });
    await setRule(db, { per: "kind", rate: { limit: 100, per_ms: HOUR } }, "work");
    // Those that were enqueued before there was a rule have none.
    expect(await commit()).toBe("off");
    await db.query("delete from fairmill.job where state = 'ready'");
    await enqueue(db, [{ kind: "work" }]);
    expect(await commit()).toBe("on");
  });
});

describe("at start, of a key", () => {
  const runAts = async (ids: readonly string[]) =>
    (
      await db.query<{ ms: number }>(
        "select extract(epoch from run_at - clock_timestamp())::float8 * 1000 as ms from unnest($1::bigint[]) with ordinality as g (id, n) join fairmill.job using (id) order by n",
        [ids],
      )
    ).map(({ ms }) => ms);
  const due = (ids: readonly string[]) => db.query("update fairmill.job set run_at = now() where id = any ($1)", [ids]);

  test("C3: who is over it is put back: scheduled one after the other, the attempt unspent, counted as throttled", async () => {
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 6);
    const others = await enqueueKeyed(db, 1, { key: "another" });
    const { jobs, told } = await claimGated(db, "w");
    expect(jobs.map(({ id }) => id).toSorted()).toEqual([ids[0], ids[1], others[0]].toSorted());
    expect(told).toMatchObject({ held: [], late: [[0, "default", 4]] });
    expect(told!.due_in_ms! / HOUR).toBeCloseTo(1, 1);
    const moments = await runAts(ids.slice(2));
    for (const [n, ms] of moments.entries()) expect(ms / HOUR).toBeCloseTo(1 + n / 2, 1);
    for (const id of ids.slice(2))
      expect(await live(db, id)).toMatchObject({
        state: "scheduled",
        attempt: 0,
        lease_no: 0,
        throttled: 1,
        put_back: true,
      });
    await settle(
      db,
      "w",
      jobs.toSorted((a, b) => Number(a.id) - Number(b.id)),
      "done",
    );
  });

  test.each([{ kinds: ["limited", "other"] }, { kinds: ["limited"] }])(
    "keys of kinds $kinds, with more and fewer jobs, in one claim: to each what it started is spent",
    async ({ kinds }) => {
      for (const kind of kinds) await setRule(db, { rate: { limit: 5, per_ms: HOUR } }, kind);
      // The first round makes the meters, the second finds them, the third finds some of them full.
      for (let round = 1; round <= 3; round++) {
        for (const [n, key] of ["a", "b", "c", "d", "e", "f"].entries())
          await enqueueKeyed(db, 1 + (n % 3), { key, kind: kinds[n % kinds.length] });
        await claimGated(db, "w");
        expect(
          await db.query(
            `select m.name, (select sum(s)::integer from unnest(m.spent) s) as spent from fairmill.meter m where m.scope = 'key' order by m.name`,
          ),
        ).toEqual(
          await db.query(
            `select limit_key as name, count(*) filter (where state = 'running')::integer as spent from fairmill.job group by limit_key order by limit_key`,
          ),
        );
      }
      expect(await db.query("select count(*)::integer as late from fairmill.job where put_back")).toEqual([
        { late: 10 },
      ]);
    },
  );

  test("keys of two kinds with a job each in one claim: each by the rate of its kind", async () => {
    await setRule(db, { rate: { limit: 5, per_ms: HOUR } });
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } }, "other");
    const ids: string[] = [];
    for (let round = 1; round <= 3; round++) {
      for (const kind of ["limited", "other"]) ids.push(...(await enqueueKeyed(db, 1, { kind })));
      await claimGated(db, "w");
    }
    expect(await statesOf(db, ids)).toEqual(["running", "running", "running", "running", "running", "scheduled"]);
  });

  test("C3: newcomers do not overtake those that were put back, and who comes back too early keeps its turn", async () => {
    await setRule(db, { rate: { limit: 2, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 4);
    await claimGated(db, "w");
    // Room, and one of the two waits still: it goes first.
    await db.query("update fairmill.meter set spent_at = null, spent = null");
    const newcomers = await enqueueKeyed(db, 1);
    expect((await claimGated(db, "w")).jobs).toEqual([]);
    const [third, fourth, fifth] = await runAts([ids[2]!, ids[3]!, newcomers[0]!]);
    expect(third).toBeLessThan(fourth!);
    expect(fourth).toBeLessThan(fifth!);
    // The first of them comes back, and there is room: it starts.
    await due([ids[2]!]);
    await call(db, "promote_v1()");
    expect((await claimGated(db, "w")).jobs.map(({ id }) => id)).toEqual([ids[2]]);
    // The next two come back too early for the second of them: that one is still before the newcomer, not behind.
    await due([ids[3]!]);
    await call(db, "promote_v1()");
    await db.query("update fairmill.meter set spent = '{2}'");
    expect((await claimGated(db, "w")).jobs).toEqual([]);
    const [again, behind] = await runAts([ids[3]!, newcomers[0]!]);
    expect(again).toBeLessThan(behind!);
    expect(await live(db, ids[3]!)).toMatchObject({ throttled: 2, attempt: 0 });
  });

  test("C3: the place under the key is kept while a rate puts the job off, and nobody else starts on it", async () => {
    await setRule(db, { max_running: 1, rate: { limit: 1, per_ms: HOUR } });
    const ids = await enqueueKeyed(db, 3);
    await settle(db, "w", (await claimGated(db, "w")).jobs, "done");
    expect((await claimGated(db, "w")).jobs).toEqual([]);
    expect(await statesOf(db, ids)).toEqual(["done", "scheduled", "blocked"]);
    expect(await live(db, ids[1]!)).toMatchObject({ slot: 1, put_back: true });
    await db.query("update fairmill.meter set spent_at = null, spent = null");
    await due([ids[1]!]);
    await call(db, "promote_v1()");
    const { jobs } = await claimGated(db, "w");
    expect(jobs.map(({ id }) => id)).toEqual([ids[1]]);
    expect(await live(db, ids[1]!)).toMatchObject({ put_back: null, attempt: 1, throttled: 1 });
  });

  test("who is put back by its key, or let go because lanes share a tenant, spends nothing of the tenant's rate", async () => {
    await setRule(db, { rate: { limit: 1, per_ms: HOUR } });
    await setGate(db, "tenant", "default", { rate: { limit: 5, per_ms: HOUR } });
    const spent = async () =>
      (await db.query<{ spent: number[] }>("select spent from fairmill.meter where scope = 'tenant'"))[0]!.spent;
    await enqueueKeyed(db, 3);
    expect((await claimGated(db, "w")).jobs).toHaveLength(1);
    expect(await spent()).toEqual([1]);
    await db.query("update fairmill.meter set spent_at = null, spent = null where scope = 'tenant'");
    await fill(db, 9);
    await fill(db, 9, { priority: 1 });
    const lanes = [0, 1].map((priority) => ({ tenant: "default", priority, quantum: 9 }));
    expect((await claimGated(db, "w", lanes, 18)).jobs).toHaveLength(5);
    expect(await spent()).toEqual([5]);
  });

  test("a claim that spends the rate of one key is durable, though another key of it has none left", async () => {
    await setRule(db, { rate: { limit: 1, per_ms: HOUR } });
    await enqueueKeyed(db, 1, { key: "full" });
    await claimGated(db, "w");
    await enqueueKeyed(db, 1, { key: "full" });
    await enqueueKeyed(db, 1, { key: "free" });
    const session = await open();
    await session.query("set synchronous_commit = on");
    await session.query("begin");
    const claimed = await session.query(
      "select * from fairmill.claim_lanes_v1('w', '{default}', '{0}', '{default}', '{0}', '{5}', null, 5, durable => false)",
    );
    expect(claimed.filter(({ id }) => id !== null)).toHaveLength(1);
    expect(await session.query("show synchronous_commit")).toEqual([{ synchronous_commit: "on" }]);
    await session.query("commit");
  });

  test("a job that waits for a retry was not put back: newcomers need not wait for it", async () => {
    await setRule(db, { rate: { limit: 3, per_ms: HOUR } });
    const [first] = await enqueueKeyed(db, 1);
    await settle(db, "w", (await claimGated(db, "w")).jobs, "retry", [{ delay_ms: HOUR }]);
    expect(await live(db, first!)).toMatchObject({ state: "scheduled", put_back: null });
    await enqueueKeyed(db, 1);
    expect((await claimGated(db, "w")).jobs).toHaveLength(1);
  });

  test(`I7: four who claim and promote at once: no window of a key holds more than its rate, and all start`, async () => {
    await setRule(db, { rate: { limit: 5, per_ms: 600 } });
    await enqueueLimited(
      db,
      Array.from({ length: 60 }, (_, n) => ({ key: `k${n % 2}` })),
    );
    const sessions = await Promise.all(Array.from({ length: 4 }, () => open()));
    const started: { id: string }[] = [];
    await Promise.all(
      sessions.map(async (session, n) => {
        for (;;) {
          await call(session, "promote_v1()");
          const { jobs } = await claimGated(session, `w${n}`, [{ tenant: "default", quantum: 4 }], 4);
          started.push(...jobs);
          if (started.length === 60) return;
        }
      }),
    );
    const rows = await db.query<{ key: string; at: number }>(
      "select key, extract(epoch from started_at)::float8 * 1000 as at from fairmill.job order by started_at",
    );
    for (const key of ["k0", "k1"]) {
      const at = rows.filter((row) => row.key === key).map((row) => row.at);
      expect(at).toHaveLength(30);
      for (let n = 5; n < at.length; n++) expect(at[n]! - at[n - 5]!).toBeGreaterThanOrEqual(600 - 0.01);
    }
  }, 30_000);
});
