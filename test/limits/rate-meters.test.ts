// The meter of a rate, as a pure function: exact in every sliding window, evenly spaced where asked for.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";

const db = useDatabase();

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
