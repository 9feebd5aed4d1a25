// Which part of time a question is about: the last hour where nothing else is said.
import type { Clock } from "../base/clock.js";
import { requestInvalid } from "./problem.js";
import type { Span } from "./readers.js";
import { type Infer, integerText, object, optional, time } from "./schema.js";

export const spanQuery = {
  since: optional(time),
  until: optional(time),
  stepMs: optional(integerText(1_000, 86_400_000)),
};
const _span = object(spanQuery);

const HOUR_MS = 3_600_000;
const POINTS_MAX = 2_000;

export function spanIn({ since, until, stepMs }: Infer<typeof _span>, clock: Clock): Span {
  // The millisecond that has begun belongs to it: the database knows parts of it.
  const untilMs = until === undefined ? clock.now() + 1 : Date.parse(until);
  const sinceMs = since === undefined ? untilMs - HOUR_MS : Date.parse(since);
  if (sinceMs >= untilMs) throw requestInvalid([{ path: "since", message: "is not before until" }]);
  if (stepMs !== undefined && (untilMs - sinceMs) / stepMs > POINTS_MAX)
    throw requestInvalid([{ path: "stepMs", message: `makes more than ${POINTS_MAX} points` }]);
  return { sinceMs, untilMs, stepMs };
}
