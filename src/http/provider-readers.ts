// Providers and money in the shapes of the API.
import type { Session } from "../db/session.js";
import { latencyAt } from "../providers/call-figures.js";
import { type ProviderEvent, type ProviderState, readEvents, readProviders } from "../providers/provider-statements.js";
import type { MetricsReader, ProviderReader, Span } from "./readers.js";

type Shown = "closed" | "half" | "open";
const SHOWN: Record<ProviderState["breaker"], Shown> = { closed: "closed", "half-open": "half", open: "open" };

/** What the breaker is after each change. Others do not touch it. */
const AFTER: Partial<Record<ProviderEvent["event"], Shown>> = {
  tripped: "open",
  probing: "half",
  "probe-failed": "open",
  recovered: "closed",
  opened: "closed",
};
const EVENTS_MAX = 200;

const FIGURES = `select coalesce(sum(m.calls), 0)::float8 as calls, coalesce(sum(m.failures), 0)::float8 as failures,
    (select to_json(array_agg(b.count order by b.n))::text from (
       select u.n, sum(u.count)::bigint as count from fairmill.provider_minute y
       cross join lateral unnest(y.buckets) with ordinality as u (count, n)
       where y.provider = $1 and y.minute >= $2::text::timestamptz and y.minute < $3::text::timestamptz group by u.n) b) as buckets,
    (select sum(c.cost)::float8 from fairmill.provider_cost c
     where c.provider = $1 and c.day = (now() at time zone 'UTC')::date) as cost
  from fairmill.provider_minute m where m.provider = $1 and m.minute >= $2::text::timestamptz and m.minute < $3::text::timestamptz`;

export const providerReader = (view: Session): ProviderReader => ({
  providers: async (span) => {
    const rows = [];
    for (const state of await readProviders(view, undefined)) rows.push(await rowOf(view, state, span));
    return rows;
  },
});

async function rowOf(view: Session, state: ProviderState, { sinceMs, untilMs }: Span) {
  const times = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
  const [figures] = await view.query<{ calls: number; failures: number; buckets: string | null; cost: number | null }>(
    FIGURES,
    [state.name, ...times],
  );
  const { calls, failures, buckets, cost } = figures!;
  const counts = buckets === null ? [] : (JSON.parse(buckets) as number[]);
  const { closed } = state;
  return {
    provider: state.name,
    breaker: SHOWN[state.breaker],
    since: state.breakerSince.toISOString(),
    nextTryAt: state.breaker === "closed" ? null : (closed?.until?.toISOString() ?? null),
    latencyP50Ms: latencyAt(counts, 0.5),
    latencyP95Ms: latencyAt(counts, 0.95),
    errorRate: calls === 0 ? null : failures / calls,
    limitedUntil: closed?.why === "rate-limit" ? (closed.until?.toISOString() ?? null) : null,
    costToday: cost,
    currency: cost === null ? null : state.currency,
    strip: stripOf(await readEvents(view, state.name, EVENTS_MAX), sinceMs, untilMs, SHOWN[state.breaker]),
  };
}

/** The breaker over the span, from its changes, newest first. */
function stripOf(events: readonly ProviderEvent[], sinceMs: number, untilMs: number, now: Shown) {
  const strip: { from: number; to: number; state: Shown }[] = [];
  let toMs = untilMs;
  let last = now;
  for (const { at, event } of events) {
    const state = AFTER[event];
    if (state === undefined) continue;
    const fromMs = Math.max(sinceMs, Math.min(toMs, at.getTime()));
    if (fromMs < toMs) strip.unshift({ from: fromMs, to: toMs, state });
    toMs = fromMs;
    last = "closed";
    if (at.getTime() <= sinceMs) return strip;
  }
  if (toMs > sinceMs) strip.unshift({ from: sinceMs, to: toMs, state: last });
  return strip;
}

/** Rows of the history that are looked at, newest first. */
const ENDED_MAX = 100_000;
const GROUPS_MAX = 200;

/** One text for each column: neither is a value. */
const MONEY = (by: "tenant" | "kind") => `with captured as (
    select h.${by} as key, sum(e.amount) as captured, count(*) as jobs
    from (select x.${by}, x.reservation from fairmill.job_history x
          where x.ended_at >= $1::text::timestamptz and x.ended_at < $2::text::timestamptz and x.state = 'done' and x.reservation is not null
            and ($3::text is null or x.tenant = $3) and ($4::text is null or x.kind = $4) and ($5::text is null or x.queue = $5)
          limit ${ENDED_MAX}) h
    join fairmill.credit_entry e on e.reservation_id = h.reservation and e.kind = 'capture' group by h.${by}),
  spent as (
    select c.${by} as key, c.currency, sum(c.cost) as cost, count(distinct c.job_id) as jobs from fairmill.provider_charge c
    where c.begun_at >= $1::text::timestamptz and c.begun_at < $2::text::timestamptz and c.state <> 'void'
      and ($3::text is null or c.tenant = $3) and ($4::text is null or c.kind = $4) group by c.${by}, c.currency)
  select coalesce(c.key, s.key) as key, coalesce(c.captured, 0)::float8 as captured, s.cost::float8 as "providerCost", s.currency,
    greatest(c.jobs, s.jobs)::float8 as jobs
  from captured c full join spent s on s.key = c.key
  order by s.cost desc nulls last, c.captured desc nulls last, 1 limit ${GROUPS_MAX}`;
const BY_TENANT = MONEY("tenant");
const BY_KIND = MONEY("kind");

interface MoneyRow {
  readonly key: string;
  readonly captured: number;
  readonly providerCost: number | null;
  readonly currency: string | null;
  readonly jobs: number;
}

/**
 * A margin needs to know what a credit is worth, in the currency of the costs. Where something costs in two currencies, each has a row, and there is no
 * margin; what was captured stands in the first of them, so that no sum counts it twice.
 */
export function withMargin(rows: readonly MoneyRow[], creditWorth: number | undefined) {
  const seen = new Map<string, number>();
  for (const { key } of rows) seen.set(key, (seen.get(key) ?? 0) + 1);
  const told = new Set<string>();
  return rows.map((row) => {
    const captured = told.has(row.key) ? 0 : row.captured;
    told.add(row.key);
    const isOne = seen.get(row.key) === 1;
    const margin = creditWorth === undefined || !isOne ? null : captured * creditWorth - (row.providerCost ?? 0);
    return { ...row, captured, margin };
  });
}

export const moneyReader =
  (view: Session, creditWorth: number | undefined): NonNullable<MetricsReader["money"]> =>
  async ({ sinceMs, untilMs }, { tenant, kind, queue }, by) => {
    const times = [new Date(sinceMs).toISOString(), new Date(untilMs).toISOString()];
    const rows = await view.query<MoneyRow>(by === "tenant" ? BY_TENANT : BY_KIND, [
      ...times,
      ...[tenant ?? null, kind ?? null, queue ?? null],
    ]);
    return { items: withMargin(rows, creditWorth), creditWorth: creditWorth ?? null };
  };
