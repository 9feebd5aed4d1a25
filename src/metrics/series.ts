// Lines over time for charts: interval records added up in steps. What no record says at a time is null, which is a gap and not a zero.
import { ConfigError } from "../base/errors.js";
import { BUCKETS_MS } from "../base/histogram-buckets.js";
import { ifGiven, nameOf, oneOf, refuseUnknown, wholeNumber } from "../base/settings.js";
import { momentOf } from "../base/time.js";
import type { Session } from "../db/session.js";

export const SERIES_NAMES = [
  "jobs.in",
  "jobs.out",
  "jobs.failed",
  "jobs.dead",
  "ready",
  "running",
  "capacity",
  "wait.p50",
  "wait.p95",
  "run.p50",
  "run.p95",
  "error.rate",
  "rate.limited",
  "leases.lost",
  "workers",
  "cpu",
  "memory",
  "outbox.lag",
  "provider.latency",
] as const;
export type SeriesName = (typeof SERIES_NAMES)[number];

const SERIES_BY = ["none", "queue", "kind", "tenant", "worker", "provider"] as const;
export type SeriesBy = (typeof SERIES_BY)[number];

export interface SeriesQuery {
  readonly name: SeriesName;
  /** Default "none". */
  readonly by?: SeriesBy;
  readonly since: Date;
  readonly until: Date;
  /** Points at most; default 120. */
  readonly points?: number;
  /** Only this kind, tenant, queue. */
  readonly kind?: string;
  readonly tenant?: string;
  readonly queue?: string;
}

export interface Series {
  readonly name: SeriesName;
  readonly unit: "count" | "perSecond" | "ms" | "ratio" | "bytes";
  readonly since: string;
  readonly until: string;
  readonly stepMs: number;
  /** Beginnings of the steps, in milliseconds since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly { readonly key: string; readonly values: readonly (number | null)[] }[];
}

const POINTS_MAX = 1_000;
const LINES_MAX = 50;
const STEP_MS_MIN = 1_000;

/** How one value of a step is made: from which part of the records, and of which sums. */
interface Shape {
  readonly unit: Series["unit"];
  /** By what its lines can be told apart. */
  readonly by: readonly SeriesBy[];
  readonly from: (by: SeriesBy) => string;
  readonly value: (sums: Sums, stepMs: number) => number | null;
  /** Of a gauge: what each has one of its own. */
  readonly level?: SeriesBy;
}

interface Sums {
  readonly a: number;
  readonly b: number;
  readonly hist: readonly number[] | null;
}

const rate = (sums: Sums, stepMs: number) => (sums.a * 1000) / stepMs;
const mean = ({ a, b }: Sums) => (b > 0 ? a / b : null);

/** Until when a record tells. */
const TILL = "m.tick_started_at + m.interval_ms * interval '1 millisecond'";

/** Columns of the record: one row each. Parameters: since, until, step; kind, tenant, queue. */
const ofRow =
  (a: string, b = "0") =>
  (by: SeriesBy) =>
    `select ${by === "worker" ? "m.worker_id" : "''"} as key, m.tick_started_at as at, ${TILL} as till, (${a})::float8 as a, (${b})::float8 as b, null::jsonb as hist
   from fairmill.worker_tick_metrics m where m.tick_started_at >= $1 and m.tick_started_at < $2`;

/** Members of an object of the record: a row for each name. */
const ofEntry =
  (column: "kinds" | "tenants" | "queues", a: string, b = "0", hist = "null::jsonb") =>
  (by: SeriesBy) =>
    `select ${by === "none" || by === "worker" ? "''" : "e.key"} as key, m.tick_started_at as at, ${TILL} as till, (${a})::float8 as a, (${b})::float8 as b, ${hist} as hist
   from fairmill.worker_tick_metrics m cross join lateral jsonb_each(m.${column}) e
   where m.tick_started_at >= $1 and m.tick_started_at < $2 and m.${column} is not null
     and ($${{ kinds: 4, tenants: 5, queues: 6 }[column]}::text is null or e.key = $${{ kinds: 4, tenants: 5, queues: 6 }[column]})`;

const member = (name: string) => `coalesce((e.value ->> '${name}')::float8, 0)`;

/** By tenant where tenants are asked for, else by kind where kinds are, else of the whole record. */
const counted = (row: string, kinds: string | undefined, tenants: string | undefined) => (by: SeriesBy) => {
  if (by === "kind" && kinds) return ofEntry("kinds", kinds)(by);
  if (by === "tenant" && tenants) return ofEntry("tenants", tenants)(by);
  return ofRow(row)(by);
};

/** Figures that are sampled for the whole fleet, and those that applications report. */
const ofSample = (name: string) => (by: SeriesBy) =>
  `select ${by === "provider" ? "s.label" : "''"} as key, s.at, s.at as till, s.sum as a, s.count::float8 as b, null::jsonb as hist
   from fairmill.metric_sample s where s.name = '${name}' and s.at >= $1 and s.at < $2`;

/** What living workers used, as samples of the fleet saw it. */
const ofWorkers = (member: "cpu" | "memory") => () =>
  `select e.key, s.at, s.at as till, (e.value ->> '${member}')::float8 as a, 0::float8 as b, null::jsonb as hist
   from fairmill.fleet_sample s cross join lateral jsonb_each(s.workers) e where s.at >= $1 and s.at < $2`;

const SHAPES: Record<SeriesName, Shape> = {
  "jobs.in": { unit: "perSecond", by: ["none"], from: ofSample("fleet.jobs_in"), value: mean },
  "jobs.out": {
    unit: "perSecond",
    by: ["none", "worker", "kind", "tenant"],
    from: counted("m.jobs_processed", member("runs"), member("runs")),
    value: rate,
  },
  "jobs.failed": {
    unit: "perSecond",
    by: ["none", "worker", "kind", "tenant"],
    from: counted("m.jobs_failed", member("failed"), member("failed")),
    value: rate,
  },
  "jobs.dead": {
    unit: "perSecond",
    by: ["none", "worker", "kind"],
    from: counted("m.jobs_dead", member("dead"), undefined),
    value: rate,
  },
  ready: {
    unit: "count",
    by: ["none", "queue"],
    from: ofEntry("queues", member("ready")),
    value: mean,
    level: "queue",
  },
  running: { unit: "count", by: ["none", "worker"], from: ofRow("m.running"), value: mean, level: "worker" },
  capacity: { unit: "count", by: ["none"], from: ofSample("fleet.capacity"), value: mean },
  "wait.p50": {
    unit: "ms",
    by: ["none", "kind"],
    from: ofEntry("kinds", "0", "0", "e.value -> 'wait_hist'"),
    value: ({ hist }) => quantile(hist, 0.5),
  },
  "wait.p95": {
    unit: "ms",
    by: ["none", "kind"],
    from: ofEntry("kinds", "0", "0", "e.value -> 'wait_hist'"),
    value: ({ hist }) => quantile(hist, 0.95),
  },
  "run.p50": {
    unit: "ms",
    by: ["none", "kind"],
    from: ofEntry("kinds", "0", "0", "e.value -> 'run_hist'"),
    value: ({ hist }) => quantile(hist, 0.5),
  },
  "run.p95": {
    unit: "ms",
    by: ["none", "kind"],
    from: ofEntry("kinds", "0", "0", "e.value -> 'run_hist'"),
    value: ({ hist }) => quantile(hist, 0.95),
  },
  "error.rate": {
    unit: "ratio",
    by: ["none", "kind", "tenant"],
    from: (by) => ofEntry(by === "tenant" ? "tenants" : "kinds", member("failed"), member("runs"))(by),
    value: mean,
  },
  "rate.limited": { unit: "count", by: ["none", "worker"], from: ofRow("m.jobs_throttled"), value: ({ a }) => a },
  "leases.lost": { unit: "count", by: ["none", "worker"], from: ofRow("m.leases_lost"), value: ({ a }) => a },
  workers: { unit: "count", by: ["none"], from: ofSample("fleet.workers"), value: mean },
  /** Of one core each; together: cores. */
  cpu: { unit: "ratio", by: ["none", "worker"], from: ofWorkers("cpu"), value: mean, level: "worker" },
  memory: { unit: "bytes", by: ["none", "worker"], from: ofWorkers("memory"), value: mean, level: "worker" },
  "outbox.lag": { unit: "ms", by: ["none"], from: ofSample("fleet.outbox_lag_ms"), value: mean },
  "provider.latency": {
    unit: "ms",
    by: ["none", "provider"],
    from: ofSample("api_latency"),
    value: (sums) => (sums.b > 0 ? (sums.a / sums.b) * 1000 : null),
  },
};

/** The sums of each step and line; of histograms the counts by bucket. */
const summed = (from: string) => `with entry as (${from}),
  stepped as (select e.key, floor(extract(epoch from e.at - $1)::float8 * 1000 / $3)::integer as step, sum(e.a) as a, sum(e.b) as b, max(e.till) as till
    from entry e group by 1, 2),
  buckets as (select e.key, floor(extract(epoch from e.at - $1)::float8 * 1000 / $3)::integer as step, h.no, sum(h.count::float8) as count
    from entry e cross join lateral jsonb_array_elements_text(e.hist) with ordinality as h (count, no) where e.hist is not null group by 1, 2, 3)
  select s.key, s.step, s.a, s.b, case when $2 > clock_timestamp() - interval '1 minute' then extract(epoch from max(s.till) over (partition by s.step))::float8 * 1000 end as "tillMs", (select jsonb_agg(b.count order by b.no) from buckets b where b.key = s.key and b.step = s.step) as hist
  from stepped s where $4::text is not distinct from $4 and $5::text is not distinct from $5 and $6::text is not distinct from $6`;

export async function readSeries(db: Session, query: SeriesQuery): Promise<Series> {
  const { name, by, since, until, stepMs, count, filters } = checkSeriesQuery(query);
  const shape = SHAPES[name];
  // Where the end is now, of the last step only a part has been, or is on record: a rate is counted by that part.
  const coveredMs = (step: number, tillMs: number | null | undefined) =>
    step < count - 1 || tillMs == null
      ? stepMs
      : Math.min(stepMs, Math.max(STEP_MS_MIN, tillMs - (since.getTime() + step * stepMs)));
  type Row = { key: string; step: number; a: number; b: number; hist: number[] | null; tillMs?: number | null };
  const rows = await db.query<Row>(
    shape.level === undefined ? summed(shape.from(by)) : levelled(shape.from(shape.level), by),
    [since, until, stepMs, ...filters],
  );
  const lines = new Map<string, (number | null)[]>();
  for (const { key, step, a, b, hist, tillMs } of rows) {
    if (step < 0 || step >= count) continue;
    const values = lines.get(key) ?? new Array<number | null>(count).fill(null);
    values[step] = shape.value({ a, b, hist }, coveredMs(step, tillMs));
    lines.set(key, values);
  }
  const weight = (values: readonly (number | null)[]) => values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  const kept = [...lines].toSorted((x, y) => weight(y[1]) - weight(x[1])).slice(0, LINES_MAX);
  return {
    name,
    unit: shape.unit,
    since: since.toISOString(),
    until: until.toISOString(),
    stepMs,
    times: Array.from({ length: count }, (_, n) => since.getTime() + n * stepMs),
    lines: kept.map(([key, values]) => ({ key, values })),
  };
}

/** Of gauges, the mean of each queue or worker in the step; of all of them together, the sum of these. */
const levelled = (from: string, by: SeriesBy) => `with entry as (${from}),
  stepped as (select e.key, floor(extract(epoch from e.at - $1)::float8 * 1000 / $3)::integer as step, avg(e.a) as a from entry e group by 1, 2)
  select ${by === "none" ? "''" : "s.key"} as key, s.step, sum(s.a) as a, 1::float8 as b, null::jsonb as hist
  from stepped s where $4::text is not distinct from $4 and $5::text is not distinct from $5 and $6::text is not distinct from $6 group by 1, 2`;

function checkSeriesQuery(query: SeriesQuery) {
  refuseUnknown(query, ["name", "by", "since", "until", "points", "kind", "tenant", "queue"], "series");
  const name = oneOf(query.name, SERIES_NAMES, "name", "series");
  const { by: given = "none" } = ifGiven("by", query.by, (value) => oneOf(value, SERIES_BY, "by", "series"));
  const points = wholeNumber(query.points ?? 120, 1, POINTS_MAX, "points");
  const since = new Date(momentOf(query.since, "since"));
  const until = new Date(momentOf(query.until, "until"));
  if (until <= since) throw new ConfigError("until", "series: until must lie behind since.");
  const { kind, tenant, queue } = query;
  // A filter names the lines that are looked at, so that they are told apart by it.
  const by: SeriesBy =
    given !== "none"
      ? given
      : kind !== undefined
        ? "kind"
        : tenant !== undefined
          ? "tenant"
          : queue !== undefined
            ? "queue"
            : "none";
  if (!SHAPES[name].by.includes(by))
    throw new ConfigError(
      "by",
      `series: "${name}" is not recorded by ${by}. Known for it: ${SHAPES[name].by.join(", ")}.`,
    );
  const stepMs = Math.max(STEP_MS_MIN, Math.ceil((until.getTime() - since.getTime()) / points));
  const count = Math.ceil((until.getTime() - since.getTime()) / stepMs);
  const filters = [
    ["kind", kind],
    ["tenant", tenant],
    ["queue", queue],
  ].map(([setting, value]) => (value === undefined ? null : nameOf(value, setting!)));
  return { name, by, since, until, stepMs, count, filters };
}

/** Within the bucket in which it lies, as if what is in there were spread evenly. The last one has no end: its beginning is said. */
export function quantile(hist: readonly number[] | null, part: number): number | null {
  const total = hist?.reduce((sum, count) => sum + count, 0) ?? 0;
  if (hist === null || total === 0) return null;
  let below = 0;
  for (const [index, count] of hist.entries()) {
    if (count > 0 && below + count >= total * part) {
      const from = BUCKETS_MS[index - 1] ?? 0;
      const to = BUCKETS_MS[index] ?? from;
      return from + ((total * part - below) / count) * (to - from);
    }
    below += count;
  }
  return BUCKETS_MS.at(-1)!;
}
