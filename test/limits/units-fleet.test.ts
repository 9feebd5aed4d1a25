// Units across a fleet of eight real processes, with estimates that are wrong in both directions, told late, at once, and by runs that fail.
import { createClient, defineJob, defineLimit } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { dice as diceOf, newSeed } from "../support/dice.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

const LIMIT = 2_000;
const PER_MS = 1_000;
interface Input {
  user: string;
  ms: number;
  estimate: number;
  actual: number;
  now: boolean;
  fails: boolean;
}
const tokens = defineLimit("tokens", { tokens: LIMIT, per: "1s", by: ({ user }: { user: string }) => user });
const metered = defineJob<Input>({
  kind: "metered",
  limits: { uses: [tokens.with({ tokens: (input: Input) => input.estimate })] },
});

/** Writes down each state of a meter in which a window holds too much, in the transaction that makes it. */
const WATCH = `create table public.overfull (name text, at timestamptz, held bigint);
  create function public.watch_meter() returns trigger language plpgsql as $$
  begin
    insert into public.overfull
    select new.name, last.at, held.units from unnest(new.spent_at) as last (at)
    cross join lateral (select sum(s.units) as units from unnest(new.spent_at, new.spent) as s (at, units)
      where s.at > last.at - interval '1 second' and s.at <= last.at) held
    where held.units > ${LIMIT};
    return new;
  end $$;
  create trigger watch after update on fairmill.meter for each row when (new.scope = 'limit') execute function public.watch_meter()`;

interface Start {
  user: string;
  us: number;
  counted: number;
  actual: number;
}

const startsOf = async () =>
  (
    await db.query<{ user: string; us: string; estimate: number; actual: number }>(
      `select payload ->> 'user' as user, (extract(epoch from started_at) * 1000000)::bigint as us, (payload -> 'estimate')::integer as estimate,
         (payload -> 'actual')::integer as actual from fairmill.job_history order by started_at`,
    )
  ).map(
    ({ user, us, estimate, actual }): Start => ({ user, us: Number(us), counted: Math.min(estimate, actual), actual }),
  );

test("F14 I7: eight processes, estimates that are wrong: no window holds more than the limit, and what is owed is paid", async () => {
  const dice = diceOf(newSeed());
  const upTo = (most: number) => 1 + Math.floor(dice() * most);
  await db.query(WATCH);
  const client = createClient({ databaseUrl: db.url });
  const jobs = Array.from({ length: 90 }, (_, n) => ({
    tenant: `t${n % 5}`,
    input: {
      ...{ user: `u${n % 2}`, ms: upTo(60), estimate: upTo(500), actual: upTo(700), now: dice() < 0.5 },
      fails: dice() < 0.2,
    },
  }));
  await client.enqueueMany(metered, jobs);
  const fleet = await Promise.all(Array.from({ length: 8 }, () => startWorkerProcess(db.url, ["metered"], {})));
  await waitUntil(
    "all have run",
    async () => (await db.query("select id from fairmill.job limit 1")).length === 0,
    120_000,
  );
  await Promise.all(fleet.map((worker) => worker.stop()));

  expect(await db.query("select * from public.overfull")).toEqual([]);
  expect(await db.query("select count(*)::integer as count from fairmill.job_history where attempt <> 1")).toEqual([
    { count: 0 },
  ]);
  const starts = await startsOf();
  expect(starts).toHaveLength(jobs.length);
  for (const user of ["u0", "u1"]) {
    const own = starts.filter((start) => start.user === user);
    // Of the starts of any second, what was both asked for and used is no more than the limit.
    for (const { us } of own) {
      const held = own.filter((other) => other.us >= us && other.us < us + PER_MS * 1_000);
      expect(held.reduce((sum, { counted }) => sum + counted, 0)).toBeLessThanOrEqual(LIMIT);
    }
    // Over the whole time all that was used is no more than the windows of that time hold, but for what is still owed.
    const [window] = await client.limits.available(tokens, user);
    const [{ us: now }] = (await db.query<{ us: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000000)::float8 as us",
    )) as [{ us: number }];
    const windows = Math.floor((now - own[0]!.us) / (PER_MS * 1_000)) + 1;
    const used = own.reduce((sum, { actual }) => sum + actual, 0);
    expect(used - window!.owed).toBeLessThanOrEqual(windows * LIMIT);
    expect(used).toBeGreaterThan(3 * LIMIT);
  }
  await client.close();
});
