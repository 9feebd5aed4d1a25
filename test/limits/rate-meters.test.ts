// The meter of a rate: exact in every sliding window, evenly spaced where asked for, and locked in one order.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimUnderLimits, enqueueKeyed, setRule } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

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
           cross join lateral (select w.at + case when $5 then (select greatest(r.open_at - w.at, interval '0') from fairmill.rate_room(w.spent_at, w.spent, $1, $2, $3, w.at) r)
             else d.r * d.r * $2 * interval '1 millisecond' / least($1, 20) * 2 end as at offset 0) next
           cross join lateral (select r.room from fairmill.rate_room(w.spent_at, w.spent, $1, $2, $3, next.at) r offset 0) r
           cross join lateral (select least(r.room, case when $5 then r.room else ceil(d.s * d.s * (3 + $1 / 8))::integer end) as count offset 0) c
           cross join lateral (
             select x.new_spent_at, x.new_spent, c.count as starts from fairmill.rate_spend(w.spent_at, w.spent, $1, $2, $3, next.at, c.count) x where c.count > 0
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

  test(`I7: also while the period changes again and again: what was not forgotten under a shorter one counts (seed ${seed})`, async () => {
    const rates = [
      RATES[4]!,
      RATES[1]!,
      RATES[2]!,
      { limit: 40, per: 5_000 },
      RATES[0]!,
      { limit: 200, per: 86_400_000 },
    ];
    const seen = await db.query<{ at: number; n: number; turn: number }>(
      `with recursive dice as (select n, random() as r, random() as s from generate_series(1, 3000) n, (select setseed($3)) x),
       walk (n, at, spent_at, spent, started, turn) as (
         select 0, timestamptz '2026-01-01 00:00:00.123457+00', null::timestamptz[], null::integer[], 0, 1
         union all
         select d.n, w.at + wait.wait, s.new_spent_at, s.new_spent, s.starts, rate.turn
         from walk w join dice d on d.n = w.n + 1
         cross join lateral (select t.turn, ($1::integer[])[t.turn] as top, ($2::bigint[])[t.turn] as per
           from (select 1 + d.n / 12 % cardinality($1::integer[]) as turn) t offset 0) rate
         cross join lateral (select d.r * d.r * rate.per * interval '1 millisecond' / least(rate.top, 20) * 2 as wait offset 0) wait
         cross join lateral (select r.room from fairmill.rate_room(w.spent_at, w.spent, rate.top, rate.per, 'window', w.at + wait.wait) r offset 0) r
         cross join lateral (select least(r.room, ceil(d.s * d.s * (3 + rate.top / 3))::integer) as count offset 0) c
         cross join lateral (
           select x.new_spent_at, x.new_spent, c.count as starts
           from fairmill.rate_spend(w.spent_at, w.spent, rate.top, rate.per, 'window', w.at + wait.wait, c.count) x where c.count > 0
           union all select w.spent_at, w.spent, 0 where c.count <= 0) s)
       select extract(epoch from at - timestamptz '2026-01-01')::float8 * 1000 as at, started as n, turn from walk where started > 0 order by walk.n`,
      [rates.map(({ limit }) => limit), rates.map(({ per }) => per), (seed % 1000) / 1000],
    );
    let counting: { at: number; n: number }[] = [];
    const full = new Set<number>();
    for (const { at, n, turn } of seen) {
      const { limit, per } = rates[turn - 1]!;
      counting = [...counting.filter((start) => start.at > at - per + 0.001), { at, n }];
      const count = counting.reduce((sum, start) => sum + start.n, 0);
      expect(count).toBeLessThanOrEqual(limit);
      if (count === limit) full.add(turn);
    }
    expect(full.size).toBeGreaterThan(2);
  });

  test.each(["window", "uniform"])(
    "a shorter period is open as soon as the last start is older than it (%s), not when a part of the old one is over",
    async (how) => {
      const rooms = await db.query<{ ms: number; room: number }>(
        `select ms, r.room from (select timestamptz '2026-01-01 12:00:00.123457+00' as at) start
         cross join lateral fairmill.rate_spend(null, null, 1000, 86400000, 'window', start.at, 100) s
         cross join unnest('{0,90,100,999,1000}'::integer[]) ms
         cross join lateral fairmill.rate_room(s.new_spent_at, s.new_spent, 10, 1000, $1, start.at + ms * interval '1 millisecond') r order by ms`,
        [how],
      );
      expect(rooms.map(({ room }) => room)).toEqual(how === "window" ? [0, 0, 0, 0, 10] : [0, 0, 1, 1, 1]);
    },
  );

  test("a meter stays small whatever the limit", async () => {
    const [row] = await db.query<{ size: number }>(
      `with recursive walk (n, at, spent_at, spent) as (
         select 1, now(), null::timestamptz[], null::integer[]
         union all
         select n + 1, at + interval '13 ms', s.new_spent_at, s.new_spent from walk
         cross join lateral fairmill.rate_spend(spent_at, spent, 1000000, 10000, 'window', at, 1) s where n < 2000)
       select max(cardinality(spent)) as size from walk`,
    );
    expect(row!.size).toBeLessThanOrEqual(258);
  });

  test("open_at tells when so many as are wanted fit, and no earlier", async () => {
    const ask = async (wanted: number, at = "12:00:30") =>
      (
        await db.query<{ room: number; open_at: string }>(
          `select room, to_char(open_at at time zone 'UTC', 'HH24:MI:SS') as open_at from fairmill.rate_room(
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
    `spend_key_rates lets in and writes what rate_room and rate_spend say, under $limit per $per ms (seed ${seed})`,
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
               when 2 then (fairmill.rate_spend(null, null, $1::integer, $2::bigint, 'window', ${AT}, 1)).new_spent_at[1]
               when 3 then ${AT} - ceil($2::bigint * 1000.0 / $1::integer)::float8 * interval '1 microsecond'
               else ${AT} - (dice.reach * 2 * random() - 1 / 256.0) * $2::bigint * interval '1 millisecond' end
             from generate_series(1, dice.length) order by 1) as moments offset 0) a`,
            [limit, per, (seed % 1000) / 1000],
          );
          const expected = await db.query<{ name: string; fits: boolean }>(
            `select m.name, r.room >= $4::integer as fits, case when r.room >= $4::integer then s.new_spent_at else m.spent_at end::text as spent_at,
             case when r.room >= $4::integer then s.new_spent else m.spent end as spent
           from fairmill.meter m cross join lateral fairmill.rate_room(m.spent_at, m.spent, $1::integer, $2::bigint, $3, ${AT}) r
           cross join lateral fairmill.rate_spend(m.spent_at, m.spent, $1::integer, $2::bigint, $3, ${AT}, $4::integer) s order by m.name`,
            [limit, per, how, count],
          );
          const [{ left } = { left: [] }] = await db.query<{ left: string[] }>(
            `select fairmill.spend_key_rates(array(select name from fairmill.meter order by name), null, $4::integer, $1::integer, $2::bigint, $3, ${AT}) as left`,
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
    await session.query("select fairmill.lock_meters('start', 'key', '{known,new}')");
    expect(await errorCode(db.query("select from fairmill.meter where name = 'known' for update nowait"))).toBe(
      "55P03",
    );
    await session.query("commit");
    await session.query("begin isolation level repeatable read");
    expect(await errorCode(session.query("select fairmill.lock_meters('start', 'key', '{known,new}')"))).toBe("FM003");
    await session.query("rollback");
  });

  test("lock_meters answers with ctids in the order of names, also of meters that another session wrote to meanwhile", async () => {
    await db.query(
      "insert into fairmill.meter (use, scope, name) select 'start', 'key', n from unnest('{c,a,b}'::text[]) n",
    );
    const [writer, locker] = await Promise.all([open(), open()]);
    await writer.query("begin");
    await writer.query("update fairmill.meter set spent_at = array[now()], spent = '{1}' where name = 'b'");
    await locker.query("begin");
    const told = locker.query<{ places: string[] }>(
      "select fairmill.lock_meters('start', 'key', '{b,c,a}')::text[] as places",
    );
    await waitUntilBlocked(db, locker);
    await writer.query("commit");
    const [locked] = await told;
    const there = await db.query<{ place: string }>("select ctid::text as place from fairmill.meter order by name");
    await locker.query("rollback");
    expect(locked?.places).toEqual(there.map(({ place }) => place));
  });

  test("F12: with an old snapshot open, a meter that was written a thousand times is found as fast as at first", async () => {
    const [pin, session] = await Promise.all([open(), open()]);
    await pin.query("begin isolation level repeatable read; select 1");
    const blocks = async () => {
      const [row] = await session.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        "explain (analyze, buffers, format json) select fairmill.lock_meters('start', 'key', '{k}'), fairmill.meter_ctids('start', 'key', '{k}')",
      );
      const plan = row!["QUERY PLAN"][0].Plan;
      return plan["Shared Hit Blocks"]! + plan["Shared Read Blocks"]!;
    };
    await session.query("select fairmill.lock_meters('start', 'key', '{k}')");
    for (let n = 0; n < 2; n++) await blocks();
    const first = await blocks();
    await session.query(
      `do $$ begin for i in 1 .. 1500 loop
         update fairmill.meter set spent_at = array_fill(now(), array[80]), spent = array_fill(i, array[80]) where name = 'k';
       end loop; end $$`,
    );
    expect(await blocks()).toBeLessThan(first + 20);
  });

  test("a claim that waited for the lock of a key starts at the moment it got it", async () => {
    await setRule(db, { rate: { limit: 5, per_ms: HOUR } });
    const [id] = await enqueueKeyed(db, 1);
    const [holder, claimer] = await Promise.all([open(), open()]);
    await holder.query("begin");
    await holder.query("select fairmill.lock_meters('start', 'key', array(select limit_key from fairmill.job))");
    const claimed = claimUnderLimits(claimer, "w");
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
            await session.query("select fairmill.lock_meters('start', 'key', $1)", [names]);
            const there = await session.query("select from fairmill.meter where name = any ($1)", [names]);
            await session.query("commit");
            expect(there).toHaveLength(names.length);
          }
        }),
      );
  });
});
