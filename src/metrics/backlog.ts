// What keeps the jobs that wait: now, and over time as each round of alerts sampled it.
import type { Session } from "../db/session.js";
import type { NewSample } from "./metrics-client.js";

const SAMPLE = "fleet.backlog";
const MORE_SAMPLE = "fleet.backlog_more";
const STEP_MS_MIN = 1_000;
const POINTS = 120;
/** Where the words of backlog_v1 are not those of the API. */
const REASONS: Readonly<Record<string, string>> = { "rate-limited": "rate", blocked: "key" };

export const reasonOf = (word: string): string => REASONS[word] ?? word;

export interface BacklogNow {
  /** By reason; "runnable" is always there. */
  readonly counts: ReadonlyMap<string, number>;
  /** There may be more than was looked at. */
  readonly isMore: boolean;
}

export async function readBacklogNow(db: Pick<Session, "query">, queue?: string): Promise<BacklogNow> {
  const rows = await db.query<{ reason: string; jobs: number; more: boolean }>(
    "select b.reason, sum(b.jobs)::integer as jobs, bool_or(b.is_more) as more from fairmill.backlog_v1($1) b group by b.reason",
    [queue === undefined ? null : [queue]],
  );
  const counts = new Map([["runnable", 0], ...rows.map(({ reason, jobs }) => [reasonOf(reason), jobs] as const)]);
  return { counts, isMore: rows.some(({ more }) => more) };
}

/** One sample a reason. A reason that is not named in a round had no job; "runnable" is in every round, and so counts the rounds. */
export const backlogSamples = ({ counts, isMore }: BacklogNow): NewSample[] => [
  ...[...counts].map(([label, jobs]) => ({ name: SAMPLE, label, count: 1, sum: jobs, max: jobs })),
  ...(isMore ? [{ name: MORE_SAMPLE, label: "", count: 1, sum: 1, max: 1 }] : []),
];

export interface BacklogSpan {
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly stepMs: number | undefined;
}

/** Beginnings of the steps of a part of time. */
export function stepsOf({ sinceMs, untilMs, stepMs: given }: BacklogSpan): { stepMs: number; times: number[] } {
  const stepMs = Math.max(STEP_MS_MIN, given ?? Math.ceil((untilMs - sinceMs) / POINTS));
  const count = Math.max(1, Math.ceil((untilMs - sinceMs) / stepMs));
  return { stepMs, times: Array.from({ length: count }, (_, n) => sinceMs + n * stepMs) };
}

const SAMPLED = `select s.name, s.label, floor(extract(epoch from s.at - $1)::float8 * 1000 / $3)::integer as step, sum(s.sum) as sum, sum(s.count)::float8 as rounds
  from fairmill.metric_sample s where s.name in ('${SAMPLE}', '${MORE_SAMPLE}') and s.at >= $1 and s.at < $2 group by 1, 2, 3`;

export interface BacklogSeries {
  readonly stepMs: number;
  readonly times: number[];
  readonly reasons: { readonly reason: string; readonly values: (number | null)[] }[];
  readonly atLeast: boolean[];
}

/** The mean of each step; null where no round was. */
export async function readBacklogSeries(db: Pick<Session, "query">, span: BacklogSpan): Promise<BacklogSeries> {
  const { stepMs, times } = stepsOf(span);
  const rows = await db.query<{ name: string; label: string; step: number; sum: number; rounds: number }>(SAMPLED, [
    new Date(span.sinceMs),
    new Date(span.untilMs),
    stepMs,
  ]);
  const sampled = rows.filter(({ name }) => name === SAMPLE);
  const rounds = new Map(sampled.filter(({ label }) => label === "runnable").map((row) => [row.step, row.rounds]));
  const sums = new Map(sampled.map(({ label, step, sum }) => [`${step} ${label}`, sum]));
  const more = new Set(rows.filter(({ name }) => name === MORE_SAMPLE).map(({ step }) => step));
  const valueAt = (reason: string, step: number) => {
    const count = rounds.get(step);
    return count === undefined ? null : (sums.get(`${step} ${reason}`) ?? 0) / count;
  };
  return {
    stepMs,
    times,
    reasons: [...new Set(sampled.map(({ label }) => label))].sort().map((reason) => ({
      reason,
      values: times.map((_, step) => valueAt(reason, step)),
    })),
    atLeast: times.map((_, step) => more.has(step)),
  };
}
