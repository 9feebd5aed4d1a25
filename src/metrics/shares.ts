// What interval records and samples of the fleet say of tenants and kinds: how much each tenant was served in each step and what it waited for, and
// where the time of jobs went.
import type { Session } from "../db/session.js";
import type { SampledBy } from "./backlog.js";

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

/** Until when workers that claimed something have told what they did; null: none did. */
export async function readRecordedUntil(db: Session, since: Date, until: Date): Promise<number | null> {
  const text = `select extract(epoch from max(m.tick_started_at + m.interval_ms * interval '1 millisecond'))::float8 * 1000 as ms
    from fairmill.worker_tick_metrics m where m.tick_started_at >= greatest($1::timestamptz, $2::timestamptz - interval '5 minutes') and m.tick_started_at < $2::timestamptz`;
  return (await db.query<{ ms: number | null }>(text, [since, until]))[0]!.ms;
}

/** By tenant, how long sampled jobs waited: counts by bucket. */
const WAITS = `select w.tenant, jsonb_agg(w.count order by w.no) as hist from (
    select e.key as tenant, h.no, sum(h.count::float8) as count
    from fairmill.worker_tick_metrics m cross join lateral jsonb_each(m.tenants) e
    cross join lateral jsonb_array_elements_text(e.value -> 'wait_hist') with ordinality as h (count, no)
    where m.tick_started_at >= $1 and m.tick_started_at < $2 and e.key = any ($3) group by 1, 2) w group by 1`;

export const readWaitHistograms = async (
  db: Session,
  since: Date,
  until: Date,
  tenants: readonly string[],
): Promise<Map<string, number[]>> =>
  new Map(
    (await db.query<{ tenant: string; hist: number[] }>(WAITS, [since, until, tenants])).map(({ tenant, hist }) => [
      tenant,
      hist,
    ]),
  );

/** Jobs that are due and wait: because workers have others to do first, and because a limit holds them. */
const IN_TURN = ["runnable", "no worker"];
const LIMITED = ["tenant cap", "queue cap", "kind cap", "rate", "key", "key rate"];

export interface DemandStep {
  readonly tenant: string;
  readonly weight: number;
  readonly step: number;
  /** Jobs that could have been started, on average over the rounds of the step. */
  readonly runnable: number;
  /** Jobs that a limit held back, likewise. */
  readonly limited: number;
}

const quoted = (words: readonly string[]) => words.map((word) => `'${word}'`).join(", ");

/** Parameters: since, until, step, tenant. */
const DEMAND = `with round as materialized (
    select floor(extract(epoch from s.at - $1)::float8 * 1000 / $3)::integer as step, s.tenants from fairmill.fleet_sample s where s.at >= $1 and s.at < $2),
  counted as (select r.step, count(*)::float8 as rounds from round r group by 1),
  waited as (select n.key as tenant, r.step,
      sum(e.value::float8) filter (where e.key in (${quoted(IN_TURN)})) as runnable, sum(e.value::float8) filter (where e.key in (${quoted(LIMITED)})) as limited
    from round r cross join lateral jsonb_each(r.tenants) n cross join lateral jsonb_each_text(n.value) e
    where n.key <> '' and ($4::text is null or n.key = $4) group by 1, 2)
  select w.tenant, w.step, coalesce(w.runnable, 0) / c.rounds as runnable, coalesce(w.limited, 0) / c.rounds as limited, coalesce(l.weight, 1) as weight
  from waited w join counted c using (step) left join fairmill.limit_setting l on l.scope = 'tenant' and l.name = w.tenant
  where coalesce(w.runnable, w.limited) is not null`;

/** What each tenant wanted besides, and the steps that have a sample. */
export async function readDemand(db: Session, since: Date, until: Date, stepMs: number, tenant?: string) {
  const rows = await db.query<DemandStep>(DEMAND, [since, until, stepMs, tenant ?? null]);
  const looked = await db.query<{ step: number }>(
    `select distinct floor(extract(epoch from s.at - $1)::float8 * 1000 / $3)::integer as step from fairmill.fleet_sample s where s.at >= $1 and s.at < $2`,
    [since, until, stepMs],
  );
  return { rows, looked: new Set(looked.map(({ step }) => step)) };
}

export interface TimeSums {
  readonly name: string;
  readonly runs: number;
  readonly runMs: number;
  /** Of these jobs it is known how long they waited, together. */
  readonly waits: number;
  readonly waitMs: number;
  /** Pauses between attempts, and sleeps, as they were decided. */
  readonly retryMs: number;
  readonly sleepMs: number;
}

const total = (member: string) => `coalesce(sum((e.value ->> '${member}')::float8), 0)`;
const timesOf = (
  column: "kinds" | "tenants",
) => `select e.key as name, ${total("runs")} as runs, ${total("run_ms")} as "runMs",
    ${total("waits")} as waits, ${total("wait_ms")} as "waitMs", ${total("retry_ms")} as "retryMs", ${total("sleep_ms")} as "sleepMs"
  from fairmill.worker_tick_metrics m cross join lateral jsonb_each(m.${column}) e
  where m.tick_started_at >= $1 and m.tick_started_at < $2 and e.key <> '' and ($3::text is null or e.key = $3)
  group by e.key having sum((e.value ->> 'runs')::float8) > 0 order by 3 desc, 1 limit 200`;

/** Where the time of jobs went, those first that ran longest together. */
export const readTimes = (db: Session, column: "kinds" | "tenants", since: Date, until: Date, name?: string) =>
  db.query<TimeSums>(timesOf(column), [since, until, name ?? null]);

/** For what the jobs of a name waited, as parts of one, and for how long together where the wait is no part of what claims measure. */
export interface WaitSplit {
  readonly turn: number;
  readonly limits: number;
  readonly worker: number;
  /** Put back by the rate of a key; waiting for a signal. By Little's law: how many there were, for so long. */
  readonly keyRateMs: number;
  readonly signalMs: number;
}

const WAITED_FOR: Readonly<Record<string, "turn" | "limits" | "worker">> = {
  runnable: "turn",
  "tenant cap": "limits",
  "queue cap": "limits",
  "kind cap": "limits",
  rate: "limits",
  key: "limits",
  paused: "limits",
  "no worker": "worker",
  "no handler": "worker",
};

/** Parameters: since, until, name. Time that the rounds stand for: from the first to the last, and one interval more. */
const splitsOf = (column: SampledBy) => `with round as materialized (
    select s.at, s.${column} as names from fairmill.fleet_sample s where s.at >= $1 and s.at < $2),
  covered as (select count(*)::float8 as rounds,
    case when count(*) > 1 then extract(epoch from max(r.at) - min(r.at))::float8 * 1000 * count(*) / (count(*) - 1) else 0 end as ms from round r)
  select n.key as name, e.key as reason, sum(e.value::float8) as jobs, c.rounds, c.ms
  from round r cross join covered c cross join lateral jsonb_each(r.names) n cross join lateral jsonb_each_text(n.value) e
  where n.key <> '' and ($3::text is null or n.key = $3) group by 1, 2, 4, 5`;

export async function readSplits(
  db: Session,
  column: SampledBy,
  since: Date,
  until: Date,
  name?: string,
): Promise<Map<string, WaitSplit>> {
  type Row = { name: string; reason: string; jobs: number; rounds: number; ms: number };
  const rows = await db.query<Row>(splitsOf(column), [since, until, name ?? null]);
  const sums = new Map<string, { turn: number; limits: number; worker: number; keyRateMs: number; signalMs: number }>();
  for (const { name: of, reason, jobs, rounds, ms } of rows) {
    const sum = sums.get(of) ?? { turn: 0, limits: 0, worker: 0, keyRateMs: 0, signalMs: 0 };
    sums.set(of, sum);
    const part = WAITED_FOR[reason];
    if (part !== undefined) sum[part] += jobs;
    else if (reason === "key rate") sum.keyRateMs += (jobs / rounds) * ms;
    else if (reason === "waiting for a signal") sum.signalMs += (jobs / rounds) * ms;
  }
  for (const sum of sums.values()) {
    const all = sum.turn + sum.limits + sum.worker;
    if (all === 0) sum.turn = 1;
    else for (const part of ["turn", "limits", "worker"] as const) sum[part] /= all;
  }
  return sums;
}

/** Recorded runs a second, of all or of a tenant: by the time that records cover, which is shorter than the window after a start. And jobs that came in, of all. */
const RATES = `select (select sum(s.sum) / sum(s.count) from fairmill.metric_sample s where s.name = 'fleet.jobs_in' and s.at >= $1 and s.at < $2) as entered,
    sum(r.jobs)::float8 as jobs, extract(epoch from min(r.since))::float8 * 1000 as "sinceMs", extract(epoch from max(r.until))::float8 * 1000 as "untilMs" from (
    select m.tick_started_at as since, m.tick_started_at + m.interval_ms * interval '1 millisecond' as until,
      case when $3::text is null then m.jobs_processed else coalesce((m.tenants -> $3 ->> 'runs')::float8, 0) end as jobs
    from fairmill.worker_tick_metrics m where m.tick_started_at >= $1 and m.tick_started_at < $2) r`;
/** A living worker writes a row a minute at least. */
const SILENCE_MS = 75_000;
const COVERED_MS_MIN = 1_000;

export interface Rates {
  /** null: not known, or not told apart by tenant. */
  readonly inPerSecond: number | null;
  readonly outPerSecond: number | null;
}

export async function readRates(db: Session, since: Date, until: Date, tenant?: string): Promise<Rates> {
  type Row = { entered: number | null; jobs: number | null; sinceMs: number | null; untilMs: number | null };
  const [row] = await db.query<Row>(RATES, [since, until, tenant ?? null]);
  const inPerSecond = tenant === undefined ? (row?.entered ?? null) : null;
  if (row?.jobs == null || row.sinceMs === null || row.untilMs === null) return { inPerSecond, outPerSecond: null };
  // Behind the last record lies what is not written yet; or, after more than a minute, a time without workers, which counts.
  const endMs = until.getTime() - row.untilMs > SILENCE_MS ? until.getTime() : Math.min(row.untilMs, until.getTime());
  return { inPerSecond, outPerSecond: (row.jobs * 1000) / Math.max(COVERED_MS_MIN, endMs - row.sinceMs) };
}
