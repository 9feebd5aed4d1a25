// Limits of tenants, queues and kinds as people write them, checked and in the form that is stored.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { type Moment, momentOf } from "../base/time.js";
import { LIMIT_SCOPES, type LimitScope } from "../core/claim/closed-limit.js";
import { checkRate, type RateLimit, storedRate } from "../core/job/job-limits.js";

export {
  type CheckedLimits,
  type CheckedRate,
  checkJobLimits,
  checkRate,
  type JobLimits,
  limitsOfStored,
  type RateLimit,
  type StoredLimits,
  type StoredRate,
  storedLimits,
} from "../core/job/job-limits.js";

/** Limits of a queue or a kind across the fleet. What is left out stays as it is; null takes a limit away. */
export interface LimitSettings {
  /** At most this many running at once. */
  readonly maxRunning?: number | null;
  readonly rate?: RateLimit | null;
}

/** Limits of a tenant, and its part of the service. */
export interface TenantSettings extends LimitSettings {
  /** From 0.01 to 1000; default 1. A tenant of weight 2 gets twice what one of weight 1 gets, while both wait. */
  readonly weight?: number | null;
}

export { LIMIT_SCOPES, type LimitScope };

/** Which queue, kind or tenant: one of the three. */
export type PauseTarget = { readonly queue: string } | { readonly kind: string } | { readonly tenant: string };

/** When a pause ends by itself: at a time, or after a while. Without either it lasts until `resume`. */
export interface PauseEnd {
  readonly until?: Moment | undefined;
  readonly for?: Duration | undefined;
}

/** What to pause, and for how long. */
export type PauseRequest = PauseTarget & PauseEnd;

/** The settings as set_limits_v1 takes them: only what was named. */
export function checkLimits(settings: TenantSettings, scope: LimitScope, where: string): Record<string, unknown> {
  if (typeof settings !== "object" || settings === null)
    throw new ConfigError("settings", `${where}: pass the settings as an object, like { maxRunning: 20 }.`);
  refuseUnknown(settings, scope === "tenant" ? ["weight", "maxRunning", "rate"] : ["maxRunning", "rate"], where);
  const stored: Record<string, unknown> = {};
  const { weight, maxRunning, rate } = settings;
  if (weight !== undefined) stored["weight"] = weight === null ? null : checkWeight(weight);
  if (maxRunning !== undefined)
    stored["max_running"] = maxRunning === null ? null : wholeNumber(maxRunning, 0, 1_000_000, "maxRunning");
  if (rate !== undefined) stored["rate"] = rate === null ? null : storedRate(checkRate(rate, "rate"));
  return stored;
}

function checkWeight(weight: unknown): number {
  if (typeof weight === "number" && weight >= 0.01 && weight <= 1000) return weight;
  throw new ConfigError("weight", `weight: ${showValue(weight)} is not a number from 0.01 to 1000.`);
}

/** A pause as set_limits_v1 takes it. "for" is counted by the database's clock, and so is when "until" has come. */
export function checkPauseEnd({ until, for: lasting }: PauseEnd, where: string): Record<string, unknown> {
  if (until !== undefined && lasting !== undefined)
    throw new ConfigError("until", `${where}: give until or for, not both.`);
  if (until !== undefined) return { paused: true, paused_until: momentOf(until, "until") };
  if (lasting === undefined) return { paused: true };
  const ms = Math.ceil(toMs(lasting, "for"));
  if (ms === 0) throw new ConfigError("for", `${where}: a pause of no time is none. Pass a duration like "10m".`);
  return { paused: true, paused_for_ms: ms };
}

/** One of `{ queue }`, `{ kind }`, `{ tenant }`. */
export function checkPauseTarget(name: PauseTarget, where: string): { scope: LimitScope; name: string } {
  const entries = readable("name", where, () =>
    typeof name === "object" && name !== null ? Object.entries(name) : [],
  );
  if (entries.length === 1) {
    refuseUnknown(name, LIMIT_SCOPES, where);
    const [scope, value] = entries[0]!;
    if (typeof value === "string" && value.length >= 1) return { scope: scope as LimitScope, name: value };
  }
  throw new ConfigError(
    "name",
    `${where}: say what, as { queue: "…" }, { kind: "…" } or { tenant: "…" }: one of them.`,
  );
}
