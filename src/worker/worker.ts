// A worker process: claims, runs and settles until it is stopped. This file makes the services, starts them in order and stops them in reverse.
//
//  start  1. see whether the schema fits this library, and say what limits the handlers' kinds have
//         2. register an incarnation, begin heartbeats
//         3. begin to keep progress and logs, to record intervals, to listen, to do upkeep
//         4. claim, run, settle
//  stop   the same from the end to the beginning: see `wind-down.ts`

import { AlertKeeper } from "../alerts/alert-keeper.js";
import { type Duration, toMs } from "../base/duration.js";
import { FairmillError } from "../base/errors.js";
import { type Service, ServiceLoop } from "../base/service.js";
import { refuseUnknown } from "../base/settings.js";
import { reportStableBatches } from "../batches/stable-batches.js";
import { BulkCarrier } from "../bulk/bulk-carrier.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { Upkeep } from "../core/upkeep/upkeep.js";
import { Incarnation } from "../core/worker/incarnation.js";
import { Listener } from "../core/worker/listener.js";
import { sayUnserved, unservedBy } from "../core/worker/unserved.js";
import { WorkLoop } from "../core/worker/work-loop.js";
import { createWorkerEmitter, type WorkerEmitter } from "../core/worker/worker-events.js";
import { reportNews } from "../core/worker/worker-reports.js";
import { explainFailure } from "../db/explain-failure.js";
import { IntervalRecorder } from "../intervals/interval-recorder.js";
import { WorkerFigures } from "../intervals/worker-figures.js";
import { setKeyRules } from "../limits/limit-statements.js";
import { ProcessFigures } from "../metrics/process-figures.js";
import { ContentSweeper } from "../offload/content-sweeper.js";
import { tellEnds } from "../outbox/message-end.js";
import { tellProviders } from "../providers/tell-providers.js";
import { declareRules } from "../retention/retention-statements.js";
import { ScheduleTicker } from "../schedules/ticker.js";
import { assembleWork, definitionsOf, type MakeWorkRunner, newClaimer } from "./assemble.js";
import { createContext, type FeatureContext } from "./create-context.js";
import { type Stoppable, windDown } from "./wind-down.js";
import type { Use } from "./worker-middleware.js";
import { checkWorkerOptions, type WorkerOptions } from "./worker-settings.js";

/**
 * A worker that starts on a backlog claims first: the first round of upkeep over a connection takes as much of the server as a thousand jobs. One that finds
 * no work, and hears notifications, has it at once: it says then that something may be due.
 */
const UPKEEP_AFTER_MS = 500;

export interface StopOptions {
  /** How long running jobs may go on; default: the setting `grace`. */
  readonly grace?: Duration;
}

/** What a pool of processes sets of a worker, and applications do not. */
export interface WorkerInternals {
  readonly makeRunner?: MakeWorkRunner;
  /** Added to the figures of every heartbeat. */
  readonly stats?: () => object;
  /** A round of upkeep has succeeded. */
  readonly onUpkept?: () => void;
}

export class Worker {
  readonly events: WorkerEmitter = createWorkerEmitter();
  readonly #context: FeatureContext;
  readonly #definitions: readonly JobDefinition[];
  readonly #services: Stoppable;
  #state: "new" | "starting" | "started" | "stopped" = "new";
  #starting: Promise<unknown> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkerOptions, { makeRunner, stats: ownStats, onUpkept }: WorkerInternals = {}) {
    const settings = checkWorkerOptions(options);
    this.#definitions = definitionsOf(options);
    const kinds = this.#definitions.map(({ kind }) => kind);
    const context = createContext(options, settings, kinds, this.events);
    this.#context = context;
    const mustYield = () => this.#stopped !== undefined;
    const { jobs, progress, logs, providers } = assembleWork(context, options, { mustYield, makeRunner });
    const claimer = newClaimer(context);
    const used = new ProcessFigures(context.clock);
    const { deployment } = context.settings;
    const said = deployment === undefined ? {} : { deployment };
    const stats = () => ({ ...jobs.stats, ...used.read(), ...ownStats?.(), ...said });
    const incarnation = new Incarnation(context, context.identity, { stats, isIdle: () => jobs.size === 0 });
    const loop = (service: Service) => new ServiceLoop(context.clock, service, context.trouble);
    const intervals = new IntervalRecorder(context, new WorkerFigures(context), jobs);
    this.#services = {
      incarnation,
      progress,
      logs,
      providers,
      intervals,
      jobs,
      loops: {
        progress: loop(progress),
        logs: loop(logs),
        providers: loop(providers),
        intervals: loop(intervals),
        listener: loop(new Listener(context)),
        upkeep: loop(new Upkeep(context, [new ScheduleTicker(context)])),
        bulk: loop(new BulkCarrier(context)),
        work: loop(new WorkLoop(context, claimer, jobs, incarnation)),
        ...(settings.contents && { contents: loop(new ContentSweeper(context, settings.contents.storage)) }),
        ...(settings.alerts && { alerts: loop(new AlertKeeper(context, settings.alerts)) }),
      },
    };
    if (onUpkept) {
      context.bus.on("upkeep", onUpkept);
      context.bus.on("covered", onUpkept);
    }
    reportNews(context);
    reportStableBatches(context);
  }

  /** The name of this incarnation: host-pid-start-random. */
  get id(): string {
    return this.#context.identity.id;
  }

  /** For pools: the capacity of each queue is multiplied by this. */
  resize(times: number): void {
    this.#services.jobs.resize(times);
  }

  /** Registers and begins to work; resolves when the worker claims. */
  start(): Promise<this> {
    if (this.#state !== "new")
      return Promise.reject(
        new FairmillError("FAIRMILL_WORKER_STATE", "A worker is started once; create another one."),
      );
    this.#state = "starting";
    const starting = this.#start();
    this.#starting = starting;
    return starting;
  }

  async #start(): Promise<this> {
    const { db, fit } = this.#context;
    const { incarnation, loops } = this.#services;
    try {
      await fit.check();
      // Before the first claim, so that it obeys what this code says.
      await setKeyRules(db, this.#definitions);
      await tellProviders(db, this.#definitions);
      const { retention } = this.#context.settings;
      if (retention !== undefined) await declareRules(db, retention);
      await tellEnds(db, this.#definitions);
      await incarnation.start();
    } catch (error) {
      this.#state = "stopped";
      await db.close();
      throw explainFailure(error, db.schema);
    }
    this.#state = "started";
    for (const [name, service] of Object.entries(loops)) service.start(name === "upkeep" ? UPKEEP_AFTER_MS : 0);
    this.events.emit("started", { worker: this.id });
    this.#tellUnserved();
    return this;
  }

  /** A queue without handlers is most likely a slip; handlers without a queue may well be another worker's. */
  #tellUnserved(): void {
    const { log, settings } = this.#context;
    const unserved = unservedBy([...settings.concurrency.keys()], this.#definitions);
    const sentence = sayUnserved(unserved);
    if (sentence === undefined) return;
    log[unserved.queues.length > 0 ? "warn" : "info"]({ worker: this.id, ...unserved }, sentence);
    this.events.emit("unserved", { worker: this.id, ...unserved });
  }

  /** Stops gracefully; a second call returns the same promise. `grace` overrides the setting. */
  stop(options: StopOptions = {}): Promise<void> {
    try {
      const graceMs = checkStop(options) ?? this.#context.settings.graceMs;
      this.#stopped ??= this.#stop(graceMs);
      return this.#stopped;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(graceMs: number): Promise<void> {
    const { log } = this.#context;
    const { isStarted, released } = await windDown(this.#context, this.#services, graceMs, () => this.#whenStarted());
    this.#state = "stopped";
    if (!isStarted) return;
    log.info({ worker: this.id, released }, "Worker stopped");
    this.events.emit("stopped", { worker: this.id, released });
  }

  /** Half a start cannot be undone; a whole one can. False: there is nothing to stop. */
  async #whenStarted(): Promise<boolean> {
    await this.#starting?.catch(() => {});
    return this.#state === "started";
  }
}

/** The compiler checks that `use` adds to the context what the handlers need. */
export const createWorker = <const Used extends Use = []>(options: WorkerOptions<Used>): Worker =>
  new Worker(options as WorkerOptions);

/** Undefined: as the settings say. */
export function checkStop(options: StopOptions): number | undefined {
  refuseUnknown(options, ["grace"], "stop");
  return options.grace === undefined ? undefined : toMs(options.grace, "grace");
}
