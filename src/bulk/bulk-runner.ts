// Carries bulk actions out, step by step. Each step is a transaction that moves the cursor with its effect: any process may go on where another
// ended, and two at once do no more than one.
import { type Clock, sleep } from "../base/clock.js";
import { FairmillError } from "../base/errors.js";
import { RetryPause } from "../base/retry.js";
import { explainFailure } from "../db/explain-failure.js";
import { isTransient } from "../db/failures.js";
import type { Session } from "../db/session.js";
import type { BulkActionName } from "./bulk-filter.js";
import {
  type BulkState,
  endBulk,
  type Previewed,
  previewStep,
  readBulk,
  type StoredBulk,
  stepBulk,
} from "./bulk-statements.js";

const STEP_JOBS = 500;
const BUSY_MS = 250;
const RETRY = { firstMs: 100, maxMs: 5_000 };
const TRIES_MAX = 10;

export interface RunBulkOptions {
  readonly signal?: AbortSignal;
  readonly onStep?: (bulk: StoredBulk) => void;
  /** Jobs of one step. */
  readonly stepJobs?: number;
}

/** Steps until the action has ended, or the signal aborts; undefined: there is none. */
export async function runBulk(
  db: Session,
  clock: Clock,
  id: string,
  { signal, onStep, stepJobs = STEP_JOBS }: RunBulkOptions = {},
): Promise<StoredBulk | undefined> {
  const pause = new RetryPause(clock, RETRY);
  let tries = 0;
  let state: BulkState | "busy" | "not_found" = "running";
  while ((state === "running" || state === "busy") && !signal?.aborted) {
    try {
      state = (await stepBulk(db, id, stepJobs)).state;
      tries = 0;
      pause.succeeded();
    } catch (error) {
      if (isTransient(error) && ++tries < TRIES_MAX) {
        await pause.wait(signal);
        continue;
      }
      // What the server does not take is not tried for ever; the rest stays behind the cursor for "resume".
      const why = explainFailure(error, db.schema);
      await endBulk(db, id, "failed", why instanceof FairmillError ? `${why.code}: ${why.message}` : "a fault");
      break;
    }
    if (onStep !== undefined && state !== "busy") {
      const bulk = await readBulk(db, id);
      if (bulk !== undefined) onStep(bulk);
    }
    // Another process is at it: look again when its step is over.
    if (state === "busy") await sleep(clock, BUSY_MS, signal);
  }
  return readBulk(db, id);
}

const COUNT_MAX = 10_000;
const LOOKS_MAX = 100_000;
const COUNT_AT_ONCE = 1_000;
const GROUPS_MAX = 100;
const SAMPLES_MAX = 5;

export interface BulkPreview {
  readonly count: number;
  /** Counting ended at a bound: there may be more. */
  readonly more: boolean;
  readonly groups: readonly { state: string; kind: string; errorCode: string | null; count: number }[];
  /** Ids of the first ones. */
  readonly samples: readonly string[];
}

/** How many jobs fit, to a bound, and of what sort they are. Changes nothing. */
export async function previewBulk(
  db: Session,
  action: BulkActionName,
  filter: Readonly<Record<string, unknown>>,
): Promise<BulkPreview> {
  const groups = new Map<string, BulkPreview["groups"][number]>();
  const samples: string[] = [];
  let [count, seen, after] = [0, 0, "0"];
  let more = true;
  while (more && count < COUNT_MAX && seen < LOOKS_MAX) {
    const one: Previewed = await previewStep(db, action, filter, COUNT_AT_ONCE, after);
    count += one.fitting;
    seen += one.seen;
    after = one.last_id;
    more = one.more;
    samples.push(...one.samples.slice(0, SAMPLES_MAX - samples.length));
    for (const { state, kind, error_code: errorCode, count: n } of one.groups) {
      const name = JSON.stringify([state, kind, errorCode]);
      groups.set(name, { state, kind, errorCode, count: (groups.get(name)?.count ?? 0) + n });
    }
  }
  const largest = [...groups.values()].toSorted((a, b) => b.count - a.count).slice(0, GROUPS_MAX);
  return { count, more, groups: largest, samples };
}
