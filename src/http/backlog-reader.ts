// Why the backlog waits, in the shape of the API: what rounds of alerts sampled, and the present as the last point.
import type { Session } from "../db/session.js";
import { type BacklogSeries, readBacklogNow, readBacklogSeries } from "../metrics/backlog.js";
import { marksIn } from "./marks.js";
import type { MetricsReader, Span } from "./readers.js";

/** A question that ends this close to now is about now, too. */
const PRESENT_MS = 60_000;

export const backlogReader =
  (view: Session, nowMs: () => number): NonNullable<MetricsReader["backlog"]> =>
  async (span, { queue, kind, tenant }) => {
    const scope = { queue, kind, tenant };
    const series = await readBacklogSeries(view, span, scope);
    const marks = await marksIn(view, span, scope);
    if (span.untilMs < nowMs() - PRESENT_MS) return shaped(span, series, marks);
    const { counts, isMore } = await readBacklogNow(view, scope);
    const before = new Map(series.reasons.map(({ reason, values }) => [reason, values]));
    const gap = series.times.map((_, step) => (isSampled(series, step) ? 0 : null));
    return shaped(
      span,
      {
        ...series,
        times: [...series.times, span.untilMs],
        reasons: [...new Set([...before.keys(), ...counts.keys()])].map((reason) => ({
          reason,
          values: [...(before.get(reason) ?? gap), counts.get(reason) ?? 0],
        })),
        atLeast: [...series.atLeast, isMore],
      },
      marks,
    );
  };

const isSampled = ({ reasons }: BacklogSeries, step: number) => reasons.some(({ values }) => values[step] !== null);

const shaped = ({ sinceMs, untilMs }: Span, series: BacklogSeries, marks: readonly object[]) => ({
  since: new Date(sinceMs).toISOString(),
  until: new Date(untilMs).toISOString(),
  ...series,
  marks,
});
