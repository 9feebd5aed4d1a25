// What a rule makes of its samples: pure, so that a history can be played to it.
//
//  over the threshold        → pending, since now
//  over it for `forMs`       → firing: a change
//  at `clearAt` or below     → clearing, since now; over it again before `clearForMs`: still firing
//  clear for `clearForMs`    → resolved: a change
//
// A subject without a sample is clear: the queue is empty, the worker is gone.
import type { AlertRule } from "./rule.js";
import type { AlertSample } from "./samples.js";

export interface SubjectState {
  readonly phase: "pending" | "firing";
  /** Over the threshold since. */
  readonly sinceMs: number;
  /** While it fires: clear since; undefined: it is not. */
  readonly clearSinceMs: number | undefined;
  readonly value: number;
  readonly detail: string | undefined;
}

export interface AlertChange {
  readonly subject: string;
  readonly change: "fired" | "resolved";
  readonly value: number;
}

export interface Evaluated {
  /** Of the subjects that are pending or fire. */
  readonly state: ReadonlyMap<string, SubjectState>;
  readonly changes: readonly AlertChange[];
}

export function evaluate(
  rule: AlertRule,
  samples: readonly AlertSample[],
  state: ReadonlyMap<string, SubjectState>,
  nowMs: number,
): Evaluated {
  const next = new Map<string, SubjectState>();
  const changes: AlertChange[] = [];
  const seen = new Map(
    samples.filter(({ subject }) => rule.only?.includes(subject) ?? true).map((one) => [one.subject, one]),
  );
  for (const subject of new Set([...seen.keys(), ...state.keys()])) {
    const { value = 0, detail } = seen.get(subject) ?? {};
    const before = state.get(subject);
    const after = step(rule, before, { value, detail, isKnown: seen.has(subject) }, nowMs);
    if (after !== undefined) next.set(subject, after);
    if (before?.phase !== "firing" && after?.phase === "firing") changes.push({ subject, change: "fired", value });
    if (before?.phase === "firing" && after === undefined) changes.push({ subject, change: "resolved", value });
  }
  return { state: next, changes };
}

interface Seen {
  readonly value: number;
  readonly detail: string | undefined;
  readonly isKnown: boolean;
}

/** Undefined: nothing is the matter. */
function step(
  rule: AlertRule,
  before: SubjectState | undefined,
  { value, detail, isKnown }: Seen,
  nowMs: number,
): SubjectState | undefined {
  const isOver = isKnown && value > rule.above;
  if (before?.phase !== "firing") {
    if (!isOver) return undefined;
    const sinceMs = before?.sinceMs ?? nowMs;
    const phase = nowMs - sinceMs >= rule.forMs ? "firing" : "pending";
    return { phase, sinceMs, clearSinceMs: undefined, value, detail };
  }
  const isClear = !isKnown || value <= rule.clearAt;
  const clearSinceMs = isClear ? (before.clearSinceMs ?? nowMs) : undefined;
  if (clearSinceMs !== undefined && nowMs - clearSinceMs >= rule.clearForMs) return undefined;
  return { ...before, value: isKnown ? value : before.value, detail: detail ?? before.detail, clearSinceMs };
}
