// The limits in a job's definition, checked and in the form that is stored. A definition is data that callers and workers share; what the limits do
// is the business of src/limits and of SQL.
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { oneOf, refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";
import type { JobUse } from "./named-limit.js";

/** At most `limit` in every span of `per`. */
export interface RateLimit {
  readonly limit: number;
  readonly per: Duration;
  /** "window" (default): no sliding window of that length ever holds more. "uniform": one every `per` / `limit`. */
  readonly how?: "window" | "uniform";
  /** "start" (default): a job that is over the rate waits. "enqueue": it is refused. */
  readonly at?: "start" | "enqueue";
}

/** Limits in a job's definition. They count per key, per tenant, or for the whole kind. */
export interface JobLimits<Input = unknown> {
  /** At most this many jobs at once. */
  readonly active?: number;
  /** "wait" (default): one more waits until a slot is free. "refuse": it is not taken, from enqueue on. */
  readonly whenActive?: "wait" | "refuse";
  readonly rate?: RateLimit;
  /** What counts together. Default: "key" where the definition has a `key`, otherwise "kind". */
  readonly per?: "key" | "tenant" | "kind";
  /** Named limits that each job takes units of: what `defineLimit` returned, or its `.with(…)`. */
  readonly uses?: readonly JobUse<Input>[];
}

/** A rate, checked. */
export interface CheckedRate {
  readonly limit: number;
  readonly perMs: number;
  readonly how: "window" | "uniform";
  readonly at: "start" | "enqueue";
}

/** A definition's limits, checked; null: none. */
export interface CheckedLimits {
  readonly per: "key" | "tenant" | "kind";
  readonly active: number | null;
  readonly whenActive: "wait" | "refuse";
  readonly rate: CheckedRate | null;
}

/** A rate in the words of the database. */
export interface StoredRate {
  readonly limit: number;
  readonly per_ms: number;
  readonly how: "window" | "uniform";
  readonly at: "start" | "enqueue";
}

/** A definition's limits in the words of the database. */
export interface StoredLimits {
  readonly per: "key" | "tenant" | "kind";
  readonly max_running: number | null;
  readonly when_full: "wait" | "refuse";
  readonly rate: StoredRate | null;
}

export const storedRate = ({ perMs, ...rate }: CheckedRate): StoredRate => ({ ...rate, per_ms: perMs });
const checkedRate = ({ per_ms, ...rate }: StoredRate): CheckedRate => ({ ...rate, perMs: per_ms });

export const storedLimits = ({ per, active, whenActive, rate }: CheckedLimits): StoredLimits => ({
  per,
  max_running: active,
  when_full: whenActive,
  rate: rate && storedRate(rate),
});

export const limitsOfStored = ({ per, max_running, when_full, rate }: StoredLimits): CheckedLimits => ({
  per,
  active: max_running,
  whenActive: when_full,
  rate: rate && checkedRate(rate),
});

const DAYS_30_MS = 30 * 86_400_000;

export function checkRate(rate: RateLimit, where: string): CheckedRate {
  if (typeof rate !== "object" || rate === null)
    throw new ConfigError(where, `${where}: ${showValue(rate)} is not a rate. Write { limit: 5, per: "1m" }.`);
  refuseUnknown(rate, ["limit", "per", "how", "at"], where);
  const perMs = Math.round(toMs(rate.per, `${where}.per`));
  if (perMs < 1 || perMs > DAYS_30_MS)
    throw new ConfigError(`${where}.per`, `${where}.per: must lie between 1 ms and 30 days.`);
  return {
    limit: wholeNumber(rate.limit, 1, 1_000_000, `${where}.limit`),
    perMs,
    how: oneOf(rate.how ?? "window", ["window", "uniform"], `${where}.how`),
    at: oneOf(rate.at ?? "start", ["start", "enqueue"], `${where}.at`),
  };
}

export function checkJobLimits(
  limits: JobLimits<never> | undefined,
  hasKey: boolean,
  where: string,
): CheckedLimits | undefined {
  if (limits === undefined) return undefined;
  if (typeof limits !== "object" || limits === null)
    throw new ConfigError("limits", `${where}: limits must be an object, like { active: 1 }.`);
  refuseUnknown(limits, ["active", "whenActive", "rate", "per", "uses"], `${where}.limits`);
  if (limits.active === undefined && limits.rate === undefined) {
    if (limits.uses !== undefined && limits.whenActive === undefined && limits.per === undefined) return undefined;
    throw new ConfigError("limits", `${where}: limits: name active, rate or uses, or leave limits out.`);
  }
  if (limits.whenActive !== undefined && limits.active === undefined)
    throw new ConfigError("limits.whenActive", `${where}: limits.whenActive says nothing without limits.active.`);
  return {
    per: oneOf(limits.per ?? (hasKey ? "key" : "kind"), ["key", "tenant", "kind"], "limits.per"),
    active: limits.active === undefined ? null : wholeNumber(limits.active, 1, 10_000, "limits.active"),
    whenActive: oneOf(limits.whenActive ?? "wait", ["wait", "refuse"], "limits.whenActive"),
    rate: limits.rate === undefined ? null : checkRate(limits.rate, "limits.rate"),
  };
}
