// What a provider is: a service outside, with limits for the whole fleet, a time limit, a breaker, a fallback and a price.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import type { Needed } from "../core/job/job-needs.js";

export interface ProviderOptions {
  /** Under which all workers share its state: "gemini". */
  readonly name: string;
  /** For all workers together. Default: none. */
  readonly limits?: {
    /** So many calls at most begin in any second. */
    readonly perSecond?: number;
    /** So many calls at most are under way at once. */
    readonly inFlight?: number;
  };
  /** Of one call; default "30s". Its signal aborts then. */
  readonly timeout?: Duration;
  /** When it is left alone for a while, because calls fail. */
  readonly breaker?: {
    /** The share of failed calls that trips it; default 0.5. */
    readonly failureRate?: number;
    /** Of at least this many calls; default 10. */
    readonly minCalls?: number;
    /** In about this time; default "30s". */
    readonly window?: Duration;
    /** How long until one call may find out whether it is back; default "30s". */
    readonly openFor?: Duration;
  };
  /** Takes over when this one is closed or fails: the next link of the chain. */
  readonly fallback?: Provider;
  /** What a call costs, unless the call says; default: calls are not charged. */
  readonly cost?: number;
  /** Of the cost; default "USD". */
  readonly currency?: string;
  /** How long it is closed by a 429 that does not say for how long; default "5s". */
  readonly rateLimitPause?: Duration;
}

/** What crosses processes, and what the database is told. */
export interface ProviderSettings {
  readonly name: string;
  readonly perSecond: number | undefined;
  readonly inFlight: number | undefined;
  readonly timeoutMs: number;
  readonly failureRate: number;
  readonly minCalls: number;
  readonly windowMs: number;
  readonly openForMs: number;
  readonly currency: string;
}

/** A checked provider. */
export interface Provider extends Needed {
  readonly settings: ProviderSettings;
  readonly fallback: Provider | undefined;
  readonly cost: number | undefined;
  readonly rateLimitPauseMs: number;
}

const KNOWN = [
  "name",
  "limits",
  "timeout",
  "breaker",
  "fallback",
  "cost",
  "currency",
  "rateLimitPause",
] as const satisfies readonly (keyof ProviderOptions)[];

/** A lost prober is noticed after this time at the latest, so it is bounded. */
const TIMEOUT_MS_MAX = 3_600_000;
const COST_MAX = 1_000_000_000;

/** Declares a provider: `const pixian = defineProvider({ name: "pixian", limits: { perSecond: 20, inFlight: 5 } })`. */
export const defineProvider = (options: ProviderOptions): Provider =>
  readable("options", "defineProvider", () => check(options));

function check(options: ProviderOptions): Provider {
  if (typeof options !== "object" || options === null)
    throw new ConfigError("options", `defineProvider(${showValue(options)}): pass an object, like { name: "gemini" }.`);
  const where = `defineProvider(${showValue(options.name)})`;
  refuseUnknown(options, KNOWN, where);
  const { limits = {}, breaker = {}, fallback } = options;
  refuseUnknown(limits, ["perSecond", "inFlight"], `${where}.limits`);
  refuseUnknown(breaker, ["failureRate", "minCalls", "window", "openFor"], `${where}.breaker`);
  const name = nameOf(options.name, "name");
  if (fallback !== undefined && fallback?.["~provider"] !== true)
    throw new ConfigError("fallback", `${where}: fallback must be made by defineProvider.`);
  for (let one = fallback; one !== undefined; one = one.fallback)
    if (one.name === name) throw new ConfigError("fallback", `${where}: its chain of fallbacks comes back to itself.`);
  const settings: ProviderSettings = Object.freeze({
    name,
    perSecond: limits.perSecond === undefined ? undefined : between(limits.perSecond, 0.001, 100_000, "perSecond"),
    inFlight: limits.inFlight === undefined ? undefined : wholeNumber(limits.inFlight, 1, 100_000, "inFlight"),
    timeoutMs: duration(options.timeout ?? "30s", 1, TIMEOUT_MS_MAX, "timeout"),
    failureRate: between(breaker.failureRate ?? 0.5, 0.01, 1, "breaker.failureRate"),
    minCalls: wholeNumber(breaker.minCalls ?? 10, 1, 1_000_000, "breaker.minCalls"),
    windowMs: duration(breaker.window ?? "30s", 10, 86_400_000, "breaker.window"),
    openForMs: duration(breaker.openFor ?? "30s", 10, 86_400_000, "breaker.openFor"),
    currency: currencyOf(options.currency ?? "USD", where),
  });
  return Object.freeze({
    "~provider": true as const,
    name,
    settings,
    fallback,
    cost: options.cost === undefined ? undefined : checkCost(options.cost, "cost"),
    rateLimitPauseMs: duration(options.rateLimitPause ?? "5s", 1, 86_400_000, "rateLimitPause"),
  });
}

function between(value: unknown, min: number, max: number, setting: string): number {
  if (typeof value === "number" && value >= min && value <= max) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a number from ${min} to ${max}.`);
}

function duration(value: Duration, minMs: number, maxMs: number, setting: string): number {
  const ms = Math.round(toMs(value, setting));
  if (ms >= minMs && ms <= maxMs) return ms;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not between ${minMs} ms and ${maxMs} ms.`);
}

/** What a call costs: throws unless it is a number that sums can hold. */
export function checkCost(value: unknown, setting: string): number {
  if (typeof value === "number" && value >= 0 && value <= COST_MAX) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a cost from 0 to ${COST_MAX}.`);
}

function currencyOf(value: unknown, where: string): string {
  if (typeof value === "string" && /^[A-Z][A-Z0-9]{2,9}$/.test(value)) return value;
  throw new ConfigError("currency", `${where}: currency: ${showValue(value)} is no code like "USD".`);
}

/** As define_providers_v1 takes it. */
export const storedProvider = (settings: ProviderSettings) => ({
  name: settings.name,
  per_second: settings.perSecond ?? null,
  in_flight: settings.inFlight ?? null,
  timeout_ms: settings.timeoutMs,
  breaker_rate: settings.failureRate,
  breaker_calls: settings.minCalls,
  breaker_window_ms: settings.windowMs,
  breaker_open_ms: settings.openForMs,
  currency: settings.currency,
});
