// Retention of files: removes what is older than its rule allows, page by page. Memory is bounded by one page, and a sweep that was
// interrupted goes on from its cursor. What remains is added up on the way, which is how the size of a storage is known.
import { type Clock, systemClock } from "../base/clock.js";
import { type Duration, toMs } from "../base/duration.js";
import { ConfigError } from "../base/errors.js";
import { refuseUnknown, wholeNumber } from "../base/settings.js";
import { Storage } from "./storage.js";
import { checkPrefix } from "./storage-key.js";

export interface SweepRule {
  /** Of the files whose keys begin so; the longest prefix that fits decides. */
  readonly prefix: string;
  readonly olderThan: Duration;
}

export interface SweepOptions {
  readonly storage: Storage;
  readonly rules: readonly SweepRule[];
  /** Report what would be removed, and remove nothing. */
  readonly dryRun?: boolean;
  /** An earlier sweep that was interrupted, or the key at which it was: go on behind it. With a sweep its sums go on, too. */
  readonly after?: string | SweepProgress;
  /** Stop when this call has looked at so many files, and say where. */
  readonly filesMax?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: SweepProgress) => void;
  readonly clock?: Clock;
}

export interface SweepProgress {
  readonly looked: number;
  readonly removed: number;
  readonly removedBytes: number;
  readonly kept: number;
  readonly keptBytes: number;
  /** The last key that was looked at: what `after` takes. */
  readonly cursor: string | undefined;
}

export interface Sweep extends SweepProgress {
  /** False: interrupted, or `filesMax` was reached. */
  readonly isComplete: boolean;
}

const KNOWN = ["storage", "rules", "dryRun", "after", "filesMax", "signal", "onProgress", "clock"];
const PAGE_FILES = 500;
/** Removals under way at once: enough to hide a round trip, too few to trouble a service. */
const AT_ONCE = 8;

export async function sweepStorage(options: SweepOptions): Promise<Sweep> {
  refuseUnknown(options, KNOWN, "sweepStorage");
  if (!(options.storage instanceof Storage))
    throw new ConfigError("storage", "storage: pass what defineStorage(…) returned.");
  const { storage, dryRun = false, signal, onProgress, clock = systemClock } = options;
  const rules = options.rules.map((rule) => checkRule(rule)).sort((a, b) => b.prefix.length - a.prefix.length);
  const filesMax =
    options.filesMax === undefined ? Number.POSITIVE_INFINITY : wholeNumber(options.filesMax, 1, 1e12, "filesMax");
  const sum = sumBefore(options.after);
  const lookedMax = sum.looked + filesMax;
  // One time for the whole sweep: a long one must not judge its last files more strictly than its first.
  const nowMs = clock.now();
  for (;;) {
    const limit = Math.min(PAGE_FILES, lookedMax - sum.looked);
    if (signal?.aborted || limit <= 0) return { ...sum, isComplete: false };
    const page = await storage.list({ limit, ...(sum.cursor === undefined ? {} : { after: sum.cursor }) });
    const old = page.filter(({ key, modifiedAt }) => {
      const rule = rules.find(({ prefix }) => key.startsWith(prefix));
      return rule !== undefined && nowMs - modifiedAt.getTime() > rule.olderThanMs;
    });
    if (!dryRun)
      await removeAll(
        storage,
        old.map(({ key }) => key),
      );
    const bytes = (files: typeof page) => files.reduce((total, file) => total + file.bytes, 0);
    sum.looked += page.length;
    sum.removed += old.length;
    sum.removedBytes += bytes(old);
    sum.kept += page.length - old.length;
    sum.keptBytes += bytes(page) - bytes(old);
    sum.cursor = page.at(-1)?.key ?? sum.cursor;
    onProgress?.({ ...sum });
    if (page.length < limit) return { ...sum, isComplete: true };
  }
}

async function removeAll(storage: Storage, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += AT_ONCE)
    await Promise.all(keys.slice(from, from + AT_ONCE).map((key) => storage.delete(key)));
}

const SUMS = ["looked", "removed", "removedBytes", "kept", "keptBytes"] as const;

function sumBefore(after: SweepOptions["after"]) {
  if (typeof after !== "object" || after === null)
    return { looked: 0, removed: 0, removedBytes: 0, kept: 0, keptBytes: 0, cursor: after };
  const { looked, removed, removedBytes, kept, keptBytes, cursor } = after;
  const sum = { looked, removed, removedBytes, kept, keptBytes, cursor };
  for (const name of SUMS) wholeNumber(sum[name], 0, Number.MAX_SAFE_INTEGER, `after.${name}`);
  return sum;
}

function checkRule(rule: SweepRule): { prefix: string; olderThanMs: number } {
  refuseUnknown(rule, ["prefix", "olderThan"], "sweepStorage, rules");
  return { prefix: checkPrefix(rule.prefix), olderThanMs: toMs(rule.olderThan, "olderThan") };
}
