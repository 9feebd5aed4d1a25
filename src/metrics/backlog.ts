// What keeps the jobs that wait: now, and over time as each round of alerts sampled it.
import type { Session } from "../db/session.js";

const STEP_MS_MIN = 1_000;
const USUAL_STEP_MS_MIN = 20_000;
const POINTS = 120;
/** Where the words of the database are not those of the API. */
const REASONS: Readonly<Record<string, string>> = { "rate-limited": "rate", blocked: "key", "key rate": "rate" };

export const reasonOf = (word: string): string => REASONS[word] ?? word;

/** What is asked about; undefined: all. */
export interface BacklogScope {
  readonly queue?: string | undefined;
  readonly kind?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface BacklogNow {
  /** By reason; "runnable" is always there. */
  readonly counts: ReadonlyMap<string, number>;
  /** There may be more than was looked at. */
  readonly isMore: boolean;
}

const NOW = `select b.reason, sum(b.jobs)::integer as jobs, bool_or(b.is_more) as more from fairmill.backlog_by_v1($1) b
  where ($2::text is null or b.kind = $2) and ($3::text is null or b.tenant = $3) group by b.reason`;

export async function readBacklogNow(
  db: Pick<Session, "query">,
  { queue, kind, tenant }: BacklogScope = {},
): Promise<BacklogNow> {
  const rows = await db.query<{ reason: string; jobs: number; more: boolean }>(NOW, [
    queue === undefined ? null : [queue],
    kind ?? null,
    tenant ?? null,
  ]);
  const counts = new Map([["runnable", 0]]);
  for (const { reason, jobs } of rows) counts.set(reasonOf(reason), (counts.get(reasonOf(reason)) ?? 0) + jobs);
  return { counts, isMore: rows.some(({ more }) => more) };
}

export interface BacklogSpan {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly stepMs: number | undefined;
}

/** Of a part of time so long. Not shorter than what workers and rounds of alerts write in: a shorter one would have gaps for no reason. */
export const usualStepMs = (spanMs: number): number => Math.max(USUAL_STEP_MS_MIN, Math.ceil(spanMs / POINTS));

/** Beginnings of the steps of a part of time. */
export function stepsOf({ sinceMs, untilMs, stepMs: given }: BacklogSpan): { stepMs: number; times: number[] } {
  const stepMs = given === undefined ? usualStepMs(untilMs - sinceMs) : Math.max(STEP_MS_MIN, given);
  const count = Math.max(1, Math.ceil((untilMs - sinceMs) / stepMs));
  return { stepMs, times: Array.from({ length: count }, (_, n) => sinceMs + n * stepMs) };
}

export type SampledBy = "queues" | "kinds" | "tenants";

/**
 * Parameters: since, until, step, name. A round that lists so many names that this one may be among the rest says nothing about it: it does not
 * count. One that lists all names without it says zero.
 */
const sampled = (by: SampledBy) => `with round as materialized (
    select floor(extract(epoch from s.at - $1)::float8 * 1000 / $3)::integer as step, s.is_more, s.${by} as names from fairmill.fleet_sample s
    where s.at >= $1 and s.at < $2 and ($4::text is null or s.${by} ? $4 or not s.${by} ? '')),
  counted as (select r.step, count(*)::float8 as rounds, bool_or(r.is_more) as more from round r group by 1),
  kept as (select r.step, e.key as reason, sum(e.value::float8) as jobs
    from round r cross join lateral jsonb_each(r.names) n cross join lateral jsonb_each_text(n.value) e where $4 is null or n.key = $4 group by 1, 2)
  select c.step, c.rounds, c.more, k.reason, k.jobs from counted c left join kept k using (step)`;

export interface BacklogSeries {
  readonly stepMs: number;
  readonly times: number[];
  readonly reasons: { readonly reason: string; readonly values: (number | null)[] }[];
  readonly atLeast: boolean[];
}

/** The mean of each step; null where no round was. Samples tell queues, kinds and tenants apart, but none within another: of two, nothing is known. */
export async function readBacklogSeries(
  db: Pick<Session, "query">,
  span: BacklogSpan,
  { queue, kind, tenant }: BacklogScope = {},
): Promise<BacklogSeries> {
  const { stepMs, times } = stepsOf(span);
  const asked = [queue, kind, tenant].filter((name) => name !== undefined);
  if (asked.length > 1) return { stepMs, times, reasons: [], atLeast: times.map(() => false) };
  const by = tenant !== undefined ? "tenants" : kind !== undefined ? "kinds" : "queues";
  type Row = { step: number; rounds: number; more: boolean; reason: string | null; jobs: number | null };
  const rows = await db.query<Row>(sampled(by), [
    new Date(span.sinceMs),
    new Date(span.untilMs),
    stepMs,
    asked[0] ?? null,
  ]);
  const rounds = new Map(rows.map((row) => [row.step, row.rounds]));
  const more = new Set(rows.filter((row) => row.more).map(({ step }) => step));
  const lines = new Map<string, Map<number, number>>(rows.length > 0 ? [["runnable", new Map()]] : []);
  for (const { step, reason, jobs } of rows) {
    if (reason === null) continue;
    const line = lines.get(reasonOf(reason)) ?? new Map<number, number>();
    lines.set(reasonOf(reason), line.set(step, (line.get(step) ?? 0) + (jobs ?? 0)));
  }
  const meanOf = (line: ReadonlyMap<number, number>, step: number) => {
    const count = rounds.get(step);
    return count === undefined ? null : (line.get(step) ?? 0) / count;
  };
  return {
    stepMs,
    times,
    reasons: [...lines]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([reason, line]) => ({
        reason,
        values: times.map((_, step) => meanOf(line, step)),
      })),
    atLeast: times.map((_, step) => more.has(step)),
  };
}
