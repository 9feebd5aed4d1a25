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
import { VERSION } from "../base/version.js";
import { newWorkerId } from "../core/worker/worker-id.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { loadModule } from "./child/load-module.js";
import type { Child, ChildFacts } from "./child.js";
import { PARTS, type PartName, stuckMsOf, stuckPart } from "./health.js";
import type { ChildState } from "./life-cycle.js";
import { type Metric, metricsOf } from "./metrics.js";
import { Pool } from "./pool.js";
import type { CrashLoopError } from "./pool-errors.js";
import { leavePool, readBeat, reportPool } from "./pool-statements.js";
import { RemoteRunner } from "./remote-runner.js";
import { RunTimes } from "./run-times.js";
import type { ScaleDecision, ScaleInputs } from "./scale/brain.js";
import { busiestOf } from "./scale/busiest.js";
import { floorAt } from "./scale/floors.js";
import { KubernetesTarget } from "./scale/kubernetes-target.js";
import { LocalTarget } from "./scale/local-target.js";
import { Scaler } from "./scale/scaler.js";
import {
  checkSupervisorOptions,
  moduleProgram,
  type PoolConfig,
  type SupervisorInternals,
  type SupervisorOptions,
  type SupervisorSettings,
  settingsOf,
} from "./supervisor-settings.js";
import { checkStop, createPoolWorker, type StopOptions, type Worker } from "./worker-port.js";

export interface SupervisorEvents {
  started: [{ supervisor: string }];
  /** A child has changed its state; `before` is what it was. */
  child: [{ child: ChildFacts; before: ChildState }];
  /** A decision about the size of the pool: also those that change nothing. */
  scaled: [{ decision: ScaleDecision; inputs: ScaleInputs }];
  /** A part of the worker had made no progress for too long: there is a new one. */
  restarted: [{ part: PartName }];
  reported: [{ hosts: number }];
  trouble: [{ doing: string; error: unknown }];
  /** The children fail again and again: the supervisor stops. */
  failed: [{ error: CrashLoopError }];
  stopped: [{ supervisor: string }];
}

export interface SupervisorHealth {
  readonly ok: boolean;
  /** What is wrong, in words. */
  readonly problems: readonly string[];
  /** How long ago each part of the worker last succeeded. */
  readonly parts: Readonly<Record<PartName, number>>;
  readonly isListening: boolean;
  /** Parts that had to be replaced since the start. */
  readonly restarts: number;
  readonly children: { readonly wanted: number; readonly serving: number };
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
  #settings: SupervisorSettings | undefined;
  #db: Database | undefined;
  #pool: Pool | undefined;
  #worker: Worker | undefined;
  #runner: RemoteRunner | undefined;
  #runners: RemoteRunner[] = [];
  #scaler: Scaler | undefined;
  #loops: Promise<unknown>[] = [];
  #runNumbers = 0;
  #hosts = 1;
  #restarts = 0;
  #isListening = false;
  #error: CrashLoopError | undefined;
  #stopped: Promise<void> | undefined;
  #seenAtMs: Record<PartName, number>;
  readonly #times: RunTimes;

  constructor(options: SupervisorOptions, internals: SupervisorInternals = {}) {
    this.#path = checkSupervisorOptions(options);
    this.#options = options;
    this.#internals = internals;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.logger ?? createLogger();
    this.#startedAtMs = this.#clock.now();
    this.id = newWorkerId({
      host: hostname(),
      pid: process.pid,
      nowMs: this.#clock.now(),
      random: this.#clock.random(),
    });
    const now = this.#clock.monotonic();
    this.#seenAtMs = { claim: now, upkeep: now, heartbeat: now };
    this.#times = new RunTimes(this.#clock);
  }

  /** Resolves when the first children are ready and the worker claims. */
  async start(): Promise<this> {
    if (this.#settings !== undefined)
      throw new FairmillError("FAIRMILL_WORKER_STATE", "A supervisor is started once; create another one.");
    const config = this.#internals.config ?? (await loadModule<PoolConfig>(this.#path));
    const settings = settingsOf(config, this.#options);
    this.#settings = settings;
    this.#log = settings.worker.logger ?? this.#log;
    this.#db = new Database(settings.worker, { connectionsMax: 2, applicationName: "fairmill supervisor" });
    try {
      if (this.#options.inline !== true) await this.#startChildren(settings);
      this.#worker = this.#makeWorker();
      await this.#worker.start();
      await this.#report();
    } catch (error) {
      await this.stop({ grace: 0 });
      throw this.#error ?? explainFailure(error, this.#db.schema);
    }
    this.#startLoops(settings);
    this.#log.info(
      { supervisor: this.id, pool: settings.pool.pool, children: this.#pool?.serving.length ?? 0 },
      "Supervisor started",
    );
    this.events.emit("started", { supervisor: this.id });
    return this;
  }

  /** The worker that claims for the children; its events tell of every job. */
  get worker(): Worker {
    if (this.#worker === undefined)
      throw new FairmillError("FAIRMILL_WORKER_STATE", "The supervisor has not been started.");
    return this.#worker;
  }

  children(): readonly ChildFacts[] {
    return this.#pool?.facts() ?? [];
  }

  metrics(): Metric[] {
    return metricsOf(this.children());
  }

  /** New processes for all children, each ready before an old one drains: after a deployment. False: a new one did not get ready. */
  async restart(): Promise<boolean> {
    this.#log.info({ supervisor: this.id }, "Restarting all children, one after the other");
    return (await this.#pool?.restart("restarted")) ?? true;
  }

  health(): SupervisorHealth {
    const nowMs = this.#clock.monotonic();
    const parts = Object.fromEntries(PARTS.map((part) => [part, nowMs - this.#seenAtMs[part]])) as Record<
      PartName,
      number
    >;
    const serving = this.#pool?.serving.length ?? 0;
    const wanted = this.#pool?.target ?? 0;
    const stuck = this.#stuck();
    const problems = [
      ...(stuck === undefined ? [] : [`${stuck} has not succeeded for ${Math.round(parts[stuck])} ms`]),
      ...(serving === 0 && wanted > 0 ? [`none of ${wanted} children is ready`] : []),
      ...(this.#error === undefined ? [] : [this.#error.message]),
    ];
    return {
      ok: problems.length === 0,
      problems,
      parts,
      isListening: this.#isListening,
      restarts: this.#restarts,
      children: { wanted, serving },
    };
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
    if (this.#worker !== undefined) await this.#stopWorker(this.#worker, graceMs);
    await this.#pool?.stop();
    await Promise.all(this.#loops);
    if (this.#db !== undefined) {
      await leavePool(this.#db, this.id).catch((error: unknown) => this.#trouble("leaving the pool", error));
      await this.#db.close();
    }
    this.#log.info({ supervisor: this.id }, "Supervisor stopped");
    this.events.emit("stopped", { supervisor: this.id });
  }

  /** Jobs whose kind has a shorter grace are told to stop before the others are. */
  async #stopWorker(worker: Worker, graceMs: number | undefined): Promise<void> {
    const runs = this.#runs();
    const longest = runs.map(({ claim }) => this.#pool!.graceOf(claim.kind));
    const wholeMs = graceMs ?? Math.max(this.#settings!.checked.graceMs, ...longest);
    const forget = runs.map((run) => {
      const ownMs = Math.min(wholeMs, this.#pool!.graceOf(run.claim.kind));
      return this.#clock.after(ownMs, () => this.#runner?.abort(run, new ShutdownError()));
    });
    await worker.stop({ grace: wholeMs });
    for (const one of forget) one();
  }

  async #startChildren(settings: SupervisorSettings): Promise<void> {
    const { pool, checked, capacity } = settings;
    const { leaseMs, abortGraceMs, stepsMax, effectsMax, effectsBytesMax, keepLogs, redact } = checked;
    const run = { leaseMs, abortGraceMs, stepsMax, effectsMax, effectsBytesMax, keepLogs, redact };
    const program = { ...(this.#internals.program ?? moduleProgram(this.#path)), execArgv: pool.execArgv };
    const made = new Pool({
      clock: this.#clock,
      log: this.#log,
      settings: pool,
      graceMs: checked.graceMs,
      abortGraceMs,
      child: {
        capacity,
        process: {
          program,
          hangMs: pool.hangMs,
          settings: { schema: this.#db!.schema, ...run },
        },
      },
      onChild: (child, before) => this.#childChanged(child, before),
      onMessage: (child, message) => {
        for (const runner of this.#runners) runner.hear(child, message);
        if (message.type === "verdict" || message.type === "completed") made.looked(child);
      },
      onLost: (child, exit) => {
        for (const runner of this.#runners) runner.lost(child, exit);
      },
      onCapacity: (serving) => this.#worker?.resize(serving),
      onKinds: (kinds) => this.#tellKinds(kinds),
      onCrashLoop: (error) => this.#fail(error),
    });
    made.onGraceOver = (child, number) => {
      const run = child.runs.get(number);
      if (run !== undefined) (run.home as RemoteRunner).abort(run, new ShutdownError());
    };
    this.#pool = made;
    const floor = floorAt(pool.floors, this.#clock.now())?.min ?? 0;
    // Replicas are scaled, so what is in one of them is fixed. Never more than the least: the pool grows when there is a reason.
    const first = pool.kubernetes === undefined ? Math.max(pool.min, floor) : (pool.kubernetes.childrenPerPod ?? 1);
    made.resizeTo(first, "started");
    await made.servingAtLeast(Math.min(1, first));
    if (this.#error !== undefined) throw this.#error;
  }

  #makeWorker(): Worker {
    const { worker: options } = this.#settings!;
    if (this.#pool === undefined) return createPoolWorker(options);
    const pool = this.#pool;
    const worker = createPoolWorker(options, {
      makeRunner: (runnerOptions, ends, stores) => {
        const runner = new RemoteRunner(
          {
            allocation: this.#settings!.pool.allocation,
            nextNumber: () => ++this.#runNumbers,
            children: () => pool.serving,
            onEnded: (child) => {
              pool.succeeded(child);
              pool.looked(child);
            },
            onGivenUp: (child, kind) =>
              pool.drain(child, { kind: "wanted", reason: `a handler of kind "${kind}" ignored its signal` }),
          },
          runnerOptions,
          ends,
          stores,
        );
        this.#runner = runner;
        this.#runners.push(runner);
        return runner;
      },
      stats: () => {
        const { serving } = pool;
        const { capacity, busy } = busiestOf(serving, this.#settings!.capacity);
        return { children: serving.length, utilisation: serving.length === 0 ? 0 : busy / capacity / serving.length };
      },
      onUpkept: () => this.#saw("upkeep"),
    });
    worker.resize(pool.serving.length);
    worker.events.on("claimed", () => this.#saw("claim"));
    worker.events.on("idle", () => this.#saw("claim"));
    worker.events.on("listening", ({ working }) => {
      this.#isListening = working;
    });
    worker.events.on("ended", ({ durationMs }) => this.#times.ended(durationMs));
    for (const part of PARTS) this.#saw(part);
    return worker;
  }

  #startLoops(settings: SupervisorSettings): void {
    const { pool, checked, capacity } = settings;
    this.#loops.push(this.#repeat(pool.healthMs, () => this.#report(), "reporting children"));
    if (this.#pool === undefined) return;
    this.#loops.push(
      this.#repeat(Math.min(pool.healthMs, checked.leaseMs), () => this.#watch(), "watching the worker"),
    );
    const db = this.#db!;
    const { kubernetes } = pool;
    const times = kubernetes?.childrenPerPod ?? 1;
    const each = new Map([...capacity].map(([queue, count]) => [queue, count * times]));
    this.#scaler = new Scaler({
      db,
      clock: this.#clock,
      log: this.#log,
      settings: pool,
      supervisor: this.id,
      capacity: each,
      kinds: this.#kinds(),
      waiting: () => this.#runner?.waiting ?? 0,
      meanRunMs: () => this.#times.meanMs(this.#runs(), pool.targetWaitMs),
      target:
        kubernetes === undefined
          ? new LocalTarget({
              pool: this.#pool,
              capacity,
              hosts: () => this.#hosts,
              memoryBytesMax: pool.memoryBytesMax,
            })
          : new KubernetesTarget({
              db,
              pool: pool.pool,
              supervisor: this.id,
              leaseMs: 3 * pool.scaleMs,
              kubernetes,
              capacity: each,
            }),
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

  #runs() {
    return this.#pool?.children.flatMap((child) => [...child.runs.values()]) ?? [];
  }

  #kinds(): string[] {
    const { handlers = [], channels = [] } = this.#settings!.worker;
    return [...handlers, ...channels].map(({ definition }) => definition.kind as string);
  }

  async #report(): Promise<void> {
    const { pool, capacity } = this.#settings!;
    this.#hosts = await reportPool(
      this.#db!,
      pool.pool,
      {
        id: this.id,
        worker: this.#worker?.id ?? null,
        host: hostname(),
        pid: process.pid,
        version: VERSION,
        health: this.health(),
        startedAtMs: this.#startedAtMs,
        everyMs: pool.healthMs,
      },
      this.children(),
      {
        min: pool.min,
        max: pool.max,
        capacity: Math.max(...capacity.values()),
        policy: pool.policy,
        targetWaitMs: pool.targetWaitMs,
        meanRunMs: this.#times.meanMs([], pool.targetWaitMs),
        queues: [...capacity.keys()],
        kinds: this.#kinds(),
      },
    );
    this.events.emit("reported", { hosts: this.#hosts });
  }

  /** The database has answered: whatever has not succeeded for too long is not its fault. */
  async #watch(): Promise<void> {
    const beat = await readBeat(this.#db!, this.worker.id);
    if (beat !== null && beat.state === "alive") this.#seenAtMs.heartbeat = this.#clock.monotonic() - beat.silentMs;
    const part = this.#stuck();
    if (part !== undefined) await this.#replaceWorker(part);
  }

  #stuck(): PartName | undefined {
    const settings = this.#settings;
    if (settings === undefined || this.#pool === undefined) return undefined;
    const { leaseMs, pollMs } = settings.checked;
    const perChild = [...settings.capacity.values()].reduce((sum, each) => sum + each, 0);
    const running = this.#pool.children.reduce((sum, child) => sum + child.running, 0) + (this.#runner?.waiting ?? 0);
    return stuckPart({
      nowMs: this.#clock.monotonic(),
      seenAtMs: this.#seenAtMs,
      mayClaim: running < this.#pool.serving.length * perChild,
      stuckMs: stuckMsOf(settings.pool.hangMs, leaseMs, pollMs),
    });
  }

  /** What it held is released, as far as the database lets it; children and their other work stay. */
  async #replaceWorker(part: PartName): Promise<void> {
    const old = this.#worker!;
    const oldRunner = this.#runner;
    this.#restarts++;
    this.#log.error(
      { supervisor: this.id, worker: old.id, part },
      "A part of the worker has made no progress: replacing the worker",
    );
    this.#worker = this.#makeWorker();
    await this.#worker.start();
    this.events.emit("restarted", { part });
    await old.stop({ grace: 0 });
    this.#runners = this.#runners.filter((runner) => runner !== oldRunner);
  }

  #childChanged(child: Child, before: ChildState): void {
    if (child.isServing) for (const runner of this.#runners) runner.pump();
    this.events.emit("child", { child: child.facts(), before });
    // People and other hosts see it now, not at the next round; working and ready change too often for that.
    const isBig = child.state !== "working" && before !== "working";
    if (isBig && this.#worker !== undefined && !this.#stopping.signal.aborted)
      void this.#report().catch((error: unknown) => this.#trouble("reporting children", error));
  }

  /** New code may know other kinds than this process, which decides what is claimed. */
  #tellKinds(kinds: readonly string[]): void {
    const own = new Set(this.#kinds());
    const missing = [...own].filter((kind) => !kinds.includes(kind));
    const added = kinds.filter((kind) => !own.has(kind));
    if (missing.length + added.length > 0)
      this.#log.warn(
        { supervisor: this.id, missing, added },
        "The children's handlers are not the supervisor's: restart the supervisor to claim by the new ones",
      );
  }

  #saw(part: PartName): void {
    this.#seenAtMs[part] = this.#clock.monotonic();
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
