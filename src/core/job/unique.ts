// When two jobs of a kind count as the same, for how long, and what becomes of the second one. `unique` says it piece by piece;
// `debounce` and `throttle` are the two combinations that are needed most.
import { createHash } from "node:crypto";
import { canonicalJson } from "../../base/canonical-json.js";
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { refuseUnknown } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

export interface UniqueOptions<Input> {
  /** What makes two jobs of a tenant the same: a text of 1 to 500 characters. Default: the whole input. */
  readonly by?: (input: Input) => string;
  /** How long a job holds its key: until it is first started, or until it has ended (default). */
  readonly until?: "started" | "settled";
  /** Or: for this long from the enqueue on, whatever becomes of the job. Give `until` or `for`, not both. */
  readonly for?: Duration;
  /** The second job is not stored: the first is kept as it is (default), gets what the second brought, or an error says so. */
  readonly onConflict?: OnConflict;
}

export interface DebounceOptions<Input> {
  readonly by?: (input: Input) => string;
  /** The job runs when it was not enqueued for this long, with the last input. */
  readonly wait: Duration;
  /** But no later than this long after the first enqueue. Default: no bound. */
  readonly max?: Duration;
}

export interface ThrottleOptions<Input> {
  readonly by?: (input: Input) => string;
  /** One job in this time, the first; the others are answered with it. */
  readonly per: Duration;
}

export type OnConflict = "keep" | "replace" | "refuse";

/** The checked rule of a definition. */
export interface UniqueRule<In> {
  readonly by: ((input: In) => string) | undefined;
  readonly until: "started" | "settled" | undefined;
  readonly forMs: number | undefined;
  readonly onConflict: OnConflict;
  readonly debounceMs: number | undefined;
  readonly debounceMaxMs: number | undefined;
}

export interface UniqueSettings<Input> {
  readonly unique?: UniqueOptions<Input>;
  readonly debounce?: DebounceOptions<Input>;
  readonly throttle?: ThrottleOptions<Input>;
}

/** The rule that the settings of a definition make, or undefined when they say nothing. */
export function uniqueRuleOf<In>(settings: UniqueSettings<In>, where: string): UniqueRule<In> | undefined {
  const given = (["unique", "debounce", "throttle"] as const).filter((name) => settings[name] !== undefined);
  if (given.length > 1)
    throw new ConfigError(given[1]!, `${where}: give ${given.join(" or ")}, not both: they answer the same question.`);
  for (const name of given)
    if (typeof settings[name] !== "object" || settings[name] === null)
      throw new ConfigError(name, `${where}: ${name} must be an object, not ${showValue(settings[name])}.`);
  if (settings.unique) return fromUnique(settings.unique, where);
  if (settings.debounce) return fromDebounce(settings.debounce, where);
  if (settings.throttle) return fromThrottle(settings.throttle, where);
  return undefined;
}

const NOTHING = { until: undefined, forMs: undefined, debounceMs: undefined, debounceMaxMs: undefined } as const;

function fromUnique<In>(unique: UniqueOptions<In>, where: string): UniqueRule<In> {
  refuseUnknown(unique, ["by", "until", "for", "onConflict"], `${where}.unique`);
  const { until, onConflict = "keep" } = unique;
  if (until !== undefined && unique.for !== undefined)
    throw new ConfigError("unique.for", `${where}: unique.until ends with the job, unique.for does not. Give one.`);
  if (until !== undefined && until !== "started" && until !== "settled")
    throw new ConfigError("unique.until", `unique.until: ${showValue(until)} is neither "started" nor "settled".`);
  if (!["keep", "replace", "refuse"].includes(onConflict))
    throw new ConfigError(
      "unique.onConflict",
      `unique.onConflict: ${showValue(onConflict)} is not "keep", "replace" or "refuse".`,
    );
  const forMs = unique.for === undefined ? undefined : someTime(unique.for, "unique.for");
  const by = checkBy(unique.by, "unique.by");
  return Object.freeze({
    ...NOTHING,
    by,
    until: forMs === undefined ? (until ?? "settled") : undefined,
    forMs,
    onConflict,
  });
}

function fromDebounce<In>(debounce: DebounceOptions<In>, where: string): UniqueRule<In> {
  refuseUnknown(debounce, ["by", "wait", "max"], `${where}.debounce`);
  const debounceMs = someTime(debounce.wait, "debounce.wait");
  const debounceMaxMs = debounce.max === undefined ? undefined : someTime(debounce.max, "debounce.max");
  if (debounceMaxMs !== undefined && debounceMaxMs < debounceMs)
    throw new ConfigError("debounce.max", `debounce.max: ${showValue(debounce.max)} is shorter than debounce.wait.`);
  const by = checkBy(debounce.by, "debounce.by");
  return Object.freeze({ ...NOTHING, by, until: "started", onConflict: "replace", debounceMs, debounceMaxMs });
}

function fromThrottle<In>(throttle: ThrottleOptions<In>, where: string): UniqueRule<In> {
  refuseUnknown(throttle, ["by", "per"], `${where}.throttle`);
  const forMs = someTime(throttle.per, "throttle.per");
  return Object.freeze({ ...NOTHING, by: checkBy(throttle.by, "throttle.by"), forMs, onConflict: "keep" });
}

function someTime(duration: Duration, setting: string): number {
  const ms = toMs(duration, setting);
  if (ms > 0) return ms;
  throw new ConfigError(setting, `${setting}: ${showValue(duration)} is no time at all.`);
}

function checkBy<In>(by: ((input: In) => string) | undefined, setting: string): typeof by {
  if (by === undefined || typeof by === "function") return by;
  throw new ConfigError(setting, `${setting} must be a function that makes a text of the input.`);
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** The key under which a job counts as the same as another. `payload` is the input as JSON; `fingerprint` hides the whole of it. */
export function uniqueKeyOf<In>(rule: UniqueRule<In>, input: In, payload: string, fingerprint = sha256): string {
  if (rule.by === undefined) return fingerprint(canonicalJson(payload));
  const key: unknown = rule.by(input);
  if (typeof key === "string" && key.length >= 1 && key.length <= 500 && !key.includes("\0") && key.isWellFormed())
    return key;
  throw new ConfigError("by", `by: ${showValue(key)} is not a text of 1 to 500 characters.`);
}
