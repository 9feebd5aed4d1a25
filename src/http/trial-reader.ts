// "Try it first": a limit or weight replayed on the last hour, in the shape of the API, with what the answer rests on.
import type { Session } from "../db/session.js";
import { checkLimits, checkRate, type RateLimit, type TenantSettings } from "../limits/limit-settings.js";
import { type ReplayedLimit, replay } from "../limits/replay.js";
import { LOOKED_MAX, readPastRuns, readSetting, type StoredSetting } from "../limits/replay-statements.js";
import { readDemand, readServed, readSplits } from "../metrics/shares.js";
import type { MetricsReader } from "./readers.js";
import { lanesOf } from "./share-readers.js";

const HOUR_MS = 3_600_000;
const STEP_MS = 60_000;

interface Wanted {
  readonly weight?: number | null;
  readonly maxRunning?: number | null;
  readonly rate?: RateLimit | null;
}

export const trialReader =
  (view: Session, nowMs: () => number): NonNullable<MetricsReader["tryLimit"]> =>
  async (scope, name, settings) => {
    checkLimits(settings as TenantSettings, scope, "limits/try");
    const wanted = settings as Wanted;
    const untilMs = nowMs() + 1;
    const [since, until] = [new Date(untilMs - HOUR_MS), new Date(untilMs)];
    const { runs, isPart } = await readPastRuns(view, scope, name, since);
    const stored = await readSetting(view, scope, name);
    const limit = limitOf(stored, wanted);
    const was = replay(runs, { maxRunning: undefined, rate: undefined }, untilMs);
    const then = replay(runs, limit, untilMs);
    const split = (await readSplits(view, `${scope}s`, since, until, name)).get(name);
    const shares =
      scope === "tenant" && wanted.weight !== undefined ? await sharesOf(view, name, wanted, since, until) : [];
    const [sharesBefore, sharesAfter] = [shares.map(({ before }) => before), shares.map(({ after }) => after)];
    return {
      before: {
        ...{ starts: was.starts, delayed: 0, notStarted: 0, delayMeanMs: 0, delayMaxMs: 0, mostAtOnce: was.mostAtOnce },
        shareEntitled: sharesBefore[0] ?? null,
      },
      after: {
        starts: then.starts - then.notStarted,
        ...{ delayed: then.delayed, notStarted: then.notStarted },
        ...{ delayMeanMs: then.delayMeanMs, delayMaxMs: then.delayMaxMs, mostAtOnce: then.mostAtOnce },
        shareEntitled: sharesAfter[0] ?? null,
      },
      heldByLimits: split === undefined ? null : split.limits,
      message: [sentenceOf(then), shareSentence(shares[0]), looserSentence(then.delayed, split?.limits)].join(""),
      basis: {
        ...{ runs: runs.length, since: since.toISOString(), until: until.toISOString(), isPart },
        note: basisOf(runs.length, isPart, limit, wanted),
      },
    };
  };

/** What is left out stays as it is; null takes it away. A rate at enqueue delays no start. */
function limitOf(stored: StoredSetting | undefined, { maxRunning, rate }: Wanted): ReplayedLimit {
  const cap = maxRunning === undefined ? stored?.maxRunning : maxRunning;
  const checked = rate === undefined || rate === null ? undefined : checkRate(rate, "rate");
  const kept =
    rate === undefined && stored?.limit != null && stored.at === "start"
      ? { limit: stored.limit, perMs: stored.perMs!, how: stored.how! }
      : undefined;
  return {
    maxRunning: cap ?? undefined,
    rate: checked?.at === "start" ? { limit: checked.limit, perMs: checked.perMs, how: checked.how } : kept,
  };
}

/** The part that the tenant is entitled to, with its weight and with the other one, minute by minute. */
async function sharesOf(view: Session, tenant: string, { weight }: Wanted, since: Date, until: Date) {
  const served = await readServed(view, since, until, STEP_MS);
  const { rows: demand, looked } = await readDemand(view, since, until, STEP_MS);
  const entitled = (of: number | undefined) => {
    const own = <Row extends { tenant: string; weight: number }>(rows: readonly Row[]) =>
      of === undefined ? rows : rows.map((row) => (row.tenant === tenant ? { ...row, weight: of } : row));
    const lanes = lanesOf(own(served), own(demand), HOUR_MS / STEP_MS + 1, looked);
    return lanes.find((lane) => lane.tenant === tenant)?.shareEntitled ?? null;
  };
  const [before, after] = [entitled(undefined), entitled(weight ?? 1)];
  return before === null || after === null ? [] : [{ before, after }];
}

const percent = (share: number) => `${Math.round(share * 1000) / 10} %`;
const seconds = (ms: number) =>
  ms < 120_000 ? `${Math.round(ms / 100) / 10} s` : `${Math.round(ms / 6_000) / 10} min`;

function sentenceOf({ starts, delayed, notStarted, delayMeanMs, delayMaxMs }: ReturnType<typeof replay>): string {
  if (starts === 0) return "Nothing of this ran in the last hour: there is nothing to replay.";
  if (delayed === 0) return `None of the ${starts} starts of the last hour would have been delayed.`;
  const never = notStarted > 0 ? `; ${notStarted} would not have started within the hour` : "";
  return `${delayed} of the ${starts} starts of the last hour would have come later, by ${seconds(delayMeanMs)} on average and ${seconds(delayMaxMs)} at most${never}.`;
}

const shareSentence = (share: { before: number; after: number } | undefined): string =>
  share === undefined
    ? ""
    : ` By weight the tenant would have been entitled to ${percent(share.after)} of all starts instead of ${percent(share.before)}.`;

const looserSentence = (delayed: number, limits: number | undefined): string =>
  delayed > 0 || limits === undefined || limits === 0
    ? ""
    : ` Of its waiting jobs ${percent(limits)} were held by limits: that much could have gone sooner with higher ones.`;

function basisOf(runs: number, isPart: boolean, limit: ReplayedLimit, { rate }: Wanted): string {
  const looked = isPart ? ` among the newest ${LOOKED_MAX} ended jobs, which do not cover the whole hour` : "";
  const atEnqueue =
    rate != null && limit.rate === undefined
      ? " A rate at enqueue refuses jobs and delays no start: it is not replayed."
      : "";
  return `Replayed on ${runs} runs${looked}. Runs keep their order and their length; what workers would have done with the time is not known.${atEnqueue}`;
}
