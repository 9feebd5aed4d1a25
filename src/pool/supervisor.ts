// A supervisor: one worker that claims and settles, and a pool of child processes that run the handlers. This file only wires the parts together.
//
//  start  1. load the config, start children, wait for the first to be ready      stop  1. claim no more; running jobs end within the grace of their kind
//         2. start the worker; capacity follows the children                            2. tell the rest to stop, release them
//         3. report, watch, scale, each in a loop of its own                            3. end the children, say goodbye

import { EventEmitter } from "node:events";
import { hostname } from "node:os";
import { type Clock, sleep, systemClock } from "../base/clock.js";
import { FairmillError, ShutdownError } from "../base/errors.js";
import { createLogger, type Logger } from "../base/log.js";
import { newWorkerId } from "../core/worker/worker-id.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { isSameOffer, type Offer, workerOf } from "./border/offer.js";
import { loadModule } from "./child/load-module.js";
import type { Child, ChildFacts } from "./child.js";
import { Claiming } from "./claiming.js";
import { createPool } from "./create-pool.js";
import type { PartName } from "./health.js";
import type { ChildState } from "./life-cycle.js";
import { type Metric, metricsOf } from "./metrics.js";
import type { Pool } from "./pool.js";
import type { CrashLoopError } from "./pool-errors.js";
import { PoolReporter } from "./pool-reporter.js";
import { leavePool } from "./pool-statements.js";
import { readDesired } from "./pool-views.js";
import type { ScaleDecision, ScaleInputs } from "./scale/brain.js";
import { createScaler } from "./scale/create-scaler.js";
import type { Scaler } from "./scale/scaler.js";
import {
  checkSupervisorOptions,
  kindsOf,
  moduleProgram,
  type PoolConfig,
  type SupervisorInternals,
  type SupervisorOptions,
  type SupervisorSettings,
  settingsOf,
} from "./supervisor-settings.js";
import { checkStop, type StopOptions, type Worker } from "./worker-port.js";

export interface SupervisorEvents {
  started: [{ supervisor: string }];
  /** A child has changed its state; `before` is what it was. */
  child: [{ child: ChildFacts; before: ChildState }];
  /** A decision about the size of the pool: also those that change nothing. */
  scaled: [{ decision: ScaleDecision; inputs: ScaleInputs }];
  /** A part of the worker had made no progress for too long: there is a new one. */
  restarted: [{ part: PartName }];
  /** The children's code offers other kinds or queues than before: these are claimed now. */
  adopted: [{ kinds: readonly string[]; queues: readonly string[] }];
  reported: [{ hosts: number }];
  trouble: [{ doing: string; error: unknown }];
  /** The children fail again and again: the supervisor stops. */
  failed: [{ error: CrashLoopError }];
  stopped: [{ supervisor: string }];
}

export interface SupervisorHealth {
  readonly ok: boolean;
  /** Its parts get on, and its children are not given up: what a probe of liveness asks. */
  readonly live: boolean;
  /** It has started, is not stopping, and has a child that can be given jobs, where one is wanted: what a probe of readiness asks. */
  readonly ready: boolean;
  /** What is wrong, in words. */
  readonly problems: readonly string[];
  /** How long ago each part of the worker last succeeded. */
  readonly parts: Readonly<Record<PartName, number>>;
  readonly isListening: boolean;
  /** Parts that had to be replaced since the start. */
  readonly restarts: number;
  readonly children: { readonly wanted: number; readonly serving: number };
}

/** What there is once the supervisor has begun to start. */
interface Parts {
  readonly db: Database;
  readonly config: PoolConfig;
  readonly pool: Pool | undefined;
  readonly claiming: Claiming;
  readonly reporter: PoolReporter;
}

export class Supervisor {
  readonly events: EventEmitter<SupervisorEvents> = new EventEmitter();
  readonly id: string;
  readonly #options: SupervisorOptions;
  readonly #internals: SupervisorInternals;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  readonly #startedAtMs: number;
  #log: Logger;
  #isStarted = false;
  #db: Database | undefined;
  #pool: Pool | undefined;
  #parts: Parts | undefined;
  #scaler: Scaler | undefined;
  #loops: Promise<unknown>[] = [];
  #error: CrashLoopError | undefined;
  #stopped: Promise<void> | undefined;
  /** What is claimed by; undefined: as the config that was loaded at the start says. */
  #offer: Offer | undefined;

  constructor(options: SupervisorOptions, internals: SupervisorInternals = {}) {
    this.#path = checkSupervisorOptions(options);
    this.#options = options;
    this.#internals = internals;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.logger ?? createLogger();
    this.#startedAtMs = this.#clock.now();
    const [nowMs, random] = [this.#clock.now(), this.#clock.random()];
    this.id = newWorkerId({ host: hostname(), pid: process.pid, nowMs, random });
  }

  /** Resolves when the first children are ready and the worker claims. */
  async start(): Promise<this> {
    if (this.#isStarted)
      throw new FairmillError("FAIRMILL_WORKER_STATE", "A supervisor is started once; create another one.");
    this.#isStarted = true;
    const config = this.#internals.config ?? (await loadModule<PoolConfig>(this.#path));
    const settings = settingsOf(config, this.#options);
    this.#log = settings.worker.logger ?? this.#log;
    const db = new Database(settings.worker, { connectionsMax: 2, applicationName: "fairmill supervisor" });
    this.#db = db;
    try {
      if (this.#options.inline !== true) await this.#startChildren(settings, db);
      this.#parts = this.#makeParts(settings, db, config);
      await this.#parts.claiming.start();
      await this.#report();
    } catch (error) {
      await this.stop({ grace: 0 });
      throw this.#error ?? explainFailure(error, db.schema);
    }
    this.#startLoops(this.#parts);
    this.#log.info(
      { supervisor: this.id, pool: settings.pool.pool, children: this.#pool?.serving.length ?? 0 },
      "Supervisor started",
    );
    this.events.emit("started", { supervisor: this.id });
    return this;
  }

  /** The worker that claims for the children; its events tell of every job. */
  get worker(): Worker {
    if (this.#parts === undefined)
      throw new FairmillError("FAIRMILL_WORKER_STATE", "The supervisor has not been started.");
    return this.#parts.claiming.worker;
  }

  children(): readonly ChildFacts[] {
    return this.#pool?.facts() ?? [];
  }

  metrics(): Metric[] {
    return metricsOf(this.children());
  }

  /**
   * New processes for all children, each ready before an old one drains: after a deployment. Kinds and queues that the new code has are claimed from
   * then on. False: a new one did not get ready.
   */
  async restart(): Promise<boolean> {
    this.#log.info({ supervisor: this.id }, "Restarting all children, one after the other");
    const isDone = (await this.#pool?.restart("restarted")) ?? true;
    if (isDone) await this.#adopt();
    return isDone;
  }

  health(): SupervisorHealth {
    const claiming = this.#parts?.claiming;
    const parts = claiming?.partsMs ?? { claim: 0, upkeep: 0, heartbeat: 0 };
    const serving = this.#pool?.serving.length ?? 0;
    const wanted = this.#pool?.target ?? 0;
    const stuck = claiming?.stuck();
    const problems = [
      ...(stuck === undefined ? [] : [`${stuck} has not succeeded for ${Math.round(parts[stuck])} ms`]),
      ...(serving === 0 && wanted > 0 ? [`none of ${wanted} children is ready`] : []),
      ...(this.#error === undefined ? [] : [this.#error.message]),
    ];
    const isRunning = this.#loops.length > 0 && !this.#stopping.signal.aborted;
    return {
      ok: problems.length === 0,
      live: stuck === undefined && this.#error === undefined,
      ready: problems.length === 0 && isRunning,
      problems,
      parts,
      isListening: claiming?.isListening ?? false,
      restarts: claiming?.restarts ?? 0,
      children: { wanted, serving },
    };
  }

  /** The name of its pool. */
  get pool(): string {
    return this.#parts?.claiming.settings.pool.pool ?? this.#options.worker?.pool ?? "default";
  }

  /** How many workers the pool should have, over all hosts; undefined: it has not been reported yet. */
  async desired(): Promise<number | undefined> {
    return this.#parts && readDesired(this.#parts.db, this.pool);
  }

  /** Stops gracefully; a second call returns the same promise. `grace` overrides the settings. */
  stop(options: StopOptions = {}): Promise<void> {
    try {
      const graceMs = checkStop(options);
      this.#stopped ??= this.#stop(graceMs);
      return this.#stopped;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(graceMs: number | undefined): Promise<void> {
    this.#stopping.abort();
    await this.#scaler?.stop();
    await this.#parts?.claiming.stop(graceMs);
    await this.#pool?.stop();
    await Promise.all(this.#loops);
    if (this.#db !== undefined) {
      await leavePool(this.#db, this.id).catch((error: unknown) => this.#trouble("leaving the pool", error));
      await this.#db.close();
    }
    this.#log.info({ supervisor: this.id }, "Supervisor stopped");
    this.events.emit("stopped", { supervisor: this.id });
  }

  async #startChildren(settings: SupervisorSettings, db: Database): Promise<void> {
    const { pool, first } = createPool({
      ...{ clock: this.#clock, log: this.#log, settings, schema: db.schema },
      program: this.#internals.program ?? moduleProgram(this.#path),
      capacity: () => (this.#parts?.claiming.settings ?? settings).capacity,
      onChild: (child, before) => this.#childChanged(child, before),
      onMessage: (child, message) => {
        this.#parts?.claiming.hear(child, message);
        if (message.type === "verdict" || message.type === "completed") pool.looked(child);
      },
      onLost: (child, exit) => this.#parts?.claiming.lost(child, exit),
      onCapacity: (serving) => this.#parts?.claiming.resize(serving),
      onOffer: (offer) => this.#compare(offer),
      onCrashLoop: (error) => this.#fail(error),
    });
    pool.onGraceOver = (child, number) => {
      const run = child.runs.get(number);
      if (run !== undefined) this.#parts?.claiming.abort(run, new ShutdownError());
    };
    this.#pool = pool;
    pool.resizeTo(first, "started");
    await pool.servingAtLeast(Math.min(1, first));
    if (this.#error !== undefined) throw this.#error;
  }

  #makeParts(settings: SupervisorSettings, db: Database, config: PoolConfig): Parts {
    const claiming = new Claiming({
      ...{ clock: this.#clock, log: this.#log, db, supervisor: this.id, settings, pool: this.#pool },
      stuckMs: this.#internals.stuckMs,
      onReplaced: (part) => this.events.emit("restarted", { part }),
    });
    const reporter = new PoolReporter({
      ...{ db, supervisor: this.id, startedAtMs: this.#startedAtMs },
      settings: () => claiming.settings,
      worker: () => claiming.worker.id,
      health: () => this.health(),
      children: () => this.children(),
      meanRunMs: () => claiming.times.meanMs([], settings.pool.targetWaitMs),
    });
    this.#offer = this.#pool?.serving[0]?.offer;
    return { db, config, pool: this.#pool, claiming, reporter };
  }

  #startLoops({ claiming, db, pool, reporter }: Parts): void {
    const { pool: settings, checked } = claiming.settings;
    this.#loops.push(this.#repeat(settings.healthMs, () => this.#report(), "reporting children"));
    if (pool === undefined) return;
    const watchMs = Math.min(settings.healthMs, checked.leaseMs);
    this.#loops.push(this.#repeat(watchMs, () => claiming.watch(), "watching the worker"));
    this.#scaler = createScaler({
      ...{ db, clock: this.#clock, log: this.#log, settings, supervisor: this.id, pool },
      capacity: () => claiming.settings.capacity,
      kinds: () => kindsOf(claiming.settings.worker),
      waiting: () => claiming.waiting,
      meanRunMs: () => claiming.times.meanMs(claiming.runs, settings.targetWaitMs),
      hosts: () => reporter.hosts,
      onDecision: (decision, inputs) => this.#decided(decision, inputs),
      onTrouble: (error) => this.#trouble("scaling", error),
    });
    this.#scaler.start();
  }

  #decided(decision: ScaleDecision, inputs: ScaleInputs): void {
    const { action, current, target, wanted, reason } = decision;
    if (action === "up" || action === "down")
      this.#log.info({ supervisor: this.id, action, current, wanted, target, reason }, "Pool scaled");
    this.events.emit("scaled", { decision, inputs });
  }

  /** One decision about the size of the pool, now. */
  async scaleOnce(): Promise<ScaleDecision | undefined> {
    return this.#scaler?.runOnce();
  }

  async #repeat(everyMs: number, work: () => Promise<unknown>, doing: string): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await sleep(this.#clock, everyMs, signal);
      if (signal.aborted) return;
      await work().catch((error: unknown) => this.#trouble(doing, error));
    }
  }

  async #report(): Promise<void> {
    if (this.#parts !== undefined) this.events.emit("reported", { hosts: await this.#parts.reporter.report() });
  }

  #childChanged(child: Child, before: ChildState): void {
    if (child.isServing) this.#parts?.claiming.pump();
    this.events.emit("child", { child: child.facts(), before });
    // People and other hosts see it now, not at the next round; working and ready change too often for that.
    const isBig = child.state !== "working" && before !== "working";
    if (isBig && this.#parts !== undefined && !this.#stopping.signal.aborted)
      void this.#report().catch((error: unknown) => this.#trouble("reporting children", error));
  }

  /** All children run the same new code: what that offers is claimed from now on. */
  async #adopt(): Promise<void> {
    const offer = this.#pool?.serving[0]?.offer;
    if (this.#parts === undefined || offer === undefined || this.#stopping.signal.aborted) return;
    if (this.#offer !== undefined && isSameOffer(this.#offer, offer)) return;
    const { config, claiming } = this.#parts;
    try {
      await claiming.adopt(settingsOf({ ...config, ...workerOf(offer) }, this.#options));
    } catch (error) {
      return this.#trouble("claiming by the new code", error);
    }
    this.#offer = offer;
    const { worker, capacity } = claiming.settings;
    const adopted = { kinds: kindsOf(worker), queues: [...capacity.keys()] };
    this.#log.info({ supervisor: this.id, ...adopted }, "Claiming by what the new code offers");
    this.events.emit("adopted", adopted);
    await this.#report().catch((error: unknown) => this.#trouble("reporting children", error));
  }

  /** A process that died may come back with other code than the rest: its kinds are claimed after a restart of all. */
  #compare(offer: Offer): void {
    if (this.#offer !== undefined && !isSameOffer(this.#offer, offer))
      this.#log.warn(
        { supervisor: this.id, kinds: offer.definitions.map(({ kind }) => kind) },
        "A child runs other code than the pool began with: a restart of the children (SIGHUP) adopts its kinds and queues",
      );
  }

  #fail(error: CrashLoopError): void {
    this.#error = error;
    this.#log.error({ supervisor: this.id, error: error.message }, "The pool fails");
    this.events.emit("failed", { error });
    if (this.#scaler !== undefined) void this.stop({ grace: 0 });
  }

  #trouble(doing: string, error: unknown): void {
    this.#log.warn(
      { supervisor: this.id, doing, error: error instanceof Error ? error.message : String(error) },
      "Trouble, will try again",
    );
    this.events.emit("trouble", { doing, error });
  }
}

/** A supervisor with a pool of processes on this host. */
export const createSupervisor = (options: SupervisorOptions): Supervisor => new Supervisor(options);
