// A worker process: claims, runs and settles until it is stopped. This file only wires the parts together.
//
//  start  1. see whether the schema fits this library;
//            say what limits the handlers' kinds have;
//            register an incarnation                  stop  1. claim no more
//         2. begin heartbeats, upkeep, the ear              2. let running jobs end within the grace period
//         3. loop: demand → claim → run → settle            3. abort the rest, release them without spending an attempt
//                                                           4. say goodbye, close

import { type Clock, sleep, systemClock } from "../base/clock.js";
import { ConfigError, FairmillError, LeaseLostError, ShutdownError } from "../base/errors.js";
import { createLogger } from "../base/log.js";
import { refuseUnknown } from "../base/settings.js";
import { showValue } from "../base/show-value.js";
import { readStable } from "../batches/batch-statements.js";
import { FlowNodeReader } from "../batches/node-reader.js";
import { Claimer } from "../core/claim/claimer.js";
import { WakeUp } from "../core/claim/listener.js";
import type { JobDefinition } from "../core/job/job-definition.js";
import { chainOf } from "../core/job/middleware-chain.js";
import { type Handler, handlerTable } from "../core/run/handler.js";
import { JobCompleter } from "../core/settle/completer.js";
import { ProgressKeeper } from "../core/settle/progress.js";
import { Upkeep } from "../core/upkeep/upkeep.js";
import type { UpkeepReport } from "../core/upkeep/upkeep-statements.js";
import { Hands, type MakeRunner } from "../core/worker/active-jobs.js";
import { ThrottleLog } from "../core/worker/claim-log.js";
import { ContentReports } from "../core/worker/content-reports.js";
import { Incarnation } from "../core/worker/incarnation.js";
import { sayUnserved, unservedBy } from "../core/worker/unserved.js";
import { WorkLoop } from "../core/worker/work-loop.js";
import type { Parts } from "../core/worker/worker-context.js";
import { createWorkerEmitter, type WorkerEmitter } from "../core/worker/worker-events.js";
import { cancelRequests } from "../core/worker/worker-statements.js";
import { ANSWER_MS_MAX, Database } from "../db/database.js";
import { explainFailure, explaining } from "../db/explain-failure.js";
import { isUnmigrated } from "../db/failures.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { resultSealer } from "../encryption/seal-result.js";
import { setKeyRules } from "../limits/limit-statements.js";
import { Deliverer } from "../outbox/deliverer.js";
import { SendStore } from "../outbox/send-store.js";
import { readTick, type Ticked } from "../schedules/schedule-statements.js";
import { StepStore } from "../steps/step-store.js";
import { WorkerEffects } from "./effect-maker.js";
import type { Middleware, Use } from "./worker-middleware.js";
import { checkWorkerOptions, type WorkerOptions } from "./worker-settings.js";

/** While busy, look at all lanes this often. */
const RESCAN_MS = 2_000;
const UPKEEP_MS = 5_000;
/** A short lease is no reason to give up a database that is slow. */
const ANSWER_MS_MIN = 5_000;
/** How long a stop may take beyond the times that jobs are given to end: to write the last verdicts, and to say goodbye. */
const LAST_WORDS_MS = 10_000;
/** How much of that is for the verdicts. */
const LAST_SETTLE_MS = 8_000;
/** When nobody is waited for any more, everything fails at once; this is for what does not. */
const FALL_MS = 500;

/** What a pool of processes sets of a worker, and applications do not. */
export interface WorkerInternals {
  readonly makeRunner?: MakeRunner;
  /** Added to the figures of every heartbeat. */
  readonly stats?: () => object;
  /** A round of upkeep has succeeded. */
  readonly onUpkept?: () => void;
}

export class Worker {
  readonly events: WorkerEmitter = createWorkerEmitter();
  readonly #parts: Parts;
  readonly #definitions: readonly JobDefinition[];
  readonly #fit: SchemaFit;
  readonly #incarnation: Incarnation;
  readonly #hands: Hands;
  readonly #loop: WorkLoop;
  readonly #progress: ProgressKeeper;
  readonly #upkeep: Upkeep;
  readonly #wakeUp: WakeUp;
  #state: "new" | "starting" | "started" | "stopped" = "new";
  #starting: Promise<unknown> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkerOptions, internals: WorkerInternals = {}) {
    const settings = checkWorkerOptions(options);
    const queues = [...settings.concurrency.keys()];
    const clock = options.clock ?? systemClock;
    const log = options.logger ?? createLogger();
    const db = new Database(options, {
      connectionsMax: 4 + queues.length,
      applicationName: "fairmill worker",
      // Who has no answer for as long as a lease lasts has lost the connection. Work would stand still for any longer.
      answerMsMax: Math.min(ANSWER_MS_MAX, Math.max(ANSWER_MS_MIN, settings.leaseMs)),
    });
    const trouble = (doing: string, error: unknown) => {
      log.warn(
        { worker: this.id, doing, error: error instanceof Error ? error.message : String(error) },
        "Trouble, will try again",
      );
      this.events.emit("trouble", { doing, error });
      // A function that is gone: the schema may have been migrated beyond this library since the start.
      if (isUnmigrated(error)) void this.#fit.retell((misfit) => trouble("checking the schema", misfit));
    };
    this.#fit = new SchemaFit(db);
    const sends = new SendStore(db, clock, (error) => trouble("beginning to send", error));
    const { leaseMs, codec } = settings;
    const deliveries = (options.channels ?? []).map((channel): Handler => {
      const deliverer = new Deliverer(channel, { keeper: sends, clock, leaseMs, codec });
      const { definition } = channel;
      return { definition, run: () => {}, deliver: (claim, ctx, isOver) => deliverer.deliver(claim, ctx, isOver) };
    });
    const middlewares = chainOf<Middleware>(options.use);
    const handlers = handlerTable([...(options.handlers ?? []), ...deliveries], middlewares);
    const kinds = [...handlers.keys()];
    this.#definitions = [...handlers.values()].map(({ definition }) => definition);
    this.#parts = { db, clock, log, events: this.events, settings, kinds, trouble };

    this.#incarnation = new Incarnation(this.#parts, {
      stats: () => ({ ...this.#hands.stats, rssBytes: process.memoryUsage.rss(), ...internals.stats?.() }),
      onLost: () => this.#hands.abortAll(new LeaseLostError()),
      onReborn: () => this.#loop.wake(),
      onCancelled: (ids) => this.#hands.cancel(this.id, ids),
    });
    const throttleLog = new ThrottleLog(log, clock);
    const claimer = new Claimer(db, clock, {
      queues,
      kinds,
      lowerShare: settings.lowerShare,
      rescanMs: RESCAN_MS,
      jobsMax: settings.claimJobsMax,
      tenantJobsMax: settings.claimTenantMax,
      onDue: (ms) => this.#upkeep.dueIn(ms),
      onThrottled: (throttled) => {
        throttleLog.add(this.id, throttled);
        this.events.emit("throttled", { worker: this.id, ...throttled });
      },
    });
    this.#progress = new ProgressKeeper(db, clock, (error) => trouble("keeping progress", error), settings.codec);
    const contents = new ContentReports(log, this.events);
    const sealResult = settings.codec && resultSealer(settings.codec, log);
    this.#hands = new Hands(this.#parts, {
      handlers,
      sealResult,
      makeRunner: internals.makeRunner,
      onProgress: (claim, value) => {
        contents.look(claim, "progress", value);
        this.#progress.report(claim, value);
      },
      dismissProgress: (claim) => this.#progress.dismiss(claim),
      onKept: (claim, what, value) => contents.look(claim, what, value),
      steps: new StepStore(db, clock, {
        stepsMax: settings.stepsMax,
        bytesMax: settings.stepsBytesMax,
        codec: settings.codec,
        onTrouble: (error) => trouble("keeping steps", error),
      }),
      effects: new WorkerEffects(db, settings, middlewares),
      nodes: new FlowNodeReader(db, settings.codec),
      completer: new JobCompleter(db, clock, {
        progress: this.#progress,
        sealResult,
        onTrouble: (error) => trouble("asking whether a job was completed", error),
      }),
      tickOf: ({ id }) => explaining(db.schema, () => readTick(db, id)),
      onDue: (ms) => this.#upkeep.dueIn(ms),
      onEnded: (claims) => this.#loop.freed(claims),
      onReturned: (jobs) => this.#loop.returned(jobs),
    });
    this.#upkeep = new Upkeep(db, clock, {
      crashesMax: settings.crashesMax,
      historyKeepMs: settings.historyKeepMs,
      everyMs: UPKEEP_MS,
      onReport: (report) => {
        internals.onUpkept?.();
        this.#upkept(report);
      },
      schedules: {
        onTicked: (schedule, ticked) => this.#ticked(schedule, ticked),
        onReset: (schedule, next) =>
          log.warn(
            { worker: this.id, schedule, next: next.toISOString() },
            "The database's clock went back: the schedule's next tick was computed again",
          ),
        onTrouble: (schedule, error) => trouble(`ticking schedule "${schedule}"`, error),
      },
      onTrouble: (error) => trouble("upkeep", error),
    });
    this.#wakeUp = new WakeUp(db, clock, {
      onQueue: (queue) => this.#loop.wake(queue),
      onSchedule: (ms) => this.#upkeep.dueIn(ms),
      onCancel: (worker) => worker === this.id && void this.#askForCancels(),
      onChange: (working) => {
        this.events.emit("listening", { working });
        // Something may have been missed while nobody listened.
        this.#loop.wake();
      },
      onPooled: () =>
        log.warn(
          { worker: this.id },
          "The database is behind a pooler, which passes no notifications on: polling for work. Set DATABASE_DIRECT_URL to an address without it to start new jobs within milliseconds",
        ),
      onTrouble: (error) => trouble("listening", error),
    });
    this.#loop = new WorkLoop(this.#parts, {
      claimer,
      hands: this.#hands,
      incarnation: this.#incarnation,
      isListening: () => this.#wakeUp.working,
      // Jobs that fall due soon are announced as well.
      onListed: () => this.#upkeep.dueIn(0),
    });
  }

  /** The name of this incarnation: host-pid-start-random. */
  get id(): string {
    return this.#incarnation.id;
  }

  /** For pools: each queue may run so many times the jobs at once that the settings say. */
  resize(times: number): void {
    this.#hands.resize(times);
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
    try {
      await this.#fit.check();
      // Before the first claim, so that it obeys what this code says.
      await setKeyRules(this.#parts.db, this.#definitions);
      await this.#incarnation.start();
    } catch (error) {
      this.#state = "stopped";
      await this.#parts.db.close();
      throw explainFailure(error, this.#parts.db.schema);
    }
    this.#state = "started";
    this.#wakeUp.start();
    this.#upkeep.start();
    this.#loop.start();
    this.events.emit("started", { worker: this.id });
    this.#tellUnserved();
    return this;
  }

  /** A queue without handlers is most likely a slip; handlers without a queue may well be another worker's. */
  #tellUnserved(): void {
    const { log, settings } = this.#parts;
    const unserved = unservedBy([...settings.concurrency.keys()], this.#definitions);
    const sentence = sayUnserved(unserved);
    if (sentence === undefined) return;
    log[unserved.queues.length > 0 ? "warn" : "info"]({ worker: this.id, ...unserved }, sentence);
    this.events.emit("unserved", { worker: this.id, ...unserved });
  }

  /** Stops gracefully; a second call returns the same promise. `graceMs` overrides the setting. */
  stop(options: { graceMs?: number } = {}): Promise<void> {
    try {
      const graceMs = checkStop(options) ?? this.#parts.settings.graceMs;
      this.#stopped ??= this.#stop(graceMs);
      return this.#stopped;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Whatever the database does, or does not, this comes to an end. */
  async #stop(graceMs: number): Promise<void> {
    const { db, clock, log, settings } = this.#parts;
    let released = 0;
    const end = this.#windDown(graceMs).then((count) => {
      released = count;
    });
    if (!(await within(clock, graceMs + settings.abortGraceMs + LAST_WORDS_MS, end))) {
      log.warn(
        { worker: this.id, running: this.#hands.size },
        "The database does not answer: leaving without a goodbye. Others take the jobs over when the lease is over",
      );
      this.#hands.abandon();
      db.abandon();
      await within(clock, FALL_MS, Promise.all([end, this.#incarnation.abandon()]));
    }
    const wasStarted = this.#state === "started";
    this.#state = "stopped";
    if (!wasStarted) return;
    log.info({ worker: this.id, released }, "Worker stopped");
    this.events.emit("stopped", { worker: this.id, released });
  }

  /** Returns how many jobs were still held and went back. */
  async #windDown(graceMs: number): Promise<number> {
    const { db, clock, log, settings } = this.#parts;
    // Half a start cannot be undone; a whole one can.
    await this.#starting?.catch(() => {});
    if (this.#state !== "started") {
      this.#state = "stopped";
      await db.close();
      return 0;
    }
    log.info({ worker: this.id, running: this.#hands.size }, "Worker stopping");
    this.#incarnation.retire();
    this.#hands.releaseWaiting();
    // What a claim brings that is still on its way goes back as well.
    const quiet = this.#loop.stop().then(() => this.#hands.releaseWaiting());
    const deaf = this.#wakeUp.stop();
    // What it comes to is asked further down; a failure before that is not unheard.
    deaf.catch(() => {});

    await within(
      clock,
      graceMs,
      quiet.then(() => this.#hands.decided()),
    );
    this.#hands.abortAll(new ShutdownError());
    await within(clock, settings.abortGraceMs + 100, this.#hands.decided());
    const written = Promise.all([quiet, deaf, this.#progress.stop()]).then(() => this.#hands.settled());
    await within(clock, LAST_SETTLE_MS, written);
    this.#hands.abandon();
    await this.#upkeep.stop();
    const released = await this.#incarnation.stop();
    await db.close();
    return released;
  }

  #upkept(report: UpkeepReport): void {
    const { promoted, expired, recovered, ended, removed, batches } = report;
    if (promoted + expired + recovered + ended + removed + batches.length === 0) return;
    if (batches.length > 0) void this.#tellStable(batches);
    if (recovered + ended > 0)
      this.#parts.log.warn(
        { worker: this.id, recovered, ended },
        `Reset ${recovered + ended} stuck jobs: their workers are dead`,
      );
    this.events.emit("upkeep", report);
    if (promoted + recovered > 0) this.#loop.wake();
  }

  #ticked(schedule: string, { jobIds, refusals }: Ticked): void {
    for (const { at, error } of refusals)
      this.#parts.log.warn(
        { worker: this.id, schedule, tick: at.toISOString(), code: error.code, error: error.message },
        "A tick made no job",
      );
    if (jobIds.length > 0) this.#parts.log.debug({ worker: this.id, schedule, jobs: jobIds }, "Schedule ticked");
    this.events.emit("ticked", { schedule, jobIds, refused: refusals.length });
    if (jobIds.length > 0) this.#loop.wake();
  }

  async #tellStable(ids: readonly string[]): Promise<void> {
    const { db, log, trouble } = this.#parts;
    try {
      for (const stable of await readStable(db, ids)) {
        const facts = { worker: this.id, batch: stable.batch, registered: stable.registered };
        log.info({ ...facts, lastRegisteredAt: stable.lastRegisteredAt?.toISOString() }, "Batch is stable, and over");
        this.events.emit("stable", { worker: this.id, ...stable });
      }
    } catch (error) {
      trouble("reading batches that are stable", error);
    }
  }

  async #askForCancels(): Promise<void> {
    try {
      this.#hands.cancel(this.id, await cancelRequests(this.#parts.db, this.id));
    } catch (error) {
      this.#parts.trouble("asking for cancelled jobs", error);
    }
  }
}

/** The compiler checks that `use` adds to the context what the handlers need. */
export const createWorker = <const Used extends Use = []>(options: WorkerOptions<Used>): Worker =>
  new Worker(options as WorkerOptions);

function checkStop(options: { graceMs?: number }): number | undefined {
  refuseUnknown(options, ["graceMs"], "stop");
  const { graceMs } = options;
  if (graceMs === undefined || (typeof graceMs === "number" && graceMs >= 0)) return graceMs;
  throw new ConfigError("graceMs", `stop: graceMs: ${showValue(graceMs)} is not a number of milliseconds.`);
}

/** Waits for the work, but not longer than this. True: it was done. */
async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const nap = new AbortController();
  try {
    return await Promise.race([work.then(() => true), sleep(clock, ms, nap.signal).then(() => false)]);
  } finally {
    nap.abort();
  }
}
