// How many children there should be: decided here, purely, without a database, a clock or dice. Every answer says why, and also says what was
// wanted and did not happen.
import { type Floor, floorAt } from "./floors.js";

export interface ScaleSettings {
  readonly min: number;
  readonly max: number;
  readonly policy: "utilisation" | "targetWait";
  readonly targetWaitMs: number;
  readonly busyAbove: number;
  readonly busyForMs: number;
  readonly idleBelow: number;
  readonly idleForMs: number;
  readonly stepMax: number;
  readonly floors: readonly Floor[];
  readonly connections: { readonly perChild: number; readonly max: number } | undefined;
}

/** What is known at one moment. Counts of jobs are of the fleet, counts of children of what is scaled. */
export interface ScaleInputs {
  /** By the clock on the wall. */
  readonly nowMs: number;
  /** Children that live and stay, and those of them that have said ready. */
  readonly current: number;
  readonly ready: number;
  /** Of the queue that is worst off: jobs that one child runs at once, and that the ready ones run now. */
  readonly capacity: number;
  readonly busy: number;
  /** Jobs that could start now, if there were capacity. Nothing that a limit, a key, a pause or a time keeps, nor what has no handler. */
  readonly runnable: number;
  /** How often one child would have to fill its capacity to start them: of the queue that is worst off. Default: all are of one queue. */
  readonly waves?: number;
  /** What waits besides, by what keeps it. */
  readonly heldBack: Readonly<Record<string, number>>;
  /** Runnable jobs that came in each second; undefined: not known yet. */
  readonly arrivalsPerS: number | undefined;
  /** How long a job runs on average; undefined: none has ended yet. */
  readonly meanRunMs: number | undefined;
  /** Hosts that share the work. */
  readonly hosts: number;
  /** Bytes that a child takes, and that all may take. */
  readonly memory: { readonly perChild: number; readonly max: number } | undefined;
}

/** What has to be remembered from one decision to the next. */
export interface ScaleHistory {
  /** Since when more than `busyAbove` is busy, less than `idleBelow`, and fewer children would do. */
  readonly busySinceMs?: number | undefined;
  readonly idleSinceMs?: number | undefined;
  readonly spareSinceMs?: number | undefined;
}

export interface ScaleDecision {
  readonly action: "up" | "down" | "hold" | "suppressed";
  readonly current: number;
  /** What the work alone asks for. */
  readonly wanted: number;
  /** What there shall be. */
  readonly target: number;
  readonly reason: string;
}

interface Bound {
  readonly count: number;
  readonly name: string;
}

export function decideScale(
  inputs: ScaleInputs,
  history: ScaleHistory,
  settings: ScaleSettings,
): { readonly decision: ScaleDecision; readonly history: ScaleHistory } {
  const lower = lowerBound(inputs, settings);
  const upper = upperBound(inputs, settings, lower);
  const next = remember(inputs, history, settings);
  const want = wantedOf(inputs, next, settings);
  const decision = bounded(inputs, want, lower, upper, settings);
  // A window begins again when something was done.
  const acted = decision.action === "up" || decision.action === "down";
  return { decision, history: acted ? {} : next };
}

/** Part of the ready capacity that is busy. */
function utilisationOf({ busy, ready, capacity }: ScaleInputs): number {
  return ready * capacity === 0 ? 0 : busy / (ready * capacity);
}

function lowerBound({ nowMs }: ScaleInputs, { min, floors }: ScaleSettings): Bound {
  const floor = floorAt(floors, nowMs);
  return floor !== undefined && floor.min > min
    ? { count: floor.min, name: `the floor ${floor.text}` }
    : { count: min, name: "the minimum" };
}

/** The tightest cap, by its name; never below the lower bound. */
function upperBound({ hosts, memory }: ScaleInputs, { max, connections }: ScaleSettings, lower: Bound): Bound {
  const caps: Bound[] = [{ count: max, name: "the maximum" }];
  // The database is one for all hosts of the pool.
  if (connections !== undefined)
    caps.push({ count: Math.floor(connections.max / connections.perChild / Math.max(1, hosts)), name: "connections" });
  if (memory !== undefined && memory.perChild > 0)
    caps.push({ count: Math.floor(memory.max / memory.perChild), name: "memory" });
  const tightest = caps.reduce((a, b) => (b.count < a.count ? b : a));
  return tightest.count < lower.count ? lower : tightest;
}

function remember(inputs: ScaleInputs, history: ScaleHistory, settings: ScaleSettings): ScaleHistory {
  const { nowMs, ready } = inputs;
  const utilisation = utilisationOf(inputs);
  const since = (isTrue: boolean, before: number | undefined) => (isTrue ? (before ?? nowMs) : undefined);
  const needed = neededFor(inputs, settings);
  return {
    busySinceMs: since(ready > 0 && utilisation > settings.busyAbove, history.busySinceMs),
    // One that is starting is not idle: it was wanted.
    idleSinceMs: since(ready > 0 && utilisation < settings.idleBelow, history.idleSinceMs),
    spareSinceMs: since(needed !== undefined && needed < inputs.current, history.spareSinceMs),
  };
}

/** Children that keep the wait below the target; undefined: nothing is known yet of how long jobs run. */
function neededFor(inputs: ScaleInputs, { targetWaitMs }: Pick<ScaleSettings, "targetWaitMs">): number | undefined {
  const { runnable, arrivalsPerS = 0, meanRunMs, capacity: each, hosts } = inputs;
  const capacity = Math.max(1, each);
  if (runnable === 0 && arrivalsPerS === 0) return 0;
  if (meanRunMs === undefined) return undefined;
  const { waves = runnable / capacity } = inputs;
  const load = (arrivalsPerS * meanRunMs) / 1_000 / capacity + (waves * meanRunMs) / targetWaitMs;
  return Math.ceil(load / Math.max(1, hosts) - 1e-9);
}

interface Want {
  readonly count: number;
  readonly reason: string;
  /** Fewer are wanted, but not for long enough. */
  readonly isTooEarly?: boolean;
}

function wantedOf(inputs: ScaleInputs, history: ScaleHistory, settings: ScaleSettings): Want {
  const { current, runnable, busy } = inputs;
  const percent = `${Math.round(utilisationOf(inputs) * 100)} % busy`;
  if (current === 0)
    return runnable > 0
      ? {
          count: Math.max(1, settings.policy === "targetWait" ? (neededFor(inputs, settings) ?? 1) : 1),
          reason: `${said(inputs)} and no child runs`,
        }
      : { count: 0, reason: "nothing to do" };
  const byUse = byUtilisation(inputs, history, settings);
  const up = settings.policy === "targetWait" ? byWait(inputs, settings) : undefined;
  const most = up !== undefined && up.count > byUse.count ? up : byUse;
  if (most.count > current) return most;
  // Down: where two rules are in force, only when both have said so for the whole window.
  const isIdle = byUse.count < current;
  const needed = settings.policy === "targetWait" ? neededFor(inputs, settings) : undefined;
  const isSpare = settings.policy === "utilisation" || isOver(history.spareSinceMs, settings.idleForMs, inputs.nowMs);
  const wouldEmpty = current === 1 && (busy > 0 || runnable > 0);
  if (isIdle && isSpare && !wouldEmpty) return byUse;
  if ((isIdle || history.idleSinceMs !== undefined) && !wouldEmpty && (needed === undefined || needed < current))
    return {
      count: current - 1,
      reason: `${percent}: one fewer when it stays so for ${minutes(settings.idleForMs)}`,
      isTooEarly: true,
    };
  return { count: current, reason: percent };
}

/** The paper's rules: one more, or one fewer, at a time. */
function byUtilisation(inputs: ScaleInputs, history: ScaleHistory, settings: ScaleSettings): Want {
  const { current, nowMs } = inputs;
  const { busyAbove, busyForMs, idleBelow, idleForMs } = settings;
  if (isOver(history.busySinceMs, busyForMs, nowMs))
    return { count: current + 1, reason: `more than ${percentOf(busyAbove)} busy for ${minutes(busyForMs)}` };
  if (isOver(history.idleSinceMs, idleForMs, nowMs))
    return { count: current - 1, reason: `less than ${percentOf(idleBelow)} busy for ${minutes(idleForMs)}` };
  return { count: current, reason: "" };
}

function byWait(inputs: ScaleInputs, settings: ScaleSettings): Want | undefined {
  const needed = neededFor(inputs, settings);
  const { current, runnable } = inputs;
  if (needed === undefined)
    // Nothing has ended yet: one more at a time, and only where the work does not fit into what is there.
    return runnable > 0 && utilisationOf(inputs) >= 1
      ? { count: current + 1, reason: `${said(inputs)}, all capacity is busy, and no job has ended yet` }
      : undefined;
  const { arrivalsPerS = 0, meanRunMs = 0 } = inputs;
  return {
    count: needed,
    reason: `${said(inputs)}, ${round(arrivalsPerS)} come a second, one runs ${round(meanRunMs / 1_000)} s: to wait at most ${round(settings.targetWaitMs / 1_000)} s`,
  };
}

function bounded(inputs: ScaleInputs, want: Want, lower: Bound, upper: Bound, settings: ScaleSettings): ScaleDecision {
  const { current, ready } = inputs;
  const wanted = Math.max(0, want.count);
  const make = (action: ScaleDecision["action"], target: number, reason: string): ScaleDecision => ({
    action,
    current,
    wanted,
    target,
    reason,
  });
  if (current < lower.count) return make("up", lower.count, `${lower.name} is ${lower.count}`);
  if (current > upper.count) return make("down", current - 1, `${upper.count} by ${upper.name}`);
  if (wanted > current) {
    if (upper.count === current)
      return make("suppressed", current, `wanted ${wanted}, ${upper.count} by ${upper.name}: ${want.reason}`);
    if (ready < current)
      return make(
        "suppressed",
        current,
        `wanted ${wanted}, but ${current - ready} of ${current} are still starting: ${want.reason}`,
      );
    const target = Math.min(wanted, upper.count, current + settings.stepMax);
    const why =
      target === wanted
        ? ""
        : target === upper.count
          ? `wanted ${wanted}, ${target} by ${upper.name}: `
          : `wanted ${wanted}, ${settings.stepMax} at a time: `;
    return make("up", target, `${why}${want.reason}`);
  }
  if (wanted < current) {
    if (lower.count === current)
      return make(
        want.isTooEarly ? "hold" : "suppressed",
        current,
        `wanted ${wanted}, ${lower.count} by ${lower.name}: ${want.reason}`,
      );
    if (want.isTooEarly) return make("suppressed", current, want.reason);
    return make("down", current - 1, want.reason);
  }
  return make("hold", current, want.reason);
}

const isOver = (sinceMs: number | undefined, forMs: number, nowMs: number) =>
  sinceMs !== undefined && nowMs - sinceMs >= forMs;

/** "4100 wait, 3900 of them kept: 3800 capped, 100 scheduled". */
function said({ runnable, heldBack }: ScaleInputs): string {
  const kept = Object.entries(heldBack).filter(([, count]) => count > 0);
  const sum = kept.reduce((total, [, count]) => total + count, 0);
  if (sum === 0) return `${runnable} wait`;
  return `${runnable + sum} wait, of which ${runnable} count (${kept.map(([why, count]) => `${count} ${why}`).join(", ")})`;
}

const percentOf = (share: number) => `${Math.round(share * 100)} %`;
const minutes = (ms: number) => (ms >= 60_000 ? `${round(ms / 60_000)} min` : `${round(ms / 1_000)} s`);
const round = (value: number) => Number(value.toPrecision(3));
