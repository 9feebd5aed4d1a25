// Which part of time a question is about. Where nothing else is said: the last hour; or, of a fleet that is younger, the time since its first record, so that a
// chart shows what there is and no sliver at its edge.
import type { Backend } from "./backend.js";
import { requestInvalid } from "./problem.js";
import type { Span } from "./readers.js";
import { type Infer, integerText, object, optional, time } from "./schema.js";
import { readFirstRecord } from "./view-statements.js";

export const spanQuery = {
  since: optional(time),
  until: optional(time),
  stepMs: optional(integerText(1_000, 86_400_000)),
};
const _span = object(spanQuery);

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** A few intervals of records: fewer are no line. */
const SPAN_MS_MIN = 2 * MINUTE_MS;
const POINTS_MAX = 2_000;

export async function spanIn({ since, until, stepMs }: Infer<typeof _span>, http: Backend): Promise<Span> {
  // The millisecond that has begun belongs to it: the database knows parts of it.
  const untilMs = until === undefined ? http.clock.now() + 1 : Date.parse(until);
  const usual = () => (until === undefined ? usualMs(http, untilMs) : HOUR_MS);
  const sinceMs = since === undefined ? untilMs - (await usual()) : Date.parse(since);
  if (sinceMs >= untilMs) throw requestInvalid([{ path: "since", message: "is not before until" }]);
  if (stepMs !== undefined && (untilMs - sinceMs) / stepMs > POINTS_MAX)
    throw requestInvalid([{ path: "stepMs", message: `makes more than ${POINTS_MAX} points` }]);
  return { sinceMs, untilMs, stepMs };
}

/** When the first record was made, as it was seen last. It can only be forgotten, and then it was older than an hour. */
const begun = new WeakMap<Backend, number>();

/** By whole minutes: an axis that grew with every look would not stand still. */
async function usualMs(http: Backend, nowMs: number): Promise<number> {
  const firstMs = begun.get(http) ?? (await readFirstRecord(http.view));
  if (firstMs === null) return HOUR_MS;
  begun.set(http, firstMs);
  const ageMs = Math.ceil((nowMs - firstMs) / MINUTE_MS) * MINUTE_MS;
  return Math.min(HOUR_MS, Math.max(SPAN_MS_MIN, ageMs));
}
