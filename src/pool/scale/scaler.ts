// Decides again and again how many children there should be, has that done, and records it with its inputs and its reason.
import { type Clock, sleep } from "../../base/clock.js";
import type { Logger } from "../../base/log.js";
import type { Database } from "../../db/database.js";
import { type Fleet, readFleet, recordScale } from "../pool-statements.js";
import { decideScale, type ScaleDecision, type ScaleHistory, type ScaleInputs, type ScaleSettings } from "./brain.js";
import { wavesOf } from "./busiest.js";

/** What is scaled: processes of this host, or replicas of a Deployment. */
export interface ScaleTarget {
  /** Undefined: another supervisor scales it, or it cannot be asked now. */
  look(): Promise<TargetFacts | undefined>;
  apply(decision: ScaleDecision): Promise<void>;
}

export type TargetFacts = Pick<ScaleInputs, "current" | "ready" | "capacity" | "busy" | "hosts" | "memory">;

export interface ScalerOptions {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  readonly target: ScaleTarget;
  readonly settings: ScaleSettings & { readonly pool: string; readonly scaleMs: number };
  readonly supervisor: string;
  /** Jobs that one of what is scaled runs at once, by queue. */
  readonly capacity: () => ReadonlyMap<string, number>;
  readonly kinds: () => readonly string[];
  /** Jobs that were claimed and that no child could take yet: to the database they run, and without a child they never would. */
  readonly waiting: () => number;
  /** How long a job runs on average; undefined: none has ended yet. */
  readonly meanRunMs: () => number | undefined;
  readonly onDecision: (decision: ScaleDecision, inputs: ScaleInputs) => void;
  readonly onTrouble: (error: unknown) => void;
}

/** Without a child nothing else would notice that there is work again. */
const LOOK_AT_ZERO_MS = 1_000;

export class Scaler {
  readonly #options: ScalerOptions;
  readonly #stop = new AbortController();
  #history: ScaleHistory = {};
  #before: { readonly atMs: number; readonly fleet: Fleet } | undefined;
  #isAtZero = false;
  #loop: Promise<void> | undefined;

  constructor(options: ScalerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** One decision; undefined when it is another supervisor's. */
  async runOnce(): Promise<ScaleDecision | undefined> {
    const { db, settings, supervisor, target, onDecision } = this.#options;
    const facts = await target.look();
    if (facts === undefined) return undefined;
    const inputs = await this.#inputs(facts);
    const { decision, history } = decideScale(inputs, this.#history, settings);
    this.#history = history;
    this.#isAtZero = decision.target === 0;
    if (decision.target !== decision.current) await target.apply(decision);
    // On record when it is done: a target that refuses is trouble, not a decision.
    const desired = decision.target * inputs.hosts;
    await recordScale(db, settings.pool, supervisor, decision, inputs, desired, settings.scaleMs);
    onDecision(decision, inputs);
    return decision;
  }

  async #inputs(facts: TargetFacts): Promise<ScaleInputs> {
    const { db, clock, meanRunMs, waiting } = this.#options;
    const capacity = this.#options.capacity();
    const fleet = await readFleet(db, [...capacity.keys()], this.#options.kinds());
    const atMs = clock.monotonic();
    const { runnable: ready = 0, ...heldBack } = fleet.backlog;
    const claimed = waiting();
    const runnable = ready + claimed;
    const waves = wavesOf(fleet.runnable, capacity) + claimed / Math.max(1, ...capacity.values());
    const arrivalsPerS = arrivalsSince(this.#before, { atMs, fleet });
    this.#before = { atMs, fleet };
    return {
      ...facts,
      nowMs: clock.now(),
      runnable,
      waves,
      heldBack,
      arrivalsPerS,
      meanRunMs: meanRunMs(),
    };
  }

  async #run(): Promise<void> {
    const { clock, settings, onTrouble } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const pauseMs = this.#isAtZero ? Math.min(LOOK_AT_ZERO_MS, settings.scaleMs) : settings.scaleMs;
      await sleep(clock, pauseMs, signal);
      if (signal.aborted) return;
      await this.runOnce().catch(onTrouble);
    }
  }
}

interface Look {
  readonly atMs: number;
  readonly fleet: Pick<Fleet, "claimed" | "backlog">;
}

/** What has left the backlog, by claims, and what it has grown by. A worker that ended takes its count with it: that is no negative arrival. */
export function arrivalsSince(before: Look | undefined, now: Look): number | undefined {
  if (before === undefined || now.atMs <= before.atMs) return undefined;
  const claimed = Math.max(0, now.fleet.claimed - before.fleet.claimed);
  const grown = (now.fleet.backlog["runnable"] ?? 0) - (before.fleet.backlog["runnable"] ?? 0);
  return (Math.max(0, claimed + grown) * 1_000) / (now.atMs - before.atMs);
}
