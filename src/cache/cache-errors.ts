// What goes wrong with caches.
import { FairmillError } from "../base/errors.js";

/** `load` of a cache threw, or returned what cannot be kept; `cause` says what. */
export class CacheLoadError extends FairmillError {
  override readonly name = "CacheLoadError";
  readonly cache: string;
  readonly key: string;
  constructor(cache: string, key: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super("FAIRMILL_CACHE_LOAD", `The entry "${key}" of cache "${cache}" could not be loaded: ${reason}`, { cause });
    this.cache = cache;
    this.key = key;
  }
}

/** An entry took longer to load than `loadTimeout`, here or in another process. */
export class CacheTimeoutError extends FairmillError {
  override readonly name = "CacheTimeoutError";
  readonly cache: string;
  readonly key: string;
  constructor(cache: string, key: string) {
    super(
      "FAIRMILL_CACHE_TIMEOUT",
      `The entry "${key}" of cache "${cache}" was not loaded in time. Raise \`loadTimeout\`, or find out what \`load\` waits for.`,
    );
    this.cache = cache;
    this.key = key;
  }
}
