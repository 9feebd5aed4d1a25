// The statements about providers: what they are, words with their shared state, costs, and what people see and do.
import { type RowTime, type Session, timeOf, timeOrNull } from "../db/session.js";
import { latencyAt } from "./call-figures.js";
import { type ProviderSettings, storedProvider } from "./provider.js";
import type { ClosedWhy } from "./provider-errors.js";

/** As sync_provider_v1 takes them. */
export interface SyncFacts {
  readonly held: number;
  readonly waiting: number;
  readonly wanted: number;
  readonly lead_ms: number;
  readonly late?: readonly { readonly of: number; readonly ms: number }[];
  readonly ok: number;
  readonly failed: number;
  readonly limited_ms?: number;
  readonly limited_by?: string;
  readonly probe?: "ok" | "failed" | "cut";
  readonly probe_no?: number;
  readonly minute?: object;
}

/** As sync_provider_v1 answers. */
export interface SyncAnswer {
  readonly at: number;
  readonly permits?: number;
  readonly starts?: readonly number[];
  readonly keep_ms: number;
  readonly closed_in_ms?: number;
  readonly closed_why?: ClosedWhy;
  readonly probe_no?: number;
  readonly others_wait: boolean;
  readonly unknown?: true;
}

export async function defineProviders(
  db: Session,
  providers: readonly ProviderSettings[],
  needs: Readonly<Record<string, readonly (readonly string[])[] | null>> = {},
): Promise<void> {
  await db.query("select fairmill.define_providers_v1($1, $2)", [
    JSON.stringify(providers.map(storedProvider)),
    JSON.stringify(needs),
  ]);
}

/** A provider that the database does not know is defined first. */
export async function syncProvider(
  db: Session,
  settings: ProviderSettings,
  worker: string,
  facts: SyncFacts,
): Promise<SyncAnswer> {
  const ask = async () => {
    const [row] = await db.query<{ answer: SyncAnswer | string }>(
      "select fairmill.sync_provider_v1($1, $2, $3) as answer",
      [settings.name, worker, JSON.stringify(facts)],
    );
    const { answer } = row!;
    return typeof answer === "string" ? (JSON.parse(answer) as SyncAnswer) : answer;
  };
  const answer = await ask();
  if (answer.unknown !== true) return answer;
  await defineProviders(db, [settings]);
  return ask();
}

/** A provider as it stands. */
export interface ProviderState {
  readonly name: string;
  readonly limits: { readonly perSecond: number | null; readonly inFlight: number | null };
  readonly timeoutMs: number;
  readonly currency: string;
  readonly breaker: "closed" | "half-open" | "open";
  readonly breakerSince: Date;
  /** Why it takes no calls; null: it is open. `until`: null where an operator closed it for good. */
  readonly closed: { readonly why: ClosedWhy; readonly until: Date | null; readonly note: string | null } | null;
  /** Calls in the whole fleet. */
  readonly inFlight: number;
  readonly waiting: number;
  /** Of the last five minutes. */
  readonly recent: {
    readonly calls: number;
    readonly failures: number;
    readonly limited: number;
    readonly meanMs: number | null;
    readonly p50Ms: number | null;
    readonly p95Ms: number | null;
  };
  /** The kinds that need it. */
  readonly kinds: readonly string[];
}

interface StateRow {
  name: string;
  per_second: number | null;
  in_flight_max: number | null;
  timeout_ms: string;
  currency: string;
  breaker: ProviderState["breaker"];
  breaker_at: RowTime;
  closed_until: string | null;
  closed_why: ClosedWhy | null;
  closed_note: string | null;
  in_flight: number;
  waiting: number;
  calls: string;
  failures: string;
  limited: string;
  mean_ms: number | null;
  buckets: string | null;
  kinds: string;
}

/** Times and lists as texts: an infinite time is no Date, and callers' drivers read lists in ways of their own. */
const STATES = `select name, per_second, in_flight_max, timeout_ms, currency, breaker, breaker_at,
    case when closed_until = 'infinity' then 'infinity' else to_json(closed_until) #>> '{}' end as closed_until, closed_why, closed_note,
    in_flight, waiting, calls, failures, limited, mean_ms, to_json(buckets)::text as buckets, to_json(kinds)::text as kinds
  from fairmill.providers_v1($1)`;

export async function readProviders(db: Session, names: readonly string[] | undefined): Promise<ProviderState[]> {
  const rows = await db.query<StateRow>(STATES, [names ?? null]);
  return rows.map((row) => {
    const buckets = row.buckets === null ? [] : (JSON.parse(row.buckets) as number[]);
    return {
      name: row.name,
      limits: { perSecond: numberOrNull(row.per_second), inFlight: numberOrNull(row.in_flight_max) },
      timeoutMs: Number(row.timeout_ms),
      currency: row.currency,
      breaker: row.breaker,
      breakerSince: timeOf(row.breaker_at),
      closed:
        row.closed_why === null
          ? null
          : {
              why: row.closed_why,
              until: row.closed_until === "infinity" ? null : new Date(row.closed_until!),
              note: row.closed_note,
            },
      inFlight: Number(row.in_flight),
      waiting: Number(row.waiting),
      recent: {
        calls: Number(row.calls),
        failures: Number(row.failures),
        limited: Number(row.limited),
        meanMs: numberOrNull(row.mean_ms),
        p50Ms: latencyAt(buckets, 0.5),
        p95Ms: latencyAt(buckets, 0.95),
      },
      kinds: JSON.parse(row.kinds) as string[],
    };
  });
}

const numberOrNull = (value: number | string | null): number | null => (value === null ? null : Number(value));

/** A change of a provider's state. */
export interface ProviderEvent {
  readonly id: string;
  readonly at: Date;
  readonly event: "tripped" | "probing" | "recovered" | "probe-failed" | "rate-limited" | "closed" | "opened" | "reset";
  readonly until: Date | null;
}

export const EVENTS_MAX = 200;

export async function readEvents(db: Session, provider: string, limit: number): Promise<ProviderEvent[]> {
  const rows = await db.query<{ id: string; at: RowTime; event: ProviderEvent["event"]; until: RowTime | null }>(
    `select id::text as id, at, event, nullif(until, 'infinity') as until from fairmill.provider_event
     where provider = $1 order by provider desc, id desc limit $2`,
    [provider, limit],
  );
  return rows.map((row) => ({ ...row, at: timeOf(row.at), until: timeOrNull(row.until) }));
}

/** false: there is no such provider. */
export async function closeProvider(
  db: Session,
  name: string,
  until: Date | undefined,
  note: string | undefined,
): Promise<boolean> {
  const values = [name, until?.toISOString() ?? null, note ?? null];
  const [row] = await db.query<{ found: boolean }>(
    "select fairmill.close_provider_v1($1, $2::text::timestamptz, $3) as found",
    values,
  );
  return isTrue(row!.found);
}

export async function openProvider(db: Session, name: string): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>("select fairmill.open_provider_v1($1) as found", [name]);
  return isTrue(row!.found);
}

export async function resetProvider(db: Session, name: string): Promise<boolean> {
  const [row] = await db.query<{ found: boolean }>("select fairmill.reset_provider_v1($1) as found", [name]);
  return isTrue(row!.found);
}

/** Drivers of callers may answer in texts. */
const isTrue = (value: boolean | string): boolean => value === true || value === "t" || value === "true";

export const COST_GROUPS = ["day", "tenant", "provider", "kind"] as const;
export type CostGroup = (typeof COST_GROUPS)[number];

export interface CostFilter {
  /** From this day on, in UTC; default: today. */
  readonly since?: string;
  /** To this day, included; default: today. */
  readonly until?: string;
  readonly tenant?: string;
  readonly provider?: string;
  readonly kind?: string;
  /** What the sums are of; default: provider. */
  readonly by?: readonly CostGroup[];
  /** At most this many sums, the largest first; default 100, at most 1000. */
  readonly limit?: number;
}

/** A sum of costs, of what it was grouped by. */
export interface CostSum {
  readonly day?: string;
  readonly tenant?: string;
  readonly provider?: string;
  readonly kind?: string;
  readonly currency: string;
  readonly calls: number;
  /** Calls that were cut in the middle count as expected. */
  readonly cost: number;
}

export async function readCosts(
  db: Session,
  { since, until, tenant, provider, kind, by, limit }: CostFilter & { by: readonly CostGroup[]; limit: number },
): Promise<CostSum[]> {
  const rows = await db.query<Record<CostGroup, string | null> & { currency: string; calls: string; cost: string }>(
    `select day::text as day, tenant, provider, kind, currency, calls::text as calls, cost::text as cost
     from fairmill.provider_costs_v1($1::text::date, $2::text::date, $3, $4, $5, $6, $7)`,
    [since ?? null, until ?? null, by, tenant ?? null, provider ?? null, kind ?? null, limit],
  );
  return rows.map(({ currency, calls, cost, ...groups }) => ({
    ...Object.fromEntries(Object.entries(groups).filter(([, value]) => value !== null)),
    currency,
    calls: Number(calls),
    cost: Number(cost),
  }));
}

/** A call of a job that cost something. */
export interface JobCharge {
  readonly id: string;
  readonly provider: string;
  readonly cost: number;
  readonly currency: string;
  /** begun: under way, or its worker died in the middle; unknown: it was cut, and may have been paid. */
  readonly state: "begun" | "paid" | "unknown" | "void";
  readonly begunAt: Date;
}

const CHARGES_MAX = 1_000;

export async function readCharges(db: Session, jobId: string): Promise<JobCharge[]> {
  const rows = await db.query<Omit<JobCharge, "cost" | "begunAt"> & { cost: string; at: RowTime }>(
    `select id, provider, cost::text as cost, currency, state, begun_at as at from fairmill.provider_charge
     where job_id = $1 order by begun_at, id limit ${CHARGES_MAX}`,
    [jobId],
  );
  return rows.map(({ at, cost, ...row }) => ({ ...row, cost: Number(cost), begunAt: timeOf(at) }));
}
