// Meters of many keys in one statement: locked in one order, and found as fast as at first.
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { claimUnderLimits, enqueueKeyed, setRule } from "../support/sql/calls.js";
import { errorCode, useSessions, waitUntilBlocked } from "../support/sql/sessions.js";

const db = useDatabase();
const open = useSessions(db);

const seed = Number(process.env["TEST_SEED"] ?? Math.floor(Math.random() * 1e9));
const HOUR = 3_600_000;

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
