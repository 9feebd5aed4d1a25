// A cache as an application defines it: a name that all processes share, how an entry is loaded, and for how long it is fresh.
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { nameOf, readable, refuseUnknown, wholeNumber } from "../base/settings.js";

export interface CacheOptions<Value> {
  /** The same name is the same cache, in every process. */
  readonly name: string;
  /** How long an entry is fresh; then it is loaded again. */
  readonly ttl: Duration;
  /** Loads one entry. Of all processes that ask for it, one does. `undefined` is not kept. */
  readonly load: (key: string, options: { readonly signal: AbortSignal }) => Promise<Value> | Value;
  /** How long it may take to load; then another process may try. Default "30s". */
  readonly loadTimeout?: Duration;
  /** For how long a process answers from its own memory: so long it may not see that an entry was deleted. Default "10s", at most the ttl. */
  readonly memoryFor?: Duration;
  /** Entries of this cache in the database, and in the memory of a process; default 10,000. */
  readonly entriesMax?: number;
}

/** What `defineCache` returns. */
export interface Cache<Value> {
  readonly name: string;
  readonly load: CacheOptions<Value>["load"];
  readonly ttlMs: number;
  readonly loadTimeoutMs: number;
  readonly memoryMs: number;
  readonly entriesMax: number;
}

const KNOWN = ["name", "ttl", "load", "loadTimeout", "memoryFor", "entriesMax"];
const TTL_MS_MAX = 366 * 86_400_000;
const LOAD_MS = { least: 100, most: 15 * 60_000 };

const DEFINED = new WeakSet<object>();

/** Whether `defineCache` made it: only then are its members what they seem to be. */
export const isCache = (given: unknown): given is Cache<unknown> =>
  typeof given === "object" && given !== null && DEFINED.has(given);

export function defineCache<Value>(options: CacheOptions<Value>): Cache<Value> {
  const cache = checked(options);
  DEFINED.add(cache);
  return cache;
}

function checked<Value>(options: CacheOptions<Value>): Cache<Value> {
  return readable("options", "defineCache", () => {
    refuseUnknown(options, KNOWN, "defineCache");
    const { load } = options;
    if (typeof load !== "function")
      throw new ConfigError("load", "defineCache: load must be a function that loads the entry of a key.");
    const ttlMs = between("ttl", toMs(options.ttl, "ttl"), 1, TTL_MS_MAX);
    const memoryMs = toMs(options.memoryFor ?? "10s", "memoryFor");
    return Object.freeze({
      name: nameOf(options.name, "name"),
      load,
      ttlMs,
      loadTimeoutMs: between(
        "loadTimeout",
        toMs(options.loadTimeout ?? "30s", "loadTimeout"),
        LOAD_MS.least,
        LOAD_MS.most,
      ),
      memoryMs: Math.min(ttlMs, between("memoryFor", memoryMs, 0, TTL_MS_MAX)),
      entriesMax: wholeNumber(options.entriesMax ?? 10_000, 1, 1_000_000, "entriesMax"),
    });
  });
}

function between(setting: string, ms: number, least: number, most: number): number {
  if (ms >= least && ms <= most) return ms;
  throw new ConfigError(setting, `defineCache: ${setting}: must lie between ${least} ms and ${most} ms.`);
}
