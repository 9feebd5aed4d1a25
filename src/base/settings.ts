// Settings are checked when they are given: unknown names are refused, with the name that was probably meant.
import { ConfigError, FairmillError } from "./errors.js";
import { showValue } from "./show-value.js";

/**
 * Runs what only reads what a caller gave. Its getters and traps may throw whatever they like: then it is refused by name, because the caller
 * of a public function is to find an error of ours.
 */
export function readable<T>(setting: string, where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isOurs(error)) throw error;
    throw new ConfigError(setting, `${where}: ${setting} cannot be read: ${reasonOf(error)}.`);
  }
}

/** Asking a proxy may throw again. */
function isOurs(error: unknown): error is FairmillError {
  try {
    return error instanceof FairmillError;
  } catch {
    return false;
  }
}

/** What was thrown may be anything, and reading it may throw again. */
export function reasonOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return "an error that cannot be read";
  }
}

/**
 * Throws when `given` is no object, has a key that `known` does not list, or cannot be read. `where` says whose settings these are.
 */
export function refuseUnknown(given: unknown, known: readonly string[], where: string): asserts given is object {
  const keys = readable("options", where, () => keysOf(given));
  if (keys === undefined)
    throw new ConfigError(where, `${where}: ${showValue(given)} is no object of settings. Known: ${known.join(", ")}.`);
  for (const key of keys) {
    if (known.includes(key)) continue;
    const near = known.toSorted((a, b) => distance(key, a) - distance(key, b))[0];
    const hint = near !== undefined && distance(key, near) <= 3 ? ` Did you mean "${near}"?` : "";
    throw new ConfigError(key, `${where}: unknown setting "${key}".${hint} Known: ${known.join(", ")}.`);
  }
}

/** The keys of an object that is no list, of which every member can be read; undefined when it is something else. */
function keysOf(given: unknown): string[] | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return undefined;
  return Object.entries(given).map(([key]) => key);
}

/** Throws unless the value is a number of money, like 0.04, or left out. */
export function checkWorth(value: unknown, setting: string): void {
  if (value === undefined || (typeof value === "number" && value >= 0 && Number.isFinite(value))) return;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not what a credit is worth, like 0.04.`);
}

/** Throws unless the value is a whole number within the bounds. */
export function wholeNumber(value: unknown, min: number, max: number, setting: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a whole number from ${min} to ${max}.`);
}

/** Throws unless the value is a text of 1 to 200 bytes that PostgreSQL can keep: names of queues, kinds, tenants. */
export function nameOf(value: unknown, setting: string): string {
  if (
    typeof value === "string" &&
    value.length >= 1 &&
    // The schema counts bytes, not characters.
    (value.length <= 66 || Buffer.byteLength(value) <= 200) &&
    !value.includes("\0") &&
    value.isWellFormed()
  )
    return value;
  throw new ConfigError(setting, `${setting}: ${showValue(value)} is not a name of 1 to 200 bytes.`);
}

/** The member, checked, or none: undefined means that it was not given. Nothing else means that. */
export const ifGiven = <const Name extends string, Given, Checked>(
  name: Name,
  value: Given | undefined,
  check: (value: Given) => Checked,
): { [N in Name]?: Checked } => (value === undefined ? {} : ({ [name]: check(value) } as { [N in Name]: Checked }));

/** Throws unless the value is one of these. */
export function oneOf<const T extends string>(value: unknown, known: readonly T[], setting: string, where?: string): T {
  if (known.includes(value as T)) return value as T;
  const listed = known.map((one) => `"${one}"`).join(", ");
  throw new ConfigError(
    setting,
    `${where === undefined ? "" : `${where}: `}${setting}: ${showValue(value)} is not one of ${listed}.`,
  );
}

/** How many single-letter edits lie between two words. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length]!;
}
