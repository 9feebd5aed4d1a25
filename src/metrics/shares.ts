// What interval records say of tenants and kinds: how much each tenant was served in each step, and where the time of jobs went.
import type { Session } from "../db/session.js";

const NAMES_MAX = 1_000;

export interface ServedStep {
  readonly tenant: string;
  readonly weight: number;
  readonly step: number;
  /** Jobs that workers claimed. */
  readonly served: number;
  /** From due to start, on average; null: not known. */
  readonly waitMs: number | null;
}

/** Parameters: since, until, step, tenant. What a record adds up as "the rest" has no tenant, and is left out. */
const SERVED = `with entry as (
    select e.key as tenant, floor(extract(epoch from m.tick_started_at - $1)::float8 * 1000 / $3)::integer as step,
      coalesce((e.value ->> 'claimed')::float8, 0) as claimed, coalesce((e.value ->> 'waits')::float8, 0) as waits, coalesce((e.value ->> 'wait_ms')::float8, 0) as wait_ms
    from fairmill.worker_tick_metrics m cross join lateral jsonb_each(m.tenants) e
    where m.tick_started_at >= $1 and m.tick_started_at < $2 and e.key <> '' and ($4::text is null or e.key = $4)),
  stepped as (select tenant, step, sum(claimed) as served, case when sum(waits) > 0 then sum(wait_ms) / sum(waits) end as wait_ms from entry group by 1, 2),
  most as (select tenant from stepped group by 1 having sum(served) > 0 order by sum(served) desc, 1 limit ${NAMES_MAX})
  select s.tenant, s.step, s.served, s.wait_ms as "waitMs", coalesce(l.weight, 1) as weight
  from stepped s join most using (tenant) left join fairmill.limit_setting l on l.scope = 'tenant' and l.name = s.tenant`;

/** What each tenant was given in each step, of the tenants that were given most. */
export const readServed = (db: Session, since: Date, until: Date, stepMs: number, tenant?: string) =>
  db.query<ServedStep>(SERVED, [since, until, stepMs, tenant ?? null]);

export interface TimeSums {
  readonly name: string;
  readonly runs: number;
  readonly runMs: number;
  /** Of these jobs it is known how long they waited, together. */
  readonly waits: number;
  readonly waitMs: number;
}

const timesOf = (
  column: "kinds" | "tenants",
) => `select e.key as name, coalesce(sum((e.value ->> 'runs')::float8), 0) as runs,
    coalesce(sum((e.value ->> 'run_ms')::float8), 0) as "runMs", coalesce(sum((e.value ->> 'waits')::float8), 0) as waits,
    coalesce(sum((e.value ->> 'wait_ms')::float8), 0) as "waitMs"
  from fairmill.worker_tick_metrics m cross join lateral jsonb_each(m.${column}) e
  where m.tick_started_at >= $1 and m.tick_started_at < $2 and e.key <> '' and ($3::text is null or e.key = $3)
  group by e.key having sum((e.value ->> 'runs')::float8) > 0 order by 3 desc, 1 limit 200`;

/** Where the time of jobs went, those first that ran longest together. */
export const readTimes = (db: Session, column: "kinds" | "tenants", since: Date, until: Date, name?: string) =>
  db.query<TimeSums>(timesOf(column), [since, until, name ?? null]);
