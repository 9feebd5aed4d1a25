// Runs ticks: each is a short life of a worker that claims, runs and settles what fits into its budget. Any number may overlap.
//
//  1. A bounded share of upkeep: due jobs, jobs of dead workers, ticks of schedules.
//  2. Register with a lease of what is left of the budget and a margin: there are no heartbeats.
//  3. Claim and run, until nothing is ready, the tick has its share, or the grace period begins.
//  4. Jobs with steps stop at their next one, others may end; what still runs is told to stop and given back.
//  5. Say goodbye, write the row, answer what is left.

import { hostname } from "node:os";
import { systemClock } from "../base/clock.js";
import { createLogger } from "../base/log.js";
import { VERSION } from "../base/version.js";
import { chainOf } from "../core/job/middleware-chain.js";
import { ThrottleLog } from "../core/worker/claim-log.js";
import { createWorkerEmitter, type WorkerEmitter } from "../core/worker/worker-events.js";
import { newWorkerId } from "../core/worker/worker-id.js";
import { registerWorker, stopWorker } from "../core/worker/worker-statements.js";
import { Database } from "../db/database.js";
import { explainFailure } from "../db/explain-failure.js";
import { SchemaFit } from "../db/migrate/schema-fit.js";
import { countReady, recordTick } from "../intervals/interval-statements.js";
import { WorkerFigures } from "../intervals/worker-figures.js";
import { setKeyRules } from "../limits/limit-statements.js";
import type { Middleware } from "../worker/worker-middleware.js";
import { TickClaimer } from "./tick-claimer.js";
import { claimAndRun, type Times, timesOf, watchCancels, windDown } from "./tick-life.js";
import { LEASE_MARGIN_MS, type TickOptions, type TickSettings } from "./tick-settings.js";
import { nextDueInMs, readKnownRuns } from "./tick-statements.js";
import { jobsOfTick, type TickContext, tickHandlers, upkeepOfTick } from "./tick-worker.js";
import { UsualRuns } from "./usual-runs.js";

/** What a tick did. */
export interface TickReport {
  /** The name under which it worked, as in `worker_tick_metrics`. */
  readonly worker: string;
  readonly claimed: number;
  readonly succeeded: number;
  readonly failed: number;
  /** Jobs that limits kept waiting. */
  readonly throttled: number;
  /** Jobs that are ready in its queues now, counted up to 10,000. */
  readonly remaining: number;
  /** When the next tick finds something to do, as an ISO time: now, if something remains. Null: never, as things are. */
  readonly nextAt: string | null;
}

/** Upkeep may take so much of the budget, in so many rounds. */
const UPKEEP_SHARE = 0.2;
const UPKEEP_ROUNDS_MAX = 10;
/** Connections are closed when nothing was asked for so long: a function is frozen between two calls. */
const IDLE_MS_MAX = 5_000;

export class TickRunner {
  readonly #settings: TickSettings;
  readonly #context: TickContext;
  readonly #queues: readonly string[];
  readonly #usual: UsualRuns;
  readonly #told = new Set<string>();
  #ready: Promise<void> | undefined;

  constructor(options: TickOptions, settings: TickSettings) {
    const clock = options.clock ?? systemClock;
    const log = options.logger ?? createLogger();
    const db = new Database(options, {
      connectionsMax: settings.connectionsMax,
      applicationName: "fairmill tick",
      idleMsMax: IDLE_MS_MAX,
      answerMsMax: Math.max(5_000, settings.budgetMs),
    });
    const middlewares = [...(chainOf<Middleware>(options.use) ?? [])];
    const context = { db, clock, log, settings: settings.worker };
    const handlers = tickHandlers(context, options, middlewares, (error) =>
      this.#trouble(undefined, "beginning to send", error),
    );
    this.#settings = settings;
    this.#context = { ...context, handlers, middlewares };
    this.#queues = [...settings.worker.concurrency.keys()];
    this.#usual = new UsualRuns([...handlers.keys()]);
  }

  async close(): Promise<void> {
    await this.#context.db.close();
  }

  async runOnce(): Promise<TickReport> {
    const { db, clock } = this.#context;
    const times = timesOf(clock.monotonic(), this.#settings);
    try {
      await this.#prepare();
      return await this.#tick(times);
    } catch (error) {
      throw explainFailure(error, db.schema);
    }
  }

  /** Once a process; a failure is tried again by the next tick. */
  #prepare(): Promise<void> {
    this.#ready ??= this.#start().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #start(): Promise<void> {
    const { db, handlers } = this.#context;
    await new SchemaFit(db).check();
    await setKeyRules(
      db,
      [...handlers.values()].map(({ definition }) => definition),
    );
    this.#usual.learn(await readKnownRuns(db, [...handlers.keys()]));
  }

  async #tick(times: Times): Promise<TickReport> {
    const { db, clock, log } = this.#context;
    const worker = newWorkerId({ host: hostname(), pid: process.pid, nowMs: clock.now(), random: clock.random() });
    const events = createWorkerEmitter();
    const figures = new WorkerFigures(events, clock);
    events.on("ended", ({ claim, durationMs }) => this.#usual.ran(claim.kind, durationMs));
    await this.#upkeep(worker, events, times);
    const depth = await countReady(db, this.#queues);
    if (depth > 0) await this.#work(worker, events, figures, times);
    const { counts } = figures.now;
    const facts = figures.take().facts();
    const intervalMs = Math.round(clock.monotonic() - times.startMs);
    const { ready = 0, throttled } = await recordTick(
      db,
      worker,
      {
        ...facts,
        mode: "tick",
        interval_ms: intervalMs,
        tick_duration_ms: intervalMs,
        budget_ms: Math.round(this.#settings.budgetMs),
        queue_depth_at_start: depth,
        running: 0,
        looked_at: this.#queues,
      },
      0,
    );
    const nextMs = await nextDueInMs(db, this.#queues);
    const report: TickReport = {
      worker,
      claimed: counts.claimed,
      succeeded: counts.succeeded,
      failed: counts.failed,
      throttled,
      remaining: ready,
      nextAt: nextMs === undefined ? null : new Date(clock.now() + Math.max(0, nextMs)).toISOString(),
    };
    log.info({ ...report, durationMs: intervalMs }, "Tick done");
    return report;
  }

  async #upkeep(worker: string, events: WorkerEmitter, times: Times): Promise<void> {
    const { clock } = this.#context;
    const trouble = (doing: string, error: unknown) => this.#trouble(worker, doing, error, events);
    const upkeep = upkeepOfTick(this.#context, worker, events, trouble);
    const untilMs = times.startMs + this.#settings.budgetMs * UPKEEP_SHARE;
    // A round that leaves something says so; what another session has locked is the next tick's.
    for (let round = 0; round < UPKEEP_ROUNDS_MAX && clock.monotonic() < untilMs; round++)
      if ((await upkeep.runOnce()) > 0) return;
  }

  async #work(worker: string, events: WorkerEmitter, figures: WorkerFigures, times: Times): Promise<void> {
    const { db, clock, log, settings, handlers } = this.#context;
    const trouble = (doing: string, error: unknown) => this.#trouble(worker, doing, error, events);
    const throttleLog = new ThrottleLog(log, clock);
    const claimer = new TickClaimer(db, clock, {
      worker,
      queues: this.#queues,
      lowerShare: settings.lowerShare,
      tenantJobsMax: this.#settings.tenantJobsMax,
      onThrottled: (throttled) => {
        throttleLog.add(worker, throttled);
        events.emit("throttled", { worker, ...throttled });
      },
      onContended: () => figures.now.counts.contended++,
    });
    const jobs = jobsOfTick(this.#context, {
      events,
      claimer,
      isTimeUp: () => clock.monotonic() >= times.closeMs,
      onStep: (kind, ms) => {
        figures.stepped(kind, ms);
        this.#usual.stepped(kind, ms);
      },
      trouble,
    });
    await registerWorker(db, {
      id: worker,
      queues: this.#queues,
      kinds: [...handlers.keys()],
      leaseMs: Math.max(1_000, times.endMs - clock.monotonic()) + LEASE_MARGIN_MS,
      concurrency: [...settings.concurrency.values()].reduce((sum, each) => sum + each, 0),
      host: hostname(),
      pid: process.pid,
      version: VERSION,
    });
    const life = { db, clock, log, worker, claimer, jobs, events, times, trouble };
    const over = new AbortController();
    const cancels = watchCancels(life, over.signal);
    try {
      await claimAndRun(life, this.#settings.jobsMax, this.#usual);
    } catch (error) {
      trouble("claiming", error);
    } finally {
      await windDown(life, settings.abortGraceMs);
      over.abort();
      await cancels;
      this.#tellUnfit();
      // What is still listed as this one's goes back: jobs whose claim was not answered, or whose verdict could not be written.
      await stopWorker(db, worker).catch((error: unknown) => trouble("saying goodbye", error));
    }
  }

  /** A kind that does not even fit into a whole tick waits for ever where there are only ticks: once a process and kind. */
  #tellUnfit(): void {
    const { handlers, log } = this.#context;
    const { startMs, abortMs } = timesOf(0, this.#settings);
    const wholeMs = abortMs - startMs;
    for (const kind of handlers.keys()) {
      const needMs = this.#usual.meanMs(kind);
      if (needMs <= wholeMs || this.#told.has(kind)) continue;
      this.#told.add(kind);
      log.warn(
        { kind, usualMs: Math.round(needMs), fitsMs: Math.round(wholeMs) },
        "Jobs of this kind usually run longer than a tick lasts, so ticks do not claim them: raise the budget, divide the job into steps, or start a worker",
      );
    }
  }

  #trouble(worker: string | undefined, doing: string, error: unknown, events?: WorkerEmitter): void {
    const { log } = this.#context;
    log.warn({ worker, doing, error: error instanceof Error ? error.message : String(error) }, "Trouble in a tick");
    events?.emit("trouble", { doing, error });
  }
}
