// Rates across a fleet of eight real processes, per tenant, queue, kind and key at the same time: by the starts that the history tells,
// no sliding window ever holds more than it may, and most of what is allowed is used.
import { type Client, createClient, defineJob, type JobDefinition, type RateLimit } from "fairmill";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.js";
import { startWorkerProcess } from "../support/processes.js";
import { waitUntil } from "../support/wait.js";

const db = useDatabase();

/** Where a job of each group goes: one limit each, and nothing in common. */
const GROUPS = ["tenant", "queue", "kind", "key"] as const;
const plain = defineJob<{ user: string; ms: number }>({ kind: "slow" });
const mail = defineJob<{ user: string; ms: number }>({ kind: "slow", queue: "mail" });
const ofKind = defineJob<{ user: string; ms: number }>({ kind: "quick" });

async function limitAndFill(client: Client, rate: RateLimit, count: number) {
  const perKey = defineJob<{ user: string; ms: number }>({
    kind: "limited",
    key: ({ user }) => user,
    limits: { rate },
  });
  await client.tenants.set("acme", { rate });
  await client.queues.set("mail", { rate });
  await client.kinds.set("quick", { rate });
  const input = { ms: 0, user: "u1" };
  const jobs = (tenant: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => ({ input, tenant: tenant(n) }));
  const put = async (definition: JobDefinition<typeof input>, tenant: (n: number) => string) =>
    void (await client.enqueueMany(definition, jobs(tenant)));
  await put(plain, () => "acme");
  await put(mail, (n) => `m${n % 5}`);
  await put(ofKind, (n) => `k${n % 5}`);
  await put(perKey, () => "u");
}

const fleetOf = (count: number, rate: RateLimit) =>
  Promise.all(
    Array.from({ length: count }, () =>
      startWorkerProcess(db.url, ["slow", "quick", "limited"], { queues: { default: {}, mail: {} } }, { rate }),
    ),
  );

/** By group the microseconds at which its jobs have started, in order. */
async function startsOf() {
  const rows = await db.query<{ name: (typeof GROUPS)[number]; us: string[] }>(
    `select case when kind = 'limited' then 'key' when kind = 'quick' then 'kind' when queue = 'mail' then 'queue' else 'tenant' end as name,
       array_agg((extract(epoch from started_at) * 1000000)::bigint order by started_at) as us
     from (select kind, queue, started_at from fairmill.job_history
           union all select kind, queue, started_at from fairmill.job where state = 'running') j group by 1`,
  );
  return new Map(rows.map(({ name, us }) => [name, us.map(Number)]));
}

const enough = async (count: number) => {
  const starts = await startsOf();
  return GROUPS.every((group) => (starts.get(group)?.length ?? 0) >= count);
};

async function runUntil(rate: RateLimit, count: number): Promise<Map<string, number[]>> {
  const client = createClient({ databaseUrl: db.url });
  await limitAndFill(client, rate, Math.ceil(count * 1.5));
  const fleet = await fleetOf(8, rate);
  await waitUntil(`${count} of each have started`, () => enough(count));
  await Promise.all(fleet.map((worker) => worker.stop()));
  await client.close();
  expect(fleet.flatMap(({ messages }) => messages.filter(({ trouble, unhandled }) => trouble ?? unhandled))).toEqual(
    [],
  );
  const starts = await startsOf();
  // What a rate puts back has not been tried: it counts as rate-limited, not as an attempt.
  const [odd] = await db.query<{ tried: number; throttled: number }>(
    `select count(*) filter (where attempt <> 1)::integer as tried, count(*) filter (where rate_limited_times > 0)::integer as throttled
     from fairmill.job_history where kind = 'limited'`,
  );
  expect(odd!.tried).toBe(0);
  expect(odd!.throttled).toBeGreaterThan(0);
  await db.query("delete from fairmill.job");
  return starts;
}

test("B7 C3 P7 I7: window, 100 per second: no sliding second holds more than 100 starts, of no tenant, queue, kind or key", async () => {
  const limit = 100;
  const starts = await runUntil({ limit, per: "1s" }, 900);
  for (const group of GROUPS) {
    const us = starts.get(group)!;
    // The job 100 later comes a second later.
    const closest = us.slice(limit).reduce((least, at, i) => Math.min(least, at - us[i]!), Number.POSITIVE_INFINITY);
    expect({ group, closest, isFarEnough: closest >= 1_000_000 }).toMatchObject({ isFarEnough: true });
    const seconds = (us.at(-1)! - us[0]!) / 1e6;
    console.log(`${group}: ${us.length} starts in ${seconds.toFixed(2)} s, the 101st ${closest} µs after the first`);
    // A bound for a machine that does much else; the benchmark shows how much of the allowance is used.
    expect(us.length / (limit * (seconds + 1))).toBeGreaterThan(0.3);
  }
});

test("E10 P7 I7: uniform, 20 per second: starts are never less than 50 ms apart, of no tenant, queue, kind or key", async () => {
  const starts = await runUntil({ limit: 20, per: "1s", how: "uniform" }, 120);
  for (const group of GROUPS) {
    const us = starts.get(group)!;
    const closest = us.slice(1).reduce((least, at, i) => Math.min(least, at - us[i]!), Number.POSITIVE_INFINITY);
    const seconds = (us.at(-1)! - us[0]!) / 1e6;
    console.log(`${group}: ${us.length} starts in ${seconds.toFixed(2)} s, the closest ${closest} µs apart`);
    expect({ group, closest, isFarEnough: closest >= 50_000 }).toMatchObject({ isFarEnough: true });
    expect(us.length / (20 * (seconds + 0.05))).toBeGreaterThan(0.2);
  }
});
