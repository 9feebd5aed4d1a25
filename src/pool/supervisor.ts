// A supervisor: one worker that claims and settles, and a pool of child processes that run the handlers. This file only wires the parts together.
//
//  start  1. load the config, start children, wait for the first to be ready      stop  1. claim no more; running jobs end within the grace of their kind
//         2. start the worker; capacity follows the children                            2. tell the rest to stop, release them
//         3. report, watch, scale, each in a loop of its own                            3. end the children, say goodbye

import { EventEmitter } from "node:events";
import { hostname } from "node:os";
import { type Clock, systemClock } from "../base/clock.js";
import { FairmillError, ShutdownError } from "../base/errors.js";
import { createLogger, type Logger } from "../base/log.js";
import { newWorkerId } from "../core/worker/worker-id.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { checkFit } from "../db/migrate/schema-state.js";
import { loadModule } from "./child/load-module.js";
import type { Child, ChildFacts } from "./child.js";
import { createPool } from "./create-pool.js";
import type { ChildState } from "./life-cycle.js";
import { Loops } from "./loops.js";
import { type Metric, metricsOf } from "./metrics.js";
import type { Pool } from "./pool.js";
import type { CrashLoopError } from "./pool-errors.js";
import { leavePool } from "./pool-statements.js";
import { readDesired } from "./pool-views.js";
import type { ScaleDecision, ScaleInputs } from "./scale/brain.js";
import { createScaler } from "./scale/create-scaler.js";
import type { Scaler } from "./scale/scaler.js";
import type { SupervisorEvents } from "./supervisor-events.js";
import { healthOf, type SupervisorHealth } from "./supervisor-health.js";
import { makeParts, type SupervisorParts } from "./supervisor-parts.js";
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
  /** Half a start or a whole one, whether it succeeds or not. */
  #starting: Promise<void> | undefined;
  #db: Database | undefined;
  #pool: Pool | undefined;
  #parts: SupervisorParts | undefined;
  #scaler: Scaler | undefined;
  readonly #loops: Loops;
  #error: CrashLoopError | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: SupervisorOptions, internals: SupervisorInternals = {}) {
    this.#path = checkSupervisorOptions(options);
    this.#options = options;
    this.#internals = internals;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.logger ?? createLogger();
    this.#startedAtMs = this.#clock.now();
    this.#loops = new Loops(this.#clock, this.#stopping.signal, (doing, error) => this.#trouble(doing, error));
    const random = this.#clock.random();
    this.id = newWorkerId({ host: hostname(), pid: process.pid, nowMs: this.#startedAtMs, random });
  }

  /** Resolves when the first children are ready and the worker claims. Rejects when it is stopped before. */
  async start(): Promise<this> {
    if (this.#starting !== undefined) throw stateError("A supervisor is started once; create another one.");
    this.#starting = this.#start();
    try {
      await this.#starting;
      return this;
    } catch (error) {
      // Of a module that does not load, and of wrong settings, nothing has begun.
      if (this.#db === undefined) throw error;
      await this.stop({ grace: 0 });
      throw this.#error ?? explainFailure(error, this.#db.schema);
    }
  }

  async #start(): Promise<void> {
    const config = this.#internals.config ?? (await loadModule<PoolConfig>(this.#path));
    const settings = settingsOf(config, this.#options);
    this.#log = settings.worker.logger ?? this.#log;
    this.#mayGoOn();
    const db = new Database(settings.worker, { connectionsMax: 2, applicationName: "fairmill supervisor" });
    this.#db = db;
    // Before processes are started that could do nothing.
    await checkFit(db);
    this.#mayGoOn();
    if (this.#options.inline !== true) await this.#startChildren(settings, db);
    this.#mayGoOn();
    this.#parts = makeParts({
      ...{ clock: this.#clock, log: this.#log, db, supervisor: this.id, startedAtMs: this.#startedAtMs },
      ...{ settings, config, options: this.#options, pool: this.#pool, stuckMs: this.#internals.stuckMs },
      onReplaced: (part) => this.events.emit("restarted", { part }),
      health: () => this.health(),
    });
    await this.#parts.claiming.start();
    await this.#report();
    this.#mayGoOn();
    this.#startLoops(this.#parts);
    this.#log.info(
      { supervisor: this.id, pool: settings.pool.pool, children: this.#pool?.serving.length ?? 0 },
      "Supervisor started",
    );
    this.events.emit("started", { supervisor: this.id });
  }

  /** What was stopped while it starts does not go on with it. */
  #mayGoOn(): void {
    if (this.#stopping.signal.aborted) throw stateError("The supervisor was stopped while it started.");
  }

  /** The worker that claims for the children; its events tell of every job. */
  get worker(): Worker {
    if (this.#parts === undefined) throw stateError("The supervisor has not been started.");
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
   * then on. False: a new one did not get ready, or handlers run in this process.
   */
  async restart(): Promise<boolean> {
    if (this.#options.inline === true) {
      this.#log.warn({ supervisor: this.id }, "There are no children to replace: start the process again for new code");
      return false;
    }
    this.#log.info({ supervisor: this.id }, "Restarting all children, one after the other");
    if (this.#pool === undefined || this.#parts === undefined) return true;
    const isDone = await this.#parts.adoption.awaiting(this.#pool.restart("restarted"));
    if (isDone) await this.#adopt();
    return isDone;
  }

  health(): SupervisorHealth {
    return healthOf({
      ...{ claiming: this.#parts?.claiming, pool: this.#pool, error: this.#error },
      isRunning: this.#loops.isRunning,
    });
  }

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
    // A start that waits for children to be ready waits no longer.
    if (!this.#loops.hasBegun) await this.#pool?.stop();
    await this.#starting?.catch(() => {});
    await this.#scaler?.stop();
    await this.#parts?.claiming.stop(graceMs);
    await this.#pool?.stop();
    await this.#loops.ended();
    if (this.#db !== undefined) {
      if (this.#pool !== undefined || this.#parts !== undefined)
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
      onOffer: (offer) => this.#parts?.adoption.compare(offer),
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

  #startLoops({ claiming, db, pool, reporter }: SupervisorParts): void {
    const { pool: settings, checked } = claiming.settings;
    this.#loops.repeat(settings.healthMs, () => this.#report(), "reporting children");
    if (pool === undefined) return;
    const watchMs = Math.min(settings.healthMs, checked.leaseMs);
    this.#loops.repeat(watchMs, () => claiming.watch(), "watching the worker");
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
    if (this.#parts === undefined || this.#stopping.signal.aborted) return;
    try {
      const adopted = await this.#parts.adoption.adopt(this.#pool?.serving[0]?.offer);
      if (adopted === undefined) return;
      this.events.emit("adopted", adopted);
    } catch (error) {
      return this.#trouble("claiming by the new code", error);
    }
    await this.#report().catch((error: unknown) => this.#trouble("reporting children", error));
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

const stateError = (message: string) => new FairmillError("FAIRMILL_WORKER_STATE", message);

/** A supervisor with a pool of processes on this host. */
export const createSupervisor = (options: SupervisorOptions): Supervisor => new Supervisor(options);
