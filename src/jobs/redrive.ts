// Putting dead jobs back by a filter: a look beforehand, then batch by batch, each a transaction of its own, until there are no more.
import { sleep } from "../base/clock.js";
import { ConfigError } from "../base/errors.js";
import { checkJobId } from "../base/job-id.js";
import { readable, refuseUnknown, wholeNumber } from "../base/settings.js";
import type { ClientContext } from "../core/enqueue/client-context.js";
import type { Session } from "../db/session.js";
import { checkRate, type RateLimit } from "../limits/limit-settings.js";
import { countDead, redriveBatch } from "./dead-statements.js";
import { type Job, readJobsById } from "./read-jobs.js";
import { checkRedriveFilter, type RedriveFilter } from "./redrive-filter.js";

export interface RedriveOptions {
  /** Jobs of one transaction, 1 to 5,000; default 500. */
  readonly batch?: number;
  /** At most so many in so long, so that they do not all come at once; default: as fast as it goes. */
  readonly rate?: Pick<RateLimit, "limit" | "per">;
  /** Called after every batch. */
  readonly onProgress?: (progress: Redriven) => void;
  /** Stops between two batches. What was put back stays, and `after` says where to go on. */
  readonly signal?: AbortSignal;
  /** Only jobs behind this id: the `after` of a redrive that was stopped. */
  readonly after?: string;
}

export interface Redriven {
  /** Jobs that are back in the queue. */
  readonly redriven: number;
  /** Jobs that were looked at. */
  readonly seen: number;
  /** The last id that was looked at. */
  readonly after: string;
  /** False: it was stopped, and there may be more behind `after`. */
  readonly complete: boolean;
}

export interface RedrivePreview {
  /** Jobs that fit. */
  readonly count: number;
  /** Counting ended at a bound: there may be more. */
  readonly more: boolean;
  /** The same by kind and code of the error, largest first. */
  readonly groups: readonly RedriveGroup[];
  /** The oldest of them, five at most. */
  readonly samples: readonly Job[];
}

export interface RedriveGroup {
  readonly kind: string;
  readonly errorCode: string | null;
  readonly count: number;
}

const BATCH_MAX = 5_000;
const SAMPLES_MAX = 5;
/** A preview stops after the statement in which it has counted, or looked at, so many. */
const COUNT_MAX = 10_000;
const LOOKS_MAX = 100_000;
const LOOKS_AT_ONCE = 10_000;
const GROUPS_MAX = 100;

export async function redrive(
  context: ClientContext,
  filter: RedriveFilter,
  options: RedriveOptions,
): Promise<Redriven> {
  const { clock, isAlone } = context;
  const wanted = checkRedriveFilter(filter, "dead.redrive filter");
  refuseUnknown(options, ["batch", "rate", "onProgress", "signal", "after"], "dead.redrive");
  const { onProgress, signal } = options;
  if (onProgress !== undefined && typeof onProgress !== "function")
    throw new ConfigError("onProgress", "onProgress: pass a function.");
  if (signal !== undefined && !readable("signal", "redrive", () => isSignal(signal)))
    throw new ConfigError("signal", "signal: must be the signal of an AbortController.");
  if (options.rate !== undefined && !isAlone)
    throw new ConfigError("rate", "dead.redrive: a transaction must not be kept open for a rate; leave rate out.");
  const rate = options.rate === undefined ? undefined : pace(options.rate);
  const batch = options.batch === undefined ? 500 : wholeNumber(options.batch, 1, BATCH_MAX, "batch");
  // A batch larger than the rate would be a burst of that size.
  const jobsMax = Math.min(batch, rate?.limit ?? batch);
  let done: Redriven = {
    redriven: 0,
    seen: 0,
    after: options.after === undefined ? "0" : checkJobId(options.after, "after"),
    complete: false,
  };
  while (!signal?.aborted) {
    const one = await redriveBatch(context, wanted, jobsMax, done.after);
    done = {
      redriven: done.redriven + one.redriven,
      seen: done.seen + one.seen,
      after: one.last_id,
      complete: !one.more,
    };
    onProgress?.(done);
    if (done.complete) break;
    if (rate && one.redriven > 0) await sleep(clock, one.redriven * rate.eachMs, signal);
  }
  return done;
}

const isSignal = (signal: AbortSignal | null) =>
  typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function";

function pace(rate: Pick<RateLimit, "limit" | "per">): { limit: number; eachMs: number } {
  if (typeof rate === "object" && rate !== null) refuseUnknown(rate, ["limit", "per"], "rate");
  const { limit, perMs } = checkRate(rate, "rate");
  return { limit, eachMs: perMs / limit };
}

export async function previewRedrive(
  db: Session,
  filter: RedriveFilter,
  options: Pick<RedriveOptions, "after">,
): Promise<RedrivePreview> {
  const wanted = checkRedriveFilter(filter, "dead.preview filter");
  refuseUnknown(options, ["after"], "dead.preview");
  const groups = new Map<string, RedriveGroup>();
  const samples: string[] = [];
  let count = 0;
  let seen = 0;
  let after = options.after === undefined ? "0" : checkJobId(options.after, "after");
  let more = true;
  while (more && count < COUNT_MAX && seen < LOOKS_MAX) {
    const one = await countDead(db, wanted, LOOKS_AT_ONCE, after);
    count += one.fitting;
    seen += one.seen;
    after = one.last_id;
    more = one.more;
    samples.push(...one.samples.slice(0, SAMPLES_MAX - samples.length));
    for (const { kind, error_code: errorCode, count: n } of one.groups) {
      const name = JSON.stringify([kind, errorCode]);
      groups.set(name, { kind, errorCode, count: (groups.get(name)?.count ?? 0) + n });
    }
  }
  return {
    count,
    more,
    groups: [...groups.values()].toSorted((a, b) => b.count - a.count).slice(0, GROUPS_MAX),
    samples: await readJobsById(db, samples),
  };
}
