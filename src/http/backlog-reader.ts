// Why the backlog waits, in the shape of the API: what rounds of alerts sampled, and the present as the last point.
import type { Session } from "../db/session.js";
import { type BacklogSeries, readBacklogNow, readBacklogSeries, stepsOf } from "../metrics/backlog.js";
import type { MetricsReader, Span } from "./readers.js";

/** A question that ends this close to now is about now, too. */
const PRESENT_MS = 60_000;

export const backlogReader =
  (view: Session, nowMs: () => number): NonNullable<MetricsReader["backlog"]> =>
  async (span, { queue, kind, tenant }) => {
    // What keeps jobs is not told apart by tenant or kind: such a question gets no figures of others.
    if (tenant !== undefined || kind !== undefined) return shaped(span, { ...emptyOf(span), times: [], atLeast: [] });
    // Nor is it sampled by queue: of a queue there is the present.
    const series = queue === undefined ? await readBacklogSeries(view, span) : emptyOf(span);
    if (span.untilMs < nowMs() - PRESENT_MS) return shaped(span, series);
    const { counts, isMore } = await readBacklogNow(view, queue);
    const before = new Map(series.reasons.map(({ reason, values }) => [reason, values]));
    const gap = series.times.map((_, step) => (isSampled(series, step) ? 0 : null));
    return shaped(span, {
      ...series,
      times: [...series.times, span.untilMs],
      reasons: [...new Set([...before.keys(), ...counts.keys()])].map((reason) => ({
        reason,
        values: [...(before.get(reason) ?? gap), counts.get(reason) ?? 0],
      })),
      atLeast: [...series.atLeast, isMore],
    });
  };

const isSampled = ({ reasons }: BacklogSeries, step: number) => reasons.some(({ values }) => values[step] !== null);

function emptyOf(span: Span): BacklogSeries {
  const { stepMs, times } = stepsOf(span);
  return { stepMs, times, reasons: [], atLeast: times.map(() => false) };
}

const shaped = ({ sinceMs, untilMs }: Span, series: BacklogSeries) => ({
  since: new Date(sinceMs).toISOString(),
  until: new Date(untilMs).toISOString(),
  ...series,
  marks: [],
});
