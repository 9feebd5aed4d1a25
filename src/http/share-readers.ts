// Fairness lanes and where the time went, in the shapes of the API. What records do not tell apart is null, or left out.
import type { Session } from "../db/session.js";
import { stepsOf } from "../metrics/backlog.js";
import { quantile } from "../metrics/series.js";
import {
  type DemandStep,
  readDemand,
  readRecordedUntil,
  readServed,
  readSplits,
  readTimes,
  readWaitHistograms,
  type ServedStep,
} from "../metrics/shares.js";
import type { MetricsReader } from "./readers.js";

/** A question about one tenant is answered from its own figures alone: shares of others could be worked out from any sum. */
export const fairnessReader =
  (view: Session, nowMs: () => number): NonNullable<MetricsReader["fairness"]> =>
  async (span, { queue, kind, tenant }, tenantsMax) => {
    const { stepMs, times: begun } = stepsOf(span);
    const [since, until] = [new Date(span.sinceMs), new Date(span.untilMs)];
    const recordedMs = (await readRecordedUntil(view, since, until)) ?? 0;
    const times = wholeSteps(begun, stepMs, Math.max(recordedMs, nowMs() - SILENCE_MS));
    const isWhole = ({ step }: { step: number }) => step < times.length;
    // Tenants are not told apart by queue or kind.
    const isRecorded = queue === undefined && kind === undefined;
    const rows = isRecorded ? (await readServed(view, since, until, stepMs, tenant)).filter(isWhole) : [];
    const { rows: wanted, looked } = isRecorded
      ? await readDemand(view, since, until, stepMs, tenant)
      : { rows: [], looked: new Set<number>() };
    const all = lanesOf(rows, wanted.filter(isWhole), times.length, looked);
    const jain = times.map((_, step) => (looked.has(step) ? jainOf(all, step) : null));
    const lanes = all.slice(0, tenantsMax);
    const waits =
      lanes.length > 0
        ? await readWaitHistograms(
            view,
            since,
            until,
            lanes.map((lane) => lane.tenant),
          )
        : new Map<string, number[]>();
    return {
      ...{ since: since.toISOString(), until: until.toISOString(), stepMs, times, jain },
      jainNow: jain.findLast((value) => value !== null) ?? null,
      lanes: lanes.map(({ runnable: _, ...lane }) => ({
        ...lane,
        waitP95Ms: quantile(waits.get(lane.tenant) ?? null, 0.95),
      })),
    };
  };

/** What is not written yet lies behind the last record; after so long, nothing is behind it. */
const SILENCE_MS = 75_000;
/** Of a step, the part that may be missing. */
const MISSING_MAX = 0.1;

/** Without the steps at the end that are not over, or not on record yet: they would look like a fall. Where there are no others, all. */
export function wholeSteps(times: number[], stepMs: number, recordedMs: number): number[] {
  const whole = times.filter((time) => time + (1 - MISSING_MAX) * stepMs <= recordedMs);
  return whole.length > 0 ? whole : times;
}

/** A tenant had jobs left where samples of the step saw this many on average: one job at half of them. */
const LEFT_MIN = 0.5;
/** What is more than a share by less than this is its rounding. */
const ROUNDING = 1e-6;

interface Lane {
  readonly served: readonly (number | null)[];
  readonly fair: readonly (number | null)[];
  /** Jobs that could have started, on average over the samples of each step. */
  readonly runnable: readonly number[];
}

/**
 * How even it was among the tenants that competed: each one's part is what it was given of its fair share, which leaves out what its own limits held back. A tenant
 * competed that had jobs left which could have started, or was given more than its share. null: fewer than two did, so nothing was shared.
 */
export function jainOf(lanes: readonly Lane[], step: number): number | null {
  const parts = lanes.flatMap(({ served, fair, runnable }) => {
    const [given, entitled, left] = [served[step] ?? 0, fair[step] ?? 0, runnable[step] ?? 0];
    const competed = left >= LEFT_MIN || given > entitled + ROUNDING;
    return competed && entitled > 0 ? [given / entitled] : [];
  });
  const squares = sum(parts.map((value) => value ** 2));
  return parts.length < 2 || squares === 0 ? null : sum(parts) ** 2 / (parts.length * squares);
}

interface Cell {
  readonly served: number;
  readonly runnable: number;
  readonly limited: number;
}

/** A lane for every tenant that was given something or wanted something. */
export function lanesOf(
  served: readonly ServedStep[],
  wanted: readonly DemandStep[],
  count: number,
  looked: ReadonlySet<number>,
) {
  const weights = new Map([...wanted, ...served].map(({ tenant, weight }) => [tenant, weight]));
  const cells = new Map<string, Map<number, Cell>>([...weights.keys()].map((tenant) => [tenant, new Map()]));
  const change = (tenant: string, step: number, part: Partial<Cell>) => {
    const own = cells.get(tenant)!;
    own.set(step, { ...{ served: 0, runnable: 0, limited: 0 }, ...own.get(step), ...part });
  };
  for (const { tenant, step, served: given } of served) change(tenant, step, { served: given });
  for (const { tenant, step, runnable, limited } of wanted) change(tenant, step, { runnable, limited });
  const recorded = new Set(served.map(({ step }) => step));
  const fair = Array.from({ length: count }, (_, step) => fairIn(step, cells, weights, looked.has(step)));
  const all = sum(served.map((row) => row.served));
  const each = <T>(make: (step: number) => T): T[] => Array.from({ length: count }, (_, step) => make(step));
  const lanes = [...cells].map(([tenant, own]) => {
    // A step without any record is a gap; one without this tenant is a zero.
    const given = each((step) => (recorded.has(step) ? (own.get(step)?.served ?? 0) : null));
    const entitled = each((step) => (recorded.has(step) ? (fair[step]!.get(tenant) ?? 0) : null));
    const values = [...own.values()];
    const waited = sum(values.map(({ runnable, limited }) => runnable + limited));
    return {
      ...{ tenant, weight: weights.get(tenant)!, served: given, fair: entitled },
      demand: each((step) => {
        const cell = own.get(step);
        return looked.has(step) ? (cell?.runnable ?? 0) + (cell?.limited ?? 0) : null;
      }),
      runnable: each((step) => own.get(step)?.runnable ?? 0),
      shareGiven: all > 0 ? sum(given) / all : 0,
      shareEntitled: all > 0 ? sum(entitled) / all : 0,
      limitedRatio: waited > 0 ? sum(values.map(({ limited }) => limited)) / waited : null,
      waited,
    };
  });
  return lanes
    .toSorted((a, b) => b.shareGiven - a.shareGiven || b.waited - a.waited || (a.tenant < b.tenant ? -1 : 1))
    .map(({ waited: _, ...lane }) => lane);
}

/**
 * What all were given in a step, shared by weight among those that took part. Where it is known what each wanted, a tenant that wanted less than its
 * part leaves the rest to the others; what its own limits held back is no want.
 */
function fairIn(
  step: number,
  cells: ReadonlyMap<string, ReadonlyMap<number, Cell>>,
  weights: ReadonlyMap<string, number>,
  isKnown: boolean,
): Map<string, number> {
  let open = [...cells].flatMap(([tenant, own]) => {
    const { served = 0, runnable = 0 } = own.get(step) ?? {};
    const want = isKnown ? served + runnable : Number.POSITIVE_INFINITY;
    return served + runnable > 0 ? [{ tenant, served, want, weight: weights.get(tenant)! }] : [];
  });
  let left = sum(open.map(({ served }) => served));
  const fair = new Map<string, number>();
  while (open.length > 0) {
    const part = left / sum(open.map(({ weight }) => weight));
    const content = open.filter(({ want, weight }) => want <= part * weight);
    for (const { tenant, want, weight } of content.length > 0 ? content : open)
      fair.set(tenant, content.length > 0 ? want : part * weight);
    if (content.length === 0) break;
    left -= sum(content.map(({ want }) => want));
    open = open.filter((one) => !content.includes(one));
  }
  return fair;
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

export const timeReader =
  (view: Session): NonNullable<MetricsReader["time"]> =>
  async ({ sinceMs, untilMs }, { queue, kind, tenant }, by) => {
    const [since, until] = [new Date(sinceMs), new Date(untilMs)];
    const column = tenant !== undefined || by === "tenant" ? "tenants" : "kinds";
    // Records tell kinds apart, or tenants, but neither within the other, and no queues.
    const isRecorded =
      queue === undefined && (by !== "queue" || tenant !== undefined) && (column === "kinds" || kind === undefined);
    const rows = isRecorded ? await readTimes(view, column, since, until, tenant ?? kind) : [];
    const splits = await readSplits(view, column, since, until, tenant ?? kind);
    const items = rows.map(({ name, runs, runMs, waits, waitMs, retryMs, sleepMs }) => {
      // Waits are sampled, from due to start; what they were for is what samples of the fleet saw jobs of this name wait for.
      const waited = waits > 0 ? (waitMs / waits) * runs : 0;
      const split = splits.get(name) ?? NEVER_SEEN_WAITING;
      return {
        ...{ key: name, jobs: runs, ranMs: runMs, retriedMs: retryMs },
        waitedTurnMs: waited * split.turn,
        waitedLimitsMs: waited * split.limits + split.keyRateMs,
        waitedWorkerMs: waited * split.worker,
        sleptMs: sleepMs + split.signalMs,
      };
    });
    return { items, since: since.toISOString(), until: until.toISOString() };
  };

const NEVER_SEEN_WAITING = { turn: 1, limits: 0, worker: 0, keyRateMs: 0, signalMs: 0 };
