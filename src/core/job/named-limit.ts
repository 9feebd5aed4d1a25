// Named limits: windows of units (requests, tokens, pages) that jobs of any kinds share. A definition is data that callers and workers share;
// counting is the business of SQL (`sql/inner/limits`).
import { type Duration, toMs } from "../../base/duration.js";
import { ConfigError } from "../../base/errors.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../../base/settings.js";
import { showValue } from "../../base/show-value.js";

/** The names of the units of one window, or of several: `{ requests: 500, tokens: 200_000, per: "1m" }`. */
export type UnitsOf<Window> = Window extends unknown ? Exclude<keyof Window & string, "per" | "by"> : never;

/** Whose units: a text made of the input, such as an API key. Without it all jobs share one count. */
export type LimitKey<Input> = (input: Input) => string;

/** What a job may take of each unit, known before it starts: a number, or made of the input. */
export type Estimates<Unit extends string, Input> = {
  readonly [Name in Exclude<Unit, "requests">]: number | ((input: Input) => number);
} & { readonly requests?: number | ((input: Input) => number); readonly by?: LimitKey<Input> };

/** One window, as it is stored. */
export interface CheckedWindow {
  readonly unit: string;
  readonly limit: number;
  readonly perMs: number;
}

/** What defineLimit returns. */
export interface NamedLimit<Unit extends string = string, Input = never> {
  readonly name: string;
  readonly windows: readonly CheckedWindow[];
  readonly by: LimitKey<Input> | undefined;
  /** For `limits.uses` of a definition: what each of its jobs takes. `requests` is 1 unless said otherwise. */
  with<In = Input>(estimates: Estimates<Unit, In>): LimitUse<In>;
  /** Only a type. */
  readonly "~unit"?: Unit;
}

/** What the jobs of a kind take of a limit. */
export interface LimitUse<in Input = never> {
  readonly limit: Pick<NamedLimit, "name" | "windows">;
  readonly by: LimitKey<Input> | undefined;
  readonly estimates: { readonly [unit: string]: number | ((input: Input) => number) };
}

/** In `limits.uses`: a limit as it is counts one request, `limit.with(…)` says more. */
export type JobUse<Input> = LimitUse<Input> | NamedLimit<"requests", Input>;

/** A use of one job, in the words of the database. */
export interface StoredUse {
  readonly limit: string;
  readonly key: string;
  readonly units: { readonly [unit: string]: number };
}

const UNITS_MAX = 1_000_000_000;
const WINDOWS_MAX = 20;
const USES_MAX = 10;
const DAYS_30_MS = 30 * 86_400_000;
const UNIT = /^[A-Za-z][A-Za-z0-9_]{0,39}$/;
const KEY_BYTES_MAX = 500;
/** Words that settings of a limit use themselves. */
const RESERVED = ["per", "by", "windows", "now"];

/**
 * Declares a limit that jobs of any kinds share: `defineLimit("openai", { requests: 500, tokens: 200_000, per: "1m", by: (input) => input.apiKey })`.
 * Several windows: `{ windows: [{ requests: 15, per: "1m" }, { requests: 1_500, per: "1d" }] }`.
 */
export function defineLimit<const Window extends { readonly per: Duration }, Input = unknown>(
  name: string,
  settings: { readonly windows: readonly Window[]; readonly by?: LimitKey<Input> },
): NamedLimit<UnitsOf<Window>, Input>;
export function defineLimit<const Settings extends { readonly per: Duration }, Input = unknown>(
  name: string,
  settings: Settings & { readonly by?: LimitKey<Input> },
): NamedLimit<UnitsOf<Settings>, Input>;
export function defineLimit(name: string, settings: object): NamedLimit<string, never> {
  const where = `defineLimit(${showValue(name)})`;
  return readable("settings", where, () => declareLimit(name, settings as Record<string, unknown>, where));
}

function declareLimit(name: string, settings: Record<string, unknown>, where: string): NamedLimit<string, never> {
  if (typeof settings !== "object" || settings === null)
    throw new ConfigError("settings", `${where}: pass an object, like { requests: 500, per: "1m" }.`);
  const { by, windows: several, ...single } = settings;
  if (by !== undefined && typeof by !== "function")
    throw new ConfigError("by", `${where}: by must be a function that makes a text of the input.`);
  if (several !== undefined) refuseUnknown(settings, ["windows", "by"], where);
  if (several !== undefined && !Array.isArray(several))
    throw new ConfigError("windows", `${where}: windows must be a list, like [{ requests: 15, per: "1m" }].`);
  const windows = ((several as unknown[] | undefined) ?? [single]).flatMap((one) => windowsOf(one, where));
  if (windows.length === 0 || windows.length > WINDOWS_MAX)
    throw new ConfigError("windows", `${where}: name 1 to ${WINDOWS_MAX} units and their windows.`);
  const limit: NamedLimit<string, never> = {
    name: nameOf(name, "name"),
    windows: Object.freeze(windows),
    by: by as LimitKey<never> | undefined,
    with: (estimates) => useOf(limit as NamedLimit<string, never>, estimates as Estimates<string, never>) as never,
  };
  return Object.freeze(limit);
}

function windowsOf(window: unknown, where: string): CheckedWindow[] {
  if (typeof window !== "object" || window === null)
    throw new ConfigError(
      "windows",
      `${where}: ${showValue(window)} is no window. Write { requests: 500, per: "1m" }.`,
    );
  const { per, ...units } = window as Record<string, unknown>;
  const perMs = Math.round(toMs(per as Duration, "per"));
  if (perMs < 1 || perMs > DAYS_30_MS) throw new ConfigError("per", `${where}: per must lie between 1 ms and 30 days.`);
  return Object.entries(units).map(([unit, most]) => {
    if (!UNIT.test(unit) || RESERVED.includes(unit))
      throw new ConfigError(
        unit,
        `${where}: ${showValue(unit)} is no name of a unit: letters, digits and underscores.`,
      );
    return Object.freeze({ unit, limit: wholeNumber(most, 1, UNITS_MAX, unit), perMs });
  });
}

const unitsOf = (limit: Pick<NamedLimit, "windows">) => [...new Set(limit.windows.map(({ unit }) => unit))];

function useOf(limit: NamedLimit<string, never>, given: Estimates<string, never>): LimitUse {
  const where = `defineLimit(${showValue(limit.name)}).with`;
  if (typeof given !== "object" || given === null)
    throw new ConfigError("estimates", `${where}: pass an object, like { tokens: (input) => input.text.length / 3 }.`);
  const { by = limit.by, ...estimates } = given as Record<string, unknown>;
  const units = unitsOf(limit);
  refuseUnknown(given, [...units, "by"], where);
  for (const unit of units) {
    if (unit === "requests") estimates[unit] ??= 1;
    const estimate = estimates[unit];
    if (typeof estimate === "function") continue;
    if (estimate === undefined)
      throw new ConfigError(unit, `${where}: say how many ${unit} a job takes, or 0 where only ctx.use knows.`);
    wholeNumber(estimate, 0, UNITS_MAX, unit);
  }
  if (by !== undefined && typeof by !== "function")
    throw new ConfigError("by", `${where}: by must be a function that makes a text of the input.`);
  return Object.freeze({ limit, by: by as LimitKey<never> | undefined, estimates: Object.freeze(estimates) as never });
}

const isUse = (use: object): use is LimitUse => "estimates" in use;

/** The uses of a definition, checked; undefined: none. */
export function checkUses(uses: unknown, where: string): readonly LimitUse[] | undefined {
  if (uses === undefined) return undefined;
  if (!Array.isArray(uses) || uses.length > USES_MAX)
    throw new ConfigError("limits.uses", `${where}: limits.uses must be a list of at most ${USES_MAX} limits.`);
  const list = uses.map((use: unknown): LimitUse => {
    const isLimit =
      typeof use === "object" && use !== null && (isUse(use) || typeof (use as NamedLimit).with === "function");
    if (!isLimit)
      throw new ConfigError(
        "limits.uses",
        `${where}: ${showValue(use)} is no limit: pass what defineLimit(…) returned.`,
      );
    return isUse(use) ? use : useOf(use as NamedLimit<string, never>, {} as Estimates<string, never>);
  });
  const names = list.map(({ limit }) => limit.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    throw new ConfigError("limits.uses", `${where}: limits.uses names the limit "${twice}" twice.`);
  return list.length === 0 ? undefined : Object.freeze(list);
}

/** What a job with this input takes. An estimate is rounded up. */
export const usesOf = <In>(uses: readonly LimitUse<In>[], input: In): readonly StoredUse[] =>
  uses.map(({ limit, by, estimates }) => ({
    limit: limit.name,
    key: by === undefined ? "" : limitKey(by(input), limit.name),
    units: Object.fromEntries(
      Object.entries(estimates).map(([unit, estimate]) => [
        unit,
        unitsUsed(typeof estimate === "function" ? estimate(input) : estimate, `${limit.name}: ${unit}`),
      ]),
    ),
  }));

export function limitKey(key: unknown, limit: string): string {
  if (typeof key === "string" && key.isWellFormed() && !key.includes("\0") && Buffer.byteLength(key) <= KEY_BYTES_MAX)
    return key;
  throw new ConfigError(
    "by",
    `The key of limit "${limit}", ${showValue(key)}, is no text of at most ${KEY_BYTES_MAX} bytes.`,
  );
}

/** A number of units, rounded up. */
const unitsUsed = (units: unknown, where: string): number =>
  wholeNumber(typeof units === "number" ? Math.ceil(units) : units, 0, UNITS_MAX, where);

/** Units as a caller says them, for a limit whose definition is known or not. */
export function checkUnits(
  units: unknown,
  limit: { readonly name: string; readonly windows?: readonly CheckedWindow[] },
  where: string,
): Record<string, number> {
  if (typeof units !== "object" || units === null)
    throw new ConfigError("units", `${where}: pass the units as an object, like { tokens: 1730 }.`);
  if (limit.windows !== undefined) refuseUnknown(units, unitsOf({ windows: limit.windows }), where);
  return readable("units", where, () =>
    Object.fromEntries(Object.entries(units).map(([unit, count]) => [unit, unitsUsed(count, unit)])),
  );
}

/** Windows as define_limit_v1 takes them. */
export const windowsText = ({ windows }: Pick<NamedLimit, "windows">): string =>
  JSON.stringify(windows.map(({ unit, limit, perMs }) => ({ unit, limit, per_ms: perMs })));
